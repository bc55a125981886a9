/* SPDX-License-Identifier: MIT */
/* Memory for single-stepped stores, one set in each buffer. */
#ifndef NVSNOOP_TRAP_ENTER_STEP_H
#define NVSNOOP_TRAP_ENTER_STEP_H

#include "trap/buffer.h"

#define NVS_TWIN_BYTES 8192u /* page pair on which a stepped store lands first */
#define NVS_SLOT_BYTES 64u /* executable memory for a relocated store */

uint8_t *nvs_twin_of(const struct nvs_buffer *buffer); /* NVS_TWIN_BYTES, writable */
uint8_t *nvs_slot_write_of(const struct nvs_buffer *buffer); /* NVS_SLOT_BYTES; NULL: refused */
uintptr_t nvs_slot_run_of(const struct nvs_buffer *buffer); /* the same slot, executable mapping */

#endif
