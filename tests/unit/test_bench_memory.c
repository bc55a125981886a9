/* SPDX-License-Identifier: MIT */
/* LINK: bench cli decode */
/* Results of the memory benchmarks for samples with known answers, with noise and with gaps. */
#include <math.h>
#include <string.h>
#include "probe/bench/frame/pointer_chase.h"
#include "probe/bench/frame/internal.h"
#include "tests/unit/bench_made.h"
#include "tests/unit/expect.h"

#define SEED 20261123u
static uint64_t state = SEED;

static struct bench_samples samples;
static struct bench_figures figures;

static void give(const char *series, double x, double y, double value)
{
	struct bench_point *p = bench_point(bench_series(&samples, series, "x", "y", "u"), x, y);

	for (int i = 0; i < BENCH_REPEATS; i++)
		bench_add_value(p, value ? value * (1 + bench_noise(&state) / 100) : 0);
	p->sm_mhz = 1980;
}

static void ask(const char *bench)
{
	figures = (struct bench_figures){.gpu = {.name = "x",
						 .cc_major = 9,
						 .sms = 8,
						 .bus_bits = 1024,
						 .memory_khz = 1000000}};
	samples.bench = bench;
	bench_derive_figures(&figures, bench_find_benchmark(bench), &samples);
}

static void done(void)
{
	bench_figures_free(&figures);
	bench_samples_free(&samples);
	samples = (struct bench_samples){0};
}

static bool is(const char *name, const char *parameter, double value)
{
	const struct bench_figure *f = bench_figure_find(&figures, name, parameter);

	return f && fabs(f->value - value) <= 0.03 * value;
}

/* Nothing was measured, or points without a value, or zeros: no figure, and no crash. */
static void nothing(const char *bench, const char *series)
{
	ask(bench);
	EXPECT_EQ(figures.nfigure, 0);
	done();
	bench_point(bench_series(&samples, series, "x", "", "u"), 1024, NAN);
	bench_point(bench_series(&samples, series, "x", "", "u"), 2048, NAN);
	ask(bench);
	EXPECT_EQ(figures.nfigure, 0);
	done();
	for (double x = 1024; x < 1e6; x *= 2)
		give(series, x, NAN, 0);
	ask(bench);
	done();
}

static void l1(void)
{
	for (uint64_t n = 1024; n <= 1 << 20; n = chase_next_size(n))
		give("random", (double)n, NAN, n <= 196608 ? 33 : 210);
	ask("l1-latency");
	EXPECT(is("L1 hit", "", 33));
	EXPECT(bench_noted(&figures, "to 192 KiB"));
	done();
	give("4 B", 4096, NAN, 60);
	give("16 B", 4096, NAN, 120);
	bench_point(bench_series(&samples, "8 B", "x", "", "u"), 4096, NAN);
	ask("l1-bandwidth");
	EXPECT(is("L1 bandwidth", "", 120));
	EXPECT(bench_noted(&figures, "loads of 16 B in 4 KiB"));
	done();
}

static void size(void)
{
	for (unsigned kib = 176; kib <= 192; kib++)
		give("64 KiB", kib * 1024, NAN, kib <= 184 ? 0 : kib - 184);
	ask("l1-size");
	EXPECT(is("L1 seen", "64 KiB", 184));
	EXPECT(bench_noted(&figures, "8 to 8 KiB less"));
	done();
}

/* Sectors of 32 bytes; of 40 lines runs of 4 are missed, at another place in each sample. */
static void lines(void)
{
	static const unsigned words[] = {0, 4, 28, 32, 64};

	for (unsigned k = 0; k < 5; k++)
		give("sector", words[k], NAN, words[k] < 32 ? 40 : 230);
	for (unsigned at = 0; at < 40; at++) {
		struct bench_point *p = bench_point(
			bench_series(&samples, "positions", "line", "lines", "cycles"), at, 40);

		for (unsigned i = 0; i < BENCH_REPEATS; i++)
			bench_add_value(p, (at >= 3 * i && at < 3 * i + 4 ? 230 : 40) +
						   bench_noise(&state));
	}
	ask("l1-lines");
	EXPECT(is("L1 sector", "", 32));
	EXPECT(is("L1 run of misses", "", 4));
	EXPECT(bench_noted(&figures, "they are not the same lines each time"));
	done();
	for (unsigned at = 0; at < 40; at++)
		give("positions", at, 40, at % 8 == 3 ? 230 : 40);
	ask("l1-lines");
	EXPECT(is("L1 run of misses", "", 1));
	EXPECT(bench_noted(&figures, "they are the same lines each time"));
	done();
}

