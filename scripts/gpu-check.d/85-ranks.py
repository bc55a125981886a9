# SPDX-License-Identifier: MIT
"""--ranks and --by-rank for two ranks under torchrun: DistributedDataParallel, where both launch the same, and a program
in which one rank skips an all_reduce. Needs two GPUs.
"""

import json
import os
import shutil

OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1"}


def record(suite, name, script):
    """Records two ranks; returns their traces and the rows of --ranks."""
    folder = os.path.join(suite.work, name.replace(" ", "-"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    launcher = os.path.join(os.path.dirname(suite.report), "nvsnoop")
    suite.run(name, ["python3", "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "--no-python", launcher,
                     "-q", "-o", os.path.join(folder, "%q{RANK}.zst"), "--", "python3", suite.source(script)], OFF)
    traces = [os.path.join(folder, f"{rank}.zst") for rank in range(2)]
    out, err, status = suite.run(f"{name}: --ranks", [suite.report, "--ranks", "--format=json", *traces])
    return traces, json.loads(out)["rows"] if not status else [], err.decode(errors="replace")


def same(suite, name):
    row = suite.row(name)
    traces, rows, err = record(suite, name, "ddp.py")
    if len(rows) != 2 or any(r["parts_at"] is not None for r in rows) or not all(r["collectives"] for r in rows):
        row.wrong.append(f"--ranks: {rows or err.strip()[-200:]}")
        return row
    out, _, _ = suite.run(f"{name}: --by-rank", [suite.report, "--by-rank", "--format=json", *traces])
    launches = next(r for r in json.loads(out)["rows"] if r["measure"] == "launch_calls")
    if launches["total"] != sum(r["launch_calls"] for r in rows):
        row.wrong.append(f"--by-rank: {launches}")
    row.notes.append(f"{rows[0]['launch_calls']} launches, {rows[0]['collectives']} collectives, the same on both")
    return row


def skips(suite, name):
    row = suite.row(name)
    _, rows, err = record(suite, name, "skip.py")
    parted = [r for r in rows if r["parts_at"] is not None]
    if [r["rank"] for r in parted] != [1] or "Broadcast" not in parted[0]["launched"] or \
            "AllReduce" not in parted[0]["others_launched"] or parted[0]["parts_behind"] != 14:
        row.wrong.append(f"--ranks: {rows or err.strip()[-200:]}")
        return row
    row.notes.append(f"rank 1 diverges at its launch {parted[0]['parts_at']}; finished {[r['collectives_finished'] for r in rows]}")
    return row


def register(suite):
    if suite.gpus < 2:
        return
    suite.check("two equal ranks", same)
    suite.check("two ranks, one skips a collective", skips)
