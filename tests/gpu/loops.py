# SPDX-License-Identifier: MIT
"""Two training loops: one limited by the host (many small kernels), one limited by the GPU. Each line is `name
milliseconds`, the median of an iteration. With --profile each runs under the PyTorch profiler.
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


def measure(make, rounds, profile):
    torch.manual_seed(1)
    model, batch, width = make()
    model = model.cuda()
    data = torch.randn(batch, width, device="cuda")
    target = torch.randn(batch, width, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(10):
        iteration(model, optimizer, data, target)
    torch.cuda.synchronize()
    time.sleep(0.4)
    times = []

    def run():
        for _ in range(rounds):
            start = time.perf_counter()
            iteration(model, optimizer, data, target)
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
    parser.add_argument("--launch-only", action="store_true")
    options = parser.parse_args()
    print(f"torch-launch {measure(small_model, options.rounds * 5, options.profile):.4f}")
    if options.launch_only:
        return
    print(f"torch-compute {measure(large_model, options.rounds // 5, options.profile):.4f}")


if __name__ == "__main__":
    main()
