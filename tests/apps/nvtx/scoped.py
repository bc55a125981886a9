# SPDX-License-Identifier: MIT
"""NVTX ranges from Python without a package, by ctypes. Prints lines as ranges.c does."""

import ctypes
import os
import threading

nvtx = ctypes.CDLL(os.environ["NVTX_LIBRARY"])
cuda = ctypes.CDLL("libcuda.so.1")


class Range:
    def __init__(self, name):
        self.name = name.encode()

    def __enter__(self):
        nvtx.nvtxRangePushA(self.name)

    def __exit__(self, *exception):
        nvtx.nvtxRangePop()


def must(result):
    if result:
        raise OSError(f"CUDA error {result}")


def fill(pointer, times):
    for _ in range(times):
        must(cuda.cuMemsetD8_v2(pointer, ctypes.c_ubyte(1), ctypes.c_size_t(64)))


def work(context, pointer):
    must(cuda.cuCtxSetCurrent(context))
    with Range("thread"):
        fill(pointer, 2)


context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
with Range("start-up"):
    must(cuda.cuInit(0))
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(cuda.cuCtxSetCurrent(context))
    must(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(64)))
for step in range(3):
    with Range("step"):
        with Range(f"fill {step}"):
            fill(pointer, step + 1)
        must(cuda.cuCtxSynchronize())
thread = threading.Thread(target=work, args=(context, pointer))
thread.start()
thread.join()
print("default\tpush\t1\t0\t4\t0\tstart-up\ndefault\tpush\t3\t0\t9\t0\tstep")
for step in range(3):
    print(f"default\tpush\t1\t0\t{step + 1}\t0\tstep/fill {step}")
print("default\tpush\t1\t0\t2\t0\tthread")
