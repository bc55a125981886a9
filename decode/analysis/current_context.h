/* SPDX-License-Identifier: MIT */
/* Which context a call works in: its thread's current one, or that of the stream that it names. */
#ifndef NVSNOOP_DECODE_ANALYSIS_CURRENT_CONTEXT_H
#define NVSNOOP_DECODE_ANALYSIS_CURRENT_CONTEXT_H

#include "decode/base/numbers.h"
#include "decode/calls/args.h"
#include "decode/calls/calls.h"

struct nvs_contexts {
	struct nvs_numbers threads; /* struct stack; only of those that have had one */
	struct home *homes; /* of streams */
};

/* *CONTEXT: that of CALL, 0 where none is known; and takes note of what it changes. 0 or -ENOMEM.
 */
int nvs_contexts_call(struct nvs_contexts *c, const struct nvs_call *call, uint64_t *context);
void nvs_contexts_free(struct nvs_contexts *c);

static inline bool nvs_makes_stream(const struct nvs_call *call)
{
	return call->api->role == NVS_CALL_ROLE_STREAM_CREATE ||
	       call->api->role == NVS_CALL_ROLE_GREEN_STREAM_CREATE;
}

#endif
