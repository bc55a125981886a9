# SPDX-License-Identifier: MIT
"""A PyTorch training loop with NVTX ranges for steps, layers and their parts, including backward's own thread. Prints
for each path how often its range was pushed and how many kernels are launched in it: `range PATH COUNT LAUNCHES`, with
- if unknown; then `loss` and its value.
"""

import collections
import contextlib

import torch
from torch.cuda import nvtx

LAYERS = 4
STEPS = 6

pushed = collections.Counter()
launched = collections.Counter()
around = []  # on the main thread


@contextlib.contextmanager
def push(name):
    around.append(name)
    pushed["/".join(around)] += 1
    nvtx.range_push(name)
    try:
        yield
    finally:
        nvtx.range_pop()
        around.pop()


def scale(x, times):
    """One kernel each."""
    for _ in range(times):
        x.mul_(1.0001)


class Burst(torch.autograd.Function):
    """As many kernels forward as it is told, and one more backward."""

    @staticmethod
    def forward(ctx, x, times):
        ctx.times = times
        with push(f"burst{times}"):
            y = torch.mul(x, 1.0001)
            scale(y, times - 1)
            launched["/".join(around)] += times
        return y

    @staticmethod
    def backward(ctx, grad):
        name = f"burst{ctx.times}-backward"
        nvtx.range_push(name)
        y = torch.mul(grad, 1.0001)
        scale(y, ctx.times)
        nvtx.range_pop()
        pushed[name] += 1
        launched[name] += ctx.times + 1
        return y, None


def train(model, data):
    for _ in range(STEPS):
        with push("step"):
            x = data
            with push("forward"):
                for i, layer in enumerate(model):
                    with push(f"layer{i}"):
                        x = layer(Burst.apply(x, i + 1))
                loss = x.square().mean()
            with push("backward"):
                loss.backward()
            nvtx.mark("gradients")
            with push("optimizer"), torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(parameter.grad, alpha=-0.01)
                    parameter.grad = None
                    launched["/".join(around)] += 1
    return loss


def main():
    torch.manual_seed(1)
    whole = nvtx.range_start("training")
    with push("set-up"):
        model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(LAYERS))).cuda()
        data = torch.ones(16, 64, device="cuda")
    loss = train(model, data)
    nvtx.range_end(whole)
    torch.cuda.synchronize()
    for path, count in pushed.items():
        print("range", path, count, launched.get(path, "-"))
    print(f"loss {loss.item():.4f}")


main()
