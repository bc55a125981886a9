/* SPDX-License-Identifier: MIT */
/* Counts operations by kind. */
#include "decode/calls/tally.h"

void nvs_tally_add(struct nvs_tally *t, const struct nvs_op *op)
{
	switch (op->kind) {
	case NVS_OP_COPY:
		t->copies[op->copy.mode]++;
		t->copied[op->copy.mode] += op->copy.bytes;
		break;
	case NVS_OP_MEMSET:
		t->memsets++;
		t->memset_bytes += op->copy.bytes;
		break;
	case NVS_OP_UPLOAD:
		t->uploads++;
		t->upload_bytes += op->copy.bytes;
		break;
	case NVS_OP_LAUNCH:
		t->launches++;
		t->unknown_launches += op->flags & NVS_OP_UNKNOWN ? 1 : 0;
		break;
	case NVS_OP_TRIGGER:
		t->triggers++;
		break;
	case NVS_OP_RELEASE:
		t->releases++;
		break;
	case NVS_OP_ACQUIRE:
		t->acquires++;
		break;
	case NVS_OP_WAIT_IDLE:
		t->waits++;
		break;
	case NVS_OP_CACHE:
		t->caches++;
		break;
	}
}

void nvs_tally_add_code(struct nvs_tally *t, const struct nvs_op *op)
{
	uint8_t mode = op->code.mode;

	t->codes++;
	t->code_bytes += op->code.bytes;
	if (t->copies[mode] && t->copied[mode] >= op->code.bytes) {
		t->copies[mode]--;
		t->copied[mode] -= op->code.bytes;
	}
}

void nvs_tally_sum(struct nvs_tally *into, const struct nvs_tally *from)
{
	uint64_t *to = (uint64_t *)into;
	const uint64_t *add = (const uint64_t *)from;

	for (unsigned i = 0; i < sizeof(*into) / sizeof(*to); i++)
		to[i] += add[i];
}
