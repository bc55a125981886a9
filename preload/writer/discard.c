/* SPDX-License-Identifier: MIT */
/*
 * Without a trace: the rings are emptied, and what stood in them is forgotten. The rest is as the
 * writer does it: more rings where threads need them, a look at sandboxes, a heartbeat.
 */
#include "preload/live/live.h"
#include "preload/writer/writer.h"

#define ROUND_MS 100

static void forget_records(void)
{
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		struct nvs_spool_ring *ring = nvs_buffer_at(i)->shared;

		__atomic_store_n(&ring->tail, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
}

static void one_round(struct nvs_writer *w)
{
	nvs_writer_grow(w);
	forget_records();
	nvs_writer_grow_live(w);
	nvs_writer_beat(w);
}

/* Descriptors of its own, none of them the program's: a pipe of it would never end otherwise. */
static bool detach(void)
{
	nvs_writer_own_root();
	if (nvs_sys(SYS_close_range, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0) ||
	    nvs_sys(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0))
		return false;
	nvs_sys(SYS_close_range, 0, UINT32_MAX, 0, 0, 0, 0);
	return true;
}

void nvs_untraced_run(void *writer)
{
	struct nvs_writer *w = writer;
	unsigned rounds = 0;

	nvs_watch_begin(w->session, detach());
	atomic_store(&w->detached, 1);
	nvs_sys_futex_wake(&w->detached);
	while (!atomic_load(&w->finishing)) {
		if (!nvs_writer_is_asked(w) && !atomic_exchange(&nvs_writer_signal.wake, 0))
			nvs_sys_futex_wait(&nvs_writer_signal.wake, 0, ROUND_MS);
		atomic_store(&nvs_writer_signal.wake, 0);
		if (nvs_writer_is_asked(w))
			nvs_writer_look_around(w);
		one_round(w);
		if (++rounds % 4)
			continue;
		nvs_writer_look_around(w);
		nvs_watch_threads(w->session);
	}
	forget_records();
	w->session->head->ended = 1;
	nvs_writer_beat(w);
	atomic_store(&w->done, 1);
	nvs_sys_futex_wake(&w->done);
}
