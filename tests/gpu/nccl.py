# SPDX-License-Identifier: MIT
"""NCCL's collectives with two ranks, which may share one GPU: each claims to be a separate host, because NCCL
otherwise rejects using a GPU twice, and they communicate over loopback. Rank 0 prints a checksum of the result of each
collective.
"""

import os
import socket
import subprocess
import sys
import zlib

WORLD = 2
COUNTS = (1, 3000, 700001)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def told(name, tensor):
    import torch
    print(f"{name}: {zlib.crc32(tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()):08x}", flush=True)


def rank_of(rank):
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl", rank=rank, world_size=WORLD)
    operations = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "avg": dist.ReduceOp.AVG, "product": dist.ReduceOp.PRODUCT}
    for dtype in (torch.float32, torch.bfloat16, torch.int32, torch.float64):
        for count in COUNTS:
            data = (torch.arange(count, device="cuda") % 251 + 1 + rank).to(dtype)
            done = []
            for name, operation in operations.items():
                if name == "avg" and not dtype.is_floating_point:
                    continue
                x = data.clone()
                dist.all_reduce(x, operation)
                done.append((f"all_reduce {name}", x))
            x = data.clone()
            dist.broadcast(x, 1)
            done.append(("broadcast", x))
            x = data.clone()
            dist.reduce(x, 0)
            done.append(("reduce", x))
            x = torch.empty(WORLD * count, device="cuda", dtype=dtype)
            dist.all_gather_into_tensor(x, data)
            done.append(("all_gather", x))
            y = torch.empty(count, device="cuda", dtype=dtype)
            dist.reduce_scatter_tensor(y, x)
            done.append(("reduce_scatter", y))
            dist.all_to_all_single(x, torch.cat((data, data + 1)))
            done.append(("all_to_all", x))
            torch.cuda.synchronize()
            if rank == 0:
                for name, x in done:
                    told(f"{str(dtype).rpartition('.')[2]} {count} {name}", x)
    dist.barrier()
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:
        return rank_of(int(os.environ["RANK"]))
    common = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), NCCL_SOCKET_IFNAME="lo",
                  NCCL_IB_DISABLE="1", NCCL_NVLS_ENABLE="0")
    ranks = [subprocess.Popen([sys.executable, __file__], env=dict(common, RANK=str(i), NCCL_HOSTID=f"host{i}"))
             for i in range(WORLD)]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
