/* SPDX-License-Identifier: MIT */
/*
 * Identifies copies that are code, which only a later submission shows: in one API call the driver
 * invalidates caches, copies code and invalidates instruction caches. Code is thus what the same
 * call copied since the channel's last invalidation, on this channel or one it has waited for.
 * Copies by the program come from other calls; descriptors, constants and semaphore values are no
 * longer copies at this point.
 */
#include "decode/gpu/engine.h"

static uint32_t release_slot(uint64_t address)
{
	return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 52) % RELEASES;
}

static void note_copy(struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct nvs_ops *ops = c->ops;
	struct nvs_recent_copy *r = &ops->recent[++ops->clock % RECENT];

	*r = (struct nvs_recent_copy){ops->clock, op->copy.dst,	  op->copy.bytes, c->tag,
				      c->origin,  c->info.number, op->copy.mode};
}

static void note_release(struct nvs_ops_channel *c, uint64_t address)
{
	uint32_t i = release_slot(address);

	c->ops->releases[i].address = address;
	c->ops->releases[i].channel = c->info.number;
}

static void note_acquire(struct nvs_ops_channel *c, uint64_t address)
{
	uint32_t i = release_slot(address);

	if (c->ops->releases[i].address != address)
		return;
	c->acquired[c->nacquired % ACQUIRED].channel = c->ops->releases[i].channel;
	c->acquired[c->nacquired++ % ACQUIRED].clock = c->ops->clock;
}

static bool has_waited_for(const struct nvs_ops_channel *c, const struct nvs_recent_copy *r)
{
	if (r->channel == c->info.number)
		return true;
	for (uint32_t i = 0; i < ACQUIRED && i < c->nacquired; i++) {
		if (c->acquired[i].channel == r->channel && c->acquired[i].clock >= r->clock)
			return true;
	}
	return false;
}

static void deliver_code(struct nvs_ops_channel *c, const struct nvs_op *invalidation)
{
	struct nvs_ops *ops = c->ops;
	struct nvs_op op = *invalidation;

	op.kind = NVS_OP_CODE;
	op.flags = 0;
	for (uint32_t i = 1; i <= RECENT; i++) {
		const struct nvs_recent_copy *r = &ops->recent[(ops->clock + i) % RECENT];

		if (r->clock <= c->window || !r->bytes || r->origin != c->origin ||
		    !has_waited_for(c, r))
			continue;
		memset(&op.code, 0, sizeof(op.code));
		op.code.mode = r->mode;
		op.code.dst = r->dst;
		op.code.bytes = r->bytes;
		op.code.tag = r->tag;
		ops->sink.op(ops->sink.arg, c, &op);
	}
}

/* The host class's cache operations do not count. */
static bool is_engine_op(const struct nvs_op *op)
{
	const struct nvs_class *cls = nvs_class_find(op->cls);

	return cls && cls->kind != NVS_KIND_HOST;
}

void nvs_code_track_op(struct nvs_ops_channel *c, const struct nvs_op *op)
{
	switch (op->kind) {
	case NVS_OP_COPY:
		if (!(op->flags & NVS_OP_INCOMPLETE))
			note_copy(c, op);
		break;
	case NVS_OP_RELEASE:
		note_release(c, op->sem.address);
		break;
	case NVS_OP_ACQUIRE:
		note_acquire(c, op->sem.address);
		break;
	case NVS_OP_CACHE:
		if (op->flags & NVS_OP_INSTRUCTIONS)
			deliver_code(c, op);
		if (is_engine_op(op))
			c->window = c->ops->clock;
		break;
	}
}
