# SPDX-License-Identifier: MIT
"""Instruction counts by the kernels: the same for all ways to launch them, and equal to the profiler's counters."""

import csv
import importlib.util
import io
import json
import os
import shutil
import sys

WAYS = ("direct", "captured", "built", "child", "conditional", "updated")
METRICS = ("smsp__sass_inst_executed.sum", "smsp__sass_thread_inst_executed.sum")
CHANCE = {"tangled"}  # the GPU decides where warps reconverge


def rows_of(suite, name, trace):
    out, _, _ = suite.run(f"{name}: --instructions", [suite.report, trace, "--instructions", "--format=json", "-n", "0"])
    return json.loads(out)["rows"] if out else []


def rows_in(suite, name, folder):
    """Rows of all traces in FOLDER."""
    return [r for trace in sorted(os.listdir(folder)) for r in rows_of(suite, name, os.path.join(folder, trace))]


def counts(suite, name, trace):
    return {r["mangled"]: (r["warp_instructions"], r["thread_instructions"]) for r in rows_of(suite, name, trace)}


def by_profiler(suite, name):
    out, _, _ = suite.run(f"{name}: ncu", ["ncu", "--metrics", ",".join(METRICS), "--csv", suite.program("counted"), "direct"])
    found = {}
    for row in csv.DictReader(io.StringIO("\n".join(l for l in out.decode(errors="replace").splitlines() if l.startswith('"')))):
        found.setdefault(row["Kernel Name"].split("(")[0], {})[row["Metric Name"]] = int(row["Metric Value"].replace(",", ""))
    return {kernel: tuple(values.get(m) for m in METRICS) for kernel, values in found.items()}


def check(suite, name):
    row, first = suite.row(name), None
    plain = suite.run(f"{name}: plain", [suite.program("counted"), "direct"])
    for way in WAYS:
        folder = suite.folder(f"{name} {way}")
        done = suite.run(f"{name}: {way}", [suite.program("counted"), way], suite.preload(folder, "quiet,count=both"))
        if done[2] or done[0] != plain[0]:
            row.wrong.append(f"{way}: exit {done[2]}, output {'equal' if done[0] == plain[0] else 'differs'}")
        for trace in sorted(os.listdir(folder)):
            seen = counts(suite, name, os.path.join(folder, trace))
            first = first or seen
            other = sorted(k for k in first if k not in CHANCE and seen.get(k) != first[k])
            if other:
                row.wrong.append(f"{way}: {other[0]} counts {seen.get(other[0])}, not {first[other[0]]}")
    counted = {k: v for k, v in (first or {}).items() if v[0] is not None}
    row.notes.append(f"{len(counted)} of {len(first or {})} kernels are counted")
    if len(counted) < 30:
        row.wrong.append("too few kernels")
    if shutil.which("ncu"):
        truth = by_profiler(suite, name)
        wrong = sorted(k for k in counted if k in truth and k not in CHANCE and truth[k] != counted[k])
        row.notes.append(f"{sum(k in truth for k in counted) - len(wrong)} equal to ncu")
        if wrong:
            row.wrong.append(f"{wrong[0]}: {counted[wrong[0]]}, ncu has {truth[wrong[0]]}")
    return row


def counted_launches(suite, name, folder, kernels, launches):
    """Adds to [counted, all] of kernels and launches, over all traces in FOLDER."""
    for r in rows_in(suite, name, folder):
        for total, n in ((kernels, 1), (launches, r["launches"] or 0)):
            total[0] += n if r["warp_instructions"] is not None else 0
            total[1] += n


def of_programs(suite, name):
    """How much of what real programs launch is counted, and that results are identical bit for bit."""
    row, kernels, launches = suite.row(name), [0, 0], [0, 0]
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    for source in ("products.py", "train.py", "torch_graph.py", "cupy_loop.py"):
        argv, folder = [sys.executable, suite.source(source)], suite.folder(f"{name} {source}")
        plain = suite.run(f"{name}: {source} plain", argv)
        done = suite.run(f"{name}: {source}", argv, suite.preload(folder, "quiet,count=warp"))
        if done[0] != plain[0] or done[2] != plain[2]:
            lines = [(a, b) for a, b in zip(plain[0].splitlines(), done[0].splitlines()) if a != b]
            row.wrong.append(f"{source}: exit {done[2]}, {len(lines)} lines differ: {lines[:1]}")
        counted_launches(suite, name, folder, kernels, launches)
    row.notes.append(f"{kernels[0]} of {kernels[1]} kernels are counted, and {launches[0]} of {launches[1]} launches")
    if not kernels[1] or launches[0] < 0.98 * launches[1]:
        row.wrong.append("too few are counted")
    return row


