/* SPDX-License-Identifier: MIT */
/*
 * Thread buffers, filled without a lock between nvs_buffer_reserve() and nvs_buffer_commit().
 *
 * One thread writes a buffer; the writer thread reads it. A record becomes visible by the store to
 * head that follows its last byte, so after a kill everything between tail and head is complete.
 */
#include <linux/futex.h>
#include <time.h>
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define STALL_NS 1000000000ull /* a writer whose heartbeat has not changed for so long is dead */

void nvs_writer_wake(void)
{
	/* Usually the request is already pending, and stays so until the writer has written its
	 * frames. */
	if (!atomic_load(&nvs_writer_signal.wake) && !atomic_exchange(&nvs_writer_signal.wake, 1))
		nvs_sys4(SYS_futex, &nvs_writer_signal.wake, FUTEX_WAKE, 1, 0);
}

static bool has_room(struct nvs_buffer *buffer, uint64_t head, uint32_t size)
{
	if (head + size - buffer->cached_tail <= buffer->bytes)
		return true;
	buffer->cached_tail = __atomic_load_n(&buffer->shared->tail, __ATOMIC_ACQUIRE);
	return head + size - buffer->cached_tail <= buffer->bytes;
}

/* Waits while the writer is alive. Only its heartbeat is read; no lock is taken. */
static bool wait_for_room(struct nvs_buffer *buffer, uint64_t head, uint32_t size)
{
	uint64_t start = nvs_read_clock(CLOCK_MONOTONIC), alive = start;
	uint64_t beat = __atomic_load_n(nvs_writer_signal.heartbeat, __ATOMIC_ACQUIRE);
	bool room;

	/* A thread has already waited in vain for this heartbeat to change. */
	if (atomic_load(&nvs_process->stalled_beat) == beat + 1)
		return false;
	for (;;) {
		uint64_t now, b;

		nvs_writer_wake();
		nvs_sleep(50000);
		room = has_room(buffer, head, size);
		now = nvs_read_clock(CLOCK_MONOTONIC);
		if (room || atomic_load(&nvs_writer_signal.ended))
			break;
		b = __atomic_load_n(nvs_writer_signal.heartbeat, __ATOMIC_ACQUIRE);
		if (b != beat) {
			beat = b;
			alive = now;
		} else if (now - alive > STALL_NS) {
			atomic_store(&nvs_process->stalled_beat, beat + 1);
			break;
		}
	}
	nvs_count(buffer, NVS_COUNT_WAITS, 1);
	nvs_count(buffer, NVS_COUNT_WAIT_NS, nvs_read_clock(CLOCK_MONOTONIC) - start);
	return room;
}

void *nvs_buffer_reserve(struct nvs_buffer *buffer, uint32_t size, bool wait)
{
	uint64_t head = buffer->shared->head;

	buffer->late = atomic_load(&nvs_writer_signal.ended);
	if (!buffer->late && !has_room(buffer, head, size)) {
		if (!wait || nvs_process->options.drop || !nvs_writer_signal.heartbeat)
			return NULL;
		if (!wait_for_room(buffer, head, size)) {
			/* The writer ended normally while we waited: the rest of the buffer is
			 * drained. */
			buffer->late = atomic_load(&nvs_writer_signal.ended);
			if (!buffer->late)
				return NULL;
		}
	}
	buffer->busy = 1;
	return buffer->data + (head & (buffer->bytes - 1));
}

void nvs_buffer_commit(struct nvs_buffer *buffer, uint32_t size)
{
	uint64_t head = buffer->shared->head;
	struct nvs_rec *rec = (void *)(buffer->data + (head & (buffer->bytes - 1)));

	if (rec->time < buffer->last_time)
		rec->time = buffer->last_time;
	buffer->last_time = rec->time;
	if (buffer->late) {
		if (rec->type == NVS_REC_SUBMISSION)
			rec->flags |= NVS_SUB_LATE;
		if (!nvs_writer_signal.late || nvs_writer_signal.late(rec, size))
			nvs_count(buffer, NVS_COUNT_LOST_BYTES, size);
		buffer->busy = 0;
		return;
	}
	__atomic_store_n(&buffer->shared->head, head + size, __ATOMIC_RELEASE);
	buffer->busy = 0;
	if (head + size - buffer->cached_tail > buffer->bytes / 2) {
		buffer->cached_tail = __atomic_load_n(&buffer->shared->tail, __ATOMIC_ACQUIRE);
		if (head + size - buffer->cached_tail > buffer->bytes / 2)
			nvs_writer_wake();
	}
}
