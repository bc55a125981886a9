# SPDX-License-Identifier: MIT
"""Unusual programs, and other tools at the same time, work as without nvsnoop, and nothing is lost."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

AT_WORK = 4 << 20  # bytes of trace after which the training loop is running
ENV = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"}


def by_tool(row):
    """Another tool submits work from inside the driver, which has no public entry point."""
    row.wrong = [text for text in row.wrong if "attributed" not in text]
    return row


def python(suite, name, source, *arguments, flags=()):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    return suite.compare(name, [sys.executable, *flags, suite.source(source), *arguments], None, ENV)


def wait_for_work(suite, name, child):
    """Waits until the trace shows that the child is working; how long that takes depends on the machine."""
    limit = time.monotonic() + suite.timeout
    while time.monotonic() < limit and child.poll() is None:
        if sum(os.path.getsize(trace) for trace in suite.traces(name)) >= AT_WORK:
            return
        time.sleep(0.1)


def killed(suite, name):
    """kill -9 in a training loop: the trace is whole up to the kill."""
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row, folder = suite.row(name), suite.folder(name)
    child = subprocess.Popen([sys.executable, suite.source("loops.py"), "--rounds", "100000"],
                             env=suite.environment(suite.preload(folder)), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, cwd=suite.work)
    try:
        wait_for_work(suite, name, child)
    finally:
        child.send_signal(signal.SIGKILL)
        status = child.wait()
    row.output = "killed"
    if status != -signal.SIGKILL:
        row.wrong.append(f"it exited by itself with {status}")
    for trace in suite.traces(name):
        out, err, status = suite.run(f"{name}: --verify", [suite.report, trace, "--verify"])
        text = (out + err).decode(errors="replace").strip()
        row.verify = {0: "whole", 3: "whole up to it"}.get(status, f"exit {status}")
        row.notes.append(text.splitlines()[0].split(": ", 1)[-1] if text else "no output")
        if status != 3:
            row.wrong.append("not whole up to the kill")
    if not suite.traces(name):
        row.wrong.append("no trace was written")
    return row


def crammed(suite, name):
    """There is no free address near libcuda: its stores are still patched."""
    row = suite.compare(name, [suite.program("crammed")])
    for trace in suite.traces(name):
        out, _, _ = suite.run(f"{name}: sites", [suite.report, trace, "--verify"])
        row.wrong += [line.strip() for line in out.decode(errors="replace").splitlines() if "is not patched and traps each time" in line]
    return row


def two_at_once(suite, name):
    row, folder = suite.row(name), suite.folder(name)
    env = suite.environment(suite.preload(folder))
    pair = [subprocess.Popen([suite.program("threads")], env=env, stdout=subprocess.PIPE, cwd=suite.work)
            for _ in range(2)]
    try:
        outs = [child.communicate(timeout=suite.timeout)[0] for child in pair]
    finally:
        for child in pair:
            child.kill()
    row.output = "equal" if outs[0] == outs[1] and not any(c.returncode for c in pair) else "DIFFER"
    if row.output == "DIFFER":
        row.wrong.append("the two processes differ")
    suite.read(name, row, folder)
    if len(suite.traces(name)) != 2:
        row.wrong.append(f"{len(suite.traces(name))} traces instead of 2")
    return row


def beside(suite, name, tool, *arguments):
    """Under another tool, recording works or is refused with a message; the program's results do not change."""
    path = shutil.which(tool) or os.path.join(suite.cuda, "bin", tool)
    if not os.path.exists(path):
        return suite.skip(name, f"{tool} is not installed")
    row, folder = suite.row(name), suite.folder(name)
    plain = suite.run(f"{name}: without", [path, *arguments, suite.program("golden-static")])
    traced = suite.run(f"{name}: with", [path, *arguments, suite.program("golden-static")],
                       suite.preload(folder))

    def result(out):
        # The tool writes to the same stream; its text may precede the program's on a line.
        return re.findall(r"read \d+: [0-9a-f]+|\b[xy] [0-9a-f]{16}|\bdone$", out.decode(errors="replace"), re.M)

    row.output = "equal" if result(plain[0]) == result(traced[0]) and plain[2] == traced[2] else "DIFFER"
    if not result(plain[0]):
        return suite.skip(name, f"{tool} does not run the program here without nvsnoop")
    if row.output == "DIFFER":
        row.wrong.append(f"exit {traced[2]} instead of {plain[2]}, {len(result(traced[0]))} result lines "
                         f"instead of {len(result(plain[0]))}")
    if suite.traces(name):
        suite.read(name, row, folder)
    else:
        row.notes.append("no trace")
    return by_tool(row)


