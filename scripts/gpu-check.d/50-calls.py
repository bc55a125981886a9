# SPDX-License-Identifier: MIT
"""API calls are reported as the program made them: launches by kernel and by origin of their graph, graphs by length,
copies with a bandwidth within the bounds of the program's own clock, and PyTorch's launches as its profiler counts them.
"""

import importlib.util
import json
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNTING = ("api_counts", "graphkinds", "inflight", "apichurn")  # in tests/apps; they count their own calls
BYPASS = {"bypass": (), "bypass_plugin.so": ("-fPIC", "-shared", "-Wl,-z,lazy"), "interposer.so": ("-fPIC", "-shared")}
NEAR = 0.05  # relative tolerance
SLACK_MS = 0.06  # added to copies on the host: the start, and waking up
BRACKET_MS = 0.008  # maximum time of the timestamps around each copy
ENOUGH = 6  # minimum number of kinds of queued copies, of 10, with a time


def rows_of(suite, name, kind):
    out, _, _ = suite.run(f"{name}: --{kind}", [suite.report, *suite.traces(name), f"--{kind}", "--format=json"])
    return json.loads(out)["rows"]


def check_graphs(suite, name):
    argv = [suite.program("graphs")]
    row = suite.compare(name, argv)
    if row.wrong:
        return row
    words = row.words
    kernels = {r["kernel"].replace(" ", ""): r for r in rows_of(suite, name, "by-kernel")}
    for _, direct, captured, built, *kernel in (w for w in words if w[0] == "kernel"):
        got = kernels.get("".join(kernel))
        want = [int(direct), int(captured), int(built)]
        have = got and [got["direct"], got["graph_captured"], got["graph_built"]]
        if have != want:
            row.wrong.append(f"{' '.join(kernel)}: {have} instead of {want}")
    graphs = rows_of(suite, name, "graphs")
    lengths = [(int(w[1]), int(w[2])) for w in words if w[0] == "length"]
    told = [(g["nodes"], g["graph_launches"]) for g in graphs[:len(lengths)]]
    if told != lengths:
        row.wrong.append(f"graphs: {told} instead of {lengths}")
    chains = [[g["edges"], g["longest_path_nodes"]] for g in graphs[:len(lengths)]]
    if chains != [[n - 1, n] for n, _ in lengths]:
        row.wrong.append(f"edges and longest paths: {chains} of {lengths}")
    bodies = [int(w[2]) for w in words if w[0] == "conditional"]
    if bodies and kernels.get("body(int*)", {}).get("graph_conditional") != bodies[0]:
        row.wrong.append("launches of the conditional body differ")
    if any(g["partial"] for g in graphs):
        row.wrong.append("a graph has unknown nodes")
    row.notes += [f"{g['nodes']} nodes: {g['command_bytes_per_launch']:.0f} bytes, {g['submissions_per_launch']:.0f} doorbell, "
                  f"{g['host_us_p50']:.1f} us" for g in graphs[:len(lengths)] if g["nodes"] in (1, 100, 2000)]
    return row


def check_copies(suite, name):
    """
    Compares the GPU's time of queued copies with the host's time of the same run. Some times may be missing, but none may
    be wrong. Both are written to the log and to stderr.
    """
    row = suite.compare(name, [suite.program("queued")], options="quiet,timing=work")
    if row.wrong:
        return row
    rows = rows_of(suite, name, "memcpy")
    told = {(r["direction"], r["largest_bytes"]): r for r in rows if r["mode"] == "engine" and r["direction"] != "batch"}
    batches = [r for r in rows if r["direction"] == "batch"]
    host = {tuple(w[:2]): float(w[2]) for w in map(str.split, row.stderr.splitlines()) if len(w) == 3}
    lines, off = [], []
    for direction, size, *calls in row.words:
        if direction == "batch":
            if [r["copied_bytes"] for r in batches] != [int(size)] or batches[0]["batched_copies"] != 4:
                row.wrong.append(f"the batch's bytes: {batches}")
            continue
        got, kind, ms = told.get((direction, int(size)), {}), f"{direction} {size}", host[direction, size]
        rate, megabytes = got.get("gpu_gb_per_s"), int(size) * int(calls[0]) / 1e6
        gpu_ms = max(ms - SLACK_MS - int(calls[0]) * BRACKET_MS, ms / 4)
        least, most = megabytes / ms, megabytes / gpu_ms
        if got.get("calls") != int(calls[0]):
            row.wrong.append(f"{kind}: {got.get('calls')} calls instead of {calls[0]}")
        lines.append(f"{kind:14} host {least:.3f} to {most:.3f} GB/s, timing {rate or '-'} of "
                     f"{got.get('gpu_timed_bytes')} of {got.get('copied_bytes')} bytes in {got.get('gpu_timed')} submissions")
        if rate:
            off.append(max(1 - rate / least, rate / most - 1, 0))
            if off[-1] > NEAR:
                row.wrong.append(f"{kind}: {rate} GB/s by timing, {least:.3f} to {most:.3f} on the host")
    suite.log(f"{name}: host and timing", "\n".join(lines))
    print("\n".join(lines), file=sys.stderr, flush=True)
    row.notes.append(f"{len(off)} of {len(lines)} kinds timed, at most "
                     f"{100 * max(off, default=0):.1f} % outside the bounds of the host")
    if len(off) < ENOUGH:
        row.wrong.append(f"fewer than {ENOUGH} kinds have a time")
    return row


