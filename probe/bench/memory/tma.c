/* SPDX-License-Identifier: MIT */
/*
 * Measures Hopper's TMA copies: the time from issue until the mbarrier completes, by size; the same
 * for tiles of a tensor map and for multicast to a cluster; and how many bytes must be in flight to
 * reach the memory's bandwidth. Takes about 9 s.
 *
 * The distance to a line of L2 varies by some tens of cycles, and which lines are near is random: a
 * sample is the mean over PLACES. A waiting thread polls the mbarrier at most ASKS times, so a copy
 * that never arrives leaves no time (0) and the kernel terminates.
 */
#include <math.h>
#include <string.h>
#include "probe/bench/frame/bench.h"
#include "probe/lib/driver.h"

enum {
	MAX_POLLS = 1 << 20, /* polls of an mbarrier before giving up */
	PASSES = 4, /* consecutive copies; the last is kept */
	MAX_BYTES = 64 << 10, /* maximum bytes of a copy */
	OP_BULK = 0x1ba, /* UBLKCP */
	OP_TILE = 0x1b4, /* UTMALDG */
	PIECES = 64, /* maximum copies in flight */
	FIRST = 200, /* minimum cycles from issue to the first poll: no copy is faster */
	LATER = 8, /* increment of that delay for each launch */
	TIMES = 10, /* number of launches; the minimum is kept, because a poll takes about 70 cycles
		     */
	PLACES = 6,
	APART = 17 * MAX_BYTES, /* distance between places within L2 */
};

/* Size of the tensor in floats. */
enum { COLUMNS = 64, ROWS = 4096 };

enum tma_shape { BULK, TILE, MULTICAST };

/* Generates a wait for the mbarrier at %bar in phase %ph; %left counts down to 0 if it does not
 * complete. Uses test_wait, because try_wait may sleep. */
static void write_wait(struct bench_text *text, const char *label)
{
	bench_emit(text,
		   "mov.u32 %%left, %u;\n%s:\n"
		   "mbarrier.test_wait.parity.shared::cta.b64 %%p, [%%bar], %%ph;\n"
		   "@%%p bra %s_THERE;\nsub.u32 %%left, %%left, 1;\nsetp.ne.u32 %%q, %%left, 0;\n"
		   "@%%q bra %s;\n%s_THERE:\n",
		   MAX_POLLS, label, label, label, label);
}

/*
 * Generates the latency measurement by one thread. arg0: bytes, arg1: source, arg2: address of the
 * tensor map, arg6: cycles before the first poll, arg7: the tile's first row. Passes read other
 * bytes of the memory, arg3 apart; 0 for bytes that are in L2. Each pass is timed separately.
 */
