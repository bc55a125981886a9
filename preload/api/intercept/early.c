/* SPDX-License-Identifier: MIT */
/* Stores calls and ranges from before the session. The session starts at the first channel, in the
 * middle of creating a context, and then gets the stored records. */
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/base/clock.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/live/live.h"
#include "trap/buffer/process.h"

#define EARLY_BYTES (1u << 20)

struct early_entry {
	_Atomic uint32_t size; /* 0: not complete yet */
	uint32_t tid;
	struct nvs_rec rec; /* followed by its thread field */
};

_Static_assert(offsetof(struct nvs_rec_call, thread) == sizeof(struct nvs_rec) &&
		       offsetof(struct nvs_rec_nvtx_end, thread) == sizeof(struct nvs_rec),
	       "the thread is the first field after the record's head");

struct early_store {
	_Atomic uint64_t used;
	_Atomic uint32_t lost; /* ranges and marks dropped because the store was full */
	uint8_t data[EARLY_BYTES - 16] __attribute__((aligned(8)));
};

static struct early_store *_Atomic early; /* wiped in a forked child */

_Atomic int nvs_api_clock;

uint64_t nvs_api_now_slowly(void)
{
	if (!atomic_load(&nvs_api_clock))
		atomic_store(&nvs_api_clock, nvs_clock_ticks_usable() ? 2 : 1);
	return atomic_load(&nvs_api_clock) == 2 ? nvs_ticks() : nvs_clock_mono_ns();
}

static struct early_store *get_store(void)
{
	struct early_store *e = atomic_load(&early), *none = NULL;

	if (e)
		return e;
	e = nvs_sys_mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (!e)
		return NULL;
	nvs_sys_madvise(e, sizeof(*e), MADV_WIPEONFORK);
	if (atomic_compare_exchange_strong(&early, &none, e))
		return e;
	nvs_sys_munmap(e, sizeof(*e));
	return none;
}

/* Half of the store is reserved for calls: a program may make any number of ranges before it uses
 * its GPU. */
void nvs_api_store_early(const struct nvs_rec *rec)
{
	uint32_t size = (uint32_t)offsetof(struct early_entry, rec) + rec->size;
	bool call = rec->type == NVS_REC_CALL;
	struct early_store *e = get_store();
	uint64_t at, room = call ? sizeof(e->data) : sizeof(e->data) / 2;
	struct early_entry *entry;

	if (!e)
		return;
	if (atomic_load(&e->used) + size > room) {
		atomic_fetch_add(&e->lost, !call);
		return;
	}
	at = atomic_fetch_add(&e->used, size);
	if (at + size > sizeof(e->data))
		return;
	entry = (void *)(e->data + at);
	entry->tid = (uint32_t)nvs_sys_gettid();
	memcpy(&entry->rec, rec, rec->size);
	atomic_store_explicit(&entry->size, size, memory_order_release);
}

static void write_entry(struct early_entry *entry, uint32_t tid)
{
	if (entry->tid == tid)
		*(uint32_t *)(&entry->rec + 1) = nvs_tls.thread - 1;
	else if (entry->rec.type != NVS_REC_CALL)
		((struct nvs_rec_nvtx_end *)(void *)&entry->rec)->tid = entry->tid;
	nvs_record_write(&entry->rec);
}

/* Counts a stored call of any thread in the current thread's slot. */
static void count_entry(const struct nvs_rec_call *rec)
{
	const struct nvs_api *api = &nvs_api_table[rec->api];
	struct nvs_live_page *page = nvs_live_page();
	const struct nvs_buffer *buffer = nvs_tls.buffer;
	struct nvs_api_returned_call done = {
		.api = api,
		.begin = rec->begin,
		.end = rec->end,
		.result = rec->result,
		.stack = NVS_NONE,
		.absent = rec->absent,
		.args = rec->args,
	};

	if (!page || !buffer || !buffer->live || (rec->rec.flags & NVS_CALL_UNWOUND))
		return;
	done.row = nvs_live_api_row(page, rec->api, api->name, api->group);
	nvs_api_count_call(page, buffer->live, &done, NULL);
}

static void record_lost(uint32_t lost)
{
	struct nvs_rec_nvtx_name rec = {
		.rec = {.type = NVS_REC_NVTX_NAME, .size = sizeof(rec)},
		.kind = NVS_NVTX_LOST,
		.number = lost,
	};

	if (lost)
		nvs_record_write(&rec.rec);
}

void nvs_api_early_flush(bool calls)
{
	struct early_store *e = atomic_load(&early);
	uint32_t tid = (uint32_t)nvs_sys_gettid();

	if (!e || !nvs_buffer_own())
		return;
	for (uint64_t at = 0;
	     at + sizeof(struct early_entry) <= sizeof(e->data) && at < atomic_load(&e->used);) {
		struct early_entry *entry = (void *)(e->data + at);
		uint32_t size = atomic_load_explicit(&entry->size, memory_order_acquire);

		if (!size)
			break;
		if (entry->rec.type == NVS_REC_CALL)
			count_entry((const void *)&entry->rec);
		if (calls || entry->rec.type != NVS_REC_CALL)
			write_entry(entry, tid);
		at += size;
	}
	record_lost(atomic_load(&e->lost));
}
