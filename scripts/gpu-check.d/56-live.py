# SPDX-License-Identifier: MIT
"""The live page without a trace: its cost per allocation, measured as GPUprobe's author did, and that no file is left."""

import glob
import importlib.util
import os
import re
import statistics
import sys

ROUNDS = 9
SECONDS = 10
FLAT_KIB = 8192  # limit of growth of memory
PUBLISHED = "published for GPUprobe: 255 and 265 us, +3.92 %"


def in_one_process(suite, row, name, run_folder):
    """With the benchmark's library, which can be switched off and on; `make bench-library` builds it."""
    library = os.path.join(os.path.dirname(suite.library), "bench", "libnvsnoop.so")
    if not os.path.exists(library):
        row.notes.append("in one process: not measured, needs make bench-library")
        return
    env = suite.preload(run_folder, "quiet")
    env.update(LD_PRELOAD=library, NVSNOOP_OUT="none", XDG_RUNTIME_DIR=run_folder)
    out, _, status = suite.run(f"{name}: in one process", [suite.program("pairs")], env)
    words = out.decode(errors="replace").split()
    if status or words[:1] != ["without"]:
        row.wrong.append(f"in one process: exit {status}, {' '.join(words)}")
        return
    off, on = float(words[1]), float(words[3])
    row.notes.append(f"in one process: {off:.2f} us without, {on:.2f} with the page, {on / off - 1:+.2%}")


def check_pairs(suite, name):
    """Interleaved, so that variations of the machine affect all of them."""
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
    in_one_process(suite, row, name, run_folder)
    if glob.glob(os.path.join(run_folder, "nvsnoop.*.live")):
        row.wrong.append("a live page was not removed")
    return row


def flat(suite, name):
    """Launches as fast as possible: memory use is constant."""
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row, run_folder = suite.row(name), suite.folder(name)
    os.chmod(run_folder, 0o700)
    out, err, status = suite.run(name, [suite.launcher, "-o", "none", sys.executable, suite.source("longrun.py"), str(SECONDS),
                                        os.path.join(run_folder, "none")], {"XDG_RUNTIME_DIR": run_folder})
    out = out.decode(errors="replace")
    made, memory = re.search(r"made (\d+) launches", out), [int(n) for n in re.findall(r"rss-anon (\d+)", out)]
    if status or not made or len(memory) < 9:
        row.wrong.append(f"exit {status}: {err.decode(errors='replace')[-200:]}")
        return row
    row.notes.append(f"{made[1]} launches; RssAnon MiB: " + " ".join(f"{kib / 1024:.1f}" for kib in memory))
    if memory[-1] - memory[2] > FLAT_KIB:
        row.wrong.append(f"memory grew by {memory[-1] - memory[2]} KiB")
    if os.listdir(run_folder):
        row.wrong.append(f"files not removed: {os.listdir(run_folder)}")
    return row


def register(suite):
    suite.cuda_build("pairs", "pairs.cu")
    suite.check("the live page and 5,000 pairs of cudaMalloc and cudaFree", check_pairs, ["pairs"], alone=True)
    suite.check(f"live page only, PyTorch, {SECONDS} s", flat)
