/* SPDX-License-Identifier: MIT */
/*
 * M12: finds which instruction caches are shared. A victim of 8 or 64 KiB of straight-line code and
 * an aggressor of growing length run in turn, on one scheduler, on two schedulers of an SM, or on
 * two SMs, as the GPU places them. If the victim is slowed, the cache that holds its code is
 * shared. A word in memory holds the turn; a warp that has polled too often gives up, and the
 * sample is dropped. The victim has no indirect branch between its clock reads, because its table
 * is a constant, which the aggressor may evict too. Takes about 4 s.
 */
#include "probe/bench/frame/pointer_chase.h"
#include "probe/bench/frame/timed_code.h"
#include <math.h>
#include <string.h>

enum {
	MAX_BYTES = 512 << 10, /* maximum bytes of the aggressor */
	MIN_BYTES = 4 << 10,
	STEP = 64, /* instructions between entries */
	ROUNDS = 3, /* of each; the last is timed */
	POLLS = 1 << 18, /* about 0.1 s */
	THREADS = 256,
	FFMA = 0x023,
	TURN = 128, /* offset in the results area */
	LOST = 132,
	SMS = 136,
	CYCLES = 144,
};

static const unsigned victims[] = {8, 64}; /* KiB */
static const struct warp_placement {
	const char *name;
	uint32_t blocks, block, warp; /* blocks of the grid; block and warp of the aggressor */
} places[] = {{"same scheduler", 1, 0, 4}, {"other scheduler", 1, 0, 1}, {"other SM", 2, 1, 0}};
enum { VICTIMS = 2, PLACES = 3, SAME = 0, OTHER = 1, OTHER_SM = 2 };

/* Generates a wait for turn 2 i + SECOND. LABEL is the prefix of its labels. */
static void write_wait_turn(struct bench_text *t, const char *label, unsigned second)
{
	bench_emit(t,
		   "mov.u32 i, 0;\n%s_again:\nshl.b32 turn, i, 1; add.u32 turn, turn, %u;\n"
		   "mov.u32 polls, 0;\n%s_poll:\n.pragma \"nounroll\";\n"
		   "ld.volatile.global.u32 seen, [%%b_data+%d];\nsetp.ge.u32 p, seen, turn;\n"
		   "@p bra %s_go;\nadd.u32 polls, polls, 1; setp.lt.u32 p, polls, %d;\n"
		   "@p bra %s_poll;\nst.volatile.global.u32 [%%b_data+%d], polls;\nbra over;\n"
		   "%s_go:\n",
		   label, second, label, TURN, label, POLLS, label, LOST, label);
}

static void write_pass_on(struct bench_text *t, const char *label, unsigned second)
{
	bench_emit(t,
		   "add.u32 turn, turn, 1; st.volatile.global.u32 [%%b_data+%d], turn;\n"
		   "add.u32 i, i, 1; setp.lt.u32 p, i, %d;\n@p bra %s_again;\n"
		   "mov.u32 turn, %%b_smid; st.volatile.global.u32 [%%b_data+%u], turn;\n",
		   TURN, ROUNDS, label, SMS + 4 * second);
}

/* arg0, arg1: the aggressor's block and warp; arg2: its entry point. */
static void write_body(struct bench_text *t, unsigned kib)
{
	bench_emit(t, ".reg .f32 v<10>, g<10>; .reg .u64 c<3>; .reg .pred p, q;\n"
		      ".reg .u32 i, e, turn, seen, polls, block, warp;\n"
		      "cvt.u32.u64 block, %%b_arg0; cvt.u32.u64 warp, %%b_arg1;\n"
		      "cvt.u32.u64 e, %%b_arg2;\n");
	code_write_loads(t, "v", 10, 0);
	code_write_loads(t, "g", 10, 40);
	bench_emit(t, "or.b32 seen, %%b_ctaid, %%b_warp; setp.eq.u32 p, seen, 0;\n@p bra victim;\n"
		      "setp.eq.u32 p, %%b_ctaid, block; setp.eq.and.u32 q, %%b_warp, warp, p;\n"
		      "@!q bra over;\n");
	write_wait_turn(t, "aggressor", 1);
	code_write_straight(t, "g", "A", "e", MAX_BYTES / 16, STEP);
	write_pass_on(t, "aggressor", 1);
	code_write_stores(t, "g", 8, 40);
	bench_emit(t, "bra over;\nvictim:\n");
	write_wait_turn(t, "victim", 0);
	bench_emit(t, "mov.u64 c0, %%clock64;\n");
	for (unsigned k = 0; k < kib * 64; k++)
		bench_emit(t, "fma.rn.f32 v%u, v%u, v8, v9;\n", k % 8, k % 8);
	bench_emit(t, "mov.u64 c1, %%clock64; sub.u64 c2, c1, c0;\n");
	write_pass_on(t, "victim", 0);
	bench_emit(t, "st.volatile.global.u64 [%%b_data+%d], c2;\n", CYCLES);
	code_write_stores(t, "v", 8, 0);
	bench_emit(t, "over:\n");
}

/* Changes nothing: only checks that all of the victim's code is between its two clock reads. */
static int check_bracket(uint64_t (*word)[2], uint32_t n, void *arg)
{
	uint32_t first = 0, last;

	return code_find_bracket((const uint64_t(*)[2])word, n, FFMA, FFMA,
				 *(const unsigned *)arg * 64, &first, &last)
		       ? 0
		       : -1;
}

struct sample {
	unsigned kib;
	const struct warp_placement *place;
};

