# SPDX-License-Identifier: MIT
"""nvsnoop-top with a program that writes no trace: its final counts are exact, and no counter decreases meanwhile.
"""

import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
THREADS, BURSTS, BURST = 2, 2000, 512  # tests/apps/bench.c
GROWING = ("calls", "launches", "submissions", "doorbells", "command_bytes")


def looks(suite, folder):
    """Yields each process object that nvsnoop-top printed while the program ran."""
    env = dict(os.environ, XDG_RUNTIME_DIR=folder)
    with subprocess.Popen([suite.launcher, "-q", "-o", "none", suite.program("bench"), str(THREADS), str(BURSTS)], env=env,
                          stdout=subprocess.DEVNULL) as program:
        top = os.path.join(os.path.dirname(suite.report), "nvsnoop-top")
        with subprocess.Popen([top, "--format=json", "--interval=0.1", "--folder=" + folder], stdout=subprocess.PIPE) as watch:
            for line in watch.stdout:
                yield from (p for p in json.loads(line)["processes"])
                if program.poll() is not None and not json.loads(line)["processes"]:
                    break
            watch.kill()


def watched(suite, name):
    row = suite.row(name)
    folder = suite.folder(name)
    os.chmod(folder, 0o700)
    seen = list(looks(suite, folder))
    for before, after in zip(seen, seen[1:]):
        row.wrong += [f"{key} decreased" for key in GROWING if after[key] < before[key]]
    # The last object of the process has its totals.
    last = seen[-1] if seen else {"ended": False, "calls": 0}
    wanted = THREADS * BURSTS * BURST
    if not last["ended"]:
        row.wrong.append("its exit was not shown")
    elif not wanted <= last["submissions"] <= last["calls"] + 1000:
        row.wrong.append(f"{last['submissions']} submissions and {last['calls']} calls for {wanted} memsets")
    row.notes.append(f"{len(seen)} updates, {last.get('submissions')} submissions, pending "
                     f"{sorted({p['pending'] for p in seen if p['pending'] is not None})[-1:]}")
    return row


def register(suite):
    suite.build("bench", ["gcc", "-O2", "-D_GNU_SOURCE", "-I" + ROOT, os.path.join(ROOT, "tests/apps/bench.c"), "-ldl",
                          "-lpthread"])
    suite.check("nvsnoop-top", watched, needs=("bench",))
