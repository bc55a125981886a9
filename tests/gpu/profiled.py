# SPDX-License-Identifier: MIT
"""A short training loop under the profiler: prints how many kernel launches the profiler saw between two marks."""

import torch

torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data, target = torch.randn(32, 64, device="cuda"), torch.randint(0, 10, (32,), device="cuda")


def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(data), target).backward()
    optimizer.step()


for _ in range(3):
    step()
torch.cuda.synchronize()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as seen:
    for _ in range(20):
        step()
    torch.cuda.synchronize()
counts = {}
for event in seen.events():
    if event.name.startswith(("cudaLaunch", "cuLaunch")):
        counts[event.name] = counts.get(event.name, 0) + 1
for name, count in sorted(counts.items()):
    print("profiler", name, count)
