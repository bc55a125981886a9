# SPDX-License-Identifier: MIT
"""Real trainings are exported to every format and to a page, with as many calls as in --by-api."""

import importlib.util
import json
import os
import sqlite3
import sys

FORMATS = ("folded", "perfetto", "chrome", "sqlite", "parquet", "pprof", "dot", "raw", "html")


def training(suite, name, module, source, options):
    if importlib.util.find_spec(module) is None:
        return suite.skip(name, f"{module} is not installed")
    row = suite.compare(name, [sys.executable, suite.source(source)], options=options,
                        env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0", "TRANSFORMERS_OFFLINE": "1"})
    traces = suite.traces(name)
    if not traces:
        return row
    for word in FORMATS:
        out = traces[0] + "." + word
        report = "--html" if word == "html" else f"--export={word}"
        _, err, status = suite.run(f"{name}: {report}", [suite.report, *traces, report, "-o", out])
        if status or not os.path.exists(out):
            row.wrong.append(f"{report}: exit {status}: {err.decode(errors='replace').strip()[-200:]}")
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
    suite.check("PyTorch, training in every export",
                lambda s, n: training(s, n, "torch", "train_nvtx.py", "quiet"))
    suite.check("transformers, training in every export, timing=work",
                lambda s, n: training(s, n, "transformers", "step.py", "quiet,timing=work"))
