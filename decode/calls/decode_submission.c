/* SPDX-License-Identifier: MIT */
/* Feeds submissions to the decoder: binds each channel's classes, and passes on every submission's
 * bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/calls/decode_submission.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"
#include "decode/trace/callsite.h"

struct nvs_submission_decoder {
	struct nvs_trace *trace;
	struct nvs_submission_sink sink;
	struct nvs_ops *ops;
	struct nvs_numbers channels; /* struct nvs_ops_channel */
	struct nvs_numbers threads; /* struct returned_calls */
	struct nvs_numbers callers; /* by stack: nvs_callsite_caller() */
	const struct nvs_submission *now; /* current submission */
};

#define MOST_DEPTH 8u /* maximum depth of nested calls that is distinguished */

/* For each depth, the number of returned calls at that depth or less. */
struct returned_calls {
	uint64_t returned[MOST_DEPTH];
};

static void pass_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		     const struct nvs_class *cls)
{
	struct nvs_submission_decoder *f = arg;

	f->sink.run(f->sink.arg, c, run, cls);
}

static void pass_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	struct nvs_submission_decoder *f = arg;

	if (f->sink.fault)
		f->sink.fault(f->sink.arg, fault);
}

static void pass_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct nvs_submission_decoder *f = arg;

	f->sink.op(f->sink.arg, f->now, op);
}

struct nvs_submission_decoder *nvs_submission_decoder_new(struct nvs_trace *trace,
							  const struct nvs_submission_sink *sink)
{
	struct nvs_submission_decoder *f = calloc(1, sizeof(*f));
	struct nvs_ops_sink ops = {sink->run ? pass_run : NULL, pass_fault,
				   sink->op ? pass_op : NULL, f};

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

void nvs_submission_decoder_free(struct nvs_submission_decoder *f)
{
	if (!f)
		return;
	nvs_ops_free(f->ops);
	nvs_numbers_free(&f->channels, NULL);
	nvs_numbers_free(&f->threads, free);
	nvs_numbers_free(&f->callers, NULL);
	free(f);
}

static int bind_object(void *arg, const struct nvs_trace_object *object)
{
	nvs_ops_channel_object(arg, object->object_class);
	return 0;
}

static void set_defaults(const struct nvs_submission_decoder *f, const struct nvs_trace_channel *c,
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

static int make_channel(struct nvs_submission_decoder *f, const struct nvs_trace_channel *tc)
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

/* Returns the decoder's channel, or NULL if there is none yet. */
static struct nvs_ops_channel *get_channel(const struct nvs_submission_decoder *f, uint32_t number)
{
	return nvs_number_get(&f->channels, number);
}

const struct nvs_qmd *nvs_decode_qmd(const struct nvs_submission_decoder *f,
				     const struct nvs_op *op)
{
	return nvs_ops_qmd(f->ops, op);
}

bool nvs_decode_read_memory(const struct nvs_submission_decoder *f, uint64_t address, void *bytes,
			    size_t n)
{
	return nvs_ops_read_memory(f->ops, address, bytes, n);
}

static uint32_t clamp_depth(uint32_t depth)
{
	return depth < MOST_DEPTH ? depth : MOST_DEPTH - 1;
}

static uint64_t get_caller(struct nvs_submission_decoder *f, uint32_t stack)
{
	uintptr_t caller = (uintptr_t)nvs_number_get(&f->callers, stack);

	if (caller)
		return caller;
	caller = nvs_callsite_caller(f->trace, stack) | 1;
	if (stack < NVS_MAX_NUMBER)
		nvs_number_set(&f->callers, stack, (void *)caller);
	return caller;
}

/* Returns a value that the submissions of one call share: its thread, its depth, and how many calls
 * have returned there before; if calls are not recorded, the driver's caller. */
static uint64_t compute_origin(struct nvs_submission_decoder *f, const struct nvs_submission *s)
{
	uint32_t depth = clamp_depth(s->rec->rec.flags >> NVS_SUB_CALL_SHIFT);
	const struct returned_calls *t = nvs_number_get(&f->threads, s->rec->thread);
	uint64_t thread = (uint64_t)s->rec->thread << 40;

	return depth ? thread | (uint64_t)depth << 36 | ((t ? t->returned[depth] : 0) & 0xfffffffff)
		     : thread | (get_caller(f, s->rec->stack) & 0xfffffffff);
}

static void count_return(struct nvs_submission_decoder *f, const struct nvs_rec_call *rec)
{
	struct returned_calls *t = rec->thread < NVS_MAX_NUMBER
					   ? nvs_number_make(&f->threads, rec->thread, sizeof(*t))
					   : NULL;

	for (uint32_t i = clamp_depth(rec->depth); t && i < MOST_DEPTH; i++)
		t->returned[i]++;
}

int nvs_decode_submission(struct nvs_submission_decoder *f, const struct nvs_submission *s,
			  uint64_t tag)
{
	uint32_t number = s->channel->channel;
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_ops_channel *c;
	struct nvs_segment seg;

	if (!get_channel(f, number)) {
		int r = make_channel(f, s->channel);

		if (r)
			return r;
	}
	c = get_channel(f, number);
	f->now = s;
	nvs_ops_begin(c, tag, compute_origin(f, s));
	while (nvs_segment_next(&it, &seg)) {
		struct nvs_gp gp;

		nvs_ops_entry(c, seg.entry, &gp);
		if (f->sink.entry)
			f->sink.entry(f->sink.arg, s, &seg, &gp);
		if (seg.data)
			nvs_ops_feed(c, seg.data, seg.bytes / 4);
		else if (gp.dwords)
			nvs_ops_skip_segment(c);
	}
	nvs_ops_end(c);
	f->now = NULL;
	return 0;
}

static void bind_new_object(struct nvs_submission_decoder *f, const struct nvs_rec_object *rec)
{
	const struct nvs_trace_channel *tc = nvs_trace_channel_of(f->trace, rec->client,
								  rec->parent);
	struct nvs_ops_channel *c = tc ? get_channel(f, tc->channel) : NULL;

	if (c)
		nvs_ops_channel_object(c, rec->object_class);
}

int nvs_decode_record(struct nvs_submission_decoder *f, const struct nvs_rec *rec)
{
	struct nvs_ops_channel *c;

	switch (rec->type) {
	case NVS_REC_CALL:
		count_return(f, (const struct nvs_rec_call *)rec);
		break;
	case NVS_REC_OBJECT:
		bind_new_object(f, (const struct nvs_rec_object *)rec);
		break;
	case NVS_REC_CHANNEL:
		c = get_channel(f, ((const struct nvs_rec_channel *)rec)->channel);
		if (c)
			nvs_ops_channel_host(c,
					     ((const struct nvs_rec_channel *)rec)->object_class);
		break;
	case NVS_REC_CHANNEL_GONE:
		c = get_channel(f, ((const struct nvs_rec_channel_gone *)rec)->channel);
		if (c) {
			nvs_number_set(&f->channels, nvs_ops_channel_info(c)->number, NULL);
			nvs_ops_channel_free(c);
		}
		break;
	}
	return 0;
}
