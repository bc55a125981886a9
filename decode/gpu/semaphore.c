/* SPDX-License-Identifier: MIT */
/* Semaphore releases and acquires, by the host class and by the engines' report semaphores. */
#include "decode/gpu/engine.h"

static uint64_t apply_reduction(uint64_t old, uint64_t payload, uint32_t reduction)
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

/* Computes the value after the release, if it is known, and writes it to the image. */
static void compute_value(struct nvs_memimage *image, struct nvs_op *op)
{
	size_t bytes = op->flags & NVS_OP_WIDE ? 8 : 4;
	uint32_t reduction = op->sem.reduction;
	uint64_t old = 0;

	op->sem.value = op->sem.payload;
	if (op->sem.op == NVS_SEM_REDUCE) {
		/* Signedness is not recorded, so the result of MIN and MAX is unknown. */
		if (reduction == NVS_RED_MIN || reduction == NVS_RED_MAX ||
		    reduction == NVS_RED_OTHER ||
		    !nvs_memimage_read(image, op->sem.address, &old, bytes)) {
			nvs_memimage_invalidate(image, op->sem.address, bytes);
			return;
		}
		op->sem.value = apply_reduction(old, op->sem.payload, reduction);
		if (bytes == 4)
			op->sem.value &= 0xffffffffu;
	}
	op->flags |= NVS_OP_VALUE;
	nvs_memimage_write(image, op->sem.address, &op->sem.value, bytes);
}

void nvs_semaphore_add(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
		       const struct nvs_semaphore *s)
{
	bool release = s->op >= NVS_SEM_SET;
	struct nvs_op *op = nvs_ops_add(c, release ? NVS_OP_RELEASE : NVS_OP_ACQUIRE, subch, at);

	if (!op)
		return;
	op->flags = s->flags;
	op->sem.op = s->op;
	op->sem.by = s->by;
	op->sem.reduction = s->op == NVS_SEM_REDUCE ? s->reduction : 0;
	op->sem.address = s->address;
	op->sem.payload = s->payload;
	if (release)
		compute_value(c->ops->image, op);
}

uint8_t nvs_semaphore_reduction(uint32_t number)
{
	static const uint8_t map[] = {NVS_RED_MIN, NVS_RED_MAX, NVS_RED_XOR, NVS_RED_AND,
				      NVS_RED_OR,  NVS_RED_ADD, NVS_RED_INC, NVS_RED_DEC};

	return number < sizeof(map) ? map[number] : NVS_RED_OTHER;
}

void nvs_semaphore_report(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
			  uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const struct nvs_semaphore s = {
		.op = nvs_reg_of(r, NVS_REG_REPORT_REDUCE, value) ? NVS_SEM_REDUCE : NVS_SEM_SET,
		.by = NVS_BY_ENGINE,
		.reduction = (uint8_t)nvs_reg_of(r, NVS_REG_REPORT_REDUCTION, value),
		.flags = nvs_reg_of(r, NVS_REG_REPORT_SIZE, value) ? 0 : NVS_OP_TIMESTAMP,
		.address = nvs_reg_pair(r, sub->state, NVS_REG_REPORT_HI, NVS_REG_REPORT_LO),
		.payload = nvs_reg_get(r, sub->state, NVS_REG_REPORT_PAYLOAD),
	};

	if (!nvs_reg_of(r, NVS_REG_REPORT_OP, value)) /* skip traps, and counters of the 3D class */
		nvs_semaphore_add(c, nvs_subch_number(c, sub), at, &s);
}

