/* SPDX-License-Identifier: MIT */
/*
 * Adds each drawn submission's time to the live page. A submission's duration is as
 * decode/calls/bracket_times.h defines it, as far as one channel shows it: from the end of the
 * submission before it, or from its own begin if that is later, to its end, minus an empty bracket.
 * The sums are those of decode/query/estimate.h. One thread at a time runs this, under nvs_lock.
 */
#include <stdatomic.h>
#include <string.h>
#include "preload/live/gpu_times.h"

#define ENDS 1024u /* more than a channel has slots */
#define EMPTIES 31u /* the last ones, whose median counts */

struct sampled_channel {
	struct nvs_timing_sink sink;
	uint32_t gpu;
	bool copies;
	uint32_t nempties;
	uint64_t empties[EMPTIES], empty; /* empty: the median of them; 0: none yet */
	struct {
		uint64_t number, ns; /* sequence + 1, and its end */
	} ends[ENDS];
	/* One that was read before the submission ahead of it, as where the slots wrap around. */
	struct nvs_rec_gpu_time waiting;
	uint64_t waiting_key;
	bool waits;
};

static void add_u64(uint64_t *to, uint64_t n)
{
	__atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
}

static void add_double(double *to, double value)
{
	double sum = *to + value;

	__atomic_store(to, &sum, __ATOMIC_RELAXED);
}

static void add_value(struct nvs_live_gpu_time *t, uint64_t ns, uint64_t every)
{
	double rest = (double)every * (double)(every - 1), value = (double)ns;

	add_u64(&t->timed, 1);
	add_u64(&t->weight, every);
	add_double(&t->squares, (double)every * value * value);
	add_double(&t->rest, rest);
	add_double(&t->rest_sum, rest * value);
	add_double(&t->rest_squares, rest * value * value);
	add_u64(&t->ns, every * ns);
}

/* Returns the row of the GPU, NVS_NONE if it has none. */
static uint32_t find_gpu(const struct nvs_live_page *page, uint32_t instance)
{
	const struct nvs_live_gpu *rows = nvs_live_table(page, NVS_LIVE_GPUS);
	uint32_t n = __atomic_load_n(&page->head->tables[NVS_LIVE_GPUS].used, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (rows[i].instance == instance)
			return i;
	return NVS_NONE;
}

static void add_time(const struct sampled_channel *c, uint64_t ns, uint64_t every, uint64_t key)
{
	struct nvs_live_page *page = nvs_live_page();
	struct nvs_live_gpu_time *kernels, *work;
	uint32_t gpu, kernel = 0;
	bool known;

	if (!page || !page->head->tables[NVS_LIVE_GPU_TIMES].rows)
		return;
	ns = ns > c->empty ? ns - c->empty : 0;
	kernels = nvs_live_table(page, NVS_LIVE_GPU_TIMES);
	work = nvs_live_table(page, NVS_LIVE_GPU_WORK);
	gpu = find_gpu(page, c->gpu);
	if (key)
		kernel = nvs_live_kernel(page, key, &known);
	if (gpu != NVS_NONE)
		add_value(&work[gpu * NVS_LIVE_ENGINES +
				(c->copies ? NVS_LIVE_COPY_ENGINE : NVS_LIVE_COMPUTE_ENGINE)],
			  ns, every);
	/* A reader takes the kernels first, so they never add up to more than their GPU's time. */
	atomic_thread_fence(memory_order_release);
	if (!c->copies)
		add_value(&kernels[kernel], ns, every);
}

static void add_empty(struct sampled_channel *c, const struct nvs_rec_gpu_time *time)
{
	uint64_t sorted[EMPTIES];
	uint32_t n;

	if (time->end < time->begin)
		return;
	c->empties[c->nempties++ % EMPTIES] = time->end - time->begin;
	n = c->nempties < EMPTIES ? c->nempties : EMPTIES;
	for (uint32_t i = 0, at; i < n; i++) {
		for (at = i; at && sorted[at - 1] > c->empties[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = c->empties[i];
	}
	c->empty = sorted[(n - 1) / 2];
}

/* Returns false if the end of the submission before it is not known. */
static bool find_begin(const struct sampled_channel *c, const struct nvs_rec_gpu_time *time,
		       uint64_t *begin)
{
	uint64_t before = time->sequence; /* sequence - 1, plus 1 */

	*begin = time->begin;
	/* On a copy engine the begin waited for the work before it. */
	if (time->kind == NVS_TIMING_WORK || !before)
		return true;
	if (c->ends[before % ENDS].number != before)
		return false;
	if (c->ends[before % ENDS].ns > *begin)
		*begin = c->ends[before % ENDS].ns;
	return true;
}

static void take_time(struct nvs_timing_sink *sink, const struct nvs_rec_gpu_time *time,
		      uint64_t key, bool drawn)
{
	struct sampled_channel *c = (struct sampled_channel *)sink;
	uint64_t begin;

	if (time->kind == NVS_TIMING_EMPTY) {
		add_empty(c, time);
		return;
	}
	if (time->kind == NVS_TIMING_DISPATCH)
		return;
	c->ends[(time->sequence + 1) % ENDS].number = time->sequence + 1;
	c->ends[(time->sequence + 1) % ENDS].ns = time->end;
	if (drawn && find_begin(c, time, &begin)) {
		if (time->end > begin)
			add_time(c, time->end - begin, time->every, key);
	} else if (drawn) {
		c->waiting = *time;
		c->waiting_key = key;
		c->waits = true;
	}
	if (c->waits && find_begin(c, &c->waiting, &begin)) {
		c->waits = false;
		if (c->waiting.end > begin)
			add_time(c, c->waiting.end - begin, c->waiting.every, c->waiting_key);
	}
}

static void free_sink(struct nvs_timing_sink *sink)
{
	nvs_free(sink, sizeof(struct sampled_channel));
}

struct nvs_timing_sink *nvs_live_gpu_sink_new(uint32_t gpu, bool copies)
{
	struct sampled_channel *c = nvs_live_page() ? nvs_alloc(sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->sink = (struct nvs_timing_sink){take_time, free_sink};
	c->gpu = gpu;
	c->copies = copies;
	return &c->sink;
}
