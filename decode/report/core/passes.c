/* SPDX-License-Identifier: MIT */
/* Reads the traces for all reports together. The first pass serves reports that need no names or
 * clock while they read; a second pass, if any report needs it, has them. A report that prints
 * while it reads makes its own pass. Called by main(). */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "decode/calls/progress_check.h"
#include "decode/calls/bracket_times.h"
#include "decode/analysis/submission_stats.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/query/durations.h"
#include "decode/analysis/gpu_work.h"
#include "decode/report/core/report.h"

/* ---- readers shared by reports ---- */

static int on_clock(void *arg, const struct nvs_rec *rec)
{
	return rec->type == NVS_REC_CLOCK ? nvs_pending_durations_resolve(arg, rec->time) : 0;
}

/* Names for filters are known in the second pass only; reports that need more than the first bit
 * read there. */
static unsigned select_submission(const void *source, const struct nvs_submission *s,
				  const struct nvs_call *call)
{
	const struct nvs_source *src = source;
	bool named = src->second || !nvs_filter_by_name(src->query);

	return (nvs_filter_around(src, s) ? NVS_SELECTS_CALL : 0) |
	       (named && nvs_filter_selects(src, s, call) ? NVS_SELECTS_ITSELF : 0);
}

static int on_nvtx(void *arg, const struct nvs_rec *rec)
{
	return nvs_nvtx_record(((struct nvs_source *)arg)->nvtx, rec);
}

/* ---- one pass ---- */

/* Restores the ranges of the pass for all reports, if there was one: they have the counts. */
static void drop_nvtx(struct nvs_source *s)
{
	if (s->nvtx != s->counted)
		nvs_nvtx_free(s->nvtx);
	s->nvtx = s->counted;
}

/* Added first, so that the other readers see the open ranges. */
static int begin_nvtx(struct nvs_source *s, struct nvs_pass *reading)
{
	struct nvs_pass_reader reader = {.record = on_nvtx, .arg = s};

	if (!(s->later & NVS_NEED_NVTX) && !s->query->nvtx.n)
		return 0;
	drop_nvtx(s);
	s->nvtx = nvs_nvtx_new(s->query);
	return s->nvtx ? nvs_pass_add(reading, &reader) : -ENOMEM;
}

static int begin_waiting(struct nvs_source *s, struct nvs_pass *reading)
{
	struct nvs_pass_reader reader = {.record = on_clock};

	s->waiting = nvs_pending_durations_new(s->trace);
	reader.arg = s->waiting;
	return s->waiting ? nvs_pass_add(reading, &reader) : -ENOMEM;
}

/* A pass resets findings and counts, so each pass has to collect them again. */
static int begin_witness(struct nvs_source *s, struct nvs_pass *reading,
			 struct nvs_progress_check **progress)
{
	struct nvs_pass_reader reader = {.op = nvs_progress_check_op,
					 .record = nvs_progress_check_record};

	if (s->later & (NVS_NEED_WHOLE | NVS_NEED_CONTINUITY))
		nvs_pass_read_all(reading);
	if (!(s->later & NVS_NEED_CONTINUITY))
		return 0;
	reader.arg = *progress = nvs_progress_check_new(s->trace);
	return reader.arg ? nvs_pass_add(reading, &reader) : -ENOMEM;
}

static int run_reading(struct nvs_source *s, struct nvs_pass *reading)
{
	struct nvs_error err = {""};
	struct nvs_progress_check *progress = NULL;
	int r;

	if (nvs_filter_is_set(s->query))
		nvs_pass_select(reading, select_submission, s);
	r = begin_witness(s, reading, &progress);
	if (!r)
		r = nvs_pass_run(reading, &err);
	nvs_progress_clear();
	if (!r && s->waiting)
		r = nvs_pending_durations_resolve(s->waiting, UINT64_MAX);
	if (r && *err.text)
		fprintf(stderr, "nvsnoop-report: %s\n", err.text);
	if (r && s->cells && s->cells->full)
		fprintf(stderr, "nvsnoop-report: %s: too many call sites\n", s->path);
	nvs_progress_check_free(progress);
	nvs_pending_durations_free(s->waiting);
	s->waiting = NULL;
	return r;
}

