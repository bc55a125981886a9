/* SPDX-License-Identifier: MIT */
/* The summary's findings on waits in the driver, time outside of calls, copies, memory and the GPU:
 * see causes.h. Thresholds are next to their finding, as in findings.c. */
#include <string.h>
#include "decode/cli/sentence.h"
#include "decode/query/selection.h"
#include "decode/report/summary/internal.h"

/* NS is at least LEAST and a PART-th of the run. */
static bool is_long(const struct nvs_summary_input *story, uint64_t ns, uint64_t least,
		    uint64_t part)
{
	int64_t ran;

	return ns >= least && nvs_summary_run_time(story, &ran) && ns >= (uint64_t)ran / part;
}

#define AROUND_US 50

/* A command for the time from FROM to TO, ns since the start, and some calls around it. */
static void show_range(struct nvs_sentence *t, int64_t from, int64_t to)
{
	int64_t first = from / 1000 - AROUND_US, last = to / 1000 + AROUND_US;

	/* A second range would not be understood. */
	if (nvs_filter_is_set(t->story->source->query))
		return;
	first = first > 0 ? first : 0;
	fprintf(t->more, "--timeline --range=%lld.%06llds-%lld.%06llds", (long long)first / 1000000,
		(long long)first % 1000000, (long long)last / 1000000, (long long)last % 1000000);
}

/* ---- calls that waited ---- */

#define WAITED_NS 1000000 /* ns: less is not reported */

enum cause { FULL, LOADED, ALLOCATED, LOCKED, CAUSES };

/* The cause that is reported of a wait; CAUSES: none. */
static enum cause cause_of(const struct nvs_stall *w)
{
	if (w->causes & (NVS_STALL_RING | NVS_STALL_PUSHBUFFER))
		return FULL;
	if (w->causes & NVS_STALL_MODULE)
		return LOADED;
	if (w->causes & NVS_STALL_MEMORY)
		return ALLOCATED;
	return w->causes & NVS_STALL_OTHERS ? LOCKED : CAUSES;
}

struct waits {
	uint64_t n, ns;
	const struct nvs_stall *longest;
};

/* Returns true if the waits with this cause are long enough. */
static bool find_waits_of(const struct nvs_summary_input *story, enum cause cause,
			  struct waits *waits)
{
	const struct nvs_stalls *stalls = story->causes ? &story->causes->stalls : NULL;

	*waits = (struct waits){0};
	for (size_t i = 0; stalls && i < stalls->n; i++) {
		const struct nvs_stall *w = stalls->wait + i;

		if (cause_of(w) != cause)
			continue;
		waits->n++;
		waits->ns += w->ns;
		waits->longest = waits->longest && waits->longest->ns >= w->ns ? waits->longest : w;
	}
	return is_long(story, waits->ns, WAITED_NS, NVS_CAUSE_PART);
}

static void write_waits(struct nvs_sentence *t, enum cause cause, const char *why)
{
	char others[96] = "";
	const char *api;
	struct waits waits;

	if (!find_waits_of(t->story, cause, &waits))
		return;
	t->ns = waits.ns;
	api = NVS_TEXT(nvs_call_name(waits.longest->api), 64);
	fprintf(t->f, "%s%s waited %s", NVS_COUNT(waits.n, "call of ", "calls"),
		waits.n == 1 ? api : "", NVS_DURATION(waits.ns));
	nvs_summary_print_share(t, waits.ns);
	fprintf(t->f, " %s", why);
	if (waits.n > 1)
		fprintf(t->f, "; the longest, of %s, took %s", api,
			NVS_DURATION(waits.longest->ns));
	if (cause == LOCKED)
		nvs_stall_others(&t->story->causes->stalls, waits.longest, others, sizeof(others));
	if (*others)
		fprintf(t->f, " (%s)", NVS_TEXT(others, sizeof(others)));
	fputc('.', t->f);
	fputs("--ring", t->more);
}

void nvs_find_full_ring(struct nvs_sentence *t)
{
	write_waits(t, FULL, "because a ring or pushbuffer was full");
}

void nvs_find_driver_memory(struct nvs_sentence *t)
{
	write_waits(t, ALLOCATED, "because the driver allocated memory");
}

void nvs_find_driver_lock(struct nvs_sentence *t)
{
	write_waits(t, LOCKED, "for another thread in the driver");
}

const struct nvs_stall *nvs_summary_stall(const struct nvs_summary_input *story, uint64_t begin)
{
	const struct nvs_stalls *stalls = story->causes ? &story->causes->stalls : NULL;

	for (size_t i = 0; stalls && i < stalls->n; i++)
		if (stalls->wait[i].begin == begin)
			return stalls->wait + i;
	return NULL;
}

