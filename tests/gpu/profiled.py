# SPDX-License-Identifier: MIT
"""A training loop under the PyTorch profiler: prints the loss, and how many launch calls the profiler saw."""

import torch


def main():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.ones(32, 64, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(20):
            loss = step()
        torch.cuda.synchronize()
    launches = sum(event.count for event in profile.key_averages() if event.key.startswith("cudaLaunchKernel"))
    print(f"loss {loss.item():.6g}, launches {launches}")


main()