static int read_source(struct nvs_source *s, const struct nvs_pass_reader *reader)
{
	int r;

	nvs_source_read_end(s);
	s->separate = nvs_pass_new(s->trace);
	r = s->separate ? begin_nvtx(s, s->separate) : -ENOMEM;
	if (!r)
		r = nvs_pass_add(s->separate, reader);
	if (!r)
		r = run_reading(s, s->separate);
	if (!reader->handles)
		nvs_source_read_end(s);
	return r;
}

int nvs_run_each(struct nvs_run *run, int (*one)(struct nvs_run *run, struct nvs_source *s))
{
	int r = 0;

	for (uint32_t i = 0; i < run->n && !r; i++)
		r = one(run, run->sources + i);
	return r;
}

/* ---- all reports of a pass ---- */

static void *state_of(const struct nvs_run *run, const struct nvs_source *s)
{
	return (char *)run->each + s->index * run->report->each;
}

static int begin_run(struct nvs_run *run, struct nvs_source *s, struct nvs_pass *reading)
{
	struct nvs_pass_reader reader = {.arg = state_of(run, s)};
	int r = run->report->begin(run, s, reader.arg, &reader);

	return r ? r : nvs_pass_add(reading, &reader);
}

static int end_run(struct nvs_run *run, struct nvs_source *s, const struct nvs_pass *reading)
{
	bool never_on = nvs_trace_never_on(s->trace);

	if (run->report->needs & NVS_NEED_CALLS &&
	    (never_on || !nvs_pass_has_record(reading, NVS_REC_API))) {
		__atomic_store_n(&run->said, true, __ATOMIC_RELAXED);
		if (!run->options->page && !s->no_calls)
			fprintf(stderr, "nvsnoop-report: %s: has no API calls (%s)\n", s->path,
				never_on ? "recording was never switched on"
					 : "recorded with api=off, or by an older nvsnoop");
		s->no_calls = true;
	}
	return run->report->end ? run->report->end(run, s, state_of(run, s)) : 0;
}

static int begin_cells(struct nvs_source *s, struct nvs_pass *reading)
{
	struct nvs_pass_reader reader;

	s->cells = nvs_submission_groups_new(s, &reader);
	return s->cells ? nvs_pass_add(reading, &reader) : -ENOMEM;
}

/* Brackets are collected in the first pass, for readers of the second. */
static int begin_timing(struct nvs_source *s, struct nvs_pass *reading)
{
	const char *options = nvs_trace_session(s->trace)->attr[NVS_ATTR_OPTIONS];
	struct nvs_pass_reader reader = {.record = nvs_bracket_times_record};

	/* Commands are decoded for it only if there may be brackets. */
	if (!options || strstr(options, "timing=work") || strstr(options, "timing=sample"))
		reader.op = nvs_bracket_times_op;
	reader.arg = s->timing = nvs_bracket_times_new();
	return s->timing ? nvs_pass_add(reading, &reader) : -ENOMEM;
}

static bool reads_in_pass(const struct nvs_run *run, bool second)
{
	return run->report->begin && run->second == second;
}

/* Runs the first or the second pass over S, for the reports that read in it. */
static int run_pass(struct nvs_run *runs, struct nvs_source *s, bool second)
{
	const struct nvs_options_report *o = runs->options;
	struct nvs_pass *reading = nvs_pass_new(s->trace);
	int r = reading ? begin_waiting(s, reading) : -ENOMEM;

	*(second ? &s->second : &s->first) = reading;
	if (!r)
		r = begin_nvtx(s, reading);
	if (!r && !second && s->later & NVS_NEED_CELLS)
		r = begin_cells(s, reading);
	if (!r && !second && s->later & NVS_NEED_TIMING)
		r = begin_timing(s, reading);
	for (uint32_t i = 0; i < o->nreports && !r; i++)
		if (reads_in_pass(runs + i, second))
			r = begin_run(runs + i, s, reading);
	if (!r)
		r = run_reading(s, reading);
	if (!r && !second && s->timing)
		r = nvs_bracket_times_finish(s->timing, s->trace);
	for (uint32_t i = 0; i < o->nreports && !r; i++)
		if (reads_in_pass(runs + i, second))
			r = end_run(runs + i, s, reading);
	return r;
}

/* ---- from the command line to the output ---- */

