/* SPDX-License-Identifier: MIT */
/*
 * M22: latency of an atomic executed by 1 to 32 lanes of a warp at once, on one word or on adjacent
 * words. The result of each is added to the next one's address, so that each waits for the previous
 * one. Times 8 rounds and again 16 rounds of 32: the difference includes neither the brackets nor
 * the clock reads. Takes about 2 s.
 *
 * Words are 0 and the operand is 0, which the assembler does not know: the old value, added to the
 * address, leaves it unchanged. That addition is part of the step: 32 bits in shared memory, 64
 * bits in global memory. Results of floats are masked with 0 first.
 *
 * The study of 2019 timed an atomic without a result followed by a load of the same word, minus the
 * load alone. These pairs are measured too, for comparison with the study.
 */
#include <stdio.h>
#include <string.h>
#include "probe/bench/frame/bench.h"

enum { STEPS = 32, ROUNDS = 8, SPACES = 3 };

/*
 * The text of a step: %o is the old value's low word, %z is 0, %fo and %do are 1, %a is the
 * address. Sums of floats do grow: if they are a loop of CAS, a constant sum would always succeed.
 */
static const struct op {
	const char *name, *text;
	bool pair; /* paired with the load, for the study's difference */
	uint16_t sass[SPACES]; /* opcode by space: ATOMS, ATOMG or RED, ATOM and similar */
} op[] = {
	{"add.u32", "atom%s.add.u32 %%o, [%%a], %%z;\n", false, {0x18c, 0x1a8, 0x18a}},
	{"exch.b32", "atom%s.exch.b32 %%o, [%%a], %%z;\n", false, {0x18c, 0x1a8, 0x18a}},
	{"cas.b32", "atom%s.cas.b32 %%o, [%%a], %%z, %%z;\n", false, {0x18d, 0x1a9, 0x18b}},
	{"add.f32",
	 "atom%s.add.f32 %%f, [%%a], %%fo; mov.b32 %%o, %%f; and.b32 %%o, %%o, %%z;\n",
	 false,
	 {0x18d, 0x1a3, 0}},
	{"add.f64",
	 "atom%s.add.f64 %%d, [%%a], %%do; mov.b64 {%%o, %%h}, %%d; and.b32 %%o, %%o, %%z;\n",
	 false,
	 {0x18d, 0x1a3, 0}},
	{"red and load",
	 "red%s.add.u32 [%%a], %%z; ld.volatile%s.u32 %%o, [%%a];\n",
	 true,
	 {0x18c, 0x18e, 0x18a}},
	{"load", "ld.volatile%s.u32 %%o, [%%a];\n", true, {0x184, 0x181, 0x180}},
};

static const struct space {
	const char *name, *of, *load, *register_type, *widen;
	bool shared;
	unsigned arch;
} space[SPACES] = {
	{"shared", ".shared", ".shared", "u32", "", true, 0},
	{"global", ".global", ".global", "u64", "cvt.u64.u32 %w, %o;\n", false, 0},
	{"cluster", ".shared::cluster", ".shared::cluster", "u32", "", true, 90},
};

enum { OPS = sizeof op / sizeof *op };
static const unsigned lanes[] = {1, 2, 4, 8, 16, 32};

static const char *name_of(const struct space *s, const struct op *o, bool apart)
{
	return bench_format("%s %s%s", s->name, o->name, apart ? " apart" : "");
}

/* Generates %a for lanes' words that are arg1 bytes apart. */
static void write_address(struct bench_text *text, const struct space *s)
{
	if (!strcmp(s->name, "global")) {
		bench_emit(text,
			   "cvt.u64.u32 %%w, %%b_lane; mad.lo.u64 %%a, %%w, %%b_arg1, %%b_arg2;\n");
		return;
	}
	bench_emit(text, ".reg .u32 %%s;\ncvt.u32.u64 %%s, %%b_arg1;\nmov.u32 %%a, words;\n");
	if (s->arch) /* the next block's words */
		bench_emit(text, ".reg .u32 %%rank;\nmov.u32 %%rank, %%cluster_ctarank;\n"
				 "xor.b32 %%rank, %%rank, 1;\n"
				 "mapa.shared::cluster.u32 %%a, %%a, %%rank;\n");
	bench_emit(text, "mad.lo.u32 %%a, %%b_lane, %%s, %%a;\n");
}

