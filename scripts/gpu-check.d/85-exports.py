# SPDX-License-Identifier: MIT
"""That a real training goes into every format, with as many calls as --by-api tells."""

import importlib.util
import json
import os
import sqlite3
import sys

FORMATS = ("folded", "perfetto", "chrome", "sqlite", "parquet", "pprof", "dot", "raw")


def training(suite, name):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row = suite.compare(name, [sys.executable, suite.source("train_nvtx.py")],
                        env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"})
    traces = suite.traces(name)
    for word in FORMATS:
        out = traces[0] + "." + word
        _, err, status = suite.run(f"{name}: --export={word}", [suite.report, *traces, f"--export={word}", "-o", out])
        if status or not os.path.exists(out):
            row.wrong.append(f"--export={word}: exit {status}: {err.decode(errors='replace').strip()[-200:]}")
        elif os.path.isfile(out):
            row.notes.append(f"{word} {os.path.getsize(out) / 1e6:.1f} MB")
    told, _, _ = suite.run(f"{name}: --by-api", [suite.report, *traces, "--by-api", "--format=json"])
    calls = sum(r["calls"] or 0 for r in json.loads(told)["rows"]) if told else 0
    base = traces[0] + ".sqlite"
    found = sqlite3.connect(base).execute("SELECT count(*) FROM NVSNOOP_CALL").fetchone()[0] if os.path.exists(base) else 0
    if not calls or found != calls:
        row.wrong.append(f"{found} calls in the database instead of {calls}")
    return row


def register(suite):
    suite.check("PyTorch, training in every export", training)
