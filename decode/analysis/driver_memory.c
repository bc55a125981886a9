/* SPDX-License-Identifier: MIT */
/* Follows memory objects of the resource manager; sums are made at the end, when their owners are
 * known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/analysis/driver_memory.h"
#include "decode/trace/records.h"

#define LOCAL_MEMORY 0x40 /* NV01_MEMORY_LOCAL_USER */
#define SYSTEM_MEMORY 0x3e /* NV01_MEMORY_SYSTEM */
#define SIZE_OFFSET 64 /* of `size` in NV_MEMORY_ALLOCATION_PARAMS */

/* Ends the live object of this handle, if there is one. */
static void end_object(struct nvs_rm_memory *m, uint32_t client, uint32_t handle, uint64_t time)
{
	struct nvs_rm_object *o = nvs_rows_find(&m->objects, (uint32_t[]){client, handle});

	if (!o)
		return;
	o->to = time;
	nvs_rows_remove(&m->objects, o);
}

static int add_object(struct nvs_rm_memory *m, const struct nvs_rec_object *rec, uint64_t size)
{
	struct nvs_rm_object *o;

	end_object(m, rec->client, rec->handle, rec->rec.time);
	o = nvs_rows_at(&m->objects, (uint32_t[]){rec->client, rec->handle});
	if (!o)
		return -ENOMEM;
	o->gpu = rec->gpu;
	o->place = rec->object_class == LOCAL_MEMORY ? NVS_RM_GPU : NVS_RM_SYSTEM;
	o->size = size;
	o->from = rec->rec.time;
	o->to = UINT64_MAX;
	return 0;
}

int nvs_rm_memory_record(struct nvs_rm_memory *m, const struct nvs_rec *rec)
{
	const struct nvs_rec_object *o = (const void *)rec;
	const struct nvs_rec_object_gone *end = (const void *)rec;
	uint64_t size;

	if (!m->objects.size)
		m->objects = NVS_ROWS(struct nvs_rm_object, key);
	if (rec->type == NVS_REC_OBJECT_GONE)
		end_object(m, end->client, end->handle, rec->time);
	/* A duplicate refers to the same memory. */
	if (rec->type != NVS_REC_OBJECT || o->source_handle ||
	    (o->object_class != LOCAL_MEMORY && o->object_class != SYSTEM_MEMORY) ||
	    o->params_length < SIZE_OFFSET + sizeof(size))
		return 0;
	memcpy(&size, (const char *)nvs_record_tail(rec, o->params_length) + SIZE_OFFSET,
	       sizeof(size));
	return add_object(m, o, size);
}

void nvs_rm_memory_note_program(void *arg, uint64_t address)
{
	struct nvs_rm_memory *m = arg;
	const struct nvs_mapping *map = nvs_trace_gpu_map(m->trace, 0, address);
	struct nvs_rm_object *o = NULL;

	if (map)
		o = nvs_rows_find(&m->objects, (uint32_t[]){map->client, map->handle});
	if (o)
		o->program = true;
}

/* ---- sums ---- */

/* An allocation or a free. */
struct memory_change {
	uint64_t time, sum;
	int64_t size;
};

static int compare_times(const void *a, const void *b)
{
	const struct memory_change *x = a, *y = b;

	return NVS_CMP(x->time, y->time) ?: NVS_CMP(x->size, y->size); /* frees first */
}

/* Four per GPU: a linear search will do. */
static uint32_t sum_of(struct nvs_rm_memory *m, const struct nvs_rm_object *o)
{
	uint32_t i = 0;

	while (i < m->nsums && (m->sums[i].gpu != o->gpu || m->sums[i].place != o->place ||
				m->sums[i].program != o->program))
		i++;
	if (i == m->nsums && i < NVS_RM_SUMS) {
		m->sums[i] = (struct nvs_rm_sum){
			.gpu = o->gpu, .place = o->place, .program = o->program};
		m->nsums++;
	}
	return i;
}

int nvs_rm_memory_end(struct nvs_rm_memory *m)
{
	struct memory_change *changes = calloc(2ul * m->objects.n + 1, sizeof(*changes));
	size_t n = 0;

	m->sums = calloc(NVS_RM_SUMS, sizeof(*m->sums));
	if (!changes || !m->sums) {
		free(changes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->objects.n; i++) {
		const struct nvs_rm_object *o = m->objects.row[i];
		uint32_t sum = sum_of(m, o);

		if (sum == NVS_RM_SUMS)
			continue;
		m->sums[sum].objects++;
		m->sums[sum].bytes += o->size;
		m->sums[sum].freed += o->to != UINT64_MAX;
		changes[n++] = (struct memory_change){o->from, sum, (int64_t)o->size};
		if (o->to != UINT64_MAX)
			changes[n++] = (struct memory_change){o->to, sum, -(int64_t)o->size};
	}
	qsort(changes, n, sizeof(*changes), compare_times);
	for (size_t i = 0; i < n; i++) {
		struct nvs_rm_sum *s = m->sums + changes[i].sum;

		s->live += (uint64_t)changes[i].size;
		s->peak = s->live > s->peak ? s->live : s->peak;
	}
	free(changes);
	return 0;
}

void nvs_rm_memory_free(struct nvs_rm_memory *m)
{
	nvs_rows_free(&m->objects, NULL);
	free(m->sums);
}
