# SPDX-License-Identifier: MIT
"""PyTorch with a CUDA graph, captured once and replayed: prints a checksum of its result."""

import torch


def main():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64)).cuda()
    data = torch.ones(16, 64, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):
            out = model(data)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        out = model(data)
        data.add_(out, alpha=0.01)
    for _ in range(200):
        graph.replay()
    torch.cuda.synchronize()
    print(f"sum {data.double().sum().item():.4f}")


main()
