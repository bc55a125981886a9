# SPDX-License-Identifier: MIT
"""nvsnoop-probe's own commands work on the GPU: the bytes are right, the figures are reproducible, and a recording of the
probe contains what it reports to have sent."""

import json

SIZES = "4K,16K,64K,1M,16M"
EACH = ",".join([f"{1 << n}K" for n in range(2, 10)] + [f"{1 << n}M" for n in range(6)])  # 4 KiB to 32 MiB
STEADY = 0.05  # limit of the difference between three runs
STEADY_READS = 0.35  # for transfers that read host memory, which others use too


def key_of(row):
    return tuple(row[k] for k in ("engine", "mode", "channel", "direction", "memory_dst", "pushbuffer", "bytes"))


def probed(suite, name, words, row, env=None):
    out, err, status = suite.run(f"{name}: {' '.join(words)}", [suite.probe, *words, "--format=json"], env)
    if status:
        row.wrong.append(f"exit {status}: {err.decode(errors='replace').strip()[-200:]}")
        return None
    return json.loads(out)


def main_way(row):
    """Whether it is a main mode of back-to-back transfer, not a variant."""
    return row["mode"] in ("inline", "non-pipelined") and row["pushbuffer"] == "host" and \
        (row["channel"] != "compute" or row["engine"] == "inline" or row["direction"] == "DtoD")


def dma(suite, name):
    row = suite.row(name)
    runs = [probed(suite, name, ["dma", f"--sizes={EACH}"], row) for _ in range(3)]
    if row.wrong:
        return row
    figures = {}
    for run in runs:
        for r in filter(main_way, run["rows"]):
            figures.setdefault(key_of(r), []).append(r["ns_median"])
    spread = {k: (max(v) - min(v)) / min(v) for k, v in figures.items()}
    reads = {k for k in spread if k[0] == "inline" or k[3] == "HtoD"}
    row.wrong += [f"{' '.join(map(str, k))}: {s * 100:.1f} % difference" for k, s in sorted(spread.items())
                  if s > (STEADY_READS if k in reads else STEADY)][:4]
    for what, keys in (("", spread.keys() - reads), (" that reads host memory", reads)):
        row.notes.append(f"three runs within {max(spread[k] for k in keys) * 100:.1f} % for each figure{what} "
                         f"({sum(spread[k] <= STEADY for k in keys)} of {len(keys)} within 5 %)")
    row.notes += [n for n in runs[0]["notes"] if "inline is faster" in n]
    return row


def peers(suite, name):
    """From each GPU to another and back. The probe itself compares the bytes, which the other GPU reads."""
    row = suite.row(name)
    for gpu in range(suite.gpus):
        run = probed(suite, name, ["dma", f"--gpu={gpu}", f"--sizes={SIZES}", "--repeat=5"], row)
        if not run:
            return row
        told = [n for n in run["notes"] if n.startswith("DtoP and PtoD")]
        rows = [r for r in run["rows"] if r["direction"] in ("DtoP", "PtoD")]
        ways = {(r["direction"], r["mode"], r["channel"]) for r in rows}
        if "not measured" in told[0]:
            row.notes += told
            if "cannot access" not in told[0] or rows:
                row.wrong.append(f"GPU {gpu}: {told[0]}, {len(rows)} rows")
            continue
        if len(ways) != 6 or any(not r["ns_median"] for r in rows):
            row.wrong.append(f"GPU {gpu}: modes {sorted(ways)}, or a row without a time")
        for way in ("DtoP", "PtoD"):
            best = max(r["gib_per_s"] for r in rows if r["direction"] == way)
            row.notes.append(f"GPU {gpu} {way} {best:.1f} GiB/s")
    return row


def doorbell(suite, name):
    row = suite.row(name)
    run = probed(suite, name, ["doorbell"], row)
    if not run:
        return row
    stage = {(r["stage"], r["pushbuffer"]): r for r in run["rows"]}
    whole, first = stage[("all of it", "host")], stage.get(("to the first timestamp", "host"))
    if not first:
        row.notes.append("the GPU's clock cannot be read")
        return row
    row.notes.append(f"first timestamp after {first['ns_median']:.0f} +- {first['uncertain_ns']:.0f} ns, "
                     f"seen after {whole['ns_median']:.0f}")
    if not 0 < first["ns_median"] < whole["ns_median"] + first["uncertain_ns"]:
        row.wrong.append("the first timestamp is not between the doorbell store and completion")
    return row


def mirrored(suite, name):
    """Only commands in device memory are missing, because the process cannot read them."""
    row, folder = suite.row(name), suite.folder(name)
    run = probed(suite, name, ["dma", "--sizes=4K", "--repeat=3", "--iterations=7"], row, suite.preload(folder))
    if not run:
        return row
    want = {"engine": 0, "inline": 0}
    hidden = 0
    for r in run["rows"]:
        if r["pushbuffer"] == "host":
            want["engine" if r["engine"] == "copy" else "inline"] += 3 * (r["transfers"] + 1)
        else:
            hidden += 3
    trace = suite.traces(name)[0]
    out, _, _ = suite.run(f"{name}: --ops", [suite.report, trace, "--ops", "--format=json"])
    ops = [json.loads(line) for line in out.decode(errors="replace").splitlines()]
    ours = {o["submission"] for o in ops if o.get("op") == "release" and (o.get("payload") or 0) >> 8 == 0x70726f}
    have = {"engine": 0, "inline": 0}
    for o in ops:
        if o.get("op") == "copy" and o["submission"] in ours and o["written_bytes"] == 4096:
            have[o["mode"]] += 1
    out, _, _ = suite.run(f"{name}: --verify", [suite.report, trace, "--verify"])
    lost = out.decode(errors="replace").count("(unmapped)")
    row.notes.append(f"{have['engine']} copies, {have['inline']} inline")
    if have != want:
        row.wrong.append(f"recorded {have}, sent {want}")
    if lost != hidden:
        row.wrong.append(f"{lost} segments lost, {hidden} are in device memory")
    return row


def compared(suite, name):
    """The driver copies up to 24 KiB inline and more with the engine; every size of the published table has a row."""
    row = suite.row(name)
    run = probed(suite, name, ["dma", "--compare"], row)
    if not run:
        return row
    modes = {r["bytes"]: r["mode"] for r in run["rows"]}
    want = {1 << n: "inline" if n < 15 else "engine" for n in range(3, 26, 2)}
    if modes != want:
        row.wrong.append(f"modes {modes}, not {want}")
    for r in run["rows"]:
        if not r["host_ns"] or not r["raw_ns"] or r["host_ns"] < r["raw_ns"] * 0.9:
            row.wrong.append(f"{r['bytes']} bytes: host {r['host_ns']} ns, raw {r['raw_ns']}")
    cupti = [r for r in run["rows"] if r["cupti_ns"]]
    row.notes.append(f"{len(run['rows'])} sizes, {len(cupti)} with CUPTI")
    for r in cupti[:1]:
        row.notes.append(f"{r['bytes']} bytes: CUPTI {r['cupti_ns']:.0f} ns, raw {r['raw_ns']:.1f}")
    return row


def register(suite):
    suite.check("probe: transfers", dma, alone=True)
    if suite.gpus > 1:
        suite.check("probe: transfers between GPUs", peers, alone=True)
    suite.check("probe: transfers compared with CUPTI", compared, alone=True)
    suite.check("probe: doorbell", doorbell, alone=True)
    suite.check("probe: recorded by nvsnoop", mirrored)
