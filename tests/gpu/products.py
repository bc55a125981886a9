# SPDX-License-Identifier: MIT
"""Kernels of cuBLAS, cuBLASLt, cuDNN, cuFFT, cuSOLVER and PyTorch's own, on numbers from a fixed seed: prints a line
per kind with a hash of its results, so that two runs can be compared bit for bit. With --times: prints how long some
of them take, in microseconds, by events.
"""

import hashlib
import sys
import warnings

import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore")
torch.manual_seed(7)
torch.backends.cudnn.deterministic = True
GPU = torch.device("cuda")
SIZES = (128, 1000, 2048)
REPEATS = 9
LOOPS = 20


def numbers(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(GPU).to(dtype)


def tf32(on):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = on


def integers(n):
    a, b = (torch.randint(-8, 8, (n, n), dtype=torch.int8).to(GPU) for _ in range(2))
    return lambda: torch._int_mm(a, b)


def product(n, dtype):
    a, b = numbers(n, n, dtype=dtype), numbers(n, n, dtype=dtype)
    return lambda: a @ b


def eights(n):
    a, b = (numbers(n, n).to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.tensor(1.0, device=GPU)
    return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def convolution(dtype, channels, width, kernel):
    x, w = numbers(8, channels, width, width, dtype=dtype), numbers(channels, channels, kernel, kernel, dtype=dtype)
    return lambda: F.conv2d(x, w, padding=kernel // 2)


def attention(dtype, causal):
    q, k, v = (numbers(4, 8, 512, 64, dtype=dtype) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def own(function, *shape, dtype=torch.float32):
    x = numbers(*shape, dtype=dtype)
    return lambda: function(x)


def recurrent():
    torch.manual_seed(9)
    net, x = torch.nn.LSTM(64, 128, 2).to(GPU), numbers(32, 16, 64)
    return lambda: net(x)[0]


KINDS = {}
for n in SIZES:
    for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        KINDS[f"product {kind} {n}"] = lambda n=n, kind=kind: product(n, kind)
    KINDS[f"product tf32 {n}"] = lambda n=n: (tf32(True), product(n, torch.float32))[1]
    KINDS[f"product int8 {n // 8 * 8}"] = lambda n=n: integers(n // 8 * 8)
    KINDS[f"product fp8 {n // 16 * 16}"] = lambda n=n: eights(n // 16 * 16)
for kind in (torch.float32, torch.float16, torch.bfloat16):
    for channels, width, kernel in ((64, 56, 3), (256, 14, 1), (32, 112, 5)):
        KINDS[f"convolution {kind} {channels} {kernel}"] = lambda a=(kind, channels, width, kernel): convolution(*a)
    for causal in (False, True):
        KINDS[f"attention {kind} {causal}"] = lambda a=(kind, causal): attention(*a)
KINDS.update({
    "softmax": lambda: own(lambda x: F.softmax(x, -1), 512, 1000), "norm": lambda: own(lambda x: F.layer_norm(x, (1000,)), 512, 1000),
    "sort": lambda: own(lambda x: x.sort()[0], 1 << 18), "topk": lambda: own(lambda x: x.topk(50)[0], 64, 5000),
    "cumsum": lambda: own(lambda x: (x * 9).int().cumsum(0), 1 << 18), "sum": lambda: own(lambda x: x.sum(), 1 << 20),
    "gelu": lambda: own(F.gelu, 1 << 20, dtype=torch.bfloat16), "fft": lambda: own(lambda x: torch.fft.fft(x).real, 256, 1024),
    "solve": lambda: own(lambda x: torch.linalg.solve(x, x.t()), 256, 256), "svd": lambda: own(torch.linalg.svdvals, 96, 96),
    "unique": lambda: own(lambda x: (x * 9).int().unique(), 1 << 16), "lstm": recurrent,
})
TIMES = ("product torch.float16 2048", "product torch.float32 2048", "convolution torch.float16 64 3",
         "attention torch.bfloat16 True", "softmax", "sort", "gelu")


def digest(result):
    return hashlib.sha256(result.detach().contiguous().cpu().flatten().view(torch.uint8).numpy().tobytes()).hexdigest()[:16]


def microseconds(step):
    """In a graph, so that it is the GPU's time alone, not that of the host which launches."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph, samples = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for _ in range(LOOPS):
            step()
    graph.replay()
    for _ in range(REPEATS):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) * 1000 / LOOPS)
    return sorted(samples)[REPEATS // 2]


def main():
    for name in TIMES if "--times" in sys.argv else KINDS:
        tf32(False)
        torch.manual_seed(7)
        try:
            step = KINDS[name]()
            result = step()
            line = f"{microseconds(step):.2f}" if "--times" in sys.argv else digest(result)
        except (RuntimeError, NotImplementedError, AttributeError) as error:
            print(f"{name}: not there: {type(error).__name__}")
            continue
        print(f"{name}: {line}")


main()
