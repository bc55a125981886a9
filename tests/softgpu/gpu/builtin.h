/* SPDX-License-Identifier: MIT */
/* Programs that the software GPU executes: the stand-in driver's own copy and fill kernels. Their
 * code starts with struct sg_program; any other program is a no-op that completes. */
#ifndef SOFTGPU_BUILTIN_H
#define SOFTGPU_BUILTIN_H

#include <stdint.h>

#define SG_PROGRAM_MAGIC 0x4e52454b55504753ull /* "SGPUKERN" */

enum sg_program_op {
	SG_PROGRAM_COPY = 1, /* to, from, bytes */
	SG_PROGRAM_COPY_2D = 2, /* to, from, width, height, pitch of to, pitch of from */
	SG_PROGRAM_FILL = 3, /* to, value, bytes, element size */
	SG_PROGRAM_FILL_2D = 4, /* to, value, width, pitch, height, element size */
	SG_PROGRAM_STORE = 5, /* to, value: stores one dword, to test ordering */
	SG_PROGRAM_ADD = 6, /* to, value: adds to one dword */
	SG_PROGRAM_SASS = 8, /* a cubin's kernel, interpreted; followed by struct sg_sass */
	SG_PROGRAM_SPIN = 7, /* at, value: runs until the dword at `at` is at least value */
	SG_PROGRAM_FAULT = 9, /* kind, at, gate: faults when the dword at gate (0: none) is not 0 */
};

/* Kinds of SG_PROGRAM_FAULT. Errors, numbers and states are those seen on an H100. */
enum sg_fault_kind {
	SG_FAULT_NONE,
	SG_FAULT_STORE, /* stores to `at`: an MMU fault if that is not mapped */
	SG_FAULT_MISALIGNED, /* at `at` */
	SG_FAULT_TRAP,
	SG_FAULT_ASSERT, /* the kernel ends well, and the driver is told */
	SG_FAULT_INSTRUCTION,
	SG_FAULT_STACK,
	SG_FAULT_SHARED,
	SG_FAULT_KINDS
};

#define SG_FAULT_PC 0x50 /* offset of the instruction in the program */
/* Dword of the error notifier's page by which an assertion is told; real GPUs do it otherwise. */
#define SG_ASSERTED 8

struct sg_program {
	uint64_t magic;
	uint32_t op;
	uint32_t reserved;
};

/* Pointers of this process. */
struct sg_sass {
	uint64_t cubin, bytes, kernel, params_bytes;
};

#define SG_PROGRAM_PARAMS 0x210 /* offset of the parameters in constant bank 0: 64-bit words */

#endif
