/* SPDX-License-Identifier: MIT */
/* Start of the trap, its clock, and the publication of the tables that it reads. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

struct nvs_trap_state *nvs_process;
__thread struct nvs_trap_tls nvs_tls;
__thread struct nvs_open_calls nvs_calls;
struct nvs_writer_signal nvs_writer_signal;

int nvs_trap_state_init(const struct nvs_trap_options *options)
{
	if (!nvs_process) {
		/* Mostly untouched zero pages: buffers and stacks are used from the front. */
		void *p = nvs_sys_map_sparse(sizeof(*nvs_process));

		if (!p)
			return -ENOMEM;
		if (madvise(p, sizeof(*nvs_process), MADV_WIPEONFORK)) {
			int err = errno;

			munmap(p, sizeof(*nvs_process));
			return -err;
		}
		nvs_process = p;
	}
	nvs_process->options = *options;
	atomic_store(&nvs_process->record_left, options->paused ? 0 : NVS_RECORD_ALL);
	atomic_store(&nvs_process->epoch, 1);
	atomic_store_explicit(&nvs_process->started, 1, memory_order_release);
	return 0;
}

uint32_t nvs_buffer_count(void)
{
	return nvs_trap_is_started() ? atomic_load(&nvs_process->nbuffers) : 0;
}

struct nvs_buffer *nvs_buffer_at(uint32_t number)
{
	return &nvs_process->buffers[number];
}

void nvs_trap_record(int64_t submissions)
{
	if (nvs_trap_is_started())
		atomic_store(&nvs_process->record_left, submissions);
}

void nvs_trap_set_level(enum nvs_level level, bool skip_calls, bool backtrace)
{
	struct nvs_trap_options *o = &nvs_process->options;

	__atomic_store_n(&o->backtrace, backtrace, __ATOMIC_RELAXED);
	__atomic_store_n(&o->skip_calls, skip_calls, __ATOMIC_RELAXED);
	__atomic_store_n(&o->level, level, __ATOMIC_RELEASE);
}

uint64_t nvs_clock_now(void)
{
	if (nvs_process && nvs_process->options.use_tsc)
		return __builtin_ia32_rdtsc();
	return nvs_read_clock(CLOCK_MONOTONIC);
}

bool nvs_in_trap(void)
{
	if (nvs_tls.stepping)
		return true;
	if (!nvs_tls.depth)
		return false;
	if (nvs_activity_abandoned(&nvs_tls.activity, (uintptr_t)__builtin_frame_address(0), NULL))
		nvs_tls.depth = 0;
	return nvs_tls.depth != 0;
}

/* Sleeps briefly. Returns false when 1 s has passed since the first call (*END 0). */
static bool sleep_briefly(uint64_t *end)
{
	uint64_t now;

	nvs_sleep(20000);
	now = nvs_read_clock(CLOCK_MONOTONIC);
	if (!*end)
		*end = now + 1000000000u;
	return now < *end;
}

static bool is_mine(struct nvs_buffer *buffer)
{
	return nvs_tls.tid &&
	       __atomic_load_n(&buffer->shared->tid, __ATOMIC_RELAXED) == nvs_tls.tid;
}

/*
 * True if a buffer of the calling thread is in use by work that this thread has interrupted and
 * that continues afterwards, so it cannot be waited for. If that work is the trap of a patched
 * site, the only one with a mark, it still holds the old tables.
 */
static bool is_interrupted(const struct nvs_buffer *buffer)
{
	return atomic_load(&buffer->epoch) && buffer->activity.mark &&
	       !nvs_activity_abandoned(&buffer->activity, (uintptr_t)__builtin_frame_address(0),
				       NULL);
}

/*
 * A reader stores the epoch it saw in its buffer and only then loads a table; the publisher has
 * exchanged the table before it reads the buffers' epochs. Both are sequentially consistent: either
 * we see the reader, or it sees the new table. A reader that entered in an epoch begun after the
 * exchange has the new table anyway.
 */
static bool wait_for_readers(void)
{
	uint64_t target = atomic_fetch_add(&nvs_process->epoch, 1) + 1, end = 0;
	uint32_t n = atomic_load(&nvs_process->nbuffers);
	bool all = true;

	for (uint32_t i = 0; i < n; i++) {
		struct nvs_buffer *buffer = &nvs_process->buffers[i];

		if (is_mine(buffer)) {
			all = all && !is_interrupted(buffer);
			continue;
		}
		for (uint32_t spins = 0;; spins++) {
			uint64_t e = atomic_load(&buffer->epoch);

			if (!e || e >= target)
				break;
			if (e == atomic_load(&buffer->overdue) ||
			    (spins > 1000 && !sleep_briefly(&end))) {
				atomic_store(&buffer->overdue, e);
				all = false;
				break;
			}
			if (spins <= 1000)
				__builtin_ia32_pause();
		}
	}
	while (atomic_load(&nvs_process->bufferless))
		if (!sleep_briefly(&end))
			return false;
	return all;
}

void nvs_wait_for_traps(void)
{
	if (nvs_trap_is_started())
		wait_for_readers();
}

struct nvs_view *nvs_view_publish(struct nvs_view *view)
{
	struct nvs_view *old = atomic_exchange(&nvs_process->view, view);

	return wait_for_readers() ? old : NULL;
}

const struct nvs_view *nvs_view_get(void)
{
	return nvs_trap_is_started() ? atomic_load(&nvs_process->view) : NULL;
}

struct nvs_module_view *nvs_modules_publish(struct nvs_module_view *modules)
{
	struct nvs_module_view *old = atomic_exchange(&nvs_process->modules, modules);
	uint64_t end = 0;

	/* An address may now belong to another module: no known stack is reused. */
	if (old && modules && old->subs != modules->subs)
		atomic_fetch_add(&nvs_process->unload_count, 1);
	while (atomic_load(&nvs_process->warming))
		if (!sleep_briefly(&end))
			return NULL;
	return wait_for_readers() ? old : NULL;
}
