# SPDX-License-Identifier: MIT
"""The live page alone: what it costs an allocation, as GPUprobe's author measured his, and that it leaves nothing behind."""

import glob
import os
import statistics

ROUNDS = 9
PUBLISHED = "published for GPUprobe: 255 and 265 us, +3.92 %"


def check_pairs(suite, name):
    """In turns: the machine's mood is in all of them."""
    row, took = suite.row(name), {"plain": [], "page": [], "trace": []}
    run_folder = suite.folder(name)
    for _ in range(ROUNDS):
        for how, figures in took.items():
            env = None
            if how != "plain":
                env = suite.preload(run_folder, "quiet,overwrite")
                env["XDG_RUNTIME_DIR"] = run_folder
                os.chmod(run_folder, 0o700)
            if how == "page":
                env["NVSNOOP_OUT"] = "none"
            out, _, status = suite.run(f"{name}: {how}", [suite.program("pairs")], env)
            if status:
                row.wrong.append(f"{how}: exit {status}")
                return row
            figures.append(float(out.split()[1]))
    plain = statistics.median(took["plain"])
    for how in ("page", "trace"):
        more = [b / a - 1 for a, b in zip(took["plain"], took[how])]
        row.notes.append(f"{how}: {statistics.median(took[how]):.2f} us, {statistics.median(more):+.2%}")
    row.notes.append(f"plain: {plain:.2f} us; {PUBLISHED}")
    if glob.glob(os.path.join(run_folder, "nvsnoop.*.live")):
        row.wrong.append("a page was left behind")
    return row


def register(suite):
    suite.cuda_build("pairs", "pairs.cu")
    suite.check("the live page and 5,000 pairs of cudaMalloc and cudaFree", check_pairs, ["pairs"], alone=True)
