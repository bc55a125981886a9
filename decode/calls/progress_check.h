/* SPDX-License-Identifier: MIT */
/*
 * A second check that no submission is missing, independent of the chain of PUTs, which is the
 * proof: a driver ends nearly every submission of a channel with a release of an incremented
 * payload to the channel's progress slot. An address is accepted as the slot after SETTLED
 * consecutive releases that count up (the slot in the trace is only where the previous submission
 * released last, which may be an event). Skipped payloads mean missing submissions if the chain has
 * a hole there too, else another use of the slot, which is reported once a channel.
 */
#ifndef NVSNOOP_DECODE_CALLS_PROGRESS_CHECK_H
#define NVSNOOP_DECODE_CALLS_PROGRESS_CHECK_H

#include "nvsnoop/decode.h"
#include "decode/gpu/ops.h"

struct nvs_progress_check;

/* Adds findings to TRACE. Returns NULL if memory is short. */
struct nvs_progress_check *nvs_progress_check_new(struct nvs_trace *trace);
void nvs_progress_check_free(struct nvs_progress_check *p);
/* Callbacks of a reader whose arg is the check. Both return 0 or -ENOMEM. */
int nvs_progress_check_op(void *check, const struct nvs_submission *s, const struct nvs_op *op);
/* The end of a channel, or a gap that reports missing submissions, restarts the channel's payload
 * count. */
int nvs_progress_check_record(void *check, const struct nvs_rec *rec);

#endif
