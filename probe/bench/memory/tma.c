/* SPDX-License-Identifier: MIT */
/*
 * Hopper's copies by TMA: how long one takes from its issue until its mbarrier says that it is
 * there, by size; the same of a tile that a tensor map names, and of a copy that all blocks of a
 * cluster get; and how many bytes must be in flight for the memory's bandwidth. Some 9 s.
 *
 * How far it is to a line of L2 depends on the line by some tens of cycles, and which lines are
 * near is chance: a sample is the mean over PLACES.
 *
 * Who waits asks the mbarrier at most ASKS times: a copy that never comes leaves no time (0), and
 * no kernel that does not end.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "probe/bench/frame/bench.h"

enum {
	ASKS = 1 << 20, /* of a mbarrier until it is given up */
	PASSES = 4, /* copies behind each other; the last is kept */
	MOST = 64 << 10, /* bytes of a copy */
	OP_BULK = 0x1ba, /* UBLKCP */
	OP_TILE = 0x1b4, /* UTMALDG */
	PIECES = 64, /* copies in flight at most */
	FIRST = 200, /* cycles from the issue to the first ask, at the least: sooner none is there
		      */
	LATER = 8, /* by so many cycles later each time ... */
	TIMES = 10, /* ... so often: the least is kept, since an ask takes some 70 */
	PLACES = 6,
	APART = 17 * MOST, /* from one place to the next, where L2 has them */
};

/* Of the tensor that tiles are of, in floats. */
enum { COLUMNS = 64, ROWS = 4096 };

enum shape { BULK, TILE, MULTICAST };

/* Waits for the mbarrier at %bar in the phase %ph; %left counts down, 0: it did not come. By
 * test_wait, since try_wait may sleep. */
static void say_wait(struct bench_text *text, const char *label)
{
	bench_say(text,
		  "mov.u32 %%left, %u;\n%s:\n"
		  "mbarrier.test_wait.parity.shared::cta.b64 %%p, [%%bar], %%ph;\n"
		  "@%%p bra %s_THERE;\nsub.u32 %%left, %%left, 1;\nsetp.ne.u32 %%q, %%left, 0;\n"
		  "@%%q bra %s;\n%s_THERE:\n",
		  ASKS, label, label, label, label);
}

/*
 * Of one thread: arg0: bytes, arg1: from, arg2: address of the tensor map, arg6: cycles to the
 * first ask, arg7: the tile's first row. Passes go to other bytes of the memory: arg3 is from how
 * far on, 0 for those that L2 has. One pass alone is inside of the clocks.
 */