/* Generates three passes: a warm-up, one of ROUNDS, one of twice as many. */
static void write_body(struct bench_text *text, const struct space *s, const struct op *o)
{
	bench_emit(text,
		   ".reg .u32 %%z, %%o, %%h, %%k, %%n, %%i, %%pass; .reg .f32 %%f, %%fo;\n"
		   ".reg .f64 %%d, %%do; .reg .u64 %%w, %%t0, %%t1, %%to; .reg .%s %%a;\n"
		   ".reg .pred %%p, %%out;\n"
		   "cvt.u32.u64 %%z, %%b_arg3; mov.f32 %%fo, 0f3f800000; mov.f64 %%do, "
		   "0d3ff0000000000000;\n"
		   "cvt.u32.u64 %%k, %%b_arg0;\n",
		   s->register_type);
	write_address(text, s);
	if (s->shared) /* 32 words of 8 bytes, cleared */
		bench_emit(text, ".reg .u32 %%own;\nmov.u32 %%own, words;\n"
				 "mad.lo.u32 %%own, %%b_lane, 8, %%own;\n"
				 "st.shared.u64 [%%own], %%b_arg3;\nbar.sync 0;\n");
	if (s->arch)
		bench_emit(text, "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
				 "setp.ne.u32 %%p, %%b_ctaid, 0;\n@%%p bra DONE;\n");
	bench_emit(text,
		   "setp.ge.u32 %%out, %%b_lane, %%k;\n@%%out bra DONE;\n"
		   "mov.u32 %%pass, 0; mov.u64 %%t1, 0; mov.u64 %%to, %%b_data;\n"
		   "PASS:\nsetp.eq.u32 %%p, %%pass, 2; selp.u32 %%n, %u, %u, %%p;\n"
		   "mov.u32 %%i, 0;\nmov.u64 %%t0, %%clock64;\nROUND:\n"
		   ".pragma \"nounroll\";\n",
		   2 * ROUNDS, ROUNDS);
	for (unsigned i = 0; i < STEPS; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		bench_emit(text, o->text, s->of, s->load); /* a text of the table above */
#pragma GCC diagnostic pop
		bench_emit(text, "%sadd.%s %%a, %%a, %s;\n", s->widen, s->register_type,
			   *s->widen ? "%w" : "%o");
	}
	/* The clock is read after the last result has arrived, which is never ~0. */
	bench_emit(
		text,
		"add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %%n;\n@%%p bra ROUND;\n"
		"setp.ne.u32 %%p, %%o, 0xffffffff;\n@%%p mov.u64 %%t1, %%clock64;\n"
		"sub.u64 %%t0, %%t1, %%t0; st.global.u64 [%%to], %%t0;\n"
		"add.u64 %%to, %%to, 8; add.u32 %%pass, %%pass, 1;\n"
		"setp.lt.u32 %%p, %%pass, 3;\n@%%p bra PASS;\nDONE:\nbar.warp.sync 0xffffffff;\n");
	if (s->arch) /* a block must not end while its memory is in use */
		bench_emit(text, "barrier.cluster.arrive.aligned;\n"
				 "barrier.cluster.wait.aligned;\n");
}

static struct bench_kernel *build_kernel(struct bench_run *run, const struct space *s,
					 const struct op *o)
{
	struct bench_text text = {0};
	uint16_t sass = o->sass[s - space];

	write_body(&text, s, o);
	if (sass == 0x1a3 && bench_arch(bench_gpu(run)) < 90)
		sass = 0x1a8; /* floats use ATOMG as integers do */
	return BENCH_KERNEL(run, &text, .name = name_of(s, o, false), .threads = 32,
			    .declared = s->shared ? ".shared .align 256 .b8 words[256];\n" : NULL,
			    .expect = {{sass, STEPS, STEPS}});
}

static double compute_step(const struct bench_run *run, const void *results, void *arg)
{
	const uint64_t *t = results;

	return ((double)t[2] - (double)t[1]) / (ROUNDS * STEPS);
}

static void measure_points(struct bench_run *run, struct bench_kernel *kernel,
			   const struct space *s, const struct op *o, bool apart, uint64_t memory)
{
	uint64_t step = strcmp(o->name, "add.f64") ? 4 : 8;

	for (unsigned i = 0; i < sizeof lanes / sizeof *lanes; i++) {
		struct bench_launch launch = {.grid = s->arch ? 2 : 1,
					      .block = 32,
					      .cluster = s->arch ? 2 : 0,
					      .arg = {lanes[i], apart ? step : 0, memory, 0}};

		if (!bench_repeat(run, kernel, &launch, 24, compute_step, NULL,
				  bench_add_point(run, name_of(s, o, apart), "threads", "cycles",
						  lanes[i])))
			return;
	}
}

