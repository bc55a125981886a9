/* SPDX-License-Identifier: MIT */
/* How the kernels of apart.cu are launched: as in kernels.h. */
KERNEL(shares, 2, 1, 80, 1, 0, 1024, 9)
KERNEL(shares2, 2, 1, 80, 1, 0, 1024, 0)
KERNEL(mutual, 2, 1, 80, 1, 0, 1024, 0)
KERNEL(bytable, 2, 1, 80, 1, 0, 1024, 6)
KERNEL(leaves, 2, 1, 80, 1, 0, 1024, 3)
KERNEL(leaves2, 2, 1, 80, 1, 0, 1024, 3)
KERNEL(alone, 2, 1, 80, 1, 0, 1024, 8)
