/* SPDX-License-Identifier: MIT */
/* Pointer chasing, shared by the memory benchmarks: builds chains of addresses on the GPU, and runs
 * a thread along one. */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_POINTER_CHASE_H
#define NVSNOOP_PROBE_BENCH_FRAME_POINTER_CHASE_H

#include "probe/bench/frame/bench.h"

enum { CHASE_UNROLL = 16 }; /* loads per loop iteration; step counts are multiples of it */

/* Opcodes for bench_expect. */
enum { OP_LD = 0x180, OP_LDG = 0x181, OP_LDS = 0x184, OP_STG = 0x186 };

/* Element I is at BASE + I * STRIDE + I * SKEW mod 1 MiB, and holds the address of its successor:
 * the next element, or in random order, visiting each element once. */
struct chase_chain {
	uint64_t base, elements, stride, skew;
	bool random; /* requires elements of 2^k or 3 * 2^k, and at least 8 */
	bool self; /* each element points to itself: an endless chain of one element */
};

/* chase_build_builder() builds the kernel with which chase_write_chain() writes a chain. */
struct bench_kernel *chase_build_builder(struct bench_run *run);
bool chase_write_chain(struct bench_run *run, struct bench_kernel *builder,
		       const struct chase_chain *chain);

/* Builds a kernel in which one thread chases arg1 untimed steps from arg0 on, then arg2 timed
 * steps. The first 8 bytes of the results are the cycles. CACHE is "ca" or "cg". */
struct bench_kernel *chase_build_kernel(struct bench_run *run, const char *cache);

/* For bench_repeat(); ARG is a double. */
bench_compute chase_compute_cycles; /* the first 8 bytes divided by ARG */
bench_compute chase_compute_rate; /* ARG bytes per duration of the grid, in GB/s */

/* In l2_latency.c: finds the SMs (as bits) at one of L2's two partitions. Returns false if it is
 * not partitioned. */
bool l2_find_side(struct bench_run *run, struct bench_kernel *builder, uint64_t sms[3]);

/* Finds or adds the point at X and Y, for launches that give values for many points. */
struct bench_point *chase_find_point(struct bench_series *series, double x, double y);

/* Returns the next number of the form 2^k or 3 * 2^k after N. */
uint64_t chase_next_size(uint64_t n);
uint64_t chase_round_steps(uint64_t least); /* rounds up to a multiple of CHASE_UNROLL */

#endif
