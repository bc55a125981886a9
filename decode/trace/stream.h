/* SPDX-License-Identifier: MIT */
/* Submissions and records of a trace, in order: what every reading of it stands on. */
#ifndef NVSNOOP_DECODE_TRACE_STREAM_H
#define NVSNOOP_DECODE_TRACE_STREAM_H

#include "nvsnoop/decode.h"

/* nvs_stream_consumer.flags */
/*
 * Submissions whose segments come in pieces are handed out once they are complete, as if they had
 * stood in one record. Without it they are handed out at once, with NVS_SEG_FOLLOWS, and the pieces
 * come through record(). Needs memory for the largest submission only.
 */
#define NVS_READ_WHOLE (1u << 0)

/*
 * Callbacks may be NULL. What they return ends the reading unless it is 0, and is what
 * nvs_stream_read() returns: > 0 for "seen enough", -errno for a failure of theirs.
 */
struct nvs_stream_consumer {
	uint32_t flags; /* NVS_READ_* */
	/* In order of sequence within a channel, in order of time otherwise. */
	int (*submission)(void *arg, struct nvs_trace *trace, const struct nvs_submission *s);
	/*
	 * Every other record of a known type (DATA only without NVS_READ_WHOLE; not FRAME and PAD),
	 * checked, and after the model has taken it in; what goes (OBJECT_GONE, ..MAP_GONE) before
	 * the model drops it.
	 */
	int (*record)(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec);
};

/*
 * Reads the trace from its first record to its last, then what the spool adds. May be called again
 * where the input can be read again (not "-"): objects and mappings start anew then, as do the
 * counts, while threads, modules, stacks, the clock and the channels' life stay known. So a second
 * pass knows what came after its use in the stream: names of threads, stacks, symbols.
 */
int nvs_stream_read(struct nvs_trace *trace, const struct nvs_stream_consumer *consumer, void *arg,
		    struct nvs_error *err);
bool nvs_trace_again(const struct nvs_trace *trace); /* it may be called again */

#endif
