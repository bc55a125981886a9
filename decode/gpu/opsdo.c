/* SPDX-License-Identifier: MIT */
/*
 * What the triggering methods do: copies and fills by copy engines, launches, semaphores, waits,
 * caches.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/base/copy.h"
#include "decode/gpu/ops-internal.h"

#define MAX_LINES 65536u /* of one copy that the image follows line by line, */
#define MAX_BYTES (1u << 20) /* and in them all: descriptors do not come in more */

static uint32_t subch_of(const struct nvs_ops_channel *c, const struct subch *sub)
{
	return (uint32_t)(sub - c->subch);
}

/* ---- semaphores ---- */

static uint64_t reduced(uint64_t old, uint64_t payload, int reduction)
{
	switch (reduction) {
	case NVS_RED_ADD:
		return old + payload;
	case NVS_RED_INC:
		return old >= payload ? 0 : old + 1;
	case NVS_RED_DEC:
		return !old || old > payload ? payload : old - 1;
	case NVS_RED_AND:
		return old & payload;
	case NVS_RED_OR:
		return old | payload;
	case NVS_RED_XOR:
		return old ^ payload;
	default:
		return payload;
	}
}

/* The value after the release, as far as it can be known; it goes into the image. */
static void settle(struct nvs_ops_channel *c, struct nvs_op *op, int reduction)
{
	struct nvs_memimage *image = c->ops->image;
	size_t bytes = op->flags & NVS_OP_WIDE ? 8 : 4;
	uint64_t old = 0;

	op->sem.value = op->sem.payload;
	if (reduction != SET_PAYLOAD) {
		op->sem.op = NVS_SEM_REDUCE;
		op->sem.reduction = (uint8_t)reduction;
		/* Signed or unsigned is not kept, so of the smaller and the larger one nothing is
		 * said. */
		if (reduction == NVS_RED_MIN || reduction == NVS_RED_MAX ||
		    reduction == NVS_RED_OTHER ||
		    !nvs_memimage_read(image, op->sem.address, &old, bytes)) {
			nvs_memimage_forget(image, op->sem.address, bytes);
			return;
		}
		op->sem.value = reduced(old, op->sem.payload, reduction);
		if (bytes == 4)
			op->sem.value &= 0xffffffffu;
	}
	op->flags |= NVS_OP_VALUE;
	nvs_memimage_write(image, op->sem.address, &op->sem.value, bytes);
}

struct nvs_op *nvs_ops_release(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
			       uint64_t address, uint64_t payload, uint32_t flags, int reduction)
{
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_RELEASE, subch, at);

	nvs_ops_note_release(c, address);
	if (!op)
		return NULL;
	op->flags = flags;
	op->sem.op = NVS_SEM_SET;
	op->sem.by = NVS_BY_ENGINE;
	op->sem.address = address;
	op->sem.payload = payload;
	settle(c, op, reduction);
	return op;
}

/* Numbers of copy engines and of Host: IMIN, IMAX, IXOR, IAND, IOR, IADD, INC, DEC. */
static int integer_reduction(uint32_t number)
{
	static const uint8_t map[] = {NVS_RED_MIN, NVS_RED_MAX, NVS_RED_XOR, NVS_RED_AND,
				      NVS_RED_OR,  NVS_RED_ADD, NVS_RED_INC, NVS_RED_DEC};

	return number < sizeof(map) ? map[number] : NVS_RED_OTHER;
}

static void copy_semaphore(struct nvs_ops_channel *c, const struct subch *sub, uint32_t launch,
			   uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	uint32_t type = nvs_reg_of(r, NVS_REG_SEM_TYPE, launch), flags = 0;
	uint64_t payload = nvs_reg_get(r, s, NVS_REG_SEM_PAYLOAD), address;
	int reduction = SET_PAYLOAD;

	if (!type)
		return;
	if (type == 2)
		flags |= NVS_OP_TIMESTAMP;
	if (nvs_reg_of(r, NVS_REG_SEM_WIDE, launch)) {
		flags |= NVS_OP_WIDE;
		payload |= (uint64_t)nvs_reg_get(r, s, NVS_REG_SEM_PAYLOAD_HI) << 32;
	}
	address = (uint64_t)nvs_reg_get(r, s, NVS_REG_SEM_HI) << 32 |
		  nvs_reg_get(r, s, NVS_REG_SEM_LO);
	if (nvs_reg_of(r, NVS_REG_SEM_REDUCE, launch))
		reduction = integer_reduction(nvs_reg_of(r, NVS_REG_SEM_REDUCTION, launch));
	nvs_ops_release(c, subch_of(c, sub), at, address, payload, flags, reduction);
}

