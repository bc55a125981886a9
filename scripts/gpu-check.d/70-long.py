# SPDX-License-Identifier: MIT
"""Long runs: --keep-last keeps a whole trace within its size, and the profiler's calls open a window."""

import importlib.util
import json
import os
import re
import sys

SECONDS = 10
KEPT = 2 << 20
FLAT_KIB = 8192  # limit of growth of memory


def launched(suite, name, row, options, *args):
    """Records tests/gpu/longrun.py with the launcher; returns its output, its summary and its launches."""
    trace = os.path.join(suite.folder(name), "trace.zst")
    args = [trace if arg == "TRACE" else arg for arg in args]
    out, err, status = suite.run(f"{name}: with", [suite.launcher, "-o", trace, *options, sys.executable,
                                                   suite.source("longrun.py"), *args])
    if status != 0:
        row.wrong.append(f"exit {status}: {err.decode(errors='replace')[-200:]}")
    suite.read(name, row, os.path.dirname(trace))
    summary = suite.run(f"{name}: json", [suite.report, trace, "--format=json"])[0]
    by_kernel = suite.run(f"{name}: kernels", [suite.report, trace, "--by-kernel", "--format=json"])[0]
    launches = sum(r["launches"] for r in json.loads(by_kernel)["rows"])
    return out.decode(errors="replace"), json.loads(summary)["rows"][0], launches


def kept(suite, name):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row = suite.row(name)
    out, summary, launches = launched(suite, name, row, [f"--keep-last={KEPT >> 20}M"], str(SECONDS), "TRACE")
    made = re.search(r"made (\d+) launches, at most (\d+) bytes", out)
    memory = [int(n) for n in re.findall(r"rss-anon (\d+)", out)]
    if not made or len(memory) < 9:
        row.wrong.append("the program did not print its counts")
        return row
    row.output = "right"
    row.notes.append(f"{made[1]} launches, {launches} kept in {summary['file_bytes']} bytes, at most {made[2]}")
    row.notes.append("RssAnon MiB: " + " ".join(f"{kib / 1024:.0f}" for kib in memory))
    if int(made[2]) > KEPT + KEPT // 8:
        row.wrong.append(f"its files had {made[2]} bytes")
    if not (summary["recorded"] or "").startswith(f"the last {KEPT >> 20} MiB"):
        row.wrong.append(f"it contains {summary['recorded']}")
    if memory[-1] - memory[2] > FLAT_KIB:
        row.wrong.append(f"memory grew by {memory[-1] - memory[2]} KiB")
    return row


def window(suite, name):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row = suite.row(name)
    out, summary, launches = launched(suite, name, row, ["--from=profiler"], "window")
    row.output = "right" if out.endswith("window 2001\n") else "WRONG"
    if row.output == "WRONG":
        row.wrong.append(f"printed {out[-100:]}")
    if launches != 1000:
        row.wrong.append(f"{launches} launches in the window instead of 1000")
    row.notes.append(summary["recorded"] or "everything was recorded")
    return row


def register(suite):
    # Alone, because it measures memory.
    suite.check(f"PyTorch, {SECONDS} s, the last {KEPT >> 20} MiB", kept, alone=True)
    suite.check("PyTorch, from=profiler", window)