bool nvs_summary_stall_is_found(const struct nvs_summary_input *story,
				const struct nvs_stall *stall)
{
	enum cause cause = cause_of(stall);
	struct waits waits;

	return cause != CAUSES && cause != LOADED && find_waits_of(story, cause, &waits);
}

/* ---- time outside of calls ---- */

#define OUTSIDE_NS 100000000 /* ns: less is not reported */
#define OUTSIDE_PART 5u
#define OUTSIDE_GAP 10u /* a part of that time: shorter gaps are not mentioned */

static void write_part(struct nvs_sentence *t, uint64_t ns, const char *where, bool *any)
{
	if (!ns)
		return;
	fprintf(t->f, "%s%s %s", *any ? ", " : ": ", NVS_DURATION(ns), where);
	*any = true;
}

/* Reported from a fifth of the run and 100 ms. */
void nvs_find_outside(struct nvs_sentence *t)
{
	const struct nvs_trace *trace = t->story->source->trace;
	struct nvs_covered_piece all;
	int64_t ran, first, last, from, to;
	uint64_t inside, between;
	bool any = false;

	if (!t->story->called || !t->story->causes || nvs_trace_part(trace) ||
	    nvs_filter_is_set(t->story->source->query) || !nvs_summary_run_time(t->story, &ran))
		return;
	all = nvs_covered_total(&t->story->causes->calls);
	if (!all.to || !nvs_clock_since_start(trace, all.from, &first) ||
	    !nvs_clock_since_start(trace, all.to, &last) || first < 0 || last > ran)
		return;
	/* Ticks are of equal length. */
	inside = (uint64_t)((double)all.covered * (double)(last - first) /
			    (double)(all.to - all.from));
	between = (uint64_t)(last - first) - inside;
	t->ns = (uint64_t)ran - inside;
	if (!is_long(t->story, t->ns, OUTSIDE_NS, OUTSIDE_PART))
		return;
	fprintf(t->f, "No thread was in a driver call for %s", NVS_DURATION(t->ns));
	nvs_summary_print_share(t, t->ns);
	write_part(t, (uint64_t)first, "before the first", &any);
	write_part(t, between, "between calls", &any);
	write_part(t, (uint64_t)(ran - last), "after the last", &any);
	fputc('.', t->f);
	if (!nvs_clock_since_start(trace, all.gap_from, &from) ||
	    !nvs_clock_since_start(trace, all.gap_to, &to))
		return;
	if ((uint64_t)(to - from) >= t->ns / OUTSIDE_GAP)
		fprintf(t->f,
			" The longest gap between calls took %s and began %s after the start.",
			NVS_DURATION(to - from), NVS_DURATION(from));
	show_range(t, to - from > first ? from : 0, to - from > first ? to : first);
}

/* ---- the GPU ---- */

static const struct nvs_gpu_use *gpu_use(const struct nvs_summary_input *story)
{
	const struct nvs_gpu_use *use = story->causes ? &story->causes->gpu : NULL;

	return use && use->span && !nvs_filter_is_set(story->source->query) ? use : NULL;
}

void nvs_write_gpu_time(struct nvs_sentence *t)
{
	const struct nvs_gpu_use *use = gpu_use(t->story);
	const char *name;

	if (!use)
		return;
	if (use->gpus > 1)
		fprintf(t->f, "GPU %u, the busiest of %u,", use->gpu, use->gpus);
	else
		fputs("The GPU", t->f);
	fprintf(t->f, " worked for %s (%s) of the %s from its first work to its last",
		NVS_DURATION(use->busy), NVS_PERCENT(use->busy, use->span),
		NVS_DURATION(use->span));
	name = use->longest ? nvs_work_list_name(t->story->causes->works, use->longest) : "";
	if (*name)
		fprintf(t->f, "; the longest launch, of %s, took %s", NVS_TEXT(name, 60),
			NVS_DURATION(use->longest->ns));
	fputc('.', t->f);
	fputs("--gpu-time --by=kernel", t->more);
}

#define IDLE_NS 100000 /* ns of the longest gap: less is not reported */
#define IDLE_PART 5u /* of the time from the first work to the last */

/* Reported from a fifth of that time. */
void nvs_find_gpu_idle(struct nvs_sentence *t)
{
	const struct nvs_gpu_use *use = gpu_use(t->story);
	uint64_t gap = use ? (uint64_t)(use->to - use->from) : 0;

	if (!use || gap < IDLE_NS || use->span - use->busy < use->span / IDLE_PART)
		return;
	t->ns = use->span - use->busy;
	fprintf(t->f,
		"The GPU was idle for %s between its first work and its last, longest for %s, "
		"from %s after the start",
		NVS_DURATION(t->ns), NVS_DURATION(gap), NVS_DURATION(use->from));
	if (use->outside > use->api_ns)
		fprintf(t->f, ". For %s of that gap no thread was in a driver call",
			NVS_DURATION(use->outside));
	else if (use->api_ns)
		fprintf(t->f, ". The host spent %s of that gap in %s", NVS_DURATION(use->api_ns),
			NVS_TEXT(use->api, sizeof(use->api)));
	fputc('.', t->f);
	show_range(t, use->from, use->to);
}

