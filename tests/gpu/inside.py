# SPDX-License-Identifier: MIT
"""The cost of recording in a launch-bound Python loop, within one process: iterations with recording off and on in
pairs, in random order with a fixed seed, each after an untimed one. Prints a line per pair: microseconds per iteration,
off and on. Preload build/bench/libnvsnoop.so, which has the switch.
"""

import argparse
import ctypes
import gc
import random
import time

import torch

import loops


def timed(turn, on, step, iterations):
    if turn(on):
        raise SystemExit("inside: the switch failed")
    step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(iterations):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / iterations * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loop", choices=loops.STEPS)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--switch", default="nvs_bench_switch")
    options = parser.parse_args()
    turn = getattr(ctypes.CDLL(None), options.switch)
    step = loops.STEPS[options.loop]()
    for _ in range(20):
        step()
        torch.cuda.synchronize()
    time.sleep(0.5)
    draw = random.Random(1)
    gc.collect()
    gc.disable()
    for _ in range(options.pairs):
        figures = [0.0, 0.0]
        for on in draw.sample([0, 1], 2):
            figures[on] = timed(turn, on, step, options.iterations)
        print(f"{figures[0]:.3f} {figures[1]:.3f}", flush=False)
    turn(1)


main()
