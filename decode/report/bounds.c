/* SPDX-License-Identifier: MIT */
/*
 * Without timing= the GPU's time stands in a trace where later submissions found it: in the slot
 * that their channel's releases count up. Between two of these lies a submission, and what the host
 * left between it and the one before: a bound, no time.
 */
#include "decode/report/bounds.h"
#include <errno.h>
#include "decode/calls/gputime.h"
#include "decode/calls/timing.h"

struct state {
	struct nvs_source *source;
	struct nvs_gputime *times;
	struct nvs_gputime_part part; /* of the submission in progress */
	int status;
};

static void on_bound(void *arg, uint32_t channel, uint64_t sequence, uint64_t ns)
{
	struct state *st = arg;
	int r = nvs_timing_bound(st->source->timing, channel, sequence, ns);

	st->status = st->status ? st->status : r;
}

static void on_found(void *arg, uint32_t group, uint64_t bytes, uint64_t ns)
{
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_gputime_part *p = &((struct state *)arg)->part;

	if (op->kind == NVS_OP_ACQUIRE && !p->awaits)
		p->awaits = op->sem.address;
	if (op->kind == NVS_OP_RELEASE && op->sem.by == NVS_BY_GRID)
		p->grid = op->sem.address;
	if (op->kind != NVS_OP_RELEASE || !(op->flags & NVS_OP_TIMESTAMP) ||
	    op->sem.op != NVS_SEM_SET || op->sem.by == NVS_BY_GRID ||
	    p->nreleases == NVS_GPUTIME_RELEASES)
		return 0;
	p->releases[p->nreleases].address = op->sem.address;
	p->releases[p->nreleases++].payload = (uint32_t)op->sem.payload;
	return 0;
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	const struct nvs_rec_submission *rec = s->rec;
	struct state *st = arg;
	struct nvs_gputime_part part = st->part;
	int64_t host;
	int r;

	st->part = (struct nvs_gputime_part){.channel = 0};
	if (!nvs_clock_since_start(st->source->trace, rec->rec.time, &host) || host < 0)
		return 0;
	part.channel = rec->channel;
	part.sequence = rec->sequence;
	part.continues = rec->rec.flags & NVS_SUB_CONTINUED;
	part.group = NVS_GPUTIME_OTHER;
	part.thread = NVS_NONE;
	part.gpu = s->channel->known ? s->channel->rec.gpu : NVS_NONE;
	part.engine = s->channel->rec.engine;
	part.host = (uint64_t)host + 1;
	part.seen.address = rec->progress_address;
	part.seen.payload = (uint32_t)rec->progress[0];
	part.seen.ns = rec->progress[1];
	r = nvs_gputime_add(st->times, &part);
	return r < 0 ? r : st->status;
}

int nvs_bounds_read(struct nvs_source *s)
{
	struct state st = {.source = s};
	struct nvs_reader reader = {.op = on_op, .submitted = on_submitted, .arg = &st};
	struct nvs_reading *reading;
	int r;

	st.times = nvs_gputime_new(on_found, &st);
	if (!st.times)
		return -ENOMEM;
	nvs_gputime_watch(st.times, on_bound);
	r = nvs_source_read(s, &reader, &reading);
	if (!r)
		nvs_gputime_end(st.times);
	nvs_gputime_free(st.times);
	return r ? r : st.status;
}
