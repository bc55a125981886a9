/* SPDX-License-Identifier: MIT */
/* Findings of the summary. Each function writes a sentence if it applies, else nothing. Thresholds
 * are next to their finding, and chosen so that ordinary programs have none. */
#include <string.h>
#include "decode/analysis/api_stats.h"
#include "decode/cli/sentence.h"
#include "decode/query/api_names.h"
#include "decode/query/durations.h"
#include "decode/report/summary/internal.h"
#include "decode/analysis/memory_accesses.h"
#include "decode/analysis/races.h"

static void find_problems(struct nvs_sentence *t)
{
	const struct nvs_session *s = nvs_summary_session(t->story);
	uint64_t problems = nvs_trace_problems(t->story->source->trace);

	if (!problems)
		return;
	fprintf(t->f, "The trace is NOT whole: %s", NVS_COUNT(problems, "problem", "problems"));
	if (s->counts.gaps)
		fprintf(t->f, ", %s", NVS_COUNT(s->counts.gaps, "gap", "gaps"));
	if (s->counts.lost_submissions)
		fprintf(t->f, ", %s",
			NVS_COUNT(s->counts.lost_submissions, "submission lost",
				  "submissions lost"));
	fputc('.', t->f);
	fputs("--verify", t->more);
}

/* FORMAT takes the driver's release. */
static void write_driver(struct nvs_sentence *t, const char *format)
{
	const char *release = nvs_summary_session(t->story)->attr[NVS_ATTR_DRIVER];

	fprintf(t->f, format, NVS_TEXT(release ? release : "-", 64));
	fputs("--verify", t->more);
}

static void find_newer_driver(struct nvs_sentence *t)
{
	if (nvs_summary_session(t->story)->newer_driver)
		write_driver(t, "Driver release %s is newer than any that the recording nvsnoop "
				"knew.");
}

static void find_unknown_form(struct nvs_sentence *t)
{
	if (nvs_summary_session(t->story)->unknown_form)
		write_driver(t, "Calls to the driver (release %s) had an unknown form; what they "
				"created is missing.");
}

static void find_fault(struct nvs_sentence *t)
{
	if (!t->story->causes || !t->story->causes->fault)
		return;
	fputs(t->story->causes->fault, t->f);
	fputs("--fault", t->more);
}

static void find_in_flight(struct nvs_sentence *t)
{
	bool running = nvs_summary_session(t->story)->end == NVS_END_RUNNING;
	const char *hang = t->story->causes ? t->story->causes->hang : NULL;
	const struct nvs_inflight *f;
	int64_t ns, begin;
	uint32_t n;

	f = nvs_open_call(t->story->source->trace, &n, &ns);
	if (!f)
		return;
	fprintf(t->f,
		running ? "Thread %u has been in %s" : "When it ended, thread %u had been in %s",
		f->thread, NVS_TEXT(*f->api ? f->api : "[unknown]", 64));
	if (ns >= 0) {
		fprintf(t->f, " for %s", NVS_DURATION(ns));
		nvs_summary_print_share(t, (uint64_t)ns);
	}
	if (nvs_clock_since_start(t->story->source->trace, f->begin, &begin) && begin > 0)
		fprintf(t->f, ", since %s after the start", NVS_DURATION(begin));
	fputs(hang ? hang : ".", t->f);
	if (n > 1)
		fprintf(t->f, " %s had not returned.", NVS_COUNT(n - 1, "more call", "more calls"));
	fputs("--hang", t->more);
}

/* Errors that answer a query or mean "already done": programs and libraries expect them. At exit
 * the CUDA runtime also tears down what the driver has torn down before. */
static bool is_answer(const struct nvs_api_error *e)
{
	switch (e->result) {
	case 4: /* DEINITIALIZED */
	case 500: /* NOT_FOUND */
		return nvs_facts_is_setup(e->entry);
	case 600: /* NOT_READY */
	case 704: /* PEER_ACCESS_ALREADY_ENABLED */
	case 708: /* PRIMARY_CONTEXT_ACTIVE */
	case 712: /* HOST_MEMORY_ALREADY_REGISTERED */
		return true;
	default:
		return false;
	}
}

#define MOST_NAMED 3 /* kinds of failures */

/* Puts E into the list of the most frequent ones, of equally frequent ones the first. */
static void rank_failure(const struct nvs_api_error *most[MOST_NAMED],
			 const struct nvs_api_error *e)
{
	int at = MOST_NAMED;

	for (; at && (!most[at - 1] || most[at - 1]->count < e->count ||
		      (most[at - 1]->count == e->count && most[at - 1]->first > e->first));
	     at--)
		if (at < MOST_NAMED)
			most[at] = most[at - 1];
	if (at < MOST_NAMED)
		most[at] = e;
}

