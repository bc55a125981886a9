/* SPDX-License-Identifier: MIT */
/* What a stack says beside what nvsnoop/decode.h tells of call sites. */
#ifndef NVSNOOP_DECODE_TRACE_CALLSITE_H
#define NVSNOOP_DECODE_TRACE_CALLSITE_H

#include "nvsnoop/decode.h"

/*
 * The same for stacks that came into the driver by the same frames of the program, whatever is
 * inside it; 0: no frame of STACK is known to be the driver's.
 */
uint64_t nvs_callsite_caller(struct nvs_trace *trace, uint32_t stack);

#endif
