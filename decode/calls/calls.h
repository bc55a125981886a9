/* SPDX-License-Identifier: MIT */
/*
 * Calls of the CUDA API as the trace tells them, each with what it submitted itself.
 *
 * reading.h feeds it: every submission and record (with NVS_READ_WHOLE); a call is handed out when
 * it is over, those that never returned at the end.
 */
#ifndef NVSNOOP_DECODE_CALLS_CALLS_H
#define NVSNOOP_DECODE_CALLS_CALLS_H

#include "nvsnoop/decode.h"
#include "decode/calls/roles.h"
#include "decode/calls/tally.h"

#define NVS_SELECTS_CALL (1u << 0) /* the call that it happened in, if it is in time */
#define NVS_SELECTS_ITSELF (1u << 1)

struct nvs_calls_sink {
	int (*call)(void *arg, const struct nvs_call *call);
	int (*kernel)(void *arg, const struct nvs_rec_kernel *rec);
	int (*graph)(void *arg, const struct nvs_rec_graph *rec);
	/* A submission and the call it happened in, NULL where none is known. */
	int (*submission)(void *arg, const struct nvs_submission *s, const struct nvs_call *call);
	void *arg;
	/* NVS_SELECTS_*: what of this submission is asked for. NULL: both. CALL as above. */
	unsigned (*selects)(const void *select_arg, const struct nvs_submission *s,
			    const struct nvs_call *call);
	const void *select_arg;
};

struct nvs_calls;
/* NULL: no memory. */
struct nvs_calls *nvs_calls_new(struct nvs_trace *trace, const struct nvs_calls_sink *sink);
void nvs_calls_free(struct nvs_calls *calls);
/* What the sink returns, or -ENOMEM. */
int nvs_calls_submission(struct nvs_calls *calls, const struct nvs_submission *s);
/* What the submission told last does: for the tally of its call. */
void nvs_calls_op(struct nvs_calls *calls, const struct nvs_op *op);
int nvs_calls_record(struct nvs_calls *calls, const struct nvs_rec *rec);
int nvs_calls_end(struct nvs_calls *calls);
/* The first entry point from number *AT on; *AT: where to go on. NULL: none. */
const struct nvs_call_api *nvs_calls_api(const struct nvs_calls *calls, uint32_t *at);
/* Likewise, of those that were looked up and are not observed. */
const struct nvs_call_api *nvs_calls_passed(const struct nvs_calls *calls, uint32_t *at);

#endif
