# SPDX-License-Identifier: MIT
"""nvsnoop-report --diff: two runs of one program have no differences, two programs have some."""

import importlib.util
import json
import os
import sys

ENV = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"}
STEP = 5  # every fifth submission is compared method by method


def recorded(suite, name, argvs, env=None):
    """Records a trace of each."""
    row, folder, traces = suite.row(name), suite.folder(name), []
    for number, argv in enumerate(argvs):
        traces.append(os.path.join(folder, f"run-{number}.zst"))
        more = {**(env or {}), **suite.preload(folder), "NVSNOOP_OUT": traces[-1]}
        _, _, status = suite.run(f"{name}: run {number}", argv, more)
        if status != 0:
            row.wrong.append(f"run {number}: exit {status}")
    suite.read(name, row, folder)
    return row, traces


def diff(suite, name, row, traces, wanted):
    out, err, status = suite.run(f"{name}: --diff", [suite.report, "--diff", *traces])
    lines = (out + err).decode(errors="replace").strip().splitlines() or ["nothing printed"]
    row.notes.append(lines[0] if status == 0 else lines[-1])
    if status != wanted:
        row.wrong.append(f"--diff: exit {status}, not {wanted}: " + " | ".join(lines[:4]))


def twice(suite, name, argv, env=None):
    row, traces = recorded(suite, name, [argv, argv], env)
    diff(suite, name, row, traces, 0)
    return row


def by_method(suite, name, argv):
    """Compares single submissions, including their data. The program has one thread."""
    row, traces = recorded(suite, name, [argv, argv])
    told, _, _ = suite.run(f"{name}: --channels", [suite.report, traces[0], "--channels", "--format=json"])
    n = sum(r["submissions"] for r in json.loads(told)["rows"])
    compared = range(0, n, STEP)
    differ = [i for i in compared if suite.run(f"{name}: {i}", [suite.report, "--diff", *(f"{t}:{i}" for t in traces)])[2]]
    row.notes.append(f"{len(compared) - len(differ)} of {len(compared)} submissions compared are equal")
    if differ:
        row.wrong.append(f"different: {differ[:20]}")
    return row


def script(suite, name, module, source):
    if importlib.util.find_spec(module) is None:
        return suite.skip(name, f"{module} is not installed")
    return twice(suite, name, [sys.executable, suite.source(source)], ENV)


def others(suite, name):
    """Two different programs: --diff exits with 1."""
    row, traces = recorded(suite, name, [[suite.program("golden-static")], [suite.program("driver")]])
    diff(suite, name, row, traces, 1)
    return row


def register(suite):
    suite.check("golden, two runs", lambda s, n: twice(s, n, [s.program("golden-static")]), ["golden-static"])
    suite.check("driver API in C, two runs by method", lambda s, n: by_method(s, n, [s.program("driver")]), ["driver"])
    suite.check("driver API in C, two runs", lambda s, n: twice(s, n, [s.program("driver")]), ["driver"])
    suite.check("PyTorch with a CUDA graph, two runs", lambda s, n: script(s, n, "torch", "torch_graph.py"))
    suite.check("golden and another program", others, ["golden-static", "driver"])
