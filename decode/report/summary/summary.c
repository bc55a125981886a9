/* SPDX-License-Identifier: MIT */
/* The report without an option: what happened, in sentences, and the entry points that took the
 * host's time. With --wide, and as JSON or CSV, all counters of a trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/session_text.h"
#include "decode/report/summary/api_table.h"
#include "decode/report/by_api/by_api.h"
#include "decode/analysis/submission_stats.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/summary/sentences.h"
#include "decode/report/core/operation_columns.h"
#include "decode/report/core/report.h"

#define ROWS 10 /* of the table, without -n */

/* Collected of a trace. */
struct summary_trace {
	struct nvs_session_stats facts;
	struct nvs_causes causes;
};

struct summary_row {
	const struct nvs_source *source;
	const struct nvs_session *session;
	struct nvs_session_text about;
	uint64_t threads, channels;
	bool uncounted; /* level=counts: only SUBMISSIONS and BYTES are known */
	struct nvs_tally tally; /* of the selected submissions */
	uint64_t submissions, bytes; /* of the selected submissions */
	const struct nvs_session_stats *facts;
	const struct nvs_causes *causes;
	char *findings;
	bool called; /* the trace has calls */
};

#define SHARED_COLUMNS(COL) NVS_SOURCE_COLUMNS(COL, r->source) NVS_TALLY_COLUMNS(COL)
NVS_COLUMN_GETTERS(struct summary_row, SHARED_COLUMNS)

