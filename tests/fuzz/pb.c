/* SPDX-License-Identifier: MIT */
/* FUZZ: decode */
/*
 * Fuzz target: a command stream. The input is taken as submissions on two channels: a byte that
 * says how many entries, for each entry eight bytes as in the GPFIFO and then dwords, fed in
 * pieces. Methods are looked up and put in words, operations are paired. Beside it the same goes
 * the short way, without anyone who asks for methods, and has to come out the same.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/ops.h"
#include "decode/gpu/resync.h"
#include "decode/calls/semaphore_pairs.h"
#include "decode/gpu/method_format.h"
#include "tests/fuzz/fuzz.h"

struct pb_fuzz {
	struct nvs_ops *ops;
	struct nvs_ops *quick; /* the short way */
	uint64_t sum, quick_sum; /* of what each said */
	struct nvs_semaphore_pairs *sync;
	struct nvs_line_buffer line;
	uint64_t count;
};

static void pb_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	struct pb_fuzz *f = arg;

	for (uint32_t i = 0; i < run->count && i < 64; i++) {
		uint32_t method = nvs_pb_method(run, i);
		struct nvs_method_at at;

		nvs_line_start(&f->line);
		nvs_method_find(cls, method, &at);
		nvs_format_method(&f->line, &at, method);
		if (at.method) {
			nvs_format_fields(&f->line, at.method, run->data[i], i & 1);
			nvs_words_address(cls, &at, method);
		}
	}
}

static uint64_t sum_up(uint64_t sum, const struct nvs_op *op, const struct nvs_qmd *qmd)
{
	struct nvs_op copy = *op;
	const uint8_t *bytes = (const uint8_t *)&copy;

	/* Where a descriptor is kept is no matter. */
	if (copy.kind == NVS_OP_LAUNCH)
		copy.launch.qmd = qmd ? qmd->grid[0] : 0;
	for (size_t i = 0; i < sizeof(copy); i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3ull;
	return sum;
}

static void pb_quick(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct pb_fuzz *f = arg;

	f->quick_sum = sum_up(f->quick_sum, op, nvs_ops_qmd(f->quick, op));
}

static void pb_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct pb_fuzz *f = arg;
	struct nvs_sync_side who = {f->count, nvs_ops_channel_info(c)->number, .api = ""};

	f->sum = sum_up(f->sum, op, nvs_ops_qmd(f->ops, op));
	nvs_line_start(&f->line);
	nvs_format_op(&f->line, op, nvs_ops_qmd(f->ops, op), NULL);
	nvs_semaphore_pairs_op(f->sync, &who, op);
}

static void pb_pair(void *arg, const struct nvs_sync_pair *pair)
{
	((struct pb_fuzz *)arg)->count++;
}

static void pb_submission(struct nvs_ops_channel *c, struct nvs_ops_channel *quick,
			  const uint8_t **data, size_t *size)
{
	uint32_t entries = **data % 8, words[256];

	(*data)++;
	(*size)--;
	nvs_ops_begin(c, *size, 0);
	nvs_ops_begin(quick, *size, 0);
	while (entries-- && *size >= 8) {
		struct nvs_gp gp;
		size_t n, passed;
		uint64_t entry;

		memcpy(&entry, *data, 8);
		*data += 8;
		*size -= 8;
		nvs_ops_entry(quick, entry, &gp);
		nvs_ops_entry(c, entry, &gp);
		n = gp.dwords < 256 ? gp.dwords : 256;
		if (n > *size / 4)
			n = *size / 4;
		memcpy(words, *data, n * 4);
		FUZZ_HOLDS(nvs_resync(c, words, n, true, &passed) ? passed < n : passed == n);
		nvs_ops_feed(c, words, n / 2);
		nvs_ops_feed(c, words + n / 2, n - n / 2);
		nvs_ops_feed(quick, words, n);
		*data += n * 4;
		*size -= n * 4;
		if (entry >> 63) {
			nvs_ops_skip_segment(c);
			nvs_ops_skip_segment(quick);
		}
	}
	nvs_ops_end(c);
	nvs_ops_end(quick);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pb_fuzz f = {0};
	struct nvs_ops_sink sink = {pb_run, NULL, pb_op, &f};
	struct nvs_ops_channel_info info = {.number = 0,
					    .host_class = 0xc86f,
					    .defaults = {0xcb97, 0xcbc0, 0xa140, 0x902d, 0xc8b5}};
	struct nvs_ops_sink quick = {NULL, NULL, pb_quick, &f};
	struct nvs_ops_channel *c[2], *q[2];

	f.ops = nvs_ops_new(&sink);
	f.quick = nvs_ops_new(&quick);
	f.sync = nvs_semaphore_pairs_new(pb_pair, &f);
	c[0] = nvs_ops_channel_new(f.ops, &info);
	q[0] = nvs_ops_channel_new(f.quick, &info);
	info = (struct nvs_ops_channel_info){
		.number = 1, .host_class = 0xa06f, .defaults = {0, 0xa0c0, 0, 0, 0xa0b5}};
	c[1] = nvs_ops_channel_new(f.ops, &info);
	q[1] = nvs_ops_channel_new(f.quick, &info);
	for (uint32_t i = 0; size; i++)
		pb_submission(c[i & 1], q[i & 1], &data, &size);
	FUZZ_HOLDS(f.sum == f.quick_sum);
	nvs_semaphore_pairs_end(f.sync);
	nvs_semaphore_pairs_free(f.sync);
	nvs_ops_free(f.ops);
	nvs_ops_free(f.quick);
	nvs_line_free(&f.line);
	return 0;
}
