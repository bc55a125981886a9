/* SPDX-License-Identifier: MIT */
/*
 * Pointer chasing, shared by the memory benchmarks: builds chains of addresses on the GPU, runs a
 * thread along one, and repeats a launch into a point.
 */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_POINTER_CHASE_H
#define NVSNOOP_PROBE_BENCH_FRAME_POINTER_CHASE_H

#include "probe/bench/frame/bench.h"

enum { CHASE_UNROLL = 16 }; /* loads per loop iteration; step counts are multiples of it */

/* Opcodes for bench_expect. */
enum { OP_LD = 0x180, OP_LDG = 0x181, OP_LDS = 0x184, OP_STG = 0x186 };

/*
 * Element I is at BASE + I * STRIDE + I * SKEW mod 1 MiB, and holds the address of its successor:
 * the next element, or in random order, visiting each element once.
 */
struct chase_chain {
	uint64_t base, elements, stride, skew;
	bool random; /* requires elements of 2^k or 3 * 2^k, and at least 8 */
	bool self; /* each element points to itself: an endless chain of one element */
};

/* chase_build_builder() builds the kernel with which chase_write_chain() writes a chain. */
struct bench_kernel *chase_build_builder(struct bench_run *run);
bool chase_write_chain(struct bench_run *run, struct bench_kernel *builder,
		       const struct chase_chain *chain);

/*
 * Builds a kernel in which one thread chases arg1 untimed steps from arg0 on, then arg2 timed
 * steps. The first 8 bytes of the results are the cycles. CACHE is "ca" or "cg".
 */
struct bench_kernel *chase_build_kernel(struct bench_run *run, const char *cache);

/*
 * Computes a value from a launch, such as cycles or bytes per second; NAN if there is none. SCALE
 * is passed through.
 */
typedef double chase_value(const struct bench_run *run, const void *results, double scale);
chase_value chase_compute_cycles; /* the first 8 bytes divided by SCALE */
chase_value chase_compute_rate; /* SCALE bytes per duration of the grid, in GB/s */

/*
 * Launches once, then BENCH_REPEATS times for the values of POINT. SIZE is the size of the results.
 * Returns false if a launch failed or in a dry run; POINT has no values then.
 */
bool chase_repeat_launch(struct bench_run *run, struct bench_kernel *kernel,
			 const struct bench_launch *launch, size_t size, chase_value *value,
			 double scale, struct bench_point *point);

/*
 * The same for chase_build_kernel(), with each launch continuing where the previous one ended, so
 * that no thread hits lines that it has just cached: arg1 untimed steps, arg2 timed. The value is
 * cycles per step.
 */
bool chase_repeat_onward(struct bench_run *run, struct bench_kernel *kernel,
			 const struct bench_launch *launch, struct bench_point *point);

/*
 * In l2_latency.c: finds the SMs (as bits) at one of L2's two partitions. Returns false if it is
 * not partitioned.
 */
bool l2_find_side(struct bench_run *run, struct bench_kernel *builder, uint64_t sms[3]);

/* Finds or adds the point at X and Y, for launches that give values for many points. */
struct bench_point *chase_find_point(struct bench_series *series, double x, double y);

/* Returns the next number of the form 2^k or 3 * 2^k after N. */
uint64_t chase_next_size(uint64_t n);
uint64_t chase_round_steps(uint64_t least); /* rounds up to a multiple of CHASE_UNROLL */

/* Formats a size as "238 KiB" into TEXT and returns it. */
const char *chase_format_bytes(char text[24], double bytes);

#endif
