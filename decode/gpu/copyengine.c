/* SPDX-License-Identifier: MIT */
/* Copy engines: copies, fills by remapped components, and the semaphore release of the same
 * launch. */
#include <string.h>
#include "decode/gpu/engine.h"

#define MAX_LINES 65536u /* per copy that the image follows line by line */
#define MAX_BYTES (1u << 20) /* per copy of several lines: descriptors are smaller */

/* Sources of an element's components in a remapped transfer. */
struct remap {
	uint32_t element; /* bytes of an element in the destination */
	uint32_t written; /* bytes of it that are written */
	bool fills; /* takes no component from the source */
	uint8_t value[16];
	uint16_t left; /* mask of bytes that are not written */
};

static void read_remap(const struct nvs_subch *sub, struct remap *m)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	uint32_t size = nvs_reg_get(r, s, NVS_REG_REMAP_SIZE) + 1;
	uint32_t count = nvs_reg_get(r, s, NVS_REG_REMAP_COUNT) + 1;
	uint32_t constants[2] = {nvs_reg_get(r, s, NVS_REG_REMAP_CONST_A),
				 nvs_reg_get(r, s, NVS_REG_REMAP_CONST_B)};

	*m = (struct remap){.element = size * count, .fills = true};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = nvs_reg_get(r, s, NVS_REG_REMAP_X + i);

		if (from >= 6) {
			m->left |= (uint16_t)(((1u << size) - 1) << i * size);
			continue;
		}
		m->written += size;
		if (from < 4)
			m->fills = false;
		else
			memcpy(m->value + i * size, &constants[from - 4], size);
	}
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
	uint64_t value;

	return __builtin_mul_overflow(a, b, &value) ? UINT64_MAX : value;
}

static void apply_to_image(struct nvs_memimage *image, const struct nvs_op *op, bool known)
{
	uint64_t span = add_saturated((uint64_t)op->copy.dst_pitch * (op->copy.lines - 1),
				      op->copy.width);

	if (!op->copy.bytes)
		return;
	if (!known || op->copy.lines > MAX_LINES ||
	    (op->copy.lines > 1 && op->copy.bytes > MAX_BYTES)) {
		nvs_memimage_invalidate(image, op->copy.dst,
					op->copy.lines > 1 ? span : op->copy.width);
		return;
	}
	for (uint32_t i = 0; i < op->copy.lines; i++) {
		uint64_t dst = op->copy.dst + (uint64_t)i * op->copy.dst_pitch;

		if (op->kind == NVS_OP_MEMSET)
			nvs_memimage_fill(image, dst, op->copy.value, op->copy.element,
					  op->copy.width);
		else
			nvs_memimage_copy(image, dst,
					  op->copy.src + (uint64_t)i * op->copy.src_pitch,
					  op->copy.width);
	}
}

static void add_copy(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t launch,
		     uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	bool remap = nvs_reg_of(r, NVS_REG_REMAP, launch);
	uint64_t elements = nvs_reg_get(r, s, NVS_REG_WIDTH);
	struct remap m = {.element = 1, .written = 1};
	struct nvs_op *op;
	bool known;

	if (remap)
		read_remap(sub, &m);
	op = nvs_ops_add(c, m.fills ? NVS_OP_MEMSET : NVS_OP_COPY, nvs_subch_number(c, sub), at);
	if (!op)
		return;
	op->copy.mode = NVS_COPY_ENGINE;
	op->copy.width = elements * m.element;
	op->copy.lines = 1;
	if (nvs_reg_of(r, NVS_REG_MULTI_LINE, launch)) {
		op->copy.lines = nvs_reg_get(r, s, NVS_REG_LINES);
		op->copy.src_pitch = nvs_reg_get(r, s, NVS_REG_PITCH_IN);
		op->copy.dst_pitch = nvs_reg_get(r, s, NVS_REG_PITCH_OUT);
		op->flags |= NVS_OP_TWO_D;
	}
	op->copy.bytes = multiply_saturated(elements * m.written, op->copy.lines);
	op->copy.dst = nvs_reg_pair(r, s, NVS_REG_OUT_HI, NVS_REG_OUT_LO);
	op->copy.src = nvs_reg_pair(r, s, NVS_REG_IN_HI, NVS_REG_IN_LO);
	if (!nvs_reg_of(r, NVS_REG_DST_LAYOUT, launch))
		op->flags |= NVS_OP_BLOCKLINEAR_DST;
	if (nvs_reg_of(r, NVS_REG_DST_TYPE, launch))
		op->flags |= NVS_OP_PHYSICAL_DST;
	if (m.fills) {
		op->copy.src = 0;
		op->copy.element = (uint8_t)m.element;
		op->copy.left = m.left;
		memcpy(op->copy.value, m.value, sizeof(m.value));
	} else {
		if (!nvs_reg_of(r, NVS_REG_SRC_LAYOUT, launch))
			op->flags |= NVS_OP_BLOCKLINEAR_SRC;
		if (nvs_reg_of(r, NVS_REG_SRC_TYPE, launch))
			op->flags |= NVS_OP_PHYSICAL_SRC;
	}
	known = !(op->flags & (NVS_OP_BLOCKLINEAR_SRC | NVS_OP_BLOCKLINEAR_DST |
			       NVS_OP_PHYSICAL_SRC | NVS_OP_PHYSICAL_DST)) &&
		(m.fills || !remap) && !m.left;
	if (!(op->flags & NVS_OP_PHYSICAL_DST))
		apply_to_image(c->ops->image, op, known);
	if (known && !m.fills)
		nvs_inline_keep_value(c, op);
}

static void add_copy_semaphore(struct nvs_ops_channel *c, const struct nvs_subch *sub,
			       uint32_t launch, uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	uint32_t type = nvs_reg_of(r, NVS_REG_SEM_TYPE, launch);
	bool wide = nvs_reg_of(r, NVS_REG_SEM_WIDE, launch);
	const struct nvs_semaphore s = {
		.op = nvs_reg_of(r, NVS_REG_SEM_REDUCE, launch) ? NVS_SEM_REDUCE : NVS_SEM_SET,
		.by = NVS_BY_ENGINE,
		.reduction = nvs_semaphore_reduction(nvs_reg_of(r, NVS_REG_SEM_REDUCTION, launch)),
		.flags = (type == 2 ? NVS_OP_TIMESTAMP : 0) | (wide ? NVS_OP_WIDE : 0),
		.address = nvs_reg_pair(r, sub->state, NVS_REG_SEM_HI, NVS_REG_SEM_LO),
		.payload = nvs_reg_long(r, sub->state, wide, NVS_REG_SEM_PAYLOAD_HI,
					NVS_REG_SEM_PAYLOAD),
	};

	if (type)
		nvs_semaphore_add(c, nvs_subch_number(c, sub), at, &s);
}

void nvs_copyengine_launch(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t launch,
			   uint64_t at)
{
	if (nvs_reg_of(sub->roles, NVS_REG_TRANSFER, launch))
		add_copy(c, sub, launch, at);
	add_copy_semaphore(c, sub, launch, at);
}
