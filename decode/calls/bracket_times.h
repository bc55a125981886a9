/* SPDX-License-Identifier: MIT */
/*
 * The GPU's own time of submissions, from the records of `timing=`. All of it is told with a whole
 * reading; what follows from all together (which brackets hold work of other channels, what an
 * empty one takes, how the two clocks go) is known once that is settled. So whoever reads the trace
 * a second time has the time of each submission at the submission.
 *
 * A bracket is the time between two timestamps of the GPU around a submission. It holds the
 * submission's work and what the timestamps take themselves. Where the engine waited to be idle for
 * both, it also holds work of other channels of the engine that was done meanwhile; where nothing
 * waited (NVS_TIMING_REACHED), its begin may lie before the end of earlier work.
 *
 * How long a submission took is defined here and nowhere else: from the bracket's begin, or from
 * the end of the last work before it, or of other channels, that it waited for where that is later,
 * to the bracket's end, less an empty bracket. All reports and exports have it from here.
 */
#ifndef NVSNOOP_DECODE_CALLS_BRACKET_TIMES_H
#define NVSNOOP_DECODE_CALLS_BRACKET_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/decode.h"
#include "decode/gpu/ops.h"

/* Times are ns of the GPU's clock, in steps of 32, but where another one is named. */
struct nvs_timed {
	uint32_t channel, kind; /* enum nvs_timing_kind: DISPATCH or WORK */
	uint64_t sequence;
	uint64_t reached; /* when the GPU came to it, also of DISPATCH */
	/* The rest of WORK only. */
	uint64_t begin, end; /* of the bracket, without what it waited for */
	uint64_t
		ns; /* how long it took: from begin to end, less an empty one where that is known */
	bool waited; /* for work whose end is not known: a wait may be in it */
	bool subtracted; /* one is known of this channel */
	bool brief; /* and the rest is no longer than empty ones differ: it was short, no more */
	uint64_t shared; /* of the bracket, in which another channel of the engine had one as well:
			    its work may be in it. NVS_UNKNOWN: nobody knows */
	uint64_t idle; /* between the end of the submission before it of the channel and begin;
			  NVS_UNKNOWN: the one before has no time, or a wait may be in this one's */
};
#define NVS_UNKNOWN UINT64_MAX

/* What empty brackets of a channel took: those that no work of another channel was in. */
struct nvs_empty {
	uint64_t ns; /* median */
	uint64_t
		spread; /* that eight of ten are no further from it; at least a step of the clock */
	uint64_t count;
};

/* Records that tell no time. */
struct nvs_timing_faults {
	uint64_t untold; /* there was no memory for them */
	uint64_t twice; /* several of one submission that differ: none is believed */
	uint64_t wrong; /* end before they begin, begin at 0, or take longer than the session */
};

struct nvs_timing;
struct nvs_timing *nvs_timing_new(void); /* NULL: no memory */
void nvs_timing_free(struct nvs_timing *t);
/* Of all records those that matter are taken. 0 or -ENOMEM. */
int nvs_timing_record(struct nvs_timing *t, const struct nvs_rec *rec);
/* Operations, in order: by the acquires and releases among them it is known what a submission
 * waited for. 0 or -ENOMEM. */
int nvs_timing_op(struct nvs_timing *t, const struct nvs_submission *s, const struct nvs_op *op);
/* All has been read. 0 or -ENOMEM. Before it, nothing below is known. */
int nvs_timing_settle(struct nvs_timing *t, const struct nvs_trace *trace);

/* Is there a record of timing=? */
bool nvs_timing_any(const struct nvs_timing *t);
/* False: it has none. Quick in the order of a channel. */
bool nvs_timing_of(struct nvs_timing *t, uint32_t channel, uint64_t sequence,
		   struct nvs_timed *timed);
/* False: nothing is subtracted from this channel's. */
bool nvs_timing_empty(const struct nvs_timing *t, uint32_t channel, struct nvs_empty *empty);
const struct nvs_timing_faults *nvs_timing_faults(const struct nvs_timing *t);
/*
 * The time of a channel's GPU as ns since the session's start, as nvs_clock_since_start() has it,
 * give or take *GIVE: by the nearest two readings of both clocks. False: not known.
 */
bool nvs_timing_session(const struct nvs_timing *t, uint32_t channel, uint64_t ns, int64_t *at,
			uint64_t *give);

#endif
