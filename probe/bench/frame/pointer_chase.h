/* SPDX-License-Identifier: MIT */
/*
 * What the benchmarks of memory share: chains of addresses, made on the GPU, the thread that goes
 * along one, and repetition of a launch into a point.
 */
#ifndef NVSNOOP_PROBE_BENCH_FRAME_POINTER_CHASE_H
#define NVSNOOP_PROBE_BENCH_FRAME_POINTER_CHASE_H

#include "probe/bench/frame/bench.h"

enum { CHASE_UNROLL = 16 }; /* loads of a turn of the loop: steps are multiples of it */

/* Opcodes that are looked for. */
enum { OP_LD = 0x180, OP_LDG = 0x181, OP_LDS = 0x184, OP_STG = 0x186 };

/* Element I lies at BASE + I * STRIDE + I * SKEW mod 1 MiB, and holds the address of the next one:
 * the one behind it, or, at random, each once until all were there. */
struct chase_chain {
	uint64_t base, elements, stride, skew;
	bool random; /* elements is 2^k or 3 * 2^k then, and at least 8 */
	bool self; /* each holds its own address: the chain is as long as one likes, of one element
		    */
};

/* The kernel that lays chains, and chase_lay() with it. */
struct bench_kernel *chase_builder(struct bench_run *run);
bool chase_lay(struct bench_run *run, struct bench_kernel *builder,
	       const struct chase_chain *chain);

/* One thread goes arg1 steps from arg0 on, untimed, and then arg2 steps, whose cycles are the first
 * 8 bytes of the results. CACHE: "ca" or "cg". */
struct bench_kernel *chase_kernel(struct bench_run *run, const char *cache);

/* Of a launch: cycles, or bytes a second, or what else its results amount to; NAN: nothing. SCALE
 * is what the caller gave. */
typedef double chase_value(const struct bench_run *run, const void *results, double scale);
chase_value chase_cycles; /* the first 8 bytes by SCALE */
chase_value chase_rate; /* SCALE bytes in the grid's time, in GB/s */

/* Launches once, and BENCH_REPEATS times more for the values of POINT. False: it failed, or it was
 * a dry run: the point has no value. SIZE: of the results. */
bool chase_repeat(struct bench_run *run, struct bench_kernel *kernel,
		  const struct bench_launch *launch, size_t size, chase_value *value, double scale,
		  struct bench_point *point);

/* The same of chase_kernel(), each launch going on where the one before ended, so that nobody meets
 * what he has just brought into a cache: arg1 steps untimed, arg2 timed; value: cycles a step. */
bool chase_onward(struct bench_run *run, struct bench_kernel *kernel,
		  const struct bench_launch *launch, struct bench_point *point);

/* Of l2_latency.c: asks which SMs (bits) sit at one of L2's two sides. False: it has none. */
bool l2_side(struct bench_run *run, struct bench_kernel *builder, uint64_t sms[3]);

/* The point at X and Y, or a new one: of launches that each give values for many points. */
struct bench_point *chase_point(struct bench_series *series, double x, double y);

/* 2^k and 3 * 2^k, the next one behind N. */
uint64_t chase_next(uint64_t n);
uint64_t chase_steps(uint64_t least); /* a multiple of CHASE_UNROLL */

/* "238 KiB", into TEXT. */
const char *chase_bytes(char text[24], double bytes);

#endif
