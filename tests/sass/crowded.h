/* SPDX-License-Identifier: MIT */
/* How the kernels of crowded.cu are launched: as in kernels.h. */
KERNEL(crowded, 2, 1, 80, 1, 0, 1024, 9)
KERNEL(lends, 2, 1, 256, 1, 0, 1024, 9)
