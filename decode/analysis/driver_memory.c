/* SPDX-License-Identifier: MIT */
/* Follows memory objects of the resource manager; sums are made at the end, when their owners are
 * known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/analysis/driver_memory.h"
#include "decode/trace/records.h"

#define LOCAL_MEMORY 0x40 /* NV01_MEMORY_LOCAL_USER */
#define SYSTEM_MEMORY 0x3e /* NV01_MEMORY_SYSTEM */
#define SIZE_OFFSET 64 /* of `size` in NV_MEMORY_ALLOCATION_PARAMS */

struct nvs_rm_live {
	uint32_t key[2]; /* client, handle */
	uint32_t index;
	UT_hash_handle hh;
};

static struct nvs_rm_live *find_live(const struct nvs_rm_memory *m, uint32_t client,
				     uint32_t handle)
{
	uint32_t key[2] = {client, handle};
	struct nvs_rm_live *l;

	HASH_FIND(hh, m->live, key, sizeof(key), l);
	return l;
}

static void end_object(struct nvs_rm_memory *m, struct nvs_rm_live *l, uint64_t time)
{
	if (!l)
		return;
	m->list[l->index].to = time;
	HASH_DEL(m->live, l);
	free(l);
}

static int add_object(struct nvs_rm_memory *m, const struct nvs_rec_object *rec, uint64_t size)
{
	struct nvs_rm_object *object;
	struct nvs_rm_live *l;

	end_object(m, find_live(m, rec->client, rec->handle), rec->rec.time);
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->key[0] = rec->client;
	l->key[1] = rec->handle;
	l->index = m->n;
	HASH_ADD(hh, m->live, key, sizeof(l->key), l);
	if (!l->hh.tbl) {
		free(l);
		return -ENOMEM;
	}
	object = NVS_APPEND(m->list, m->n, m->room, 64, UINT32_MAX);
	if (!object)
		return -ENOMEM;
	*object = (struct nvs_rm_object){
		.client = rec->client,
		.handle = rec->handle,
		.gpu = rec->gpu,
		.place = rec->object_class == LOCAL_MEMORY ? NVS_RM_GPU : NVS_RM_SYSTEM,
		.size = size,
		.from = rec->rec.time,
		.to = UINT64_MAX,
	};
	return 0;
}

int nvs_rm_memory_record(struct nvs_rm_memory *m, const struct nvs_rec *rec)
{
	const struct nvs_rec_object *o = (const void *)rec;
	const struct nvs_rec_object_gone *end = (const void *)rec;
	uint64_t size;

	if (rec->type == NVS_REC_OBJECT_GONE)
		end_object(m, find_live(m, end->client, end->handle), rec->time);
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
	const struct nvs_rm_live *l = map ? find_live(m, map->client, map->handle) : NULL;

	if (l)
		m->list[l->index].program = true;
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
	struct memory_change *changes = calloc(2ul * m->n + 1, sizeof(*changes));
	size_t n = 0;

	m->sums = calloc(NVS_RM_SUMS, sizeof(*m->sums));
	if (!changes || !m->sums) {
		free(changes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->n; i++) {
		const struct nvs_rm_object *o = m->list + i;
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
	struct nvs_rm_live *l, *next;

	HASH_ITER(hh, m->live, l, next) {
		HASH_DEL(m->live, l);
		free(l);
	}
	free(m->list);
	free(m->sums);
}
