# SPDX-License-Identifier: MIT
"""Prints the statistics of PyTorch's allocator: lines `FIGURE BYTES` of the reserved bytes now, the maximum, and the
total.
"""

import sys

import torch


def work():
    """Elementwise alone: libraries would allocate for themselves."""
    kept = []
    for i in range(1, 40):
        kept.append(torch.empty(i * 300_000, device="cuda").fill_(i))
        if i % 3 == 0:
            kept.pop(0)
        if i == 20:
            kept.clear()
            torch.cuda.empty_cache()
    return kept


def main():
    kept = work()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    for name in ("current", "peak", "allocated"):
        print(name, stats[f"reserved_bytes.all.{name}"])
    print("segments", stats["segment.all.allocated"])
    sys.stdout.flush()
    return len(kept) == 0


if __name__ == "__main__":
    sys.exit(main())