static int open_source(struct nvs_source *s, const struct nvs_options_report *o, uint32_t index,
		       bool progress)
{
	struct nvs_read_options read = o->read;
	struct nvs_error err = {""};
	int r;

	s->index = index;
	s->path = o->files[index];
	s->query = &o->query;
	s->read = read_source;
	read.size = sizeof(read);
	if (progress) {
		read.progress = nvs_progress_print;
		read.progress_arg = (void *)s->path;
	}
	r = nvs_trace_open(&s->trace, s->path, &read, &err);
	if (r)
		fprintf(stderr, "nvsnoop-report: %s\n", *err.text ? err.text : strerror(-r));
	return r;
}

static int make_run(struct nvs_run *run, const struct nvs_report *report,
		    struct nvs_source *sources, const struct nvs_options_report *o)
{
	run->report = report;
	run->options = o;
	run->sources = sources;
	run->n = report->needs & NVS_NEED_TRACE ? (uint32_t)o->nfiles : 0;
	run->second = report->needs & (NVS_NEED_NAMES | NVS_NEED_TIMING) ||
		      (o->more_of == report && report->option->timed) ||
		      (report->needs & NVS_NEED_FILTERS && nvs_filter_by_name(&o->query));
	if (run->n > 1)
		nvs_budget_grant((int64_t)(run->n * report->each));
	run->state = calloc(1, report->state + 1);
	run->each = calloc(run->n + 1ul, report->each + 1);
	return run->state && run->each ? 0 : -ENOMEM;
}

/* A pass that reads the clock and the length of the trace. */
static int run_range_pass(struct nvs_source *s)
{
	const struct nvs_pass_reader nobody = {NULL};
	int r = nvs_range_check(s);

	if (!r)
		r = nvs_source_read(s, &nobody);
	if (!r)
		nvs_range_resolve(s);
	return r;
}

struct crew {
	struct nvs_run *runs;
	struct nvs_source *sources;
	const struct nvs_options_report *o;
	uint32_t needs, n, next;
	bool second; /* a second pass follows */
	int status;
};

static int read_first(struct crew *c, uint32_t i)
{
	int r = 0;

	if (nvs_range_is_time(&c->o->query))
		r = run_range_pass(c->sources + i);
	/* The second pass collects continuity findings: the first need not. */
	c->sources[i].later = c->second ? c->needs & ~NVS_NEED_CONTINUITY : c->needs;
	return r ? r : run_pass(c->runs, c->sources + i, false);
}

