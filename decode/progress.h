/* SPDX-License-Identifier: MIT */
/*
 * A second proof that nothing is missing: a driver ends (nearly) every submission of a channel with
 * a release to that channel's own slot, each time with a payload one higher. A payload that was
 * skipped is a submission that is not in the trace. A submission without a release proves nothing.
 *
 * Where the trace does not name a channel's slot, the address that three releases in a row have
 * counted up at is taken for it.
 */
#ifndef NVSNOOP_DECODE_PROGRESS_H
#define NVSNOOP_DECODE_PROGRESS_H

#include "nvsnoop/decode.h"
#include "decode/ops.h"

struct nvs_progress;

struct nvs_progress *nvs_progress_new(void);
void nvs_progress_free(struct nvs_progress *p);
/* Every RELEASE, with the submission it stands in. Findings go to TRACE. 0 or -ENOMEM. */
int nvs_progress_release(struct nvs_progress *p, struct nvs_trace *trace,
			 const struct nvs_submission *s, const struct nvs_op *op);
/* A channel begins anew under its number. */
void nvs_progress_gone(struct nvs_progress *p, uint32_t channel);

#endif