/* The recorder's own totals are in the last record of a trace, if it exited normally. */
#define COLUMNS(COL)                                                                           \
	COL(same, trace, "trace", 0, 0)                                                        \
	COL(text, program, "program", 0, 0, r->session->attr[NVS_ATTR_EXE])                    \
	COL(text, command, "command", 0, 0, r->about.command)                                  \
	COL(same, pid, "pid", 0, 0)                                                            \
	COL(same, host, "host", DETAIL, 0)                                                     \
	COL(text, os_release, "OS", DETAIL, 0, r->session->attr[NVS_ATTR_KERNEL])              \
	COL(text, cpu, "CPU", DETAIL, 0, r->session->attr[NVS_ATTR_CPU])                       \
	COL(text, machine, "host", TEXT, 0, r->about.host)                                     \
	COL(same, rank, "rank", DETAIL, 0)                                                     \
	COL(by, world_size, "world size", DETAIL, 0, nvs_source_number, r->source,             \
	    NVS_ATTR_WORLD_SIZE)                                                               \
	COL(by, local_rank, "local rank", DETAIL, 0, nvs_source_number, r->source,             \
	    NVS_ATTR_LOCAL_RANK)                                                               \
	COL(text, launcher, "launcher", DETAIL, 0, r->session->attr[NVS_ATTR_LAUNCHER])        \
	COL(text, job, "job", DETAIL, 0, r->session->attr[NVS_ATTR_JOB])                       \
	COL(text, place, "rank", TEXT, 0, r->about.rank)                                       \
	COL(text, gpus, "GPU", 0, 0, r->about.gpu)                                             \
	COL(text, gpu_uuids, "UUID", DETAIL, 0, r->about.uuid)                                 \
	COL(text, driver, "driver", 0, 0, r->session->attr[NVS_ATTR_DRIVER])                   \
	COL(text, options, "options", 0, 0, r->session->attr[NVS_ATTR_OPTIONS])                \
	COL(text, started, "started", 0, 0, r->about.started)                                  \
	COL(by, duration_ns, "seconds", 0, 0, nvs_source_time, r->source, true,                \
	    r->session->last_time)                                                             \
	COL(text, ended, "ended", 0, 0, r->about.ended)                                        \
	COL(text, recorded, "recorded", 0, 0, nvs_trace_part(r->source->trace))                \
	COL(text, whole, "whole", 0, 0, r->about.whole)                                        \
	COL(text, in_flight, "in flight", 0, 0, r->about.in_flight)                            \
	COL(known, threads, "threads", 0, 0, !r->uncounted, r->threads)                        \
	COL(count, channels, "channels", 0, 0, r->channels)                                    \
	COL(text, findings, "findings", 0, 0, r->findings)                                     \
	COL(known, calls, "calls", 0, 0, r->called, r->facts->calls)                           \
	COL(us, host_us_total, "host us", 0, 0, r->called, nvs_facts_all_ns(r->facts))         \
	COL(count, submissions, "submissions", 0, 0, nvs_session_submissions(r->session))      \
	COL(known, entries, "entries", 0, 0, !r->uncounted, r->session->counts.entries)        \
	COL(count, command_bytes, "command bytes", 0, 0, nvs_session_bytes(r->session))        \
	COL(text, operations, "operations", TEXT, 0,                                           \
	    r->tally.unseen ? "- (commands were not recorded: level)" : "")                    \
	COL(same, launches, "launches", IF_ANY, 0)                                             \
	COL(known, launch_submissions, "  submissions", IF_ANY, 0, !r->tally.unseen,           \
	    r->facts->launch_submissions)                                                      \
	COL(same, triggers, "triggers", IF_ANY, 0)                                             \
	COL(same, unknown_launches, "unknown", DETAIL, 0)                                      \
	COL(same, engine_copies, "engine copies", IF_ANY, 0)                                   \
	COL(same, engine_copy_bytes, "  bytes", IF_ANY, 0)                                     \
	COL(same, inline_copies, "inline copies", IF_ANY, 0)                                   \
	COL(same, inline_copy_bytes, "  bytes", IF_ANY, 0)                                     \
	COL(same, macro_copies, "macro copies", IF_ANY, 0)                                     \
	COL(same, macro_copy_bytes, "  bytes", IF_ANY, 0)                                      \
	COL(same, memsets, "memsets", IF_ANY, 0)                                               \
	COL(same, memset_bytes, "  bytes", IF_ANY, 0)                                          \
	COL(same, uploads, "uploads", IF_ANY, 0)                                               \
	COL(same, upload_bytes, "  bytes", IF_ANY, 0)                                          \
	COL(same, code_uploads, "code uploads", IF_ANY, 0)                                     \
	COL(same, code_upload_bytes, "  bytes", IF_ANY, 0)                                     \
	COL(same, releases, "releases", IF_ANY, 0)                                             \
	COL(same, acquires, "acquires", IF_ANY, 0)                                             \
	COL(known, fast, "without fault", IF_ANY, 0, r->session->has_totals,                   \
	    r->session->totals.fast)                                                           \
	COL(known, stepped, "stepped", IF_ANY, 0, r->session->has_totals,                      \
	    r->session->totals.stepped)                                                        \
	COL(count, skipped, "only counted", IF_ANY, 0, r->session->counts.skipped_submissions) \
	COL(known, buffer_waits, "buffer waits", IF_ANY, 0, r->session->has_totals,            \
	    r->session->totals.waits)                                                          \
	COL(ns, writer_cpu_ns, "writer CPU s", 0, 0,                                           \
	    r->session->has_totals && r->session->totals.writer_cpu_ns,                        \
	    (int64_t)r->session->totals.writer_cpu_ns)                                         \
	COL(count, gaps, "gaps", 0, 0, r->session->counts.gaps)                                \
	COL(count, lost_submissions, "lost", IF_ANY, 0, r->session->counts.lost_submissions)   \
	COL(count, orphans, "orphans", IF_ANY, 0, r->session->counts.orphans)                  \
	COL(count, problems, "problems", DETAIL, 0, nvs_trace_problems(r->source->trace))      \
	COL(count, file_bytes, "file bytes", 0, 0, r->session->file_bytes)
NVS_COLUMNS(columns, struct summary_row, COLUMNS)

static struct nvs_summary_input make_story(const struct summary_row *r)
{
	return (struct nvs_summary_input){
		.source = r->source,
		.facts = r->facts,
		.causes = r->causes,
		.command = r->about.command,
		.rank = r->about.rank,
		.tally = &r->tally,
		.submissions = r->submissions,
		.bytes = r->bytes,
		.uncounted = r->uncounted,
		.called = r->called,
	};
}

static void sum_cells(struct summary_row *r)
{
	const struct nvs_submission_group *cell;

	for (uint32_t at = 0; (cell = nvs_submission_groups_next(r->source, &at));) {
		nvs_tally_sum(&r->tally, &cell->tally);
		r->submissions += cell->submissions;
		r->bytes += cell->bytes;
	}
	if (nvs_filter_is_set(r->source->query))
		return;
	r->submissions = nvs_session_submissions(r->session);
	r->bytes = nvs_session_bytes(r->session);
}

