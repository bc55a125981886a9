/* SPDX-License-Identifier: MIT */
/* LINK: bench cli decode */
/* Results of the benchmarks of atomics, arithmetic, TMA, barriers, launches, products and clocks
 * for samples with known answers. */
#include <math.h>
#include <string.h>
#include "probe/bench/frame/internal.h"
#include "tests/unit/bench_made.h"
#include "tests/unit/expect.h"

#define SEED 20261124u
static uint64_t state = SEED;

static struct bench_samples samples;
static struct bench_figures figures;

/* Samples of VALUE, a hundredth up or down. */
static void give(const char *series, const char *x, const char *unit, double at, double value)
{
	struct bench_point *p = bench_point(bench_series(&samples, series, x, NULL, unit), at, NAN);

	for (int i = 0; i < BENCH_REPEATS; i++)
		bench_add_value(p, value * (1 + bench_noise(&state) / 100));
	p->sm_mhz = 2000;
}

static void ask(const char *bench)
{
	figures = (struct bench_figures){.gpu = {.name = "x", .cc_major = 9, .sms = 100}};
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

	return f && fabs(f->value - value) <= 0.03 * value + 0.01 && f->least <= f->value &&
	       f->value <= f->most;
}

/* A peer 500 cycles behind L2, which gives a tenth of what own memory does. */
static void p2p(void)
{
	give("load, own", "bytes", "cycles", 1 << 20, 250);
	give("load, peer", "bytes", "cycles", 1 << 20, 750);
	give("read, own", "bytes", "GB/s", 1 << 29, 4000);
	give("read, peer", "bytes", "GB/s", 1 << 29, 400);
	give("atom.add.u64, own", "bytes", "cycles", 1 << 20, 300);
	give("write, peer", "bytes", "GB/s", 1 << 29, 0);
	bench_point(bench_series(&samples, "red.add.u32, peer", "bytes", NULL, "Gop/s"), 1, NAN);
	ask("p2p");
	EXPECT(is("load", "peer", 750) && is("load", "own", 250) && is("read", "peer", 400));
	EXPECT(is("atom.add.u64", "own", 300));
	EXPECT(!bench_figure_find(&figures, "write", NULL));
	EXPECT(!bench_figure_find(&figures, "red.add.u32", NULL));
	EXPECT(bench_noted(&figures, "load: the other GPU's memory is ") &&
	       bench_noted(&figures, "read: the other GPU's memory"));
	EXPECT(figures.nnote == 2 && figures.nfigure == 5);
	done();
	ask("p2p");
	EXPECT(!figures.nfigure && !figures.nnote);
	done();
}

/* 30 cycles and 2 more for each thread; the load takes 23, with an atomic ahead 23 + 8. */
static void atomics(void)
{
	for (unsigned k = 1; k <= 32; k *= 2) {
		give("shared add.u32", "threads", "cycles", k, 28 + 2 * k);
		if (k < 32)
			give("shared load", "threads", "cycles", k, 23);
		give("shared red and load", "threads", "cycles", k, 31);
	}
	bench_point(bench_series(&samples, "global add.u32", "threads", NULL, "cycles"), 1, NAN);
	ask("atomics-latency");
	EXPECT(is("shared add.u32", "1 thread", 30) && is("shared add.u32", "32 threads", 92));
	EXPECT(is("shared atomic, pair", "1 thread", 8) ||
	       fabs(bench_figure_find(&figures, "shared atomic, pair", "1 thread")->value - 8) <
		       0.6);
	EXPECT(!bench_figure_find(&figures, "shared atomic, pair", "32 threads"));
	EXPECT(!bench_figure_find(&figures, "global add.u32", NULL));
	EXPECT(figures.npublished == 36 && bench_noted(&figures, "shared add.u32: "));
	done();
	ask("atomics-latency");
	EXPECT(!figures.nfigure && !figures.nnote && !figures.npublished);
	done();
}

