# SPDX-License-Identifier: MIT
"""--memory of a program that leaks on purpose, and of PyTorch's allocator, compared with its own statistics; and the cost of
recording stacks of allocations."""

import importlib.util
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROUNDS = 7  # of each; the minimum counts


def rows_of(suite, name):
    out, _, _ = suite.run(f"{name}: --memory", [suite.report, *suite.traces(name), "--memory", "--format=json"])
    suite.run(f"{name}: --memory as text", [suite.report, *suite.traces(name), "--memory"])
    return json.loads(out)["rows"]


def sums(rows, sort):
    """Sums by kind of memory, over all contexts."""
    kinds = {}
    for row in rows:
        if row["kind"] == sort:
            kind = kinds.setdefault(row["memory"], [0] * 4)
            for i, key in enumerate(("allocations", "frees", "live_bytes", "peak_bytes")):
                kind[i] += row[key] or 0
    return kinds


def function_of(row):
    """The program's own frame: the innermost that is not an API function."""
    frames = [frame.split("+")[0].split("(")[0] for frame in row["frames"].split(";")]
    return next((frame for frame in reversed(frames) if not re.match(r"cu(da)?[A-Z]", frame)), "")


def by_function(rows, sort):
    found = {}
    for row in (row for row in rows if row["kind"] == sort):
        calls, size = found.get(function_of(row), (0, 0))
        found[function_of(row)] = calls + row["calls"], size + (row["live_bytes"] or 0)
    return found


def check_kinds(suite, name):
    row = suite.compare(name, [suite.program("memory")])
    if row.wrong:
        return row
    rows = rows_of(suite, name)
    kinds = sums(rows, "memory")
    sites = {sort: by_function(rows, sort) for sort in ("unfreed", "freed twice", "failed", "freed with context")}
    for word, *rest in row.words:
        if word in ("unfreed", "twice", "failed"):
            sort = {"twice": "freed twice"}.get(word, word)
            got = sites[sort].get(rest[0], (0, 0))
            want = tuple(map(int, rest[1:]))
            if sort == "unfreed" and got == (0, 0):  # the runtime destroys the context before the process exits
                got = sites["freed with context"].get(rest[0], (0, 0))
        else:
            got, want = tuple(kinds.get(word, ())), tuple(map(int, rest))
        if got[:len(want)] != want:
            row.wrong.append(f"{word} {rest[0]}: {got}, not {want}")
    wrong = [r for r in rows if r["kind"] in ("unknown address", "allocated unseen")]
    if wrong:
        row.wrong.append(f"{len(wrong)} call sites free memory that was not allocated")
    driver = {r["memory"]: r["peak_bytes"] for r in rows if r["kind"] == "driver"}
    row.notes += [f"{memory}: at most {peak / 1e6:.0f} MB" for memory, peak in driver.items()]
    return row


def check_torch(suite, name):
    """Its segments are allocated by cudaMalloc, and nothing else in the program is."""
    row = suite.compare(name, [sys.executable, suite.source("allocator.py")])
    if row.wrong:
        return row
    said = {words[0]: int(words[1]) for words in row.words}
    have = sums(rows_of(suite, name), "memory").get("device", [0] * 4)
    want = [said["segments"], said["current"], said["peak"]]
    if [have[0], have[2], have[3]] != want:
        row.wrong.append(f"allocations, live and peak {[have[0], have[2], have[3]]} instead of {want}")
    row.notes.append(f"{said['segments']} segments, at most {said['peak'] / 1e6:.0f} MB")
    return row


def check_cost(suite, name):
    row, least = suite.row(name), {}
    for _ in range(ROUNDS):
        for options in (None, "api=off", "backtrace=off", "api=on"):
            env = suite.preload(suite.folder(name), f"quiet,overwrite,{options}") if options else None
            out, _, status = suite.run(f"{name}: {options}", [suite.program("memory_cost")], env)
            if status:
                row.wrong.append(f"{options}: exit {status}")
                return row
            ns = float(out.split()[1])
            least[options] = min(ns, least.get(options, ns))
    stack = (least["api=on"] - least["backtrace=off"]) / 2
    row.notes.append(f"allocation and free: {least[None]:.0f} ns without nvsnoop, {least['api=off']:.0f} with api=off, "
                     f"{least['backtrace=off']:.0f} without stacks, {least['api=on']:.0f} with stacks; {stack:.0f} ns per stack")
    if stack > 300:
        row.wrong.append(f"a stack takes {stack:.0f} ns")
    return row


def register(suite):
    stubs = ["-L" + os.path.join(suite.cuda, folder, "stubs") for folder in ("lib64", "lib", "targets/x86_64-linux/lib")]
    suite.cuda_build("memory", "memory.cu", *stubs, "-lcuda")
    suite.build("memory_cost", ["gcc", "-O2", "-D_GNU_SOURCE", "-I" + ROOT, os.path.join(ROOT, "tests/apps/memory_cost.c"),
                                *stubs, "-lcuda"])
    suite.check("memory of every kind, and leaks", check_kinds, ["memory"])
    if importlib.util.find_spec("torch"):
        suite.check("memory of PyTorch's allocator", check_torch)
    suite.check("cost of an allocation's stack", check_cost, ["memory_cost"], alone=True)
