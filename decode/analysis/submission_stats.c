/* SPDX-License-Identifier: MIT */
/* Finds or creates the cell of each submission and adds the submission to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/analysis/submission_stats.h"
#include "decode/calls/pass.h"
#include "decode/query/selection.h"
#include "decode/query/time_range.h"
#include "decode/query/api_names.h"

#define MAX_CELLS (1u << 24)

/* Hashes the key of a cell: stack, thread, channel and the call's API, since a stack that ends
 * inside the driver may belong to several APIs. The tag stays valid when cells are moved. */
static uint64_t cell_tag(const struct nvs_submission *sub, const struct nvs_call *call)
{
	const uint32_t key[] = {sub->rec->stack, sub->thread->thread, sub->channel->channel,
				call ? call->api->number : NVS_NONE};
	uint64_t tag = nvs_hash64(key, sizeof(key));

	return tag ? tag : 1; /* 0: submission not selected */
}

static struct nvs_submission_group *find_slot(const struct nvs_submission_groups *s, uint64_t tag)
{
	uint32_t i = (uint32_t)tag & s->mask;

	while (s->cells[i].used && s->cells[i].tag != tag)
		i = (i + 1) & s->mask;
	return s->cells + i;
}

static int grow_cells(struct nvs_submission_groups *s)
{
	uint32_t n = s->cells ? s->mask + 1 : 0, room = n ? 2 * n : 64;
	struct nvs_submission_group *old = s->cells, *cells;

	if (room > MAX_CELLS)
		return -E2BIG;
	cells = calloc(room, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	s->cells = cells;
	s->mask = room - 1;
	s->last = NULL;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].used)
			*find_slot(s, old[i].tag) = old[i];
	free(old);
	return 0;
}

static struct nvs_submission_group *find_cell(struct nvs_submission_groups *s,
					      const struct nvs_submission *sub,
					      const struct nvs_call *call)
{
	struct nvs_submission_group *c = s->last;

	if (c && c->tag == s->tag)
		return c;
	if (!s->cells || s->n >= s->mask / 4 * 3)
		if (grow_cells(s))
			return NULL;
	c = find_slot(s, s->tag);
	if (!c->used) {
		c->used = true;
		c->tag = s->tag;
		c->stack = sub->rec->stack;
		c->thread = sub->thread->thread;
		c->channel = sub->channel->channel;
		c->trace = s->source->index;
		c->api = call ? call->api : NULL;
		s->n++;
	}
	return s->last = c;
}

static int on_submission(void *arg, const struct nvs_submission *sub, const struct nvs_call *call)
{
	struct nvs_submission_groups *s = arg;
	struct nvs_submission_group *c;

	s->tag = 0;
	s->now = NULL;
	if (!nvs_range_has_submission(s->source, sub) ||
	    !nvs_range_has_time(s->source, sub->rec->rec.time) ||
	    !nvs_filter_nvtx(s->source, sub->rec->thread, sub->rec->rec.time))
		return 0;
	s->tag = cell_tag(sub, call);
	s->now = c = find_cell(s, sub, call);
	if (!c) {
		s->full = true;
		return -E2BIG;
	}
	c->submissions += !(sub->rec->rec.flags & NVS_SUB_CONTINUED);
	c->entries += sub->nentries;
	c->bytes += nvs_submission_bytes(sub);
	c->tally.unseen += nvs_submission_skipped(sub);
	return 0;
}

static uint64_t on_tag(void *arg, const struct nvs_submission *sub)
{
	return ((struct nvs_submission_groups *)arg)->tag;
}

static int on_op(void *arg, const struct nvs_submission *sub, const struct nvs_op *op)
{
	struct nvs_submission_groups *s = arg;
	struct nvs_submission_group *c = s->now;

	if (op->kind == NVS_OP_CODE) {
		/* Code belongs to the cell of the copy that uploaded it, also if this operation
		 * is not selected. */
		c = s->cells && op->code.tag ? find_slot(s, op->code.tag) : NULL;
		if (c && c->used)
			nvs_tally_add_code(&c->tally, op);
	} else if (c) {
		nvs_tally_add(&c->tally, op);
	}
	return 0;
}

struct nvs_submission_groups *nvs_submission_groups_new(struct nvs_source *s,
							struct nvs_pass_reader *reader)
{
	struct nvs_submission_groups *c = calloc(1, sizeof(*c));

	if (c)
		c->source = s;
	*reader = (struct nvs_pass_reader){
		.submission = on_submission, .op = on_op, .tag = on_tag, .calls = true, .arg = c};
	return c;
}

void nvs_submission_groups_free(struct nvs_submission_groups *c)
{
	if (c)
		free(c->cells);
	free(c);
}

static bool is_selected(const struct nvs_source *s, const struct nvs_submission_group *cell)
{
	return cell->used && nvs_filter_channel(s, cell->channel) &&
	       nvs_filter_thread(s, cell->thread) &&
	       (!s->query->api.n ||
		nvs_filter_api(s,
			       nvs_api_name(nvs_trace_callsite(s->trace, cell->stack), cell->api),
			       cell->stack));
}

const struct nvs_submission_group *nvs_submission_groups_next(const struct nvs_source *s,
							      uint32_t *at)
{
	const struct nvs_submission_groups *c = s->cells;

	while (c->cells && *at <= c->mask) {
		const struct nvs_submission_group *cell = c->cells + (*at)++;

		if (is_selected(s, cell))
			return cell;
	}
	return NULL;
}
