/* SPDX-License-Identifier: MIT */
/* Durations of calls: summed up, with quantiles, and kept until the clock around them is known. */
#ifndef NVSNOOP_DECODE_QUERY_DURATIONS_H
#define NVSNOOP_DECODE_QUERY_DURATIONS_H

#include "decode/calls/args.h"
#include "decode/calls/calls.h"

/* Durations of which the sum alone is told. */
struct nvs_total {
	uint64_t count, ns;
};

/* Durations: exact sum, least and greatest, quantiles to 3 %. A few hundred bytes, as there may be
 * very many of them. */
struct nvs_times {
	struct nvs_total total; /* first: times are told apart from totals by a bit */
	uint64_t min, max; /* ns */
	uint32_t *bucket; /* N of them from number FIRST on; 16 to each doubling */
	uint16_t first, n;
};

/* 0 or -ENOMEM. */
int nvs_times_add(struct nvs_times *t, uint64_t ns);
int nvs_times_merge(struct nvs_times *into, const struct nvs_times *from);
void nvs_times_free(struct nvs_times *t);
/* Never outside of what was measured. */
uint64_t nvs_times_quantile(const struct nvs_times *t, double q);
/* Of each, ns; 0 where there is none. */
double nvs_total_mean(const struct nvs_total *t);

/*
 * In a first reading the clock is known up to its latest point, which come about once a second. So
 * durations wait for the next one. What they are added to has to stay where it is until then.
 */
struct nvs_waiting;
struct nvs_waiting *nvs_waiting_new(const struct nvs_trace *trace); /* NULL: no memory */
void nvs_waiting_free(struct nvs_waiting *w);
/* That of CALL is to go into TIMES, or into TOTAL. 0 or -ENOMEM. */
int nvs_times_later(struct nvs_waiting *w, struct nvs_times *times, const struct nvs_call *call);
int nvs_total_later(struct nvs_waiting *w, struct nvs_total *total, const struct nvs_call *call);
/* A point of the clock was read at TICKS; UINT64_MAX: there is none behind it. */
int nvs_waiting_clock(struct nvs_waiting *w, uint64_t ticks);

#endif