/* Lines APART bytes from each other, of which KEPT are kept and one more is not. */
static void apart(unsigned apart_by, unsigned kept)
{
	char name[32];

	snprintf(name, sizeof(name), "%u B apart", apart_by);
	give(name, kept, NAN, 0);
	give(name, kept + 1, NAN, 2);
}

/* 64 sets of 4 ways, chosen by the address's bits from 128 on; and chosen by more than those. */
static void sets(void)
{
	for (unsigned by = 128; by <= 256 << 10; by *= 2)
		apart(by, by < 8192 ? 256 * 128 / by : 4);
	ask("l1-lines");
	EXPECT(is("L1 lines kept", "128 B apart", 256) && is("L1 lines kept", "1 KiB apart", 32));
	EXPECT(bench_noted(&figures,
			   "256 adjacent lines are kept; with 256 B and more between them "));
	done();
	for (unsigned by = 128; by <= 256 << 10; by *= 2)
		apart(by, by == 4096 ? 240 : 256);
	ask("l1-lines");
	EXPECT(bench_noted(&figures, "Lines 256 KiB apart are kept as well") &&
	       bench_noted(&figures, "240 of 256"));
	done();
	apart(128, 256);
	ask("l1-lines");
	EXPECT(is("L1 lines kept", "128 B apart", 256) && !figures.nnote);
	done();
}

/* SMs 0, 3, 4, 7 sit at one side; every other line is at theirs. */
static void sides(void)
{
	for (uint64_t n = 64 << 10; n <= 64ull << 30; n = chase_next_size(n))
		give("random", (double)n, NAN, n <= 32 << 20 ? 260 : 600);
	for (unsigned sm = 0; sm < 8; sm++)
		for (unsigned line = 0; line < 32; line++)
			give("map", sm, line,
			     ((sm + 1) / 2 % 2 == 0) == (line % 2 == 0) ? 200 : 270);
	ask("l2-latency");
	EXPECT(is("L2 hit", "", 260) && is("DRAM", "", 600));
	EXPECT(is("L2, first read", "near", 200) && is("L2, first read", "far", 270));
	EXPECT(bench_noted(&figures, "0 3-4 7") && bench_noted(&figures, "1-2 5-6"));
	done();
	for (unsigned sm = 0; sm < 8; sm++)
		for (unsigned line = 0; line < 32; line++)
			give("map", sm, line, 230);
	ask("l2-latency");
	EXPECT(!bench_figure_find(&figures, "L2, first read", NULL));
	EXPECT(bench_noted(&figures, "No written line of L2 is nearer"));
	done();
}

