/* SPDX-License-Identifier: MIT */
/* Formats operations as text, one line each. */
#include <stdio.h>
#include <string.h>
#include "decode/gpu/sched.h"
#include "decode/gpu/method_format.h"

const char *nvs_op_kind_name(uint32_t kind)
{
	static const char *const names[] = {"copy",    "memset",  "upload",  "code",	  "launch",
					    "trigger", "release", "acquire", "wait-idle", "cache"};

	return kind < NVS_OP_KINDS ? names[kind] : "?";
}

const char *nvs_copy_mode_name(uint32_t mode)
{
	static const char *const names[] = {"engine", "inline", "macro"};

	return mode < NVS_COPY_MODES ? names[mode] : "?";
}

const char *nvs_reduction_name(uint32_t reduction)
{
	static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

	return reduction < NVS_RED_OTHER ? names[reduction] : "reduce";
}

/* Who performs an operation. */
static void put_agent(struct nvs_line_buffer *l, const char *name)
{
	nvs_line_text(l, " ");
	nvs_line_column(l, name, 8);
	nvs_line_text(l, " ");
}

/* Two digits. */
static void put_byte(struct nvs_line_buffer *l, uint8_t value)
{
	char *p = nvs_line_reserve(l, NVS_DIGITS);

	if (!p)
		return;
	nvs_put_hex8(p, (uint32_t)value << 24);
	l->length += 2;
}

static void put_address(struct nvs_line_buffer *l, const struct nvs_address_formatter *where,
			uint64_t address)
{
	nvs_line_hex(l, "0x", address);
	if (where && where->put)
		where->put(where->arg, l, address);
}

static void put_shape(struct nvs_line_buffer *l, const struct nvs_op *op)
{
	nvs_line_dec(l, "  ", op->copy.bytes);
	nvs_line_text(l, " bytes");
	if (op->flags & NVS_OP_TWO_D) {
		nvs_line_put(l, " (%u lines of %llu", op->copy.lines,
			     (unsigned long long)op->copy.width);
		if (op->copy.src_pitch)
			nvs_line_dec(l, ", source pitch ", op->copy.src_pitch);
		nvs_line_put(l, ", pitch %u)", op->copy.dst_pitch);
	}
	if (op->flags & NVS_OP_BLOCKLINEAR_SRC)
		nvs_line_text(l, " from-blocklinear");
	if (op->flags & NVS_OP_BLOCKLINEAR_DST)
		nvs_line_text(l, " to-blocklinear");
	if (op->flags & NVS_OP_PHYSICAL_SRC)
		nvs_line_text(l, " from-physical");
	if (op->flags & NVS_OP_PHYSICAL_DST)
		nvs_line_text(l, " to-physical");
	if (op->flags & NVS_OP_INCOMPLETE)
		nvs_line_text(l, " incomplete");
}

static void put_copy(struct nvs_line_buffer *l, const struct nvs_op *op,
		     const struct nvs_address_formatter *where)
{
	if (op->copy.mode == NVS_COPY_MACRO)
		nvs_line_put(l, " macro %-2u ", op->copy.macro);
	else
		put_agent(l, nvs_copy_mode_name(op->copy.mode));
	if (op->copy.src) {
		put_address(l, where, op->copy.src);
		nvs_line_text(l, " ");
	}
	nvs_line_text(l, "-> ");
	put_address(l, where, op->copy.dst);
	put_shape(l, op);
}

static void put_memset(struct nvs_line_buffer *l, const struct nvs_op *op,
		       const struct nvs_address_formatter *where)
{
	put_agent(l, nvs_copy_mode_name(op->copy.mode));
	nvs_line_text(l, "-> ");
	put_address(l, where, op->copy.dst);
	put_shape(l, op);
	nvs_line_text(l, " of 0x");
	for (int i = op->copy.element - 1; i >= 0; i--) {
		if (op->copy.left >> i & 1)
			nvs_line_text(l, "--");
		else
			put_byte(l, op->copy.value[i]);
	}
}

static void put_dim(struct nvs_line_buffer *l, const char *what, const uint32_t *d)
{
	nvs_line_put(l, " %s %ux%ux%u", what, d[0], d[1], d[2]);
}

static void put_launch(struct nvs_line_buffer *l, const struct nvs_op *op, const struct nvs_qmd *q,
		       const struct nvs_address_formatter *where)
{
	if (!q) {
		nvs_line_text(l, " descriptor ");
		put_address(l, where, op->launch.descriptor);
		nvs_line_text(l, " (not in the trace)");
		return;
	}
	nvs_line_text(l, " program ");
	put_address(l, where, q->program);
	put_dim(l, "grid", q->grid);
	put_dim(l, "block", q->block);
	if (q->cluster[0])
		put_dim(l, "cluster", q->cluster);
	nvs_line_put(l, " registers %u shared %u", q->registers, q->shared_bytes);
	nvs_line_hex(l, " descriptor 0x", op->launch.descriptor);
	if (op->flags & NVS_OP_CHAINED)
		nvs_line_hex(l, " after 0x", op->launch.parent);
	for (uint32_t i = 0; i < q->nbanks; i++) {
		if (q->banks[i].bytes)
			nvs_line_put(l, " c%u=0x%llx+%u", i,
				     (unsigned long long)q->banks[i].address, q->banks[i].bytes);
	}
}