static void say_latency(struct bench_text *text, enum shape shape)
{
	bench_say(text,
		  ".reg .u32 %%bar, %%to, %%size, %%ph, %%left, %%pass, %%y, %%zero;\n"
		  ".reg .u64 %%t0, %%t1, %%from, %%s; .reg .pred %%p, %%q, %%first; .reg .b16 "
		  "%%all;\n"
		  "mov.u32 %%bar, barriers; mov.u32 %%to, tiles; mov.u32 %%ph, 0;\n"
		  "cvt.u32.u64 %%y, %%b_arg7; mov.u32 %%zero, 0; cvt.u32.u64 %%size, %%b_arg0; "
		  "mov.u64 %%from, %%b_arg1;\n"
		  "setp.eq.u32 %%first, %%b_tid, 0;\n"
		  "@%%first mbarrier.init.shared::cta.b64 [%%bar], 1;\n"
		  "@%%first fence.mbarrier_init.release.cluster;\nbar.sync 0;\n");
	if (shape == MULTICAST)
		bench_say(text, "cvt.u16.u64 %%all, %%b_arg4;\nbarrier.cluster.arrive.aligned;\n"
				"barrier.cluster.wait.aligned;\n");
	bench_say(text, "@!%%first bra DONE;\nmov.u32 %%pass, 0; mov.u64 %%t1, 0;\nPASS:\n"
			".pragma \"nounroll\";\n"
			"mbarrier.arrive.expect_tx.shared::cta.b64 %%s, [%%bar], %%size;\n");
	/* Every block's mbarrier awaits its bytes before they are asked for. Blocks of one thread:
	 * all that are in the cluster come by here. */
	if (shape == MULTICAST)
		bench_say(text, "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
				"setp.ne.u32 %%p, %%b_ctaid, 0;\n");
	bench_say(text, "mov.u64 %%t0, %%clock64;\n");
	if (shape == MULTICAST)
		bench_say(
			text,
			"@%%p bra ASKED;\n"
			"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
			".multicast::cluster [%%to], [%%from], %%size, [%%bar], %%all;\nASKED:\n");
	else if (shape == BULK)
		bench_say(text, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
				"[%%to], [%%from], %%size, [%%bar];\n");
	else
		bench_say(text, "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
				"complete_tx::bytes [%%to], [%%b_arg2, {%%zero, %%y}], [%%bar];\n");
	bench_say(text,
		  "STAY:\n.pragma \"nounroll\";\nmov.u64 %%t1, %%clock64;\n"
		  "sub.u64 %%t1, %%t1, %%t0; setp.lt.u64 %%q, %%t1, %%b_arg6;\n@%%q bra STAY;\n");
	say_wait(text, "WAIT");
	bench_say(text,
		  "mov.u64 %%t1, %%clock64;\n"
		  "sub.u64 %%t1, %%t1, %%t0; setp.eq.u32 %%q, %%left, 0;\n"
		  "@%%q mov.u64 %%t1, 0;\n@%%q bra STORE;\n"
		  "xor.b32 %%ph, %%ph, 1; add.u64 %%from, %%from, %%b_arg3;\n"
		  "cvt.u32.u64 %%left, %%b_arg5; add.u32 %%y, %%y, %%left;\n"
		  "add.u32 %%pass, %%pass, 1; setp.lt.u32 %%p, %%pass, %u;\n@%%p bra PASS;\n"
		  "STORE:\nmad.wide.u32 %%s, %%b_ctaid, 8, %%b_data; st.global.u64 [%%s], %%t1;\n"
		  "DONE:\n",
		  PASSES);
	if (shape == MULTICAST)
		bench_say(text, "bar.sync 0;\nbarrier.cluster.arrive.aligned;\n"
				"barrier.cluster.wait.aligned;\n");
}

/*
 * Each block reads its part of the memory, arg3 bytes from arg1 + block * arg3 on, in copies of
 * arg0 bytes, arg4 of them, arg2 in flight, each with a mbarrier and a place of its own. One thread
 * does it.
 */
static void say_stream(struct bench_text *text)
{
	bench_say(text, ".reg .u32 %%bar, %%base, %%tile, %%to, %%size, %%ph, %%left, %%n, %%k, "
			"%%slot, %%i;\n"
			".reg .u64 %%from, %%s; .reg .pred %%p, %%q;\n"
			"setp.ne.u32 %%p, %%b_tid, 0;\n@%%p bra DONE;\n"
			"cvt.u32.u64 %%size, %%b_arg0; cvt.u32.u64 %%k, %%b_arg2;\n"
			"cvt.u64.u32 %%s, %%b_ctaid; mad.lo.u64 %%from, %%s, %%b_arg3, %%b_arg1;\n"
			"cvt.u32.u64 %%n, %%b_arg4;\n"
			"mov.u32 %%base, barriers; mov.u32 %%i, 0; mov.u32 %%tile, tiles;\n"
			"INIT:\nshl.b32 %%bar, %%i, 3; add.u32 %%bar, %%bar, %%base;\n"
			"mbarrier.init.shared::cta.b64 [%%bar], 1;\n"
			"add.u32 %%i, %%i, 1; setp.lt.u32 %%p, %%i, %%k;\n@%%p bra INIT;\n"
			"fence.mbarrier_init.release.cluster;\n"
			"mov.u32 %%i, 0; mov.u32 %%slot, 0; mov.u32 %%ph, 1;\nNEXT:\n"
			".pragma \"nounroll\";\n"
			"shl.b32 %%bar, %%slot, 3; add.u32 %%bar, %%bar, %%base;\n");
	/* The phase before the first one passes at once. */
	say_wait(text, "WAIT");
	bench_say(text,
		  "setp.eq.u32 %%q, %%left, 0;\n@%%q bra LOST;\n"
		  "setp.ge.u32 %%q, %%i, %%n;\n@%%q bra NONE;\n"
		  "mad.lo.u32 %%to, %%slot, %%size, %%tile;\n"
		  "mbarrier.arrive.expect_tx.shared::cta.b64 %%s, [%%bar], %%size;\n"
		  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		  "[%%to], [%%from], %%size, [%%bar];\nadd.u64 %%from, %%from, %%b_arg0;\nNONE:\n"
		  "add.u32 %%slot, %%slot, 1; setp.eq.u32 %%q, %%slot, %%k;\n"
		  "@%%q mov.u32 %%slot, 0;\n@%%q xor.b32 %%ph, %%ph, 1;\n"
		  /* k rounds more, which wait alone: all of it has come then */
		  "add.u32 %%i, %%i, 1; add.u32 %%left, %%n, %%k; setp.lt.u32 %%q, %%i, %%left;\n"
		  "@%%q bra NEXT;\nmad.wide.u32 %%s, %%b_ctaid, 8, %%b_data;\n"
		  "st.global.u64 [%%s], %%b_arg0;\nLOST:\nDONE:\n");
}

