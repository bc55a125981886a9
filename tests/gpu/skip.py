# SPDX-License-Identifier: MIT
"""A rank of a torchrun job in which rank 1 skips the eighth all_reduce. The rest hangs or mixes up the collectives, so
the ranks are killed.
"""

import os
import signal
import time

import torch
import torch.distributed as dist

STEPS, TOGETHER, SKIPPED = 10, 6, 7  # steps, of which the first wait for each other


def main():
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    x = torch.ones(1 << 16, device="cuda")
    for step in range(STEPS):
        x = x * 0.5
        if not (step == SKIPPED and rank == 1):
            dist.all_reduce(x)
        dist.broadcast(x, 0)
        if step < TOGETHER:
            torch.cuda.synchronize()
    print(f"submitted {rank}", flush=True)
    time.sleep(3)
    os.kill(os.getpid(), signal.SIGKILL)


main()
