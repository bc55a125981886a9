/* SPDX-License-Identifier: MIT */
/*
 * Writes figures as parameters of Accel-Sim and GPGPU-Sim (gpgpusim.config and trace.config), a
 * name and a value in each line. The simulator has many more parameters, which are not measured, so
 * the file is meant to be appended to the configuration of a similar GPU, whose lines it overrides.
 * Parameters that need a part that is not measured are comments.
 *
 * Latencies of L2 and DRAM are what each adds to the level before it, as in the simulator's own
 * microbenchmarks. The initiation interval of an instruction is the cycles for which a scheduler's
 * unit is busy with one warp: the warp's operations divided by those of a cycle, a quarter of the
 * SM's.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"

enum { SCHEDULERS = 4 };

struct config {
	FILE *file;
	const struct bench_figures *figures;
	uint32_t n; /* parameters written */
	struct bench_text left; /* names of those that the figures do not give */
};

static double value_of(const struct config *c, const char *bench, const char *name,
		       const char *parameter)
{
	const struct bench_figure *f = bench_find_figure(c->figures, bench, name, parameter);

	return f ? f->value : NAN;
}

/* Writes a parameter, or keeps its name if V is unknown. */
static void write_number(struct config *c, const char *name, double v)
{
	if (isfinite(v) && v > 0) {
		fprintf(c->file, "-%s %.0f\n", name, v);
		c->n++;
	} else {
		bench_emit(&c->left, " %s", name);
	}
}

/* An instruction class of trace.config: latency, and operations per cycle and SM at OPS of a warp.
 */
static void write_class(struct config *c, const char *class, double latency, double rate,
			double ops)
{
	const char *name = bench_format("trace_opcode_latency_initiation_%s", class);
	double initiation = rate > 0 ? round(ops / (rate / SCHEDULERS)) : NAN;

	if (latency > 0 && initiation >= 0) {
		fprintf(c->file, "-%s %.0f,%.0f\n", name, latency, fmax(initiation, 1));
		c->n++;
	} else {
		bench_emit(&c->left, " %s", name);
	}
}

static void write_instructions(struct config *c)
{
	double mma = value_of(c, "arithmetic", "mma m16n8k16 f16", "latency");
	bool turing = isnan(mma);
	const char *tensor = turing ? "mma m16n8k8 f16" : "mma m16n8k16 f16";

	/* Of a warp, with a multiplication and an addition counted as two. */
	write_class(c, "int", value_of(c, "latencies", "IMAD", ""),
		    value_of(c, "arithmetic", "IMAD", "16 warps"), 64);
	write_class(c, "sp", value_of(c, "latencies", "FFMA", ""),
		    value_of(c, "arithmetic", "FFMA", "16 warps"), 64);
	write_class(c, "dp", value_of(c, "latencies", "DFMA", ""),
		    value_of(c, "arithmetic", "DFMA", "16 warps"), 64);
	write_class(c, "sfu", value_of(c, "latencies", "MUFU.RSQ", ""),
		    value_of(c, "throughput", "MUFU.RSQ", "one SM"), 32);
	write_class(c, "tensor", value_of(c, "arithmetic", tensor, "latency"),
		    value_of(c, "arithmetic", tensor, "16 warps"),
		    2.0 * 16 * 8 * (turing ? 8 : 16));
}

static void write_memory(struct config *c)
{
	const struct bench_gpu *g = &c->figures->gpu;
	double l1 = value_of(c, "l1-latency", "L1 hit", ""),
	       l2 = value_of(c, "l2-latency", "L2 hit", ""),
	       dram = value_of(c, "l2-latency", "DRAM", "");

	write_number(c, "gpgpu_l1_latency", round(l1));
	write_number(c, "gpgpu_smem_latency",
		     round(value_of(c, "shared-latency", "shared latency", "4 B, 1 apart")));
	write_number(c, "gpgpu_l2_rop_latency", round(l2 - l1));
	write_number(c, "dram_latency", round(dram - l2));
	write_number(c, "gpgpu_shmem_num_banks",
		     round(value_of(c, "shared-bandwidth", "shared bandwidth", "4 B") / 4));
	write_number(c, "gpgpu_shmem_size", (double)g->shared_sm_bytes);
	write_number(c, "gpgpu_shmem_sizeDefault", (double)g->shared_sm_bytes);
	write_number(c, "gpgpu_shmem_per_block", (double)g->shared_block_bytes);
}