static int make_row(struct summary_row *r, const struct nvs_source *s,
		    const struct summary_trace *each)
{
	struct nvs_summary_input story;

	r->source = s;
	r->session = nvs_trace_session(s->trace);
	for (uint32_t i = 0; i < nvs_trace_thread_count(s->trace); i++) {
		const struct nvs_trace_thread *t = nvs_trace_thread_at(s->trace, i);

		r->threads += t && t->submissions;
	}
	for (uint32_t i = 0; i < nvs_trace_channel_count(s->trace); i++)
		r->channels += nvs_trace_channel_at(s->trace, i) != NULL;
	r->facts = &each->facts;
	r->causes = &each->causes;
	r->called = nvs_pass_has_record(s->first, NVS_REC_CALL);
	sum_cells(r);
	r->uncounted = r->session->header.flags & NVS_HDR_COUNTS;
	r->tally.unseen += r->uncounted;
	nvs_session_text_fill(&r->about, s->trace);
	story = make_story(r);
	r->findings = nvs_summary_findings(&story);
	return r->findings ? 0 : -ENOMEM;
}

/* Printed as "-" if unknown; other columns are left out then. */
static bool is_figure(const struct nvs_column *c)
{
	return c->get == column_threads || c->get == column_entries;
}

static void print_counts(struct nvs_out *out, const struct summary_row *row)
{
	char digits[32];

	fputc('\n', out->file);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		struct nvs_value v = {0};

		columns[i].get(row, &v);
		if (columns[i].flags & NVS_COLUMN_DETAIL ||
		    (v.kind == NVS_VALUE_NONE && !is_figure(columns + i)) ||
		    (columns[i].flags & NVS_COLUMN_IF_ANY &&
		     (v.kind == NVS_VALUE_NONE || !v.count)))
			continue;
		fprintf(out->file, "%s%-14s%s", nvs_out_style(out, NVS_STYLE_HEAD),
			columns[i].title, nvs_out_style(out, NVS_STYLE_PLAIN));
		if (v.kind == NVS_VALUE_TEXT)
			nvs_out_text(out, v.text);
		else if (v.kind == NVS_VALUE_NS)
			fprintf(out->file, "%.3f", (double)v.ns / 1e9);
		else if (v.kind == NVS_VALUE_REAL)
			fputs(nvs_format_grouped(digits, (uint64_t)(v.real + 0.5)), out->file);
		else if (v.kind == NVS_VALUE_NONE)
			fputc('-', out->file);
		else if (columns[i].get == column_pid)
			fprintf(out->file, "%llu", (unsigned long long)v.count);
		else
			fputs(nvs_format_grouped(digits, v.count), out->file);
		fputc('\n', out->file);
	}
}

/* The name of a temporary trace is not printed. */
static void print_head(struct nvs_run *run, uint32_t i)
{
	if (i)
		fputc('\n', run->out->file);
	if (run->options->stand_in)
		return;
	fputs(nvs_out_style(run->out, NVS_STYLE_HEAD), run->out->file);
	nvs_out_text(run->out, run->sources[i].path);
	fprintf(run->out->file, ":%s\n", nvs_out_style(run->out, NVS_STYLE_PLAIN));
}

/* Sentences on the sum of all traces. */
static int print_total(struct nvs_run *run, const struct summary_row *rows)
{
	struct nvs_session_stats facts = {.source = run->sources};
	struct summary_row all = {.source = run->sources, .facts = &facts, .called = true};
	struct nvs_summary_input story;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_tally_sum(&all.tally, &rows[i].tally);
		all.submissions += rows[i].submissions;
		all.bytes += rows[i].bytes;
		all.uncounted |= rows[i].uncounted;
		all.called &= rows[i].called;
		nvs_facts_sum(&facts, rows[i].facts);
	}
	fprintf(run->out->file, "\n%sThe %u traces together:%s\n",
		nvs_out_style(run->out, NVS_STYLE_HEAD), run->n,
		nvs_out_style(run->out, NVS_STYLE_PLAIN));
	story = make_story(&all);
	story.options = run->options;
	story.several = true;
	return nvs_summary_print_total(run->out, &story);
}

/* The table of entry points, of all traces. */
static int print_api_times(struct nvs_run *run)
{
	struct nvs_session_stats **facts = calloc(run->n + 1ul, sizeof(*facts));
	const struct nvs_print_options *o = &run->options->print;
	struct summary_trace *each = run->each;
	int r;

	for (uint32_t i = 0; i < run->n && facts; i++)
		facts[i] = &each[i].facts;
	r = facts ? nvs_api_times_print(run, facts, run->n, o->has_rows ? o->rows : ROWS) : -ENOMEM;
	free(facts);
	return r;
}

