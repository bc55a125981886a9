# SPDX-License-Identifier: MIT
"""A training loop limited by the GPU. With --profile prints a line for every kernel that torch.profiler saw:
microseconds, count and name.
"""

import sys

import torch

STEPS = 20


def main():
    torch.manual_seed(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(4096, 4096), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data, target = torch.randn(2048, 4096, device="cuda"), torch.randn(2048, 4096, device="cuda")

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.mse_loss(model(data), target).backward()
            optimizer.step()
        torch.cuda.synchronize()

    if "--profile" not in sys.argv:
        steps(STEPS)
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        steps(STEPS)
    for event in seen.key_averages():
        if event.self_device_time_total and not event.key.startswith(("Mem", "cuda")):
            print(f"{event.self_device_time_total:.3f} {event.count} {event.key}")


main()
