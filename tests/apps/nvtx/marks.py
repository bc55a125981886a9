# SPDX-License-Identifier: MIT
"""Marks of many lengths, also much longer than most names."""

import ctypes
import os

nvtx = ctypes.CDLL(os.environ["NVTX_LIBRARY"])
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
for length in range(1, 4000, 13):
    nvtx.nvtxMarkA(bytes([97 + length % 26]) * length)
