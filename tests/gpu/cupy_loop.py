# SPDX-License-Identifier: MIT
"""A CuPy loop with its own kernel: prints a checksum of its result."""

import cupy

KERNEL = cupy.RawKernel(r"""
extern "C" __global__ void mix(unsigned *data, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = data[i] * 1664525u + 1013904223u;
}
""", "mix")


def main():
    n = 1 << 16
    data = cupy.arange(n, dtype=cupy.uint32)
    for _ in range(500):
        KERNEL((n // 256,), (256,), (data, cupy.uint32(n)))
    print("sum", int(data.astype(cupy.uint64).sum()), "sorted", int(cupy.sort(data)[n // 2]))


main()
