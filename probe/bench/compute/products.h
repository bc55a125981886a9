/* SPDX-License-Identifier: MIT */
/* Matrix products by cuBLAS as a load for the benchmarks of clocks: matmul.c. */
#ifndef NVSNOOP_PROBE_BENCH_COMPUTE_PRODUCTS_H
#define NVSNOOP_PROBE_BENCH_COMPUTE_PRODUCTS_H

#include "probe/bench/frame/bench.h"

struct bench_products;
/* Of TYPE ("FP16", "FP32") and matrices of up to MOST rows, with random numbers. NULL: it cannot be
 * had, and is told as missing; of a dry run it is not told. */
struct bench_products *bench_products(struct bench_run *run, const char *type, uint32_t most);
/* Begins N products of matrices of SIZE rows, and does not wait. */
bool bench_products_begin(struct bench_products *p, uint32_t size, uint32_t n);
double bench_products_end(struct bench_products *p); /* waits: seconds; NAN: it failed */
void bench_products_free(struct bench_run *run, struct bench_products *p);

#endif