def checkpoint(suite, name, options="quiet"):
    """Checkpoint and restore, twice; the driver's submissions for that have no entry point."""
    program = suite.program("checkpoint")
    if suite.run(f"{name}: alone", [program])[2] == 77:
        return suite.skip(name, "this driver does not support checkpoints here")
    row = by_tool(suite.compare(name, [program], None, None, options))
    if "timing" in options:
        out, _, _ = suite.run(f"{name}: --gpu-time", [suite.report, *suite.traces(name), "--gpu-time", "--by=kernel",
                                                      "--format=json", "-n", "0"])
        timed = sum(r["timed"] for r in json.loads(out)["rows"] if "mix" in (r["kernel"] or ""))
        row.notes.append(f"{timed} of 300 launches timed")
        if timed < 202:
            row.wrong.append("launches after a restore are not timed")
    return row


def mps(suite, name):
    control = shutil.which("nvidia-cuda-mps-control")
    if not control:
        return suite.skip(name, "nvidia-cuda-mps-control is not installed")
    pipe = os.path.join(suite.work, "mps")
    os.makedirs(pipe, exist_ok=True)
    env = {"CUDA_MPS_PIPE_DIRECTORY": pipe, "CUDA_MPS_LOG_DIRECTORY": pipe}
    _, err, status = suite.run(f"{name}: start", [control, "-d"], env, timeout=20)
    if status:
        return suite.skip(name, f"MPS cannot be started: {err.decode(errors='replace').strip()[:80]}")
    try:
        return suite.compare(name, [suite.program("golden-static")], None, env)
    finally:
        subprocess.run([control], input=b"quit\n", env=dict(os.environ, **env), check=False, timeout=30,
                       capture_output=True)


def register(suite):
    suite.cuda_build("segv", "segv.cu", "-cudart", "static")
    suite.cuda_build("masks", "masks.cu", "-cudart", "static")
    suite.cuda_build("crammed", "crammed.cu", "-cudart", "static")
    suite.build("contexts", ["gcc", "-O2", "-I" + os.path.join(suite.cuda, "include"), suite.source("contexts.c"),
                             "-L" + os.path.join(suite.cuda, "lib64/stubs"), "-lcuda", "-lpthread"])
    suite.cuda_build("checkpoint", "checkpoint.cu", "-lcuda")
    suite.check("workers by fork", lambda s, n: python(s, n, "workers.py", "fork"))
    suite.check("workers by spawn", lambda s, n: python(s, n, "workers.py", "spawn"))
    suite.check("faulthandler", lambda s, n: python(s, n, "train.py", flags=("-X", "faulthandler")))
    suite.check("PyTorch profiler at the same time", lambda s, n: by_tool(python(s, n, "profiled.py")))
    suite.check("own SIGSEGV handler", lambda s, n: s.compare(n, [s.program("segv")]), ["segv"])
    for options in ("quiet", "quiet,trap=step", "quiet,patch=off"):
        suite.check(f"all signals blocked, {options}",
                    lambda s, n, o=options: s.compare(n, [s.program("masks")], options=o), ["masks"])
    suite.check("kill -9 in a training loop", killed)
    suite.check("no memory near libcuda", crammed, ["crammed"])
    suite.check("two processes at once", two_at_once, ["threads"])
    suite.check("contexts come and go", lambda s, n: s.compare(n, [s.program("contexts")]), ["contexts"])
    suite.check("compute-sanitizer", lambda s, n: beside(s, n, "compute-sanitizer"), ["golden-static"])
    suite.check("cuda-gdb", lambda s, n: beside(s, n, "cuda-gdb", "-batch",
                                                 "-ex", "handle SIGSEGV nostop noprint pass",
                                                 "-ex", "run", "--args"),
                ["golden-static"])
    suite.check("MPS client", mps, ["golden-static"])
    suite.check("checkpoint and restore", checkpoint, ["checkpoint"])
    suite.check("checkpoint and restore, timing=work", lambda s, n: checkpoint(s, n, "quiet,timing=work"), ["checkpoint"])
