# SPDX-License-Identifier: MIT
"""The code of every kernel that ran is in the trace, with the number of registers that the driver reports."""

import importlib.util
import json
import sys

ENV = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"}


def rows(suite, name, trace, *report):
    out, _, _ = suite.run(f"{name}: {' '.join(report)}", [suite.report, trace, *report, "--format=json", "-n", "0"])
    return json.loads(out)["rows"] if out else []


def judge(row, ran, code, by_driver):
    """BY_DRIVER: some may be loaded as PTX, which the driver compiles."""
    found = {}
    for r in code:
        if r["instructions"]:
            found.setdefault(r["mangled"], set()).add(r["registers"])
    missing = sorted(r["mangled"] for r in ran if r["mangled"] not in found)
    other = [r for r in ran if r["registers"] and r["mangled"] in found and r["registers"] not in found[r["mangled"]]]
    row.notes.append(f"{len(ran)} kernels ran, {sum(r['mangled'] in found for r in ran)} found")
    if not ran or (missing and not by_driver):
        row.wrong.append(f"not found: {missing[:5]}")
    if other:
        row.wrong.append(f"{other[0]['mangled']}: {other[0]['registers']} registers, in the code {found[other[0]['mangled']]}")


def program(suite, name, argv, by_driver=False):
    row = suite.compare(name, argv, env=ENV, options="quiet,code=on")
    for trace in suite.traces(name):
        judge(row, [r for r in rows(suite, name, trace, "--by-kernel") if r["mangled"]],
              rows(suite, name, trace, "--code", "--kernel=*"), by_driver)
    return row


def script(suite, name, module, source, by_driver=False):
    if importlib.util.find_spec(module) is None:
        return suite.skip(name, f"{module} is not installed")
    return program(suite, name, [sys.executable, suite.source(source)], by_driver)


def register(suite):
    suite.check("code, program of the CUDA runtime", lambda s, n: program(s, n, [s.program("golden-static")]),
                needs=("golden-static",))
    suite.check("code, PyTorch training", lambda s, n: script(s, n, "torch", "train.py"))
    suite.check("code, PyTorch training in a graph", lambda s, n: script(s, n, "torch", "torch_graph.py"))
    suite.check("code, CuPy", lambda s, n: script(s, n, "cupy", "cupy_loop.py", True))
    suite.check("code, JAX", lambda s, n: script(s, n, "jax", "jax_loop.py", True))
