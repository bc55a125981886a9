/* SPDX-License-Identifier: MIT */
/* Inline copies, whose bytes are in the pushbuffer: LAUNCH_DMA, then LOAD_INLINE_DATA. */
#include <string.h>
#include "decode/gpu/engine.h"

struct nvs_op *nvs_inline_op(struct nvs_ops_channel *c, const struct nvs_inline_transfer *t)
{
	return t->op == NO_OP ? NULL : &c->ops->list[t->op];
}

/* Keeps an upload that has the size of a descriptor and looks like one. DATA points to its dwords
 * if they arrived at once; if NULL, they are read from the image. */
static void note_descriptor(struct nvs_ops_channel *c, const struct nvs_subch *sub,
			    uint64_t address, uint64_t bytes, const uint32_t *data,
			    struct nvs_op *op)
{
	uint32_t words[NVS_QMD_MAX_BYTES / 4];
	enum nvs_qmd_guess look;

	if (bytes > sizeof(words) || bytes < 256 || address % 256 || !sub->cls)
		return;
	if (!data) {
		if (!nvs_memimage_read(c->ops->image, address, words, bytes))
			return;
		data = words;
	}
	look = nvs_qmd_classify(c->ops->layouts, data, bytes / 4, sub->cls->id);
	if (look == NVS_QMD_NO)
		return;
	if (op && look == NVS_QMD_AUXILIARY)
		op->flags |= NVS_OP_AUXILIARY;
	nvs_memimage_mark_kept(c->ops->image, address, bytes);
	nvs_uses_add_upload(c->ops, address, sub->cls->id);
}

void nvs_inline_finish(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *data)
{
	struct nvs_inline_transfer *t = &sub->transfer;
	const struct nvs_roles *r = sub->roles;
	struct nvs_op *op = nvs_inline_op(c, t);
	uint32_t launch = sub->state[r->regs[NVS_REG_COMPLETION].dword];
	uint64_t at = op ? op->at : 0;

	t->open = false;
	if (op && op->kind == NVS_OP_COPY && t->linear)
		nvs_inline_keep_value(c, op);
	if (t->linear && t->width == t->bytes)
		note_descriptor(c, sub, t->address, t->bytes, data, op);
	if (nvs_reg_of(r, NVS_REG_COMPLETION, launch) == 2) {
		const struct nvs_semaphore s = {
			.op = nvs_reg_of(r, NVS_REG_SEM_REDUCE, launch) ? NVS_SEM_REDUCE
									: NVS_SEM_SET,
			.by = NVS_BY_ENGINE,
			.reduction = (uint8_t)nvs_reg_of(r, NVS_REG_SEM_REDUCTION, launch),
			.flags = nvs_reg_of(r, NVS_REG_COMPLETION_SIZE, launch) ? 0
										: NVS_OP_TIMESTAMP,
			.address = nvs_reg_pair(r, sub->state, NVS_REG_SEM_HI, NVS_REG_SEM_LO),
			.payload = nvs_reg_get(r, sub->state, NVS_REG_SEM_PAYLOAD),
		};

		nvs_semaphore_add(c, nvs_subch_number(c, sub), at, &s);
	}
}

void nvs_inline_start(struct nvs_ops_channel *c, struct nvs_subch *sub, uint32_t launch,
		      uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	struct nvs_inline_transfer *t = &sub->transfer;
	uint32_t lines = nvs_reg_get(r, s, NVS_REG_LINES);
	struct nvs_op *op;

	nvs_inline_close(c, sub);
	op = nvs_ops_add(c, NVS_OP_COPY, nvs_subch_number(c, sub), at);
	memset(t, 0, sizeof(*t));
	t->op = op ? c->ops->count - 1 : NO_OP;
	t->width = nvs_reg_get(r, s, NVS_REG_WIDTH);
	t->pitch = nvs_reg_get(r, s, NVS_REG_PITCH_OUT);
	t->bytes = (uint64_t)t->width * lines;
	t->address = nvs_reg_pair(r, s, NVS_REG_OUT_HI, NVS_REG_OUT_LO);
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
	/* The packing of several lines is undocumented, so only single lines go into the image. */
	if (lines > 1 || !t->linear)
		nvs_memimage_invalidate(c->ops->image, t->address,
					lines > 1 ? (uint64_t)t->pitch * lines : t->bytes);
	if (!t->bytes)
		nvs_inline_finish(c, sub, NULL);
}

