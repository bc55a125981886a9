# SPDX-License-Identifier: MIT
"""A DataLoader with worker processes, by fork or by spawn, that feeds a GPU: prints a checksum of the data."""

import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, i):
        return torch.full((256,), float(i)), i


def main():
    torch.zeros(1, device="cuda")  # the GPU is open before the workers start
    loader = DataLoader(Numbers(), batch_size=16, num_workers=2, pin_memory=True,
                        multiprocessing_context=sys.argv[1])
    total = torch.zeros(256, device="cuda", dtype=torch.float64)
    for batch, index in loader:
        total += batch.to("cuda", non_blocking=True).double().sum(0) * (index.sum().item() % 7 + 1)
    print("sum", total.sum().item())


if __name__ == "__main__":
    main()
