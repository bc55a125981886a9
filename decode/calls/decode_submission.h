/* SPDX-License-Identifier: MIT */
/*
 * Follows a trace that is being read with operations: one nvs_ops_channel a channel, its classes
 * bound from the channel's record, the engine objects allocated below it, and the chip.
 *
 * Call nvs_attach_submission and nvs_attach_record from the consumer's callbacks (with
 * NVS_READ_WHOLE).
 */
#ifndef NVSNOOP_DECODE_CALLS_DECODE_SUBMISSION_H
#define NVSNOOP_DECODE_CALLS_DECODE_SUBMISSION_H

#include "nvsnoop/decode.h"
#include "decode/gpu/ops.h"

struct nvs_attach;

/* What is told; each may be NULL. S is the submission in progress. */
struct nvs_attach_sink {
	void (*entry)(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		      const struct nvs_gp *gp);
	void (*run)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		    const struct nvs_class *cls);
	void (*fault)(void *arg, const struct nvs_pb_fault *fault);
	void (*op)(void *arg, const struct nvs_submission *s, const struct nvs_op *op);
	void *arg;
};

struct nvs_attach *nvs_attach_new(struct nvs_trace *trace, const struct nvs_attach_sink *sink);
void nvs_attach_free(struct nvs_attach *f);

/* TAG comes back in nvs_op.code. 0 or -ENOMEM. */
int nvs_attach_submission(struct nvs_attach *f, const struct nvs_submission *s, uint64_t tag);
int nvs_attach_record(struct nvs_attach *f, const struct nvs_rec *rec);

/* The descriptor of a LAUNCH while op() runs; NULL: not known. */
const struct nvs_qmd *nvs_attach_qmd(const struct nvs_attach *f, const struct nvs_op *op);

#endif