static void throughput(void)
{
	give("red scenario 1", "threads on an address", "Gop/s", 1, 10);
	give("red scenario 1", "threads on an address", "Gop/s", 1024, 64);
	give("atom scenario 4", "blocks", "Gop/s", 528, 2400);
	bench_point(bench_series(&samples, "atom scenario 4", "blocks", NULL, "Gop/s"), 1, NAN);
	ask("atomics-throughput");
	EXPECT(is("red", "1: one block, adjacent words", 64));
	EXPECT(is("red, a clock", "1: one block, adjacent words", 32));
	EXPECT(is("atom, a clock", "4: many blocks, a line each", 1200));
	EXPECT(bench_noted(&figures, "adjacent words: fastest with 1024 threads on an address"));
	done();
}

/* 100 SMs at 2 GHz: 240 operations a clock, of 256, are 48 Top/s; of wgmma the best N counts. */
static void arithmetic(void)
{
	give("FFMA", "warps", "op/cycle/SM", 16, 240);
	give("wgmma bf16, A in shared memory", "N", "op/cycle/SM", 64, 3900);
	give("wgmma bf16, A in shared memory", "N", "op/cycle/SM", 256, 4000);
	give("wgmma bf16, A in shared memory, latency", "N", "cycles", 256, 128);
	bench_point(bench_series(&samples, "DFMA", "warps", NULL, "op/cycle/SM"), 16, NAN);
	ask("arithmetic");
	EXPECT(is("FFMA", "16 warps", 240) && is("FFMA", "all SMs", 48));
	EXPECT(is("wgmma bf16, A shared", "N 256", 4000));
	EXPECT(is("wgmma bf16, A shared", "all SMs", 800));
	EXPECT(figures.npublished == 3 && figures.published[0].value == 256 &&
	       figures.published[2].value == 4096);
	EXPECT(is("wgmma bf16, A shared", "latency N 256", 128));
	EXPECT(!bench_figure_find(&figures, "DFMA", NULL));
	done();
}

/* 600 cycles and 1 more for 32 bytes; 3,000 GB/s from 16 KiB in flight on. */
static void tma(void)
{
	for (unsigned size = 16; size <= 65536; size *= 2) {
		struct bench_point *p = bench_point(
			bench_series(&samples, "bulk, from L2", "bytes", NULL, "cycles"), size,
			NAN);

		bench_add_value(p, 600 + size / 32.0);
	}
	for (unsigned k = 1024; k <= 65536; k *= 2)
		give("copies of 1 KiB", "bytes in flight", "GB/s", k,
		     k < 16384 ? k * 3000.0 / 32768 : 3000);
	ask("tma");
	EXPECT(is("bulk, from L2", "32768 bytes", 1624));
	EXPECT(bench_noted(&figures, "bulk, from L2: 600 cycles plus 1 for each 32 bytes."));
	EXPECT(bench_noted(&figures, "16384 bytes in flight per SM reach 90 %"));
	done();
}

static void barriers(void)
{
	for (unsigned n = 1; n <= 8; n *= 2)
		give("barrier of a cluster", "blocks", "cycles", n, 100 + 20 * n);
	bench_point(bench_series(&samples, "barrier of a warp", "warps", NULL, "cycles"), 1, NAN);
	give("barrier of a cluster, relaxed", "blocks", "cycles", 1, 30);
	give("fence of a cluster", "blocks", "cycles", 1, 88);
	ask("barriers");
	EXPECT(bench_noted(&figures, "takes 120 cycles, of which its fence is 88: without it "
				     "(arrive.relaxed) it takes 30."));
	EXPECT(is("barrier of a cluster", "8 blocks", 260));
	EXPECT(!bench_figure_find(&figures, "barrier of a warp", NULL) && figures.ndrawn == 1);
	done();
	give("barrier of a cluster", "blocks", "cycles", 1, 120);
	ask("barriers");
	EXPECT(!bench_noted(&figures, "fence"));
	done();
}

