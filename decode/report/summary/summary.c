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

struct summary_row {
	const struct nvs_source *source;
	const struct nvs_session *session;
	struct nvs_session_text about;
	uint64_t threads, channels;
	bool uncounted; /* level=counts: only SUBMISSIONS and BYTES are known */
	struct nvs_tally tally; /* of the selected submissions */
	uint64_t submissions, bytes; /* of the selected submissions */
	struct nvs_session_stats *facts;
	char *findings;
	bool called; /* the trace has calls */
};

NVS_SOURCE_GETTERS(struct summary_row, r->source)
NVS_GET_TEXT(struct summary_row, program, r->session->attr[NVS_ATTR_EXE])
NVS_GET_TEXT(struct summary_row, command, r->about.command)
NVS_GET_TEXT(struct summary_row, machine, r->about.host)
NVS_GET_TEXT(struct summary_row, kernel, r->session->attr[NVS_ATTR_KERNEL])
NVS_GET_TEXT(struct summary_row, cpu, r->session->attr[NVS_ATTR_CPU])
NVS_GET_TEXT(struct summary_row, job, r->session->attr[NVS_ATTR_JOB])
NVS_GET_TEXT(struct summary_row, launcher, r->session->attr[NVS_ATTR_LAUNCHER])
NVS_GET_TEXT(struct summary_row, place, r->about.rank)
NVS_GET_TEXT(struct summary_row, driver, r->session->attr[NVS_ATTR_DRIVER])
NVS_GET_TEXT(struct summary_row, gpu, r->about.gpu)
NVS_GET_TEXT(struct summary_row, uuid, r->about.uuid)
NVS_GET_TEXT(struct summary_row, started, r->about.started)
NVS_GET_TEXT(struct summary_row, ended, r->about.ended)
NVS_GET_TEXT(struct summary_row, recorded, nvs_trace_part(r->source->trace))
NVS_GET_TEXT(struct summary_row, whole, r->about.whole)
NVS_GET_TEXT(struct summary_row, in_flight, r->about.in_flight)
NVS_GET_TEXT(struct summary_row, options, r->session->attr[NVS_ATTR_OPTIONS])
NVS_GET_KNOWN(struct summary_row, threads, !r->uncounted, r->threads)
NVS_GET_COUNT(struct summary_row, channels, r->channels)
NVS_GET_COUNT(struct summary_row, submissions, nvs_session_submissions(r->session))
NVS_GET_KNOWN(struct summary_row, entries, !r->uncounted, r->session->counts.entries)
NVS_GET_COUNT(struct summary_row, bytes, nvs_session_bytes(r->session))
NVS_GET_COUNT(struct summary_row, gaps, r->session->counts.gaps)
NVS_GET_COUNT(struct summary_row, lost_submissions, r->session->counts.lost_submissions)
NVS_GET_COUNT(struct summary_row, orphans, r->session->counts.orphans)
/* The recorder's own totals are in the last record of a trace, if it exited normally. */
#define TOTALS_COLUMN(name) \
	NVS_GET_KNOWN(struct summary_row, name, r->session->has_totals, r->session->totals.name)
TOTALS_COLUMN(fast)
TOTALS_COLUMN(stepped)
TOTALS_COLUMN(waits)
NVS_GET_COUNT(struct summary_row, skipped, r->session->counts.skipped_submissions)
NVS_GET_COUNT(struct summary_row, problems, nvs_trace_problems(r->source->trace))
NVS_GET_COUNT(struct summary_row, file_bytes, r->session->file_bytes)

static void get_seconds(const void *row, struct nvs_value *v)
{
	const struct summary_row *r = row;

	if (nvs_clock_since_start(r->source->trace, r->session->last_time, &v->ns))
		v->kind = NVS_VALUE_NS;
}

static void get_world_size(const void *row, struct nvs_value *v)
{
	nvs_source_number(((const struct summary_row *)row)->source, NVS_ATTR_WORLD_SIZE, v);
}

static void get_local_rank(const void *row, struct nvs_value *v)
{
	nvs_source_number(((const struct summary_row *)row)->source, NVS_ATTR_LOCAL_RANK, v);
}

