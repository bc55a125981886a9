/* SPDX-License-Identifier: MIT */
/*
 * M9, geometry of L2: what a miss fetches, the size of a line, ways and sets.
 *
 * Sector: twice L2's size is read to evict 32 lines, then word 0 of each is loaded and another one
 * timed; the words that a miss fetched are fast. Line: addresses 32 to 512 bytes apart are read by
 * all SMs, and 4,096 of them chased. How many are kept halves with each doubling of the distance
 * until each address has a line of its own. Ways: the addresses that evict a line, found one by
 * one. Of a pool in mixed order the shortest beginning that evicts the line ends with an address of
 * its set; with that one kept, a shorter beginning is enough. When those found evict the line
 * without the pool, there are as many as ways. This needs no knowledge of how addresses select
 * sets, but a replacement near LRU; other samples than one number mean another policy. About 1,500
 * launches of up to 2 ms: 5 s.
 */
#include "probe/bench/frame/pointer_chase.h"

#include "probe/bench/frame/timed_code.h"

#include <math.h>

enum { LINE = 128, LINES = 32, THREADS = 1024, STEPS = 4096, MOST_WAYS = 64, TARGETS = 5 };
#define APART 4224 /* of the lines of the sector test: a page and a line */

struct l2_lines {
	struct bench_run *run;
	struct bench_kernel *builder, *touch, *chase, *evict;
	/* bytes: of the pool, a power of two, at least twice L2's size; all: for addresses far
	 * apart */
	uint64_t base, bytes, all;
	uint64_t found; /* device memory: addresses */
	double limit; /* cycles; slower loads missed */
};

/* All threads read arg1 addresses from arg0 on, arg2 bytes apart, once each. */
static struct bench_kernel *touch_kernel(struct bench_run *run)
{
	static const char body[] =
		"{\n.reg .u64 i, step, at;\n.reg .u32 v, sum, n;\n.reg .pred p;\n"
		"mul.wide.u32 i, %b_ctaid, %b_ntid; cvt.u64.u32 step, %b_tid;\n"
		"add.u64 i, i, step; mul.wide.u32 step, %b_nctaid, %b_ntid;\n"
		"mov.u32 sum, 0;\n"
		"next:\nsetp.ge.u64 p, i, %b_arg1;\n@p bra done;\n"
		"mad.lo.u64 at, i, %b_arg2, %b_arg0;\n"
		"ld.global.cg.u32 v, [at]; add.u32 sum, sum, v;\n"
		"add.u64 i, i, step;\nbra next;\n"
		"done:\nsetp.eq.u32 p, sum, 0x7fedcba9;\n@p st.global.u32 [%b_data], sum;\n}\n";

	return bench_kernel(run, &(struct bench_code){.name = "l2-touch",
						      .body = body,
						      .threads = THREADS,
						      .expect = {{OP_LDG, 1, 64}}});
}

/* Loads word 0 of arg1 lines from arg0 on, arg2 apart, and then, timed, the word at arg3. */
static struct bench_kernel *word_kernel(struct bench_run *run)
{
	static const char body[] =
		"{\n.reg .u64 at, line, all, from, to, left;\n.reg .u32 v;\n.reg .pred p;\n"
		"mov.u64 line, %b_arg0; mov.u64 all, 0; mov.u64 left, %b_arg1;\n"
		"next:\n.pragma \"nounroll\";\n"
		"ld.global.cg.u32 v, [line];\nsetp.eq.u32 p, v, 1;\n@p bra lost;\n"
		"add.u64 at, line, %b_arg3;\nmov.u64 from, %clock64;\n"
		"ld.global.cg.u32 v, [at];\nsetp.eq.u32 p, v, 1;\n@p bra lost;\n"
		"mov.u64 to, %clock64;\nsub.u64 to, to, from; add.u64 all, all, to;\n"
		"add.u64 line, line, %b_arg2; sub.u64 left, left, 1;\n"
		"setp.ne.u64 p, left, 0;\n@p bra next;\n"
		"st.global.u64 [%b_data], all;\nlost:\nmov.u64 at, 0;\n}\n";

	return bench_kernel(run, &(struct bench_code){.name = "l2-word",
						      .body = body,
						      .threads = 1,
						      .expect = {{OP_LDG, 1, 1}}});
}

/*
 * Loads the line at arg0; then, with all threads of a block, arg2 lines of the pool at arg1 in
 * mixed order, of which arg3 is the mask of line numbers, and the arg5 lines whose addresses are at
 * arg4, both twice; then times another load of the line. The line itself is left out of the pool.
 */
