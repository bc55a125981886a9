/* SPDX-License-Identifier: MIT */
/* What benchmarks of instructions share: finding timed code, changing its words, keeping values. */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_TIMED_CODE_H
#define NVSNOOP_PROBE_BENCH_FRAME_TIMED_CODE_H

#include "probe/bench/frame/bench.h"

/* The N-th word of code as an instruction; of Hopper's form, in which Volta's fields stand too. */
struct nvs_sass_insn;
void code_insn(const uint64_t word[2], struct nvs_sass_insn *insn);
bool code_is_clock(const struct nvs_sass_insn *insn); /* a read of the SM's clock */

/* Two reads of the clock that follow each other, with COUNT of OP and ALSO between them, looked for
 * from *FIRST on: the words of the two reads. False: there is no such pair. */
bool code_bracket(const uint64_t (*word)[2], uint32_t n, uint16_t op, uint16_t also, uint32_t count,
		  uint32_t *first, uint32_t *last);

/* Control bits alone. Stalls above 11 are only written with YIELD false, as by NVIDIA's assembler.
 */
void code_stall(uint64_t word[2], unsigned stall, bool yield);
void code_reuse(uint64_t word[2], unsigned mask);
/* Barriers that it sets, 7 none, and a mask of those that it waits for. */
void code_barriers(uint64_t word[2], unsigned write, unsigned read, unsigned wait);

/* One of the values that each launch gives. */
struct code_value {
	char series[48];
	const char *x, *y, *unit;
	double at_x, at_y;
};
/* Twelve launches, of which eleven are kept: VALUES makes N values of the first SIZE bytes of the
 * results area; NAN is not kept. False: a launch failed. */
bool code_measure(struct bench_run *run, struct bench_kernel *kernel,
		  const struct bench_launch *launch, size_t size, const struct code_value *value,
		  uint32_t n, void (*values)(const void *data, double *value, const void *arg),
		  const void *arg);

/* PTX: loads of 32-bit NAME0 to NAME(N-1) from the results area's byte AT on, which no optimizer
 * knows; and stores there. */
void code_loads(struct bench_text *text, const char *name, unsigned n, unsigned at);
void code_stores(struct bench_text *text, const char *name, unsigned n, unsigned at);

/* The point of a series at x (and y unless NAN); NULL: none, or without a sample above zero. */
const struct bench_point *code_at(const struct bench_series *series, double x, double y);

/* The median of N values, which it sorts. */
double code_middle(double *value, uint32_t n);

/* N segments, each of them COUNT FFMAs of eight sums f0 to f7 between two reads of the clock, run
 * three times and timed the last: cycles as .u64 from the results area's byte AT on, before them
 * those of an empty one. For patches, which find them by code_bracket(). */
void code_segments(struct bench_text *text, uint32_t n, uint32_t count, unsigned at);

/* Straight code that can be entered at its every STEP instructions, FFMAs of eight sums: COUNT of
 * them, in which NAME0 to NAME9 are registers and LABEL is a word for labels. ENTRY, a .u32, says
 * where: 0 runs all of it, COUNT / STEP none. */
void code_straight(struct bench_text *text, const char *name, const char *label, const char *entry,
		   uint32_t count, uint32_t step);

#endif