static void write_latency(struct bench_text *text, enum tma_shape shape)
{
	bench_emit(text,
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
		bench_emit(text, "cvt.u16.u64 %%all, %%b_arg4;\nbarrier.cluster.arrive.aligned;\n"
				 "barrier.cluster.wait.aligned;\n");
	bench_emit(text, "@!%%first bra DONE;\nmov.u32 %%pass, 0; mov.u64 %%t1, 0;\nPASS:\n"
			 ".pragma \"nounroll\";\n"
			 "mbarrier.arrive.expect_tx.shared::cta.b64 %%s, [%%bar], %%size;\n");
	/* Every block's mbarrier expects its bytes before they are requested. Blocks have one
	 * active thread, so all threads of the cluster pass here. */
	if (shape == MULTICAST)
		bench_emit(text, "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
				 "setp.ne.u32 %%p, %%b_ctaid, 0;\n");
	bench_emit(text, "mov.u64 %%t0, %%clock64;\n");
	if (shape == MULTICAST)
		bench_emit(
			text,
			"@%%p bra ASKED;\n"
			"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
			".multicast::cluster [%%to], [%%from], %%size, [%%bar], %%all;\nASKED:\n");
	else if (shape == BULK)
		bench_emit(text,
			   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			   "[%%to], [%%from], %%size, [%%bar];\n");
	else
		bench_emit(text,
			   "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
			   "complete_tx::bytes [%%to], [%%b_arg2, {%%zero, %%y}], [%%bar];\n");
	bench_emit(text,
		   "STAY:\n.pragma \"nounroll\";\nmov.u64 %%t1, %%clock64;\n"
		   "sub.u64 %%t1, %%t1, %%t0; setp.lt.u64 %%q, %%t1, %%b_arg6;\n@%%q bra STAY;\n");
	write_wait(text, "WAIT");
	bench_emit(text,
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
		bench_emit(text, "bar.sync 0;\nbarrier.cluster.arrive.aligned;\n"
				 "barrier.cluster.wait.aligned;\n");
}

/*
 * Generates the stream: one thread of each block reads its part of the memory, arg3 bytes from arg1
 * + block * arg3 on, in arg4 copies of arg0 bytes with arg2 in flight, each with its own mbarrier
 * and buffer.
 */
static void write_stream(struct bench_text *text)
{
	bench_emit(text, ".reg .u32 %%bar, %%base, %%tile, %%to, %%size, %%ph, %%left, %%n, %%k, "
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
	/* The phase before the first one completes at once. */
	write_wait(text, "WAIT");
	bench_emit(text,
		   "setp.eq.u32 %%q, %%left, 0;\n@%%q bra LOST;\n"
		   "setp.ge.u32 %%q, %%i, %%n;\n@%%q bra NONE;\n"
		   "mad.lo.u32 %%to, %%slot, %%size, %%tile;\n"
		   "mbarrier.arrive.expect_tx.shared::cta.b64 %%s, [%%bar], %%size;\n"
		   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		   "[%%to], [%%from], %%size, [%%bar];\nadd.u64 %%from, %%from, %%b_arg0;\nNONE:\n"
		   "add.u32 %%slot, %%slot, 1; setp.eq.u32 %%q, %%slot, %%k;\n"
		   "@%%q mov.u32 %%slot, 0;\n@%%q xor.b32 %%ph, %%ph, 1;\n"
		   /* k more rounds only wait, so that everything has arrived */
		   "add.u32 %%i, %%i, 1; add.u32 %%left, %%n, %%k; setp.lt.u32 %%q, %%i, %%left;\n"
		   "@%%q bra NEXT;\nmad.wide.u32 %%s, %%b_ctaid, 8, %%b_data;\n"
		   "st.global.u64 [%%s], %%b_arg0;\nLOST:\nDONE:\n");
}

static struct bench_kernel *build_kernel(struct bench_run *run, const char *name,
					 struct bench_text *text, uint16_t op)
{
	return BENCH_KERNEL(run, text, .name = name, .threads = 32,
			    .declared = ".extern .shared .align 1024 .b8 tiles[];\n"
					".shared .align 8 .b64 barriers[64];\n",
			    .expect = {{op, 1, 1}});
}

/* Returns the minimum of TIMES launches; 0 if no copy arrived. With PLACE each copy reads from a
 * new place, and *PLACE is advanced. */
static uint64_t min_of_launches(struct bench_run *run, struct bench_kernel *kernel,
				struct bench_launch l, uint64_t *place)
{
	uint64_t shortest = 0, memory = l.arg[1];

	for (unsigned k = 0; k < TIMES; k++) {
		const uint64_t *t;
		uint64_t most = 0;

		l.arg[6] = FIRST + k * LATER;
		if (place) {
			l.arg[1] = memory + *place * MAX_BYTES;
			*place += PASSES;
		}
		t = bench_launch(run, kernel, &l, 8 * (l.grid + 1));
		for (uint32_t i = 0; t && i < l.grid; i++)
			most = t[i] > most ? t[i] : most;
		if (!most)
			return 0;
		shortest = !shortest || most < shortest ? most : shortest;
	}
	return shortest;
}

/* Returns the mean of the minima at PLACES; 0 if a copy did not arrive. */
static double mean_of_places(struct bench_run *run, struct bench_kernel *kernel,
			     struct bench_launch l, uint64_t *place)
{
	uint64_t memory = l.arg[1], sum = 0;

	for (unsigned k = 0; k < PLACES; k++) {
		uint64_t shortest;

		l.arg[1] = memory + (place ? 0 : k * (uint64_t)APART);
		l.arg[7] = k * (ROWS / PLACES);
		shortest = min_of_launches(run, kernel, l, place);
		if (!shortest)
			return 0;
		sum += shortest;
	}
	return (double)sum / PLACES;
}

/* Measures from memory whose bytes are in L2 because earlier passes have read them, or, with PLACE,
 * were never read. */
static void measure_latency(struct bench_run *run, struct bench_kernel *kernel, const char *name,
			    uint32_t size, const struct bench_launch *launch, uint64_t *place)
{
	struct bench_point *point = bench_add_point(run, name, "bytes", "cycles", size);

	for (int n = 0; n <= BENCH_REPEATS; n++) {
		double cycles = mean_of_places(run, kernel, *launch, place);

		if (cycles <= 0)
			break;
		if (n)
			bench_add_sample(run, point, cycles);
	}
	if (!point->n && !bench_is_dry(run))
		bench_add_missing(bench_samples(run), "%s, %u bytes: the copy did not arrive", name,
				  size);
}

static void measure_bulk(struct bench_run *run, uint64_t memory, size_t room)
{
	/* After the bytes that are read from L2. */
	uint64_t place = 1, needed = 13ull * (BENCH_REPEATS + 1) * PLACES * TIMES * PASSES + 1;
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_latency(&text, BULK);
	kernel = build_kernel(run, "tma bulk", &text, OP_BULK);
	if (!kernel)
		return;
	for (uint32_t size = 16; size <= MAX_BYTES; size *= 2) {
		struct bench_launch l = {
			.grid = 1, .block = 1, .shared = MAX_BYTES, .arg = {size, memory, 0, 0}};

		measure_latency(run, kernel, "bulk, from L2", size, &l, NULL);
		l.arg[3] = MAX_BYTES;
		if (room / MAX_BYTES >= needed)
			measure_latency(run, kernel, "bulk, from memory", size, &l, &place);
	}
}

static void measure_multicast(struct bench_run *run, uint64_t memory)
{
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_latency(&text, MULTICAST);
	kernel = build_kernel(run, "tma multicast", &text, OP_BULK);
	if (!kernel)
		return;
	for (uint32_t blocks = 2; blocks <= 16; blocks *= 2)
		for (uint32_t size = 16; size <= MAX_BYTES; size *= 4)
			measure_latency(run, kernel,
					bench_format("multicast to %u blocks, from L2", blocks),
					size,
					&(struct bench_launch){
						.grid = blocks,
						.block = 1,
						.cluster = blocks,
						.shared = MAX_BYTES,
						.arg = {size, memory, 0, 0, (1u << blocks) - 1}},
					NULL);
}

/* CU_TENSOR_MAP_DATA_TYPE_FLOAT32 of CUDA 12 and 13. */
enum { TYPE_FLOAT32 = 7 };

static void measure_tiles(struct bench_run *run, uint64_t memory)
{
	bool maps = cu.cuTensorMapEncodeTiled && !bench_is_dry(run);
	uint64_t map_at = bench_memory_alloc(run, 4096);
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_latency(&text, TILE);
	kernel = build_kernel(run, "tma tile", &text, OP_TILE);
	if (!kernel || !map_at)
		return;
	if (!maps && !bench_is_dry(run))
		bench_add_missing(bench_samples(run), "tiles: the driver has no tensor maps");
	for (uint32_t rows = 1; maps && rows <= 256; rows *= 2) {
		_Alignas(64) uint8_t map[128] = {0};
		uint64_t size[] = {COLUMNS, ROWS}, stride[] = {COLUMNS * 4};
		uint32_t box[] = {COLUMNS, rows}, one[] = {1, 1};
		void *at = NULL;

		memcpy(&at, &memory, sizeof at);
		if (cu.cuTensorMapEncodeTiled(map, TYPE_FLOAT32, 2, at, size, stride, box, one, 0,
					      0, 0, 0) ||
		    !bench_memory_write(run, map_at, map, sizeof map)) {
			bench_add_missing(bench_samples(run), "tiles of %u rows: no tensor map",
					  rows);
			continue;
		}
		measure_latency(run, kernel, "tile of 256-byte rows, from L2", rows * COLUMNS * 4,
				&(struct bench_launch){.grid = 1,
						       .block = 1,
						       .shared = MAX_BYTES,
						       .arg = {rows * COLUMNS * 4, 0, map_at}},
				NULL);
	}
}

/* Computes the bandwidth; none if a block did not copy all. ARG is the launch. */
static double compute_bandwidth(const struct bench_run *run, const void *results, void *arg)
{
	const struct bench_launch *l = arg;
	const uint64_t *copied = results;
	double seconds = bench_launch_seconds(run);

	for (uint32_t b = 0; b < l->grid; b++)
		if (copied[b] != l->arg[0])
			return NAN;
	return seconds > 0 ? (double)l->arg[3] * l->grid / seconds / 1e9 : NAN;
}

static void measure_stream(struct bench_run *run, uint64_t memory, size_t room)
{
	uint32_t sms = (uint32_t)bench_gpu(run)->sms;
	uint32_t shared = (uint32_t)bench_gpu(run)->shared_block_bytes - 2048;
	uint64_t part = room / sms & ~0xffffull;
	struct bench_text text = {0};
	struct bench_kernel *kernel;

	write_stream(&text);
	kernel = build_kernel(run, "tma stream", &text, OP_BULK);
	if (!kernel)
		return;
	for (uint32_t size = 1 << 10; size <= 16 << 10; size *= 4)
		for (uint32_t k = 1; k <= PIECES && k * size <= shared; k *= 2) {
			struct bench_launch l = {.grid = sms,
						 .block = 32,
						 .shared = k * size,
						 .arg = {size, memory, k, part, part / size}};

			bench_repeat(run, kernel, &l, 8ull * sms, compute_bandwidth, &l,
				     bench_add_point(run,
						     bench_format("copies of %u KiB", size >> 10),
						     "bytes in flight", "GB/s", k * size));
		}
}

static void measure_samples(struct bench_run *run)
{
	/* Many times the size of L2, and enough for the copies from memory. */
	size_t room = (size_t)4 << 30;
	uint64_t memory = bench_memory_alloc(run, room);

	if (!memory) {
		room = (size_t)bench_gpu(run)->l2_bytes * 16;
		room = room > (1u << 30) || !room ? 1u << 30 : room;
		memory = bench_memory_alloc(run, room);
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

	BENCH_EACH(p, series) {
		bench_add_point_figure(figures, series->name, bench_format("%g bytes", p->x),
				       series, p);
		/* The time of a large multicast depends on where the cluster is placed. */
		bench_mark_detail(figures,
				  p->x != 1024 && (p->x != MAX_BYTES ||
						   !strncmp(series->name, "multicast", 9)));
	}
	bench_fit_line(series, &slope, &start);
	if (slope > 0)
		bench_add_note(figures, "%s: %.0f cycles plus 1 for each %.0f bytes.", series->name,
			       start, 1 / slope);
	bench_add_plot(figures, "latency", "TMA: from issue to completion of the mbarrier", series,
		       true, true);
}

/* Derives how many bytes an SM must have in flight to reach 90 % of the maximum. */
static void derive_stream(const struct bench_series *series, struct bench_figures *figures)
{
	const struct bench_point *best = bench_find_best(series);
	double most = best ? bench_median(best) : 0, enough = NAN;

	BENCH_EACH(p, series) {
		bench_add_point_figure(figures, series->name,
				       bench_format("%g bytes in flight", p->x), series, p);
		bench_mark_detail(figures, p + 1 < series->point + series->n);
		if (bench_median(p) >= 0.9 * most && !(enough <= p->x))
			enough = p->x;
	}
	if (most > 0)
		bench_add_note(
			figures,
			"%s: at most %.0f GB/s; %.0f bytes in flight per SM reach 90 %% of it.",
			series->name, most, enough);
	bench_add_plot(figures, "stream", "TMA: bandwidth by bytes in flight a SM", series, true,
		       false);
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (uint32_t i = 0; i < samples->n; i++) {
		if (!strcmp(samples->series[i].unit, "GB/s"))
			derive_stream(&samples->series[i], figures);
		else
			derive_latency(&samples->series[i], figures);
	}
}

BENCH(bench_tma, "tma", "", "copies by TMA: latency by size, tiles, multicast, bytes in flight",
      measure_samples, derive_figures, .arch = 90);
