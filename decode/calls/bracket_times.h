/* SPDX-License-Identifier: MIT */
/*
 * GPU times of submissions, from the records of `timing=`. They depend on the whole trace (which
 * brackets contain work of other channels, the length of an empty bracket, the relation of the two
 * clocks), so a first pass collects them; a later pass can query each submission's time.
 *
 * A bracket is the time between two GPU timestamps around a submission: its work plus the
 * timestamps' own cost. If the engine waited for idle at both, the bracket also contains work of
 * the engine's other channels; if nothing waited (NVS_TIMING_REACHED), it may begin before the end
 * of earlier work.
 *
 * This is the only definition of a submission's duration, for all reports and exports: from the
 * begin of the bracket, or from the end of the last work that it waited for, on its own or other
 * channels, if that is later, to the end of the bracket, minus an empty bracket.
 */
#ifndef NVSNOOP_DECODE_CALLS_BRACKET_TIMES_H
#define NVSNOOP_DECODE_CALLS_BRACKET_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/decode.h"
#include "decode/gpu/ops.h"

/* Times are in ns of the GPU's clock, with a resolution of 32, unless noted. */
struct nvs_submission_time {
	uint32_t channel, kind; /* enum nvs_timing_kind: DISPATCH or WORK */
	uint64_t sequence;
	uint64_t reached; /* when the GPU reached it; DISPATCH has it too */
	uint64_t every; /* timing=sample: it was drawn as one of so many; 1: all are timed */
	/* The members below are for WORK only. */
	uint64_t begin, end; /* of the bracket, without the wait */
	uint64_t ns; /* duration: end - begin, minus an empty bracket if known */
	bool waited; /* for work whose end is unknown: may include a wait */
	bool subtracted; /* an empty bracket of this channel is known */
	bool too_short; /* and ns is within the spread of empty brackets: only known to be short */
	uint64_t shared; /* time in the bracket during which another channel of the engine had a
			  * bracket too, so its work may be included; NVS_UNKNOWN: unknown */
	uint64_t idle; /* from the end of the channel's previous submission to begin; NVS_UNKNOWN:
			* that one has no time, or this one may include a wait */
};
#define NVS_UNKNOWN UINT64_MAX

/* Empty brackets of a channel, without those that contain other channels' work. */
struct nvs_empty_bracket {
	uint64_t ns; /* median */
	uint64_t spread; /* distance from it within which 80 % are; at least one clock step */
	uint64_t count;
	uint64_t error; /* of NS: half a step of the clock, and a 95 % interval of the median */
};

/* Records without a usable time. */
struct nvs_timing_faults {
	uint64_t dropped; /* dropped for lack of memory */
	uint64_t duplicates; /* submissions with several records that differ: none is used */
	uint64_t wrong; /* end before begin, begin at 0, or longer than the session */
};

struct nvs_bracket_times;
struct nvs_bracket_times *nvs_bracket_times_new(void); /* NULL if memory is short */
void nvs_bracket_times_free(struct nvs_bracket_times *t);
/* Callbacks of a reader whose arg is the times. Both return 0 or -ENOMEM. */
int nvs_bracket_times_record(void *times, const struct nvs_rec *rec);
/* Acquires and releases show what a submission waited for. */
int nvs_bracket_times_op(void *times, const struct nvs_submission *s, const struct nvs_op *op);
/* Call at the end of the pass, before the functions below. Returns 0 or -ENOMEM. */
int nvs_bracket_times_finish(struct nvs_bracket_times *t, const struct nvs_trace *trace);

/* Returns true if there is any record of timing=. */
bool nvs_bracket_times_exist(const struct nvs_bracket_times *t);
/* Returns true if submissions were drawn at random (timing=sample): what is missing is unknown. */
bool nvs_bracket_times_are_sampled(const struct nvs_bracket_times *t);
/* Returns false if the submission has no time, or was not drawn. Fast if called in channel order.
 */
bool nvs_bracket_times_get(struct nvs_bracket_times *t, uint32_t channel, uint64_t sequence,
			   struct nvs_submission_time *timed);
/* Returns false if the channel has no known empty bracket. */
bool nvs_bracket_times_empty(const struct nvs_bracket_times *t, uint32_t channel,
			     struct nvs_empty_bracket *empty);
const struct nvs_timing_faults *nvs_timing_faults(const struct nvs_bracket_times *t);
/*
 * Converts a time of a channel's GPU to ns since the start of the session, as
 * nvs_clock_since_start() does, with an error of at most *GIVE: uses the nearest two readings of
 * both clocks. Returns false if unknown.
 */
bool nvs_bracket_times_to_session(const struct nvs_bracket_times *t, uint32_t channel, uint64_t ns,
				  int64_t *at, uint64_t *give);

#endif
