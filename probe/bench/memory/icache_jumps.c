/* SPDX-License-Identifier: MIT */
/*
 * M11, by jumps: the instruction cache of a scheduler, which prefetching hides from straight code.
 * One warp jumps through lines of 128 bytes of code, each of which has only the jump to the next
 * one in a mixed order, so that no line is fetched because of the one before it. The code is
 * straight FFMAs, over which the jumps are patched; for each number of lines there is a kernel. All
 * of them are jumped through three times, and the last time is timed. Takes about 3 s.
 */
#include "probe/bench/frame/timed_code.h"
#include "probe/bench/frame/pointer_chase.h"
#include "sass/sass.h"
#include <math.h>

enum { COUNT = 16384, LINE = 8, LINES = COUNT / LINE - 1, FEWEST = 8, FFMA = 0x023 };

struct jumps {
	uint32_t lines; /* a power of two, or three times one; 0: one jump over everything */
	unsigned arch;
	double empty; /* cycles of that one */
};

/* The number after AT, so that all are visited once: a step coprime to N, which has only the
 * factors 2 and 3, near the golden ratio. */
static uint32_t step_of(uint32_t n)
{
	uint32_t step = (uint32_t)(0.618 * n) | 1;

	while (step % 3 == 0)
		step += 2;
	return step;
}

/* Follows the jumps from instruction AT. Returns true if there are JUMPS of them before TO. */
static bool follow_jumps(const uint64_t (*word)[2], uint32_t n, unsigned arch, uint32_t at,
			 uint32_t to, uint32_t jumps)
{
	enum nvs_sass_form form = nvs_sass_form(arch);

	for (uint32_t k = 0; k < jumps; k++) {
		struct nvs_sass_flow flow;
		struct nvs_sass_insn insn;

		if (!nvs_sass_insn(form, (const uint8_t *)word, n * 16, at, &insn))
			return false;
		nvs_sass_insn_flow(&insn, form, &flow);
		if (flow.flow != NVS_FLOW_BRANCH || flow.falls || !flow.target_known ||
		    flow.target % 16 || (at == to) || flow.target / 16 > to)
			return false;
		at = (uint32_t)(flow.target / 16);
	}
	return at == to;
}

/* Patches the jumps over the FFMAs between the two clock reads. */
static int patch_jumps(uint64_t (*word)[2], uint32_t n, void *arg)
{
	const struct jumps *jumps = arg;
	const uint64_t *found = code_find_branch((const uint64_t(*)[2])word, n);
	uint32_t first = 0, last, line, at = 0, step;
	uint64_t branch[2];

	/* All that is jumped over must be FFMAs: the loop's counter must not be among them. */
	if (!found ||
	    !code_find_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA, COUNT, &first, &last) ||
	    last - first - 1 != COUNT)
		return -1;
	branch[0] = found[0];
	branch[1] = found[1];
	line = (first + 2 + LINE - 1) / LINE; /* the first one after the first jump */
	if ((line + jumps->lines) * LINE > last)
		return -1;
	code_write_branch(word, branch, first + 1, jumps->lines ? line * LINE : last - 1,
			  jumps->arch >= 90);
	step = step_of(jumps->lines);
	for (uint32_t k = 0; k < jumps->lines; k++) {
		uint32_t next = (at + step) % jumps->lines;

		code_write_branch(word, branch, (line + at) * LINE,
				  next ? (line + next) * LINE : last - 1, jumps->arch >= 90);
		at = next;
	}
	return follow_jumps((const uint64_t(*)[2])word, n, jumps->arch, first + 1, last - 1,
			    jumps->lines + 1)
		       ? 0
		       : -1;
}

static void write_body(struct bench_text *t)
{
	bench_emit(t, ".reg .f32 f<10>; .reg .u64 c<3>; .reg .u32 i; .reg .pred p;\n"
		      "mov.u32 i, 0;\n");
	code_write_loads(t, "f", 10, 0);
	bench_emit(t, "again:\n.pragma \"nounroll\";\nmov.u64 c0, %%clock64;\n");
	for (uint32_t i = 0; i < COUNT; i++)
		bench_emit(t, "fma.rn.f32 f%u, f%u, f8, f9;\n", i % 8, i % 8);
	bench_emit(t, "mov.u64 c1, %%clock64; sub.u64 c2, c1, c0;\n"
		      "add.u32 i, i, 1; setp.lt.u32 p, i, 3;\n@p bra again;\n"
		      "st.volatile.global.u64 [%%b_data+64], c2;\n");
	code_write_stores(t, "f", 8, 0);
}

static double compute_cycles(const struct bench_run *run, const void *results, void *arg)
{
	const struct jumps *jumps = arg;
	double all = (double)((const uint64_t *)results)[8];

	return jumps->lines ? (all - jumps->empty) / jumps->lines : all;
}

static bool measure_lines(struct bench_run *run, const char *body, struct jumps *jumps)
{
	struct bench_kernel *kernel =
		bench_kernel(run, &(struct bench_code){.name = "jumps",
						       .body = body,
						       .threads = 32,
						       .expect = {{FFMA, COUNT, COUNT}},
						       .patch = patch_jumps,
						       .arg = jumps});

	return kernel && bench_repeat(run, kernel, &(struct bench_launch){.block = 32}, 72,
				      compute_cycles, jumps,
				      bench_add_point(run, jumps->lines ? "jumps" : "none", "bytes",
						      jumps->lines ? "cycles/jump" : "cycles",
						      16.0 * LINE * jumps->lines));
}

static void measure_samples(struct bench_run *run)
{
	struct jumps jumps = {.arch = bench_arch(bench_gpu(run))};
	struct bench_text text = {0};

	write_body(&text);
	if (measure_lines(run, text.data, &jumps)) {
		jumps.empty = bench_median(bench_find_series(bench_samples(run), "none")->point);
		for (uint64_t n = FEWEST; n <= LINES; n = chase_next_size(n)) {
			jumps.lines = (uint32_t)n;
			if (!measure_lines(run, text.data, &jumps))
				break;
		}
	}
	bench_text_free(&text);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *series = bench_find_series(samples, "jumps");
	struct bench_plateau p[8];
	uint32_t n = series ? bench_find_plateaus(series, 0.15, 2, p, 8) : 0, levels = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!(p[i].value > 0))
			continue;
		levels++;
		bench_figure(figures, bench_format("level %u", levels), "jumps", "cycles/jump",
			     p[i].value, NAN, NAN, bench_series_clock(series));
		if (i + 1 < n)
			bench_figure(figures, bench_format("level %u holds", levels), "jumps",
				     "KiB", p[i].to / 1024, p[i].to / 1024, p[i + 1].from / 1024,
				     bench_series_clock(series));
	}
	if (levels)
		bench_add_plot(figures, "icache-jumps", "Cycles a jump by code size", series, true,
			       false);
	if (levels == 1)
		bench_add_note(figures,
			       "A jump takes %.1f cycles up to %s: no smaller instruction cache is "
			       "visible.",
			       p[0].value, bench_format_bytes(p[0].to));
}

BENCH(bench_icache_jumps, "icache-jumps", "M11",
      "the schedulers' instruction caches: cycles a jump by code size", measure_samples,
      derive_figures);
