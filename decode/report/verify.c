/* SPDX-License-Identifier: MIT */
/* --verify: checks that each trace is complete, and lists what is missing. The checks are made
 * while reading (decode/calls/progress_check.h, decode/trace). */
#include <errno.h>
#include <stdlib.h>
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/report.h"

struct verify_row {
	const struct nvs_source *source;
	const struct nvs_finding *finding;
};

static const char *kind_name(const struct nvs_finding *f)
{
	return f->kind == NVS_FINDING_PROBLEM ? "problem"
	       : f->kind == NVS_FINDING_NOTE  ? "note"
					      : "remark";
}

#define COLUMNS(COL)                                            \
	COL(text, kind, "kind", NAME, 0, kind_name(r->finding)) \
	COL(count, count, "count", 0, 0, r->finding->count)     \
	COL(text, text, "text", NAME, 0, r->finding->text)      \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct verify_row, COLUMNS)

/* Exit status: 0 complete, 1 not, 3 complete up to a crash. */
static int verdict_of(const struct nvs_source *s)
{
	if (nvs_trace_problems(s->trace))
		return 1;
	return nvs_trace_session(s->trace)->end == NVS_END_ORDERLY ? 0 : 3;
}

static void print_verdict(struct nvs_out *out, const struct nvs_source *s)
{
	const struct nvs_session *session = nvs_trace_session(s->trace);
	unsigned long long problems = nvs_trace_problems(s->trace);
	int verdict = verdict_of(s);

	nvs_out_text(out, s->path);
	fprintf(out->file, ": %s",
		nvs_out_style(out, verdict == 1 ? NVS_STYLE_BAD : NVS_STYLE_GOOD));
	if (verdict == 1)
		fprintf(out->file, "NOT whole: %llu problem%s", problems, problems == 1 ? "" : "s");
	else
		fputs(!verdict ? "whole"
		      : session->end == NVS_END_RUNNING
			      ? "the trace is still being written and is whole so far"
			      : "the trace ended in a crash and is whole up to it",
		      out->file);
	fprintf(out->file, "%s; %llu submissions, ", nvs_out_style(out, NVS_STYLE_PLAIN),
		(unsigned long long)nvs_session_submissions(session));
	if (session->header.flags & NVS_HDR_COUNTS)
		fputc('-', out->file);
	else
		fprintf(out->file, "%llu", (unsigned long long)session->counts.entries);
	fprintf(out->file, " entries, %llu bytes\n",
		(unsigned long long)nvs_session_bytes(session));
}

static void print_finding(struct nvs_out *out, const struct nvs_finding *f)
{
	bool bad = f->kind == NVS_FINDING_PROBLEM, note = f->kind == NVS_FINDING_NOTE;

	fprintf(out->file, "  %s%s%s: ", nvs_out_style(out, bad ? NVS_STYLE_BAD : NVS_STYLE_DIM),
		kind_name(f), note ? "" : nvs_out_style(out, NVS_STYLE_PLAIN));
	fputs(f->text, out->file);
	if (f->count > 1)
		fprintf(out->file, " (%llu times)", (unsigned long long)f->count);
	fprintf(out->file, "%s\n", note ? nvs_out_style(out, NVS_STYLE_PLAIN) : "");
}

/* Problems first, then remarks, then notes. */
static void print_findings(struct nvs_out *out, const struct nvs_source *s, uint64_t rows)
{
	const struct nvs_finding *f;
	uint64_t printed = 0;

	for (int kind = NVS_FINDING_PROBLEM; kind <= NVS_FINDING_NOTE; kind++)
		for (uint32_t i = 0; (f = nvs_trace_finding(s->trace, i)); i++)
			if (f->kind == (enum nvs_finding_kind)kind && (!rows || printed < rows)) {
				print_finding(out, f);
				printed++;
			}
}

static int print_table(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	const struct nvs_finding *f;
	struct verify_row *rows;
	size_t n = 0, room = 1;
	int r;

	for (uint32_t k = 0; k < run->n; k++)
		for (uint32_t i = 0; nvs_trace_finding(run->sources[k].trace, i); i++)
			room++;
	rows = calloc(room, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t k = 0; k < run->n; k++)
		for (uint32_t i = 0; (f = nvs_trace_finding(run->sources[k].trace, i)); i++)
			rows[n++] = (struct verify_row){run->sources + k, f};
	r = nvs_table_print_array(run->out, &table, rows, n, sizeof(*rows), &run->options->print);
	free(rows);
	return r;
}

static int print(struct nvs_run *run)
{
	const struct nvs_options_report *o = run->options;

	for (uint32_t i = 0; i < run->n; i++) {
		int verdict = verdict_of(run->sources + i);

		if (verdict && run->verdict != 1)
			run->verdict = verdict;
		if (o->print.format == NVS_FORMAT_TEXT) {
			print_verdict(run->out, run->sources + i);
			print_findings(run->out, run->sources + i, o->print.rows);
		}
	}
	return o->print.format == NVS_FORMAT_TEXT ? 0 : print_table(run);
}

NVS_REPORT(verify, .name = "verify", .group = NVS_WHAT_HAPPENED, .place = 140,
	   .help = "is the trace whole? Exits 0: whole; 1: not, or it cannot be read; 3: whole up "
		   "to the program's crash",
	   .man = "Checks that the trace is whole: every channel's chain of submissions is "
		  "unbroken from its start to its end, nothing\nwas lost, and the totals agree. "
		  "Problems list what is missing. Remarks list what the trace cannot show, notes "
		  "what is the case on every\nmachine, or was requested.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_WHOLE | NVS_NEED_CONTINUITY,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns), .verdict = true,
	   .print = print);
