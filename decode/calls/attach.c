/* SPDX-License-Identifier: MIT */
/* Between the reader and operations: which class stands where, and every submission's bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/calls/attach.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"

struct nvs_attach {
	struct nvs_trace *trace;
	struct nvs_attach_sink sink;
	struct nvs_ops *ops;
	struct nvs_numbers channels; /* struct nvs_ops_channel */
	const struct nvs_submission *now; /* in progress */
};

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	struct nvs_attach *f = arg;

	f->sink.run(f->sink.arg, c, run, cls);
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	struct nvs_attach *f = arg;

	if (f->sink.fault)
		f->sink.fault(f->sink.arg, fault);
}

static void on_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct nvs_attach *f = arg;

	f->sink.op(f->sink.arg, f->now, op);
}

struct nvs_attach *nvs_attach_new(struct nvs_trace *trace, const struct nvs_attach_sink *sink)
{
	struct nvs_attach *f = calloc(1, sizeof(*f));
	struct nvs_ops_sink ops = {sink->run ? on_run : NULL, on_fault, sink->op ? on_op : NULL, f};

	if (!f)
		return NULL;
	f->trace = trace;
	f->sink = *sink;
	f->ops = nvs_ops_new(&ops);
	if (!f->ops) {
		free(f);
		return NULL;
	}
	return f;
}

void nvs_attach_free(struct nvs_attach *f)
{
	if (!f)
		return;
	nvs_ops_free(f->ops);
	nvs_numbers_free(&f->channels, NULL);
	free(f);
}

static int bind_object(void *arg, const struct nvs_trace_object *object)
{
	nvs_ops_channel_object(arg, object->object_class);
	return 0;
}

static void set_defaults(const struct nvs_attach *f, const struct nvs_trace_channel *c,
			 struct nvs_ops_channel_info *info)
{
	const struct nvs_rec_gpu *gpu = c->known ? nvs_trace_gpu(f->trace, c->rec.gpu) : NULL;
	const struct nvs_chip *chip = gpu ? nvs_chip_find(gpu->architecture, gpu->implementation)
					  : NULL;

	for (uint32_t kind = 0; chip && kind < NVS_KINDS; kind++) {
		uint32_t subch = nvs_subchannel_of(kind);

		if (subch < 8)
			info->defaults[subch] = chip->classes[kind];
	}
}

static int make_channel(struct nvs_attach *f, const struct nvs_trace_channel *tc)
{
	struct nvs_ops_channel_info info = {.number = tc->channel};
	struct nvs_ops_channel *c;

	info.host_class = tc->known ? (uint16_t)tc->rec.object_class : 0;
	set_defaults(f, tc, &info);
	c = nvs_ops_channel_new(f->ops, &info);
	if (!c || nvs_number_set(&f->channels, tc->channel, c)) {
		nvs_ops_channel_free(c);
		return -ENOMEM;
	}
	if (tc->known)
		nvs_trace_children(f->trace, tc->rec.client, tc->rec.handle, bind_object, c);
	return 0;
}

/* The channel of a number as operations see it; NULL: none yet. */
static struct nvs_ops_channel *channel_at(const struct nvs_attach *f, uint32_t number)
{
	return nvs_number_get(&f->channels, number);
}

const struct nvs_qmd *nvs_attach_qmd(const struct nvs_attach *f, const struct nvs_op *op)
{
	return nvs_ops_qmd(f->ops, op);
}

int nvs_attach_submission(struct nvs_attach *f, const struct nvs_submission *s, uint64_t tag)
{
	uint32_t number = s->channel->channel;
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_ops_channel *c;
	struct nvs_segment seg;

	if (!channel_at(f, number)) {
		int r = make_channel(f, s->channel);

		if (r)
			return r;
	}
	c = channel_at(f, number);
	f->now = s;
	nvs_ops_begin(c, tag);
	while (nvs_segment_next(&it, &seg)) {
		struct nvs_gp gp;

		nvs_ops_entry(c, seg.entry, &gp);
		if (f->sink.entry)
			f->sink.entry(f->sink.arg, s, &seg, &gp);
		if (seg.data)
			nvs_ops_feed(c, seg.data, seg.bytes / 4);
		else if (gp.dwords)
			nvs_ops_missing(c);
	}
	nvs_ops_end(c);
	f->now = NULL;
	return 0;
}

static void object_made(struct nvs_attach *f, const struct nvs_rec_object *rec)
{
	const struct nvs_trace_channel *tc = nvs_trace_channel_of(f->trace, rec->client,
								  rec->parent);
	struct nvs_ops_channel *c = tc ? channel_at(f, tc->channel) : NULL;

	if (c)
		nvs_ops_channel_object(c, rec->object_class);
}

int nvs_attach_record(struct nvs_attach *f, const struct nvs_rec *rec)
{
	struct nvs_ops_channel *c;

	switch (rec->type) {
	case NVS_REC_OBJECT:
		object_made(f, (const struct nvs_rec_object *)rec);
		break;
	case NVS_REC_CHANNEL:
		c = channel_at(f, ((const struct nvs_rec_channel *)rec)->channel);
		if (c)
			nvs_ops_channel_host(c,
					     ((const struct nvs_rec_channel *)rec)->object_class);
		break;
	case NVS_REC_CHANNEL_GONE:
		c = channel_at(f, ((const struct nvs_rec_channel_gone *)rec)->channel);
		if (c) {
			nvs_number_set(&f->channels, nvs_ops_channel_info(c)->number, NULL);
			nvs_ops_channel_free(c);
		}
		break;
	}
	return 0;
}
