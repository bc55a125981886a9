/* SPDX-License-Identifier: MIT */
/*
 * Work that will never end, because its thread has jumped out of it.
 */
#ifndef NVSNOOP_TRAP_BUFFER_ABANDONED_H
#define NVSNOOP_TRAP_BUFFER_ABANDONED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include "trap/buffer.h"

/*
 * True if F's work cannot be running any more, seen by its thread with stack pointer SP. ALTERNATE:
 * the thread's alternate stack, NULL: the kernel is asked.
 */
bool nvs_activity_abandoned(const struct nvs_activity *f, uintptr_t sp, const stack_t *alternate);

#endif