static struct bench_kernel *evict_kernel(struct bench_run *run)
{
	static const char body[] =
		"{\n.reg .u64 at, to, from, i, step, turn;\n.reg .u32 v, sum;\n.reg .pred p, one;\n"
		"mov.u32 sum, 0; mov.u64 turn, 0;\ncvt.u64.u32 step, %b_ntid;\n"
		"setp.eq.u32 one, %b_tid, 0;\n"
		"@one ld.global.cg.u32 v, [%b_arg0];\n@one add.u32 sum, sum, v;\nbar.sync 0;\n"
		"round:\n.pragma \"nounroll\";\ncvt.u64.u32 i, %b_tid;\n"
		"pool:\n.pragma \"nounroll\";\nsetp.ge.u64 p, i, %b_arg2;\n@p bra kept;\n"
		/* an odd factor modulo a power of two */
		"mul.lo.u64 at, i, 0x9e3779b1; add.u64 at, at, 0x51ed27; and.b64 at, at, %b_arg3;\n"
		"shl.b64 at, at, 7; add.u64 at, at, %b_arg1;\nsetp.ne.u64 p, at, %b_arg0;\n"
		"@p ld.global.cg.u32 v, [at];\n@p add.u32 sum, sum, v;\n"
		"add.u64 i, i, step;\nbra pool;\n"
		"kept:\ncvt.u64.u32 i, %b_tid;\nsetp.ge.u64 p, i, %b_arg5;\n@p bra over;\n"
		"shl.b64 at, i, 3; add.u64 at, at, %b_arg4;\nld.global.u64 at, [at];\n"
		"ld.global.cg.u32 v, [at];\nadd.u32 sum, sum, v;\n"
		"over:\nbar.sync 0;\nadd.u64 turn, turn, 1;\nsetp.lt.u64 p, turn, 2;\n@p bra "
		"round;\n"
		"setp.eq.u32 p, sum, 0x7fedcba9;\n@p st.global.u32 [%b_data+16], sum;\n"
		"bar.sync 0;\n@!one bra lost;\n"
		"mov.u64 from, %clock64;\nld.global.cg.u32 v, [%b_arg0];\n"
		"setp.eq.u32 p, v, 0x7fedcba9;\n@p bra lost;\n"
		"mov.u64 to, %clock64;\nsub.u64 to, to, from;\nst.global.u64 [%b_data], to;\n"
		"lost:\nmov.u64 at, 0;\n}\n";

	return bench_kernel(run, &(struct bench_code){.name = "l2-evict",
						      .body = body,
						      .threads = THREADS,
						      .expect = {{OP_LDG, 1, 1}}});
}

static bool touch_all(struct l2_lines *l, uint64_t from, uint64_t addresses, uint64_t apart)
{
	struct bench_launch launch = {.grid = (uint32_t)bench_gpu(l->run)->sms * 2,
				      .block = THREADS,
				      .arg = {from, addresses, apart}};

	return bench_launch(l->run, l->touch, &launch, 8);
}

static void measure_sector(struct l2_lines *l)
{
	static const unsigned words[] = {0, 4, 28, 32, 60, 64, 96, 124, 128};
	struct bench_kernel *kernel = word_kernel(l->run);
	/* The lines are behind what evicts them. */
	uint64_t lines = l->base + l->all;

	for (unsigned k = 0; kernel && k < sizeof(words) / sizeof(*words); k++) {
		struct bench_point *point = bench_add_point(l->run, "sector", "bytes behind",
							    "cycles", words[k]);

		for (unsigned i = 0; i <= BENCH_REPEATS; i++) {
			struct bench_launch launch = {
				.grid = 1, .block = 1, .arg = {lines, LINES, APART, words[k]}};
			const uint64_t *results = touch_all(l, l->base, l->bytes / 32, 32)
							  ? bench_launch(l->run, kernel, &launch, 8)
							  : NULL;

			if (!results)
				return;
			if (i && results[0])
				bench_add_sample(l->run, point, (double)results[0] / LINES);
		}
	}
}

