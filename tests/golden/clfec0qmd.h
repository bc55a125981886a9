/* SPDX-License-Identifier: MIT */
/* Not a real descriptor: the forms of descriptor headers, for the test of import-class. */
#define NVFEC0_QMDV09_03_KIND MW(3 : 0)
#define NVFEC0_QMDV09_03_KIND_QUEUE 0x00000000
#define NVFEC0_QMDV09_03_KIND_GRID 0x00000001
#define NVFEC0_QMDV09_03_VALID(i) MW((32 + (i)*4) : (32 + (i)*4))
#define NVFEC0_QMDV09_03_VALID_FALSE 0x00000000
#define NVFEC0_QMDV09_03_VALID_TRUE 0x00000001
#define NVFEC0_QMDV09_03_PREFETCH(i) MW((34 + (i)*4) : (33 + (i)*4))
#define NVFEC0_QMDV09_03_GRID_WIDTH MW(95 : 64)
#define NVFEC0_QMDV09_03_SUB(i, j) MW((131 + (i)*64 + (j)*8) : (128 + (i)*64 + (j)*8))