def of_nccl(suite, name):
    """NCCL's collectives with two ranks, which use every register: results do not change, and each kernel is counted."""
    row, kernels, launches = suite.row(name), [0, 0], [0, 0]
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    argv, folder = [sys.executable, suite.source("nccl.py")], suite.folder(name)
    plain = suite.run(f"{name}: plain", argv)
    done = suite.run(name, argv, suite.preload(folder, "quiet,count=both"))
    if done[0] != plain[0] or done[2] or not plain[0]:
        lines = [(a, b) for a, b in zip(plain[0].splitlines(), done[0].splitlines()) if a != b]
        row.wrong.append(f"exit {done[2]}, without {plain[2]}, {len(lines)} lines differ: {lines[:1]}")
    counted_launches(suite, name, folder, kernels, launches)
    row.notes.append(f"{len(plain[0].splitlines())} collectives; {kernels[0]} of {kernels[1]} kernels are counted, and "
                     f"{launches[0]} of {launches[1]} launches")
    if not kernels[1] or kernels[0] < kernels[1]:
        row.wrong.append("too few are counted")
    return row


def of_green_contexts(suite, name):
    """Each launch of a kernel is counted, after other contexts were destroyed."""
    row, folder = suite.row(name), suite.folder(name)
    plain = suite.run(f"{name}: plain", [suite.program("green")])
    done = suite.run(name, [suite.program("green")], suite.preload(folder, "quiet,count=warp"))
    if plain[2] or done[0] != plain[0] or done[2]:
        row.wrong.append(f"exit {done[2]}, {done[0]!r}, without {plain[0]!r}")
    for r in rows_in(suite, name, folder):
        row.notes.append(f"{r['launches']} launches, {r['warp_instructions']} instructions")
        if not r["launches"] or not r["warp_instructions"] or r["warp_instructions"] % r["launches"]:
            row.wrong.append(f"{r['kernel']}: {r['warp_instructions']} instructions of {r['launches']} launches")
    if not row.notes:
        row.wrong.append("no kernel is counted")
    return row


def times(suite, name):
    """Times of kernels: plain, recorded, and recorded with counting, interleaved."""
    row, found = suite.row(name), {}
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    argv = [sys.executable, suite.source("products.py"), "--times"]
    for turn in range(3):
        for way, options in (("plain", None), ("recorded", "quiet"), ("counting", "quiet,count=warp")):
            env = suite.preload(suite.folder(name), options) if options else None
            out, _, _ = suite.run(f"{name}: {way} {turn}", argv, env)
            for line in out.decode().splitlines():
                what, _, us = line.rpartition(": ")
                if "not there" in what:
                    continue
                found.setdefault(what, {}).setdefault(way, []).append(float(us))
    for what, ways in found.items():
        least = {way: min(values) for way, values in ways.items()}
        if len(least) == 3:
            row.notes.append(f"{what}: {least['plain']:.2f} us; relative: recorded {least['recorded'] / least['plain']:.3f}, "
                             f"counting {least['counting'] / least['plain']:.3f}")
        else:
            row.wrong.append(f"{what}: only {', '.join(least)}")
    if not found:
        row.wrong.append("nothing ran")
    return row


def register(suite):
    suite.cuda_build("counted", "counted.cu")
    suite.build("green", ["gcc", "-O2", "-I" + os.path.join(suite.cuda, "include"), suite.source("green.c"),
                          "-L" + os.path.join(suite.cuda, "lib64/stubs"), "-lcuda"])
    suite.check("instructions in green contexts", of_green_contexts, needs=("green",))
    suite.check("instructions of real programs", of_programs)
    suite.check("instructions of NCCL", of_nccl)
    suite.check("instructions of real programs, times", times, alone=True)
    suite.check("instructions, counted by the kernels", check, needs=("counted",))
