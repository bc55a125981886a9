/* SPDX-License-Identifier: MIT */
/* --verify: is each trace whole, and if not, what is missing? */
#include <errno.h>
#include <stdlib.h>
#include "decode/report/report.h"

struct row {
	const struct nvs_source *source;
	const struct nvs_finding *finding;
};

static void get_trace(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_TEXT;
	v->text = ((const struct row *)row)->source->path;
}

static const char *kind_name(const struct nvs_finding *f)
{
	return f->kind == NVS_FINDING_PROBLEM ? "problem"
	       : f->kind == NVS_FINDING_NOTE  ? "note"
					      : "remark";
}

static void get_kind(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_TEXT;
	v->text = kind_name(((const struct row *)row)->finding);
}

static void get_count(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_COUNT;
	v->count = ((const struct row *)row)->finding->count;
}

static void get_text(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_TEXT;
	v->text = ((const struct row *)row)->finding->text;
}

static const struct nvs_column columns[] = {
	{"trace", "trace", get_trace, NVS_COLUMN_NAME},
	{"kind", "kind", get_kind, NVS_COLUMN_NAME},
	{"count", "count", get_count, 0},
	{"text", "text", get_text, NVS_COLUMN_NAME},
};

/* 0 whole, 1 not, 3 whole up to a crash */
static int judge(const struct nvs_source *s)
{
	if (nvs_trace_problems(s->trace))
		return 1;
	return nvs_trace_session(s->trace)->end == NVS_END_ORDERLY ? 0 : 3;
}

static void print_verdict(struct nvs_out *out, const struct nvs_source *s)
{
	const struct nvs_session *session = nvs_trace_session(s->trace);
	unsigned long long problems = nvs_trace_problems(s->trace);
	int verdict = judge(s);

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
		(unsigned long long)nvs_submissions_told(session));
	if (session->header.flags & NVS_HDR_COUNTS)
		fputc('-', out->file);
	else
		fprintf(out->file, "%llu", (unsigned long long)session->counts.entries);
	fprintf(out->file, " entries, %llu bytes\n", (unsigned long long)nvs_bytes_told(session));
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

/* What matters most first. */
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

static int print_table(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		       const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "verify",
				  .columns = columns,
				  .ncolumns = sizeof(columns) / sizeof(*columns),
				  .several = true};
	size_t total = 1;
	struct row *rows;
	int r = -ENOMEM;

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; nvs_trace_finding(s[k].trace, i); i++)
			total++;
	rows = calloc(total, sizeof(*rows));
	table.rows = calloc(total, sizeof(*table.rows));
	if (rows && table.rows) {
		const struct nvs_finding *f;

		for (uint32_t k = 0; k < n; k++)
			for (uint32_t i = 0; (f = nvs_trace_finding(s[k].trace, i)); i++) {
				rows[table.nrows] = (struct row){s + k, f};
				table.rows[table.nrows] = rows + table.nrows;
				table.nrows++;
			}
		r = nvs_table_print(out, &table, o);
	}
	free(rows);
	free(table.rows);
	return r;
}

int nvs_report_verify(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		      const struct nvs_options_report *o, int *status)
{
	*status = 0;
	for (uint32_t i = 0; i < n; i++) {
		int verdict = judge(s + i);

		if (verdict && *status != 1)
			*status = verdict;
		if (o->format == NVS_FORMAT_TEXT) {
			print_verdict(out, s + i);
			print_findings(out, s + i, o->rows);
		}
	}
	return o->format == NVS_FORMAT_TEXT ? 0 : print_table(out, s, n, o);
}
