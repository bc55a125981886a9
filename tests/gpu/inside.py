# SPDX-License-Identifier: MIT
"""The cost of recording in a launch-bound Python loop, within one process: iterations with recording off and on in
pairs, in random order with a fixed seed, each after an untimed one. `train` is the small model of loops.py, `decode` a
GPT-2 of 12 layers with random weights that decodes one token at a time. Prints a line per pair: microseconds per
iteration, off and on. Preload build/bench/libnvsnoop.so, which has the switch.
"""

import argparse
import ctypes
import gc
import random
import time

import torch

import loops


def train():
    torch.manual_seed(1)
    model, batch, width = loops.small_model()
    model = model.cuda()
    data = torch.randn(batch, width, device="cuda")
    target = torch.randn(batch, width, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return lambda: loops.iteration(model, optimizer, data, target)


def decode():
    import transformers

    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=12, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    model = transformers.GPT2LMHeadModel(config).cuda().eval()
    token = torch.zeros(1, 1, dtype=torch.long, device="cuda")
    prompt = torch.zeros(1, 16, dtype=torch.long, device="cuda")

    def step():
        with torch.no_grad():
            past = model(prompt, use_cache=True).past_key_values
            for _ in range(2):
                past = model(token, past_key_values=past, use_cache=True).past_key_values

    return step


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
    parser.add_argument("loop", choices=["train", "decode"])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--switch", default="nvs_bench_switch")
    options = parser.parse_args()
    turn = getattr(ctypes.CDLL(None), options.switch)
    step = {"train": train, "decode": decode}[options.loop]()
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
