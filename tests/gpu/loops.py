# SPDX-License-Identifier: MIT
"""Loops of PyTorch: `torch-launch` trains a small model, limited by the host (many small kernels), `torch-compute` one
limited by the GPU, `decode` is a GPT-2 of 12 layers with random weights that decodes one token at a time. Each line is
`name milliseconds`, the median of an iteration; without --only the first two. With --profile each runs under the
PyTorch profiler.
"""

import argparse
import statistics
import time

import torch


def small_model():
    layers = []
    for _ in range(6):
        layers += [torch.nn.Linear(64, 64), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers), 32, 64


def large_model():
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(4096, 4096), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers), 8192, 4096


def iteration(model, optimizer, data, target):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(data), target)
    loss.backward()
    optimizer.step()


def train(make=small_model):
    torch.manual_seed(1)
    model, batch, width = make()
    model = model.cuda()
    data = torch.randn(batch, width, device="cuda")
    target = torch.randn(batch, width, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return lambda: iteration(model, optimizer, data, target)


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


STEPS = {"train": train, "decode": decode}  # each makes the function of one iteration
LOOPS = {"torch-launch": (train, 5), "torch-compute": (lambda: train(large_model), 1 / 5), "decode": (decode, 1)}


def measure(step, rounds, profile):
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    time.sleep(0.4)
    times = []

    def run():
        for _ in range(rounds):
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)

    if profile:
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities):
            run()
    else:
        run()
    return statistics.median(times) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--only", choices=LOOPS)
    options = parser.parse_args()
    for name in [options.only] if options.only else ["torch-launch", "torch-compute"]:
        make, more = LOOPS[name]
        print(f"{name} {measure(make(), int(options.rounds * more), options.profile):.4f}", flush=True)


if __name__ == "__main__":
    main()
