/* SPDX-License-Identifier: MIT */
/* Keeps readings of a GPU's clock, each taken between two readings of the session's clock, and
 * interpolates linearly between them. */
#include "decode/calls/gpuclock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/search.h"

#define MAX_GPUS 64u
#define MAX_READINGS 4096u /* per GPU; above that every second one is dropped */
#define MOST_NS (INT64_MAX / 2) /* since the start; half, so that two can be subtracted */
#define WANDERS 1000000u /* between readings a clock deviates by one part in this many */
#define DRIFTS 1000u /* and beyond the readings by one part in this many */

/* A reading of the GPU's clock, at some time between `before` and `after`. */
struct gpu_clock_reading {
	uint64_t ns;
	union {
		struct {
			uint64_t before, after; /* ticks of the session's clock */
		};
		struct {
			int64_t host; /* ns since the start, after nvs_gpuclock_finish() */
			uint64_t error_ns;
		};
	};
};

struct nvs_gpuclock {
	struct readings {
		struct gpu_clock_reading *at;
		uint32_t n;
	} gpu[MAX_GPUS];
};

struct nvs_gpuclock *nvs_gpuclock_new(void)
{
	return calloc(1, sizeof(struct nvs_gpuclock));
}

void nvs_gpuclock_free(struct nvs_gpuclock *k)
{
	for (uint32_t i = 0; k && i < MAX_GPUS; i++)
		free(k->gpu[i].at);
	free(k);
}

static void halve_readings(struct readings *all)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < all->n; i += 2)
		all->at[n++] = all->at[i];
	all->n = n;
}

int nvs_gpuclock_record(struct nvs_gpuclock *k, const struct nvs_rec_gpu_clock *rec)
{
	struct readings *all = rec->gpu < MAX_GPUS ? &k->gpu[rec->gpu] : NULL;

	if (!all || rec->after < rec->before)
		return 0;
	if (!all->at)
		all->at = malloc(MAX_READINGS * sizeof(*all->at));
	if (!all->at)
		return -ENOMEM;
	if (all->n == MAX_READINGS)
		halve_readings(all);
	all->at[all->n++] = (struct gpu_clock_reading){.ns = rec->ns, {{rec->before, rec->after}}};
	return 0;
}

/* Returns false if the session's clock is unknown. */
static bool convert_reading(struct gpu_clock_reading *r, const struct nvs_trace *trace)
{
	int64_t before, after;

	if (!nvs_clock_since_start(trace, r->before, &before) ||
	    !nvs_clock_since_start(trace, r->after, &after) || after < before)
		return false;
	r->host = before + (after - before) / 2;
	r->error_ns = ((uint64_t)(after - before) + 1) / 2;
	return true;
}

void nvs_gpuclock_finish(struct nvs_gpuclock *k, const struct nvs_trace *trace)
{
	for (uint32_t i = 0; i < MAX_GPUS; i++) {
		struct readings *all = &k->gpu[i];
		uint32_t n = 0;

		/* Both clocks are monotonic; drop readings that contradict this. */
		for (uint32_t j = 0; j < all->n; j++) {
			struct gpu_clock_reading r = all->at[j];

			if (convert_reading(&r, trace) &&
			    (!n || (r.ns > all->at[n - 1].ns && r.host > all->at[n - 1].host)))
				all->at[n++] = r;
		}
		all->n = n;
	}
}

static uint64_t abs_difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

bool nvs_gpuclock_to_session(const struct nvs_gpuclock *k, uint32_t gpu, uint64_t ns, int64_t *at,
			     uint64_t *give)
{
	const struct readings *all = gpu < MAX_GPUS ? &k->gpu[gpu] : NULL;
	const struct gpu_clock_reading *a, *b;
	long double x, rate = 1;
	uint64_t away;

	if (!all || !all->n)
		return false;
	a = all->n > 1 ? NVS_SEGMENT_START(all->at, all->n, ns, ns) : all->at;
	b = all->n > 1 ? a + 1 : a;
	if (b != a)
		rate = ((long double)b->host - a->host) / ((long double)b->ns - a->ns);
	x = a->host + ((long double)ns - a->ns) * rate;
	*at = x >= MOST_NS ? MOST_NS : x <= -MOST_NS ? -MOST_NS : (int64_t)x;
	away = abs_difference(ns, a->ns) < abs_difference(ns, b->ns) ? abs_difference(ns, a->ns)
								     : abs_difference(ns, b->ns);
	*give = (a->error_ns > b->error_ns ? a->error_ns : b->error_ns) +
		away / (ns >= a->ns && ns <= b->ns ? WANDERS : DRIFTS);
	return true;
}