static void report(struct nvs_ops_channel *c, const struct subch *sub, uint32_t value, uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	int reduction = SET_PAYLOAD;

	if (nvs_reg_of(r, NVS_REG_REPORT_OP, value))
		return; /* traps, counters of the 3D class */
	if (nvs_reg_of(r, NVS_REG_REPORT_REDUCE, value))
		reduction = (int)nvs_reg_of(r, NVS_REG_REPORT_REDUCTION, value);
	nvs_ops_release(c, subch_of(c, sub), at,
			(uint64_t)nvs_reg_get(r, s, NVS_REG_REPORT_HI) << 32 |
				nvs_reg_get(r, s, NVS_REG_REPORT_LO),
			nvs_reg_get(r, s, NVS_REG_REPORT_PAYLOAD),
			nvs_reg_of(r, NVS_REG_REPORT_SIZE, value) ? 0 : NVS_OP_TIMESTAMP,
			reduction);
}

static struct nvs_op *acquire(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
			      uint64_t address, uint64_t payload, enum nvs_semaphore_op what,
			      uint32_t flags)
{
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_ACQUIRE, subch, at);

	nvs_ops_note_acquire(c, address);
	if (!op)
		return NULL;
	op->flags = flags;
	op->sem.op = (uint8_t)what;
	op->sem.by = NVS_BY_HOST;
	op->sem.address = address;
	op->sem.payload = payload;
	return op;
}

static void report_execute(struct nvs_ops_channel *c, const struct subch *sub, uint32_t value,
			   uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	uint64_t address = (uint64_t)nvs_reg_get(r, s, NVS_REG_EXECUTE_HI) << 32 |
			   nvs_reg_get(r, s, NVS_REG_EXECUTE_LO);
	uint64_t payload = nvs_reg_get(r, s, NVS_REG_EXECUTE_PAYLOAD);
	uint32_t what = nvs_reg_of(r, NVS_REG_EXECUTE_OP, value), flags = 0;
	int reduction = SET_PAYLOAD;
	struct nvs_op *op;

	if (what > 1)
		return;
	if (nvs_reg_of(r, NVS_REG_EXECUTE_WIDE, value)) {
		payload |= (uint64_t)nvs_reg_get(r, s, NVS_REG_EXECUTE_PAYLOAD_HI) << 32;
		flags |= NVS_OP_WIDE;
	}
	if (what == 1) {
		op = acquire(c, subch_of(c, sub), at, address, payload, NVS_SEM_EQ, flags);
		if (op)
			op->sem.by = NVS_BY_ENGINE;
		return;
	}
	if (!nvs_reg_of(r, NVS_REG_EXECUTE_SIZE, value))
		flags |= NVS_OP_TIMESTAMP;
	if (nvs_reg_of(r, NVS_REG_EXECUTE_REDUCE, value))
		reduction = (int)nvs_reg_of(r, NVS_REG_EXECUTE_REDUCTION, value);
	nvs_ops_release(c, subch_of(c, sub), at, address, payload, flags, reduction);
}

static void host_semaphore(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at)
{
	static const uint8_t acquires[] = {[0] = NVS_SEM_EQ,
					   [2] = NVS_SEM_GE,
					   [3] = NVS_SEM_CIRC_GE,
					   [4] = NVS_SEM_AND,
					   [5] = NVS_SEM_NOR};
	const struct nvs_roles *r = c->host_roles;
	const uint32_t *s = c->host_state;
	uint64_t address = (uint64_t)nvs_reg_get(r, s, NVS_REG_HOST_ADDR_HI) << 32 |
			   (nvs_reg_get(r, s, NVS_REG_HOST_ADDR_LO) & ~3u);
	uint64_t payload = nvs_reg_get(r, s, NVS_REG_HOST_PAYLOAD_LO);
	uint32_t what = nvs_reg_of(r, NVS_REG_HOST_OP, value), flags = 0;
	struct nvs_op *op;

	if (nvs_reg_of(r, NVS_REG_HOST_WIDE, value)) {
		payload |= (uint64_t)nvs_reg_get(r, s, NVS_REG_HOST_PAYLOAD_HI) << 32;
		flags |= NVS_OP_WIDE;
	}
	if (what != 1 && what != 6) {
		if (what < sizeof(acquires))
			acquire(c, subch, at, address, payload, acquires[what], flags);
		return;
	}
	if (nvs_reg_of(r, NVS_REG_HOST_TIMESTAMP, value))
		flags |= NVS_OP_TIMESTAMP;
	if (nvs_reg_of(r, NVS_REG_HOST_WFI, value))
		flags |= NVS_OP_WFI;
	op = nvs_ops_release(
		c, subch, at, address, payload, flags,
		what == 6 ? integer_reduction(nvs_reg_of(r, NVS_REG_HOST_REDUCTION, value))
			  : SET_PAYLOAD);
	if (op)
		op->sem.by = NVS_BY_HOST;
}

