/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results of calls. What an argument is follows from what the trace says of its entry
 * point: records of a newer nvsnoop may hold more of them, and kinds that are not known here
 * (NVS_KIND_OTHER, of which the value is still right). A call that never returned has none.
 */
#ifndef NVSNOOP_DECODE_CALLS_ARGS_H
#define NVSNOOP_DECODE_CALLS_ARGS_H

#include <stddef.h>
#include "decode/calls/calls.h"

/* What NAME means in this call, as recorded. False: it has no such argument, or it was not kept. */
bool nvs_call_value(const struct nvs_call *call, enum nvs_arg_name name, uint64_t *value);
/* The first argument of KIND that was kept. */
bool nvs_call_kind(const struct nvs_call *call, enum nvs_arg_kind kind, uint64_t *value);

#endif
