/* SPDX-License-Identifier: MIT */
/* Memory accesses that survive a fault, and the switch to another stack. In assembly. */
#ifndef NVSNOOP_TRAP_LOW_GUARD_H
#define NVSNOOP_TRAP_LOW_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t nvs_copy_guarded(void *to, const void *from, size_t bytes); /* bytes NOT copied */
/* Loads with acquire order: what follows is not done before. */
bool nvs_load32_guarded(const volatile uint32_t *from, uint32_t *value);
bool nvs_load64_guarded(const volatile uint64_t *from, uint64_t *value);
/* Returns FN(PCS, MAX), or -1 if the SIGSEGV handler continued at nvs_unwind_faulted with SP =
 * *FRAME, which is the frame of the call while it runs, else 0. */
int nvs_unwind_guarded(int (*fn)(void **, int), void **pcs, int max, uintptr_t *frame);
void nvs_unwind_faulted(void);
/* Returns where to continue if PC is in one of them, else 0. */
uintptr_t nvs_guard_fixup(uintptr_t pc);
/* Runs fn(arg) on the stack that ends at TOP; unwinders can cross the switch. */
void nvs_on_stack(uint8_t *top, void (*fn)(void *), void *arg);

#endif