static void old_semaphore(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at)
{
	const struct nvs_roles *r = c->host_roles;
	const uint32_t *s = c->host_state;
	uint64_t address = (uint64_t)nvs_reg_get(r, s, NVS_REG_OLD_HI) << 32 |
			   (nvs_reg_get(r, s, NVS_REG_OLD_LO) & ~3u);
	uint64_t payload = nvs_reg_get(r, s, NVS_REG_OLD_PAYLOAD);
	uint32_t what = nvs_reg_of(r, NVS_REG_OLD_OP, value), flags = 0;
	struct nvs_op *op;

	/* One bit each: acquire, release, acquire >=, acquire &, reduction. */
	if (what == 1 || what == 4 || what == 8) {
		acquire(c, subch, at, address, payload,
			what == 1   ? NVS_SEM_EQ
			: what == 4 ? NVS_SEM_CIRC_GE
				    : NVS_SEM_AND,
			0);
		return;
	}
	if (what != 2 && what != 0x10)
		return;
	if (!nvs_reg_of(r, NVS_REG_OLD_SIZE, value))
		flags |= NVS_OP_TIMESTAMP;
	if (!nvs_reg_of(r, NVS_REG_OLD_WFI, value))
		flags |= NVS_OP_WFI; /* the sense of this bit is the other way round */
	op = nvs_ops_release(
		c, subch, at, address, payload, flags,
		what == 0x10 ? integer_reduction(nvs_reg_of(r, NVS_REG_OLD_REDUCTION, value))
			     : SET_PAYLOAD);
	if (op)
		op->sem.by = NVS_BY_HOST;
}

/* ---- copy engine ---- */

/* Where a remapped transfer takes the components of an element from. */
struct remap {
	uint32_t element; /* bytes of one in the destination */
	uint32_t written; /* of them */
	bool fills; /* takes none from the source */
	uint8_t value[16];
	uint16_t left; /* bytes that are not written, a bit each */
};

static void read_remap(const struct subch *sub, struct remap *m)
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

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t product(uint64_t a, uint64_t b)
{
	uint64_t value;

	return __builtin_mul_overflow(a, b, &value) ? UINT64_MAX : value;
}

