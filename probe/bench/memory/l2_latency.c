/* SPDX-License-Identifier: MIT */
/*
 * M9, latency of L2 and DRAM, and which SMs are near. One thread chases a random chain through 64
 * KiB to 64 GiB with ld.global.cg. Chains that fit in L2 are run once before: if L2 has two
 * partitions, lines that were only written are in one of them, and the first read from the other
 * side is slow. The second part uses that: 32 lines are written and each SM in turn reads each of
 * them once. An SM sees a line as near or far, and SMs that agree belong to the same partition. On
 * an H200 the writing side sees all lines as near, the other one half of them. Expected: 41 points
 * of 12 launches, and 24 launches per SM: 3 s. Published values: the study's; for Hopper
 * github.com/markdewing/AI_kernels, latency/README.md (H100 SXM, GH200), and
 * github.com/caps-tum/mt4g, sample_results (H100 SXM).
 */
#include "probe/bench/frame/pointer_chase.h"
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum { LINE = 128, STEPS = 4096, WARM = 1024, LINES = 32, APART = 4096 + LINE };

/* bench_repeat() for chase_build_kernel(), with each launch continuing where the previous one
 * ended, so that no thread hits lines that it has just cached. */
static bool chase_repeat_onward(struct bench_run *run, struct bench_kernel *kernel,
				struct bench_launch launch, struct bench_point *point)
{
	for (unsigned k = 0; k <= BENCH_REPEATS; k++) {
		const uint64_t *results = bench_launch(run, kernel, &launch, 16);

		if (!results)
			return false;
		launch.arg[0] = results[1] ? results[1] : launch.arg[0];
		if (k && results[0])
			bench_add_sample(run, point, (double)results[0] / STEPS);
	}
	return true;
}

static void measure_curve(struct bench_run *run, struct bench_kernel *builder)
{
	struct bench_kernel *kernel = chase_build_kernel(run, "cg");
	uint64_t most = 64ull << 30, base = 0;

	while (most > 256ull << 20 && !(base = bench_memory_alloc(run, most)))
		most /= 2;
	if (!base)
		bench_add_missing(bench_samples(run), "not enough memory for the chain");
	for (uint64_t bytes = 64 << 10; kernel && base && bytes <= most;
	     bytes = chase_next_size(bytes)) {
		struct chase_chain chain = {
			.base = base, .elements = bytes / LINE, .stride = LINE, .random = true};
		bool fits = bytes <= 2 * bench_gpu(run)->l2_bytes;
		uint64_t warm = chain.elements > 16384 ? WARM
						       : chase_round_steps(2 * chain.elements);
		struct bench_launch launch = {.grid = 1, .block = 1, .arg = {base, warm, STEPS}};
		struct bench_launch once = {
			.grid = 1,
			.block = 1,
			.arg = {base, chase_round_steps(chain.elements), STEPS}};

		if (!chase_write_chain(run, builder, &chain) ||
		    (fits && !bench_launch(run, kernel, &once, 16)) ||
		    !chase_repeat_onward(
			    run, kernel, launch,
			    bench_add_point(run, "random", "bytes", "cycles", (double)bytes)))
			break;
	}
	if (base)
		bench_memory_free(run, base);
}

/* Only block arg3 reads each of arg1 lines, arg2 apart, once and stores the cycles of each. */
static struct bench_kernel *map_kernel(struct bench_run *run)
{
	static const char body[] =
		"{\n"
		".reg .u64 at, line, out, left, from, to;\n"
		".reg .u32 n;\n"
		".reg .pred p;\n"
		"cvt.u32.u64 n, %b_arg3;\n"
		"setp.ne.u32 p, n, %b_ctaid;\n"
		"@p bra lost;\n"
		"cvt.u64.u32 at, %b_smid;\n"
		"st.global.u64 [%b_data], at;\n"
		"mov.u64 line, %b_arg0;\n"
		"mov.u64 out, %b_data;\n"
		"mov.u64 left, %b_arg1;\n"
		"next:\n"
		".pragma \"nounroll\";\n"
		"add.u64 out, out, 8;\n"
		"mov.u64 from, %clock64;\n"
		"ld.global.cg.u64 at, [line];\n"
		"setp.eq.u64 p, at, 0;\n"
		"@p bra lost;\n" /* waits for the load; chain entries are not 0 */
		"mov.u64 to, %clock64;\n"
		"sub.u64 to, to, from;\n"
		"st.global.u64 [out], to;\n"
		"add.u64 line, line, %b_arg2;\n"
		"sub.u64 left, left, 1;\n"
		"setp.ne.u64 p, left, 0;\n"
		"@p bra next;\n"
		"lost:\n"
		"mov.u64 at, 0;\n"
		"}\n";

