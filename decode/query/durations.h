/* SPDX-License-Identifier: MIT */
/* Durations of calls: sums and quantiles. Durations are kept in ticks until the clock points around
 * them are known. */
#ifndef NVSNOOP_DECODE_QUERY_DURATIONS_H
#define NVSNOOP_DECODE_QUERY_DURATIONS_H

#include "decode/calls/args.h"
#include "decode/calls/calls.h"

/* Number and sum of durations. */
struct nvs_duration_sum {
	uint64_t count, ns;
};

/* Durations: exact sum, minimum and maximum, quantiles to 3 %. Small, a few hundred bytes, since
 * there may be very many. */
struct nvs_durations {
	struct nvs_duration_sum
		total; /* first member: a nvs_durations can be used as a nvs_duration_sum */
	uint64_t min, max; /* ns */
	uint32_t *bucket; /* N buckets from number FIRST; 16 per power of two */
	uint16_t first, n;
};

/* Return 0 or -ENOMEM. */
int nvs_durations_add(struct nvs_durations *t, uint64_t ns);
int nvs_durations_add_times(struct nvs_durations *t, uint64_t ns, uint32_t times);
int nvs_durations_merge(struct nvs_durations *into, const struct nvs_durations *from);
void nvs_durations_free(struct nvs_durations *t);
/* ns; between minimum and maximum. */
uint64_t nvs_durations_quantile(const struct nvs_durations *t, double q);
/* ns; 0 if there are none. */
double nvs_duration_mean(const struct nvs_duration_sum *t);

/* In the first pass the clock is known up to its latest point, about one a second. Durations wait
 * for the next point; their target must not move until then. */
struct nvs_pending_durations;
struct nvs_pending_durations *
nvs_pending_durations_new(const struct nvs_trace *trace); /* NULL: out of memory */
void nvs_pending_durations_free(struct nvs_pending_durations *w);
/* Adds the duration of CALL to TIMES or TOTAL once the clock is known. Return 0 or -ENOMEM. */
int nvs_durations_add_later(struct nvs_pending_durations *w, struct nvs_durations *times,
			    const struct nvs_call *call);
int nvs_duration_sum_add_later(struct nvs_pending_durations *w, struct nvs_duration_sum *total,
			       const struct nvs_call *call);
/* Adds the durations that ended before the clock point at TICKS; UINT64_MAX: all. Returns 0 or
 * -ENOMEM. */
int nvs_pending_durations_resolve(struct nvs_pending_durations *w, uint64_t ticks);

#endif
