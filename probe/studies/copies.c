/* SPDX-License-Identifier: MIT */
/*
 * The internal study behind `dma --compare`: times the driver's copies from pinned memory to the
 * device, waiting for each, as a profiler sees them. Prints a line for each size: bytes, and the
 * medians in ns by host time, by events around the copy, and by CUPTI; "-" if not available.
 */
#include "probe/studies/copies.h"
#include <math.h>
#include <stdio.h>
#include "probe/studies/cupti.h"
#include "probe/studies.h"

struct copies {
	struct probe_memory from, to;
	void *stream, *begin, *end;
	double ns[PROBE_COPIES_TIMED];
};

static bool has_events(void)
{
	return cu.cuEventCreate && cu.cuEventRecord && cu.cuEventElapsedTime;
}

/* Times one copy, with events around it if EVENTS. Returns ns. */
static double one_copy(struct copies *c, uint32_t bytes, bool events)
{
	uint64_t begin = probe_now(), end;
	float ms;

	if (events)
		PROBE_CU(cuEventRecord(c->begin, c->stream));
	PROBE_CU(cuMemcpyHtoDAsync_v2(c->to.gpu, c->from.cpu, bytes, c->stream));
	if (events)
		PROBE_CU(cuEventRecord(c->end, c->stream));
	PROBE_CU(cuStreamSynchronize(c->stream));
	end = probe_now();
	if (!events)
		return (double)(end - begin);
	PROBE_CU(cuEventElapsedTime(&ms, c->begin, c->end));
	return ms * 1e6;
}

static double median_of(struct copies *c, uint32_t bytes, bool events)
{
	for (uint32_t i = 0; i < PROBE_COPIES_WARM; i++)
		one_copy(c, bytes, events);
	for (uint32_t i = 0; i < PROBE_COPIES_TIMED; i++)
		c->ns[i] = one_copy(c, bytes, events);
	return probe_median(c->ns, PROBE_COPIES_TIMED);
}

static void print_ns(double ns)
{
	if (isnan(ns))
		printf(" -");
	else
		printf(" %.2f", ns);
}

int probe_run_copies(const struct probe_options *o)
{
	static struct copies c;
	static double ns[PROBE_SIZES_MAX][PROBE_COPY_WAYS];
	static struct probe_session session;
	uint32_t largest = 4;
	bool cupti;

	for (uint32_t i = 0; i < o->nsizes; i++)
		largest = o->sizes[i] > largest ? o->sizes[i] : largest;
	probe_open_context(&session, o->gpu);
	PROBE_CU(cuStreamCreate(&c.stream, PROBE_STREAM_NON_BLOCKING));
	probe_memory(&c.from, PROBE_HOST, largest);
	probe_memory(&c.to, PROBE_DEVICE, largest);
	if (has_events()) {
		PROBE_CU(cuEventCreate(&c.begin, 0));
		PROBE_CU(cuEventCreate(&c.end, 0));
	}
	for (uint32_t i = 0; i < o->nsizes; i++)
		ns[i][PROBE_BY_HOST] = median_of(&c, o->sizes[i], false);
	for (uint32_t i = 0; i < o->nsizes; i++)
		ns[i][PROBE_BY_EVENTS] = has_events() ? median_of(&c, o->sizes[i], true) : NAN;
	/* CUPTI comes last: it affects everything after it. */
	cupti = probe_cupti_begin();
	for (uint32_t i = 0; i < o->nsizes; i++) {
		ns[i][PROBE_BY_CUPTI] = NAN;
		if (!cupti)
			continue;
		median_of(&c, o->sizes[i], false);
		if (probe_cupti_copies(o->sizes[i], c.ns, PROBE_COPIES_TIMED))
			ns[i][PROBE_BY_CUPTI] = probe_median(c.ns, PROBE_COPIES_TIMED);
	}
	for (uint32_t i = 0; i < o->nsizes; i++) {
		printf("%u", o->sizes[i]);
		for (uint32_t k = 0; k < PROBE_COPY_WAYS; k++)
			print_ns(ns[i][k]);
		putchar('\n');
	}
	if (fflush(stdout))
		probe_die("cannot write the result");
	probe_memory_free(&c.to);
	probe_memory_free(&c.from);
	probe_close(&session);
	return 0;
}
