# SPDX-License-Identifier: MIT
"""DistributedDataParallel over NCCL, one process per GPU, started by spawn or by torchrun. Rank 0 prints the loss of
each step, and at the end the number of ranks.
"""

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

STEPS = 12


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def work(rank, world, port):
    if port:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()
    model = DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(7 + rank)
    for step in range(STEPS):
        loss = model(torch.randn(128, 256, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shown = loss.detach().clone()
        dist.all_reduce(shown)
        if rank == 0:
            print(f"step {step} loss {shown.item() / world:.6f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    world = torch.cuda.device_count()
    if "RANK" in os.environ:
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), None)
        return
    torch.use_deterministic_algorithms(True, warn_only=True)
    mp.spawn(work, args=(world, free_port()), nprocs=world)
    print(f"ranks {world}")


if __name__ == "__main__":
    sys.exit(main())