static struct bench_kernel *build(struct bench_run *run, const char *name, struct bench_text *text,
				  uint32_t threads, uint16_t op)
{
	struct bench_code code = {.name = name,
				  .body = text->data,
				  .threads = threads,
				  .declared = ".extern .shared .align 1024 .b8 tiles[];\n"
					      ".shared .align 8 .b64 barriers[64];\n",
				  .expect = {{op, 1, 1}}};
	struct bench_kernel *kernel = bench_kernel(run, &code);

	bench_text_free(text);
	return kernel;
}

/* The least of TIMES launches; 0: no copy came. PLACE: each from where none was; the next is behind
 * it. */
static uint64_t least_of(struct bench_run *run, struct bench_kernel *kernel, struct bench_launch l,
			 uint64_t *place)
{
	uint64_t least = 0, memory = l.arg[1];

	for (unsigned k = 0; k < TIMES; k++) {
		const uint64_t *t;
		uint64_t most = 0;

		l.arg[6] = FIRST + k * LATER;
		if (place) {
			l.arg[1] = memory + *place * MOST;
			*place += PASSES;
		}
		t = bench_launch(run, kernel, &l, 8 * (l.grid + 1));
		for (uint32_t i = 0; t && i < l.grid; i++)
			most = t[i] > most ? t[i] : most;
		if (!most)
			return 0;
		least = !least || most < least ? most : least;
	}
	return least;
}

/* The mean of the leasts at PLACES; 0: a copy did not come. */
static double sample_places(struct bench_run *run, struct bench_kernel *kernel,
			    struct bench_launch l, uint64_t *place)
{
	uint64_t memory = l.arg[1], sum = 0;

	for (unsigned k = 0; k < PLACES; k++) {
		uint64_t least;

		l.arg[1] = memory + (place ? 0 : k * (uint64_t)APART);
		l.arg[7] = k * (ROWS / PLACES);
		least = least_of(run, kernel, l, place);
		if (!least)
			return 0;
		sum += least;
	}
	return (double)sum / PLACES;
}

/* From a memory whose bytes are in L2, as passes before have read them, or never were read. */
static void sample_latency(struct bench_run *run, struct bench_kernel *kernel, const char *name,
			   uint32_t size, const struct bench_launch *launch, uint64_t *place)
{
	struct bench_series *series = bench_series(bench_samples(run), name, "bytes", NULL,
						   "cycles");
	struct bench_point *point = bench_point(series, size, NAN);

	for (int n = 0; n <= BENCH_REPEATS; n++) {
		double cycles = sample_places(run, kernel, *launch, place);

		if (cycles <= 0)
			break;
		if (n)
			bench_sample(run, point, cycles);
	}
	if (!point->n && !bench_dry(run))
		bench_missing(bench_samples(run), "%s, %u bytes: the copy did not come", name,
			      size);
}

