/* SPDX-License-Identifier: MIT */
/*
 * Which piece of work a ring is busy with, and whether the thread has jumped out of it.
 */
#ifndef NVSNOOP_TRAP_RING_ABANDONED_H
#define NVSNOOP_TRAP_RING_ABANDONED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct nvs_flight {
	uintptr_t sp; /* of the code that was interrupted; 0: not known, never told as left */
	const volatile uint64_t *mark; /* a word in the work's own frame, NULL: none... */
	uint64_t token; /* ...and what stands there while it runs */
};

/*
 * True if F's work cannot be running any more, seen by its thread with stack pointer SP. ALTERNATE:
 * the thread's alternate stack, NULL: the kernel is asked.
 */
bool nvs_flight_left(const struct nvs_flight *f, uintptr_t sp, const stack_t *alternate);

#endif
