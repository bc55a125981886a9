/* SPDX-License-Identifier: MIT */
/*
 * Decodes the submissions of a trace while it is read: one nvs_ops_channel for each channel, with
 * classes bound from the channel's record, the engine objects allocated under it, and the chip.
 *
 * Call nvs_decode_submission and nvs_decode_record from the consumer's callbacks (with
 * NVS_READ_WHOLE).
 */
#ifndef NVSNOOP_DECODE_CALLS_DECODE_SUBMISSION_H
#define NVSNOOP_DECODE_CALLS_DECODE_SUBMISSION_H

#include "nvsnoop/decode.h"
#include "decode/gpu/ops.h"

struct nvs_submission_decoder;

/* Callbacks, each may be NULL. S is the current submission. */
struct nvs_submission_sink {
	void (*entry)(void *arg, const struct nvs_submission *s, const struct nvs_segment *seg,
		      const struct nvs_gp *gp);
	void (*run)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		    const struct nvs_class *cls);
	void (*fault)(void *arg, const struct nvs_pb_fault *fault);
	void (*op)(void *arg, const struct nvs_submission *s, const struct nvs_op *op);
	void *arg;
};

struct nvs_submission_decoder *nvs_submission_decoder_new(struct nvs_trace *trace,
							  const struct nvs_submission_sink *sink);
void nvs_submission_decoder_free(struct nvs_submission_decoder *f);

/* TAG is returned in nvs_op.code. Returns 0 or -ENOMEM. */
int nvs_decode_submission(struct nvs_submission_decoder *f, const struct nvs_submission *s,
			  uint64_t tag);
int nvs_decode_record(struct nvs_submission_decoder *f, const struct nvs_rec *rec);

/* Returns the descriptor of a LAUNCH, or NULL if it is unknown. Valid while op() runs. */
const struct nvs_qmd *nvs_decode_qmd(const struct nvs_submission_decoder *f,
				     const struct nvs_op *op);
/* As nvs_ops_read_memory(). */
bool nvs_decode_read_memory(const struct nvs_submission_decoder *f, uint64_t address, void *bytes,
			    size_t n);

#endif
