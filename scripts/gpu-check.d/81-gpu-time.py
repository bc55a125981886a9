# SPDX-License-Identifier: MIT
"""Reports on timing=work, compared with other clocks: --timeline and --memcpy for kernels and copies of known length, with CUDA
events and the GPU's own clock; --overlap and --critical for streams that overlap by a known share.
"""

import json
import os
import statistics

NEAR_NS, NEAR_PART = 1000, 0.02  # tolerance to CUDA events
BOTH_PART = 0.05  # tolerance of the overlap, because events take time too
BY_ENGINE = 1 << 16  # bytes


def recorded(suite, name, row, command, timeout=None):
    """JSON lines that COMMAND prints under timing=work, and its trace; None on failure."""
    trace = os.path.join(suite.folder(name), "trace.zst")
    out, err, status = suite.run(f"{name}: run", [suite.launcher, "--quiet", "--timing=work", "-o", trace, "--", *command],
                                 timeout=timeout)
    if status:
        row.wrong.append(f"exit {status}: {(out + err).decode(errors='replace')[-200:]}")
        return None, trace
    row.output = "ran"
    _, _, status = suite.run(f"{name}: --verify", [suite.report, trace, "--verify"])
    row.verify = "whole" if not status else "NOT WHOLE"
    if status:
        row.wrong.append("the trace is not whole")
    return lines(out), trace


def lines(out):
    return [json.loads(line) for line in out.decode(errors="replace").splitlines() if line.startswith("{")]


def rows(suite, name, row, trace, *options):
    out, err, status = suite.run(f"{name}: {options[0]}", [suite.report, trace, "--format=json", *options])
    if status:
        row.wrong.append(f"{options[0]}: {err.decode(errors='replace')[-200:]}")
        return []
    return json.loads(out)["rows"]


def slices(suite, name, row, trace):
    return [r for r in rows(suite, name, row, trace, "--timeline") if r["kind"] == "gpu"]


def near(ns, by_events):
    return abs(ns - by_events) <= NEAR_NS + NEAR_PART * by_events


def compare(row, what, said, seen):
    """SAID: (label, ns by another clock); SEEN: slices, the last of which are the same work. Returns the constant overhead of
    the other clock in ns."""
    seen = seen[-len(said):]
    if len(seen) < len(said) or not said:
        row.wrong.append(f"{what}: {len(said)} done, {len(seen)} timed")
        return 0
    pairs = [(label, (s["gpu_us"] or 0) * 1000, ns) for (label, ns), s in zip(said, seen)]
    short = sorted(pairs, key=lambda pair: pair[1])[:(len(pairs) + 1) // 2]  # in long copies, parts of a per cent are more
    more = statistics.median(ns - ours for _, ours, ns in short)
    row.notes.append(f"{what}: {more:+.0f} ns overhead of the other clock")
    for at in dict.fromkeys(label for label, _ in said):
        mine = statistics.median(ours for label, ours, _ in pairs if label == at)
        # By pairs, because a copy engine that has to wake up may slow one of the two clocks or both.
        theirs = mine + statistics.median(ns - ours for label, ours, ns in pairs if label == at) - more
        row.notes.append(f"{at}: {mine:.0f}, {theirs:.0f}")
        if not near(mine, theirs):
            row.wrong.append(f"{what} {at}: {mine:.0f} ns, not {theirs:.0f}")
    return more


def each(suite, name):
    row = suite.row(name)
    said, trace = recorded(suite, name, row, [suite.program("gputime"), "each"], timeout=120)
    if said is None:
        return row
    done = slices(suite, name, row, trace)
    told = [s for s in said if s["what"] == "kernel"]
    # Before each kernel there is one that keeps the GPU busy.
    kernels = [s for s in done if "spin" in (s["gpu_work"] or "")][-2 * len(told):][1::2]
    compare(row, "kernels, by events", [(f"{s['asked_ns']} ns", s["event_ns"]) for s in told], kernels)
    compare(row, "kernels, by their own clock", [(f"{s['asked_ns']} ns", s["inner_ns"]) for s in told], kernels)
    for way in ("HtoD", "DtoH"):
        # Smaller copies do not use the engine, and their events are in another channel.
        told = [s for s in said if s["what"] == way and s["bytes"] >= BY_ENGINE]
        mine = [s for s in done if s["gpu_work"] == f"copy {way}"]
        more = compare(row, way, [(f"{s['bytes']} bytes", s["event_ns"]) for s in told], mine)
        rates(suite, name, row, trace, [s for s in told if s["what"] == way], more)
    return row


def rates(suite, name, row, trace, said, floor):
    """Compares GB/s of --memcpy with events; the largest copies must agree."""
    for r in rows(suite, name, row, trace, "--memcpy"):
        ns = [s["event_ns"] - floor for s in said if s["what"] == r["direction"] and s["bytes"] == r["size_class_bytes"]]
        if not ns or r["gpu_gb_per_s"] is None:
            continue
        # The mean, as in the report, so that a delayed copy is in both.
        by_events = r["size_class_bytes"] * len(ns) / sum(ns)
        row.notes.append(f"{r['direction']} {r['size_class_bytes']} bytes: {r['gpu_gb_per_s']} GB/s by {r['gpu_timed_by']}, "
                         f"by events {by_events:.2f}")
        if r["size_class_bytes"] >= 1 << 24 and abs(r["gpu_gb_per_s"] / by_events - 1) > NEAR_PART:
            row.wrong.append(f"{r['direction']} of {r['size_class_bytes']} bytes: {r['gpu_gb_per_s']} GB/s, not {by_events:.2f}")


def covered(spans):
    """The union of SPANS as disjoint (begin, end) in order."""
    joined = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def length(spans):
    return sum(end - begin for begin, end in spans)


def both(suite, name):
    row = suite.row(name)
    said, trace = recorded(suite, name, row, [suite.program("gputime"), "both", "20"])
    if said is None:
        return row
    spans = {what: covered([(s["begin_ns"], s["end_ns"]) for s in said if s["what"] == what]) for what in ("kernel", "HtoD")}
    common = length(spans["kernel"]) + length(spans["HtoD"]) - length(covered(spans["kernel"] + spans["HtoD"]))
    seen = [r for r in rows(suite, name, row, trace, "--overlap") if r["both_us"] and r["span_us"] is not None]
    ns = max((r["both_us"] * 1000 for r in seen), default=0)
    row.notes.append(f"overlap: {ns:.0f} ns, by events {common:.0f}, of {length(spans['HtoD']):.0f} of copies")
    if abs(ns - common) > BOTH_PART * common + 10 * NEAR_NS or not common:
        row.wrong.append(f"overlap: {ns:.0f} ns, not {common:.0f}")
    waits = rows(suite, name, row, trace, "--critical")
    row.notes.append("waited for: " + ", ".join(f"{r['waited_for']} {r['host_us_total']:.0f} us, GPU busy {r['gpu_busy_us']}"
                                                for r in waits[:3]))
    if not any("spin" in (r["waited_for"] or "") or "copy" in (r["waited_for"] or "") for r in waits):
        row.wrong.append("--critical does not show what was waited for")
    return row


def register(suite):
    suite.cuda_build("gputime", "gputime.cu")
    suite.check("GPU time of known work, by events", each, ["gputime"], alone=True)
    suite.check("GPU time of overlapping streams", both, ["gputime"], alone=True)