static void find_failures(struct nvs_sentence *t)
{
	const struct nvs_session_stats *f = t->story->facts;
	const struct nvs_api_error *most[MOST_NAMED] = {NULL};
	uint64_t failed = 0, named = 0;

	for (size_t i = 0; i < f->apis.rows.n; i++) {
		const struct nvs_api_calls *a = f->apis.rows.row[i];

		failed += a->others;
		for (uint32_t k = 0; k < a->nerrors; k++) {
			if (is_answer(a->error + k))
				continue;
			failed += a->error[k].count;
			rank_failure(most, a->error + k);
		}
	}
	if (!failed)
		return;
	fputs(NVS_COUNT(failed, "call failed", "calls failed"), t->f);
	for (int i = 0; i < MOST_NAMED && most[i]; i++) {
		const char *name = nvs_call_error(most[i]->result);

		fprintf(t->f, "%s%s with ", i ? ", " : ": ",
			NVS_TEXT(nvs_call_name(most[i]->entry), 64));
		if (name)
			fputs(name, t->f);
		else
			fprintf(t->f, "error %u", most[i]->result);
		if (most[i]->count > 1)
			fprintf(t->f, " (%s)", NVS_COUNT(most[i]->count, "time", "times"));
		named += most[i]->count;
	}
	fputs(named < failed ? ", and others." : ".", t->f);
	fputs("--by-api -s failed", t->more);
}

static void print_race_side(FILE *f, const struct nvs_summary_input *story,
			    const struct nvs_race_side *side)
{
	const struct nvs_callsite *site = nvs_trace_callsite(story->source->trace,
							     side->site->key.stack);

	fputs(NVS_TEXT(nvs_call_name(side->site->key.api), 64), f);
	if (*site->site) {
		fputs(" in ", f);
		fputs(NVS_TEXT(site->site, 64), f);
	}
}

static void find_races(struct nvs_sentence *t)
{
	const struct nvs_races *races = t->story->causes ? &t->story->causes->races : NULL;
	const struct nvs_race *race = NULL;
	uint64_t n = races ? races->found[NVS_RACE_CERTAIN] : 0;

	for (size_t i = 0; n && !race; i++)
		if (((const struct nvs_race *)races->races.row[i])->level == NVS_RACE_CERTAIN)
			race = races->races.row[i];
	if (!race)
		return;
	fputs(NVS_COUNT(n, "pair", "pairs"), t->f);
	fputs(n == 1 ? " of call sites uses" : " of call sites use", t->f);
	fputs(" the same memory in different streams that nothing orders: ", t->f);
	print_race_side(t->f, t->story, &race->first);
	fputs(" and ", t->f);
	print_race_side(t->f, t->story, &race->second);
	fputs(n == 1 ? "." : ", and others.", t->f);
	fputs("--races", t->more);
}

#define MADE_AGAIN 10u /* graphs: fewer are not reported */

/* Instantiating a graph costs as much as many launches of it, so it should be launched often. */
static void find_graphs(struct nvs_sentence *t)
{
	const struct nvs_session_stats *f = t->story->facts;

	if (f->instantiated < MADE_AGAIN || f->graph_launches > 2 * f->instantiated)
		return;
	t->ns = f->instantiating.ns;
	fprintf(t->f,
		"Graphs were instantiated %s and launched %s; instantiating them took %s (%s of "
		"the time in calls). Keep an executable graph to launch it again, or update it "
		"with cuGraphExecUpdate.",
		NVS_COUNT(f->instantiated, "time", "times"),
		NVS_COUNT(f->graph_launches, "time", "times"), NVS_DURATION(f->instantiating.ns),
		NVS_PERCENT(f->instantiating.ns, nvs_facts_all_ns(f)));
	fputs("--graphs", t->more);
}

/* If --api selects by callers of the entry point, adding its name would select more. */
static void show_longest(struct nvs_sentence *t, const struct nvs_session_api_stats *a)
{
	fputs("--timeline", t->more);
	t->names_api = nvs_filter_api(t->story->source, a->api.entry->name, 0);
	if (t->names_api) {
		fputs(" --api=", t->more);
		nvs_print_option_value(t->more, a->api.entry->name);
	}
	fputs(" -s host_us -n 5", t->more);
}

#define LOADED_NS 10000000 /* ns: less is not reported */

