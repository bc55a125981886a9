/* SPDX-License-Identifier: MIT */
/*
 * Calls before the trace: kept in memory of our own until the session has begun, which is at the
 * first channel, in the middle of making a context.
 */
#include <string.h>
#include <unistd.h>
#include "preload/api/api.h"
#include "preload/base/clock.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "trap/buffer/process.h"

#define EARLY_BYTES (1u << 20)

struct entry {
	_Atomic uint32_t size; /* 0: not filled in yet */
	uint32_t tid;
	struct nvs_rec_call rec;
};

struct early {
	_Atomic uint64_t used;
	uint8_t data[EARLY_BYTES - 8];
};

static struct early *_Atomic early; /* wiped in a forked child */

_Atomic int nvs_api_clock;

uint64_t nvs_api_now_slowly(void)
{
	if (!atomic_load(&nvs_api_clock))
		atomic_store(&nvs_api_clock, nvs_clock_tsc_usable() ? 2 : 1);
	return atomic_load(&nvs_api_clock) == 2 ? __builtin_ia32_rdtsc() : nvs_clock_mono_ns();
}

static struct early *get(void)
{
	struct early *e = atomic_load(&early), *none = NULL;
	long p;

	if (e)
		return e;
	p = nvs_sys(SYS_mmap, 0, sizeof(*e), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (p < 0 && p > -4096)
		return NULL;
	e = (void *)p;
	nvs_sys(SYS_madvise, p, sizeof(*e), MADV_WIPEONFORK, 0, 0, 0);
	if (atomic_compare_exchange_strong(&early, &none, e))
		return e;
	nvs_sys(SYS_munmap, p, sizeof(*e), 0, 0, 0, 0);
	return none;
}

void nvs_api_early(const struct nvs_rec_call *rec)
{
	uint32_t size = (uint32_t)offsetof(struct entry, rec) + rec->rec.size;
	struct early *e = get();
	struct entry *entry;
	uint64_t at;

	if (!e || atomic_load(&e->used) + size > sizeof(e->data))
		return;
	at = atomic_fetch_add(&e->used, size);
	if (at + size > sizeof(e->data))
		return;
	entry = (void *)(e->data + at);
	entry->tid = (uint32_t)nvs_sys_gettid();
	memcpy(&entry->rec, rec, rec->rec.size);
	atomic_store_explicit(&entry->size, size, memory_order_release);
}

void nvs_api_early_flush(void)
{
	struct early *e = atomic_load(&early);
	uint32_t tid = (uint32_t)nvs_sys_gettid();

	if (!e || !nvs_buffer_mine())
		return;
	for (uint64_t at = 0;
	     at + sizeof(struct entry) <= sizeof(e->data) && at < atomic_load(&e->used);) {
		struct entry *entry = (void *)(e->data + at);
		uint32_t size = atomic_load_explicit(&entry->size, memory_order_acquire);

		if (!size)
			break;
		if (entry->tid == tid)
			entry->rec.thread = nvs_tls.thread - 1;
		nvs_record(&entry->rec.rec);
		at += size;
	}
}
