/* SPDX-License-Identifier: MIT */
/* Compute engines: inline descriptors, and launches. */
#include "decode/gpu/engine.h"

static struct nvs_op *last_descriptor(struct nvs_ops_channel *c, uint64_t address)
{
	struct nvs_op *op = c->ops->count ? &c->ops->list[c->ops->count - 1] : NULL;

	if (op && op->kind == NVS_OP_UPLOAD && op->copy.use == NVS_USE_DESCRIPTOR &&
	    op->copy.dst + op->copy.bytes == address)
		return op;
	return NULL;
}

struct trigger {
	struct nvs_ops_channel *c;
	const struct nvs_subch *sub;
	uint64_t at;
	uint32_t launches;
};

static void add_grid_releases(const struct trigger *t, const struct nvs_qmd *qmd)
{
	for (int i = 0; i < NVS_QMD_RELEASES; i++) {
		const struct nvs_qmd_release *r = &qmd->releases[i];
		const struct nvs_semaphore s = {
			.op = r->reduction ? NVS_SEM_REDUCE : NVS_SEM_SET,
			.by = NVS_BY_GRID,
			.reduction = r->reduction_op,
			.flags = (r->timestamp ? NVS_OP_TIMESTAMP : 0) |
				 (r->wide ? NVS_OP_WIDE : 0),
			.address = r->address,
			.payload = r->payload,
		};

		if (r->enable)
			nvs_semaphore_add(t->c, nvs_subch_number(t->c, t->sub), t->at, &s);
	}
}

static void add_launch(void *arg, const struct nvs_sched_run *run)
{
	struct trigger *t = arg;
	struct nvs_ops *ops = t->c->ops;
	const struct nvs_qmd *qmd = run->qmd;

	nvs_uses_add_qmd(ops, run->address, qmd);
	if (!qmd || nvs_qmd_is_launch(qmd)) {
		struct nvs_op *op = nvs_ops_add(t->c, NVS_OP_LAUNCH, nvs_subch_number(t->c, t->sub),
						t->at);
		struct nvs_qmd *kept = op && qmd ? nvs_ops_keep_qmd(ops, qmd) : NULL;

		if (!op)
			return;
		t->launches++;
		op->flags = (kept ? 0 : NVS_OP_UNKNOWN) | (run->parent ? NVS_OP_CHAINED : 0);
		op->launch.descriptor = run->address;
		op->launch.parent = run->parent;
		op->launch.depth = run->depth;
		op->launch.qmd = kept ? (uint32_t)(kept - ops->qmds) : 0;
		if (kept && kept->program_is_offset)
			kept->program += nvs_reg_pair(t->sub->roles, t->sub->state,
						      NVS_REG_REGION_HI, NVS_REG_REGION_LO);
	}
	if (qmd)
		add_grid_releases(t, qmd);
}

static void report_grid_loop(void *arg, uint64_t address)
{
	struct trigger *t = arg;
	struct nvs_pb_fault f = {NVS_PB_LOOP, address, 0, 0, 0};

	if (t->c->ops->sink.fault)
		t->c->ops->sink.fault(t->c->ops->sink.arg, t->c, &f);
}

static void add_trigger(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint64_t address,
			enum nvs_pcas action, uint64_t at)
{
	struct trigger t = {c, sub, at, 0};
	struct nvs_sched_sink sink = {add_launch, report_grid_loop, &t};
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_TRIGGER, nvs_subch_number(c, sub), at);
	uint32_t index = c->ops->count - 1, flushes = c->ops->flushes;

	if (!op)
		return;
	op->launch.descriptor = address;
	op->launch.action = (uint8_t)action;
	nvs_uses_add_qmd(c->ops, address, NULL);
	nvs_sched_trigger(c->ops->sched, address, action, sub->cls->id, &sink);
	if (flushes == c->ops->flushes)
		c->ops->list[index].launch.launches = t.launches;
}

/* The last word of an inline descriptor schedules it, without a PCAS method: libcuda 525.147.05
 * launches so on HOPPER_COMPUTE_A, the first class that gives the descriptor's size. */
static bool is_last_inline(const struct nvs_subch *sub, uint32_t index)
{
	if (!sub->roles->regs[NVS_REG_QMD_SIZE].mask)
		return false;
	return index + 1 == (nvs_reg_get(sub->roles, sub->state, NVS_REG_QMD_SIZE) ? 96 : 64);
}

void nvs_compute_qmd_data(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t method,
			  uint32_t value, uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	uint64_t base = nvs_reg_pair(r, sub->state, NVS_REG_QMD_HI, NVS_REG_QMD_LO) << 8;
	struct nvs_method_at m;
	uint64_t address;
	struct nvs_op *op;

	nvs_method_find(sub->cls, method, &m);
	address = base + 4ull * m.index;
	nvs_memimage_write(c->ops->image, address, &value, 4);
	op = last_descriptor(c, address);
	if (!op) {
		op = nvs_ops_add(c, NVS_OP_UPLOAD, nvs_subch_number(c, sub), at);
		if (!op)
			return;
		op->copy.mode = NVS_COPY_INLINE;
		op->copy.use = NVS_USE_DESCRIPTOR;
		op->copy.lines = 1;
		op->copy.dst = address;
	}
	op->copy.bytes += 4;
	op->copy.width += 4;
	nvs_memimage_mark_kept(c->ops->image, address, 4);
	if (is_last_inline(sub, m.index))
		add_trigger(c, sub, base, NVS_PCAS_INVALIDATE_PREFETCH_COPY_SCHEDULE, at);
}

static uint64_t get_pcas_address(const struct nvs_subch *sub)
{
	return (uint64_t)nvs_reg_get(sub->roles, sub->state, NVS_REG_PCAS_ADDRESS) << 8;
}

void nvs_compute_pcas2(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
		       uint64_t at)
{
	add_trigger(c, sub, get_pcas_address(sub),
		    nvs_reg_of(sub->roles, NVS_REG_PCAS_ACTION, value), at);
}

void nvs_compute_pcas(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
		      uint64_t at)
{
	/* This method has only these two flags; a copy, if any, happens with the invalidation. */
	bool invalidate = nvs_reg_of(sub->roles, NVS_REG_PCAS_INVALIDATE, value);

	if (nvs_reg_of(sub->roles, NVS_REG_PCAS_SCHEDULE, value))
		add_trigger(c, sub, get_pcas_address(sub),
			    invalidate ? NVS_PCAS_INVALIDATE_COPY_SCHEDULE : NVS_PCAS_SCHEDULE, at);
	else
		add_trigger(c, sub, get_pcas_address(sub),
			    invalidate ? NVS_PCAS_INVALIDATE : NVS_PCAS_NOP, at);
}
