/* SPDX-License-Identifier: MIT */
/* Converts ticks of the session's clock to nanoseconds by interpolating between the trace's clock
 * readings. */
#include <stdlib.h>
#include "decode/base/grow.h"
#include "decode/base/search.h"
#include "decode/trace/internal.h"

#define MOST_NS (INT64_MAX / 2) /* since the start; half, so that two can be subtracted */

/* Halves the number of readings: keeps every second one, and the last. */
static void halve_points(struct nvs_clock_table *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->count; i += 2)
		c->points[n++] = c->points[i];
	if (!(c->count & 1))
		c->points[n++] = c->points[c->count - 1];
	c->count = n;
	c->has_origin = false;
}

int nvs_clock_add(struct nvs_trace *t, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns)
{
	struct nvs_clock_table *c = &t->clock;
	uint32_t at;

	if (c->count == NVS_MAX_POINTS)
		halve_points(c);
	if (!NVS_RESERVE(c->points, c->count, c->room, 16, UINT32_MAX))
		return -ENOMEM;
	for (at = c->count; at && c->points[at - 1].ticks > ticks; at--)
		;
	if (at && c->points[at - 1].ticks == ticks)
		return 0;
	/* Clocks are monotonic; drop readings that contradict this. */
	if ((at && c->points[at - 1].mono_ns > mono_ns) ||
	    (at < c->count && c->points[at].mono_ns < mono_ns))
		return 0;
	memmove(c->points + at + 1, c->points + at, (c->count - at) * sizeof(*c->points));
	c->points[at] = (struct nvs_clock_reading){ticks, mono_ns, real_ns};
	c->count++;
	c->segment = 0;
	c->has_origin = false;
	return 0;
}

const struct nvs_clock_reading *nvs_clock_points(const struct nvs_trace *t, uint32_t *n)
{
	*n = t->clock.count;
	return t->clock.points;
}

/* The trace's reader alone converts: what it remembers is no change of the trace. */
static struct nvs_clock_table *memory_of(const struct nvs_trace *t)
{
	return (struct nvs_clock_table *)&t->clock;
}

/* Start of the segment that covers TICKS: mostly that of the time converted before. */
static const struct nvs_clock_reading *find_segment(const struct nvs_trace *t, uint64_t ticks)
{
	const struct nvs_clock_table *c = &t->clock;
	const struct nvs_clock_reading *p = c->points + c->segment;

	if (c->segment + 1 < c->count && p[0].ticks <= ticks && ticks < p[1].ticks)
		return p;
	p = NVS_SEGMENT_START(c->points, c->count, ticks, ticks);
	memory_of(t)->segment = (uint32_t)(p - c->points);
	return p;
}

static bool convert_ticks(const struct nvs_trace *t, uint64_t ticks, bool real, uint64_t *ns)
{
	const struct nvs_clock_table *c = &t->clock;
	const struct nvs_clock_reading *p;
	long double dt, dn, x;

	*ns = 0;
	if (t->session.header.clock == NVS_CLOCK_MONOTONIC && !real) {
		*ns = ticks;
		return true;
	}
	if (!c->count)
		return false;
	if (t->session.header.clock == NVS_CLOCK_MONOTONIC && c->count == 1) {
		*ns = c->points[0].real_ns + (ticks - c->points[0].ticks);
		return true;
	}
	if (c->count < 2)
		return false;
	p = find_segment(t, ticks);
	/* A 64-bit mantissa is exact for these numbers. */
	dt = (long double)p[1].ticks - p[0].ticks;
	dn = real ? (long double)p[1].real_ns - p[0].real_ns
		  : (long double)p[1].mono_ns - p[0].mono_ns;
	x = (real ? p[0].real_ns : p[0].mono_ns) + ((long double)ticks - p[0].ticks) * dn / dt;
	*ns = x <= 0 ? 0 : x >= 0x1p63L ? INT64_MAX : (uint64_t)x;
	return true;
}

bool nvs_clock_mono(const struct nvs_trace *t, uint64_t ticks, uint64_t *ns)
{
	return convert_ticks(t, ticks, false, ns);
}

bool nvs_clock_real(const struct nvs_trace *t, uint64_t ticks, uint64_t *ns)
{
	return convert_ticks(t, ticks, true, ns);
}

static bool convert_start(const struct nvs_trace *t, uint64_t *ns)
{
	struct nvs_clock_table *c = memory_of(t);

	if (!c->has_origin || c->origin != t->session.first_time) {
		c->origin = t->session.first_time;
		c->has_origin = convert_ticks(t, c->origin, false, &c->origin_ns);
	}
	*ns = c->origin_ns;
	return c->has_origin;
}

bool nvs_clock_since_start(const struct nvs_trace *t, uint64_t ticks, int64_t *ns)
{
	uint64_t a, b;

	*ns = 0;
	if (!convert_start(t, &a) || !convert_ticks(t, ticks, false, &b))
		return false;
	*ns = (int64_t)(b - a);
	*ns = *ns > MOST_NS ? MOST_NS : *ns < -MOST_NS ? -MOST_NS : *ns;
	return true;
}