/* Ten SMs of an H200: those that sit where the lines were written find all of them near. */
static void sides_seen(void)
{
	static const uint16_t seen[][32] = {
		{292, 304, 313, 321, 290, 305, 323, 325, 326, 309, 325, 295, 296, 296, 312, 333,
		 297, 296, 329, 314, 298, 296, 336, 299, 321, 320, 294, 307, 291, 309, 321, 327},
		{292, 302, 313, 319, 289, 307, 324, 326, 327, 308, 326, 296, 295, 294, 313, 331,
		 294, 298, 330, 316, 300, 298, 336, 298, 320, 321, 295, 306, 291, 310, 322, 329},
		{528, 289, 299, 489, 488, 290, 329, 500, 331, 457, 493, 296, 296, 483, 458, 334,
		 483, 297, 318, 506, 481, 297, 321, 466, 321, 502, 480, 293, 489, 519, 322, 329},
		{535, 291, 300, 490, 490, 292, 327, 500, 332, 457, 495, 295, 295, 482, 459, 335,
		 481, 296, 316, 505, 478, 295, 323, 468, 320, 505, 482, 294, 490, 518, 321, 328},
		{529, 289, 300, 489, 489, 290, 331, 504, 333, 458, 497, 296, 297, 483, 460, 336,
		 482, 297, 324, 508, 481, 296, 322, 468, 322, 506, 481, 294, 489, 519, 321, 332},
		{536, 291, 299, 489, 491, 291, 331, 504, 333, 457, 500, 296, 298, 483, 458, 336,
		 478, 296, 322, 507, 478, 295, 322, 467, 323, 507, 480, 294, 486, 520, 322, 330},
		{556, 318, 322, 467, 511, 314, 303, 480, 310, 480, 476, 324, 323, 508, 481, 313,
		 509, 325, 296, 480, 502, 328, 299, 490, 296, 482, 507, 318, 516, 494, 295, 309},
		{586, 315, 323, 466, 513, 315, 301, 479, 309, 481, 475, 323, 324, 507, 480, 314,
		 507, 325, 294, 480, 502, 327, 299, 488, 298, 483, 508, 318, 516, 489, 295, 311},
		{312, 328, 338, 300, 309, 327, 304, 301, 305, 332, 301, 318, 319, 322, 336, 310,
		 326, 324, 306, 293, 327, 323, 314, 321, 300, 294, 318, 334, 315, 289, 299, 307},
		{324, 330, 339, 301, 312, 329, 303, 300, 306, 331, 304, 318, 320, 322, 334, 310,
		 325, 320, 304, 294, 325, 321, 315, 323, 298, 296, 317, 334, 314, 288, 299, 305}};

	for (unsigned sm = 0; sm < 10; sm++)
		for (unsigned line = 0; line < 32; line++)
			if (sm != 5 || line != 2) /* a hole */
				give("map", sm, line, seen[sm][line]);
	ask("l2-latency");
	EXPECT(bench_noted(&figures, "are the SMs 0-1 8-9, on the other 2-7.") ||
	       bench_noted(&figures, "are the SMs 2-7, on the other 0-1 8-9."));
	EXPECT(is("L2, first read", "far", 490));
	done();
}

static void bandwidths(void)
{
	give("read", 15 << 20, NAN, 5500);
	give("read", 30 << 20, NAN, 5000);
	give("one SM", 1 << 20, NAN, 118.8);
	ask("l2-bandwidth");
	EXPECT(is("L2 bandwidth", "one SM", 118.8));
	EXPECT(bench_noted(&figures, "A single SM"));
	EXPECT(!bench_noted(&figures, "one side"));
	EXPECT(is("L2 bandwidth", "", 5000) && is("L2 bandwidth", "15 MiB", 5500));
	done();
	give("one side", 15 << 20, NAN, 2500);
	give("the other side", 15 << 20, NAN, 2600);
	ask("l2-bandwidth");
	EXPECT(is("L2 bandwidth", "SMs of one side", 2500));
	EXPECT(!bench_noted(&figures, "one side")); /* not without both at once */
	give("both sides", 15 << 20, NAN, 4800);
	bench_figures_free(&figures);
	ask("l2-bandwidth");
	EXPECT(bench_noted(&figures, "one side of L2 alone"));
	done();
	give("read", 8e9, NAN, 230.4);
	give("triad", 8e9, NAN, 200);
	ask("global-bandwidth");
	EXPECT(is("global bandwidth", "of theory", 90)); /* of 256 GB/s */
	EXPECT(is("global bandwidth", "triad", 200));
	done();
}

static void shared(void)
{
	for (unsigned apart = 0; apart <= 32; apart++) {
		unsigned degree = 1;

		while (apart && degree < 32 && apart % (2 * degree) == 0)
			degree *= 2;
		give("4 B", apart, NAN, 28 + 2 * degree);
	}
	ask("shared-latency");
	EXPECT(is("shared latency", "4 B, 1 apart", 30) &&
	       is("shared latency", "4 B, 32 apart", 92));
	EXPECT(bench_noted(&figures, "A load of 4 bytes takes 30.") ||
	       bench_noted(&figures, "A load of 4 bytes takes 29."));
	done();
	for (unsigned steps = 64; steps <= 4096; steps *= 2) {
		struct bench_point *p = bench_point(
			bench_series(&samples, "4 B", "steps", "", "cycles"), steps, NAN);

		bench_add_value(p, 500 + 64.0 * steps + bench_noise(&state));
	}
	ask("shared-bandwidth");
	EXPECT(is("shared bandwidth", "4 B", 128)); /* 2,048 times 4 bytes in 64 cycles */
	done();
}

