# SPDX-License-Identifier: MIT
"""The GPU's own time (timing=) on a real GPU: programs do what they do without, traces are whole, each submission has a time or
a reason, and the times are those of CUDA's events around the same work.
"""

import importlib.util
import json
import os
import subprocess
import sys

NEAR_NS, NEAR_PART = 1000, 0.02  # of a time by CUDA's events
VICTIMS = ("golden-static", "driver", "threads", "graphs", "queued", "contexts")

# Kernels of about 1 us to 10 ms and copies of 4 KiB to 1 GiB, each between two events and alone; their times, a line each.
EVENTS = """
import sys, torch
def timed(name, work):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    begin.record(); work(); end.record()
    torch.cuda.synchronize()
    print(name, begin.elapsed_time(end) * 1e6, flush=True)
for us in (1, 10, 100, 1000, 10000):
    timed(f"kernel-{us}us", lambda: torch.cuda._sleep(int(us * 1700)))
for shift in range(12, 31, 3):
    a = torch.empty(1 << shift, dtype=torch.uint8).pin_memory()
    b = torch.empty(1 << shift, dtype=torch.uint8, device="cuda")
    timed(f"copy-{1 << shift}", lambda: b.copy_(a, non_blocking=True))
"""


def gpu_times(suite, name, trace):
    out, _, status = suite.run(f"{name}: --gpu-time", [suite.report, trace, "--gpu-time", "--format=json"])
    return [] if status else json.loads(out)["rows"]


def told(suite, name, row, trace):
    """How much of it is timed."""
    rows = gpu_times(suite, name, trace)
    timed, all_of = sum(r["timed"] for r in rows), sum(r["submissions"] for r in rows)
    row.notes.append(f"{timed} of {all_of} submissions timed")
    if not timed:
        row.wrong.append("nothing is timed")


def unchanged(program, kind):
    def check(suite, name):
        row = suite.compare(name, [suite.program(program)], options=f"quiet,timing={kind}")
        for trace in suite.traces(name)[:1]:
            told(suite, name, row, trace)
        return row
    return check


def script(source, module, kind):
    def check(suite, name):
        if importlib.util.find_spec(module) is None:
            return suite.skip(name, f"{module} is not installed")
        row = suite.compare(name, [sys.executable, suite.source(source)], options=f"quiet,timing={kind}",
                            env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"})
        for trace in suite.traces(name)[:1]:
            told(suite, name, row, trace)
        return row
    return check


def by_events(suite, name):
    """The events stand in the same stream: what lies between them is what the brackets of its submissions hold."""
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row, folder = suite.row(name), suite.folder(name)
    trace = os.path.join(folder, "events.zst")
    plain = subprocess.run([sys.executable, "-c", EVENTS], env=suite.environment(), capture_output=True, text=True, check=False)
    done = subprocess.run([suite.launcher, "--quiet", "--timing=work", "-o", trace, "--", sys.executable, "-c", EVENTS],
                          env=suite.environment(), capture_output=True, text=True, check=False)
    if plain.returncode or done.returncode:
        row.wrong.append(f"ended with {plain.returncode} and {done.returncode}: {done.stderr[-200:]}")
        return row
    for before, under in zip(plain.stdout.splitlines(), done.stdout.splitlines()):
        what, alone = before.split()[0], float(before.split()[1])
        ns = float(under.split()[1])
        row.notes.append(f"{what}: {alone:.0f} ns by events alone, {ns:.0f} under timing")
        if abs(ns - alone) > 2 * NEAR_NS + NEAR_PART * alone and alone > 50000:
            row.wrong.append(f"{what}: {ns:.0f} ns with timing, {alone:.0f} without")
    told(suite, name, row, trace)
    longest = max((r["gpu_us_max"] or 0 for r in gpu_times(suite, name, trace)), default=0) * 1000
    most = max(float(line.split()[1]) for line in done.stdout.splitlines())
    row.notes.append(f"the longest by timing {longest:.0f} ns, by events {most:.0f}")
    if abs(longest - most) > 10 * NEAR_NS + NEAR_PART * most:
        row.wrong.append("the longest work is not as long as by events")
    return row


def register(suite):
    for kind in ("dispatch", "work"):
        for program in VICTIMS:
            suite.check(f"timing={kind}: {program}", unchanged(program, kind), [program])
        suite.check(f"timing={kind}: training, PyTorch", script("train.py", "torch", kind))
        suite.check(f"timing={kind}: graphs, PyTorch", script("torch_graph.py", "torch", kind))
        suite.check(f"timing={kind}: JAX", script("jax_loop.py", "jax", kind))
        suite.check(f"timing={kind}: CuPy", script("cupy_loop.py", "cupy", kind))
    suite.check("timing=work beside CUDA's events", by_events)
