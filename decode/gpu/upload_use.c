/* SPDX-License-Identifier: MIT */
/* Finds the purpose of a submission's inline uploads: an upload may be a descriptor that is
 * uploaded or triggered, or a constant bank or semaphore that such a descriptor refers to. */
#include <stdlib.h>
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/base/search.h"
#include "decode/gpu/engine.h"

static __attribute__((noinline)) bool more_ranges(struct nvs_address_ranges *r)
{
	return NVS_RESERVE(r->list, r->count, r->room, 64, MAX_OPS * 32);
}

static void add_range(struct nvs_address_ranges *r, uint64_t start, uint64_t bytes)
{
	/* Kernels of a graph share most of their banks: check the latest ranges for a duplicate. */
	for (uint32_t i = r->count, n = 0; i > 0 && n < 16; i--, n++) {
		if (r->list[i - 1].start == start && r->list[i - 1].end >= start + bytes)
			return;
	}
	if (r->count == r->room && !more_ranges(r))
		return;
	r->list[r->count++] = (struct nvs_address_range){start, start + bytes};
}

static int compare_starts(const void *a, const void *b)
{
	const struct nvs_address_range *x = a, *y = b;

	return NVS_CMP(x->start, y->start);
}

/* Usually there are a handful of ranges. */
static void sort_ranges(struct nvs_address_range *list, uint32_t n)
{
	if (n > 32) {
		qsort(list, n, sizeof(*list), compare_starts);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		struct nvs_address_range r = list[i];
		uint32_t k = i;

		for (; k && list[k - 1].start > r.start; k--)
			list[k] = list[k - 1];
		list[k] = r;
	}
}

/* Sorts the ranges, and merges those that overlap or touch. */
static void merge_ranges(struct nvs_address_ranges *r)
{
	uint32_t n = 0;

	if (r->count < 2)
		return;
	sort_ranges(r->list, r->count);
	for (uint32_t i = 1; i < r->count; i++) {
		if (r->list[i].start > r->list[n].end)
			r->list[++n] = r->list[i];
		else if (r->list[i].end > r->list[n].end)
			r->list[n].end = r->list[i].end;
	}
	r->count = n + 1;
}

static inline bool is_within(const struct nvs_address_ranges *r, uint64_t start, uint64_t bytes)
{
	size_t n = NVS_COUNT_UP_TO(r->list, r->count, start, start);

	return n && start <= r->list[n - 1].end && bytes <= r->list[n - 1].end - start;
}

void nvs_uses_free(struct nvs_ops *ops)
{
	free(ops->descriptors.list);
	free(ops->constants.list);
	free(ops->semaphores.list);
	free(ops->uploads.list);
}

void nvs_uses_add_qmd(struct nvs_ops *ops, uint64_t address, const struct nvs_qmd *qmd)
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

void nvs_uses_add_upload(struct nvs_ops *ops, uint64_t address, uint32_t cls)
{
	struct nvs_qmd_upload *upload = NVS_APPEND(ops->uploads.list, ops->uploads.count,
						   ops->uploads.room, 64, MAX_OPS);

	add_range(&ops->descriptors, address, NVS_QMD_MAX_BYTES);
	if (upload)
		*upload = (struct nvs_qmd_upload){address, cls};
}

/* Sets the purpose of inline copies where it is known. Returns how many remain copies. */
static uint32_t set_uses(struct nvs_ops *ops)
{
	uint32_t left = 0;

	merge_ranges(&ops->descriptors);
	merge_ranges(&ops->constants);
	merge_ranges(&ops->semaphores);
	for (uint32_t i = 0; i < ops->count; i++) {
		struct nvs_op *op = &ops->list[i];

		if (op->kind != NVS_OP_COPY || op->copy.mode != NVS_COPY_INLINE)
			continue;
		op->kind = NVS_OP_UPLOAD;
		if (is_within(&ops->descriptors, op->copy.dst, op->copy.bytes)) {
			op->copy.use = NVS_USE_DESCRIPTOR;
		} else if (is_within(&ops->constants, op->copy.dst, op->copy.bytes)) {
			op->copy.use = NVS_USE_CONSTANTS;
		} else if (is_within(&ops->semaphores, op->copy.dst, op->copy.bytes)) {
			op->copy.use = NVS_USE_SEMAPHORE;
		} else {
			op->kind = NVS_OP_COPY;
			left++;
		}
	}
	return left;
}

void nvs_uses_apply(struct nvs_ops *ops)
{
	/* The descriptors that ran usually explain all copies; only otherwise decode those that
	 * were only uploaded. */
	if (!ops->descriptors.count || !set_uses(ops) || !ops->uploads.count)
		return;
	for (uint32_t i = 0; i < ops->uploads.count; i++) {
		struct nvs_qmd_upload *u = &ops->uploads.list[i];
		struct nvs_qmd qmd;

		if (nvs_sched_read(ops->sched, u->address, u->cls, &qmd))
			nvs_uses_add_qmd(ops, u->address, &qmd);
	}
	set_uses(ops);
}