void nvs_inline_data(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *data,
		     uint32_t n)
{
	struct nvs_inline_transfer *t = &sub->transfer;
	uint64_t left = t->bytes - t->received, given = 4ull * n;

	if (!t->open)
		return;
	if (given > left)
		given = left;
	if (t->linear && t->width == t->bytes)
		nvs_memimage_write(c->ops->image, t->address + t->received, data, given);
	t->received += given;
	if (t->received == t->bytes)
		nvs_inline_finish(c, sub, t->bytes == given ? data : NULL);
}

/* Handles a complete upload of one line to pitch memory, without a release. */
static void add_whole_upload(struct nvs_ops_channel *c, struct nvs_subch *sub, uint64_t address,
			     uint32_t bytes, const uint32_t *data, uint64_t at)
{
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_COPY, nvs_subch_number(c, sub), at);

	if (op) {
		op->copy.mode = NVS_COPY_INLINE;
		op->copy.width = bytes;
		op->copy.lines = 1;
		op->copy.dst = address;
		op->copy.bytes = bytes;
	}
	nvs_memimage_write(c->ops->image, address, data, bytes);
	if (op)
		nvs_inline_keep_value(c, op);
	note_descriptor(c, sub, address, bytes, data, op);
}

size_t nvs_inline_upload(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *w,
			 size_t n, uint64_t header)
{
	const struct nvs_roles *r = sub->roles;
	uint32_t *s = sub->state, subch = *w & 0xe000, out, width, launch, count;

	if (n < 10 || !s || w[3] != (r->upload[1] | subch) || w[6] != (r->upload[2] | subch) ||
	    (w[8] & ~0x1fff0000u) != (r->upload[3] | subch))
		return 0;
	count = w[8] >> 16 & 0x1fff;
	if (count > n - 9 || !w[4] || count != (w[4] - 1) / 4 + 1 || w[5] != 1 ||
	    !nvs_reg_of(r, NVS_REG_DST_LAYOUT, w[7]) ||
	    nvs_reg_of(r, NVS_REG_COMPLETION, w[7]) == 2 || sub->macro.open || sub->transfer.open)
		return 0;
	out = r->upload[0] & 0xfff;
	width = r->upload[1] & 0xfff;
	launch = r->upload[2] & 0xfff;
	s[out] = w[1];
	s[out + 1] = w[2];
	s[width] = w[4];
	s[width + 1] = w[5];
	s[launch] = w[7];
	s[launch + 1] = w[8 + count];
	memset(nvs_dispatch_set_flags(s) + out, 1, 2);
	memset(nvs_dispatch_set_flags(s) + width, 1, 2);
	memset(nvs_dispatch_set_flags(s) + launch, 1, 2);
	add_whole_upload(c, sub,
			 (uint64_t)nvs_reg_of(r, NVS_REG_OUT_HI, w[1]) << 32 |
				 nvs_reg_of(r, NVS_REG_OUT_LO, w[2]),
			 w[4], w + 9, header + 4 * 6);
	return 9 + count;
}

void nvs_inline_close(struct nvs_ops_channel *c, struct nvs_subch *sub)
{
	struct nvs_op *op = nvs_inline_op(c, &sub->transfer);

	if (!sub->transfer.open)
		return;
	sub->transfer.open = false;
	nvs_memimage_invalidate(c->ops->image, sub->transfer.address, sub->transfer.bytes);
	if (op)
		op->flags |= NVS_OP_INCOMPLETE;
}
