/* SPDX-License-Identifier: MIT */
/*
 * Cubins that count: a cubin is rewritten so that its kernels add up the instructions that they
 * execute, in registers, a basic block at a time, and add the sums to counters in memory where a
 * thread ends. What they compute stays the same.
 *
 * A kernel's counters are NVS_COUNT_SLOTS slots of 32 bytes, zero at the beginning; a warp adds to
 * one that its SM and its number choose. Nothing is allocated but through struct nvs_sass_memory.
 */
#ifndef NVSNOOP_SASS_COUNT_H
#define NVSNOOP_SASS_COUNT_H

#include "sass/sass.h"

/* ---- words: instructions as the driver's own assembler makes them for a GPU ---- */

#define NVS_COUNT_WORDS 24

struct nvs_count_words {
	uint32_t arch; /* 90; 0: none */
	uint32_t descriptor; /* offset in bank 0 of the descriptor that global memory is reached
				with; 0: none */
	bool split; /* PC-relative fields: their low 8 bits stand apart */
	uint64_t word[NVS_COUNT_WORDS][2]; /* 0: not made by this assembler */
};

/* PTX for a GPU of ARCH (90), ending in a zero byte, that holds every instruction which is needed;
 * to be assembled by cuLink*. Bytes written with the zero, or 0: it does not fit (NVS_COUNT_PTX
 * does), or nothing is known of ARCH. */
#define NVS_COUNT_PTX 16384
size_t nvs_count_ptx(uint32_t arch, char *out, size_t size);

/* Takes the words from what became of it. 0, -EBADMSG, -ENOTSUP: *MISSING names what is not there.
 */
int nvs_count_words(const void *cubin, size_t size, struct nvs_count_words *words,
		    const char **missing);

/* ---- rewriting ---- */

#define NVS_COUNT_SMS 64u /* SMs of as many numbers apart share slots */
#define NVS_COUNT_SM_SLOTS 8u
#define NVS_COUNT_SLOTS (NVS_COUNT_SMS * NVS_COUNT_SM_SLOTS)
#define NVS_COUNT_SLOT 32u /* bytes */
#define NVS_COUNT_BYTES ((size_t)NVS_COUNT_SLOTS * NVS_COUNT_SLOT)

enum nvs_count_place {
	NVS_COUNT_ANY, /* inline, else stub */
	NVS_COUNT_INLINE, /* counting stands at the head of each block: faster */
	NVS_COUNT_STUB, /* one instruction of each block jumps to it: nothing moves */
};

/* Where sums stand until a thread ends: the first that fits, or this one only. */
enum nvs_count_home {
	NVS_COUNT_AUTO,
	NVS_COUNT_VECTOR, /* threads in a register of each, warps in a uniform one */
	NVS_COUNT_UNIFORM, /* both in uniform ones */
	NVS_COUNT_ELECTED, /* both in a thread's registers, warps in an elected one's */
};

struct nvs_count_options {
	bool warps, threads; /* which sums; both where neither is said */
	bool skip_off; /* leave out threads whose predicate is off, and warps in which all are */
	uint32_t from, to; /* only the instructions of a kernel FROM <= number < TO; TO 0: all */
	enum nvs_count_place place;
	enum nvs_count_home home;
	bool narrow; /* sums of 32 bits a warp: of use for tests */
	/* The device address of KERNEL's counters; 0: leave it as it is. */
	uint64_t (*counters)(void *arg, const char *kernel);
	void *arg;
};

struct nvs_counted_kernel {
	const char *name; /* mangled, in the cubin that was handed in */
	uint64_t counters; /* 0: left as it is, and WHY says why (NULL: not asked for) */
	const char *why;
	uint32_t why_at; /* byte of its code; UINT32_MAX: no certain one */
	enum nvs_count_place place;
	enum nvs_count_home home;
	uint32_t instructions, blocks, added; /* of its own; of them those that count; added ones */
	uint32_t filler; /* of its own, behind the last that can be executed: nvs_sass_code_count()
			  */
	uint16_t registers[2]; /* before and after */
	/* Calls of functions that the cubin does not hold, its own and 1 if a function that it
	 * calls has some: what runs there is not in its sums. Of the driver's functions ncu counts
	 * some (10 instructions for each device-side launch: driver 580.159.04), others not
	 * (printf). */
	uint32_t calls_out;
	/* Sums of 32 bits: right as long as no warp executes 2^32 instructions. Where both warps
	 * and threads are counted nvs_count_sum() tells when one may have, but for
	 * NVS_COUNT_ELECTED. */
	bool narrow;
};

struct nvs_counted {
	uint8_t *cubin; /* NULL: no kernel was rewritten */
	size_t size;
	struct nvs_counted_kernel *kernel;
	uint32_t n, rewritten;
	size_t cubin_bytes, kernel_bytes; /* for nvs_counted_free() */
};

/* 0 or -errno; a kernel that cannot be rewritten is no error. The name pointers are into CUBIN. */
int nvs_count_rewrite(const void *cubin, size_t size, const struct nvs_count_words *words,
		      const struct nvs_count_options *options, const struct nvs_sass_memory *memory,
		      struct nvs_counted *counted);
void nvs_counted_free(struct nvs_counted *counted, const struct nvs_sass_memory *memory);

struct nvs_count_sums {
	uint64_t warps, threads;
	bool wrapped; /* threads' sum is not to be trusted: a warp executed 2^32 instructions */
	bool warps_wrapped; /* warps' sum is not: the threads of one executed as many */
};

/* Adds up SLOTS slots as they were read from the device. */
void nvs_count_sum(const void *slots, uint32_t n, struct nvs_count_sums *sums);

#endif
