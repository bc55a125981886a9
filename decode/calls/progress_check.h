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

struct nvs_progress_check *nvs_progress_check_new(void);
void nvs_progress_check_free(struct nvs_progress_check *p);
/* Call for every RELEASE with its submission. Adds findings to TRACE. Returns 0 or -ENOMEM. */
int nvs_progress_check_release(struct nvs_progress_check *p, struct nvs_trace *trace,
			       const struct nvs_submission *s, const struct nvs_op *op);
/* Call for every record: the end of a channel, or a gap that reports missing submissions, restarts
 * the channel's payload count. */
void nvs_progress_check_record(struct nvs_progress_check *p, const struct nvs_rec *rec);

#endif
