# SPDX-License-Identifier: MIT
"""nvsnoop-probe graph, for a few lengths and for all. The rows and pictures of the latter stay in the work folder, for
docs/graphs.md."""

import csv
import json
import os

FULL_S = 540
PICTURES = ["graph-bytes.svg", "graph-fit.svg", "graph-steps.svg", "graph-time.svg"]


def study(suite, name, words, row, timeout=None):
    out, err, status = suite.run(f"{name}: {' '.join(words)}", [suite.probe, "graph", *words, "--format=json"], timeout=timeout)
    if status:
        row.wrong.append(f"exit {status}: {err.decode(errors='replace').strip()[-200:]}")
        return None
    return json.loads(out)


def judge(row, rows):
    """Checks what holds for every driver."""
    for r in rows:
        n = r["nodes"]
        if not 0 < r["launch_us_p10"] <= r["launch_us_p50"] <= r["launch_us_p90"]:
            row.wrong.append(f"{n} nodes: times {r['launch_us_p10']}, {r['launch_us_p50']}, {r['launch_us_p90']}")
        if not r["bytes_p50"] or not r["doorbells"] or r["entries"] < r["doorbells"]:
            row.wrong.append(f"{n} nodes: {r['bytes_p50']} bytes, {r['doorbells']} doorbells, {r['entries']} entries")
        if r["back_to_back_bytes_p50"] < r["bytes_p50"]:
            row.wrong.append(f"{n} nodes: back to back {r['back_to_back_bytes_p50']} bytes, {r['bytes_p50']} after a synchronise")
        if r["upload_bytes"] <= r["bytes_p50"] or r["kernels_doorbells"] < n:
            row.wrong.append(f"{n} nodes: {r['upload_bytes']} bytes of upload, {r['kernels_doorbells']} doorbells one by one")
    row.wrong = row.wrong[:4]
    first, last = rows[0], rows[-1]
    row.notes.append(f"{first['nodes']} to {last['nodes']} nodes: {first['bytes_p50']:.0f} to {last['bytes_p50']:.0f} bytes, "
                     f"{first['launch_us_p50']:.2f} to {last['launch_us_p50']:.2f} us, "
                     f"at most {max(r['doorbells'] for r in rows):.0f} doorbells")


def few(suite, name):
    """Two runs: the bytes depend only on the driver and must be equal."""
    row = suite.row(name)
    runs = [study(suite, name, ["--nodes=1-40"], row) for _ in range(2)]
    if row.wrong:
        return row
    judge(row, runs[0]["rows"])
    differ = [a["nodes"] for a, b in zip(*(run["rows"] for run in runs)) if a["bytes_p50"] != b["bytes_p50"]]
    if differ:
        row.wrong.append(f"bytes differ between two runs at {len(differ)} lengths, the first {differ[0]}")
    return row


def full(suite, name):
    row, folder = suite.row(name), os.path.join(suite.work, "graphs")
    os.makedirs(folder, exist_ok=True)
    run = study(suite, name, ["--svg=" + folder], row, FULL_S)
    if not run:
        return row
    judge(row, run["rows"])
    with open(os.path.join(folder, "graph.json"), "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)
    with open(os.path.join(folder, "graph.csv"), "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [*run["rows"][0], "gpu", "driver", "pcie", "sm_mhz"])
        table.writeheader()
        table.writerows({**r, **{key: run[key] for key in ("gpu", "driver", "pcie", "sm_mhz")}} for r in run["rows"])
    if not set(PICTURES) <= set(os.listdir(folder)):
        row.wrong.append(f"pictures: {sorted(os.listdir(folder))}")
    row.notes += [note for note in run["notes"] if note.startswith("launch time")] + [f"results in {folder}"]
    return row


def register(suite):
    suite.check("probe: graphs by length", few, alone=True)
    suite.check("probe: graphs of all lengths", full, alone=True)
