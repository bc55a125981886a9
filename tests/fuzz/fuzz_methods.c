/* SPDX-License-Identifier: MIT */
/* FUZZ: decode */
/*
 * Command streams: the pushbuffer walk, the operations that methods make, and launch descriptors. The first
 * words say how the stream is cut into entries and pieces.
 */
#include <string.h>
#include "decode/ops.h"
#include "tests/fuzz/fuzz.h"

static volatile uint64_t sum;

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run, const struct nvs_class *cls)
{
	uint32_t value;

	for (uint32_t i = 0; i < run->count; i++)
		sum += run->data[i] + nvs_pb_method(run, i);
	nvs_ops_method(c, run->subch, run->method, &value);
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	sum += strlen(nvs_pb_fault_name(fault->kind));
}

static void on_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	const struct nvs_qmd *q = op->kind == NVS_OP_LAUNCH ? nvs_ops_qmd(arg, op) : NULL;

	sum += strlen(nvs_op_kind_name(op->kind)) + (q ? q->program + q->nbanks : 0);
}

static void descriptor(const uint32_t *words, size_t n)
{
	static const uint32_t classes[] = { 0xc3c0, 0xc5c0, 0xc6c0, 0xc7c0, 0xc9c0, 0xcbc0, 0xcdc0, 0xcec0 };
	struct nvs_qmd_layouts *l = nvs_qmd_layouts_new();
	struct nvs_qmd q;

	for (size_t i = 0; l && i < sizeof(classes) / sizeof(*classes); i++) {
		nvs_qmd_plausible(l, words, n, classes[i]);
		nvs_qmd_decode(l, words, n, classes[i], &q);
		sum += nvs_qmd_bits(words, n, words[0], words[n - 1]);
	}
	nvs_qmd_layouts_free(l);
}

static void stream(const uint32_t *words, size_t n, uint32_t how)
{
	struct nvs_ops_channel_info info = {
		.host_class = how & 1 ? 0xc86f : 0xc46f,
		.defaults = { 0xcb97, 0xcbc0, 0xa140, 0x902d, 0xc8b5 },
	};
	struct nvs_ops_sink sink = { .run = on_run, .fault = on_fault, .op = on_op };
	struct nvs_ops_channel *c;
	struct nvs_ops *ops;
	struct nvs_gp gp;

	sink.arg = NULL;
	ops = nvs_ops_new(&sink);
	if (!ops)
		return;
	nvs_ops_free(ops);
	sink.arg = ops;
	ops = nvs_ops_new(&sink);
	c = ops ? nvs_ops_channel_new(ops, &info) : NULL;
	while (c && n) {
		size_t piece = how >> 4 ? (how >> 4) % 97 + 1 : n, first = piece < n ? piece : n;

		nvs_ops_begin(c, n);
		nvs_ops_entry(c, (uint64_t)first << 42 | (uint64_t)(n * 4096 & 0xfffffffffc), &gp);
		if (how & 2 && n % 7 == 0)
			nvs_ops_missing(c);
		else
			nvs_ops_feed(c, words, first);
		nvs_ops_end(c);
		words += first;
		n -= first;
	}
	nvs_ops_free(ops);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint32_t words[16384];
	size_t n = size / 4;

	if (n < 2)
		return 0;
	if (n > sizeof(words) / sizeof(*words))
		n = sizeof(words) / sizeof(*words);
	memcpy(words, data, n * 4);
	if (words[0] & 8)
		descriptor(words + 1, n - 1);
	else
		stream(words + 1, n - 1, words[0]);
	return 0;
}