static void measure_bulk(struct bench_run *run, uint64_t memory, size_t room)
{
	/* Behind what is read from L2. */
	uint64_t place = 1, needed = 13ull * (BENCH_REPEATS + 1) * PLACES * TIMES * PASSES + 1;
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	say_latency(&text, BULK);
	kernel = build(run, "tma bulk", &text, 32, OP_BULK);
	if (!kernel)
		return;
	for (uint32_t size = 16; size <= MOST; size *= 2) {
		struct bench_launch l = {
			.grid = 1, .block = 1, .shared = MOST, .arg = {size, memory, 0, 0}};

		sample_latency(run, kernel, "bulk, from L2", size, &l, NULL);
		l.arg[3] = MOST;
		if (room / MOST >= needed)
			sample_latency(run, kernel, "bulk, from memory", size, &l, &place);
	}
	bench_kernel_free(run, kernel);
}

static void measure_multicast(struct bench_run *run, uint64_t memory)
{
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	say_latency(&text, MULTICAST);
	kernel = build(run, "tma multicast", &text, 32, OP_BULK);
	if (!kernel)
		return;
	for (uint32_t blocks = 2; blocks <= 16; blocks *= 2) {
		char name[48];

		snprintf(name, sizeof name, "multicast to %u blocks, from L2", blocks);
		for (uint32_t size = 16; size <= MOST; size *= 4)
			sample_latency(run, kernel, name, size,
				       &(struct bench_launch){
					       .grid = blocks,
					       .block = 1,
					       .cluster = blocks,
					       .shared = MOST,
					       .arg = {size, memory, 0, 0, (1u << blocks) - 1}},
				       NULL);
	}
	bench_kernel_free(run, kernel);
}

/* cuTensorMapEncodeTiled(), values of CUtensorMap* as in cuda.h of CUDA 12 and 13. */
typedef int encode(void *map, int type, uint32_t rank, void *address, const uint64_t *size,
		   const uint64_t *stride, const uint32_t *box, const uint32_t *element,
		   int interleave, int swizzle, int promotion, int fill);
enum { TYPE_FLOAT32 = 7 };

static void measure_tiles(struct bench_run *run, uint64_t memory)
{
	union {
		void *address;
		encode *call;
	} found = {bench_driver(run, "cuTensorMapEncodeTiled")};
	uint64_t map_at = bench_memory(run, 4096);
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	say_latency(&text, TILE);
	kernel = build(run, "tma tile", &text, 32, OP_TILE);
	if (!kernel || !map_at)
		return;
	if (!found.address && !bench_dry(run))
		bench_missing(bench_samples(run), "tiles: the driver has no tensor maps");
	for (uint32_t rows = 1; found.address && rows <= 256; rows *= 2) {
		_Alignas(64) uint8_t map[128] = {0};
		uint64_t size[] = {COLUMNS, ROWS}, stride[] = {COLUMNS * 4};
		uint32_t box[] = {COLUMNS, rows}, one[] = {1, 1};
		void *at = NULL;

		memcpy(&at, &memory, sizeof at);
		if (found.call(map, TYPE_FLOAT32, 2, at, size, stride, box, one, 0, 0, 0, 0) ||
		    !bench_write(run, map_at, map, sizeof map)) {
			bench_missing(bench_samples(run), "tiles of %u rows: no tensor map", rows);
			continue;
		}
		sample_latency(run, kernel, "tile of 256-byte rows, from L2", rows * COLUMNS * 4,
			       &(struct bench_launch){.grid = 1,
						      .block = 1,
						      .shared = MOST,
						      .arg = {rows * COLUMNS * 4, 0, map_at}},
			       NULL);
	}
	bench_kernel_free(run, kernel);
}