	return bench_kernel(run, &(struct bench_code){.name = "l2-map",
						      .body = body,
						      .threads = 1,
						      .expect = {{OP_LDG, 1, 1}}});
}

static void measure_map(struct bench_run *run, struct bench_kernel *builder, unsigned repeats)
{
	const struct bench_gpu *gpu = bench_gpu(run);
	struct bench_kernel *kernel = map_kernel(run);
	uint64_t base = bench_memory_alloc(run, LINES * APART);
	struct chase_chain chain = {.base = base, .elements = LINES, .stride = APART, .self = true};

	if (!kernel || !base)
		return;
	for (uint32_t turn = 0; turn < gpu->sms; turn++)
		for (unsigned k = 0; k <= repeats; k++) {
			/* By taking all shared memory, no two blocks share an SM. */
			struct bench_launch launch = {.grid = (uint32_t)gpu->sms,
						      .block = 1,
						      .shared = (uint32_t)gpu->shared_block_bytes,
						      .arg = {base, LINES, APART, turn}};
			const uint64_t *results = NULL;

			/* Writing the lines invalidates copies. */
			if (chase_write_chain(run, builder, &chain))
				results = bench_launch(run, kernel, &launch, 8 * (LINES + 1));
			if (!results || bench_is_dry(run))
				return;
			for (unsigned line = 0; k && line < LINES; line++) {
				struct bench_point *point =
					chase_find_point(bench_series(bench_samples(run), "map",
								      "SM", "line", "cycles"),
							 (double)results[0], line);

				if (point->n < BENCH_REPEATS && results[line + 1])
					bench_add_sample(run, point, (double)results[line + 1]);
			}
		}
}

static void measure_samples(struct bench_run *run)
{
	struct bench_kernel *builder = chase_build_builder(run);

	if (!builder)
		return;
	measure_curve(run, builder);
	measure_map(run, builder, BENCH_REPEATS);
}

enum { SMS = 1024 };

struct l2_sides {
	double cycles[SMS][LINES]; /* NAN if unknown */
	uint32_t sms;
	bool fast[SMS][LINES], two[LINES]; /* the line has two clusters of latencies */
	bool turned[LINES]; /* near for the SMs for which the first such line is far */
	bool side[SMS];
};

static bool read_points(struct l2_sides *s, const struct bench_series *series)
{
	for (uint32_t k = 0; k < SMS * LINES; k++)
		s->cycles[k / LINES][k % LINES] = NAN;
	for (uint32_t k = 0; k < series->n; k++) {
		const struct bench_point *point = &series->point[k];

		if (!(point->x >= 0 && point->x < SMS && point->y >= 0 && point->y < LINES))
			continue;
		s->cycles[(uint32_t)point->x][(uint32_t)point->y] = bench_median(point);
		if (point->x >= s->sms)
			s->sms = (uint32_t)point->x + 1;
	}
	return s->sms > 1;
}

/* Finds for each line which SMs are near. A line divides the SMs as the first line does, or the
 * other way round. */
static bool find_sides(struct l2_sides *s, double *near, double *far)
{
	double value[SMS], low, high, lows = 0, highs = 0;
	int first = -1;
	uint32_t n, lines = 0;

	for (uint32_t line = 0; line < LINES; line++) {
		uint32_t alike = 0;
		double border;

		n = 0;
		for (uint32_t sm = 0; sm < s->sms; sm++)
			if (!isnan(s->cycles[sm][line]))
				value[n++] = s->cycles[sm][line];
		border = n > 3 ? bench_split_clusters(value, n, &low, &high) : NAN;
		/* Within a side latencies differ by a tenth on an H200. */
		if (isnan(border) || high < 1.15 * low)
			continue;
		lines++;
		lows += low;
		highs += high;
		s->two[line] = true;
		first = first < 0 ? (int)line : first;
		for (uint32_t sm = 0; sm < s->sms; sm++) {
			s->fast[sm][line] = s->cycles[sm][line] < border;
			alike += s->fast[sm][line] == s->fast[sm][first];
		}
		s->turned[line] = alike * 2 < s->sms;
	}
	for (uint32_t sm = 0; sm < s->sms; sm++) {
		uint32_t votes = 0;

		for (uint32_t line = 0; line < LINES; line++)
			votes += s->two[line] && s->fast[sm][line] != s->turned[line];
		s->side[sm] = votes * 2 > lines;
	}
	*near = lines ? lows / lines : NAN;
	*far = lines ? highs / lines : NAN;
	return lines * 4 > LINES;
}

