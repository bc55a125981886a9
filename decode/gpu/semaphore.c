/* SPDX-License-Identifier: MIT */
/*
 * Releases and acquires: by Host, by the engines' report semaphores, and what all of them share.
 */
#include "decode/gpu/engine.h"

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

struct nvs_op *nvs_semaphore_release(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
				     uint64_t address, uint64_t payload, uint32_t flags,
				     int reduction)
{
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_RELEASE, subch, at);

	nvs_code_released(c, address);
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

int nvs_semaphore_reduction(uint32_t number)
{
	static const uint8_t map[] = {NVS_RED_MIN, NVS_RED_MAX, NVS_RED_XOR, NVS_RED_AND,
				      NVS_RED_OR,  NVS_RED_ADD, NVS_RED_INC, NVS_RED_DEC};

	return number < sizeof(map) ? map[number] : NVS_RED_OTHER;
}

void nvs_semaphore_report(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
			  uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	int reduction = SET_PAYLOAD;

	if (nvs_reg_of(r, NVS_REG_REPORT_OP, value))
		return; /* traps, counters of the 3D class */
	if (nvs_reg_of(r, NVS_REG_REPORT_REDUCE, value))
		reduction = (int)nvs_reg_of(r, NVS_REG_REPORT_REDUCTION, value);
	nvs_semaphore_release(c, nvs_subch_number(c, sub), at,
			      nvs_reg_pair(r, s, NVS_REG_REPORT_HI, NVS_REG_REPORT_LO),
			      nvs_reg_get(r, s, NVS_REG_REPORT_PAYLOAD),
			      nvs_reg_of(r, NVS_REG_REPORT_SIZE, value) ? 0 : NVS_OP_TIMESTAMP,
			      reduction);
}

static struct nvs_op *acquire(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
			      uint64_t address, uint64_t payload, enum nvs_semaphore_op what,
			      uint32_t flags)
{
	struct nvs_op *op = nvs_ops_add(c, NVS_OP_ACQUIRE, subch, at);

	nvs_code_acquired(c, address);
	if (!op)
		return NULL;
	op->flags = flags;
	op->sem.op = (uint8_t)what;
	op->sem.by = NVS_BY_HOST;
	op->sem.address = address;
	op->sem.payload = payload;
	return op;
}

void nvs_semaphore_report_execute(struct nvs_ops_channel *c, const struct nvs_subch *sub,
				  uint32_t value, uint64_t at)
{
	const struct nvs_roles *r = sub->roles;
	const uint32_t *s = sub->state;
	uint64_t address = nvs_reg_pair(r, s, NVS_REG_EXECUTE_HI, NVS_REG_EXECUTE_LO);
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
		op = acquire(c, nvs_subch_number(c, sub), at, address, payload, NVS_SEM_EQ, flags);
		if (op)
			op->sem.by = NVS_BY_ENGINE;
		return;
	}
	if (!nvs_reg_of(r, NVS_REG_EXECUTE_SIZE, value))
		flags |= NVS_OP_TIMESTAMP;
	if (nvs_reg_of(r, NVS_REG_EXECUTE_REDUCE, value))
		reduction = (int)nvs_reg_of(r, NVS_REG_EXECUTE_REDUCTION, value);
	nvs_semaphore_release(c, nvs_subch_number(c, sub), at, address, payload, flags, reduction);
}

void nvs_semaphore_host(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at)
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
	op = nvs_semaphore_release(
		c, subch, at, address, payload, flags,
		what == 6 ? nvs_semaphore_reduction(nvs_reg_of(r, NVS_REG_HOST_REDUCTION, value))
			  : SET_PAYLOAD);
	if (op)
		op->sem.by = NVS_BY_HOST;
}

void nvs_semaphore_host_old(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at)
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
	op = nvs_semaphore_release(
		c, subch, at, address, payload, flags,
		what == 0x10 ? nvs_semaphore_reduction(nvs_reg_of(r, NVS_REG_OLD_REDUCTION, value))
			     : SET_PAYLOAD);
	if (op)
		op->sem.by = NVS_BY_HOST;
}
