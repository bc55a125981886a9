/* SPDX-License-Identifier: MIT */
/* Durations of calls: sums and quantiles. Durations are kept in ticks until the clock points around
 * them are known. */
#ifndef NVSNOOP_DECODE_QUERY_DURATIONS_H
#define NVSNOOP_DECODE_QUERY_DURATIONS_H

#include "decode/calls/args.h"
#include "decode/calls/calls.h"

/* Number and sum of durations. */
struct nvs_total {
	uint64_t count, ns;
};

/* Durations: exact sum, minimum and maximum, quantiles to 3 %. Small, a few hundred bytes, since
 * there may be very many. */
struct nvs_times {
	struct nvs_total total; /* first member: a nvs_times can be used as a nvs_total */
	uint64_t min, max; /* ns */
	uint32_t *bucket; /* N buckets from number FIRST; 16 per power of two */
	uint16_t first, n;
};

/* Both return 0 or -ENOMEM. */
int nvs_times_add(struct nvs_times *t, uint64_t ns);
int nvs_times_merge(struct nvs_times *into, const struct nvs_times *from);
void nvs_times_free(struct nvs_times *t);
/* ns; between minimum and maximum. */
uint64_t nvs_times_quantile(const struct nvs_times *t, double q);
/* ns; 0 if there are none. */
double nvs_total_mean(const struct nvs_total *t);

/* In the first pass the clock is known up to its latest point, about one a second. Durations wait
 * for the next point; their target must not move until then. */
struct nvs_waiting;
struct nvs_waiting *nvs_waiting_new(const struct nvs_trace *trace); /* NULL: out of memory */
void nvs_waiting_free(struct nvs_waiting *w);
/* Adds the duration of CALL to TIMES or TOTAL once the clock is known. Return 0 or -ENOMEM. */
int nvs_times_later(struct nvs_waiting *w, struct nvs_times *times, const struct nvs_call *call);
int nvs_total_later(struct nvs_waiting *w, struct nvs_total *total, const struct nvs_call *call);
/* Adds the durations that ended before the clock point at TICKS; UINT64_MAX: all. Returns 0 or
 * -ENOMEM. */
int nvs_waiting_clock(struct nvs_waiting *w, uint64_t ticks);

#endif
