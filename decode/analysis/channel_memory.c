/* SPDX-License-Identifier: MIT */
/* Follows mappings and commands, and records the memory kinds of each channel. See
 * channel_memory.h. */
#include <errno.h>
#include "decode/analysis/channel_memory.h"
#include "decode/calls/pass.h"
#include "decode/gpu/pb.h"
#include "decode/query/selection.h"
#include "decode/base/keyed_rows.h"

#define PAGE_BITS 12
#define PAGES                                                         \
	(sizeof(((struct nvs_channel_memory_tracker *)NULL)->pages) / \
	 sizeof(struct nvs_page_lookup))

static const struct nvs_page_lookup *page_of(struct nvs_channel_memory_tracker *p, uint64_t address)
{
	struct nvs_address_space place = {p->source->trace, p->vaspace};
	uint64_t number = address >> PAGE_BITS;
	struct nvs_page_lookup *page = &p->pages[(number ^ number >> 8) % PAGES];

	if (page->age != p->age || page->number != number || page->vaspace != p->vaspace)
		*page = (struct nvs_page_lookup){number, p->vaspace, p->age,
						 nvs_address_memory(&place, address),
						 nvs_address_is_same(&place, address)};
	return page;
}

static void count_address(struct nvs_channel_memory_tracker *p, uint64_t address)
{
	p->now->addresses++;
	p->now->same += page_of(p, address)->same;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_channel_memory_tracker *p = arg;

	if (!p->now)
		return 0;
	switch (op->kind) {
	case NVS_OP_COPY:
	case NVS_OP_MEMSET:
	case NVS_OP_UPLOAD:
		if (op->copy.src && !(op->flags & NVS_OP_PHYSICAL_SRC))
			count_address(p, op->copy.src);
		if (!(op->flags & NVS_OP_PHYSICAL_DST))
			count_address(p, op->copy.dst);
		break;
	case NVS_OP_TRIGGER:
		count_address(p, op->launch.descriptor);
		break;
	case NVS_OP_RELEASE:
	case NVS_OP_ACQUIRE:
		/* A grid's release is in its QMD, not in the pushbuffer. */
		if (op->sem.by == NVS_BY_GRID)
			break;
		count_address(p, op->sem.address);
		p->now->in[NVS_SEMAPHORES] |= page_of(p, op->sem.address)->in;
		break;
	}
	return 0;
}

static int on_entry(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		    const struct nvs_gp *gp)
{
	struct nvs_channel_memory_tracker *p = arg;

	if (p->now && gp->dwords)
		p->now->in[NVS_PUSHBUFFER] |= page_of(p, gp->address)->in;
	return 0;
}

/* The GPFIFO ring and USERD never move, and are recorded before the first submission. */
static struct nvs_channel_memory *update_channel(struct nvs_channel_memory_tracker *p,
						 const struct nvs_trace_channel *c)
{
	struct nvs_channel_memory *l = nvs_rows_at(&p->channels, &c->channel);

	p->vaspace = c->rec.vaspace;
	if (!l || !c->known)
		return l;
	if (!l->in[NVS_RING] && c->rec.entries)
		l->in[NVS_RING] = page_of(p, c->rec.gpfifo)->in;
	if (!l->in[NVS_USERD])
		l->in[NVS_USERD] = nvs_userd_memory(p->source->trace, c);
	return l;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_channel_memory_tracker *p = arg;

	p->now = NULL;
	if (!nvs_filter_selects(p->source, s, call))
		return 0;
	p->now = update_channel(p, s->channel);
	return p->now ? 0 : -ENOMEM;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_channel_memory_tracker *p = arg;
	const struct nvs_trace_channel *c;

	switch (rec->type) {
	case NVS_REC_CPU_MAP:
	case NVS_REC_CPU_MAP_GONE:
	case NVS_REC_GPU_MAP:
	case NVS_REC_GPU_MAP_GONE:
		p->age++;
		break;
	case NVS_REC_CHANNEL:
		c = nvs_trace_channel_at(p->source->trace,
					 ((const struct nvs_rec_channel *)rec)->channel);
		return !c || update_channel(p, c) ? 0 : -ENOMEM;
	}
	return 0;
}

void nvs_channel_memory_begin(struct nvs_channel_memory_tracker *p, const struct nvs_source *s,
			      struct nvs_pass_reader *reader)
{
	*p = (struct nvs_channel_memory_tracker){
		.source = s, .age = 1, .channels = NVS_ROWS(struct nvs_channel_memory, channel)};
	*reader = (struct nvs_pass_reader){.submission = on_submission,
					   .entry = on_entry,
					   .op = on_op,
					   .record = on_record,
					   .calls = true,
					   .arg = p};
}
