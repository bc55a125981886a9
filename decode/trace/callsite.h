/* SPDX-License-Identifier: MIT */
/* Information about stacks in addition to the call sites of nvsnoop/decode.h. */
#ifndef NVSNOOP_DECODE_TRACE_CALLSITE_H
#define NVSNOOP_DECODE_TRACE_CALLSITE_H

#include "nvsnoop/decode.h"

/* Returns a hash of the program's frames above the driver: equal for stacks that entered the driver
 * from the same place, whatever the driver's frames are. 0 if STACK has no known driver frame. */
uint64_t nvs_callsite_caller(struct nvs_trace *trace, uint32_t stack);

#endif
