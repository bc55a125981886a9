/* SPDX-License-Identifier: MIT */
/*
 * Bytes that travel in the pushbuffer: inline uploads (LAUNCH_DMA, then LOAD_INLINE_DATA), inline
 * launch descriptors, and uploads whose bytes a macro of the front end fetches or makes.
 *
 * What a macro does is told by what it is given: an upload of N dwords has been set up and no data
 * has come; called with (N, V) it fills with V, with (address high, low, N) it fetches from there.
 */
#include <string.h>
#include "decode/gpu/ops-internal.h"

static uint32_t subch_of(const struct nvs_ops_channel *c, const struct subch *sub)
{
	return (uint32_t)(sub - c->subch);
}

static struct nvs_op *op_of(struct nvs_ops_channel *c, const struct transfer *t)
{
	return t->op == NO_OP ? NULL : &c->ops->list[t->op];
}

/*
 * An upload that is as long as a descriptor and looks like one is kept longer. DATA: its dwords
 * where they came at once, else NULL: they are in the image.
 */
static void note_descriptor(struct nvs_ops_channel *c, const struct subch *sub, uint64_t address,
			    uint64_t bytes, const uint32_t *data, struct nvs_op *op)
{
	uint32_t words[NVS_QMD_MAX_BYTES / 4];
	enum nvs_qmd_look look;

	if (bytes > sizeof(words) || bytes < 256 || address % 256 || !sub->cls)
		return;
	if (!data) {
		if (!nvs_memimage_read(c->ops->image, address, words, bytes))
			return;
		data = words;
	}
	look = nvs_qmd_plausible(c->ops->layouts, data, bytes / 4, sub->cls->id);
	if (look == NVS_QMD_NO)
		return;
	if (op && look == NVS_QMD_AUXILIARY)
		op->flags |= NVS_OP_AUXILIARY;
	nvs_memimage_keep(c->ops->image, address, bytes);
	nvs_ops_note_upload(c->ops, address, sub->cls->id);
}

/* All bytes of the transfer have come (DATA: at once), or a macro has brought them. */
static void finish(struct nvs_ops_channel *c, struct subch *sub, const uint32_t *data)
{
	struct transfer *t = &sub->transfer;
	const struct nvs_roles *r = sub->roles;
	struct nvs_op *op = op_of(c, t);
	uint32_t launch = sub->state[r->regs[NVS_REG_COMPLETION].dword];
	uint64_t at = op ? op->at : 0;

	t->open = false;
	if (!op || op->kind == NVS_OP_COPY)
		nvs_ops_note_copy(c, op ? op->copy.mode : NVS_COPY_INLINE, t->address, t->bytes);
	if (t->linear && t->width == t->bytes)
		note_descriptor(c, sub, t->address, t->bytes, data, op);
	if (nvs_reg_of(r, NVS_REG_COMPLETION, launch) != 2)
		return;
	nvs_ops_release(c, subch_of(c, sub), at,
			(uint64_t)nvs_reg_get(r, sub->state, NVS_REG_SEM_HI) << 32 |
				nvs_reg_get(r, sub->state, NVS_REG_SEM_LO),
			nvs_reg_get(r, sub->state, NVS_REG_SEM_PAYLOAD),
			nvs_reg_of(r, NVS_REG_COMPLETION_SIZE, launch) ? 0 : NVS_OP_TIMESTAMP,
			nvs_reg_of(r, NVS_REG_SEM_REDUCE, launch)
				? (int)nvs_reg_of(r, NVS_REG_SEM_REDUCTION, launch)
				: SET_PAYLOAD);
}

void nvs_ops_inline_start(struct nvs_ops_channel *c, struct subch *sub, uint32_t launch,
			  uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	struct transfer *t = &sub->transfer;
	uint32_t lines = nvs_reg_get(r, s, NVS_REG_LINES);
	struct nvs_op *op;

	nvs_ops_inline_close(c, sub);
	op = nvs_ops_add(c, NVS_OP_COPY, subch_of(c, sub), at);
	memset(t, 0, sizeof(*t));
	t->op = op ? c->ops->count - 1 : NO_OP;
	t->width = nvs_reg_get(r, s, NVS_REG_WIDTH);
	t->pitch = nvs_reg_get(r, s, NVS_REG_PITCH_OUT);
	t->bytes = (uint64_t)t->width * lines;
	t->address = (uint64_t)nvs_reg_get(r, s, NVS_REG_OUT_HI) << 32 |
		     nvs_reg_get(r, s, NVS_REG_OUT_LO);
	t->linear = nvs_reg_of(r, NVS_REG_DST_LAYOUT, launch);
	t->open = true;
	if (op) {
		op->copy.mode = NVS_COPY_INLINE;
		op->copy.width = t->width;
		op->copy.lines = lines;
		op->copy.dst = t->address;
		op->copy.bytes = t->bytes;
		op->copy.dst_pitch = lines > 1 ? t->pitch : 0;
		op->flags = (t->linear ? 0 : NVS_OP_BLOCKLINEAR_DST) |
			    (lines > 1 ? NVS_OP_TWO_D : 0);
	}
	/* How lines are packed is not told anywhere, so only single ones go into the image. */
	if (lines > 1 || !t->linear)
		nvs_memimage_forget(c->ops->image, t->address,
				    lines > 1 ? (uint64_t)t->pitch * lines : t->bytes);
	if (!t->bytes)
		finish(c, sub, NULL);
}

