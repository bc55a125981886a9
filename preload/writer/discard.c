/* SPDX-License-Identifier: MIT */
/* The writer's thread when there is no trace: it discards the records in the thread buffers. It
 * adds buffers, checks for sandboxes and updates the heartbeat as the writer does. */
#include "preload/live/live.h"
#include "preload/writer/writer.h"

#define ROUND_MS 100

static void discard_records(void)
{
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		struct nvs_spool_buffer *buffer = nvs_buffer_at(i)->shared;

		__atomic_store_n(&buffer->tail, __atomic_load_n(&buffer->head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
}

static void run_round(struct nvs_writer *w)
{
	nvs_writer_add_buffers(w);
	discard_records();
	nvs_writer_grow_live(w);
	nvs_writer_heartbeat(w);
}

/* Gives the thread an empty descriptor table. Sharing the program's would keep its pipes open. */
static bool detach_files(void)
{
	nvs_writer_own_root();
	if (nvs_syscall(SYS_close_range, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0) ||
	    nvs_syscall(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0))
		return false;
	nvs_syscall(SYS_close_range, 0, UINT32_MAX, 0, 0, 0, 0);
	return true;
}

void nvs_untraced_run(void *writer)
{
	struct nvs_writer *w = writer;
	unsigned rounds = 0;

	nvs_watch_begin(w->session, detach_files());
	atomic_store(&w->detached, 1);
	nvs_sys_futex_wake(&w->detached);
	while (!atomic_load(&w->finishing)) {
		nvs_writer_await_round(w, ROUND_MS);
		run_round(w);
		if (++rounds % 4)
			continue;
		nvs_writer_answer_checks(w);
		nvs_watch_check_threads(w->session);
	}
	discard_records();
	w->session->head->ended = 1;
	nvs_writer_heartbeat(w);
	atomic_store(&w->done, 1);
	nvs_sys_futex_wake(&w->done);
}
