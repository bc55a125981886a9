/* SPDX-License-Identifier: MIT */
/* Finds calls that waited. The median of an API is known after the pass, so all candidates are kept
 * until then. Calls of other threads need a second pass, since they may end later. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/base/compare.h"
#include "decode/base/search.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/analysis/ring_stalls.h"
#include "decode/query/selection.h"
#include "decode/query/api_names.h"

#define LONG_NS 100000u /* shorter calls are ignored */
#define TIMES_USUAL 10u
#define MANY_CALLS 20u /* fewer calls have no usual time */
#define MOST_STEPS (1u << 28) /* bound for hostile traces: all calls may overlap */

struct api {
	const struct nvs_call_api *entry;
	struct nvs_durations times; /* of submitting calls, in ticks */
};

/* ---- callbacks of the pass ---- */

static void add_nested(struct nvs_stalls *w, const struct nvs_nested *nested)
{
	struct nvs_nested *new = nested->causes
					 ? NVS_APPEND_OPTIONAL(w->nested, w->nnested,
							       w->nested_room, 64, UINT32_MAX)
					 : NULL;

	if (new)
		*new = *nested;
}

static void note_nested(struct nvs_stalls *w, const struct nvs_call *call)
{
	const struct nvs_nested nested = {
		.begin = call->begin,
		.end = call->end,
		.thread = call->thread,
		.channel = NVS_NONE,
		.causes = call->api->group == NVS_CALL_GROUP_MODULE   ? NVS_STALL_MODULE
			  : call->api->group == NVS_CALL_GROUP_MEMORY ? NVS_STALL_MEMORY
								      : 0};

	add_nested(w, &nested);
}

void nvs_stalls_submission(struct nvs_stalls *w, const struct nvs_submission *s,
			   const struct nvs_occupancy *fill)
{
	const struct nvs_nested nested = {
		.begin = s->rec->rec.time,
		.end = s->rec->rec.time,
		.thread = s->thread->thread,
		.channel = s->channel->channel,
		.causes = (fill->ring_full ? NVS_STALL_RING : 0) |
			  (fill->pushbuffer_full ? NVS_STALL_PUSHBUFFER : 0)};

	add_nested(w, &nested);
}

bool nvs_stalls_loaded_code(const struct nvs_call *call)
{
	const struct nvs_tally *t = &call->tally;
	uint64_t copies = t->codes;

	for (int mode = 0; mode < NVS_COPY_MODES; mode++)
		copies += t->copies[mode];
	return !t->unseen && call->api->group == NVS_CALL_GROUP_LAUNCH && call->submissions > 1 &&
	       copies;
}

/* Returns true for calls that submit work and need not wait for it. */
static bool is_submitting(const struct nvs_call *call)
{
	switch (call->api->group) {
	case NVS_CALL_GROUP_LAUNCH:
	case NVS_CALL_GROUP_GRAPH_LAUNCH:
	case NVS_CALL_GROUP_COPY:
	case NVS_CALL_GROUP_MEMSET:
		return true;
	case NVS_CALL_GROUP_EVENT:
		return call->submissions;
	case NVS_CALL_GROUP_STREAM:
		return call->submissions && call->api->role == NVS_CALL_ROLE_NONE;
	default:
		return false;
	}
}

/* By its name: asynchronous copies end in "Async". */
static bool is_synchronous(const struct nvs_call *call)
{
	return call->api->group == NVS_CALL_GROUP_COPY && !strstr(call->api->name, "Async");
}

#define SECOND 1000000000u /* ticks */

/* Half of LONG_NS in ticks, by the clock as far as it is known: the rest is sorted out at the end.
 */
