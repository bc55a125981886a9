/* SPDX-License-Identifier: MIT */
/* How the kernels of full.cu are launched: as in kernels.h. */
KERNEL(full, 2, 1, 48, 1, 0, 1024, 9)
KERNEL(forty, 2, 1, 48, 1, 0, 1024, 9)
KERNEL(fullfn, 2, 1, 48, 1, 0, 1024, 9)
