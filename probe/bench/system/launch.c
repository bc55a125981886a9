/* SPDX-License-Identifier: MIT */
/*
 * Measures the gap from the end of a kernel to the start of the next one in a stream, with the
 * GPU's clock: plain, with clusters, and with programmatic dependent launch, where the next kernel
 * is already resident and waits. Kernels of one block each run for 20 us, so that the host stays
 * ahead. Also measures the host's time for one empty kernel.
 *
 * The gap is constant within a process but differs by 200 ns between processes, so 22 processes are
 * used, 20 s. They cluster around two values, so that medians would alternate: figures are means.
 */
#include <math.h>
#include <string.h>
#include <time.h>
#include "probe/bench/frame/bench.h"
#include "probe/lib/driver.h"

enum {
	LAUNCHES = 24,
	SPIN = 20000, /* ns */
	NON_PORTABLE_CLUSTER = 14, /* CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
};

/*
 * arg0: index of the kernel, arg1: its duration in ns. Stores start and end in its slot of the
 * results. With a dependent launch it waits for the end of the previous one before taking its
 * start.
 */
static struct bench_kernel *build_kernel(struct bench_run *run)
{
	struct bench_text text = {0};

	bench_emit(&text, ".reg .u64 %%b, %%e, %%to; .reg .u32 %%t; .reg .pred %%p, %%q;\n");
	if (bench_arch(bench_gpu(run)) >= 90)
		bench_emit(&text, "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;\n");
	bench_emit(&text,
		   "mov.u64 %%b, %%globaltimer;\nAGAIN:\nmov.u64 %%e, %%globaltimer;\n"
		   "sub.u64 %%to, %%e, %%b; setp.lt.u64 %%p, %%to, %%b_arg1;\n@%%p bra AGAIN;\n"
		   "mov.u32 %%t, %%ctaid.x; setp.ne.u32 %%q, %%t, 0;\n@%%q bra OVER;\n"
		   "mad.lo.u64 %%to, %%b_arg0, 16, %%b_data;\n"
		   "st.global.u64 [%%to], %%b; st.global.u64 [%%to+8], %%e;\nOVER:\n");
	return BENCH_KERNEL(run, &text, .name = "launch", .threads = 32, .bare = true);
}

static bool launch_one(struct bench_run *run, struct bench_kernel *kernel, uint64_t which,
		       uint64_t ns, uint32_t cluster, bool dependent)
{
	uint64_t value[9] = {bench_results_address(run), which, ns};
	void *parameter[9];
	struct probe_launch_attribute attribute[2] = {{0, {0}}};
	uint32_t blocks = cluster ? cluster : 1;
	struct probe_launch_config c = {{blocks, 1, 1}, {32, 1, 1}, 0, NULL, attribute, 0};

	for (int i = 0; i < 9; i++)
		parameter[i] = &value[i];
	if (cluster)
		attribute[c.attributes++] = (struct probe_launch_attribute){PROBE_LAUNCH_CLUSTER,
									    {0, cluster, 1, 1}};
	if (dependent)
		attribute[c.attributes++] =
			(struct probe_launch_attribute){PROBE_LAUNCH_PROGRAMMATIC, {0, 1}};
	return !cu.cuLaunchKernelEx(&c, bench_kernel_function(kernel), parameter, NULL);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Returns the mean of the gaps, each of which has the timer's resolution; NAN on failure. */
static double measure_gap(struct bench_run *run, struct bench_kernel *kernel, uint32_t cluster,
			  bool dependent)
{
	uint64_t at[LAUNCHES][2];
	double sum = 0;

	for (uint64_t i = 0; i < LAUNCHES; i++)
		if (!launch_one(run, kernel, i, SPIN, cluster, dependent && i))
			return NAN;
	if (cu.cuStreamSynchronize(NULL) ||
	    !bench_memory_read(run, at, bench_results_address(run), sizeof at))
		return NAN;
	/* Skip the first launches: the host may not have been ahead yet. */
	for (int i = LAUNCHES - BENCH_REPEATS; i < LAUNCHES; i++)
		sum += (double)(int64_t)(at[i][0] - at[i - 1][1]) / 1e3;
	return sum / BENCH_REPEATS;
}

static double measure_host(struct bench_run *run, struct bench_kernel *kernel, uint32_t cluster)
{
	double t = now_us();

	if (!launch_one(run, kernel, 0, 0, cluster, false) || cu.cuStreamSynchronize(NULL))
		return NAN;
	return now_us() - t;
}

static void measure_one(struct bench_run *run, struct bench_kernel *kernel, uint32_t cluster)
{
	static const char *const name[] = {"end to begin", "end to begin, dependent launch",
					   "host, launch and wait"};
	bool hopper = bench_arch(bench_gpu(run)) >= 90;

	for (int k = 0; k < 3; k++) {
		struct bench_point *point = bench_add_point(run, name[k], "blocks of a cluster",
							    "us", cluster);

		for (int n = 0; n <= BENCH_REPEATS && (k != 1 || hopper); n++) {
			double us = k == 2 ? measure_host(run, kernel, cluster)
					   : measure_gap(run, kernel, cluster, k == 1);

			if (isnan(us)) {
				bench_add_missing(bench_samples(run),
						  "%s, cluster of %u: the launch failed", name[k],
						  cluster);
				break;
			}
			if (n)
				bench_add_value(point, us);
		}
	}
}

static void measure_samples(struct bench_run *run)
{
	struct bench_kernel *kernel = build_kernel(run);

	if (!kernel || bench_is_dry(run))
		return;
	if (cu.cuLaunchKernelEx && cu.cuFuncSetAttribute) {
		measure_one(run, kernel, 0);
		for (uint32_t n = 1; n <= 16 && bench_arch(bench_gpu(run)) >= 90; n *= 2) {
			/* More than 8 must be enabled; the launch fails if 16 are not supported. */
			if (n > 8)
				cu.cuFuncSetAttribute(bench_kernel_function(kernel),
						      NON_PORTABLE_CLUSTER, 1);
			measure_one(run, kernel, n);
		}
	} else {
		bench_add_missing(bench_samples(run), "the driver has no cuLaunchKernelEx");
	}
}

static double mean_of(const struct bench_point *point)
{
	double sum = 0;

	for (uint32_t i = 0; i < point->n; i++)
		sum += point->value[i];
	return sum / point->n;
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_point *plain =
		bench_find_first(bench_find_series(samples, "end to begin"));
	const struct bench_point *dependent =
		bench_find_first(bench_find_series(samples, "end to begin, dependent launch"));

	for (uint32_t i = 0; i < samples->n; i++) {
		const struct bench_series *series = &samples->series[i];

		BENCH_EACH(p, series) {
			bench_figure(figures, series->name,
				     p->x > 0 ? bench_format("cluster of %g", p->x) : "no cluster",
				     series->unit, mean_of(p), bench_min(p), bench_max(p),
				     p->sm_mhz);
			/* The host's time depends more on the machine than on the GPU. */
			bench_mark_detail(figures, !strncmp(series->name, "host", 4));
		}
	}
	if (plain && dependent)
		bench_add_note(figures,
			       "A kernel starts %.2f us after the end of the previous one, %.2f us "
			       "with dependent launch.",
			       mean_of(plain), mean_of(dependent));
}

BENCH(bench_launch_latency, "launch", "",
      "from one kernel's end to the next one's begin, with clusters and dependent launch",
      measure_samples, derive_figures, .processes = 2 * BENCH_REPEATS);