static double compute_cycles(const struct bench_run *run, const void *results, void *arg)
{
	const uint32_t *word = results;
	const struct sample *s = arg;
	uint64_t all = ((const uint64_t *)results)[CYCLES / 8];
	bool apart = word[SMS / 4] != word[SMS / 4 + 1];

	if (word[LOST / 4] || !all || apart != (s->place->blocks > 1))
		return NAN;
	return (double)all / (s->kib * 64);
}

static const char *name_of(unsigned kib, const struct warp_placement *place)
{
	return bench_format("victim of %u KiB, %s", kib, place->name);
}

/* Returns false if a launch failed. */
static bool measure_lengths(struct bench_run *run, struct bench_kernel *kernel, struct sample *s)
{
	const char *name = name_of(s->kib, s->place);
	bool some = false;

	for (uint64_t bytes = 0; bytes <= MAX_BYTES;
	     bytes = bytes ? chase_next_size(bytes) : MIN_BYTES) {
		struct bench_launch launch = {
			.grid = s->place->blocks,
			.block = THREADS,
			.arg = {s->place->block, s->place->warp, (MAX_BYTES - bytes) / 16 / STEP}};
		struct bench_point *point = bench_add_point(run, name, "bytes",
							    "cycles/instruction", (double)bytes);

		if (!bench_repeat(run, kernel, &launch, CYCLES + 8, compute_cycles, s, point))
			return false;
		some |= point->n != 0;
	}
	if (!some && !bench_is_dry(run))
		bench_add_missing(bench_samples(run), "%s: the two did not run in turn", name);
	return true;
}

static void measure_samples(struct bench_run *run)
{
	for (unsigned k = 0; k < VICTIMS; k++) {
		struct bench_text text = {0};
		uint32_t all = MAX_BYTES / 16 + victims[k] * 64;
		struct bench_kernel *kernel;
		unsigned kib = victims[k];
		bool good;

		write_body(&text, kib);
		kernel = BENCH_KERNEL(run, &text, .name = k ? "victim-64" : "victim-8",
				      .threads = THREADS, .expect = {{FFMA, kib * 64, all}},
				      .patch = check_bracket, .arg = &kib);
		good = kernel != NULL;
		for (unsigned i = 0; good && i < PLACES; i++)
			good = measure_lengths(run, kernel, &(struct sample){kib, places + i});
	}
}

/* Returns the aggressor length from which on the victim stays slower than alone: INFINITY if never,
 * NAN if unknown. */
static double slowed_from(const struct bench_series *series, const struct bench_point *alone)
{
	double from = INFINITY;
	bool some = false;

	for (uint32_t i = series->n; i-- > 0;) {
		const struct bench_point *p = series->point + i;

		if (!(p->x > 0) || !p->n || !(bench_median(p) > 0))
			continue;
		some = true;
		if (bench_median(p) <= 1.15 * bench_median(alone))
			break;
		from = p->x;
	}
	return some ? from : NAN;
}

static double derive_case(const struct bench_samples *samples, struct bench_figures *figures,
			  unsigned kib, const struct warp_placement *place)
{
	static const char *const whose[] = {[SAME] = "own scheduler's",
					    [OTHER] = "other scheduler's",
					    [OTHER_SM] = "other SM's"};
	const struct bench_series *series = bench_find_series(samples, name_of(kib, place));
	const struct bench_point *alone = code_find_point(series, 0, NAN);
	const char *shown_name;
	double from;

	if (!alone)
		return NAN;
	shown_name = series->name + strlen("victim of ");
	bench_add_point_figure(figures, shown_name, "alone", series, alone);
	bench_mark_detail(figures, true);
	for (double bytes = MIN_BYTES; bytes <= MAX_BYTES; bytes *= 2) {
		const struct bench_point *p = code_find_point(series, bytes, NAN);

		if (!p)
			continue;
		bench_add_point_figure(figures, shown_name,
				       bench_format("beside %s", bench_format_bytes(bytes)), series,
				       p);
		bench_mark_detail(figures, true);
	}
	bench_add_plot(figures, "icache-owner", "A victim's code beside an aggressor's", series,
		       false, false);
	from = slowed_from(series, alone);
	if (isfinite(from))
		bench_figure(figures, bench_format("%u KiB of code slowed by", kib),
			     whose[place - places], "KiB", from / 1024, from / 1024, from / 1024,
			     bench_series_clock(series));
	return from;
}

static void add_notes(struct bench_figures *figures, unsigned kib, const double from[PLACES])
{
	if (isfinite(from[SAME]) && from[OTHER] > from[SAME])
		bench_add_note(
			figures,
			"%u KiB of code: a warp of the same scheduler slows it with less code than "
			"one of another: each scheduler has its own cache.",
			kib);
	else if (isfinite(from[SAME]) && from[OTHER] <= from[SAME])
		bench_add_note(figures,
			       "%u KiB of code: a warp of another scheduler slows it as early "
			       "as one of the same: they share the cache that holds it.",
			       kib);
	if (isfinite(from[OTHER_SM]))
		bench_add_note(figures,
			       "%u KiB of code: %.0f KiB on another SM slow it: these SMs share a "
			       "cache.",
			       kib, from[OTHER_SM] / 1024);
	else if (isinf(from[OTHER_SM]))
		bench_add_note(figures,
			       "%u KiB of code: none on another SM slows it, up to %d KiB.", kib,
			       MAX_BYTES / 1024);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned k = 0; k < VICTIMS; k++) {
		double from[PLACES];

		for (unsigned i = 0; i < PLACES; i++)
			from[i] = derive_case(samples, figures, victims[k], places + i);
		add_notes(figures, victims[k], from);
	}
}

BENCH(bench_icache_owner, "icache-owner", "M12",
      "instruction caches: a scheduler's, an SM's, or shared by SMs", measure_samples,
      derive_figures);
