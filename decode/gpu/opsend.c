/* SPDX-License-Identifier: MIT */
/*
 * The end of a submission: what its inline uploads were for is told by the descriptors that it
 * uploads or triggers, so operations are held until then. And what only a later submission tells:
 * that bytes copied earlier were instructions, because instruction caches are invalidated next.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/ops-internal.h"

/* ---- ranges ---- */

static void add_range(struct ranges *r, uint64_t start, uint64_t bytes)
{
	/*
	 * Kernels of a graph share most of their banks: look at the latest ones for the same range.
	 */
	for (uint32_t i = r->count, n = 0; i > 0 && n < 16; i--, n++) {
		if (r->list[i - 1].start == start && r->list[i - 1].end >= start + bytes)
			return;
	}
	if (r->count == r->room) {
		uint32_t room = r->room ? 2 * r->room : 64;
		struct range *list = room > MAX_OPS * 32 ? NULL
							 : realloc(r->list, room * sizeof(*list));

		if (!list)
			return;
		r->list = list;
		r->room = room;
	}
	r->list[r->count++] = (struct range){start, start + bytes};
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Mostly there are a handful. */
static void sort(struct range *list, uint32_t n)
{
	if (n > 32) {
		qsort(list, n, sizeof(*list), by_start);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		struct range r = list[i];
		uint32_t k = i;

		for (; k && list[k - 1].start > r.start; k--)
			list[k] = list[k - 1];
		list[k] = r;
	}
}

/* Sorts, and joins what overlaps or touches. */
static void settle_ranges(struct ranges *r)
{
	uint32_t n = 0;

	if (!r->count)
		return;
	sort(r->list, r->count);
	for (uint32_t i = 1; i < r->count; i++) {
		if (r->list[i].start > r->list[n].end)
			r->list[++n] = r->list[i];
		else if (r->list[i].end > r->list[n].end)
			r->list[n].end = r->list[i].end;
	}
	r->count = n + 1;
}

static bool within(const struct ranges *r, uint64_t start, uint64_t bytes)
{
	uint32_t lo = 0, hi = r->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (r->list[mid].start <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && start <= r->list[lo - 1].end && bytes <= r->list[lo - 1].end - start;
}

void nvs_ops_free_notes(struct nvs_ops *ops)
{
	free(ops->descriptors.list);
	free(ops->constants.list);
	free(ops->semaphores.list);
	free(ops->uploads.list);
}

void nvs_ops_note_qmd(struct nvs_ops *ops, uint64_t address, const struct nvs_qmd *qmd)
{
	add_range(&ops->descriptors, address, NVS_QMD_MAX_BYTES);
	if (!qmd)
		return;
	for (uint32_t i = 0; i < qmd->nbanks; i++) {
		if (qmd->banks[i].bytes)
			add_range(&ops->constants, qmd->banks[i].address, qmd->banks[i].bytes);
	}
	for (int i = 0; i < NVS_QMD_RELEASES; i++) {
		if (qmd->releases[i].enable)
			add_range(&ops->semaphores, qmd->releases[i].address, 16);
	}
}

void nvs_ops_note_upload(struct nvs_ops *ops, uint64_t address, uint32_t cls)
{
	struct uploads *u = &ops->uploads;

	add_range(&ops->descriptors, address, NVS_QMD_MAX_BYTES);
	if (u->count == u->room) {
		uint32_t room = u->room ? 2 * u->room : 64;
		void *list = room > MAX_OPS ? NULL : realloc(u->list, room * sizeof(*u->list));

		if (!list)
			return;
		u->list = list;
		u->room = room;
	}
	u->list[u->count].address = address;
	u->list[u->count++].cls = cls;
}

/* Tells what inline copies were for, as far as is known; how many remain copies. */
static uint32_t tell_uses(struct nvs_ops *ops)
{
	uint32_t left = 0;

	settle_ranges(&ops->descriptors);
	settle_ranges(&ops->constants);
	settle_ranges(&ops->semaphores);
	for (uint32_t i = 0; i < ops->count; i++) {
		struct nvs_op *op = &ops->list[i];

		if (op->kind != NVS_OP_COPY || op->copy.mode != NVS_COPY_INLINE)
			continue;
		op->kind = NVS_OP_UPLOAD;
		if (within(&ops->descriptors, op->copy.dst, op->copy.bytes)) {
			op->copy.use = NVS_USE_DESCRIPTOR;
		} else if (within(&ops->constants, op->copy.dst, op->copy.bytes)) {
			op->copy.use = NVS_USE_CONSTANTS;
		} else if (within(&ops->semaphores, op->copy.dst, op->copy.bytes)) {
			op->copy.use = NVS_USE_SEMAPHORE;
		} else {
			op->kind = NVS_OP_COPY;
			left++;
		}
	}
	return left;
}

void nvs_ops_flush(struct nvs_ops_channel *c)
{
	struct nvs_ops *ops = c->ops;

	/* Mostly the descriptors that ran explain everything; else those only uploaded are asked as
	 * well. */
	if (ops->descriptors.count && tell_uses(ops) && ops->uploads.count) {
		for (uint32_t i = 0; i < ops->uploads.count; i++) {
			struct nvs_qmd qmd;

			if (nvs_sked_read(ops->sked, ops->uploads.list[i].address,
					  ops->uploads.list[i].cls, &qmd))
				nvs_ops_note_qmd(ops, ops->uploads.list[i].address, &qmd);
		}
		tell_uses(ops);
	}
	for (uint32_t i = 0; ops->sink.op && i < ops->count; i++)
		ops->sink.op(ops->sink.arg, c, &ops->list[i]);
	for (uint32_t i = 0; i < 8; i++)
		c->subch[i].transfer.op = NO_OP;
	ops->descriptors.count = ops->constants.count = ops->semaphores.count = 0;
	ops->uploads.count = 0;
	ops->count = ops->nqmds = 0;
	ops->flushes++;
}

const struct nvs_qmd *nvs_ops_qmd(const struct nvs_ops *ops, const struct nvs_op *op)
{
	if (op->kind != NVS_OP_LAUNCH || op->flags & NVS_OP_UNKNOWN || op->launch.qmd >= ops->nqmds)
		return NULL;
	return &ops->qmds[op->launch.qmd];
}

/* ---- code ---- */

void nvs_ops_note_copy(struct nvs_ops_channel *c, uint8_t mode, uint64_t dst, uint64_t bytes)
{
	struct nvs_ops *ops = c->ops;
	struct recent *r = &ops->recent[++ops->clock % RECENT];

	*r = (struct recent){ops->clock, dst, bytes, c->tag, c->info.number, mode};
}

void nvs_ops_note_release(struct nvs_ops_channel *c, uint64_t address)
{
	uint32_t i = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 52) % RELEASES;

	c->ops->releases[i].address = address;
	c->ops->releases[i].channel = c->info.number;
}

void nvs_ops_note_acquire(struct nvs_ops_channel *c, uint64_t address)
{
	uint32_t i = (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 52) % RELEASES;

	if (c->ops->releases[i].address != address)
		return;
	c->acquired[c->nacquired++ % ACQUIRED] = (struct acquired){c->ops->releases[i].channel,
								   c->ops->clock};
}

static bool waited_for(const struct nvs_ops_channel *c, const struct recent *r)
{
	if (r->channel == c->info.number)
		return true;
	for (uint32_t i = 0; i < ACQUIRED && i < c->nacquired; i++) {
		if (c->acquired[i].channel == r->channel && c->acquired[i].clock >= r->clock)
			return true;
	}
	return false;
}

/*
 * The driver invalidates caches, copies code, and invalidates instruction caches: what was copied
 * between the two, by this channel or by one that it has waited for, is code.
 */
void nvs_ops_note_invalidate(struct nvs_ops_channel *c, uint32_t subch, bool instructions,
			     uint64_t at)
{
	struct nvs_ops *ops = c->ops;

	for (uint32_t i = 1; instructions && i <= RECENT; i++) {
		const struct recent *r = &ops->recent[(ops->clock + i) % RECENT];
		struct nvs_op *op;

		if (r->clock <= c->window || !r->bytes || !waited_for(c, r))
			continue;
		op = nvs_ops_add(c, NVS_OP_CODE, subch, at);
		if (!op)
			return;
		op->code.mode = r->mode;
		op->code.dst = r->dst;
		op->code.bytes = r->bytes;
		op->code.tag = r->tag;
	}
	c->window = ops->clock;
}