static void set_least(struct nvs_stalls *w, uint64_t ticks)
{
	uint64_t ns = nvs_call_ns(w->source->trace, ticks, ticks + SECOND);

	w->least = ns ? (uint64_t)(LONG_NS / 2.0 * SECOND / (double)ns) : 0;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_stalls *w = arg;
	struct api *api = nvs_number_make(&w->apis, call->api->number, sizeof(*api));
	struct nvs_stall *new;

	if (api)
		api->entry = call->api;
	if (!call->end || call->end < call->begin)
		return 0;
	if (call->depth > 1)
		note_nested(w, call);
	if (call->depth > 1 || !is_submitting(call) || call->flags & NVS_CALL_CAPTURED ||
	    !nvs_filter_call(w->source, call))
		return 0;
	if (!api || nvs_durations_add(&api->times, call->end - call->begin))
		return api ? -ENOMEM : 0;
	if (!w->least)
		set_least(w, call->begin);
	if (call->end - call->begin < w->least)
		return 0;
	new = NVS_APPEND_OPTIONAL(w->wait, w->n, w->room, 64, UINT32_MAX);
	if (!new) {
		w->dropped++;
		return 0;
	}
	*new = (struct nvs_stall){.api = call->api,
				  .begin = call->begin,
				  .end = call->end,
				  .thread = call->thread,
				  .stack = call->stack,
				  .channel = NVS_NONE,
				  .causes = (nvs_stalls_loaded_code(call) ? NVS_STALL_MODULE : 0) |
					    (is_synchronous(call) ? NVS_STALL_COPY : 0)};
	return 0;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_stalls *w = arg;
	uint64_t *ticks = NULL;

	if (rec->type == NVS_REC_CLOCK)
		set_least(w, rec->time);
	else if (rec->type == NVS_REC_OBJECT || rec->type == NVS_REC_GPU_MAP)
		ticks = NVS_APPEND_OPTIONAL(w->memory, w->nmemory, w->memory_room, 64, UINT32_MAX);
	if (ticks)
		*ticks = rec->time;
	return 0;
}

int nvs_stalls_begin(struct nvs_stalls *w, struct nvs_source *s)
{
	w->source = s;
	return nvs_source_add_reader(
		s, &(struct nvs_pass_reader){
			   .call = on_call, .record = on_record, .tallies = true, .arg = w});
}

/* ---- selection of calls that waited ---- */

static bool has_waited(struct nvs_stalls *w, struct nvs_stall *wait)
{
	const struct api *api = nvs_number_get(&w->apis, wait->api->number);
	uint64_t usual = api ? nvs_durations_quantile(&api->times, 0.5) : 0;

	wait->ns = nvs_call_ns(w->source->trace, wait->begin, wait->end);
	if (wait->ns < LONG_NS)
		return false;
	if (!api || api->times.total.count < MANY_CALLS)
		return true;
	wait->usual = nvs_call_ns(w->source->trace, wait->begin, wait->begin + usual);
	return (wait->end - wait->begin) / TIMES_USUAL >= usual || wait->causes & NVS_STALL_COPY;
}

static int compare_begins(const void *pa, const void *pb)
{
	const struct nvs_stall *a = pa, *b = pb;

	return NVS_CMP(a->begin, b->begin) ?: NVS_CMP(a->thread, b->thread);
}

static int compare_numbers(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return NVS_CMP(*a, *b);
}

static int compare_nested(const void *pa, const void *pb)
{
	return compare_numbers(&((const struct nvs_nested *)pa)->begin,
			       &((const struct nvs_nested *)pb)->begin);
}

/* ---- calls of other threads ---- */

/* Number of waits that begin before TICKS. */
static size_t count_before(const struct nvs_stalls *w, uint64_t ticks)
{
	return NVS_COUNT_BELOW(w->wait, w->n, begin, ticks);
}

static void add_sibling(struct nvs_stall *wait, const struct nvs_call *call, uint64_t ticks)
{
	for (int i = 0; i < NVS_STALL_SIBLINGS; i++) {
		struct nvs_sibling *s = wait->siblings + i;

		if (s->calls && (s->api != call->api->number || s->thread != call->thread))
			continue;
		s->api = call->api->number;
		s->thread = call->thread;
		s->ticks += ticks;
		s->calls++;
		return;
	}
}

/* Returns true if memory was allocated between FROM and TO: a call of that time may have done it.
 */