NVS_TALLY_GETTERS(struct summary_row)

NVS_GET_KNOWN(struct summary_row, calls, r->called, r->facts->calls)
NVS_GET_REAL(struct summary_row, host_us, r->called, (double)nvs_facts_all_ns(r->facts) / 1000)
NVS_GET_KNOWN(struct summary_row, launch_submissions, !r->tally.unseen,
	      r->facts->launch_submissions)
NVS_GET_TEXT(struct summary_row, findings, r->findings)

static void get_writer_cpu(const void *row, struct nvs_value *v)
{
	const struct summary_row *r = row;

	v->ns = (int64_t)r->session->totals.writer_cpu_ns;
	v->kind = r->session->has_totals && v->ns ? NVS_VALUE_NS : NVS_VALUE_NONE;
}

NVS_GET_TEXT(struct summary_row, operations,
	     r->tally.unseen ? "- (commands were not recorded: level)" : "")

static const struct nvs_column columns[] = {
	{"trace", "trace", get_source_trace, 0},
	{"program", "program", get_program, 0},
	{"command", "command", get_command, 0},
	{"pid", "pid", get_source_pid, 0},
	{"host", "host", get_source_host, NVS_COLUMN_DETAIL},
	{"os_release", "OS", get_kernel, NVS_COLUMN_DETAIL},
	{"cpu", "CPU", get_cpu, NVS_COLUMN_DETAIL},
	{"machine", "host", get_machine, NVS_COLUMN_TEXT},
	{"rank", "rank", get_source_rank, NVS_COLUMN_DETAIL},
	{"world_size", "world size", get_world_size, NVS_COLUMN_DETAIL},
	{"local_rank", "local rank", get_local_rank, NVS_COLUMN_DETAIL},
	{"launcher", "launcher", get_launcher, NVS_COLUMN_DETAIL},
	{"job", "job", get_job, NVS_COLUMN_DETAIL},
	{"place", "rank", get_place, NVS_COLUMN_TEXT},
	{"gpus", "GPU", get_gpu, 0},
	{"gpu_uuids", "UUID", get_uuid, NVS_COLUMN_DETAIL},
	{"driver", "driver", get_driver, 0},
	{"options", "options", get_options, 0},
	{"started", "started", get_started, 0},
	{"duration_ns", "seconds", get_seconds, 0},
	{"ended", "ended", get_ended, 0},
	{"recorded", "recorded", get_recorded, 0},
	{"whole", "whole", get_whole, 0},
	{"in_flight", "in flight", get_in_flight, 0},
	{"threads", "threads", get_threads, 0},
	{"channels", "channels", get_channels, 0},
	{"findings", "findings", get_findings, 0},
	{"calls", "calls", get_calls, 0},
	{"host_us_total", "host us", get_host_us, 0},
	{"submissions", "submissions", get_submissions, 0},
	{"entries", "entries", get_entries, 0},
	{"command_bytes", "command bytes", get_bytes, 0},
	{"operations", "operations", get_operations, NVS_COLUMN_TEXT},
	{"launches", "launches", get_tally_launches, NVS_COLUMN_IF_ANY},
	{"launch_submissions", "  submissions", get_launch_submissions, NVS_COLUMN_IF_ANY},
	{"triggers", "triggers", get_tally_triggers, NVS_COLUMN_IF_ANY},
	{"unknown_launches", "unknown", get_tally_unknown, NVS_COLUMN_DETAIL},
	{"engine_copies", "engine copies", get_tally_engine, NVS_COLUMN_IF_ANY},
	{"engine_copy_bytes", "  bytes", get_tally_engine_bytes, NVS_COLUMN_IF_ANY},
	{"inline_copies", "inline copies", get_tally_inline, NVS_COLUMN_IF_ANY},
	{"inline_copy_bytes", "  bytes", get_tally_inline_bytes, NVS_COLUMN_IF_ANY},
	{"macro_copies", "macro copies", get_tally_macro, NVS_COLUMN_IF_ANY},
	{"macro_copy_bytes", "  bytes", get_tally_macro_bytes, NVS_COLUMN_IF_ANY},
	{"memsets", "memsets", get_tally_memsets, NVS_COLUMN_IF_ANY},
	{"memset_bytes", "  bytes", get_tally_memset_bytes, NVS_COLUMN_IF_ANY},
	{"uploads", "uploads", get_tally_uploads, NVS_COLUMN_IF_ANY},
	{"upload_bytes", "  bytes", get_tally_upload_bytes, NVS_COLUMN_IF_ANY},
	{"code_uploads", "code uploads", get_tally_codes, NVS_COLUMN_IF_ANY},
	{"code_upload_bytes", "  bytes", get_tally_code_bytes, NVS_COLUMN_IF_ANY},
	{"releases", "releases", get_tally_releases, NVS_COLUMN_IF_ANY},
	{"acquires", "acquires", get_tally_acquires, NVS_COLUMN_IF_ANY},
	{"fast", "without fault", get_fast, NVS_COLUMN_IF_ANY},
	{"stepped", "stepped", get_stepped, NVS_COLUMN_IF_ANY},
	{"skipped", "only counted", get_skipped, NVS_COLUMN_IF_ANY},
	{"buffer_waits", "buffer waits", get_waits, NVS_COLUMN_IF_ANY},
	{"writer_cpu_ns", "writer CPU s", get_writer_cpu, 0},
	{"gaps", "gaps", get_gaps, 0},
	{"lost_submissions", "lost", get_lost_submissions, NVS_COLUMN_IF_ANY},
	{"orphans", "orphans", get_orphans, NVS_COLUMN_IF_ANY},
	{"problems", "problems", get_problems, NVS_COLUMN_DETAIL},
	{"file_bytes", "file bytes", get_file_bytes, 0},
};

