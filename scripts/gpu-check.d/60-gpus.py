# SPDX-License-Identifier: MIT
"""Several GPUs of one machine are distinguished: one process on all of them, one process per GPU, processes that share
memory, libraries that use several GPUs, a program that sees only one of them, and two clients of MPS. Needs two GPUs.
NVLink multicast stays off.
"""

import importlib.util
import json
import os
import shutil
import sys
import time

OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


def rows_of(suite, name, report):
    """Rows of a report, or of the summary if None."""
    which = [f"--{report}"] if report else []
    out, _, _ = suite.run(f"{name}: {report}", [suite.report, *suite.traces(name), *which, "--format=json"])
    return json.loads(out)["rows"]


def launches_by_gpu(suite, name):
    """Kernel launches by GPU, over all traces of the check."""
    found = {}
    for trace in suite.traces(name):
        out, _, _ = suite.run(f"{name}: --channels", [suite.report, trace, "--channels", "--format=json"])
        gpu_of = {row["channel"]: row["gpu"] for row in json.loads(out)["rows"]}
        out, _, _ = suite.run(f"{name}: --ops", [suite.report, trace, "--ops", "--format=json"])
        api = channel = None
        for line in out.decode(errors="replace").splitlines():
            item = json.loads(line)
            if item["kind"] == "submission":
                api, channel = item["api"], item["channel"]
            elif item["kind"] == "op" and item["op"] == "launch" and api == "cuLaunchKernel":
                gpu = gpu_of.get(channel)
                found[gpu] = found.get(gpu, 0) + 1
    return found


def all_gpus(suite, name):
    """One process on all GPUs, with a different number of launches on each."""
    row = suite.compare(name, [suite.program("gpus")], env=OFF)
    if row.wrong:
        return row
    # CUDA numbers the GPUs in its own order.
    told = dict(reversed(gpu.split(": ")) for gpu in rows_of(suite, name, None)[0]["gpu_uuids"].split(", "))
    number = {int(w[1]): int(told[w[2]]) for w in row.words if w[0] == "uuid"}
    want = {number[int(w[1])]: int(w[2]) for w in row.words if w[0] == "launches"}
    got = launches_by_gpu(suite, name)
    if got != want:
        row.wrong.append(f"launches by GPU: {got} instead of {want}")
    peers = [w for w in row.words if w[0].startswith("peer-")]
    if not any(w[:2] == ["direct", "1"] for w in row.words):
        row.notes.append("no peer access")
    want_pairs, got_pairs = {}, {}
    for _, source, target, copies, _ in peers:
        pair = number[int(source)], number[int(target)]
        want_pairs[pair] = want_pairs.get(pair, 0) + int(copies)
    for r in rows_of(suite, name, "memcpy"):
        if r["direction"] == "PtoP":
            pair = r["from_gpu"], r["to_gpu"]
            got_pairs[pair] = got_pairs.get(pair, 0) + r["calls"]
    if got_pairs != want_pairs:
        row.wrong.append(f"peer copies: {got_pairs} instead of {want_pairs}")
    row.notes.append(f"launches by GPU {want}, peer copies {want_pairs}")
    return row


def script(suite, name, source):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row = suite.compare(name, [sys.executable, suite.source(source)],
                        env=dict(OFF, CUBLAS_WORKSPACE_CONFIG=":4096:8", PYTHONHASHSEED="0"))
    seen = {}
    for trace in suite.traces(name):
        out, _, _ = suite.run(f"{name}: --channels", [suite.report, trace, "--channels", "--format=json"])
        used = {r["gpu"] for r in json.loads(out)["rows"] if r["submissions"] > 100}
        for gpu in used:
            seen[gpu] = seen.get(gpu, 0) + 1
    row.notes.append(f"traces with work by GPU: {seen}")
    return row


def one_given(suite, name):
    """The program sees one GPU as GPU 0; its channels have the machine's number."""
    row = suite.compare(name, [suite.program("golden-shared")], env={"CUDA_VISIBLE_DEVICES": "1"})
    used = {r["gpu"] for r in rows_of(suite, name, "channels") if r["submissions"]}
    row.notes.append(f"GPUs {sorted(used)}")
    if len(used) != 1:
        row.wrong.append(f"channels on GPUs {used}")
    return row


def mps(suite, name):
    """Two clients at the same time, under a separate control daemon."""
    if not shutil.which("nvidia-cuda-mps-control"):
        return suite.skip(name, "nvidia-cuda-mps-control is not installed")
    folder = os.path.join(suite.work, "mps")
    os.makedirs(folder, exist_ok=True)
    env = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
    _, _, status = suite.run(f"{name}: daemon", ["nvidia-cuda-mps-control", "-d"], env)
    if status:
        return suite.skip(name, "MPS cannot be started")
    try:
        time.sleep(1)
        both = ["sh", "-c", f"'{suite.program('threads')}' >a.out & '{suite.program('threads')}' >b.out; r=$?; "
                            "wait $! && cat a.out b.out && exit $r"]
        return suite.compare(name, both, env=env)
    finally:
        suite.run(f"{name}: quit", ["sh", "-c", "echo quit | nvidia-cuda-mps-control"], env)


def register(suite):
    if suite.gpus < 2:
        return
    rpath = ["-Xlinker", "-rpath", "-Xlinker", os.path.join(suite.cuda, "lib64")]
    suite.cuda_build("gpus", "gpus.cu", "-cudart", "static")
    suite.cuda_build("ipc", "ipc.cu", "-cudart", "static")
    suite.cuda_build("xt", "xt.cu", "-lcufft", "-lcublas", *rpath)
    suite.check("one process on all GPUs", all_gpus, ["gpus"])
    suite.check("memory and event of another process", lambda s, n: s.compare(n, [s.program("ipc")]), ["ipc"])
    suite.check("cuFFT and cuBLAS over all GPUs", lambda s, n: s.compare(n, [s.program("xt")], env=OFF, tables=True), ["xt"])
    suite.check("DistributedDataParallel, NCCL", lambda s, n: script(s, n, "ddp.py"))
    suite.check("one GPU by CUDA_VISIBLE_DEVICES", one_given, ["golden-shared"])
    suite.check("two clients of MPS", mps, ["threads"], alone=True)
