/* SPDX-License-Identifier: MIT */
/*
 * A second check that no submission is missing, independent of the chain of PUTs, which is the
 * proof: a driver ends nearly every submission of a channel with a release of an incremented
 * payload to the channel's progress slot. A submission without a release proves nothing.
 *
 * The slot is found from the payloads: an address is accepted after SETTLED consecutive releases
 * that count up. (The slot in the trace is only where the previous submission released last, which
 * may be an event.) If payloads are then skipped, submissions are missing if the chain of PUTs has
 * a hole there too; if it has none, the slot is used differently, which is reported once a channel.
 */
#ifndef NVSNOOP_DECODE_CALLS_CONTINUITY_H
#define NVSNOOP_DECODE_CALLS_CONTINUITY_H

#include "nvsnoop/decode.h"
#include "decode/gpu/ops.h"

struct nvs_continuity;

struct nvs_continuity *nvs_continuity_new(void);
void nvs_continuity_free(struct nvs_continuity *p);
/* Call for every RELEASE with its submission. Adds findings to TRACE. Returns 0 or -ENOMEM. */
int nvs_continuity_release(struct nvs_continuity *p, struct nvs_trace *trace,
			   const struct nvs_submission *s, const struct nvs_op *op);
/* Call for every record: the end of a channel, or a gap that reports missing submissions, restarts
 * the channel's payload count. */
void nvs_continuity_record(struct nvs_continuity *p, const struct nvs_rec *rec);

#endif