static void *read_traces(void *arg)
{
	struct crew *c = arg;
	uint32_t i;
	int r;

	while (!__atomic_load_n(&c->status, __ATOMIC_RELAXED) &&
	       (i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n) {
		r = read_first(c, i);
		if (r)
			__atomic_store_n(&c->status, r, __ATOMIC_RELAXED);
	}
	return NULL;
}

#define MOST_THREADS 64

static uint32_t count_threads(uint32_t needs, uint32_t traces)
{
	uint32_t most = 1;
	cpu_set_t cores;

	if (needs & NVS_NEED_APART && !sched_getaffinity(0, sizeof(cores), &cores))
		most = (uint32_t)CPU_COUNT(&cores);
	most = most < MOST_THREADS ? most : MOST_THREADS;
	return most < traces ? most : traces;
}

/* Reads all traces, in parallel if the reports allow it and threads can be created. */
static int read_all(struct crew *c)
{
	pthread_t threads[MOST_THREADS];
	uint32_t most = count_threads(c->needs, c->n), n = 0;

	while (n + 1 < most && !pthread_create(threads + n, NULL, read_traces, c))
		n++;
	read_traces(c);
	while (n)
		pthread_join(threads[--n], NULL);
	return c->status;
}

#define OTHER_FILES 256 /* parts of a trace, its spool, files of an export */

/* All traces stay open at once. */
static void allow_files(int n)
{
	struct rlimit limit;
	rlim_t want = (rlim_t)n + OTHER_FILES;

	if (n < 2 || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= want)
		return;
	limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Returns 0, or -EPERM after a message. */
static int refuse_sample(const struct nvs_options_report *o, const char *path)
{
	for (uint32_t i = 0; i < o->nreports; i++)
		if (o->reports[i]->needs & NVS_NEED_ALL_TIMES) {
			fprintf(stderr,
				"nvsnoop-report: %s: --%s needs the times of all submissions, and "
				"this trace has those of a sample; use nvsnoop --timing=work\n",
				path, o->reports[i]->name);
			return -EPERM;
		}
	return 0;
}

int nvs_runs_open(struct nvs_run *runs, struct nvs_source *sources,
		  const struct nvs_options_report *o)
{
	struct crew crew = {.runs = runs, .sources = sources, .o = o};
	uint32_t needs = 0, apart = NVS_NEED_APART, all = 0;
	bool second = false, timed = false;
	int r = 0;

	allow_files(o->nfiles);
	for (uint32_t i = 0; i < o->nreports; i++)
		all |= o->reports[i]->needs;
	for (uint32_t i = 0; all & NVS_NEED_TRACE && i < (uint32_t)o->nfiles && !r; i++) {
		r = open_source(sources + i, o, i,
				o->progress && count_threads(all, (uint32_t)o->nfiles) < 2);
		timed |= !r && nvs_trace_is_timed(sources + i);
		if (!r && nvs_trace_is_sampled(sources + i))
			r = refuse_sample(o, sources[i].path);
	}
	for (uint32_t i = 0; i < o->nreports && !r; i++) {
		r = make_run(runs + i, o->reports[i], sources, o);
		if (timed && o->reports[i]->needs & NVS_NEED_TIMED) {
			runs[i].second = true;
			needs |= NVS_NEED_TIMING;
		}
		needs |= o->reports[i]->needs;
		/* A report of the second pass does not hinder a parallel first pass. */
		apart &= runs[i].second ? NVS_NEED_APART : o->reports[i]->needs;
		second |= reads_in_pass(runs + i, true);
	}
	/* Ranges and their counts are those of the latest pass: their reports read in it. */
	for (uint32_t i = 0; i < o->nreports && second && !r; i++)
		runs[i].second |= (runs[i].report->needs & NVS_NEED_NVTX) != 0;
	crew.needs = (needs & ~NVS_NEED_APART) | apart;
	crew.n = runs->n;
	crew.second = second;
	if (!r)
		r = read_all(&crew);
	for (uint32_t i = 0; i < runs->n && second && !r; i++) {
		sources[i].later = needs;
		r = run_pass(runs, sources + i, true);
	}
	for (uint32_t i = 0; i < runs->n; i++)
		sources[i].counted = sources[i].nvtx;
	return r;
}

int nvs_run_print(struct nvs_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		drop_nvtx(run->sources + i);
	return run->report->print(run);
}

/* Heading of one of several reports. */
static void print_head(struct nvs_out *out, const struct nvs_run *run, bool first)
{
	fprintf(out->file, "%s%s== %s ==%s\n", first ? "" : "\n",
		nvs_out_style(out, NVS_STYLE_HEAD), run->report->name,
		nvs_out_style(out, NVS_STYLE_PLAIN));
}

int nvs_runs_print(struct nvs_run *runs, struct nvs_out *out, const struct nvs_options_report *o,
		   int *verdict)
{
	uint32_t n = o->reports[0]->parts ? 1 : o->nreports;
	int r = 0;

	out->lines = n > 1;
	for (uint32_t i = 0; i < n && !r; i++) {
		uint64_t told = out->told;
		uint32_t later = 0;

		for (uint32_t k = i + 1; k < n; k++)
			later |= o->reports[k]->needs;
		for (uint32_t k = 0; k < runs->n; k++)
			runs->sources[k].later = later;
		if (n > 1 && o->print.format == NVS_FORMAT_TEXT)
			print_head(out, runs + i, !i);
		runs[i].out = out;
		r = nvs_run_print(runs + i);
		runs[i].nothing = runs[i].n && !runs[i].report->verdict && out->told == told;
		if (runs[i].verdict)
			*verdict = runs[i].verdict;
	}
	return r;
}

static void close_source(struct nvs_source *s)
{
	nvs_submission_groups_free(s->cells);
	nvs_pass_free(s->first);
	nvs_pass_free(s->second);
	nvs_source_read_end(s);
	drop_nvtx(s);
	nvs_nvtx_free(s->counted);
	nvs_bracket_times_free(s->timing);
	nvs_pending_durations_free(s->waiting);
	nvs_trace_close(s->trace);
}

void nvs_runs_free(struct nvs_run *runs, struct nvs_source *sources,
		   const struct nvs_options_report *o)
{
	for (uint32_t i = 0; i < o->nreports; i++) {
		if (runs[i].report && runs[i].state && runs[i].each && runs[i].report->free)
			runs[i].report->free(runs + i);
		free(runs[i].state);
		free(runs[i].each);
	}
	for (uint32_t i = 0; i < (uint32_t)o->nfiles; i++)
		close_source(sources + i);
}
