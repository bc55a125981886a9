/* SPDX-License-Identifier: MIT */
/* A consumer of the public decoder that requests everything, and reads every byte that it is given.
 *  */
#include <string.h>
#include "tests/fuzz/reading.h"

#define NODES 16u /* looked at of a graph each time: a large one may be launched very often */

static volatile uint64_t sum; /* so that no read is left out */

void fuzz_touch(const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t s = 0;

	while (size--)
		s = s * 31 + *p++;
	sum += s;
}

static void touch_text(const char *text)
{
	fuzz_touch(text, strlen(text));
}

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s,
			 const struct nvs_call *call)
{
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_segment seg;

	fuzz_touch(s->rec, sizeof(*s->rec));
	fuzz_touch(s->thread, sizeof(*s->thread));
	fuzz_touch(s->channel, sizeof(*s->channel));
	while (nvs_segment_next(&it, &seg))
		fuzz_touch(seg.data, seg.bytes);
	if (call)
		touch_text(nvs_call_api_name(call));
	return 0;
}

static int on_operation(void *arg, struct nvs_trace *t, const struct nvs_operation *o)
{
	touch_text(nvs_op_kind_name(o->op->kind));
	fuzz_touch(o->op, sizeof(*o->op));
	fuzz_touch(o->submission, sizeof(*o->submission));
	if (o->call)
		fuzz_touch(o->call, sizeof(*o->call));
	if (o->grid)
		fuzz_touch(o->grid, sizeof(*o->grid));
	return 0;
}

static int on_call(void *arg, struct nvs_trace *t, const struct nvs_call *call)
{
	uint64_t bytes, n;
	char text[64];

	fuzz_touch(call, sizeof(*call));
	touch_text(nvs_call_group_name(nvs_call_group(call)));
	for (uint32_t i = 0; i < call->nargs; i++) {
		struct nvs_arg a = nvs_call_arg_at(call, i);

		touch_text(a.name);
		touch_text(a.kind_name);
		if (a.string)
			fuzz_touch(a.string, a.length);
		touch_text(nvs_call_print(call, i, text, sizeof(text)));
	}
	nvs_call_copied(call, &bytes, &n);
	sum += nvs_call_ns(t, call->begin, call->end) + nvs_call_failed(call);
	touch_text(nvs_trace_callsite(t, call->stack)->api);
	return 0;
}

static int on_launch(void *arg, struct nvs_trace *t, const struct nvs_launch *l)
{
	fuzz_touch(l, sizeof(*l));
	touch_text(l->kernel);
	touch_text(nvs_call_api_name(l->call));
	return 0;
}

static int on_graph(void *arg, struct nvs_trace *t, const struct nvs_graph *g)
{
	uint32_t n = g->nnodes < NODES ? g->nnodes : NODES;

	fuzz_touch(g->nodes, n * sizeof(*g->nodes));
	for (uint32_t i = 0; i < n; i++)
		touch_text(nvs_graph_kernel(g, i));
	touch_text(nvs_graph_kernel(g, g->nnodes));
	return 0;
}

static int on_record(void *arg, struct nvs_trace *t, const struct nvs_rec *rec)
{
	fuzz_touch(rec, rec->size);
	return 0;
}

static int on_image(void *arg, struct nvs_trace *t, const struct nvs_trace_image *image)
{
	fuzz_touch(image, sizeof(*image));
	if (image->data)
		fuzz_touch(image->data, image->ndata);
	return 0;
}

static int on_finding(void *arg, struct nvs_trace *t, const struct nvs_finding *f)
{
	touch_text(f->text);
	return 0;
}

int fuzz_consume(struct nvs_trace *t, struct nvs_error *err)
{
	const struct nvs_consumer consumer = {
		.size = sizeof(consumer),
		.flags = NVS_READ_CALLS | NVS_READ_TALLIES,
		.submission = on_submission,
		.operation = on_operation,
		.call = on_call,
		.launch = on_launch,
		.graph = on_graph,
		.record = on_record,
		.finding = on_finding,
		.image = on_image,
	};

	return nvs_trace_read(t, &consumer, NULL, err);
}
