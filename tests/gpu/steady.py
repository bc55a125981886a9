# SPDX-License-Identifier: MIT
"""steady.py LOOP SECONDS: iterations of a loop of loops.py for SECONDS; each second a line `begin end iterations`, by
CLOCK_MONOTONIC. steady.py LOOP --profile: 100 iterations, and a line `microseconds count name` per kernel that
torch.profiler saw in them.
"""

import sys
import time

import torch

import loops

PROFILED = 100


def run(step, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin, n = time.monotonic(), 0
        while time.monotonic() < begin + 1:
            step()
            torch.cuda.synchronize()
            n += 1
        print(f"{begin:.6f} {time.monotonic():.6f} {n}", flush=True)


def profile(step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(PROFILED):
            step()
        torch.cuda.synchronize()
    for event in seen.key_averages():
        if event.self_device_time_total and not event.key.startswith(("Mem", "cuda")):
            print(f"{event.self_device_time_total:.3f} {event.count} {event.key}")


def main():
    step = loops.STEPS[sys.argv[1]]()
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    if sys.argv[2] == "--profile":
        profile(step)
    else:
        run(step, float(sys.argv[2]))


main()
