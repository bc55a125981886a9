/* SPDX-License-Identifier: MIT */
/* Shared by the instruction benchmarks: finding timed code, patching its instructions, storing
 * values. */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_TIMED_CODE_H
#define NVSNOOP_PROBE_BENCH_FRAME_TIMED_CODE_H

#include "probe/bench/frame/bench.h"

/* Decodes a word in Hopper's encoding, which includes Volta's fields. */
struct nvs_sass_insn;
void code_decode_insn(const uint64_t word[2], struct nvs_sass_insn *insn);
bool code_is_clock(const struct nvs_sass_insn *insn); /* is it a read of the SM clock */

/* Finds, from *FIRST on, two consecutive clock reads with COUNT instructions of opcode OP or ALSO
 * between them. Sets *FIRST and *LAST to the reads. Returns false if there are none. */
bool code_find_bracket(const uint64_t (*word)[2], uint32_t n, uint16_t op, uint16_t also,
		       uint32_t count, uint32_t *first, uint32_t *last);

/* Patch only control bits. Stalls above 11 need YIELD false, as in NVIDIA's assembler. */
void code_set_stall(uint64_t word[2], unsigned stall, bool yield);
void code_set_reuse(uint64_t word[2], unsigned mask);
/* The barriers that the instruction sets (7: none), and a mask of those it waits for. */
void code_set_barriers(uint64_t word[2], unsigned write, unsigned read, unsigned wait);

/* Finds an unconditional BRA of the kernel, such as the one to itself at its end. Returns NULL if
 * there is none. */
const uint64_t *code_find_branch(const uint64_t (*word)[2], uint32_t n);
/* Makes instruction FROM a copy of such a BRA to instruction TO, which first waits for all
 * barriers. HOPPER: the encoding of sm_90 and newer. */
void code_write_branch(uint64_t (*word)[2], const uint64_t branch[2], uint32_t from, uint32_t to,
		       bool hopper);

/* Generate PTX that loads 32-bit registers NAME0 to NAME(N-1) from byte AT of the results area on,
 * so that the optimizer cannot know their values, or stores them there. */
void code_write_loads(struct bench_text *text, const char *name, unsigned n, unsigned at);
void code_write_stores(struct bench_text *text, const char *name, unsigned n, unsigned at);

/* Finds the point at X, and at Y unless that is NAN. Returns NULL if there is none, or none with a
 * positive median. */
const struct bench_point *code_find_point(const struct bench_series *series, double x, double y);

/* Sorts N values and returns the median. */
double code_median(double *value, uint32_t n);

/*
 * Generates N segments of COUNT FFMAs on eight sums f0 to f7 between two clock reads. Each runs
 * three times; the last one is timed. Stores the cycles as .u64 from byte AT of the results area
 * on, preceded by those of an empty segment. Patches find the segments with code_find_bracket().
 */
void code_write_segments(struct bench_text *text, uint32_t n, uint32_t count, unsigned at);
/* Measures a kernel of ALL such segments by one warp: adds to SERIES, which is empty, the cycles of
 * an instruction of each of the first N segments, by its number. */
void code_measure_segments(struct bench_run *run, struct bench_kernel *kernel, uint32_t all,
			   uint32_t count, unsigned at, struct bench_series *series, uint32_t n);

/*
 * Generates straight-line code of COUNT FFMAs on eight sums that can be entered at every STEP
 * instructions. NAME0 to NAME9 are registers, LABEL is a prefix for labels. ENTRY, a .u32, selects
 * the entry: 0 runs everything, COUNT / STEP nothing.
 */
void code_write_straight(struct bench_text *text, const char *name, const char *label,
			 const char *entry, uint32_t count, uint32_t step);

#endif
