/* SPDX-License-Identifier: MIT */
/*
 * A second witness that nothing is missing, beside the chain of PUTs, which is the proof: a driver
 * ends (nearly) every submission of a channel with a release to that channel's own slot, each time
 * with a payload one higher. A submission without a release proves nothing.
 *
 * Which slot that is, the payloads themselves have to show: one is believed once SETTLED releases
 * in a row have counted up at it. (What the trace names is where the submission before released
 * last, which may be somebody's event.) Where it then skips some, they are missing if the chain has
 * a hole there, too; if it has none, the slot has changed its ways, which is remarked once a
 * channel.
 */
#ifndef NVSNOOP_DECODE_CALLS_PROGRESS_CHECK_H
#define NVSNOOP_DECODE_CALLS_PROGRESS_CHECK_H

#include "nvsnoop/decode.h"
#include "decode/gpu/ops.h"

struct nvs_continuity;

struct nvs_continuity *nvs_continuity_new(void);
void nvs_continuity_free(struct nvs_continuity *p);
/* Every RELEASE, with the submission it stands in. Findings go to TRACE. 0 or -ENOMEM. */
int nvs_continuity_release(struct nvs_continuity *p, struct nvs_trace *trace,
			   const struct nvs_submission *s, const struct nvs_op *op);
/* A channel's end, and a gap that tells what is missing: its payloads begin anew. */
void nvs_continuity_record(struct nvs_continuity *p, const struct nvs_rec *rec);

#endif
