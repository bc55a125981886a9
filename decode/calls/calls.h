/* SPDX-License-Identifier: MIT */
/*
 * The CUDA API calls of a trace, each with the submissions made directly in it.
 *
 * A pass over the trace (pass.h) feeds it every submission and record (with NVS_READ_WHOLE). A
 * call is delivered when it has returned; calls that never returned are delivered at the end.
 */
#ifndef NVSNOOP_DECODE_CALLS_CALLS_H
#define NVSNOOP_DECODE_CALLS_CALLS_H

#include "nvsnoop/decode.h"
#include "decode/calls/roles.h"
#include "decode/calls/tally.h"

#define NVS_SELECTS_CALL (1u << 0) /* the submission's call, if its time is selected */
#define NVS_SELECTS_ITSELF (1u << 1)

struct nvs_calls_sink {
	int (*call)(void *arg, const struct nvs_call *call);
	int (*kernel)(void *arg, const struct nvs_rec_kernel *rec);
	int (*graph)(void *arg, const struct nvs_rec_graph *rec);
	/* A submission and the call it happened in, or NULL if that is unknown. */
	int (*submission)(void *arg, const struct nvs_submission *s, const struct nvs_call *call);
	void *arg;
	/* Returns NVS_SELECTS_*: what is selected by this submission. If NULL, both. CALL as
	 * above. */
	unsigned (*selects)(const void *select_arg, const struct nvs_submission *s,
			    const struct nvs_call *call);
	const void *select_arg;
};

struct nvs_calls;
/* Returns NULL if memory is short. */
struct nvs_calls *nvs_calls_new(struct nvs_trace *trace, const struct nvs_calls_sink *sink);
void nvs_calls_free(struct nvs_calls *calls);
/* Returns the sink's result, or -ENOMEM. */
int nvs_calls_submission(struct nvs_calls *calls, const struct nvs_submission *s);
/* Adds an operation of the latest submission to the tally of its call. */
void nvs_calls_op(struct nvs_calls *calls, const struct nvs_op *op);
int nvs_calls_record(struct nvs_calls *calls, const struct nvs_rec *rec);
int nvs_calls_finish(struct nvs_calls *calls);
/* Iterates over entry points: returns the first with number *AT or above and advances *AT, or
 * returns NULL. */
const struct nvs_call_api *nvs_calls_next_api(const struct nvs_calls *calls, uint32_t *at);
/* The same for entry points that were looked up but are not observed. */
const struct nvs_call_api *nvs_calls_next_unobserved(const struct nvs_calls *calls, uint32_t *at);

#endif