static void measure_stream(struct bench_run *run, uint64_t memory, size_t room)
{
	static const uint32_t sizes[] = {1 << 10, 4 << 10, 16 << 10};
	uint32_t sms = (uint32_t)bench_gpu(run)->sms;
	uint32_t shared = (uint32_t)bench_gpu(run)->shared_block_bytes - 2048;
	uint64_t part = room / sms & ~0xffffull;
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	say_stream(&text);
	kernel = build(run, "tma stream", &text, 32, OP_BULK);
	if (!kernel)
		return;
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (uint32_t k = 1; k <= PIECES && k * sizes[i] <= shared; k *= 2) {
			char name[48];
			struct bench_series *series;
			struct bench_point *point;
			struct bench_launch l = {
				.grid = sms,
				.block = 32,
				.shared = k * sizes[i],
				.arg = {sizes[i], memory, k, part, part / sizes[i]}};

			snprintf(name, sizeof name, "copies of %u KiB", sizes[i] >> 10);
			series = bench_series(bench_samples(run), name, "bytes in flight", NULL,
					      "GB/s");
			point = bench_point(series, k * sizes[i], NAN);
			for (int n = 0; n <= BENCH_REPEATS; n++) {
				const uint64_t *t = bench_launch(run, kernel, &l, 8ull * sms);
				double seconds = bench_seconds(run);
				bool all = true;

				if (!t)
					break;
				for (uint32_t b = 0; b < sms; b++)
					all &= t[b] == sizes[i];
				if (n && all && seconds > 0)
					bench_sample(run, point,
						     (double)part * sms / seconds / 1e9);
			}
		}
	}
	bench_kernel_free(run, kernel);
}

static void measure(struct bench_run *run)
{
	/* Many times what L2 has, and as much as copies from memory want. */
	size_t room = (size_t)4 << 30;
	uint64_t memory = bench_memory(run, room);

	if (!memory) {
		room = (size_t)bench_gpu(run)->l2_bytes * 16;
		room = room > (1u << 30) || !room ? 1u << 30 : room;
		memory = bench_memory(run, room);
	}
	if (!memory)
		return;
	measure_bulk(run, memory, room);
	measure_tiles(run, memory);
	measure_multicast(run, memory);
	measure_stream(run, memory, room < 1u << 30 ? room : 1u << 30);
}

static void derive_latency(const struct bench_series *series, struct bench_figures *figures)
{
	double slope, start;

	for (uint32_t i = 0; i < series->n; i++) {
		char parameter[48];

		snprintf(parameter, sizeof parameter, "%g bytes", series->point[i].x);
		if (!series->point[i].n)
			continue;
		bench_figure_point(figures, series->name, parameter, series, &series->point[i]);
		/* How fast a large one comes to all of a cluster differs by where the cluster is.
		 */
		bench_detail(figures, series->point[i].x != 1024 &&
					      (series->point[i].x != MOST ||
					       !strncmp(series->name, "multicast", 9)));
	}
	bench_line(series, &slope, &start);
	if (slope > 0)
		bench_note(figures, "%s: %.0f cycles and 1 more for each %.0f bytes.", series->name,
			   start, 1 / slope);
	bench_picture(figures, "latency", "TMA: from issue until the mbarrier says so", series,
		      true, true);
}

/* How many bytes a SM must have in flight for nine tenths of the most that was seen. */
static void derive_stream(const struct bench_series *series, struct bench_figures *figures)
{
	double most = 0, enough = NAN;

	for (uint32_t i = 0; i < series->n; i++)
		most = fmax(most, series->point[i].n ? bench_median(&series->point[i]) : 0);
	for (uint32_t i = 0; i < series->n; i++) {
		const struct bench_point *p = &series->point[i];
		char parameter[48];

		if (!p->n)
			continue;
		snprintf(parameter, sizeof parameter, "%g bytes in flight", p->x);
		bench_figure_point(figures, series->name, parameter, series, p);
		bench_detail(figures, i + 1 < series->n);
		if (bench_median(p) >= 0.9 * most && !(enough <= p->x))
			enough = p->x;
	}
	if (most > 0)
		bench_note(
			figures,
			"%s: %.0f GB/s at most; %.0f bytes in flight a SM give nine tenths of it.",
			series->name, most, enough);
	bench_picture(figures, "stream", "TMA: bandwidth by bytes in flight a SM", series, true,
		      false);
}

static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	(void)gpu;
	for (uint32_t i = 0; i < samples->n; i++) {
		if (!strcmp(samples->series[i].unit, "GB/s"))
			derive_stream(&samples->series[i], figures);
		else
			derive_latency(&samples->series[i], figures);
	}
}

BENCH(bench_tma) = {
	.name = "tma",
	.number = "",
	.what = "copies by TMA: latency by size, tiles, multicast, bytes in flight",
	.arch = 90,
	.measure = measure,
	.derive = derive,
};
