# SPDX-License-Identifier: MIT
"""Runs test programs under the library on the software GPU, and compares their traces with its log.

RELEASE=525.147.05 in the environment of a test makes it that driver release, unless a case chooses one itself.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
SOFT = os.path.join(BUILD, "softgpu")
LIMIT = 60
RELEASE = os.environ.get("RELEASE")

_cases = []


class Skip(Exception):
    """A case that cannot be tried here; says why."""


class Wrong(Exception):
    """What does not hold."""


def expect(holds, *what):
    if not holds:
        raise Wrong(" ".join(str(w) for w in what))


# What qemu-user says by itself, and the host's programs of a preloaded library for another processor.
EMULATED = re.compile(r"^(qemu: uncaught target signal|qemu-\w+: QEMU internal SIGSEGV|ERROR: ld\.so: object .*"
                      r"\(cannot open shared object file\): ignored\.).*\n", re.M)


def not_under_qemu(why):
    """At the start of a case that qemu-user cannot run."""
    if "QEMU_LD_PREFIX" in os.environ:
        raise Skip(f"qemu-user: {why}")


def case(function):
    """Marks a function as a case; its name is the case's name."""
    _cases.append(function)
    return function


class Victim:
    """One folder, one program in it, with what it printed and left."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="nvsnoop-life.")
        self.log = os.path.join(self.folder, "log")
        self.out = self.err = ""
        self.status = None
        self.children = []

    def environment(self, options="", library=True, name="trace.zst", **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("NVSNOOP", "SOFTGPU", "LD_"))}
        preload = [os.path.join(BUILD, "libnvsnoop.so")] if library else []
        env.update(LD_PRELOAD=":".join(preload + [os.path.join(SOFT, "libsoftgpu.so")]), LD_LIBRARY_PATH=SOFT,
                   SOFTGPU_LOG=self.log, NVSNOOP_OUT=name, NVSNOOP_OPTIONS=options)
        env.update(more)
        if RELEASE and "release=" not in env.get("SOFTGPU", ""):
            env["SOFTGPU"] = f"{env.get('SOFTGPU', '')},release={RELEASE}"
        return env

    def start(self, app, *args, before=None, **more):
        """BEFORE runs in the child, ahead of the program."""
        child = subprocess.Popen([os.path.join(BUILD, "apps", app), *args], cwd=self.folder,
                                 env=self.environment(**more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                                 preexec_fn=before)
        self.children.append(child)
        return child

    def end(self, child):
        try:
            self.out, self.err = child.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            self.out, self.err = child.communicate()
            raise Wrong(f"no end after {LIMIT} s; printed: {self.out}{self.err}") from None
        self.status = child.returncode
        if "QEMU_LD_PREFIX" in os.environ:
            self.err = EMULATED.sub("", self.err)
        return self

    def run(self, app, *args, **more):
        return self.end(self.start(app, *args, **more))

    def traces(self):
        return sorted(glob.glob(os.path.join(self.folder, "*.zst")))

    def has(self, name):
        return os.path.exists(os.path.join(self.folder, name))

    def report(self, *args):
        done = subprocess.run([os.path.join(BUILD, "nvsnoop-report"), *args], capture_output=True, text=True,
                              errors="replace", cwd=self.folder, timeout=LIMIT, check=False)
        return done.returncode, done.stdout + done.stderr

    def verify(self, code=0, trace="trace.zst"):
        got, text = self.report("--verify", trace)
        expect(got == code, f"--verify of {trace}: {got}, not {code}:", text)
        return text

    def truth(self, *options):
        """Log and traces say the same."""
        done = subprocess.run([os.path.join(SOFT, "logcheck"), *options, self.log, *self.traces()],
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        expect(done.returncode == 0, done.stdout + done.stderr)

    def ended(self, status=0, text="life ok\n"):
        expect(self.status == status, f"ended with {self.status}, not {status}; printed:", self.out, self.err)
        expect(self.out.endswith(text), "printed:", self.out, self.err)
        return self

    def remove(self):
        """A case that failed may have left programs that hang."""
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    """Runs the cases named on the command line, or all; one line each."""
    passed = failed = skipped = 0
    os.environ.pop("LD_PRELOAD", None)
    for function in _cases:
        name = function.__name__.replace("_", "-")
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        victim = Victim()
        try:
            function(victim)
            passed += 1
            print(f"ok      {name}")
        except Skip as why:
            skipped += 1
            print(f"skipped {name}: {why}")
        except (Wrong, OSError, subprocess.SubprocessError) as wrong:
            failed += 1
            print(f"NOT OK  {name}: {wrong}")
        finally:
            victim.remove()
        sys.stdout.flush()
    if skipped and not passed and not failed:
        sys.exit(77)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