/* ---- copies ---- */

#define COPIED_NS 10000000 /* ns: less is not reported */
#define COPIED_PART 20u /* of the run */
#define LEAST_RATE 0.5 /* GB/s: slower copies mostly waited for earlier work */
#define MANY_COPIES 100u

/* Reported from 5 % of the run. */
void nvs_find_pageable(struct nvs_sentence *t)
{
	const struct nvs_copied *c = t->story->causes ? &t->story->causes->pageable : NULL;
	double rate = c && c->time.ns ? (double)c->bytes / (double)c->time.ns : 0;

	if (!c || rate < LEAST_RATE || !is_long(t->story, c->time.ns, COPIED_NS, COPIED_PART))
		return;
	t->ns = c->time.ns;
	fprintf(t->f, "%s between GPU and pageable memory took %s",
		NVS_COUNT(c->time.count, "copy", "copies"), NVS_DURATION(t->ns));
	nvs_summary_print_share(t, t->ns);
	fprintf(t->f, " for %s, %.2g" NVS_TIED "GB/s. Pinned memory (cuMemHostAlloc) is faster.",
		NVS_BYTES(c->bytes), rate);
	fputs("--memcpy", t->more);
}

/* Reported from 100 copies and 5 % of the run. */
void nvs_find_small_copies(struct nvs_sentence *t)
{
	const struct nvs_copied *c = t->story->causes ? &t->story->causes->small : NULL;

	if (!c || c->time.count < MANY_COPIES ||
	    !is_long(t->story, c->time.ns, COPIED_NS, COPIED_PART))
		return;
	t->ns = c->time.ns;
	fprintf(t->f, "%s to the GPU, %s on average, took %s",
		NVS_COUNT(c->time.count, "small copy", "small copies"),
		NVS_BYTES(c->bytes / c->time.count), NVS_DURATION(t->ns));
	nvs_summary_print_share(t, t->ns);
	fputs(". Fewer, larger copies would take less.", t->f);
	fputs("--memcpy", t->more);
}

/* ---- memory ---- */

#define HELD_BYTES 1000000 /* less is not reported */
#define HELD_GROWTH 4u /* a part of it that was allocated in the second half */
#define HELD_AGAIN 3u /* allocations of one call site */

static bool is_held(const struct nvs_alloc_group *g)
{
	return (g->key.what == NVS_ALLOC_UNFREED || g->key.what == NVS_ALLOC_ENDED) &&
	       g->key.kind < NVS_ALLOC_MANAGED;
}

/* Bytes on the GPU half of the time between the first allocation and the end. */
static uint64_t held_at_half(const struct nvs_alloc_series *s, uint64_t end)
{
	uint64_t half = s->width ? (end - s->first) / 2 / s->width : 0;

	return s->n ? s->live[half < s->n ? half : s->n - 1] : 0;
}

/* A program that keeps what it has allocated at its start, until it exits, is ordinary. */
void nvs_find_memory_held(struct nvs_sentence *t)
{
	const struct nvs_allocs *a = t->story->causes ? &t->story->causes->allocs : NULL;
	const struct nvs_alloc_group *most = NULL;
	uint64_t bytes = 0, n = 0, half;
	const char *site;

	if (!a || nvs_filter_is_set(t->story->source->query))
		return;
	for (size_t i = 0; i < a->groups.n; i++) {
		const struct nvs_alloc_group *g = a->groups.row[i];

		if (!is_held(g))
			continue;
		bytes += g->bytes;
		n += g->count;
		/* The calls before a trace on demand are not in it. */
		if (*g->key.api->name && (!most || g->bytes > most->bytes))
			most = g;
	}
	half = held_at_half(&a->series, nvs_summary_session(t->story)->last_time);
	if (bytes < HELD_BYTES || !most || most->count < HELD_AGAIN || bytes < half ||
	    bytes - half < bytes / HELD_GROWTH)
		return;
	fprintf(t->f,
		"%s of GPU memory, %s, were never freed, and memory in use kept growing. %s (%s) "
		"are from %s",
		NVS_COUNT(n, "allocation", "allocations"), NVS_BYTES(bytes),
		NVS_COUNT(most->count, "of them", "of them"), NVS_BYTES(most->bytes),
		NVS_TEXT(nvs_call_name(most->key.api), 64));
	site = nvs_trace_callsite(t->story->source->trace, most->key.stack)->site;
	if (*site)
		fprintf(t->f, " at %s", NVS_TEXT(site, 64));
	fputc('.', t->f);
	fputs("--memory", t->more);
}
