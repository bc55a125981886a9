/* SPDX-License-Identifier: MIT */
/* LINK: bench cli decode */
/* Results of the instruction benchmarks for samples with known answers, with and without noise. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "probe/bench/frame/internal.h"
#include "probe/bench/frame/timed_code.h"
#include "sass/sass.h"
#include "tests/unit/bench_made.h"
#include "tests/unit/expect.h"

extern const struct bench bench_control, bench_schedulers, bench_icache, bench_banks,
	bench_latencies, bench_constant, bench_constant_icache, bench_dpx, bench_registers,
	bench_icache_owner, bench_uniform_banks, bench_throughput;

static uint64_t state = 20261123; /* the same in each run */

static void put(struct bench_samples *s, const char *series, double x, double y, double value,
		double share)
{
	struct bench_point *p = bench_point(bench_series(s, series, "x", "y", "cycles"), x, y);

	for (int k = 0; k < BENCH_REPEATS; k++)
		bench_add_value(p, value * (1 + share * bench_noise(&state)));
}

static double figure(const struct bench_figures *f, const char *name, const char *parameter)
{
	const struct bench_figure *found = bench_figure_find(f, name, parameter);

	return found ? found->value : NAN;
}

/* Nothing, and nothing but zeros, is told as nothing. */
static void nothing(const struct bench *bench, const char *series)
{
	struct bench_samples samples = {.bench = bench->name};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	bench_derive_figures(&f, bench, &samples);
	EXPECT(f.nfigure == 0 && f.nnote == 0);
	bench_figures_free(&f);
	f = (struct bench_figures){.gpu = {.cc_major = 9}};
	for (int k = 1; k < 9; k++)
		put(&samples, series, k, NAN, 0, 0);
	bench_point(bench_series(&samples, series, "x", NULL, "cycles"), 10, NAN);
	bench_derive_figures(&f, bench, &samples);
	EXPECT(f.nfigure == 0 && f.nnote == 0);
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

static void schedulers(unsigned by)
{
	struct bench_samples samples = {.bench = "schedulers"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (unsigned a = 0; a < 8; a++)
		for (unsigned b = a + 1; b < 8; b++)
			put(&samples, "two warps", a, b, a % by == b % by ? 64 : 127, 0.02);
	bench_derive_figures(&f, &bench_schedulers, &samples);
	EXPECT(fabs(figure(&f, "same scheduler", NULL) - 64) < 2);
	EXPECT(fabs(figure(&f, "two schedulers", NULL) - 127) < 3);
	EXPECT(bench_noted(&f, "number mod 4: of 28 pairs those 4") == (by == 4));
	EXPECT(by == 4 || bench_noted(&f, "8 of 28 pairs contradict"));
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

static void banks(unsigned by)
{
	static const struct {
		const char *name;
		unsigned a, b;
	} series[] = {{"R97, R99, RX", 97, 99},
		      {"R98, R99, RX", 98, 99},
		      {"R96, R98, RX", 96, 98},
		      {"R96, R100, RX", 96, 100}};
	struct bench_samples samples = {.bench = "banks"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned x = 0; x < 128; x++) {
			bool one = by && series[i].a % by == x % by && series[i].b % by == x % by;

			put(&samples, series[i].name, x, NAN, one ? 3 : 2, 0.03);
		}
	for (unsigned x = 0; x < 128; x++)
		put(&samples, "R97.reuse, R99.reuse, RX", x, NAN, 1, 0.03);
	bench_derive_figures(&f, &bench_banks, &samples);
	EXPECT(bench_noted(&f, "number mod 2") == (by == 2) &&
	       bench_noted(&f, "number mod 4") == (by == 4));
	EXPECT(by || bench_noted(&f, "no slower"));
	EXPECT(bench_noted(&f, "a bank gives one register a cycle") == (by == 2));
	EXPECT(fabs(figure(&f, "R97, R99, RX", "odd X") - (by == 2 ? 3 : 2)) < 0.05);
	EXPECT(fabs(figure(&f, "R98, R99, RX", "odd X") - 2) < 0.05);
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

/* Uniform registers: banks by number mod BY; 0: none. With PAIR, UR0 and UR4 are slower whatever
 * the third is, as on an H100. One register was not measured. */
static void uniform(unsigned by, bool pair)
{
	static const struct {
		const char *name;
		unsigned a, b;
	} series[] = {{"UR1, UR3, URX", 1, 3},
		      {"UR2, UR3, URX", 2, 3},
		      {"UR0, UR2, URX", 0, 2},
		      {"UR0, UR4, URX", 0, 4}};
	struct bench_samples samples = {.bench = "uniform-banks"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned x = 0; x < 63; x++) {
			bool one = (by && series[i].a % by == x % by &&
				    series[i].b % by == x % by) ||
				   (pair && i == 3);

			if (x == 17)
				bench_point(
					bench_series(&samples, series[i].name, "x", "y", "cycles"),
					x, NAN);
			else
				put(&samples, series[i].name, x, NAN, one ? 3 : 2, 0.03);
		}
	bench_derive_figures(&f, &bench_uniform_banks, &samples);
	EXPECT(bench_noted(&f, "number mod 2") == (by == 2) &&
	       bench_noted(&f, "number mod 4") == (by == 4) &&
	       bench_noted(&f, "no banks are visible") == (!by && !pair) &&
	       bench_noted(&f, "whatever the third") == pair);
	EXPECT(fabs(figure(&f, "UR1, UR3, URX", "odd X") - (by == 2 ? 3 : 2)) < 0.05);
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

static void throughputs(void)
{
	struct bench_samples samples = {.bench = "throughput"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	put(&samples, "MUFU.EX2", 0, NAN, 16, 0.02);
	put(&samples, "SHFL.IDX", 0, NAN, 32, 0.02);
	put(&samples, "HFMA2.BF16", 0, NAN, 128, 0.02);
	bench_point(bench_series(&samples, "REDUX.SUM", "", NULL, "operations/cycle"), 0, NAN);
	bench_derive_figures(&f, &bench_throughput, &samples);
	EXPECT(f.nfigure == 3 && fabs(figure(&f, "MUFU.EX2", "one SM") - 16) < 0.2);
	EXPECT(bench_noted(&f, "fastest is HFMA2.BF16") && bench_noted(&f, "slowest MUFU.EX2"));
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

/* The victim of 8 KiB is slowed by SAME, OTHER and SM KiB of code on; 0: by none. */
static void owner(unsigned same, unsigned other, unsigned sm)
{
	static const char *const name[] = {"victim of 8 KiB, same scheduler",
					   "victim of 8 KiB, other scheduler",
					   "victim of 8 KiB, other SM"};
	const unsigned from[] = {same, other, sm};
	const char *slowed = "8 KiB of code slowed by";
	struct bench_samples samples = {.bench = "icache-owner"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (unsigned i = 0; i < 3; i++)
		for (unsigned kib = 0; kib <= 512; kib = kib ? 2 * kib : 4)
			put(&samples, name[i], 1024.0 * kib, NAN, from[i] && kib >= from[i] ? 2 : 1,
			    0.03);
	/* One length beside which nothing was kept. */
	bench_point(bench_series(&samples, name[0], "x", "y", "cycles"), 1 << 20, NAN);
	bench_derive_figures(&f, &bench_icache_owner, &samples);
	EXPECT(fabs(figure(&f, "8 KiB, same scheduler", "alone") - 1) < 0.03);
	EXPECT(figure(&f, slowed, "own scheduler's") == same);
	EXPECT(other ? figure(&f, slowed, "other scheduler's") == other
		     : isnan(figure(&f, slowed, "other scheduler's")));
	EXPECT(bench_noted(&f, "each scheduler has its own cache") == (!other || other > same));
	EXPECT(bench_noted(&f, "they share the cache") == (other && other <= same));
	EXPECT(bench_noted(&f, "these SMs share a cache") == (sm != 0));
	EXPECT(bench_noted(&f, "none on another SM slows it") == (sm == 0));
	EXPECT(!bench_noted(&f, "64 KiB of code:")); /* nothing is known of that victim */
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

/* The count is ABOVE those named; a kernel runs with MOST at the most, and WHAT becomes of more. */
static void registers(int above, int most, int what)
{
	struct bench_samples samples = {.bench = "registers"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (int n = 16; n <= 224; n += 16) {
		put(&samples, "R named", n, NAN, n + 6, 0);
		put(&samples, "UR named", n, NAN, 10, 0);
		put(&samples, "counted", n, NAN, n + 6 + above + (above > 2 && n > 100), 0);
	}
	for (int n = 250; n < 260; n++)
		put(&samples, "ran", n, NAN, n > most ? what : 1, 0);
	bench_point(bench_series(&samples, "ran", "x", NULL, "launches"), 300, NAN);
	bench_derive_figures(&f, &bench_registers, &samples);
	EXPECT(figure(&f, "counted", "224 words alive") == 230 + above + (above > 2));
	EXPECT(isnan(figure(&f, "counted", "32 words alive")));
	EXPECT(figure(&f, "R named", "224 words alive") == 230);
	EXPECT(figure(&f, "counted above those named", "") == above);
	EXPECT(bench_noted(&f, "with 2 that no thread may use") == (above == 2));
	EXPECT(bench_noted(&f, "at least 8 above") == (above == 8));
	EXPECT(figure(&f, "count with which a kernel runs", NULL) == most);
	EXPECT(bench_noted(&f, "With a count of 256 a kernel is rejected") ==
	       (most == 255 && !what));
	EXPECT(bench_noted(&f, "With a count of 256 a kernel fails") == (most == 255 && what < 0));
	EXPECT(bench_noted(&f, "Neither the driver nor the GPU") == (most == 259));
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

/* Right from stall FROM on, and at ALSO by chance. */
static void by_stall(struct bench_samples *samples, const char *series, int from, int also)
{
	for (int stall = 1; stall < 16; stall++)
		put(samples, series, stall, NAN, stall >= from || stall == also, 0);
}

static void latencies(void)
{
	struct bench_samples samples = {.bench = "latencies"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	put(&samples, "FFMA", 0, NAN, 4, 0.01);
	put(&samples, "FFMA assembler", 0, NAN, 4, 0);
	by_stall(&samples, "FFMA by stall", 4, 0);
	put(&samples, "IMAD", 0, NAN, 4, 0.01);
	put(&samples, "IMAD assembler", 0, NAN, 4, 0);
	by_stall(&samples, "IMAD by stall", 5, 2);
	put(&samples, "SEL", 0, NAN, 5, 0.01);
	/* Of a pair it is the first whose latency is asked for, and whose stall is changed. */
	put(&samples, "ISETP+SEL", 0, NAN, 18, 0.01);
	put(&samples, "ISETP+SEL assembler", 0, NAN, 13, 0);
	by_stall(&samples, "ISETP+SEL by stall", 13, 0);
	/* No stall was seen to be too small. */
	put(&samples, "FADD", 0, NAN, 4, 0.01);
	put(&samples, "FADD assembler", 0, NAN, 4, 0);
	by_stall(&samples, "FADD by stall", 1, 0);
	/* What was not measured is not known to be wrong. */
	put(&samples, "FMUL", 0, NAN, 4, 0.01);
	put(&samples, "FMUL assembler", 0, NAN, 4, 0);
	for (int stall = 8; stall < 16; stall++)
		put(&samples, "FMUL by stall", stall, NAN, 1, 0);
	/* What was patched to MOV is given under that name, and DSETP is what is left of its pair.
	 */
	put(&samples, "MOV", 0, NAN, 4, 0.01);
	put(&samples, "DSETP+SEL", 0, NAN, 16, 0.01);
	bench_point(bench_series(&samples, "F2I, f32 to s32", "", NULL, "cycles"), 0, NAN);
	/* The second has no chain of its own. */
	put(&samples, "ISETP+VOTE", 0, NAN, 17, 0.01);
	bench_derive_figures(&f, &bench_latencies, &samples);
	EXPECT(fabs(figure(&f, "FFMA", "") - 4) < 0.04 && fabs(figure(&f, "FADD", "") - 4) < 0.04);
	EXPECT(fabs(figure(&f, "MOV", "") - 4) < 0.04 && fabs(figure(&f, "DSETP", "") - 11) < 0.3);
	EXPECT(isnan(figure(&f, "F2I, f32 to s32", "")));
	EXPECT(isnan(figure(&f, "FFMA", "last right stall")));
	EXPECT(figure(&f, "IMAD", "last right stall") == 5); /* 2 was right by chance */
	EXPECT(isnan(figure(&f, "FMUL", "last right stall")));
	EXPECT(figure(&f, "IMAD", "assembler's stall") == 4);
	EXPECT(fabs(figure(&f, "ISETP", "") - 13) < 0.3 && isnan(figure(&f, "ISETP+SEL", "")));
	EXPECT(fabs(figure(&f, "ISETP+VOTE", "") - 17) < 0.2);
	EXPECT(bench_noted(&f, "for 2 of 3") && bench_noted(&f, "IMAD: the chain gives"));
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

/* An H200's NOPs, cut down: KiB, cycles. Something is in the way from 24 and from 110 KiB on. */
static const double nops[][2] = {
	{1, 1.031},   {4, 1.008},   {8, 1.029},	  {12, 1.020},	{16, 1.015},  {20, 1.012},
	{22, 1.011},  {23, 1.010},  {24, 1.184},  {25, 1.186},	{26, 1.178},  {27, 1.172},
	{28, 1.166},  {29, 1.160},  {30, 1.155},  {31, 1.150},	{32, 1.200},  {33, 1.331},
	{34, 1.521},  {36, 1.807},  {38, 2.122},  {40, 2.228},	{48, 2.231},  {56, 2.224},
	{64, 2.220},  {72, 2.223},  {80, 2.219},  {88, 2.217},	{96, 2.253},  {104, 2.217},
	{108, 2.218}, {111, 2.393}, {114, 2.636}, {117, 2.599}, {120, 2.586}, {123, 2.576},
	{126, 2.573}, {129, 2.762}, {132, 3.465}, {135, 4.130}, {138, 4.763}, {160, 5.668},
	{192, 5.664}, {224, 5.671}, {256, 5.667}, {288, 5.654}, {512, 5.635}, {768, 5.628},
	{1024, 5.625}};

static void code(void)
{
	struct bench_samples made = {.bench = "icache"}, real = made;
	struct bench_figures f = {.gpu = {.cc_major = 9}}, g = f;

	for (int kib = 1; kib <= 256; kib++)
		put(&made, "FFMA", 1024.0 * kib, NAN, kib <= 32 ? 1 : kib <= 128 ? 2 : 4, 0.02);
	bench_derive_figures(&f, &bench_icache, &made);
	EXPECT(fabs(figure(&f, "level 1", "FFMA") - 1) < 0.03);
	EXPECT(fabs(figure(&f, "level 3", "FFMA") - 4) < 0.1);
	EXPECT(figure(&f, "level 1 holds", "FFMA") == 32 &&
	       figure(&f, "level 2 holds", "FFMA") == 128);
	for (unsigned k = 0; k < sizeof(nops) / sizeof(*nops); k++)
		put(&real, "NOP", 1024 * nops[k][0], NAN, nops[k][1], 0);
	bench_derive_figures(&g, &bench_icache, &real);
	EXPECT(fabs(figure(&g, "level 1", "NOP") - 1.02) < 0.01);
	EXPECT(fabs(figure(&g, "level 2", "NOP") - 2.22) < 0.01);
	EXPECT(fabs(figure(&g, "level 3", "NOP") - 5.65) < 0.05);
	EXPECT(figure(&g, "level 1 holds", "NOP") == 32 && isnan(figure(&g, "level 4", "NOP")));
	EXPECT(fabs(figure(&g, "level 2 holds", "NOP") - 128) < 3);
	bench_figures_free(&f);
	bench_figures_free(&g);
	bench_samples_free(&made);
	bench_samples_free(&real);
}

/* 2 KiB in level 1; a line more, and 9 of 33 are missed. OWN SMs have a level 2 of their own, the
 * others share one by two. */
static void constants(bool own)
{
	struct bench_samples samples = {.bench = "constant"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (int size = 256; size <= 4096; size += 64)
		put(&samples, "step 64", size, NAN,
		    size <= 2048   ? 30
		    : size == 2112 ? 30 + 60 * 9 / 33.0
				   : 90,
		    0.001);
	for (double size = 5792; size <= 65536; size *= sqrt(2))
		put(&samples, "step 64", floor(size), NAN, 90, 0.01);
	put(&samples, "first pass", 65536, NAN, 150, 0.01);
	for (int k = 0; k < 132; k++)
		put(&samples, "first pass by turn", k, NAN, own || k % 2 == 0 ? 150 : 90, 0.01);
	for (int k = 1; k <= 32; k++)
		put(&samples, "words of a warp", k, NAN, 26 + 4 * k, 0);
	bench_derive_figures(&f, &bench_constant, &samples);
	EXPECT(figure(&f, "level 1 holds", "step 64") == 2048);
	EXPECT(fabs(figure(&f, "level 2", "step 64") - 90) < 1);
	EXPECT(fabs(figure(&f, "missed, one line too many", "step 64") - 9) < 0.2);
	EXPECT(bench_noted(&f, "causes 9 misses in 33: sets of 8 lines"));
	EXPECT(fabs(figure(&f, "first pass of a launch", "step 256") - 150) < 1);
	EXPECT(bench_noted(&f, "Each of 132 SMs has its own level 2") == own);
	EXPECT(bench_noted(&f, "132 SMs share 66 caches") == !own);
	EXPECT(fabs(figure(&f, "each further word of a warp", NULL) - 4) < 1e-6);
	bench_figures_free(&f);
	bench_samples_free(&samples);
}

static void driven_out(void)
{
	struct bench_samples both = {.bench = "constant-icache"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (int kib = 0; kib <= 256; kib += 4) {
		double share = kib < 64 ? 0 : kib > 128 ? 1 : (kib - 64) / 64.0;

		put(&both, "first", 1024.0 * kib, NAN, 250, 0.02);
		put(&both, "second", 1024.0 * kib, NAN, 90, 0.02);
		put(&both, "behind code", 1024.0 * kib, NAN, 90 + 160 * share, 0.02);
	}
	bench_derive_figures(&f, &bench_constant_icache, &both);
	EXPECT(fabs(figure(&f, "code that drives constants out", "10 %") - 72) <= 4);
	EXPECT(fabs(figure(&f, "code that drives constants out", "90 %") - 124) <= 8);
	EXPECT(bench_noted(&f, "Code and constants share a cache"));
	bench_figures_free(&f);
	bench_samples_free(&both);
}

/* FFMAs lie LEAST apart at the least, a clear yield bit costs YIELD, and where ALONE each barrier
 * is waited for by its own number. */
static void control(int least, double yield, bool alone)
{
	struct bench_samples bits = {.bench = "control"};
	struct bench_figures f = {.gpu = {.cc_major = 9}};

	for (int stall = 0; stall <= 11; stall++) {
		int v = stall < least ? least : stall;

		put(&bits, "stay", stall, NAN, v, 0);
		put(&bits, "switch", stall, NAN, stall ? v + yield : 33, 0);
	}
	for (int set = 0; set < 6; set++)
		for (int wait = 0; wait < 6; wait++)
			put(&bits, "wait", set, wait,
			    set == wait || (!alone && set + wait == 1) ? 270 : 12, 0.02);
	put(&bits, "instructions", 0, NAN, 3000, 0);
	put(&bits, "with bits 126 or 127 set", 0, NAN, 0, 0);
	bench_derive_figures(&f, &bench_control, &bits);
	EXPECT(figure(&f, "FFMA behind FFMA, stall 1", "yield bit set") == least);
	EXPECT(figure(&f, "FFMA behind FFMA, stall 1", "yield bit clear") == least + yield);
	EXPECT(figure(&f, "FFMA behind FFMA, stall 0", "yield bit clear") == 33);
	EXPECT(fabs(figure(&f, "one cycle of stall more", "yield bit set") - 1) < 1e-6);
	EXPECT(fabs(figure(&f, "yield bit clear costs", NULL) - yield) < 1e-6);
	EXPECT(fabs(figure(&f, "wait for a load's barrier", "its own") - 270) < 6);
	EXPECT(fabs(figure(&f, "wait for a load's barrier", "another") - 12) < 1);
	EXPECT(bench_noted(&f, "are independent") == alone && bench_noted(&f, "Not all") == !alone);
	EXPECT(bench_noted(&f, "highest bits of all 3000 words"));
	bench_figures_free(&f);
	bench_samples_free(&bits);
}

/* Words are changed where they should be, and nowhere else. */
static void words(void)
{
	uint64_t ffma[2] = {0x0000001400147223, 0x140fe20000000007}, was = ffma[1];
	uint64_t clock[2] = {0x0000000000047805, 0x000fe40000015000};
	uint64_t code[3][2] = {{clock[0], clock[1]}, {ffma[0], ffma[1]}, {clock[0], clock[1]}};
	uint32_t first = 0, last = 0;
	struct nvs_sass_insn insn;

	code_set_stall(ffma, 9, false);
	code_set_reuse(ffma, 2);
	code_decode_insn(ffma, &insn);
	EXPECT(insn.control.stall == 9 && !insn.control.yield && insn.control.reuse == 2);
	EXPECT(insn.control.wait == 0 && insn.control.write_barrier == 7 &&
	       insn.control.read_barrier == 7);
	EXPECT(((ffma[1] ^ was) & ~(0x1full << 41 | 0xfull << 58)) == 0);
	EXPECT(code_find_bracket((const uint64_t(*)[2])code, 3, 0x023, 0x023, 1, &first, &last));
	EXPECT(first == 0 && last == 2);
	EXPECT(!code_find_bracket((const uint64_t(*)[2])code, 3, 0x023, 0x023, 2, &first, &last));
	EXPECT(!code_find_bracket((const uint64_t(*)[2])code, 2, 0x023, 0x023, 1, &first, &last));
}

/* A branch that was written is decoded as one to where it should go, in both encodings. */
static void branches(void)
{
	static const uint64_t self[2][2] = {{0xfffffff000007947, 0x000fc0000383ffff},
					    {0xfffffffc00fc7947, 0x000fc0000383ffff}};
	static const uint32_t to[] = {0, 3, 4, 6, 100, 4095};

	for (unsigned hopper = 0; hopper < 2; hopper++)
		for (unsigned k = 0; k < sizeof(to) / sizeof(*to); k++) {
			enum nvs_sass_form form = nvs_sass_form(hopper ? 90 : 80);
			uint64_t word[6][2] = {{0}};
			struct nvs_sass_flow flow;
			struct nvs_sass_insn insn;

			memcpy(word[2], self[hopper], 16);
			EXPECT(code_find_branch((const uint64_t(*)[2])word, 6) == word[2]);
			code_write_branch(word, self[hopper], 5, to[k], hopper);
			EXPECT(nvs_sass_insn(form, (const uint8_t *)word, sizeof(word), 5, &insn));
			nvs_sass_insn_flow(&insn, form, &flow);
			EXPECT(flow.flow == NVS_FLOW_BRANCH && flow.target_known && !flow.falls);
			EXPECT_EQ(flow.target, 16 * (int64_t)to[k]);
			EXPECT(insn.control.wait == 0x3f && insn.control.write_barrier == 7);
		}
}

int main(void)
{
	printf("seed %llu\n", (unsigned long long)state);
	nothing(&bench_schedulers, "two warps");
	nothing(&bench_banks, "R97, R99, RX");
	nothing(&bench_latencies, "FFMA");
	nothing(&bench_control, "stay");
	nothing(&bench_icache, "FFMA");
	nothing(&bench_constant, "step 64");
	nothing(&bench_constant_icache, "behind code");
	nothing(&bench_dpx, "VIADDMNMX");
	nothing(&bench_registers, "counted");
	nothing(&bench_registers, "ran");
	nothing(&bench_icache_owner, "victim of 8 KiB, other SM");
	nothing(&bench_uniform_banks, "UR1, UR3, URX");
	nothing(&bench_throughput, "MUFU.EX2");
	schedulers(4);
	schedulers(2);
	banks(2);
	banks(4);
	banks(0);
	uniform(2, false);
	uniform(4, false);
	uniform(0, false);
	uniform(0, true);
	throughputs();
	owner(32, 128, 0);
	owner(32, 0, 256);
	owner(32, 32, 0);
	registers(2, 255, 0);
	registers(2, 255, -1);
	registers(8, 259, 0);
	latencies();
	code();
	constants(true);
	constants(false);
	driven_out();
	control(1, 0, true);
	control(2, 1, false);
	words();
	branches();
	return expect_done();
}