void nvs_semaphore_report_execute(struct nvs_ops_channel *c, const struct nvs_subch *sub,
				  uint32_t value, uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	uint32_t what = nvs_reg_of(r, NVS_REG_EXECUTE_OP, value);
	bool wide = nvs_reg_of(r, NVS_REG_EXECUTE_WIDE, value);
	struct nvs_semaphore s = {
		.op = NVS_SEM_EQ,
		.by = NVS_BY_ENGINE,
		.reduction = (uint8_t)nvs_reg_of(r, NVS_REG_EXECUTE_REDUCTION, value),
		.flags = wide ? NVS_OP_WIDE : 0,
		.address = nvs_reg_pair(r, sub->state, NVS_REG_EXECUTE_HI, NVS_REG_EXECUTE_LO),
		.payload = nvs_reg_long(r, sub->state, wide, NVS_REG_EXECUTE_PAYLOAD_HI,
					NVS_REG_EXECUTE_PAYLOAD),
	};

	if (what > 1)
		return;
	if (what == 0) {
		s.op = nvs_reg_of(r, NVS_REG_EXECUTE_REDUCE, value) ? NVS_SEM_REDUCE : NVS_SEM_SET;
		s.flags |= nvs_reg_of(r, NVS_REG_EXECUTE_SIZE, value) ? 0 : NVS_OP_TIMESTAMP;
	}
	nvs_semaphore_add(c, nvs_subch_number(c, sub), at, &s);
}

/* S is complete except for the flags that only releases have. */
static void add_host_semaphore(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
			       struct nvs_semaphore *s, bool timestamp, bool wfi)
{
	if (s->op >= NVS_SEM_SET)
		s->flags |= (timestamp ? NVS_OP_TIMESTAMP : 0) | (wfi ? NVS_OP_WFI : 0);
	s->by = NVS_BY_HOST;
	s->address &= ~3ull;
	nvs_semaphore_add(c, subch, at, s);
}

void nvs_semaphore_host(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at)
{
	static const uint8_t operations[] = {NVS_SEM_EQ,      NVS_SEM_SET, NVS_SEM_GE,
					     NVS_SEM_CIRC_GE, NVS_SEM_AND, NVS_SEM_NOR,
					     NVS_SEM_REDUCE};
	const struct nvs_roles *r = c->host_roles;
	uint32_t what = nvs_reg_of(r, NVS_REG_HOST_OP, value);
	bool wide = nvs_reg_of(r, NVS_REG_HOST_WIDE, value);
	struct nvs_semaphore s = {
		.reduction = nvs_semaphore_reduction(nvs_reg_of(r, NVS_REG_HOST_REDUCTION, value)),
		.flags = wide ? NVS_OP_WIDE : 0,
		.address = nvs_reg_pair(r, c->host_state, NVS_REG_HOST_ADDR_HI,
					NVS_REG_HOST_ADDR_LO),
		.payload = nvs_reg_long(r, c->host_state, wide, NVS_REG_HOST_PAYLOAD_HI,
					NVS_REG_HOST_PAYLOAD_LO),
	};

	if (what >= sizeof(operations))
		return;
	s.op = operations[what];
	add_host_semaphore(c, subch, at, &s, nvs_reg_of(r, NVS_REG_HOST_TIMESTAMP, value),
			   nvs_reg_of(r, NVS_REG_HOST_WFI, value));
}

void nvs_semaphore_host_old(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at)
{
	/* one bit each */
	static const uint8_t operations[] = {NVS_SEM_EQ, NVS_SEM_SET, NVS_SEM_CIRC_GE, NVS_SEM_AND,
					     NVS_SEM_REDUCE};
	const struct nvs_roles *r = c->host_roles;
	uint32_t what = nvs_reg_of(r, NVS_REG_OLD_OP, value);
	struct nvs_semaphore s = {
		.reduction = nvs_semaphore_reduction(nvs_reg_of(r, NVS_REG_OLD_REDUCTION, value)),
		.address = nvs_reg_pair(r, c->host_state, NVS_REG_OLD_HI, NVS_REG_OLD_LO),
		.payload = nvs_reg_get(r, c->host_state, NVS_REG_OLD_PAYLOAD),
	};

	for (uint32_t i = 0; i < sizeof(operations); i++) {
		if (what != 1u << i)
			continue;
		s.op = operations[i];
		/* RELEASE_WFI is inverted, and so is RELEASE_SIZE. */
		add_host_semaphore(c, subch, at, &s, !nvs_reg_of(r, NVS_REG_OLD_SIZE, value),
				   !nvs_reg_of(r, NVS_REG_OLD_WFI, value));
	}
}