static struct nvs_summary_input make_story(const struct summary_row *r)
{
	return (struct nvs_summary_input){
		.source = r->source,
		.facts = r->facts,
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
		    struct nvs_session_stats *facts)
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
	r->facts = facts;
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
	return c->get == get_threads || c->get == get_entries;
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
		else if (columns[i].get == get_source_pid)
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
		return nvs_api_times_print(run, run->each, run->n,
					   o->print.has_rows ? o->print.rows : ROWS);
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

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	nvs_facts_begin(each, s, reader);
	return 0;
}

static int print(struct nvs_run *run)
{
	const struct nvs_options_report *o = run->options;
	struct summary_row *rows = calloc(run->n, sizeof(*rows));
	struct nvs_session_stats *facts = run->each;
	int r = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n && !r; i++)
		r = make_row(rows + i, run->sources + i, facts + i);
	if (!r)
		r = o->print.format == NVS_FORMAT_TEXT ? print_text(run, rows)
						       : print_rows(run, rows);
	for (uint32_t i = 0; i < run->n; i++)
		free(rows[i].findings);
	free(rows);
	return r;
}

static void free_facts(struct nvs_run *run)
{
	struct nvs_session_stats *facts = run->each;

	for (uint32_t i = 0; i < run->n; i++)
		nvs_facts_free(facts + i);
}

NVS_REPORT(summary, .name = "summary", .standard = true, .group = NVS_WHAT_HAPPENED, .place = 5,
	   .help = "what happened, in sentences, and the entry points that took the host's time: "
		   "printed if no report is given",
	   .man = "What happened, in sentences: launches, doorbells and bytes, what took the "
		  "host's time, and findings, each with\na command that shows more. Findings are a "
		  "trace that is not whole, calls that failed or had not returned, graphs that "
		  "are\ninstantiated about as often as they are launched, launches that spent long "
		  "loading code, a call that took a hundred times\nthe median of its API (except "
		  "calls that wait, copy or set up), long waits for the writer, and remarks "
		  "of\n.BR \\-\\-verify .\nThen entry points by the host time of their calls (the "
		  "median to 3 %); calls that set up contexts and modules separately.\nWith\n.B "
		  "\\-\\-wide\nalso all counters of the trace, as in JSON and CSV. The summary is "
		  "printed if no report is given.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS | NVS_NEED_WHOLE | NVS_NEED_CONTINUITY |
		    NVS_NEED_FILTERS,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .each = sizeof(struct nvs_session_stats), .begin = begin, .print = print,
	   .free = free_facts);