static void tlb(void)
{
	for (uint64_t n = 8; n <= 65536; n = chase_next_size(n)) {
		give("2 MiB", (double)(n << 21), NAN, n <= 16 ? 270 : n <= 4096 ? 330 : 700);
		if (n <= 1024)
			give("L1", (double)(n << 21), NAN, 33);
	}
	ask("tlb");
	EXPECT(is("TLB reach", "level 1", 32) && is("TLB reach", "level 2", 8192));
	EXPECT(is("TLB latency", "level 2", 330) && is("TLB latency", "beyond", 700));
	EXPECT(!bench_figure_find(&figures, "TLB entry", NULL)); /* of one stride alone */
	EXPECT(bench_noted(&figures, "addressed virtually"));
	done();
	/* Behind the last level fewer points than a level has. */
	for (uint64_t n = 8; n <= 65536; n = chase_next_size(n))
		give("2 MiB", (double)(n << 21), NAN,
		     n <= 128	  ? 270
		     : n <= 32768 ? 290
		     : n <= 49152 ? 320
				  : 340);
	ask("tlb");
	EXPECT(is("TLB reach", "level 2", 65536) && is("TLB latency", "beyond", 340));
	EXPECT(bench_noted(&figures, ", at 128 GiB, the largest"));
	done();
}

/* An H200's medians, 8 to 128 GiB by strides in MiB: what is beyond costs most with 32, and with 64
 * there are too few addresses to get there. */
static void tlb_entries(void)
{
	static const struct {
		const char *stride;
		double cycles[9];
	} seen[] = {{"2 MiB", {289, 290, 290, 290, 290, 290, 290, 324, 340}},
		    {"4 MiB", {289, 290, 290, 290, 290, 290, 290, 326, 341}},
		    {"16 MiB", {290, 290, 290, 290, 290, 290, 290, 342, 356}},
		    {"32 MiB", {290, 290, 289, 289, 290, 290, 292, 385, 385}},
		    {"64 MiB", {288, 288, 289, 289, 289, 289, 289, 289, 294}}};

	for (unsigned last = 9; last >= 7; last--) {
		for (unsigned s = 0; s < 5; s++) {
			uint64_t bytes = 8ull << 30, stride = 2ull << 20 << s;

			/* The first level, of 256 MiB. */
			for (uint64_t at = 8 * stride; at < bytes; at = chase_next_size(at))
				give(seen[s].stride, (double)at, NAN, at <= 256 << 20 ? 270 : 289);
			for (unsigned k = 0; k < last; k++, bytes = chase_next_size(bytes))
				give(seen[s].stride, (double)bytes, NAN, seen[s].cycles[k]);
		}
		ask("tlb");
		if (last == 9) {
			EXPECT(is("TLB reach", "level 2", 65536));
			EXPECT(is("TLB entry", "level 2", 32));
			EXPECT(is("TLB entries", "level 2", 2048));
			EXPECT(bench_noted(&figures, "64 GiB is 2048 entries"));
		} else if (last == 8) { /* 96 GiB: how far 64 MiB reach is not seen */
			EXPECT(!bench_figure_find(&figures, "TLB entry", "level 2"));
		} else {
			EXPECT(is("TLB reach", "level 1", 256));
			EXPECT(!bench_figure_find(&figures, "TLB reach", "level 2"));
			EXPECT(!bench_figure_find(&figures, "TLB entry", "level 2"));
		}
		done();
	}
}

