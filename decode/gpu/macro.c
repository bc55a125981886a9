/* SPDX-License-Identifier: MIT */
/*
 * Uploads whose bytes a front-end macro fetches or generates. The macro's effect is inferred from
 * its arguments when an upload of N dwords is set up and has received no data: called with (N, V)
 * it fills with V; with (address high, low, N) it copies from that address.
 */
#include <string.h>
#include "decode/gpu/engine.h"

void nvs_macro_start(struct nvs_ops_channel *c, struct nvs_subch *sub, uint32_t method,
		     uint32_t value)
{
	struct nvs_method_at m;

	nvs_macro_close(c, sub);
	nvs_method_find(sub->cls, method, &m);
	sub->macro.open = true;
	sub->macro.number = (uint8_t)m.index;
	sub->macro.nargs = 1;
	sub->macro.args[0] = value;
}

void nvs_macro_arg(struct nvs_subch *sub, uint32_t value)
{
	if (sub->macro.open && sub->macro.nargs < MAX_MACRO_ARGS)
		sub->macro.args[sub->macro.nargs] = value;
	sub->macro.nargs += sub->macro.open;
}

void nvs_macro_close(struct nvs_ops_channel *c, struct nvs_subch *sub)
{
	struct nvs_macro_call *m = &sub->macro;
	struct nvs_inline_transfer *t = &sub->transfer;
	struct nvs_op *op = nvs_inline_op(c, t);
	uint64_t dwords = (t->bytes + 3) / 4;

	if (!m->open)
		return;
	m->open = false;
	if (!t->open || t->received)
		return;
	if (op) {
		op->copy.mode = NVS_COPY_MACRO;
		op->copy.macro = m->number;
	}
	if (m->nargs == 2 && m->args[0] == dwords) {
		if (op) {
			op->kind = NVS_OP_MEMSET;
			op->copy.element = 4;
			memcpy(op->copy.value, &m->args[1], 4);
		}
		nvs_memimage_fill(c->ops->image, t->address, &m->args[1], 4, t->bytes);
		nvs_inline_finish(c, sub, NULL);
	} else if (m->nargs == 3 && m->args[2] == dwords) {
		uint64_t src = (uint64_t)m->args[0] << 32 | m->args[1];

		if (op)
			op->copy.src = src;
		nvs_memimage_copy(c->ops->image, t->address, src, t->bytes);
		nvs_inline_finish(c, sub, NULL);
	}
}
