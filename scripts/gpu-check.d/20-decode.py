# SPDX-License-Identifier: MIT
"""The decoder finds in the commands what the program requested: shapes, sizes, directions, graphs."""

import importlib.util
import json
import sys

SYSTEM_SHARED = 1024  # bytes per block that the system reserves on Hopper


def operations(suite, name, trace):
    """[(api, op)] in the order of submission."""
    out, _, status = suite.run(f"{name}: --ops", [suite.report, trace, "--ops", "--format=json"])
    api, ops = None, []
    for line in out.decode(errors="replace").splitlines():
        item = json.loads(line)
        if item["kind"] == "submission":
            api = item["api"], item["submission"]
        elif item["kind"] == "op":
            ops.append((api[0], api[1], item))
    return ops if status == 0 else None


def unknown_methods(suite, name, trace):
    out, _, _ = suite.run(f"{name}: --dump", [suite.report, trace, "--dump", "--format=json"])
    end = [json.loads(line) for line in out.decode(errors="replace").splitlines() if '"kind":"end"' in line]
    if not end:
        return ["--dump printed no end"]
    wrong = [f"unknown methods: {end[-1]['unknown']}"] if end[-1]["unknown_words"] else []
    return wrong + ([f"{end[-1]['faults']} faults in the commands"] if end[-1]["faults"] else [])


def check_launches(asked, ops, row):
    seen = [op for api, _, op in ops if api == "cuLaunchKernel" and op["op"] == "launch"]
    if len(seen) != len(asked):
        row.wrong.append(f"{len(seen)} launches instead of {len(asked)}")
        return
    for number, (want, op) in enumerate(zip(asked, seen)):
        got = op["grid"] + op["block"] + [op["shared_bytes"] - SYSTEM_SHARED]
        if got != want:
            row.wrong.append(f"launch {number}: {got} instead of {want}")
            return
    row.notes.append(f"{len(asked)} launches as requested")


def check_copies(asked, ops, row):
    """Compares asynchronous copies of pinned memory one by one, and pageable ones, which are split, by their sum."""
    for kind, api, ends in (("pinned-h2d", "cuMemcpyHtoDAsync_v2", ("host", "device")),
                            ("pinned-d2h", "cuMemcpyDtoHAsync_v2", ("device", "host")),
                            ("pageable-h2d", "cuMemcpyHtoD_v2", (None, "device")),
                            ("pageable-d2h", "cuMemcpyDtoH_v2", ("device", "host"))):
        want = [int(words[1]) for words in asked if words[0] == kind]
        copies = [op for name, _, op in ops if name == api and op["op"] == "copy"]
        uploads = [op for name, _, op in ops if name == api and op["op"] == "upload"]
        got = [op["written_bytes"] for op in copies]
        if kind.startswith("pinned") and got != want:
            row.wrong.append(f"{kind}: sizes differ ({len(got)} copies, {len(want)} requested)")
        elif kind == "pageable-h2d" and sum(got) != sum(want):
            row.wrong.append(f"{kind}: {sum(got)} bytes instead of {sum(want)} ({len(uploads)} uploads)")
        elif kind == "pageable-d2h" and sum(got) != sum(want) + 4:  # plus the last read of the program
            row.wrong.append(f"{kind}: {sum(got)} bytes instead of {sum(want) + 4}")
        for op in copies:
            source = ends[0] and op.get("src_kind")
            if (source and source != ends[0]) or op["dst_kind"] != ends[1]:
                row.wrong.append(f"{kind}: {op.get('src_kind')} to {op['dst_kind']}")
                break
    row.notes.append(f"{sum(1 for words in asked if 'h2d' in words[0] or 'd2h' in words[0])} copies")


def check_graphs(asked, ops, row):
    want = [int(words[1]) for words in asked if words[0] == "graph"]
    ran = {}
    for api, submission, op in ops:
        if api == "cuGraphLaunch":
            ran[submission] = ran.get(submission, 0) + (op["op"] == "launch")
    # A launch of a long graph may take several consecutive submissions.
    got = list(ran.values())
    if got != want and sum(got) != sum(want):
        row.wrong.append(f"graphs ran {sum(got)} kernels instead of {sum(want)}")
    row.notes.append(f"{sum(want)} kernels through graphs of 1 to {max(want)}" +
                     ("" if got == want else f", in {len(got)} submissions instead of {len(want)}"))


def shapes(suite, name):
    asked = []

    def expect(report):
        out, _, _ = suite.run(f"{name}: once more", [suite.program("shapes")])
        asked.extend(line.split() for line in out.decode().splitlines())
        return []

    row = suite.compare(name, [suite.program("shapes")], expect, options="quiet,api=off")
    traces = suite.traces(name)
    ops = operations(suite, name, traces[0]) if traces else None
    if not ops:
        row.wrong.append("--ops failed")
        return row
    check_launches([[int(n) for n in words[1:]] for words in asked if words[0] == "launch"], ops, row)
    check_copies(asked, ops, row)
    check_graphs(asked, ops, row)
    row.wrong += unknown_methods(suite, name, traces[0])
    return row


def torch_methods(suite, name):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    env = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"}
    row = suite.compare(name, [sys.executable, suite.source("train.py")], None, env)
    for trace in suite.traces(name):
        row.wrong += unknown_methods(suite, name, trace)
    return row


def register(suite):
    suite.cuda_build("shapes", "shapes.cu", "-cudart", "static")
    suite.check("shapes, sizes and graphs", shapes, ["shapes"])
    suite.check("methods of PyTorch training", torch_methods)
