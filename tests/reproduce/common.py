# SPDX-License-Identifier: MIT
"""What the tests of parameters, snapshots and reproducers share: a program recorded on the software GPU, which
interprets the code of its kernels."""

import os
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
SOFT = os.path.join(BUILD, "softgpu")
DATA = os.path.join(TOP, "tests", "sass", "data")
REPLAYED = os.path.join(DATA, "replayed-sm_90.cubin")
REPORT = os.path.join(BUILD, "nvsnoop-report")
WORK = os.path.join(BUILD, "tests", "reproduce", os.path.basename(sys.argv[0]))
LIMIT = 240
passed = failed = 0

shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK)
os.environ["NVSNOOP_DECODE_LIBRARY"] = os.path.join(BUILD, "public", "libnvsnoop-decode.so.1")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "decode", "python"))


def check(name, ok, text=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAILED {name}: {text}")


def done():
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


def environment(options=None, trace=None, gpu="sass"):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NVSNOOP_O", "SOFTGPU", "LD_"))}
    env.update(SOFTGPU=gpu, LD_LIBRARY_PATH=SOFT, LD_PRELOAD=os.path.join(SOFT, "libsoftgpu.so"))
    if trace:
        env.update(LD_PRELOAD=os.path.join(BUILD, "libnvsnoop.so") + " " + env["LD_PRELOAD"], NVSNOOP_OUT=trace,
                   NVSNOOP_OPTIONS="quiet,overwrite," + options)
    return env


def run(command, env=None, cwd=WORK):
    return subprocess.run(command, env=env, cwd=cwd, timeout=LIMIT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)


def record(trace, options, *what, gpu="sass"):
    """Runs build/apps/reproduced."""
    return run([os.path.join(BUILD, "apps", "reproduced"), *what], environment(options, os.path.join(WORK, trace), gpu))


def report(*arguments):
    return run([REPORT, *arguments])


def launched(trace):
    """(number of the submission, kernel) of each direct launch."""
    import nvsnoop
    opened = nvsnoop.open(os.path.join(WORK, trace))
    kernels = {(l["thread"], l["call"]): l["kernel"] for l in opened.launches()}
    return [(o["submission"], kernels[o["thread"], o["call"]]) for o in opened.operations()
            if o["op"] == "launch" and (o["thread"], o["call"]) in kernels]


def reproduce(trace, submission, folder, *more):
    """Makes the folder and builds its program. Returns what nvsnoop-report said, or fails."""
    done = report(f"--reproduce={submission}", "-o", folder, *more, trace)
    if done.returncode == 0:
        built = run(["make", "-s", "-C", folder, f"CUDA={SOFT}", "CFLAGS=-O0 -Wall -Wextra -Werror -DRUNS=2"])
        check(f"{folder} compiles", built.returncode == 0 and not built.stderr, built.stderr)
    return done


def replay(folder, *arguments, gpu="sass"):
    return run(["./reproduce", *arguments], environment(gpu=gpu), os.path.join(WORK, folder))
