/* SPDX-License-Identifier: MIT */
/* Rows and strings of the page. They are created once for each name, under nvs_lock, and never
 * change. If a table is full, row 0 is used. */
#include <string.h>
#include "preload/live/live.h"

#define PROBES 8
#define MAX_TEXT 4095

void *nvs_live_table(const struct nvs_live_page *p, enum nvs_live_table_number which)
{
	return p->grown[which] ? p->grown[which] : p->base + p->head->tables[which].offset;
}

void *nvs_live_row_new(struct nvs_live_page *p, enum nvs_live_table_number which, uint32_t *number)
{
	const struct nvs_live_table *t = &p->head->tables[which];

	if (t->used >= __atomic_load_n(&p->ready[which], __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(&p->head->failed_rows, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	*number = t->used;
	return (uint8_t *)nvs_live_table(p, which) + (uint64_t)t->used * t->row_bytes;
}

void nvs_live_row_done(struct nvs_live_page *p, enum nvs_live_table_number which)
{
	__atomic_fetch_add(&p->head->tables[which].used, 1, __ATOMIC_RELEASE);
}

uint32_t nvs_live_string_new(struct nvs_live_page *p, const char *text, size_t length)
{
	struct nvs_live_table *t = &p->head->tables[NVS_LIVE_STRINGS];
	uint64_t at = p->strings;

	if (length > MAX_TEXT)
		length = MAX_TEXT;
	if (at + length + 1 > __atomic_load_n(&p->ready[NVS_LIVE_STRINGS], __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(&p->head->failed_rows, 1, __ATOMIC_RELAXED);
		return 0;
	}
	memcpy((char *)nvs_live_table(p, NVS_LIVE_STRINGS) + at, text, length);
	p->strings += length + 1;
	__atomic_store_n(&t->used, (uint32_t)p->strings, __ATOMIC_RELEASE);
	return (uint32_t)at;
}

/* ---- entry points ---- */

uint32_t nvs_live_api_new(struct nvs_live_page *p, uint32_t number, const char *name,
			  const char *group)
{
	struct nvs_live_api *row;
	uint32_t n = 0, known;

	NVS_LOCK_SCOPE();
	/* Once for each entry point, even if the table is full: coming here on every call would be
	 * slow. */
	known = p->api_rows[number];
	row = known ? NULL : nvs_live_row_new(p, NVS_LIVE_APIS, &n);
	if (known)
		n = known - 1;
	if (row) {
		row->name = nvs_live_string_new(p, name, strlen(name));
		row->group = nvs_live_string_new(p, group, strlen(group));
		nvs_live_row_done(p, NVS_LIVE_APIS);
	}
	__atomic_store_n(&p->api_rows[number], (uint16_t)(n + 1), __ATOMIC_RELEASE);
	return n;
}

static struct nvs_live_result *find_result(const struct nvs_live_page *p, uint32_t api,
					   uint32_t result)
{
	struct nvs_live_result *rows = nvs_live_table(p, NVS_LIVE_RESULTS);
	uint32_t used = __atomic_load_n(&p->head->tables[NVS_LIVE_RESULTS].used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 1; i < used; i++)
		if (rows[i].api == api && rows[i].result == result)
			return &rows[i];
	return NULL;
}

void nvs_live_count_failure(struct nvs_live_page *p, uint32_t api, uint32_t result)
{
	struct nvs_live_result *row = find_result(p, api, result);
	uint32_t n;

	if (!row) {
		NVS_LOCK_SCOPE();
		row = find_result(p, api, result);
		if (!row && (row = nvs_live_row_new(p, NVS_LIVE_RESULTS, &n))) {
			row->api = api;
			row->result = result;
			nvs_live_row_done(p, NVS_LIVE_RESULTS);
		}
	}
	if (!row)
		row = nvs_live_table(p, NVS_LIVE_RESULTS);
	__atomic_fetch_add(&row->count, 1, __ATOMIC_RELAXED);
}

void nvs_live_count_fault(struct nvs_live_page *p, uint32_t number, uint32_t channel, uint64_t time)
{
	struct nvs_live_fault *rows = nvs_live_table(p, NVS_LIVE_FAULTS), *row;
	uint32_t used = p->head->tables[NVS_LIVE_FAULTS].used, n = 0;

	while (n < used && rows[n].number != number)
		n++;
	row = n < used ? &rows[n] : nvs_live_row_new(p, NVS_LIVE_FAULTS, &n);
	if (!row)
		return;
	row->number = number;
	__atomic_store_n(&row->channel, channel, __ATOMIC_RELAXED);
	__atomic_store_n(&row->time, time, __ATOMIC_RELAXED);
	__atomic_fetch_add(&row->count, 1, __ATOMIC_RELAXED);
	if (n == used)
		nvs_live_row_done(p, NVS_LIVE_FAULTS);
}

/* ---- kernels ---- */

/* Returns the row of this name. A function without a name has its own row, found by its key. */
static uint32_t get_named_row(struct nvs_live_page *p, uint64_t function,
			      const struct nvs_live_kernel_info *facts)
{
	struct nvs_live_kernel *rows = nvs_live_table(p, NVS_LIVE_KERNELS), *row;
	const char *strings = nvs_live_table(p, NVS_LIVE_STRINGS);
	uint32_t mask = sizeof(p->by_name) / sizeof(*p->by_name) - 1, n, at;
	uint32_t h = (uint32_t)(facts->name ? nvs_hash_text(facts->name)
					    : function ^ function >> 32);

	for (at = h & mask; (n = p->by_name[at]); at = (at + 1) & mask)
		if (p->name_hash[n] == h &&
		    (facts->name ? rows[n].name &&
					   !strncmp(strings + rows[n].name, facts->name, MAX_TEXT)
				 : !rows[n].name && rows[n].function == function))
			return n;
	row = nvs_live_row_new(p, NVS_LIVE_KERNELS, &n);
	if (!row)
		return 0;
	*row = (struct nvs_live_kernel){
		.registers = facts->registers,
		.function = function,
		.shared = facts->shared,
		.local = facts->local,
		.max_threads = facts->max_threads,
	};
	if (facts->name) {
		row->name = nvs_live_string_new(p, facts->name, strlen(facts->name));
		if (!row->name)
			return 0;
	}
	p->name_hash[n] = h;
	p->by_name[at] = (uint16_t)n;
	nvs_live_row_done(p, NVS_LIVE_KERNELS);
	return n;
}

uint32_t nvs_live_kernel_find(struct nvs_live_page *p, uint64_t key, bool *known)
{
	uint32_t row;

	NVS_HASH_EACH(k, nvs_hash(key, NVS_LIVE_HANDLE_BITS) + 1, PROBES - 1, NVS_LIVE_HANDLES)
	{
		*known = nvs_live_handle_row(&p->handle[k], key, &row);
		if (*known)
			return row;
	}
	return 0;
}

/* Returns the place for KEY: a free one, one whose handle is gone, or any. */
static uint32_t find_place(const struct nvs_live_page *p, uint64_t key)
{
	uint32_t at = nvs_hash(key, NVS_LIVE_HANDLE_BITS);

	NVS_HASH_EACH(k, at, PROBES, NVS_LIVE_HANDLES)
	{
		uint64_t have = atomic_load_explicit(&p->handle[k].key, memory_order_relaxed);

		if (!have || have == key || have >> 48 != key >> 48)
			return k;
	}
	return at;
}

uint32_t nvs_live_kernel_new(struct nvs_live_page *p, uint64_t key, uint64_t function,
			     const struct nvs_live_kernel_info *facts)
{
	uint32_t row, k;

	NVS_LOCK_SCOPE();
	row = get_named_row(p, function, facts);
	k = find_place(p, key);
	/* A concurrent reader of the old key must not get the new row. */
	atomic_store_explicit(&p->handle[k].key, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	atomic_store_explicit(&p->handle[k].row, nvs_live_row_of(key, row), memory_order_relaxed);
	atomic_store_explicit(&p->handle[k].key, key, memory_order_release);
	return row;
}

void nvs_live_forget_kernels(struct nvs_live_page *p)
{
	NVS_LOCK_SCOPE();
	for (uint32_t k = 0; k < NVS_LIVE_HANDLES; k++)
		atomic_store_explicit(&p->handle[k].key, 0, memory_order_relaxed);
}

/* ---- GPUs ---- */

uint32_t nvs_live_gpu(struct nvs_live_page *p, const uint8_t uuid[16], uint32_t instance,
		      uint32_t ordinal, const char *name)
{
	struct nvs_live_gpu *rows = nvs_live_table(p, NVS_LIVE_GPUS), *row = NULL;
	uint32_t n = 0, used;

	NVS_LOCK_SCOPE();
	used = p->head->tables[NVS_LIVE_GPUS].used;
	for (n = 0; n < used && memcmp(rows[n].uuid, uuid, 16); n++)
		;
	if (n < used) {
		row = &rows[n];
	} else if ((row = nvs_live_row_new(p, NVS_LIVE_GPUS, &n))) {
		memcpy(row->uuid, uuid, 16);
		row->instance = row->ordinal = NVS_NONE;
	}
	if (!row)
		return 0;
	if (instance != NVS_NONE)
		__atomic_store_n(&row->instance, instance, __ATOMIC_RELAXED);
	if (ordinal != NVS_NONE)
		__atomic_store_n(&row->ordinal, ordinal, __ATOMIC_RELAXED);
	if (name && !row->name[0])
		for (size_t i = 0; i + 1 < sizeof(row->name) && name[i]; i++)
			row->name[i] = name[i];
	if (n == used)
		nvs_live_row_done(p, NVS_LIVE_GPUS);
	return n + 1;
}