static void image_lines(struct nvs_memimage *image, const struct nvs_op *op, bool known)
{
	uint64_t span = sum((uint64_t)op->copy.dst_pitch * (op->copy.lines - 1), op->copy.width);

	if (!op->copy.bytes)
		return;
	if (!known || op->copy.lines > MAX_LINES ||
	    (op->copy.lines > 1 && op->copy.bytes > MAX_BYTES)) {
		nvs_memimage_forget(image, op->copy.dst,
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

static void copy_bytes(struct nvs_ops_channel *c, const struct subch *sub, uint32_t launch,
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
	op = nvs_ops_add(c, m.fills ? NVS_OP_MEMSET : NVS_OP_COPY, subch_of(c, sub), at);
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
	op->copy.bytes = product(elements * m.written, op->copy.lines);
	op->copy.dst = (uint64_t)nvs_reg_get(r, s, NVS_REG_OUT_HI) << 32 |
		       nvs_reg_get(r, s, NVS_REG_OUT_LO);
	op->copy.src = (uint64_t)nvs_reg_get(r, s, NVS_REG_IN_HI) << 32 |
		       nvs_reg_get(r, s, NVS_REG_IN_LO);
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
		nvs_ops_note_copy(c, NVS_COPY_ENGINE, op->copy.dst, op->copy.bytes);
	}
	known = !(op->flags & (NVS_OP_BLOCKLINEAR_SRC | NVS_OP_BLOCKLINEAR_DST |
			       NVS_OP_PHYSICAL_SRC | NVS_OP_PHYSICAL_DST)) &&
		(m.fills || !remap) && !m.left;
	if (!(op->flags & NVS_OP_PHYSICAL_DST))
		image_lines(c->ops->image, op, known);
}

/* ---- launches ---- */

struct trigger {
	struct nvs_ops_channel *c;
	const struct subch *sub;
	uint64_t at;
	uint32_t launches;
};

static struct nvs_qmd *keep_qmd(struct nvs_ops *ops, const struct nvs_qmd *qmd)
{
	if (ops->nqmds == ops->qmd_room) {
		uint32_t room = ops->qmd_room ? 2 * ops->qmd_room : 16;
		struct nvs_qmd *list = realloc(ops->qmds, room * sizeof(*list));

		if (!list)
			return NULL;
		ops->qmds = list;
		ops->qmd_room = room;
	}
	nvs_copy(&ops->qmds[ops->nqmds], qmd, sizeof(*qmd));
	return &ops->qmds[ops->nqmds++];
}

static void grid_releases(const struct trigger *t, const struct nvs_qmd *qmd)
{
	for (int i = 0; i < NVS_QMD_RELEASES; i++) {
		const struct nvs_qmd_release *r = &qmd->releases[i];
		struct nvs_op *op;

		if (!r->enable)
			continue;
		op = nvs_ops_release(t->c, subch_of(t->c, t->sub), t->at, r->address, r->payload,
				     (r->timestamp ? NVS_OP_TIMESTAMP : 0) |
					     (r->wide ? NVS_OP_WIDE : 0),
				     r->reduction ? r->reduction_op : SET_PAYLOAD);
		if (op)
			op->sem.by = NVS_BY_GRID;
	}
}

static void grid_runs(void *arg, const struct nvs_sked_run *run)
{
	struct trigger *t = arg;
	struct nvs_ops *ops = t->c->ops;
	const struct nvs_qmd *qmd = run->qmd;

	nvs_ops_note_qmd(ops, run->address, qmd);
	if (!qmd || nvs_qmd_is_launch(qmd)) {
		struct nvs_op *op = nvs_ops_add(t->c, NVS_OP_LAUNCH, subch_of(t->c, t->sub), t->at);
		struct nvs_qmd *kept = op && qmd ? keep_qmd(ops, qmd) : NULL;

		if (!op)
			return;
		t->launches++;
		op->flags = (kept ? 0 : NVS_OP_UNKNOWN) | (run->parent ? NVS_OP_CHAINED : 0);
		op->launch.descriptor = run->address;
		op->launch.parent = run->parent;
		op->launch.depth = run->depth;
		op->launch.qmd = kept ? (uint32_t)(kept - ops->qmds) : 0;
		if (kept && kept->program_is_offset)
			kept->program += (uint64_t)nvs_reg_get(t->sub->roles, t->sub->state,
							       NVS_REG_REGION_HI)
						 << 32 |
					 nvs_reg_get(t->sub->roles, t->sub->state,
						     NVS_REG_REGION_LO);
	}
	if (qmd)
		grid_releases(t, qmd);
}

static void grid_loops(void *arg, uint64_t address)
{
	struct trigger *t = arg;
	struct nvs_pb_fault f = {NVS_PB_LOOP, address, 0, 0, 0};

	if (t->c->ops->sink.fault)
		t->c->ops->sink.fault(t->c->ops->sink.arg, t->c, &f);
}

static void trigger(struct nvs_ops_channel *c, const struct subch *sub, enum nvs_pcas action,
		    uint64_t at)
{
	struct trigger t = {c, sub, at, 0};
	struct nvs_sked_sink sink = {grid_runs, grid_loops, &t};
	uint64_t address = (uint64_t)nvs_reg_get(sub->roles, sub->state, NVS_REG_PCAS_ADDRESS) << 8;
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_TRIGGER, subch_of(c, sub), at);
	uint32_t index = c->ops->count - 1, flushes = c->ops->flushes;

	if (!op)
		return;
	op->launch.descriptor = address;
	op->launch.action = (uint8_t)action;
	nvs_ops_note_qmd(c->ops, address, NULL);
	nvs_sked_trigger(c->ops->sked, address, action, sub->cls->id, &sink);
	if (flushes == c->ops->flushes)
		c->ops->list[index].launch.launches = t.launches;
}

static void old_trigger(struct nvs_ops_channel *c, const struct subch *sub, uint32_t value,
			uint64_t at)
{
	/* It knows but these two; what copying there is goes with the invalidation. */
	bool invalidate = nvs_reg_of(sub->roles, NVS_REG_PCAS_INVALIDATE, value);

	if (nvs_reg_of(sub->roles, NVS_REG_PCAS_SCHEDULE, value))
		trigger(c, sub, invalidate ? NVS_PCAS_INVALIDATE_COPY_SCHEDULE : NVS_PCAS_SCHEDULE,
			at);
	else
		trigger(c, sub, invalidate ? NVS_PCAS_INVALIDATE : NVS_PCAS_NOP, at);
}

/* ---- all of them ---- */

static void method_op(struct nvs_ops_channel *c, enum nvs_op_kind kind, uint32_t subch,
		      uint32_t method, uint32_t value, uint64_t at, uint32_t cls)
{
	struct nvs_op *op = nvs_ops_add(c, kind, subch, at);

	if (!op)
		return;
	op->cls = (uint16_t)cls;
	op->method.method = (uint16_t)method;
	op->method.value = value;
}

static void cache(struct nvs_ops_channel *c, const struct subch *sub, uint32_t method,
		  uint32_t value, uint64_t at)
{
	bool code = (method == sub->roles->code_method[0] ||
		     method == sub->roles->code_method[1]) &&
		    nvs_reg_of(sub->roles, NVS_REG_CACHE_INSTRUCTION, value);

	nvs_ops_note_invalidate(c, subch_of(c, sub), code, at);
	method_op(c, NVS_OP_CACHE, subch_of(c, sub), method, value, at, sub->cls->id);
}

void nvs_ops_engine(struct nvs_ops_channel *c, struct subch *sub, enum nvs_role role,
		    uint32_t method, uint32_t value, uint64_t at)
{
	switch (role) {
	case NVS_ROLE_COPY:
		if (nvs_reg_of(sub->roles, NVS_REG_TRANSFER, value))
			copy_bytes(c, sub, value, at);
		copy_semaphore(c, sub, value, at);
		break;
	case NVS_ROLE_INLINE:
		nvs_ops_inline_start(c, sub, value, at);
		break;
	case NVS_ROLE_INLINE_DATA:
		nvs_ops_inline_data(c, sub, &value, 1);
		break;
	case NVS_ROLE_QMD_DATA:
		nvs_ops_qmd_data(c, sub, method, value, at);
		break;
	case NVS_ROLE_PCAS:
		old_trigger(c, sub, value, at);
		break;
	case NVS_ROLE_PCAS2:
		trigger(c, sub, nvs_reg_of(sub->roles, NVS_REG_PCAS_ACTION, value), at);
		break;
	case NVS_ROLE_REPORT:
		report(c, sub, value, at);
		break;
	case NVS_ROLE_REPORT_EXECUTE:
		report_execute(c, sub, value, at);
		break;
	case NVS_ROLE_IDLE:
		method_op(c, NVS_OP_WAIT_IDLE, subch_of(c, sub), method, value, at, sub->cls->id);
		break;
	case NVS_ROLE_CACHE:
		cache(c, sub, method, value, at);
		break;
	case NVS_ROLE_MACRO:
		nvs_ops_macro_start(c, sub, method, value);
		break;
	case NVS_ROLE_MACRO_DATA:
		nvs_ops_macro_arg(sub, value);
		break;
	default:
		break;
	}
}

void nvs_ops_host(struct nvs_ops_channel *c, enum nvs_role role, uint32_t method, uint32_t value,
		  uint32_t subch, uint64_t at)
{
	switch (role) {
	case NVS_ROLE_SEM_EXECUTE:
		host_semaphore(c, value, subch, at);
		break;
	case NVS_ROLE_SEM_OLD:
		old_semaphore(c, value, subch, at);
		break;
	case NVS_ROLE_IDLE:
		method_op(c, NVS_OP_WAIT_IDLE, subch, method, value, at, c->host->id);
		break;
	case NVS_ROLE_CACHE:
	case NVS_ROLE_MEM_OP:
		method_op(c, NVS_OP_CACHE, subch, method, value, at, c->host->id);
		break;
	default:
		break;
	}
}
