/* SPDX-License-Identifier: MIT */
/* Matrix products with cuBLAS as a load for the clock benchmarks; implemented in matmul.c. */
#ifndef NVSNOOP_PROBE_BENCH_COMPUTE_PRODUCTS_H
#define NVSNOOP_PROBE_BENCH_COMPUTE_PRODUCTS_H

#include "probe/bench/frame/bench.h"

struct bench_products;
/* Prepares products of TYPE ("FP16", "FP32") and random matrices of up to MOST rows. Returns NULL
 * if that is not possible; the reason is added to missing, except in a dry run. */
struct bench_products *bench_products(struct bench_run *run, const char *type, uint32_t most);
/* Starts N products of matrices of SIZE rows without waiting. */
bool bench_products_begin(struct bench_products *p, uint32_t size, uint32_t n);
double bench_products_end(struct bench_products *p); /* waits; returns seconds, NAN on failure */
void bench_products_free(struct bench_run *run, struct bench_products *p);

#endif