static bool made_memory(const struct nvs_stalls *w, uint64_t from, uint64_t to)
{
	size_t at = nvs_count_below(w->memory, w->nmemory, sizeof(*w->memory), 0, from);

	return at < w->nmemory && w->memory[at] <= to;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int on_sibling(void *arg, const struct nvs_call *call)
{
	struct nvs_stalls *w = arg;
	uint64_t end = call->end ? call->end : UINT64_MAX;

	/* A thread that waits for the GPU holds no lock that others need. */
	if (call->depth > 1 || call->api->group == NVS_CALL_GROUP_SYNC)
		return 0;
	for (size_t i = count_before(w, end); i && w->latest[i - 1] > call->begin; i--) {
		struct nvs_stall *wait = w->wait + i - 1;
		uint64_t from = max_of(wait->begin, call->begin);
		uint64_t to = end < wait->end ? end : wait->end;

		if (++w->steps > MOST_STEPS) {
			nvs_budget_set_exceeded();
			return 1;
		}
		if (wait->thread == call->thread || from >= to)
			continue;
		/* A call that began later and ended later was not waited for. */
		if (call->begin > wait->begin && end > wait->end)
			continue;
		add_sibling(wait, call, to - from);
		if (made_memory(w, from, to))
			wait->causes &= ~NVS_STALL_MEMORY;
	}
	return 0;
}

static int by_ticks(const void *pa, const void *pb)
{
	const struct nvs_sibling *a = pa, *b = pb;

	return -compare_numbers(&a->ticks, &b->ticks);
}

/* ---- causes ---- */

void nvs_stalls_settle(struct nvs_stalls *w)
{
	if (w->nnested)
		qsort(w->nested, w->nnested, sizeof(*w->nested), compare_nested);
	for (size_t i = 0; i < w->nnested; i++) {
		const struct nvs_nested *n = w->nested + i;
		size_t at = count_before(w, n->begin + 1);

		/* The last wait of its thread that began before it; outermost calls of a thread do
		 * not overlap. */
		for (size_t k = 0; at && k < 64; k++, at--) {
			struct nvs_stall *wait = w->wait + at - 1;

			if (wait->thread != n->thread)
				continue;
			if (wait->end >= n->end) {
				wait->causes |= n->causes;
				wait->channel = n->channel == NVS_NONE ? wait->channel : n->channel;
			}
			break;
		}
	}
}

void nvs_stalls_finish(struct nvs_stalls *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++)
		if (has_waited(w, w->wait + i))
			w->wait[kept++] = w->wait[i];
	w->n = kept;
	if (!kept)
		return;
	qsort(w->wait, w->n, sizeof(*w->wait), compare_begins);
	if (w->nmemory)
		qsort(w->memory, w->nmemory, sizeof(*w->memory), compare_numbers);
	for (size_t i = 0; i < w->n; i++)
		if (made_memory(w, w->wait[i].begin, w->wait[i].end))
			w->wait[i].causes |= NVS_STALL_MEMORY;
	nvs_stalls_settle(w);
}

int nvs_stalls_find_others(struct nvs_stalls *w)
{
	struct nvs_pass_reader reader = {.call = on_sibling, .arg = w};
	int r;

	if (!w->n || nvs_trace_thread_count(w->source->trace) < 2)
		return 0;
	w->latest = calloc(w->n + 1, sizeof(*w->latest));
	if (!w->latest)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++)
		w->latest[i] = max_of(w->wait[i].end, i ? w->latest[i - 1] : 0);
	r = nvs_source_read(w->source, &reader);
	for (size_t i = 0; i < w->n; i++) {
		struct nvs_stall *wait = w->wait + i;

		qsort(wait->siblings, NVS_STALL_SIBLINGS, sizeof(*wait->siblings), by_ticks);
		if (wait->siblings->calls && wait->siblings->ticks >= (wait->end - wait->begin) / 2)
			wait->causes |= NVS_STALL_OTHERS;
	}
	/* Memory that the call itself allocated is its own, whatever others did. */
	nvs_stalls_settle(w);
	return r;
}

static void free_api(void *item)
{
	nvs_durations_free(&((struct api *)item)->times);
	free(item);
}

void nvs_stalls_free(struct nvs_stalls *w)
{
	nvs_numbers_free(&w->apis, free_api);
	free(w->wait);
	free(w->nested);
	free(w->memory);
	free(w->latest);
}

/* ---- text ---- */

void nvs_stall_cause(const struct nvs_stall *wait, char *dst, size_t room)
{
	static const char *const words[] = {"ring full",	  "pushbuffer full",
					    "module loading",	  "memory allocation",
					    "synchronising copy", "other threads"};
	size_t n = 0;

	*dst = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words) && n < room; i++)
		if (wait->causes >> i & 1)
			n += (size_t)snprintf(dst + n, room - n, "%s%s", n ? ", " : "", words[i]);
}

void nvs_stall_others(const struct nvs_stalls *w, const struct nvs_stall *wait, char *dst,
		      size_t room)
{
	const struct nvs_sibling *s = wait->siblings;
	const struct api *api = s->calls ? nvs_number_get(&w->apis, s->api) : NULL;
	double of = wait->end > wait->begin ? (double)(wait->end - wait->begin) : 1;

	*dst = '\0';
	if (!api || (double)s->ticks / of < 0.1)
		return;
	if (s->calls > 1)
		snprintf(dst, room, "thread %u: %u calls of %.40s, %.0f %%", s->thread, s->calls,
			 nvs_call_name(api->entry), 100 * (double)s->ticks / of);
	else
		snprintf(dst, room, "thread %u: %.40s, %.0f %%", s->thread,
			 nvs_call_name(api->entry), 100 * (double)s->ticks / of);
}