/* Reported from 20 % of the time in launches and 10 ms. */
static void find_loading(struct nvs_sentence *t)
{
	const struct nvs_session_api_stats *most = NULL;
	const struct nvs_session_stats *f = t->story->facts;

	for (size_t i = 0; i < f->apis.rows.n; i++) {
		const struct nvs_session_api_stats *a = f->apis.rows.row[i];

		if (!most || a->loading.total.ns > most->loading.total.ns)
			most = a;
	}
	if (!most || most->loading.total.ns < LOADED_NS ||
	    most->loading.total.ns * 5 < nvs_facts_ns(most))
		return;
	t->ns = most->loading.total.ns;
	fprintf(t->f,
		"%s of %s loaded the kernel's code first, which took %s (%s of its time). "
		"CUDA_MODULE_LOADING=EAGER would load all code at the start.",
		NVS_COUNT(most->loading.total.count, "call", "calls"),
		NVS_TEXT(nvs_call_name(most->api.entry), 64), NVS_DURATION(most->loading.total.ns),
		NVS_PERCENT(most->loading.total.ns, nvs_facts_ns(most)));
	show_longest(t, most);
}

#define MANY_CALLS 20u /* fewer calls have no usual time */
#define TIMES_MEDIAN 100u
#define LONG_NS 5000000 /* ns: less may be scheduling */

/* The time of calls that wait, copy or set up depends on their work. */
static bool has_usual_time(const struct nvs_session_api_stats *a)
{
	switch (a->api.entry->group) {
	case NVS_CALL_GROUP_SYNC:
	case NVS_CALL_GROUP_COPY:
	case NVS_CALL_GROUP_MEMSET:
	case NVS_CALL_GROUP_GRAPH:
		return false;
	default:
		return !nvs_facts_is_setup(a->api.entry) && a->api.times.total.count >= MANY_CALLS;
	}
}

/* Returns true if another finding is about the wait of the call that began at BEGIN. */
static bool is_explained(const struct nvs_summary_input *story, uint64_t begin,
			 const struct nvs_stall **stall)
{
	*stall = nvs_summary_stall(story, begin);
	return *stall && nvs_summary_stall_is_found(story, *stall);
}

/* A call that took 100 times the median of its API, 5 ms, and 1 % of the time in all calls. */
static void find_outlier(struct nvs_sentence *t)
{
	const struct nvs_session_stats *f = t->story->facts;
	const struct nvs_session_api_stats *most = NULL;
	const struct nvs_stall *stall;
	uint64_t median = 0;
	int64_t at;

	for (size_t i = 0; i < f->apis.rows.n; i++) {
		const struct nvs_session_api_stats *a = f->apis.rows.row[i];
		uint64_t usual = nvs_durations_quantile(&a->api.times, 0.5);

		if (!has_usual_time(a) || a->api.times.max < LONG_NS || !usual ||
		    a->api.times.max / TIMES_MEDIAN < usual ||
		    a->api.times.max * 100 < nvs_facts_all_ns(f) ||
		    (most && a->api.times.max <= most->api.times.max))
			continue;
		most = a;
		median = usual;
	}
	if (!most || is_explained(t->story, most->begin, &stall))
		return;
	t->ns = most->api.times.max;
	fprintf(t->f, "One call of %s took %s", NVS_TEXT(nvs_call_name(most->api.entry), 64),
		NVS_DURATION(most->api.times.max));
	nvs_summary_print_share(t, most->api.times.max);
	/* Quantiles are exact to 3 %. */
	fprintf(t->f, "; the median of %s is %s",
		NVS_COUNT(most->api.times.total.count, "call", "calls"), NVS_ROUGHLY(median));
	if (nvs_clock_since_start(t->story->source->trace, most->begin, &at) && at > 0)
		fprintf(t->f, ". It began %s after the start", NVS_DURATION(at));
	fputc('.', t->f);
	if (stall && stall->causes & NVS_STALL_MODULE)
		fputs(" Code was loaded during it.", t->f);
	show_longest(t, most);
}

#define WAITED_NS 1000000

/* Reported from 5 % of the run and a millisecond. */
static void find_waits(struct nvs_sentence *t)
{
	const struct nvs_session *s = nvs_summary_session(t->story);
	int64_t ran;

	if (!s->has_totals || s->totals.wait_ns < WAITED_NS ||
	    !nvs_summary_run_time(t->story, &ran) || s->totals.wait_ns < (uint64_t)ran / 20)
		return;
	t->ns = s->totals.wait_ns;
	fprintf(t->f,
		"The program waited %s for nvsnoop to write the trace, %s. Recording with "
		"--buffer=16M may reduce that.",
		NVS_DURATION(s->totals.wait_ns), NVS_COUNT(s->totals.waits, "time", "times"));
	fputs("--wide", t->more);
}