/* The same GPU's first level, from 8 addresses on: 16 entries of 16 MiB each. */
static void tlb_first(void)
{
	static const struct {
		const char *stride;
		unsigned from; /* MiB */
		double cycles[19];
	} seen[] = {
		{"2 MiB",
		 16,
		 {283.2, 283.2, 283.7, 283.3, 281.8, 281.8, 281.3, 281.0, 280.8, 284.0, 286.9,
		  288.7, 288.7, 289.2, 289.7, 290.2, 290.0, 290.1, 290.4}},
		{"4 MiB",
		 32,
		 {283.0, 281.9, 281.3, 281.2, 281.0, 280.2, 279.9, 284.1, 287.0, 288.7, 288.4,
		  289.3, 289.7}},
		{"16 MiB", 128, {281.0, 282.7, 283.5, 291.2, 291.5, 290.4, 291.0, 290.7, 290.5}},
		{"32 MiB", 256, {281.5, 281.9, 280.6, 291.4, 290.7, 290.6, 290.8}},
		{"64 MiB", 512, {282.1, 279.7, 278.9, 290.3, 291.1}}};

	for (unsigned s = 0; s < 5; s++) {
		uint64_t bytes = (uint64_t)seen[s].from << 20;

		for (unsigned k = 0; k < 19 && seen[s].cycles[k] > 0;
		     k++, bytes = chase_next_size(bytes))
			for (unsigned i = 0; i < BENCH_REPEATS; i++)
				bench_add_value(
					chase_find_point(bench_series(&samples, seen[s].stride, "x",
								      "", "u"),
							 (double)bytes, 0),
					seen[s].cycles[k] + 2 * bench_noise(&state));
	}
	ask("tlb");
	EXPECT(is("TLB reach", "level 1", 256));
	EXPECT(is("TLB entry", "level 1", 16) && is("TLB entries", "level 1", 16));
	/* On 80 GB the second level did not end. */
	EXPECT(!bench_figure_find(&figures, "TLB reach", "level 2"));
	EXPECT(!bench_figure_find(&figures, "TLB latency", "beyond"));
	EXPECT(bench_noted(&figures, "The reach of level 2 was not found: it is "));
	done();
}

static void hopper(void)
{
	give("latency", 2, 0, 30);
	give("latency", 2, 1, 180);
	give("latency", 4, 3, 200);
	give("bandwidth", 2, NAN, 20);
	ask("dsmem");
	EXPECT(is("DSMEM latency", "cluster of 2, block 1", 180));
	EXPECT(is("DSMEM bandwidth", "cluster of 2", 20));
	done();
	for (unsigned mib = 4; mib <= 32; mib *= 2) {
		give("plain", mib << 20, NAN, 600);
		give("evict_last", mib << 20, NAN, mib <= 16 ? 270 : 590);
	}
	ask("l2-window");
	EXPECT(bench_noted(&figures, "visible up to 16 MiB"));
	done();
}

/* L1: addresses closer than LINE share one. */
static void l1_line(unsigned line)
{
	for (unsigned by = 32; by <= 1024; by *= 2)
		apart(by, by < line ? 1480 * line / by : 1480);
	ask("l1-lines");
	EXPECT(is("L1 line", "", line));
	EXPECT(is("L1 lines kept", "128 B apart", line <= 128 ? 1480 : 1480 * line / 128));
	done();
	/* Nothing is known of twice the distance. */
	apart(32, 4096);
	apart(128, 1024);
	ask("l1-lines");
	EXPECT(!bench_figure_find(&figures, "L1 line", ""));
	done();
}

/* L2 keeps LINES lines of LINE bytes: of N addresses read, the last ones that fit. One curve has
 * holes. */
static void l2_line(unsigned line, double lines)
{
	for (unsigned by = 32; by <= 512; by *= 2) {
		double fit = lines * (by < line ? line / by : 1);
		char name[32];

		snprintf(name, sizeof(name), "%u B apart", by);
		for (uint64_t n = 1 << 15; n <= 1u << 30 >> __builtin_ctz(by);
		     n = chase_next_size(n)) {
			double hit = n <= fit ? 1 : fit / (double)n;

			if (by == 128 && n % 5 == 3)
				bench_point(bench_series(&samples, name, "x", "y", "u"), (double)n,
					    NAN);
			else
				give(name, (double)n, NAN, 280 * hit + 680 * (1 - hit));
		}
	}
	ask("l2-lines");
	EXPECT(is("L2 line", "", line));
	done();
}

static void l2_lines(void)
{
	static const unsigned words[] = {0, 4, 28, 32, 60, 64, 96};

	l2_line(128, 400e3);
	l2_line(64, 800e3);
	l2_line(32, 300e3);
	/* Everything is kept: no knee. */
	for (uint64_t n = 1 << 15; n <= 1 << 20; n *= 2) {
		give("32 B apart", (double)n, NAN, 280);
		give("64 B apart", (double)n, NAN, 281);
	}
	ask("l2-lines");
	EXPECT_EQ(figures.nfigure, 0);
	done();
	for (unsigned k = 0; k < 7; k++)
		give("sector", words[k], NAN, words[k] < 64 ? 280 : 680);
	ask("l2-lines");
	EXPECT(is("L2 fetched by a miss", "", 64) && figures.nfigure == 1);
	done();
}

