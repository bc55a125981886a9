/* SPDX-License-Identifier: MIT */
/* Detects work that will never end because its thread has jumped out of it. */
#ifndef NVSNOOP_TRAP_BUFFER_ABANDONED_H
#define NVSNOOP_TRAP_BUFFER_ABANDONED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include "trap/buffer.h"

/*
 * Returns true if the work of F cannot be running any more. Called by its thread with the current
 * stack pointer SP. ALTERNATE is the thread's alternate stack; if NULL, the kernel is asked.
 *
 * A handler that interrupts a trap runs below it, on the same stack or on the alternate one. So the
 * trap is abandoned if the thread is above it on the same stack, or if the thread is below it and
 * the mark in the trap's frame was overwritten. If the two stacks cannot be compared, the trap
 * counts as running, which only costs a second buffer.
 */
bool nvs_activity_abandoned(const struct nvs_activity *f, uintptr_t sp, const stack_t *alternate);

#endif