static void find_unwinder(struct nvs_sentence *t)
{
	const char *unwinder = nvs_summary_session(t->story)->attr[NVS_ATTR_UNWINDER];

	if (!unwinder || strcmp(unwinder, "backtrace"))
		return;
	fputs("Stacks were unwound by glibc's backtrace(), which is slower: nvsnoop found no "
	      "libunwind (libnvsnoop-unwind.so next to libnvsnoop.so).",
	      t->f);
}

static bool ranges_elsewhere(const struct nvs_summary_input *story)
{
	return nvs_summary_session(story)->attr[NVS_ATTR_NVTX];
}

static void find_ranges_elsewhere(struct nvs_sentence *t)
{
	if (!ranges_elsewhere(t->story))
		return;
	fprintf(t->f,
		"NVTX ranges are not in the trace: NVTX_INJECTION64_PATH sent them to another "
		"tool, %s.",
		NVS_TEXT(nvs_summary_session(t->story)->attr[NVS_ATTR_NVTX], 200));
	fputs("--verify", t->more);
}

/* A program with ranges is worth a hint to --by-nvtx. */
static void find_ranges(struct nvs_sentence *t)
{
	if (!nvs_pass_has_record(t->story->source->first, NVS_REC_NVTX_BEGIN))
		return;
	fputs("The program marks parts of its run with NVTX ranges.", t->f);
	fputs("--by-nvtx", t->more);
}

static void find_remarks(struct nvs_sentence *t)
{
	const struct nvs_trace *trace = t->story->source->trace;
	const struct nvs_finding *f;
	uint64_t n = 0;

	for (uint32_t i = 0; (f = nvs_trace_finding(trace, i)); i++)
		n += f->kind == NVS_FINDING_REMARK;
	/* These have findings of their own, as calls in flight have. */
	n -= n && ranges_elsewhere(t->story);
	n -= n && nvs_summary_session(t->story)->newer_driver;
	n -= n && nvs_summary_session(t->story)->unknown_form;
	for (uint32_t i = 0; n && nvs_trace_inflight(trace, i); i++)
		n--;
	if (!n)
		return;
	fprintf(t->f, "There %s %s on what may be missing from the trace.", n == 1 ? "is" : "are",
		NVS_COUNT(n, "remark", "remarks"));
	fputs("--verify", t->more);
}

const struct nvs_summary_checks nvs_summary_check_list[] = {
	{"not_whole", find_problems, NVS_FINDING_FIRST},
	{"fault", find_fault, NVS_FINDING_FIRST},
	{"newer_driver", find_newer_driver, NVS_FINDING_FIRST},
	{"unknown_form", find_unknown_form, NVS_FINDING_FIRST},
	{"in_flight", find_in_flight, NVS_FINDING_FIRST},
	{"failures", find_failures, NVS_FINDING_FIRST},
	{"races", find_races, NVS_FINDING_FIRST},
	{"graphs_made_again", find_graphs, NVS_FINDING_BY_TIME},
	{"code_loaded", find_loading, NVS_FINDING_BY_TIME},
	{"ring_full", nvs_find_full_ring, NVS_FINDING_BY_TIME},
	{"driver_memory", nvs_find_driver_memory, NVS_FINDING_BY_TIME},
	{"driver_lock", nvs_find_driver_lock, NVS_FINDING_BY_TIME},
	{"long_call", find_outlier, NVS_FINDING_BY_TIME},
	{"outside_calls", nvs_find_outside, NVS_FINDING_BY_TIME},
	{"gpu_idle", nvs_find_gpu_idle, NVS_FINDING_BY_TIME},
	{"pageable_copies", nvs_find_pageable, NVS_FINDING_BY_TIME},
	{"small_copies", nvs_find_small_copies, NVS_FINDING_BY_TIME},
	{"waited_for_writer", find_waits, NVS_FINDING_BY_TIME},
	{"memory_held", nvs_find_memory_held, NVS_FINDING_LAST},
	{"no_libunwind", find_unwinder, NVS_FINDING_LAST},
	{"ranges_elsewhere", find_ranges_elsewhere, NVS_FINDING_LAST},
	{"ranges", find_ranges, NVS_FINDING_LAST},
	{"remarks", find_remarks, NVS_FINDING_LAST},
	{NULL},
};
