/* SPDX-License-Identifier: MIT */
/*
 * Rewrites a cubin so that its kernels count the instructions that they execute: in registers, a
 * basic block at a time; where a thread ends, the sums are added to counters in memory. The results
 * of the kernels do not change.
 */
#ifndef NVSNOOP_SASS_COUNT_H
#define NVSNOOP_SASS_COUNT_H

#include "sass/sass.h"

/* ---- words: instructions as the driver's own assembler encodes them for a GPU ---- */

#define NVS_COUNT_WORDS 24

struct nvs_count_words {
	uint32_t arch; /* 90; 0: none */
	uint32_t descriptor; /* offset in bank 0 of the descriptor for global memory; 0: none */
	bool split; /* PC-relative fields: their low 8 bits are stored separately */
	uint64_t word[NVS_COUNT_WORDS][2]; /* 0: not produced by this assembler */
};

/*
 * Writes PTX for a GPU of ARCH (90) that uses every needed instruction; it is to be assembled by
 * cuLink*. Ends with a zero byte. Returns the bytes written, including the zero, or 0 if it does
 * not fit (NVS_COUNT_PTX bytes always suffice) or ARCH is unknown.
 */
#define NVS_COUNT_PTX 16384
size_t nvs_count_ptx(uint32_t arch, char *out, size_t size);

/* Extracts the words from the assembled cubin. Returns 0, -EBADMSG, or -ENOTSUP with *MISSING
 * naming an instruction that is missing. */
int nvs_count_words(const void *cubin, size_t size, struct nvs_count_words *words,
		    const char **missing);

/* ---- rewriting ---- */

/*
 * The counters of a kernel are NVS_COUNT_SLOTS slots of 32 bytes, initially zero; a warp adds to
 * the slot chosen by its SM and its number. Memory is allocated only through struct
 * nvs_sass_memory.
 */
#define NVS_COUNT_SMS 64u /* SMs whose numbers differ by a multiple of this share slots */
#define NVS_COUNT_SM_SLOTS 8u
#define NVS_COUNT_SLOTS (NVS_COUNT_SMS * NVS_COUNT_SM_SLOTS)
#define NVS_COUNT_SLOT 32u /* bytes */
/* bits of a thread's count that a slot sums apart: over 32 threads the sum fits in 32 bits */
#define NVS_COUNT_LOW_BITS 27u
#define NVS_COUNT_BYTES ((size_t)NVS_COUNT_SLOTS * NVS_COUNT_SLOT)

enum nvs_count_place {
	NVS_COUNT_ANY, /* inline if possible, else stub */
	NVS_COUNT_INLINE, /* counting code is at the start of each block: faster */
	/* one instruction of each block is replaced by a jump to the counting code: no code
	 * moves */
	NVS_COUNT_STUB,
};

/* Where sums are kept until a thread ends: AUTO takes the first that fits, the others only that
 * one. */
enum nvs_count_home {
	NVS_COUNT_AUTO,
	NVS_COUNT_VECTOR, /* thread sums in a vector register, warp sums in a uniform one */
	NVS_COUNT_UNIFORM, /* both in uniform registers */
	NVS_COUNT_ELECTED, /* both in vector registers, warp sums in that of an elected thread */
};

struct nvs_count_options {
	bool warps, threads; /* which sums; both if neither is set */
	bool skip_off; /* do not count threads whose predicate is off, and warps in which all are */
	/* count only the instructions FROM <= number < TO of a kernel; TO 0: all */
	uint32_t from, to;
	enum nvs_count_place place;
	enum nvs_count_home home;
	bool narrow; /* warp sums of 32 bits; for tests */
	/* Returns the device address of KERNEL's counters; 0: do not rewrite this kernel. */
	uint64_t (*counters)(void *arg, const char *kernel);
	void *arg;
};

struct nvs_instrumented_kernel {
	const char *name; /* mangled; points into the input cubin */
	uint64_t counters; /* 0: not rewritten, for the reason WHY (NULL: not requested) */
	const char *why;
	uint32_t why_at; /* byte offset in its code; UINT32_MAX: no particular place */
	enum nvs_count_place place;
	enum nvs_count_home home;
	/* original instructions; original blocks that count; added instructions */
	uint32_t instructions, blocks, added;
	/* original instructions after the last one that can be executed: nvs_sass_code_count() */
	uint32_t filler;
	uint16_t registers[2]; /* before and after */
	/* Calls of functions that are not in the cubin: its own calls, or 1 if only a function that
	 * it calls has some. Instructions executed there are not in its sums. Of the driver's
	 * functions, ncu counts some (10 instructions for each device-side launch: driver
	 * 580.159.04) and not others (printf). */
	uint32_t calls_out;
	/* Sums of 32 bits: correct unless a warp executes 2^32 instructions. If both warps and
	 * threads are counted, nvs_count_sum() reports when a warp may have, except with
	 * NVS_COUNT_ELECTED. */
	bool narrow;
};

struct nvs_instrumented {
	uint8_t *cubin; /* NULL: no kernel was rewritten */
	size_t size;
	struct nvs_instrumented_kernel *kernel;
	uint32_t n, rewritten;
	size_t cubin_bytes, kernel_bytes; /* for nvs_instrumented_free() */
};

/* Returns 0 or -errno. A kernel that cannot be rewritten is not an error. The names point into
 * CUBIN. */
int nvs_count_rewrite(const void *cubin, size_t size, const struct nvs_count_words *words,
		      const struct nvs_count_options *options, const struct nvs_sass_memory *memory,
		      struct nvs_instrumented *counted);
void nvs_instrumented_free(struct nvs_instrumented *counted, const struct nvs_sass_memory *memory);

struct nvs_count_sums {
	uint64_t warps, threads;
	bool wrapped; /* the threads' sum is wrong: a warp executed 2^32 instructions */
	/* the warps' sum is wrong: the threads of a warp executed 2^32 instructions */
	bool warps_wrapped;
};

/* Adds up N slots as read from the device. */
void nvs_count_sum(const void *slots, uint32_t n, struct nvs_count_sums *sums);

#endif