static const char *find_action(const struct nvs_class *cls, uint32_t action)
{
	const struct nvs_field *f =
		nvs_field_by_name(nvs_method_by_name(cls, "SEND_SIGNALING_PCAS2_B"), "PCAS_ACTION");

	return f ? nvs_value_name(f, action) : NULL;
}

/* Uses the name from the op's class, else from the newest class that has one: older classes have
 * two of the actions, without names. */
static const char *get_action_name(const struct nvs_op *op)
{
	const char *name = find_action(nvs_class_find(op->cls), op->launch.action);

	for (uint32_t i = nvs_nclasses; i-- > 0 && !name;) {
		if (nvs_classes[i].kind == NVS_KIND_COMPUTE)
			name = find_action(&nvs_classes[i], op->launch.action);
	}
	return name;
}

static void put_trigger(struct nvs_line_buffer *l, const struct nvs_op *op,
			const struct nvs_address_formatter *where)
{
	const char *name = get_action_name(op);

	nvs_line_text(l, " descriptor ");
	put_address(l, where, op->launch.descriptor);
	nvs_line_put(l, "  %s", name ? name : "?");
	if (op->launch.launches)
		nvs_line_put(l, ", runs %u grid%s", op->launch.launches,
			     op->launch.launches == 1 ? "" : "s");
}

static void put_semaphore(struct nvs_line_buffer *l, const struct nvs_op *op,
			  const struct nvs_address_formatter *where)
{
	static const char *const conditions[] = {"==", ">=", "circular >=", "&", "nor"};
	static const char *const by[] = {"host", "engine", "grid"};

	put_agent(l, by[op->sem.by % 3]);
	put_address(l, where, op->sem.address);
	if (op->kind == NVS_OP_ACQUIRE)
		nvs_line_put(l, "  %s 0x%llx", conditions[op->sem.op % 5],
			     (unsigned long long)op->sem.payload);
	else if (op->sem.op == NVS_SEM_SET)
		nvs_line_hex(l, "  = 0x", op->sem.payload);
	else if (op->flags & NVS_OP_VALUE)
		nvs_line_put(l, "  %s 0x%llx = 0x%llx", nvs_reduction_name(op->sem.reduction),
			     (unsigned long long)op->sem.payload,
			     (unsigned long long)op->sem.value);
	else
		nvs_line_put(l, "  %s 0x%llx", nvs_reduction_name(op->sem.reduction),
			     (unsigned long long)op->sem.payload);
	if (op->flags & NVS_OP_TIMESTAMP)
		nvs_line_text(l, " timestamp");
	if (op->flags & NVS_OP_WIDE)
		nvs_line_text(l, " 64-bit");
	if (op->flags & NVS_OP_WFI)
		nvs_line_text(l, " after-idle");
}

static void put_method(struct nvs_line_buffer *l, const struct nvs_op *op)
{
	const struct nvs_class *cls = nvs_class_find(op->cls);
	struct nvs_method_at at;

	nvs_method_find(cls, op->method.method, &at);
	nvs_line_text(l, " ");
	nvs_format_method(l, &at, op->method.method);
	if (at.method)
		nvs_format_fields(l, at.method, op->method.value, false);
}

void nvs_format_op(struct nvs_line_buffer *l, const struct nvs_op *op, const struct nvs_qmd *qmd,
		   const struct nvs_address_formatter *where)
{
	static const char *const uses[] = {"descriptor", "constants", "semaphore"};

	nvs_line_column(l, nvs_op_kind_name(op->kind), 9);
	switch (op->kind) {
	case NVS_OP_COPY:
		put_copy(l, op, where);
		break;
	case NVS_OP_UPLOAD:
		put_copy(l, op, where);
		nvs_line_put(l, " of %s%s", op->flags & NVS_OP_AUXILIARY ? "auxiliary " : "",
			     uses[op->copy.use % 3]);
		break;
	case NVS_OP_MEMSET:
		put_memset(l, op, where);
		break;
	case NVS_OP_CODE:
		put_agent(l, nvs_copy_mode_name(op->code.mode));
		nvs_line_text(l, "at ");
		put_address(l, where, op->code.dst);
		nvs_line_put(l, "  %llu bytes, copied by #%llu", (unsigned long long)op->code.bytes,
			     (unsigned long long)op->code.tag);
		break;
	case NVS_OP_LAUNCH:
		put_launch(l, op, qmd, where);
		break;
	case NVS_OP_TRIGGER:
		put_trigger(l, op, where);
		break;
	case NVS_OP_RELEASE:
	case NVS_OP_ACQUIRE:
		put_semaphore(l, op, where);
		break;
	default:
		put_method(l, op);
	}
}
