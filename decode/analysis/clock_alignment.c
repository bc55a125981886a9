/* SPDX-License-Identifier: MIT */
/* Aligns traces by their clocks, and prints how well they are aligned. Called by --timeline,
 * --ranks, --by-rank and the exports. */
#include "decode/base/compare.h"
#include "decode/analysis/clock_alignment.h"
#include <errno.h>
#include <stdlib.h>
#include "decode/trace/clock.h"

/* Linux slews both clocks alike: a change above the reading error is a step. */
#define STEP_NS 100000
#define MAX_NS (1ull << 61) /* year 2043; keeps sums of times within 64 bits */

/* State of one trace while it is compared with others. */
struct found {
	const char *host;
	int64_t first, last; /* time of day minus monotonic clock */
	int64_t offset; /* the offset chosen */
	uint64_t mono, until; /* monotonic time of the first record and of the last sample */
	uint32_t index;
};

static int64_t get_offset(const struct nvs_clock_point *p)
{
	return (int64_t)p->real_ns - (int64_t)p->mono_ns;
}

static bool is_plausible(const struct nvs_clock_point *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (p[i].real_ns >= MAX_NS || p[i].mono_ns >= MAX_NS)
			return false;
	return n;
}

/* Goes from the last sample backwards and removes steps, as if the last setting had always been
 * in effect. */
static void remove_steps(struct nvs_clock_of *of, struct found *f, const struct nvs_clock_point *p,
			 uint32_t n)
{
	int64_t least, most, at = 0, shift = 0;

	least = most = at = f->last = get_offset(p + n - 1);
	f->first = get_offset(p);
	for (uint32_t i = n - 1; i--;) {
		int64_t by = get_offset(p + i + 1) - get_offset(p + i);

		if (llabs(by) > STEP_NS) {
			if (!of->steps++)
				of->step_at = (int64_t)(p[i + 1].mono_ns - f->mono);
			shift += by;
		}
		at = get_offset(p + i) + shift;
		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	of->stepped = shift;
	of->drift = f->last - at;
	of->error = (uint64_t)(most - least + 1) / 2 + NVS_CLOCK_READ_NS;
	f->offset = least + (most - least) / 2;
	f->until = p[n - 1].mono_ns;
}

static void read_clock(struct nvs_clock_of *of, struct found *f, const struct nvs_source *s)
{
	const struct nvs_session *session = nvs_trace_session(s->trace);
	const char *day = session->attr[NVS_ATTR_CLOCK_ERROR];
	const struct nvs_clock_point *p;
	uint32_t n;
	char *end;

	*of = (struct nvs_clock_of){0};
	*f = (struct found){.host = session->attr[NVS_ATTR_HOST]};
	p = nvs_clock_points(s->trace, &n);
	if (!is_plausible(p, n) || !nvs_clock_mono(s->trace, session->first_time, &f->mono) ||
	    f->mono >= MAX_NS)
		return;
	of->known = true;
	remove_steps(of, f, p, n);
	if (day && *day >= '0' && *day <= '9') {
		of->day_error = strtoull(day, &end, 10) % 1000000000000 * 1000;
		of->day = *end ? NVS_DAY_UNKNOWN : NVS_DAY_KEPT;
	} else if (day) {
		of->day = NVS_DAY_UNKEPT;
	}
}

static bool is_near(int64_t a, int64_t b)
{
	return llabs(a - b) <= STEP_NS;
}

/* Returns true if both are of one boot of one machine. If the time of day was set, both traces
 * saw the same offset before or after it. */
static bool same_clock(const struct found *a, const struct found *b)
{
	return a->host && b->host && !strcmp(a->host, b->host) &&
	       (is_near(a->first, b->first) || is_near(a->first, b->last) ||
		is_near(a->last, b->first) || is_near(a->last, b->last));
}

/* Sorts by the end of the trace, latest first: others on the same clock take the offset from it. */
static int compare_end(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	return NVS_CMP(b->until, a->until) ?: NVS_CMP(a->index, b->index);
}

static void assign_clocks(struct nvs_clock_of *of, struct found *found, uint32_t n)
{
	uint32_t clocks = 0, k;

	for (uint32_t i = 0; i < n; i++) {
		struct nvs_clock_of *one = of + found[i].index;

		if (!one->known)
			continue;
		for (k = 0; k < i; k++)
			if (of[found[k].index].known && same_clock(found + k, found + i))
				break;
		one->clock = k < i ? of[found[k].index].clock : clocks++;
		if (k < i)
			found[i].offset = found[k].offset;
		one->began = found[i].mono + (uint64_t)found[i].offset;
		one->known = one->began < MAX_NS;
	}
}

int nvs_clocks_align(struct nvs_clock_of *of, const struct nvs_source *sources, uint32_t n)
{
	struct found *found = calloc(n + 1ul, sizeof(*found));
	uint64_t base = UINT64_MAX;

	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		read_clock(of + i, found + i, sources + i);
		found[i].index = i;
	}
	qsort(found, n, sizeof(*found), compare_end);
	assign_clocks(of, found, n);
	free(found);
	for (uint32_t i = 0; i < n; i++)
		base = of[i].known && of[i].began < base ? of[i].began : base;
	for (uint32_t i = 0; i < n; i++)
		of[i].shift = of[i].known ? (int64_t)(of[i].began - base) : 0;
	return 0;
}
