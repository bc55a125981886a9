/* SPDX-License-Identifier: MIT */
/* The context in which a call works: its thread's current context, or that of the stream it
 * names. */
#ifndef NVSNOOP_DECODE_ANALYSIS_CURRENT_CONTEXT_H
#define NVSNOOP_DECODE_ANALYSIS_CURRENT_CONTEXT_H

#include "decode/base/keyed_rows.h"
#include "decode/base/numbers.h"
#include "decode/calls/args.h"
#include "decode/calls/calls.h"

struct nvs_contexts {
	struct nvs_numbers threads; /* struct stack; only threads that have one */
	struct nvs_rows homes; /* struct home */
};

/* Sets *CONTEXT to the context of CALL, 0 if unknown, and follows its changes. Returns 0 or
 * -ENOMEM. */
int nvs_contexts_call(struct nvs_contexts *c, const struct nvs_call *call, uint64_t *context);
void nvs_contexts_free(struct nvs_contexts *c);

static inline bool nvs_call_creates_stream(const struct nvs_call *call)
{
	return call->api->role == NVS_CALL_ROLE_STREAM_CREATE ||
	       call->api->role == NVS_CALL_ROLE_GREEN_STREAM_CREATE;
}

#endif
