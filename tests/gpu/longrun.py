# SPDX-License-Identifier: MIT
"""longrun.py SECONDS TRACE: launches as fast as possible for SECONDS, and prints ten times the size of the files of
TRACE and the memory of the process. longrun.py window: 500 launches, 1000 in the profiler's window, 500 more.
"""

import glob
import os
import sys
import time

import torch


def launch(x, n):
    for _ in range(n):
        x.add_(1)


def memory_kib():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def taken(trace):
    """Bytes of the trace's files, without the buffers; a file may go while it is looked at."""
    total = 0
    for path in glob.glob(trace + "*"):
        try:
            total += 0 if path.endswith(".spool") else os.stat(path).st_size
        except FileNotFoundError:
            pass
    return total


def window(x):
    launch(x, 500)
    torch.cuda.profiler.start()
    launch(x, 1000)
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    launch(x, 500)
    torch.cuda.synchronize()
    print("window", int(x[0].item()))


def run(x, seconds, trace):
    start, made, largest = time.monotonic(), 0, 0
    told = start + seconds / 10
    while time.monotonic() < start + seconds:
        launch(x, 2000)
        made += 2000
        torch.cuda.synchronize()
        now = taken(trace)
        largest = max(largest, now)
        if time.monotonic() >= told:
            print(f"at {time.monotonic() - start:.0f} s: {made} launches, {now} bytes, rss-anon {memory_kib()} KiB",
                  flush=True)
            told += seconds / 10
    print(f"made {made} launches, at most {largest} bytes")


numbers = torch.zeros(256, device="cuda")
launch(numbers, 1)
torch.cuda.synchronize()
if sys.argv[1] == "window":
    window(numbers)
else:
    run(numbers, float(sys.argv[1]), sys.argv[2])
