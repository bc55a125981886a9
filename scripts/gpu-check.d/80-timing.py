# SPDX-License-Identifier: MIT
"""The GPU's own time (timing=): programs behave as without it, traces are whole, each submission has a time or a reason, and
the times are those of CUDA events around the same work.
"""

import importlib.util
import json
import math
import os
import sys

NEAR_NS, NEAR_PART, ROUNDS = 1000, 0.02, 4  # tolerance to CUDA events; runs of both at most
LONG_US, LONG_PART = 50, 0.03  # kernels longer than this, and the tolerance of their total to torch.profiler
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VICTIMS = ("golden-static", "driver", "threads", "graphs", "queued", "contexts", "spin")


def gpu_times(suite, name, trace):
    out, _, status = suite.run(f"{name}: --gpu-time", [suite.report, trace, "--gpu-time", "--format=json"])
    return [] if status else json.loads(out)["rows"]


def told(suite, name, row, trace):
    """Notes how many submissions are timed."""
    rows = gpu_times(suite, name, trace)
    timed, all_of = sum(r["timed"] for r in rows), sum(r["submissions"] for r in rows)
    row.notes.append(f"{timed} of {all_of} submissions timed")
    if not timed:
        row.wrong.append("no submission is timed")


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


def rows_by(suite, name, trace, what):
    out, _, status = suite.run(f"{name}: --gpu-time --by={what}",
                               [suite.report, trace, "--gpu-time", f"--by={what}", "-n", "0", "--format=json"])
    return [] if status else json.loads(out)["rows"]


def recorded(suite, name, row, argv):
    """The trace under timing=work; None on failure."""
    trace = os.path.join(suite.folder(name), "timed.zst")
    _, err, status = suite.run(f"{name}: with", [suite.launcher, "--quiet", "--overwrite", "--timing=work", "-o", trace, "--", *argv])
    if status:
        row.wrong.append(f"exit {status}: {err.decode(errors='replace')[-200:]}")
        return None
    _, _, status = suite.run(f"{name}: --verify", [suite.report, trace, "--verify"])
    if status:
        row.wrong.append("the trace is not whole")
    return trace


def by_events(suite, name):
    """Events in one run, brackets in another, because each would affect the other's time. From both, the time that they
    measure around nothing is subtracted. Others may use the host's link meanwhile, which only adds time: up to ROUNDS runs of
    each in turns, of which each range has its shortest."""
    row = suite.row(name)
    events, brackets, wrong = {}, {}, []
    for _ in range(ROUNDS):
        out, _, status = suite.run(f"{name}: without", [suite.program("timed"), "events"])
        trace = recorded(suite, name, row, [suite.program("timed"), "ranges"])
        if status or not trace:
            row.wrong.append(f"exit {status}")
            return row
        ranges = {r["range"]: r for r in rows_by(suite, name, trace, "range")}
        for line in out.decode().splitlines():
            what, ns, _ = line.split()
            events[what] = min(float(ns), events.get(what, math.inf))
            if what in ranges and ranges[what]["gpu_us_p50"] is not None:
                brackets[what] = min(ranges[what]["gpu_us_p50"] * 1000, brackets.get(what, math.inf))
        wrong = [what for what, ns in events.items() if not abs(brackets.get(what, math.inf) - ns) <= NEAR_NS + NEAR_PART * ns]
        if events and not wrong:
            break
    said = {what: f"{what}: {brackets.get(what, math.nan):.0f} ns, by events {ns:.0f}" for what, ns in events.items()}
    row.notes += said.values()
    row.wrong += [said[what] for what in wrong]
    if not events:
        row.wrong.append("nothing was measured")
    told(suite, name, row, trace)
    return row


def by_profiler(suite, name):
    """The total of kernels of more than 50 us, compared with torch.profiler in another run of the same loop."""
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row, argv = suite.row(name), [sys.executable, suite.source("timed_loop.py")]
    out, _, status = suite.run(f"{name}: profiled", [*argv, "--profile"])
    trace = recorded(suite, name, row, argv)
    if status or not trace:
        row.wrong.append(f"profiled run: exit {status}")
        return row
    seen = [(float(us), int(n), kernel) for us, n, kernel in (line.split(None, 2) for line in out.decode().splitlines())]
    ours = {r["kernel"]: r["gpu_us_total"] or 0 for r in rows_by(suite, name, trace, "kernel") if r["kernel"]}
    chosen = [(us, n, kernel) for us, n, kernel in seen if us / n > LONG_US]
    by_them, by_us = sum(us for us, _, _ in chosen), sum(ours.get(kernel, 0) for _, _, kernel in chosen)
    row.notes.append(f"{sum(n for _, n, _ in chosen)} kernels of more than {LONG_US} us: {by_us:.0f} us, by torch.profiler {by_them:.0f}; "
                     f"all kernels {sum(ours.values()):.0f} us, by torch.profiler {sum(us for us, _, _ in seen):.0f}")
    if not by_them or abs(by_us - by_them) > LONG_PART * by_them:
        row.wrong.append(row.notes[-1])
    return row


def cost(suite, name):
    """What timing adds to a recorded launch, compared with CUPTI's activity records."""
    row = suite.row(name)
    only = [word for v in ("default", "timing=dispatch", "timing=work", "CUPTI") for word in ("--only", v)]
    out, _, _ = suite.run(name, [sys.executable, os.path.join(ROOT, "scripts/bench-overhead"), "--bundle", os.path.dirname(suite.library),
                                 "--work", os.path.join(suite.work, "cost"), "--nvcc", suite.nvcc, "--rounds", "6", "--no-loops", *only])
    lines = out.decode().splitlines()
    row.notes += [line.strip("| ").replace("  ", "") for line in lines if line.startswith("| ") or line.startswith("launch, ")]
    row.wrong += [line for line in lines if line.startswith("FAILED: timing") or line.startswith("FAILED: ") and "exit" in line]
    if not lines:
        row.wrong.append("bench-overhead printed nothing")
    return row


def register(suite):
    suite.cuda_build("spin", "spin.cu")
    for kind in ("dispatch", "work"):
        for program in VICTIMS:
            suite.check(f"timing={kind}: {program}", unchanged(program, kind), [program])
        suite.check(f"timing={kind}: training, PyTorch", script("train.py", "torch", kind))
        suite.check(f"timing={kind}: graphs, PyTorch", script("torch_graph.py", "torch", kind))
        suite.check(f"timing={kind}: JAX", script("jax_loop.py", "jax", kind))
        suite.check(f"timing={kind}: CuPy", script("cupy_loop.py", "cupy", kind))
    suite.cuda_build("timed", "timed.cu", "-cudart", "static", "-ldl")
    suite.check("timing=work compared with CUDA events", by_events, ["timed"], alone=True)
    suite.check("timing=work compared with torch.profiler", by_profiler, alone=True)
    suite.check("timing: cost of a launch", cost, alone=True)
