/* SPDX-License-Identifier: MIT */
/* Readings of a GPU's clock between two of the session's, and the straight lines through them. */
#include "decode/calls/gpuclock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/search.h"

#define MAX_GPUS 64u
#define MAX_READINGS 4096u /* of a GPU; of more every second one is dropped */
#define MOST_NS (INT64_MAX / 2) /* since the start; so that two of them can be subtracted */
#define WANDERS 1000000u /* between readings a clock leaves the line by one in so many */
#define DRIFTS 1000u /* outside of them by one in so many */

/* At some moment between. */
struct reading {
	uint64_t ns;
	union {
		struct {
			uint64_t before, after; /* ticks */
		};
		struct {
			int64_t host; /* ns since the start, once that is settled */
			uint64_t give;
		};
	};
};

struct nvs_gpuclock {
	struct readings {
		struct reading *at;
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

static void thin(struct readings *all)
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
		thin(all);
	all->at[all->n++] = (struct reading){.ns = rec->ns, {{rec->before, rec->after}}};
	return 0;
}

/* False: the session's clock is not known. */
static bool settle_one(struct reading *r, const struct nvs_trace *trace)
{
	int64_t before, after;

	if (!nvs_clock_since_start(trace, r->before, &before) ||
	    !nvs_clock_since_start(trace, r->after, &after) || after < before)
		return false;
	r->host = before + (after - before) / 2;
	r->give = ((uint64_t)(after - before) + 1) / 2;
	return true;
}

void nvs_gpuclock_settle(struct nvs_gpuclock *k, const struct nvs_trace *trace)
{
	for (uint32_t i = 0; i < MAX_GPUS; i++) {
		struct readings *all = &k->gpu[i];
		uint32_t n = 0;

		/* Neither clock runs backwards; a reading that says so is a lie. */
		for (uint32_t j = 0; j < all->n; j++) {
			struct reading r = all->at[j];

			if (settle_one(&r, trace) &&
			    (!n || (r.ns > all->at[n - 1].ns && r.host > all->at[n - 1].host)))
				all->at[n++] = r;
		}
		all->n = n;
	}
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

bool nvs_gpuclock_session(const struct nvs_gpuclock *k, uint32_t gpu, uint64_t ns, int64_t *at,
			  uint64_t *give)
{
	const struct readings *all = gpu < MAX_GPUS ? &k->gpu[gpu] : NULL;
	const struct reading *a, *b;
	long double x, rate = 1;
	uint64_t away;

	if (!all || !all->n)
		return false;
	a = all->n > 1 ? NVS_LINE_FROM(all->at, all->n, ns, ns) : all->at;
	b = all->n > 1 ? a + 1 : a;
	if (b != a)
		rate = ((long double)b->host - a->host) / ((long double)b->ns - a->ns);
	x = a->host + ((long double)ns - a->ns) * rate;
	*at = x >= MOST_NS ? MOST_NS : x <= -MOST_NS ? -MOST_NS : (int64_t)x;
	away = apart(ns, a->ns) < apart(ns, b->ns) ? apart(ns, a->ns) : apart(ns, b->ns);
	*give = (a->give > b->give ? a->give : b->give) +
		away / (ns >= a->ns && ns <= b->ns ? WANDERS : DRIFTS);
	return true;
}