static int print_text(struct nvs_run *run, const struct summary_row *rows)
{
	const struct nvs_options_report *o = run->options;
	bool called = false, on = false;
	int r = 0;

	for (uint32_t i = 0; i < run->n && !r; i++) {
		struct nvs_summary_input story = make_story(rows + i);

		story.options = run->options;
		if (run->n > 1)
			print_head(run, i);
		r = nvs_summary_print(run->out, &story);
		if (!r && o->print.wide)
			print_counts(run->out, rows + i);
		called |= rows[i].called;
		on |= !nvs_trace_never_on(run->sources[i].trace);
	}
	if (!r && run->n > 1)
		r = print_total(run, rows);
	if (r || !on || o->page)
		return r;
	if (called)
		return print_api_times(run);
	fputc('\n', run->out->file);
	return nvs_print_api_table(run, o->print.has_rows ? o->print.rows : ROWS);
}

/* A row of zeros is printed, but does not count as output. */
static int print_rows(struct nvs_run *run, const struct summary_row *rows)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	uint64_t told = run->out->told;
	bool any = false;
	int r = nvs_table_print_array(run->out, &table, rows, run->n, sizeof(*rows),
				      &run->options->print);

	for (uint32_t i = 0; i < run->n; i++) {
		struct nvs_summary_input story = make_story(rows + i);

		any |= !nvs_summary_is_empty(&story);
	}
	run->out->told = any ? run->out->told : told;
	return r;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *arg,
		 struct nvs_pass_reader *reader)
{
	struct summary_trace *each = arg;
	int r = nvs_facts_begin(&each->facts, s);

	return r ? r : nvs_causes_begin(&each->causes, s);
}

static int end(struct nvs_run *run, struct nvs_source *s, void *arg)
{
	return nvs_causes_end(&((struct summary_trace *)arg)->causes);
}

static int print(struct nvs_run *run)
{
	const struct nvs_options_report *o = run->options;
	struct summary_row *rows = calloc(run->n, sizeof(*rows));
	struct summary_trace *each = run->each;
	int r = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n && !r; i++) {
		r = nvs_causes_explain(&each[i].causes, run->report->needs);
		if (!r)
			r = make_row(rows + i, run->sources + i, each + i);
	}
	if (!r)
		r = o->print.format == NVS_FORMAT_TEXT ? print_text(run, rows)
						       : print_rows(run, rows);
	for (uint32_t i = 0; i < run->n; i++)
		free(rows[i].findings);
	free(rows);
	return r;
}

static void free_each(struct nvs_run *run)
{
	struct summary_trace *each = run->each;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_facts_free(&each[i].facts);
		nvs_causes_free(&each[i].causes);
	}
}

NVS_REPORT(summary, .name = "summary", .standard = true, .group = NVS_WHAT_HAPPENED, .place = 5,
	   .help = "what happened, in sentences, and the entry points that took the host's time: "
		   "printed if no report is given",
	   .man = "What happened, in sentences: launches, doorbells and bytes, what took the "
		  "host's time and, with\n.BR timing=work ,\nthe GPU's; and findings, each with "
		  "a command that shows more. First a trace that is not whole, a fault of the GPU, "
		  "calls that have not "
		  "returned and what they wait for, and calls that failed; then, those that took "
		  "longest first: calls that loaded code, or that waited for a full ring, for "
		  "memory of the driver or for another thread in the driver, a call that took a "
		  "hundred times the median of its API (except calls that wait, copy or set up), "
		  "time outside of calls, an idle GPU, graphs that are instantiated about as often "
		  "as they are launched, copies of pageable memory, many small copies, and long "
		  "waits for the writer; then memory that was never freed, and remarks of\n.BR "
		  "\\-\\-verify .\nWithout\n.B \\-\\-wide\nat most six are printed. The "
		  "trace is read once more if a call has not returned, after a fault, or if waits "
		  "without a known "
		  "cause took 2 % of the run.\nThen entry points by the host time of their calls "
		  "(the median to 3 %), those first that have not returned; calls that set up "
		  "contexts and modules separately.\nWith\n.B \\-\\-wide\nalso all counters of "
		  "the trace, as in JSON and CSV. The summary is printed if no report is given.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS | NVS_NEED_WHOLE | NVS_NEED_CONTINUITY |
		    NVS_NEED_FILTERS,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   NVS_REPORT_SORT_COLUMNS(nvs_api_times_columns), .each = sizeof(struct summary_trace),
	   .begin = begin, .end = end, .print = print, .free = free_each);