void nvs_ops_inline_data(struct nvs_ops_channel *c, struct subch *sub, const uint32_t *data,
			 uint32_t n)
{
	struct transfer *t = &sub->transfer;
	uint64_t left = t->bytes - t->received, given = 4ull * n;

	if (!t->open)
		return;
	if (given > left)
		given = left;
	if (t->linear && t->width == t->bytes)
		nvs_memimage_write(c->ops->image, t->address + t->received, data, given);
	t->received += given;
	if (t->received == t->bytes)
		finish(c, sub, t->bytes == given ? data : NULL);
}

void nvs_ops_inline_whole(struct nvs_ops_channel *c, struct subch *sub, uint64_t address,
			  uint32_t bytes, const uint32_t *data, uint64_t at)
{
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_COPY, subch_of(c, sub), at);

	if (op) {
		op->copy.mode = NVS_COPY_INLINE;
		op->copy.width = bytes;
		op->copy.lines = 1;
		op->copy.dst = address;
		op->copy.bytes = bytes;
	}
	nvs_memimage_write(c->ops->image, address, data, bytes);
	nvs_ops_note_copy(c, NVS_COPY_INLINE, address, bytes);
	note_descriptor(c, sub, address, bytes, data, op);
}

void nvs_ops_inline_close(struct nvs_ops_channel *c, struct subch *sub)
{
	struct nvs_op *op = op_of(c, &sub->transfer);

	if (!sub->transfer.open)
		return;
	sub->transfer.open = false;
	nvs_memimage_forget(c->ops->image, sub->transfer.address, sub->transfer.bytes);
	if (op)
		op->flags |= NVS_OP_INCOMPLETE;
}

/* ---- inline descriptors ---- */

static struct nvs_op *last_descriptor(struct nvs_ops_channel *c, uint64_t address)
{
	struct nvs_op *op = c->ops->count ? &c->ops->list[c->ops->count - 1] : NULL;

	if (op && op->kind == NVS_OP_UPLOAD && op->copy.use == NVS_USE_DESCRIPTOR &&
	    op->copy.dst + op->copy.bytes == address)
		return op;
	return NULL;
}

void nvs_ops_qmd_data(struct nvs_ops_channel *c, struct subch *sub, uint32_t method, uint32_t value,
		      uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	uint64_t base = ((uint64_t)nvs_reg_get(r, sub->state, NVS_REG_QMD_HI) << 32 |
			 nvs_reg_get(r, sub->state, NVS_REG_QMD_LO))
			<< 8;
	struct nvs_method_at m;
	uint64_t address;
	struct nvs_op *op;

	nvs_method_find(sub->cls, method, &m);
	address = base + 4ull * m.index;
	nvs_memimage_write(c->ops->image, address, &value, 4);
	op = last_descriptor(c, address);
	if (!op) {
		op = nvs_ops_add(c, NVS_OP_UPLOAD, subch_of(c, sub), at);
		if (!op)
			return;
		op->copy.mode = NVS_COPY_INLINE;
		op->copy.use = NVS_USE_DESCRIPTOR;
		op->copy.lines = 1;
		op->copy.dst = address;
	}
	op->copy.bytes += 4;
	op->copy.width += 4;
	nvs_memimage_keep(c->ops->image, address, 4);
}

/* ---- macros ---- */

void nvs_ops_macro_start(struct nvs_ops_channel *c, struct subch *sub, uint32_t method,
			 uint32_t value)
{
	struct nvs_method_at m;

	nvs_ops_macro_close(c, sub);
	nvs_method_find(sub->cls, method, &m);
	sub->macro.open = true;
	sub->macro.number = (uint8_t)m.index;
	sub->macro.nargs = 1;
	sub->macro.args[0] = value;
}

void nvs_ops_macro_arg(struct subch *sub, uint32_t value)
{
	if (sub->macro.open && sub->macro.nargs < MAX_MACRO_ARGS)
		sub->macro.args[sub->macro.nargs] = value;
	sub->macro.nargs += sub->macro.open;
}

void nvs_ops_macro_close(struct nvs_ops_channel *c, struct subch *sub)
{
	struct macro_call *m = &sub->macro;
	struct transfer *t = &sub->transfer;
	struct nvs_op *op = op_of(c, t);
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
		finish(c, sub, NULL);
	} else if (m->nargs == 3 && m->args[2] == dwords) {
		uint64_t src = (uint64_t)m->args[0] << 32 | m->args[1];

		if (op)
			op->copy.src = src;
		nvs_memimage_copy(c->ops->image, t->address, src, t->bytes);
		finish(c, sub, NULL);
	}
}
