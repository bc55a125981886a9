/* SPDX-License-Identifier: MIT */
/* Memory for single-stepped stores, one set in each buffer. */
#ifndef NVSNOOP_TRAP_ENTER_STEP_H
#define NVSNOOP_TRAP_ENTER_STEP_H

#include "trap/buffer.h"

uint8_t *nvs_twin_of(const struct nvs_buffer *buffer); /* two pages, writable */
uint8_t *nvs_slot_write_of(const struct nvs_buffer *buffer); /* NULL: refused */
uintptr_t nvs_slot_run_of(const struct nvs_buffer *buffer); /* the same slot, executable mapping */

#endif
