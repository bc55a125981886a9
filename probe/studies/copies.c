/* SPDX-License-Identifier: MIT */
/*
 * What `dma --compare` runs in a process of its own: copies from pinned memory to the device by the
 * driver, one and then a wait, as a profiler sees them. A line a size on stdout: bytes, and the
 * medians in ns of the host's time, of events around the copy, and of CUPTI; "-" where there is
 * none.
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

/* With events around it where EVENTS; ns. */
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

static void put(double ns)
{
	if (isnan(ns))
		printf(" -");
	else
		printf(" %.2f", ns);
}

int probe_copies(const struct probe_options *o)
{
	static struct copies c;
	static double ns[PROBE_SIZES_MAX][PROBE_COPY_WAYS];
	static struct probe_session session;
	uint32_t most = 4;
	bool cupti;

	for (uint32_t i = 0; i < o->nsizes; i++)
		most = o->sizes[i] > most ? o->sizes[i] : most;
	probe_open_context(&session, o->gpu);
	PROBE_CU(cuStreamCreate(&c.stream, PROBE_STREAM_NON_BLOCKING));
	probe_memory(&c.from, PROBE_HOST, most);
	probe_memory(&c.to, PROBE_DEVICE, most);
	if (has_events()) {
		PROBE_CU(cuEventCreate(&c.begin, 0));
		PROBE_CU(cuEventCreate(&c.end, 0));
	}
	for (uint32_t i = 0; i < o->nsizes; i++)
		ns[i][PROBE_BY_HOST] = median_of(&c, o->sizes[i], false);
	for (uint32_t i = 0; i < o->nsizes; i++)
		ns[i][PROBE_BY_EVENTS] = has_events() ? median_of(&c, o->sizes[i], true) : NAN;
	/* Last: it has to do with whatever comes behind it. */
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
			put(ns[i][k]);
		putchar('\n');
	}
	if (fflush(stdout))
		probe_die("cannot write the result");
	probe_memory_free(&c.to);
	probe_memory_free(&c.from);
	probe_close(&session);
	return 0;
}