/* N targets, of which each had 16 lines found, or one more or less. */
static void l2_ways(unsigned n, unsigned more)
{
	for (unsigned k = 0; k < n; k++) {
		struct bench_point *p = bench_point(
			bench_series(&samples, "ways", "target", NULL, "lines"), k, NAN);

		if (k != 1) /* a hole */
			bench_add_value(p, k == 2 ? 16 + more : 16);
	}
	give("32 B apart", 1 << 20, NAN, 280);
	ask("l2-lines");
	EXPECT(is("L2 ways", "", 16));
	EXPECT(bench_noted(&figures, "16 to 18 lines evict a line") == (more == 2));
	EXPECT(!bench_figure_find(&figures, "L2 sets", NULL)); /* the line is not known */
	done();
}

/* Jumps take 12 cycles in 16 KiB, 40 in 64 and 90 beyond; a length is missing. */
static void jumps(bool one)
{
	for (uint64_t n = 8; n <= 2047; n = chase_next_size(n)) {
		double bytes = 128.0 * (double)n;

		if (n == 96)
			bench_point(bench_series(&samples, "jumps", "x", "y", "u"), bytes, NAN);
		else
			give("jumps", bytes, NAN,
			     one || bytes <= 16384 ? 12
			     : bytes <= 65536	   ? 40
						   : 90);
	}
	ask("icache-jumps");
	EXPECT(is("level 1", "jumps", 12));
	EXPECT(one || (is("level 1 holds", "jumps", 16) && is("level 2", "jumps", 40) &&
		       is("level 2 holds", "jumps", 64) && is("level 3", "jumps", 90)));
	EXPECT(bench_noted(&figures, "no smaller instruction cache is visible") == one);
	done();
}

/* Each element is met once. What the GPU does is done here by the same rule. */
static void steps(void)
{
	uint64_t n = 8;

	for (unsigned k = 0; k < 6; k++, n = chase_next_size(n))
		EXPECT(n % 3 ? (n & (n - 1)) == 0 : (n / 3 & (n / 3 - 1)) == 0);
	EXPECT_EQ(n, 64);
	EXPECT_EQ(chase_round_steps(17), 32);
	for (unsigned k = 0; k < 6; k++)
		bench_add_value(
			chase_find_point(bench_series(&samples, "map", "x", "y", "u"), k % 2, 7),
			k);
	EXPECT(bench_find_series(&samples, "map")->n == 2 &&
	       bench_find_series(&samples, "map")->point[1].n == 3);
	done();
}

int main(void)
{
	static const char *const benches[][2] = {
		{"l1-latency", "random"},     {"l1-bandwidth", "4 B"},
		{"l1-size", "8 KiB"},	      {"l1-lines", "positions"},
		{"l2-latency", "map"},	      {"l2-bandwidth", "read"},
		{"shared-latency", "4 B"},    {"shared-bandwidth", "4 B"},
		{"global-bandwidth", "read"}, {"tlb", "2 MiB"},
		{"dsmem", "latency"},	      {"l2-window", "plain"},
		{"l2-lines", "sector"},	      {"l2-lines", "ways"},
		{"l2-lines", "32 B apart"},   {"icache-jumps", "jumps"}};

	printf("seed %u\n", SEED);
	for (size_t k = 0; k < sizeof(benches) / sizeof(*benches); k++)
		nothing(benches[k][0], benches[k][1]);
	l1();
	size();
	lines();
	sets();
	sides();
	sides_seen();
	bandwidths();
	shared();
	tlb();
	tlb_entries();
	tlb_first();
	hopper();
	l1_line(32);
	l1_line(128);
	l1_line(256);
	l2_lines();
	l2_ways(5, 0);
	l2_ways(5, 2);
	l2_ways(1, 0);
	jumps(false);
	jumps(true);
	steps();
	return expect_done();
}
