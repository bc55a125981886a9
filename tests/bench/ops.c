/* SPDX-License-Identifier: MIT */
/*
 * The speed of decoding: `ops [MEGABYTES]` makes kernel launches as libcuda writes them (393
 * dwords each) and decodes them to methods, to operations, and with the name of every method.
 * Prints GB/s and dwords/s for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "decode/gpu/ops.h"
#include "tests/unit/pbfeed.h"
#include "tests/unit/pbmake.h"

static uint64_t nops, nruns, nnames;

static void on_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	nops++;
}

static void on_run(void *arg, const struct nvs_pb_run *run)
{
	nruns++;
}

static void on_named(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		     const struct nvs_class *cls)
{
	for (uint32_t i = 0; i < run->count; i++) {
		struct nvs_method_at at;

		nnames += nvs_method_find(cls, nvs_pb_method(run, i), &at);
	}
}

/* One launch of the ring of slots that the driver goes round. */
static void make_launch(struct pb *pb, uint32_t i)
{
	uint64_t slot = 0x204e54000ull + (i % 1024) * 0x800,
		 bank = 0x7f1882580000ull + (i % 1024) * 0x400;
	struct qmd_spec aux = {
		.type = 1, .dependence = 2, .self_copy = 1, .dependent = slot + 0x800, .action = 1};
	struct qmd_spec grid = {.type = 2,
				.grid = {4, 1, 1},
				.block = {256, 1, 1},
				.program = 0x7f1883783200,
				.dependent = slot + 0x400,
				.action = 4,
				.release = 0x204637000 + i % 1024 * 8,
				.payload = 6,
				.bank = bank,
				.bank_bytes = 0x300};
	uint32_t constants[132] = {256, 1, 1}, q[96], five = 5;

	pb_upload(pb, bank, constants, 0x210);
	pb_upload(pb, bank + 0x210, constants, 0x18);
	qmd_make(q, &aux);
	pb_upload(pb, slot + 0x400, q, 384);
	pb_trigger(pb, slot + 0x400, 10);
	qmd_make(q, &grid);
	pb_upload(pb, slot, q, 384);
	pb_upload(pb, grid.release, &five, 4);
	pb_trigger(pb, slot, 10);
	pb_report(pb, 0x20460ffe0, i, 4);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* of this core, whatever else runs */
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

#define LAUNCHES 1024

static struct pb launches[LAUNCHES];

static void result(const char *what, uint64_t dwords, double start)
{
	double s = seconds() - start;

	printf("%-12s %6.2f GB/s  %7.1f Mdwords/s\n", what, (double)dwords * 4 / s / 1e9,
	       (double)dwords / s / 1e6);
}

static void with_ops(const char *what, uint64_t bytes, const struct nvs_ops_sink *sink)
{
	struct nvs_ops_channel_info info = {.number = 1, .host_class = 0xc86f};
	struct nvs_ops *ops = nvs_ops_new(sink);
	struct nvs_ops_channel *c = ops ? nvs_ops_channel_new(ops, &info) : NULL;
	double start = seconds();
	uint64_t dwords = 0;

	if (!c)
		exit(1);
	nvs_ops_channel_object(c, 0xcbc0);
	for (uint32_t i = 0; dwords * 4 < bytes; i++) {
		const struct pb *pb = &launches[i % LAUNCHES];
		struct nvs_gp gp;

		nvs_ops_begin(c, i, 0);
		nvs_ops_entry(c, 0x200000000ull | (uint64_t)pb->n << 42, &gp);
		nvs_ops_feed(c, pb->words, pb->n);
		nvs_ops_end(c);
		dwords += pb->n;
	}
	result(what, dwords, start);
	nvs_ops_free(ops);
}

int main(int argc, char **argv)
{
	uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 0) : 512) * 1000000, dwords = 0;
	struct nvs_pb_sink walk = {on_run, NULL, NULL};
	struct nvs_ops_sink plain = {.op = on_op}, named = {.op = on_op, .run = on_named};
	struct nvs_pb pb = {0};
	double start;

	for (uint32_t i = 0; i < LAUNCHES; i++)
		make_launch(&launches[i], i);
	start = seconds();
	for (uint32_t i = 0; dwords * 4 < bytes; i++) {
		const struct pb *p = &launches[i % LAUNCHES];
		struct nvs_gp gp;

		nvs_pb_start(&pb);
		nvs_pb_entry(&pb, 0x200000000ull | (uint64_t)p->n << 42, true, &walk, &gp);
		pb_feed(&pb, p->words, p->n, &walk);
		nvs_pb_finish(&pb, &walk);
		dwords += p->n;
	}
	result("walk", dwords, start);
	with_ops("operations", bytes, &plain);
	with_ops("names", bytes, &named);
	printf("%llu runs, %llu operations, %llu names\n", (unsigned long long)nruns,
	       (unsigned long long)nops, (unsigned long long)nnames);
	return 0;
}