static void measure_samples(struct bench_run *run)
{
	static const uint8_t zeros[4096];
	unsigned arch = bench_arch(bench_gpu(run));
	uint64_t memory = bench_memory_alloc(run, sizeof zeros);

	for (unsigned s = 0; s < SPACES; s++) {
		if (arch < space[s].arch)
			continue;
		for (unsigned o = 0; o < OPS; o++) {
			struct bench_kernel *kernel;

			/* For floats in another block's memory the assembler generates a search for
			 * the address space. */
			if (space[s].arch && strstr(op[o].name, ".f"))
				continue;
			/* On Ampere and Ada the loop of CAS calls a function. */
			if (!s && strstr(op[o].name, ".f") && arch >= 80 && arch < 90) {
				bench_add_missing(
					bench_samples(run),
					"shared %s: the assembler calls a function for it here",
					op[o].name);
				continue;
			}
			kernel = build_kernel(run, &space[s], &op[o]);
			/* Clear the sums of floats: they would change the address. */
			if (!kernel || !bench_memory_write(run, memory, zeros, sizeof zeros))
				continue;
			measure_points(run, kernel, &space[s], &op[o], false, memory);
			if (!op[o].pair)
				measure_points(run, kernel, &space[s], &op[o], true, memory);
		}
	}
}

/* Table 7 of the study, in cycles. */
static const struct {
	const char *gpu;
	uint16_t shared[6], global[6];
} published[] = {
	{"T4", {8, 10, 14, 22, 37, 69}, {76, 72, 73, 81, 97, 116}},
	{"V100", {6, 7, 11, 18, 24, 66}, {36, 31, 32, 41, 58, 76}},
	{"P100", {15, 17, 19, 30, 46, 78}, {26, 31, 48, 48, 50, 50}},
	{"P4", {16, 18, 25, 30, 46, 78}, {30, 50, 50, 51, 51, 51}},
	{"M60", {17, 19, 25, 31, 47, 79}, {24, 26, 41, 41, 46, 46}},
	{"K80", {93, 214, 460, 952, 1936, 4257}, {29, 69, 96, 152, 264, 488}},
};

static const char *name_threads(double n)
{
	return bench_format("%g thread%s", n, n > 1 ? "s" : "");
}

static void add_published(struct bench_figures *figures, const char *name, bool shared)
{
	for (unsigned g = 0; g < sizeof published / sizeof *published; g++)
		for (unsigned i = 0; i < 6; i++)
			bench_add_published(figures, name, name_threads(lanes[i]), published[g].gpu,
					    shared ? published[g].shared[i]
						   : published[g].global[i]);
}

/* Derives red and load minus load; minimum and maximum from the ends of both. */
static void derive_pair(const struct bench_samples *samples, struct bench_figures *figures,
			const struct space *s)
{
	const struct bench_series *pair = bench_find_series(samples,
							    name_of(s, &op[OPS - 2], false));
	const struct bench_series *load = bench_find_series(samples,
							    name_of(s, &op[OPS - 1], false));
	bool any = false;
	char name[64];

	if (!load)
		return;
	snprintf(name, sizeof name, "%s atomic, pair", s->name);
	BENCH_EACH(a, pair)
		BENCH_EACH(b, load) {
			if (a->x != b->x)
				continue;
			bench_figure(figures, name, name_threads(a->x), pair->unit,
				     bench_median(a) - bench_median(b), bench_min(a) - bench_max(b),
				     bench_max(a) - bench_min(b), a->sm_mhz);
			/* The study has no clusters, and the difference is of two similar values.
			 *  */
			bench_mark_detail(figures, s->arch || (a->x > 1 && a->x < 32));
			any = true;
		}
	if (any && s->arch == 0)
		add_published(figures, name, s->shared);
}

static void derive_one(const struct bench_samples *samples, struct bench_figures *figures,
		       const struct space *s, const struct op *o, bool apart)
{
	const struct bench_series *series = bench_find_series(samples, name_of(s, o, apart));
	const struct bench_point *first = NULL, *last = NULL;

	if (!series)
		return;
	BENCH_EACH(p, series) {
		bench_add_point_figure(figures, series->name, name_threads(p->x), series, p);
		bench_mark_detail(figures, apart || o->pair || (p->x > 1 && p->x < 32));
		first = p->x == 1 ? p : first;
		last = p->x == 32 ? p : last;
	}
	if (!apart)
		bench_add_plot(
			figures, s->name,
			bench_format("Atomics in %s memory, by threads on one word", s->name),
			series, true, true);
	if (first && last && !apart && !o->pair)
		bench_add_note(
			figures,
			"%s: %.1f cycles with one thread, %.1f with 32 on one word: %.1f for each "
			"additional thread.",
			series->name, bench_median(first), bench_median(last),
			(bench_median(last) - bench_median(first)) / 31);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned s = 0; s < SPACES; s++) {
		for (unsigned o = 0; o < OPS; o++) {
			derive_one(samples, figures, &space[s], &op[o], false);
			if (!op[o].pair)
				derive_one(samples, figures, &space[s], &op[o], true);
		}
		derive_pair(samples, figures, &space[s]);
	}
}

BENCH(bench_atomics_latency, "atomics-latency", "M22",
      "atomics by 1 to 32 threads of a warp on one word, in cycles", measure_samples,
      derive_figures);
