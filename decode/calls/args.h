/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results of calls. The meaning of an argument follows from the trace's API record
 * for the entry point. A newer nvsnoop may record more arguments, and kinds unknown here
 * (NVS_KIND_OTHER, whose value is still valid). A call that never returned has no arguments.
 */
#ifndef NVSNOOP_DECODE_CALLS_ARGS_H
#define NVSNOOP_DECODE_CALLS_ARGS_H

#include <stddef.h>
#include "decode/base/digits.h"
#include "decode/calls/calls.h"

/* Returns true if CALL returned to its caller, with or without an error. */
static inline bool nvs_call_returned(const struct nvs_call *call)
{
	return call->end && !(call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED));
}

/* Reads the argument with the meaning NAME, as recorded. Returns false if the call has none or its
 * value was not recorded. */
bool nvs_call_value(const struct nvs_call *call, enum nvs_arg_name name, uint64_t *value);
/* Reads the first recorded argument of KIND. */
bool nvs_call_kind(const struct nvs_call *call, enum nvs_arg_kind kind, uint64_t *value);

/* Writes a number as nvs_call_print() does: at most NVS_ARG_NUMBER_BYTES bytes, without a
 * terminating NUL. KIND: enum nvs_arg_kind, not a string's. Returns the end. */
#define NVS_ARG_NUMBER_BYTES (NVS_DIGITS + 2)
char *nvs_arg_put_number(char *dst, uint32_t kind, uint64_t value);
/* The same for an argument of CALL. Returns NULL if it was not recorded, or is a string. */
char *nvs_call_put_number(char *dst, const struct nvs_call *call, uint32_t index);

/* Handles of the default streams in cuda.h. Handle 0 stands for one of them, depending on the form
 * of the entry point. */
enum { NVS_STREAM_LEGACY = 1, NVS_STREAM_PER_THREAD };

/* Sets *STREAM to the stream of CALL, never 0. Returns false if the call has no stream and is
 * neither a copy nor a memset, which are then in the default stream. */
bool nvs_call_stream(const struct nvs_call *call, uint64_t *stream);
/* Returns true if CALL destroyed STREAM, so that another stream may get the handle. */
bool nvs_call_ends_stream(const struct nvs_call *call, uint64_t stream);

#endif
