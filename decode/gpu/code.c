/* SPDX-License-Identifier: MIT */
/*
 * What only a later submission tells: that bytes copied earlier were instructions, because
 * instruction caches are invalidated next.
 */
#include "decode/gpu/engine.h"

static uint32_t release_slot(uint64_t address)
{
	return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 52) % RELEASES;
}

void nvs_code_released(struct nvs_ops_channel *c, uint64_t address)
{
	uint32_t i = release_slot(address);

	c->ops->releases[i].address = address;
	c->ops->releases[i].channel = c->info.number;
}

void nvs_code_acquired(struct nvs_ops_channel *c, uint64_t address)
{
	uint32_t i = release_slot(address);

	if (c->ops->releases[i].address != address)
		return;
	c->acquired[c->nacquired % ACQUIRED].channel = c->ops->releases[i].channel;
	c->acquired[c->nacquired++ % ACQUIRED].clock = c->ops->clock;
}

static bool waited_for(const struct nvs_ops_channel *c, const struct nvs_recent_copy *r)
{
	if (r->channel == c->info.number)
		return true;
	for (uint32_t i = 0; i < ACQUIRED && i < c->nacquired; i++) {
		if (c->acquired[i].channel == r->channel && c->acquired[i].clock >= r->clock)
			return true;
	}
	return false;
}

/*
 * The driver invalidates caches, copies code, and invalidates instruction caches: what was copied
 * between the two, by this channel or by one that it has waited for, is code.
 */
void nvs_code_invalidated(struct nvs_ops_channel *c, uint32_t subch, bool instructions, uint64_t at)
{
	struct nvs_ops *ops = c->ops;

	for (uint32_t i = 1; instructions && i <= RECENT; i++) {
		const struct nvs_recent_copy *r = &ops->recent[(ops->clock + i) % RECENT];
		struct nvs_op *op;

		if (r->clock <= c->window || !r->bytes || !waited_for(c, r))
			continue;
		op = nvs_ops_add(c, NVS_OP_CODE, subch, at);
		if (!op)
			return;
		op->code.mode = r->mode;
		op->code.dst = r->dst;
		op->code.bytes = r->bytes;
		op->code.tag = r->tag;
	}
	c->window = ops->clock;
}
