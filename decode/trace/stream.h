/* SPDX-License-Identifier: MIT */
/* Reads the submissions and records of a trace in order. Every pass over a trace is based on
 * this. */
#ifndef NVSNOOP_DECODE_TRACE_STREAM_H
#define NVSNOOP_DECODE_TRACE_STREAM_H

#include "nvsnoop/decode.h"

/* nvs_stream_consumer.flags */
/*
 * Delivers submissions whose segments come in pieces when they are complete, as if they were one
 * record. Without it they are delivered at once with NVS_SEG_FOLLOWS, and the pieces go to
 * record(). Needs memory for the largest submission only.
 */
#define NVS_READ_WHOLE (1u << 0)

/* Callbacks may be NULL. They return 0 to continue. Any other value ends the pass and is returned
 * by nvs_stream_read(): > 0 if nothing more is needed, -errno for an error. */
struct nvs_stream_consumer {
	uint32_t flags; /* NVS_READ_* */
	/* Sorted by sequence within a channel, otherwise by time. */
	int (*submission)(void *arg, struct nvs_trace *trace, const struct nvs_submission *s);
	/*
	 * Every other record of a known type (DATA only without NVS_READ_WHOLE; not FRAME and PAD),
	 * checked, after the model has been updated. Records that end something (OBJECT_GONE,
	 * ..MAP_GONE) come before the model removes it.
	 */
	int (*record)(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec);
};

/*
 * Reads the trace from its first record to its last, then the spool. May be called again if the
 * input is seekable (not "-"): objects, mappings and counts are reset, while threads, modules,
 * stacks, the clock and the channels' lifetimes are kept. A second pass thus knows data recorded
 * after its first use: names of threads, stacks, symbols.
 */
int nvs_stream_read(struct nvs_trace *trace, const struct nvs_stream_consumer *consumer, void *arg,
		    struct nvs_error *err);
bool nvs_trace_is_rereadable(const struct nvs_trace *trace); /* the input can be read again */

#endif
