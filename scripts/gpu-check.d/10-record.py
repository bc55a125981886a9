# SPDX-License-Identifier: MIT
"""All kinds of CUDA programs are recorded completely and behave as without nvsnoop."""

import importlib.util
import os
import re
import sys

LAUNCHES = 80000  # of threads.cu: 4 threads with 20,000 each


def program(suite, name, binary, expect=None):
    return suite.compare(name, [suite.program(binary)], expect)


def launches_expected(report):
    count = report.of("cuLaunchKernel")
    return [] if count == LAUNCHES else [f"{count} submissions of cuLaunchKernel instead of {LAUNCHES}"]


def script(suite, name, module, source, expect=None):
    """Checks a Python program if its framework is installed."""
    if importlib.util.find_spec(module) is None:
        return suite.skip(name, f"{module} is not installed")
    env = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"}
    return suite.compare(name, [sys.executable, suite.source(source)], expect, env)


def stepped(suite, name):
    """Every store is single-stepped, which is slower but must be as complete."""
    return suite.compare(name, [suite.program("threads")], launches_expected, options="quiet,trap=step")


def launched(suite, name):
    """With the launcher instead of LD_PRELOAD: same output, and one closing line that reports no gaps."""
    folder = suite.folder(name)
    row = suite.row(name)
    argv = [suite.program("golden-static")]
    plain = suite.run(f"{name}: without", argv)
    traced = suite.run(f"{name}: with", [suite.launcher, "-o", os.path.join(folder, "trace.zst"), *argv])
    row.output = "equal" if plain[0] == traced[0] and plain[2] == traced[2] else "DIFFER"
    if row.output != "equal":
        row.wrong.append("stdout or exit status differ")
    line = traced[1].decode(errors="replace").strip().splitlines()[-1:]
    if not line or not re.search(r"^nvsnoop: .* [\d,]+ submissions, 0 gaps; next: ", line[0]):
        row.wrong.append(f"closing line: {line}")
    suite.read(name, row, folder)
    return row


def register(suite):
    rpath = ["-Xlinker", "-rpath", "-Xlinker", os.path.join(suite.cuda, "lib64")]
    suite.cuda_build("golden-shared", "golden.cu", "-cudart", "shared", *rpath)
    suite.cuda_build("golden-static", "golden.cu", "-cudart", "static")
    suite.cuda_build("threads", "threads.cu", "-cudart", "static")
    stubs = ["-L" + os.path.join(suite.cuda, folder, "stubs")
             for folder in ("lib64", "lib", "targets/x86_64-linux/lib")]
    suite.build("driver", ["gcc", "-O2", "-I" + os.path.join(suite.cuda, "include"), suite.source("driver.c"),
                           *stubs, "-lcuda"])

    for kind in ("shared", "static"):
        suite.check(f"golden, {kind} cudart",
                    lambda s, n, b=f"golden-{kind}": program(s, n, b), [f"golden-{kind}"])
    suite.check("4 threads × 20,000 launches", lambda s, n: program(s, n, "threads", launches_expected),
                ["threads"])
    suite.check("4 threads × 20,000 launches, trap=step", stepped, ["threads"])
    suite.check("golden, with the launcher", launched, ["golden-static"])
    suite.check("driver API in C", lambda s, n: program(s, n, "driver"), ["driver"])
    suite.check("PyTorch training", lambda s, n: script(s, n, "torch", "train.py"))
    suite.check("PyTorch with a CUDA graph", lambda s, n: script(s, n, "torch", "torch_graph.py"))
    suite.check("JAX", lambda s, n: script(s, n, "jax", "jax_loop.py"))
    suite.check("CuPy", lambda s, n: script(s, n, "cupy", "cupy_loop.py"))
