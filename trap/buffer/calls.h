/* SPDX-License-Identifier: MIT */
/*
 * CUDA API calls that a thread is in. The wrappers of the calls maintain the list; the trap records
 * the calls when one of them submits. A call that was left by a jump is recognised by its stack
 * pointer.
 */
#ifndef NVSNOOP_TRAP_BUFFER_CALLS_H
#define NVSNOOP_TRAP_BUFFER_CALLS_H

#include "trap/trap.h"

/* a call nested deeper has a CALL record, but no CALL_BEGIN */
#define NVS_MAX_CALLS NVS_SPOOL_CALLS

struct nvs_open_call {
	uintptr_t sp; /* of its frame: calls below the thread's stack pointer have been left */
	uint64_t number, begin;
	/* Every byte here takes 16 of a thread's smallest stack. */
	union {
		uint64_t token; /* for the live page: the allocation that is about to be freed */
		uint64_t key; /* with has_key: of the kernel that it launches */
	};
	uint32_t api, row; /* row: in the live page */
	uint16_t told; /* its CALL_BEGIN is in the trace */
	uint8_t recording; /* recording was on when it began */
	uint8_t has_key;
};

struct nvs_open_calls {
	uint32_t depth; /* used elements of open[] */
	uint32_t quiet; /* nvsnoop itself is calling the driver: not recorded */
	uint64_t next; /* number of the next call */
	uintptr_t sp; /* stack pointer at the doorbell, 0: unknown; nvs_open_calls_record() resets
			 it */
	uint64_t made; /* ticks when this thread last allocated or mapped an RM object */
	uint64_t asked; /* value of next when the driver was last asked for a kernel's attributes */
	struct nvs_open_call open[NVS_MAX_CALLS];
};
extern __thread struct nvs_open_calls nvs_calls;

/* Writes CALL_BEGIN records for the calls in flight that have none. Returns the depth of the
 * innermost recorded call, 0: none. */
uint32_t nvs_open_calls_record(struct nvs_buffer *buffer, uint64_t time);

/* Publishes the calls in flight in the head of the thread's buffer, where they can be read after a
 * kill. A call counts as in flight from show to hide. The stores stay in this order, after that of
 * the previous hide: read_call() in preload/writer/open_calls.c relies on it. */
static inline void nvs_calls_show(struct nvs_buffer *buffer, const struct nvs_open_call *open,
				  uint32_t depth)
{
	struct nvs_spool_call *call = &buffer->shared->calls[depth - 1];
	struct nvs_live_slot *live = buffer->live;

	__atomic_store_n(&call->begin, open->begin, __ATOMIC_RELEASE);
	__atomic_store_n(&call->api, open->api, __ATOMIC_RELEASE);
	__atomic_store_n(&call->number, open->number, __ATOMIC_RELEASE);
	__atomic_store_n(&buffer->shared->ncalls, depth, __ATOMIC_RELEASE);
	if (live && depth <= NVS_LIVE_CALLS) {
		struct nvs_live_call *shown = &live->calls[depth - 1];

		__atomic_store_n(&shown->begin, open->begin, __ATOMIC_RELEASE);
		__atomic_store_n(&shown->api, open->row, __ATOMIC_RELEASE);
		__atomic_store_n(&shown->number, open->number, __ATOMIC_RELEASE);
		__atomic_store_n(&live->ncalls, depth, __ATOMIC_RELEASE);
	}
}

static inline void nvs_calls_show_all(struct nvs_buffer *buffer)
{
	uint32_t depth = nvs_calls.depth < NVS_MAX_CALLS ? nvs_calls.depth : NVS_MAX_CALLS;

	if (buffer->live)
		__atomic_store_n(&buffer->live->ncalls, 0, __ATOMIC_RELEASE);
	for (uint32_t i = 1; i <= depth; i++)
		nvs_calls_show(buffer, &nvs_calls.open[i - 1], i);
}

static inline void nvs_calls_hide(struct nvs_buffer *buffer, uint32_t depth)
{
	__atomic_store_n(&buffer->shared->ncalls, depth, __ATOMIC_RELEASE);
	if (buffer->live)
		__atomic_store_n(&buffer->live->ncalls, depth, __ATOMIC_RELEASE);
}

#endif