static void launches(void)
{
	static const char *const name[] = {"end to begin", "end to begin, dependent launch"};

	for (int k = 0; k < 2; k++) {
		struct bench_point *p = bench_point(
			bench_series(&samples, name[k], "blocks of a cluster", NULL, "us"), 0, NAN);

		for (int i = 0; i < BENCH_REPEATS; i++)
			bench_add_value(p, k ? 0.5 : i < 5 ? 1.195 : 1.295);
	}
	ask("launch");
	/* Processes of two kinds: the mean, not one of them. */
	EXPECT(fabs(bench_figure_find(&figures, "end to begin", "no cluster")->value - 1.2495) <
		       1e-3 &&
	       !figures.npublished);
	EXPECT(bench_noted(
		&figures,
		"1.25 us after the end of the previous one, 0.50 us with dependent launch"));
	done();
	bench_point(bench_series(&samples, name[0], "blocks of a cluster", NULL, "us"), 0, NAN);
	ask("launch");
	EXPECT(!figures.nfigure && !figures.nnote);
	done();
}

static void products(void)
{
	give("FP16", "size", "Top/s", 1024, 400);
	give("FP16", "size", "Top/s", 8192, 800);
	bench_point(bench_series(&samples, "FP64", "size", NULL, "Top/s"), 1024, NAN);
	ask("matmul");
	EXPECT(is("FP16", "size 1024", 400) && is("FP16", "best", 800) && figures.npublished == 8);
	EXPECT(!bench_figure_find(&figures, "FP64", NULL));
	done();
	ask("matmul");
	EXPECT(!figures.nfigure && !figures.npublished);
	done();
}

static void clocks(void)
{
	give("SM clock", "size", "MHz", 512, 2000);
	give("SM clock", "size", "MHz", 16384, 1500);
	give("limited by power", "size", "share", 16384, 1);
	give("limited by temperature", "size", "share", 16384, 0);
	bench_point(bench_series(&samples, "power", "size", NULL, "W"), 512, NAN);
	ask("power");
	EXPECT(is("SM clock", "size 16384", 1500) && !bench_figure_find(&figures, "power", NULL));
	EXPECT(bench_noted(&figures, "The clock was limited by power at times") &&
	       !bench_noted(&figures, "temperature"));
	done();
	for (int i = 1; i <= 120; i++)
		give("SM clock", "seconds", "MHz", i / 2.0, 2000);
	ask("steady");
	EXPECT(figures.nfigure == 2 && is("SM clock", "seconds 60", 2000) && figures.ndrawn == 1);
	done();
}

/* 30 s at falling clocks; the second part of FP16 is missing. */
static void sustained(void)
{
	for (int i = 1; i <= 10; i++) {
		give("products", "seconds", "Top/s", 3 * i, i < 4 ? 1400 - 100 * i : 800);
		give("SM clock", "seconds", "MHz", 3 * i, i < 4 ? 1980 : 1200);
		give("limited by power", "seconds", "share", 3 * i, i > 3);
		give("FP16, products", "seconds", "Top/s", 3 * i, 600);
		give("FP16, SM clock", "seconds", "MHz", 3 * i, 1500);
		give("FP16, limited by power", "seconds", "share", 3 * i, 1);
		bench_series(&samples, "FP16, products", "seconds", NULL, "Top/s")->point[i - 1].n =
			i == 2 ? 0 : 11;
	}
	figures = (struct bench_figures){.gpu = {.name = "x", .boost_khz = 1980000}};
	samples.bench = "sustained";
	bench_derive_figures(&figures, bench_find_benchmark("sustained"), &samples);
	EXPECT(is("products", "seconds 3", 1300) && is("products", "seconds 30", 800));
	EXPECT(is("FP16, products", "seconds 30", 600) && is("FP16, SM clock", "seconds 30", 1500));
	EXPECT(bench_noted(&figures, "The clock was limited by power at times (FP16).") &&
	       bench_noted(&figures, "(FP16): 1"));
	done();
}

int main(void)
{
	printf("seed %u\n", SEED);
	p2p();
	atomics();
	throughput();
	arithmetic();
	tma();
	barriers();
	launches();
	products();
	clocks();
	sustained();
	return expect_done();
}
