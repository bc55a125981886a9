/* SPDX-License-Identifier: MIT */
/*
 * Calls of the CUDA API that a thread is in: kept by whoever wraps them, told by the trap when one
 * of them submits. A call that was left by a jump is recognised by its place on the stack.
 */
#ifndef NVSNOOP_TRAP_BUFFER_CALLS_H
#define NVSNOOP_TRAP_BUFFER_CALLS_H

#include "trap/trap.h"

#define NVS_MAX_CALLS NVS_SPOOL_CALLS /* nested deeper, a call is recorded but not told ahead */

struct nvs_open_call {
	uintptr_t sp; /* of its frame: what lies below is gone when the thread's stack is above */
	uint64_t number, begin;
	uint64_t token; /* of the live page: what is about to be freed */
	uint32_t api, row; /* row: of the live page */
	uint16_t told; /* a CALL_BEGIN stands in the trace */
	uint16_t recording; /* it was begun while a trigger let things be recorded */
};

struct nvs_calls {
	uint32_t depth; /* of open[] */
	uint32_t quiet; /* our own use of the driver: not recorded */
	uint64_t next; /* number of the next call */
	uintptr_t sp; /* stack pointer at the doorbell, 0: not known; used up by one telling */
	uint64_t made; /* ticks when this thread last made or mapped an object of the RM */
	uint64_t asked; /* NEXT when the driver was asked what a kernel is */
	struct nvs_open_call open[NVS_MAX_CALLS];
};
extern __thread struct nvs_calls nvs_calls;

/*
 * Writes CALL_BEGIN records for the calls in flight that have none. The depth of the innermost that
 * is told, 0: none.
 */
uint32_t nvs_calls_tell(struct nvs_buffer *buffer, uint64_t time);

/*
 * What a kill leaves to be read: the calls in flight, in the head of the thread's own buffer. A
 * depth counts its call as in flight from show to hide.
 */
static inline void nvs_calls_show(struct nvs_buffer *buffer, uint32_t depth)
{
	const struct nvs_open_call *open = &nvs_calls.open[depth - 1];
	struct nvs_spool_call *call = &buffer->shared->calls[depth - 1];
	struct nvs_live_slot *live = buffer->live;

	call->begin = open->begin;
	call->number = open->number;
	call->api = open->api;
	__atomic_store_n(&buffer->shared->ncalls, depth, __ATOMIC_RELEASE);
	if (live && depth <= NVS_LIVE_CALLS) {
		struct nvs_live_call *shown = &live->calls[depth - 1];

		shown->begin = open->begin;
		shown->api = open->row;
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
		nvs_calls_show(buffer, i);
}

static inline void nvs_calls_hide(struct nvs_buffer *buffer, uint32_t depth)
{
	__atomic_store_n(&buffer->shared->ncalls, depth, __ATOMIC_RELEASE);
	if (buffer->live)
		__atomic_store_n(&buffer->live->ncalls, depth, __ATOMIC_RELEASE);
}

#endif
