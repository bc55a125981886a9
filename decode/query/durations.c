/* SPDX-License-Identifier: MIT */
/* Durations of calls in logarithmic buckets, and the list of durations that wait for a clock point.
 * See durations.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/query/durations.h"

/* 16 buckets per power of two. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t log;

	if (ns < 16)
		return (uint32_t)ns;
	log = 63 - (uint32_t)__builtin_clzll(ns);
	return (log - 3) * 16 + ((uint32_t)(ns >> (log - 4)) & 15);
}

static uint64_t middle_of(uint32_t bucket)
{
	uint32_t log = bucket / 16 + 3;
	uint64_t low;

	if (bucket < 16)
		return bucket;
	low = (16ull + (bucket & 15)) << (log - 4);
	return low + ((1ull << (log - 4)) >> 1);
}

/* Makes room for bucket B. Times of one API are close together, so only the range between them is
 * allocated. */
static int grow_buckets(struct nvs_durations *t, uint32_t b)
{
	uint32_t first = b & ~15u, end = first + 16;
	uint32_t *more;

	if (t->n && t->first < first)
		first = t->first;
	if (t->n && t->first + t->n > end)
		end = t->first + t->n;
	more = calloc(end - first, sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (t->n)
		memcpy(more + (t->first - first), t->bucket, t->n * sizeof(*more));
	free(t->bucket);
	t->bucket = more;
	t->first = (uint16_t)first;
	t->n = (uint16_t)(end - first);
	return 0;
}

static int count_in(struct nvs_durations *t, uint32_t b, uint32_t n)
{
	if (b < t->first || b >= (uint32_t)t->first + t->n)
		if (grow_buckets(t, b))
			return -ENOMEM;
	t->bucket[b - t->first] += n;
	return 0;
}

int nvs_durations_add_times(struct nvs_durations *t, uint64_t ns, uint32_t times)
{
	if (!t->total.count || ns < t->min)
		t->min = ns;
	t->total.count += times;
	t->total.ns += ns * times;
	if (ns > t->max)
		t->max = ns;
	return count_in(t, bucket_of(ns), times);
}

int nvs_durations_add(struct nvs_durations *t, uint64_t ns)
{
	return nvs_durations_add_times(t, ns, 1);
}

int nvs_durations_merge(struct nvs_durations *into, const struct nvs_durations *from)
{
	int r = 0;

	if (from->total.count && (!into->total.count || from->min < into->min))
		into->min = from->min;
	into->total.count += from->total.count;
	into->total.ns += from->total.ns;
	if (from->max > into->max)
		into->max = from->max;
	for (uint32_t i = 0; i < from->n && !r; i++)
		if (from->bucket[i])
			r = count_in(into, from->first + i, from->bucket[i]);
	return r;
}

void nvs_durations_free(struct nvs_durations *t)
{
	free(t->bucket);
	memset(t, 0, sizeof(*t));
}

/* A bucket may be wider than the range of measured values. */
static uint64_t clamp_ns(const struct nvs_durations *t, uint64_t ns)
{
	return ns < t->min ? t->min : ns > t->max ? t->max : ns;
}

uint64_t nvs_durations_quantile(const struct nvs_durations *t, double q)
{
	double rank = q * (double)t->total.count;
	uint64_t want = (uint64_t)rank, seen = 0;

	/* The lower of two in the middle. */
	if (want && (double)want >= rank)
		want--;
	for (uint32_t i = 0; i < t->n; i++) {
		seen += t->bucket[i];
		if (seen > want)
			return clamp_ns(t, middle_of(t->first + i));
	}
	return t->max;
}

double nvs_duration_mean(const struct nvs_duration_sum *t)
{
	return t->count ? (double)t->ns / (double)t->count : 0;
}

/* ---- durations waiting for the clock ---- */

#define MOST (1u << 19) /* waiting at a time; further ones use the clock known so far */

struct duration {
	uint64_t begin, end; /* ticks */
	uintptr_t into; /* struct nvs_duration_sum; with bit TIMES struct nvs_durations */
};
#define TIMES 1u

struct nvs_pending_durations {
	const struct nvs_trace *trace;
	struct duration *list;
	size_t n, room;
	size_t kept; /* N after the last scan */
};

struct nvs_pending_durations *nvs_pending_durations_new(const struct nvs_trace *trace)
{
	struct nvs_pending_durations *w = calloc(1, sizeof(*w));

	if (w)
		w->trace = trace;
	return w;
}

void nvs_pending_durations_free(struct nvs_pending_durations *w)
{
	if (w)
		free(w->list);
	free(w);
}

static int add_duration(const struct nvs_pending_durations *w, const struct duration *d)
{
	uint64_t ns = nvs_call_ns(w->trace, d->begin, d->end);
	struct nvs_duration_sum *total = (void *)(d->into & ~(uintptr_t)TIMES);

	if (d->into & TIMES)
		return nvs_durations_add((void *)total, ns);
	total->count++;
	total->ns += ns;
	return 0;
}

int nvs_pending_durations_resolve(struct nvs_pending_durations *w, uint64_t ticks)
{
	size_t kept = 0;
	int r = 0;

	/* Scan only after the list has doubled, so that the cost does not depend on the number of
	 * points. */
	if (w->n < 2 * w->kept && ticks != UINT64_MAX)
		return 0;
	for (size_t i = 0; i < w->n; i++) {
		if (w->list[i].end > ticks)
			w->list[kept++] = w->list[i];
		else if (!r)
			r = add_duration(w, w->list + i);
	}
	w->n = w->kept = kept;
	return r;
}

static int add_later(struct nvs_pending_durations *w, uintptr_t into, const struct nvs_call *call)
{
	if (!NVS_RESERVE(w->list, w->n, w->room, 256, MOST) &&
	    (!w->room || nvs_pending_durations_resolve(w, UINT64_MAX)))
		return -ENOMEM;
	w->list[w->n++] = (struct duration){call->begin, call->end, into};
	return 0;
}

int nvs_durations_add_later(struct nvs_pending_durations *w, struct nvs_durations *times,
			    const struct nvs_call *call)
{
	return add_later(w, (uintptr_t)times | TIMES, call);
}

int nvs_duration_sum_add_later(struct nvs_pending_durations *w, struct nvs_duration_sum *total,
			       const struct nvs_call *call)
{
	return add_later(w, (uintptr_t)total, call);
}
