# SPDX-License-Identifier: MIT
"""nvsnoop-probe bench: three complete runs agree and take at most five minutes each. Raw samples, card and pictures stay in
the work folder, for docs/gpu-bench.md. Bandwidths are compared with ncu's counters if ncu is installed and may read them."""

import csv
import io
import json
import os
import shutil

RUN_S = 300  # time limit of one run
# Tolerance of medians between runs: a share, and at least the resolution of the clock.
STEADY = {"cycles": (0.03, 0.5), "ns": (0.03, 64), "us": (0.03, 0.064), "ms": (0.03, 0), "s": (0.03, 0),
          "KiB": (0.05, 1)}
EPSILON = 1e-9  # for rounding of decimal fractions
OTHERS = (0.05, 0)
# Benchmark, ncu's metric for the same traffic, bytes per unit of the metric.
COUNTERS = [
    ("global-bandwidth", "dram__bytes.sum.per_second", 1),
    ("l2-bandwidth", "lts__t_bytes.sum.per_second", 1),
    ("l1-bandwidth", "l1tex__t_bytes.sum.per_second", 1),
    ("shared-bandwidth", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.per_second", 128),
]
SCALE = {"byte/second": 1e-9, "Kbyte/second": 1e-6, "Mbyte/second": 1e-3, "Gbyte/second": 1, "Tbyte/second": 1e3,
         "1/second": 1e-9, "/second": 1e-9, "K/second": 1e-6, "M/second": 1e-3, "G/second": 1, "T/second": 1e3,
         "byte/s": 1e-9, "Kbyte/s": 1e-6, "Mbyte/s": 1e-3, "Gbyte/s": 1, "Tbyte/s": 1e3}


def bench(suite, name, words, row, timeout=RUN_S * 2, fine=(0,)):
    out, err, status = suite.run(f"{name}: {' '.join(words)}", [suite.probe, "bench", *words], timeout=timeout)
    if status not in fine:
        row.wrong.append(f"exit {status}: {err.decode(errors='replace').strip()[-200:]}")
    return out.decode(errors="replace")


def key_of(r):
    return r["benchmark"], r["name"], r["parameter"], r["unit"]


def steady(suite, name):
    """Three runs give the same figures, and each can be recomputed from its saved samples."""
    row, folder, runs = suite.row(name), os.path.join(suite.work, "bench"), []
    os.makedirs(folder, exist_ok=True)
    for i in range(3):
        samples = os.path.join(folder, f"samples-{i}.txt")
        told = json.loads(bench(suite, name, ["--format=json", f"--save={samples}", f"--svg={folder}"], row) or "{}")
        if not told.get("rows"):
            row.wrong.append("no figures")
            return row
        runs.append({key_of(r): r for r in told["rows"] if r["value"] is not None and not r["detail"]})
        row.wrong += [f"{m['benchmark']}: {m['text']}" for m in told["missing"] if "rejected" in m["text"]][:3]
        again = json.loads(bench(suite, name, [f"--load={samples}", "--format=json"], row) or "{}")
        if again.get("rows") != told["rows"]:
            row.wrong.append("figures from the saved samples differ")
    worst = {"times": 0.0, "others": 0.0}
    for key in runs[0]:
        values = [run[key]["value"] for run in runs if key in run]
        share, least = STEADY.get(key[3], OTHERS)
        apart, low = max(values) - min(values), min(map(abs, values))
        if apart > least and low:
            kind = "times" if STEADY.get(key[3], OTHERS)[0] < OTHERS[0] else "others"
            worst[kind] = max(worst[kind], apart / low)
        if len(values) < 3 or apart > max(share * low, least) + EPSILON:
            row.wrong.append(f"{' '.join(key)}: {len(values)} runs, {', '.join(f'{v:.4g}' for v in values)}")
    below = [r for r in runs[0].values() if r["below_boost"]]
    row.notes.append(f"{len(runs[0])} figures, three runs within {worst['times'] * 100:.1f} % (times) and "
                     f"{worst['others'] * 100:.1f} % (others); {len(below)} below boost")
    failures = len(row.wrong)
    row.wrong = row.wrong[:6] + ([f"and {failures - 6} more"] if failures > 6 else [])
    return row


def card(suite, name):
    """The card of the first run matches a fourth one; also limits the time of the run."""
    row, folder = suite.row(name), os.path.join(suite.work, "bench")
    path = os.path.join(folder, "card.md")
    samples = os.path.join(folder, "samples-0.txt")
    if not os.path.isfile(samples):
        return suite.skip(name, "there are no samples of the first run")
    text = bench(suite, name, [f"--load={samples}", "--card"], row)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    told = bench(suite, name, [f"--check={path}"], row, RUN_S)
    row.notes.append(" ".join(told.split())[-300:])
    return row


def counters(suite, name):
    """Compares ncu's maximum over the kernels of each benchmark with the benchmark's own maximum."""
    row, ncu = suite.row(name), shutil.which("ncu") or os.path.join(suite.cuda, "bin", "ncu")
    if not os.path.isfile(ncu):
        return suite.skip(name, "ncu is not installed")
    listed = bench(suite, name, ["--list"], row)
    for benchmark, metric, width in COUNTERS:
        if benchmark not in listed:
            row.notes.append(f"{benchmark}: does not exist")
            continue
        command = [ncu, "--clock-control", "none", "--csv", "--metrics", metric, "--kernel-name", "bench", "--launch-count", "60",
                   suite.probe, "bench", benchmark]
        out, err, _ = suite.run(f"{name}: {benchmark}", command, timeout=RUN_S * 2)
        lines = out.decode(errors="replace").splitlines()
        at = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
        if at is None:
            if b"ERR_NVGPUCTRPERM" in out + err:
                return suite.skip(name, "ncu has no permission to read counters")
            row.notes.append(f"{benchmark}: ncu has no {metric}")
            continue
        rates = [float(r["Metric Value"].replace(",", "")) * SCALE.get(r["Metric Unit"], 0) * width
                 for r in csv.DictReader(io.StringIO("\n".join(lines[at:]))) if r.get("Metric Name") == metric]
        told = json.loads(bench(suite, name, [benchmark, "--format=json"], row) or '{"rows": []}')
        own = [r for r in told["rows"] if r["value"] and ("GB/s" in r["unit"] or "/cycle" in r["unit"])]
        best = max(own, key=lambda r: r["value"], default=None)
        if not best or not rates:
            row.wrong.append(f"{benchmark}: {len(own)} figures, ncu has {len(rates)} kernels")
            continue
        row.notes.append(f"{benchmark}: {best['value']:.4g} {best['unit']} ({best['name']}), ncu's maximum {max(rates):.4g} GB/s")
        # L1 and shared memory are measured on one SM, too shortly to show in a rate of the whole GPU.
        if best["unit"] == "GB/s" and benchmark in ("global-bandwidth", "l2-bandwidth") and \
                not 0.8 < best["value"] / max(max(rates), 1e-9) < 1.25:
            row.wrong.append(f"{benchmark}: ncu has {max(rates):.4g} GB/s")
    return row


def register(suite):
    suite.check("bench", steady, alone=True)
    suite.check("bench-card", card, alone=True)
    suite.check("bench-ncu", counters, alone=True)