bool l2_find_side(struct bench_run *run, struct bench_kernel *builder, uint64_t sms[3])
{
	struct l2_sides *s = probe_allocate(1, sizeof(*s));
	const struct bench_series *series;
	double near, far;
	bool two = false;

	measure_map(run, builder, 3);
	series = bench_find_series(bench_samples(run), "map");
	sms[0] = sms[1] = sms[2] = 0;
	if (series && read_points(s, series) && s->sms <= 192 && find_sides(s, &near, &far)) {
		two = true;
		for (uint32_t sm = 0; sm < s->sms; sm++)
			sms[sm / 64] |= (uint64_t)s->side[sm] << sm % 64;
	}
	free(s);
	return two;
}

static void list_sms(struct bench_text *text, const struct l2_sides *s, bool side)
{
	const char *between = "";

	for (uint32_t sm = 0; sm < s->sms; sm++) {
		uint32_t last = sm;

		if (s->side[sm] != side)
			continue;
		while (last + 1 < s->sms && s->side[last + 1] == side)
			last++;
		bench_emit(text, last > sm ? "%s%u-%u" : "%s%u", between, sm, last);
		between = " ";
		sm = last;
	}
}

static void derive_map(const struct bench_series *series, struct bench_figures *figures)
{
	struct l2_sides *s = probe_allocate(1, sizeof(*s));
	struct bench_text one = {0}, other = {0};
	double near, far, mhz = series->n ? series->point[0].sm_mhz : NAN;

	if (read_points(s, series) && find_sides(s, &near, &far)) {
		list_sms(&one, s, true);
		list_sms(&other, s, false);
		bench_figure(figures, "L2, first read", "near", "cycles", near, NAN, NAN, mhz);
		bench_figure(figures, "L2, first read", "far", "cycles", far, NAN, NAN, mhz);
		bench_add_note(
			figures,
			"L2 has two sides: the first read of a written line takes %.0f cycles "
			"on the near "
			"side, %.0f from the other. On one side are the SMs %s, on the other "
			"%s.",
			near, far, one.data ? one.data : "none", other.data ? other.data : "none");
	} else if (s->sms > 1) {
		bench_add_note(figures,
			       "No written line of L2 is nearer to some SMs than to others.");
	}
	bench_text_free(&one);
	bench_text_free(&other);
	free(s);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	const struct bench_series *series = bench_find_series(samples, "random");
	struct bench_plateau plateau[6];
	uint32_t n = series ? bench_find_plateaus(series, 0.15, 3, plateau, 6) : 0;

	bench_add_published(figures, "L2 hit", "", "H100", 291);
	bench_add_published(figures, "L2 hit", "", "GH200", 281);
	bench_add_published(figures, "L2 hit", "", "H100, mt4g", 219);
	bench_add_published(figures, "L2 hit", "", "T4", 188);
	bench_add_published(figures, "DRAM", "", "H100", 700);
	bench_add_published(figures, "DRAM", "", "GH200", 690);
	bench_add_published(figures, "DRAM", "", "H100, mt4g", 834);
	for (uint32_t k = 0; k < n; k++) {
		const struct bench_point *point =
			&series->point[(plateau[k].first + plateau[k].last) / 2];

		if (k == 0)
			bench_add_point_figure(figures, "L2 hit", "", series, point);
		else if (k == n - 1)
			bench_add_point_figure(figures, "DRAM", "", series, point);
		bench_add_note(figures, "%s %.0f cycles to %s%s.",
			       k ? "Then" : "ld.global.cg takes", plateau[k].value,
			       bench_format_bytes(plateau[k].to),
			       plateau[k].last == series->n - 1 ? ", the largest measured" : "");
	}
	if (series)
		bench_add_plot(figures, "latency-l2", "Latency of ld.global.cg", series, true,
			       false);
	series = bench_find_series(samples, "map");
	if (series)
		derive_map(series, figures);
}

BENCH(bench_l2_latency, "l2-latency", "M9",
      "latency of L2 and DRAM; which SMs are near to which lines", measure_samples, derive_figures);