/* Reads ADDRESSES addresses APART bytes apart by all SMs, and chases some of them. */
static bool measure_kept(struct l2_lines *l, const char *name, uint64_t addresses, uint64_t apart)
{
	uint64_t every = addresses / STEPS;
	struct chase_chain chain = {
		.base = l->base, .elements = STEPS, .stride = every * apart, .random = true};
	struct bench_launch launch = {.grid = 1, .block = 1, .arg = {l->base, 0, STEPS}};
	struct bench_point *point = bench_add_point(l->run, name, "addresses", "cycles",
						    (double)addresses);

	if (!every || !chase_write_chain(l->run, l->builder, &chain))
		return false;
	for (unsigned k = 0; k <= 3; k++) {
		const uint64_t *results = touch_all(l, l->base, addresses, apart)
						  ? bench_launch(l->run, l->chase, &launch, 16)
						  : NULL;

		if (!results)
			return false;
		if (k && results[0])
			bench_add_sample(l->run, point, (double)results[0] / STEPS);
	}
	return true;
}

static void measure_line(struct l2_lines *l)
{
	for (uint64_t apart = 32; apart <= 512; apart *= 2) {
		for (uint64_t n = 1 << 15; n <= l->all / apart; n = chase_next_size(n))
			if (!measure_kept(l,
					  bench_format("%llu B apart", (unsigned long long)apart),
					  n, apart))
				return;
	}
}

/* Returns the cycles of the load of TARGET after N lines of the pool and FOUND lines; 0 if it
 * failed. */
static double time_after(struct l2_lines *l, uint64_t target, uint64_t n, uint32_t found)
{
	struct bench_launch launch = {
		.grid = 1,
		.block = THREADS,
		.arg = {target, l->base, n, l->bytes / LINE - 1, l->found, found}};
	const uint64_t *results = bench_launch(l->run, l->evict, &launch, 24);

	return results ? (double)results[0] : 0;
}

/* Majority of three, because the latency of a single load varies. */
static bool is_evicted(struct l2_lines *l, uint64_t target, uint64_t n, uint32_t found)
{
	unsigned votes = 0;

	for (unsigned k = 0; k < 3; k++)
		votes += time_after(l, target, n, found) > l->limit;
	return votes > 1;
}

/* Address number I of the pool, as in the kernel. */
static uint64_t pool_address(const struct l2_lines *l, uint64_t i)
{
	return l->base + ((i * 0x9e3779b1u + 0x51ed27) & (l->bytes / LINE - 1)) * LINE;
}

/* Finds the lines that evict TARGET. Returns their number, 0 if none can be found. */
static uint32_t find_ways(struct l2_lines *l, uint64_t target)
{
	uint64_t found[MOST_WAYS], most = l->bytes / LINE;
	uint32_t ways = 0;

	if (!is_evicted(l, target, most, 0))
		return 0;
	while (!ways || !is_evicted(l, target, 0, ways)) {
		uint64_t few = 0;

		if (ways == MOST_WAYS || !most)
			return 0;
		while (most - few > 1) {
			uint64_t middle = few + (most - few) / 2;

			*(is_evicted(l, target, middle, ways) ? &most : &few) = middle;
		}
		found[ways++] = pool_address(l, most - 1);
		if (!bench_memory_write(l->run, l->found, found, ways * sizeof(*found)))
			return 0;
		most--;
	}
	return ways;
}

static void measure_ways(struct l2_lines *l)
{
	uint64_t target = l->base + l->all;
	double hit, miss;
	bool any = false;

	if (bench_is_dry(l->run))
		return;
	hit = time_after(l, target, 0, 0);
	miss = time_after(l, target, l->bytes / LINE, 0);
	if (!(miss > hit + 100)) {
		bench_add_missing(bench_samples(l->run),
				  "ways: a line is not evicted by %s of other lines",
				  bench_format_bytes((double)l->bytes));
		return;
	}
	l->limit = (hit + miss) / 2;
	for (unsigned k = 0; k < TARGETS; k++) {
		uint32_t ways = find_ways(l, target + k * APART);

		any |= ways;
		if (ways)
			bench_add_sample(l->run,
					 bench_add_point(l->run, "ways", "target", "lines", k),
					 ways);
	}
	if (!any)
		bench_add_missing(
			bench_samples(l->run),
			"ways: %d lines that evict another were not found, or are not enough",
			MOST_WAYS);
}

