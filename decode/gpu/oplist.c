/* SPDX-License-Identifier: MIT */
/* The operations of the current submission. They are held until its end, because only then is the
 * purpose of its uploads known. */
#include "decode/base/grow.h"
#include "decode/gpu/engine.h"

_Static_assert(MAX_OPS % 64 == 0 && !(MAX_OPS & (MAX_OPS - 1)), "room is MAX_OPS once it is full");

bool nvs_ops_make_room(struct nvs_ops_channel *c)
{
	struct nvs_ops *ops = c->ops;
	if (ops->count >= MAX_OPS)
		nvs_ops_flush(c);
	return NVS_RESERVE(ops->list, ops->count, ops->room, 64, MAX_OPS);
}

struct nvs_qmd *nvs_ops_keep_qmd(struct nvs_ops *ops, const struct nvs_qmd *qmd)
{
	struct nvs_qmd *own = NVS_APPEND(ops->qmds, ops->nqmds, ops->qmd_room, 16, UINT32_MAX);

	if (own)
		nvs_copy(own, qmd, sizeof(*qmd));
	return own;
}

void nvs_ops_flush(struct nvs_ops_channel *c)
{
	struct nvs_ops *ops = c->ops;

	nvs_uses_apply(ops);
	for (uint32_t i = 0; ops->sink.op && i < ops->count; i++) {
		nvs_code_track_op(c, &ops->list[i]);
		ops->sink.op(ops->sink.arg, c, &ops->list[i]);
	}
	for (uint32_t i = 0; i < 8; i++)
		c->subch[i].transfer.op = NO_OP;
	ops->descriptors.count = ops->constants.count = ops->semaphores.count = 0;
	ops->uploads.count = 0;
	ops->handed += ops->count;
	ops->count = ops->nqmds = 0;
	ops->flushes++;
}

uint64_t nvs_ops_count(const struct nvs_ops *ops)
{
	return ops->handed + ops->count;
}

const struct nvs_qmd *nvs_ops_qmd(const struct nvs_ops *ops, const struct nvs_op *op)
{
	if (op->kind != NVS_OP_LAUNCH || op->flags & NVS_OP_UNKNOWN || op->launch.qmd >= ops->nqmds)
		return NULL;
	return &ops->qmds[op->launch.qmd];
}