def check_profiler(suite, name):
    if not importlib.util.find_spec("torch"):
        return suite.skip(name, "torch is not installed")
    argv = [sys.executable, suite.source("profiled.py")]
    row = suite.compare(name, argv)
    # The profiler's own submissions come from inside the driver and have no public entry point.
    row.wrong = [why for why in row.wrong if "attributed" not in why]
    if row.wrong:
        return row
    want = sum(int(w[2]) for w in row.words if w and w[0] == "profiler")
    calls = [r for r in rows_of(suite, name, "timeline") if r["kind"] == "call"]
    marks = [i for i, r in enumerate(calls) if r["api"].startswith("cuCtxSynchronize")]
    launches = sum(1 for r in calls[marks[0]:marks[-1]] if r["api"].startswith("cuLaunchKernel")) if marks else 0
    if launches != want or not want:
        row.wrong.append(f"{launches} launches, {want} by the profiler")
    row.notes.append(f"{launches} launches, as torch.profiler counts")
    return row


def check_counts(suite, name):
    """The programs and the comparison that `make check` runs on the software GPU."""
    build = os.path.join(suite.work, "api")
    shutil.rmtree(build, ignore_errors=True)
    os.makedirs(os.path.join(build, "apps"))
    for path in (suite.library, suite.report):
        os.symlink(path, os.path.join(build, os.path.basename(path)))
    for program in (*COUNTING, *BYPASS):
        os.symlink(suite.program(program), os.path.join(build, "apps", program))
    row = suite.row(name)
    out, err, status = suite.run(name, [sys.executable, os.path.join(ROOT, "tests/apps/api/check"), "--gpu"], {"BUILD": build},
                               timeout=4 * suite.timeout)
    lines = out.decode(errors="replace").strip().splitlines() or ["no output"]
    row.notes.append(lines[-1])
    if status or not lines[-1].endswith(", 0 failed"):
        row.wrong += lines[:3] + err.decode(errors="replace").strip().splitlines()[-1:]
    return row


def register(suite):
    stubs = ["-L" + os.path.join(suite.cuda, folder, "stubs") for folder in ("lib64", "lib", "targets/x86_64-linux/lib")]
    for program in COUNTING:
        suite.build(program, ["gcc", "-O2", "-D_GNU_SOURCE", "-I" + ROOT, os.path.join(ROOT, "tests/apps", program + ".c"),
                              *stubs, "-lcuda", "-lpthread"])
    for program, flags in BYPASS.items():
        source = os.path.join(ROOT, "tests/apps/api", program.removesuffix(".so") + ".c")
        suite.build(program, ["gcc", "-O2", "-D_GNU_SOURCE", "-I" + ROOT, *flags, source, "-ldl", "-lpthread"])
    suite.cuda_build("graphs", "graphs.cu")
    suite.check("calls: graphs of every origin", check_graphs, needs=("graphs",))
    suite.cuda_build("queued", "queued.cu")
    suite.check("calls: queued copies", check_copies, needs=("queued",), alone=True)
    suite.check("calls: PyTorch and its profiler", check_profiler)
    suite.check("calls: as the programs count them", check_counts, needs=(*COUNTING, *BYPASS))
