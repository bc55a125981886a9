/* SPDX-License-Identifier: MIT */
/* The list of benchmarks, in the order of the output. */
#include <string.h>
#include "probe/bench/frame/internal.h"

/* One a line, to avoid merge conflicts. */
/* clang-format off */
#define BENCHES(B) \
	B(bench_clocks) \
	B(bench_control) \
	B(bench_schedulers) \
	B(bench_icache) \
	B(bench_icache_jumps) \
	B(bench_icache_owner) \
	B(bench_constant) \
	B(bench_constant_icache) \
	B(bench_banks) \
	B(bench_uniform_banks) \
	B(bench_registers) \
	B(bench_latencies) \
	B(bench_tensor_code) \
	B(bench_dpx) \
	B(bench_throughput) \
	B(bench_l1_latency) \
	B(bench_l1_bandwidth) \
	B(bench_l1_size) \
	B(bench_l1_lines) \
	B(bench_l2_latency) \
	B(bench_l2_lines) \
	B(bench_l2_bandwidth) \
	B(bench_shared_latency) \
	B(bench_shared_bandwidth) \
	B(bench_global_bandwidth) \
	B(bench_tlb) \
	B(bench_dsmem) \
	B(bench_l2_window) \
	B(bench_atomics_latency) \
	B(bench_atomics_throughput) \
	B(bench_arithmetic) \
	B(bench_tma) \
	B(bench_barriers) \
	B(bench_launch_latency) \
	B(bench_p2p) \
	B(bench_matmul) \
	B(bench_sustained) \
	B(bench_sustained_types) \
	B(bench_power) \
	B(bench_thermal) \
	B(bench_steady)
/* clang-format on */

#define DECLARE(variable) extern const struct bench variable;
#define LIST(variable) &variable,
BENCHES(DECLARE)
const struct bench *const bench_list[] = {BENCHES(LIST) NULL};

const struct bench *bench_find_benchmark(const char *name)
{
	for (const struct bench *const *b = bench_list; *b; b++)
		if (!strcmp((*b)->name, name))
			return *b;
	return NULL;
}