static void measure_samples(struct bench_run *run)
{
	struct l2_lines l = {.run = run,
			     .builder = chase_build_builder(run),
			     .touch = touch_kernel(run),
			     .chase = chase_build_kernel(run, "cg"),
			     .evict = evict_kernel(run),
			     .bytes = 1 << 24};

	while (l.bytes < 2 * bench_gpu(run)->l2_bytes)
		l.bytes *= 2;
	l.all = 8 * l.bytes;
	l.base = bench_memory_alloc(run, l.all + LINES * APART);
	l.found = bench_memory_alloc(run, MOST_WAYS * 8);
	if (!l.base || !l.found)
		bench_add_missing(bench_samples(run), "not enough memory for 16 times L2");
	if (!l.base || !l.found || !l.builder || !l.touch || !l.chase || !l.evict)
		return;
	measure_sector(&l);
	measure_line(&l);
	measure_ways(&l);
}

/* ---- derivation ---- */

enum { SLOWER_BY = 100 };

/* The first word that is slow again after one that was fast. */
static void derive_sector(const struct bench_series *series, struct bench_figures *figures)
{
	double least = INFINITY;

	BENCH_EACH(p, series)
		least = fmin(least, bench_median(p));
	BENCH_EACH(p, series)
		if (p->x > 0 && bench_median(p) > least + SLOWER_BY) {
			bench_figure(figures, "L2 fetched by a miss", "", "B", p->x, NAN, NAN,
				     p->sm_mhz);
			return;
		}
}

/* The number of addresses at which half of the loads miss, between two points; NAN if a curve does
 * not rise from LOW to HIGH cycles. */
static double half_kept(const struct bench_series *series, double low, double high)
{
	double half = (low + high) / 2, x = NAN, y = NAN;

	BENCH_EACH(p, series) {
		double v = bench_median(p);

		if (v >= half)
			return y < half ? x + (p->x - x) * (half - y) / (v - y) : NAN;
		x = p->x;
		y = v;
	}
	return NAN;
}

/* From the distance on at which twice the distance keeps as many addresses, each has a line. */
static double derive_line(const struct bench_samples *samples, struct bench_figures *figures)
{
	double low = INFINITY, high = 0, kept[5], line = NAN;

	for (unsigned k = 0; k < 5; k++) {
		const char *name = bench_format("%u B apart", 32u << k);

		BENCH_EACH(p, bench_find_series(samples, name)) {
			low = fmin(low, bench_median(p));
			high = fmax(high, bench_median(p));
		}
	}
	if (!(high > 1.5 * low))
		return NAN;
	for (unsigned k = 0; k < 5; k++) {
		const char *name = bench_format("%u B apart", 32u << k);
		const struct bench_series *series = bench_find_series(samples, name);

		kept[k] = half_kept(series, low, high);
		if (isnan(kept[k]))
			continue;
		bench_figure(figures, "L2 addresses kept", name, "addresses", kept[k], NAN, NAN,
			     bench_series_clock(series));
		bench_mark_detail(figures, true);
		if (k && isnan(line) && kept[k - 1] < 1.5 * kept[k])
			line = 32u << (k - 1);
	}
	if (!isnan(line))
		bench_figure(figures, "L2 line", "", "B", line, NAN, NAN, NAN);
	return line;
}

static void derive_ways(const struct bench_series *series, const struct bench_gpu *gpu, double line,
			struct bench_figures *figures)
{
	double value[TARGETS], ways;
	uint32_t n = 0;

	BENCH_EACH(p, series)
		if (n < TARGETS)
			value[n++] = bench_median(p);
	if (!n)
		return;
	ways = code_median(value, n);
	bench_figure(figures, "L2 ways", "", "lines", ways, value[0], value[n - 1],
		     bench_series_clock(series));
	if (value[0] != value[n - 1])
		bench_add_note(figures,
			       "%.0f to %.0f lines evict a line: L2 does not replace the least "
			       "recently used one, or not always; ways are at most these.",
			       value[0], value[n - 1]);
	else if (line > 0 && gpu->l2_bytes)
		bench_figure(figures, "L2 sets", "all partitions", "sets",
			     (double)gpu->l2_bytes / line / ways, NAN, NAN,
			     bench_series_clock(series));
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	double line;

	bench_add_published(figures, "L2 line", "", "T4", 64);
	bench_add_published(figures, "L2 ways", "", "T4", 16);
	derive_sector(bench_find_series(samples, "sector"), figures);
	line = derive_line(samples, figures);
	derive_ways(bench_find_series(samples, "ways"), gpu, line, figures);
}

BENCH(bench_l2_lines, "l2-lines", "M9", "lines, ways and sets of L2, and what a miss fetches",
      measure_samples, derive_figures);
