# SPDX-License-Identifier: MIT
"""A small PyTorch training loop, the same to the last bit in every run: prints losses and a checksum of the weights."""

import hashlib

import torch

ITERATIONS = 200


def main():
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    device = torch.device("cuda")
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.LayerNorm(512),
        torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    inputs = torch.randn(64 * 16, 256).pin_memory()
    labels = torch.randint(0, 10, (64 * 16,)).pin_memory()
    for i in range(ITERATIONS):
        at = 64 * (i % 16)
        batch = inputs[at:at + 64].to(device, non_blocking=True)
        target = labels[at:at + 64].to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch), target)
        loss.backward()
        optimizer.step()
        if i % 20 == 0:
            print(f"iteration {i}: loss {loss.item():.9g}", flush=True)
    weights = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
    print("weights", hashlib.sha256(weights).hexdigest())


main()