static const char *known(double v)
{
	return isfinite(v) ? bench_format("%.6g", v) : "-";
}

/* Caches need numbers of sets and ways, and policies, in one parameter: what is known of them. */
static void write_caches(struct config *c)
{
	const struct bench_gpu *g = &c->figures->gpu;

	fprintf(c->file,
		"# gpgpu_cache:dl1: keeps %s KiB beside 8 KiB of shared memory, sectors of %s "
		"bytes, lines of %s\n",
		known(value_of(c, "l1-size", "L1 seen", "8 KiB")),
		known(value_of(c, "l1-lines", "L1 sector", "")),
		known(value_of(c, "l1-lines", "L1 line", "")));
	fprintf(c->file,
		"# gpgpu_cache:dl2: %s bytes in all partitions, lines of %s bytes, %s ways\n",
		g->l2_bytes ? bench_format("%llu", (unsigned long long)g->l2_bytes) : "-",
		known(value_of(c, "l2-lines", "L2 line", "")),
		known(value_of(c, "l2-lines", "L2 ways", "")));
	fprintf(c->file, "# gpgpu_const_cache:l1: keeps %s bytes\n",
		known(value_of(c, "constant", "level 1 holds", "step 64")));
	fprintf(c->file, "# gpgpu_cache:il1: keeps %s KiB, the next level %s KiB\n",
		known(value_of(c, "icache", "level 1 holds", "NOP")),
		known(value_of(c, "icache", "level 2 holds", "NOP")));
	fprintf(c->file,
		"# gpgpu_clock_domains: core %s MHz, memory %s MHz; interconnect and L2 are not "
		"measured\n",
		known(value_of(c, "clocks", "SM clock", "")),
		known(g->memory_khz ? (double)g->memory_khz / 1000 : NAN));
}

static void write_chip(struct config *c)
{
	const struct bench_gpu *g = &c->figures->gpu;
	double gap = value_of(c, "launch", "end to begin", "no cluster"),
	       mhz = value_of(c, "clocks", "SM clock", "");

	write_number(c, "gpgpu_compute_capability_major", (double)g->cc_major);
	if (g->cc_major)
		fprintf(c->file, "-gpgpu_compute_capability_minor %llu\n",
			(unsigned long long)g->cc_minor);
	write_number(c, "gpgpu_n_clusters", (double)g->sms);
	write_number(c, "gpgpu_n_cores_per_cluster", 1);
	/* Of us, in cycles. */
	write_number(c, "gpgpu_kernel_launch_latency", round(gap * mhz));
}

void bench_write_accel_sim(const char *path, FILE *file, const struct bench_figures *figures)
{
	struct config c = {.file = file, .figures = figures};
	const struct bench_gpu *g = &figures->gpu;

	fprintf(file,
		"# Parameters of Accel-Sim by nvsnoop-probe bench: %s, driver %s, %s.\n"
		"# Append them to gpgpusim.config and trace.config of a similar GPU.\n",
		g->name, *g->driver ? g->driver : "not known",
		*g->date ? g->date : "date not known");
	write_chip(&c);
	write_memory(&c);
	write_instructions(&c);
	write_caches(&c);
	if (c.left.size)
		fprintf(file, "# not in these figures:%s\n", c.left.data);
	bench_text_free(&c.left);
	if (fflush(file) || ferror(file) || fclose(file))
		probe_die("%s: %s", path, strerror(errno));
}
