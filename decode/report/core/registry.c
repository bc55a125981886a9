/* SPDX-License-Identifier: MIT */
/* The list of all reports, gathered by the linker, and what --help, the man page and scripts print
 * of it. */
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/report/core/report.h"

const struct nvs_report_group nvs_report_groups[NVS_QUESTIONS] = {
	[NVS_WHAT_HAPPENED] = {"What happened?", "nvsnoop-report trace.zst", NULL},
	[NVS_HOST_TIME] = {"Where did the time go?", "nvsnoop-report trace.zst --by-api -n 10",
			   NULL},
	[NVS_GPU_WORK] = {"What did the GPU get?",
			  "nvsnoop-report trace.zst --by-kernel -s launches", NULL},
	[NVS_STUCK] = {"Is it stuck?", "nvsnoop-report trace.zst --hang", NULL},
	[NVS_MEMORY] = {"Who holds memory?", "nvsnoop-report trace.zst --memory --at=50%", NULL},
	[NVS_CHANGES] = {"What changed?", "nvsnoop-report --diff old.zst new.zst", NULL},
	[NVS_RANKS] = {"Do ranks differ?", "nvsnoop-report --by-rank rank*.zst", NULL},
	[NVS_EXPORTS] =
		{"For other tools:", "nvsnoop-report trace.zst --export=perfetto -o trace.perfetto",
		 "Formats of other tools. An export cannot be combined with other reports. It "
		 "is written to standard output, or to the file of\n.BR \\-o ."},
	[NVS_WITHOUT_TRACE] = {"Without a trace:", "nvsnoop-report --code program", NULL},
};

extern const struct nvs_report *const __start_nvs_reports[], *const __stop_nvs_reports[];

static int compare_places(const void *a, const void *b)
{
	const struct nvs_report *x = *(const struct nvs_report *const *)a;
	const struct nvs_report *y = *(const struct nvs_report *const *)b;

	return NVS_CMP(x->group, y->group) ?: NVS_CMP(x->place, y->place);
}

const struct nvs_report *nvs_report_by_index(uint32_t index)
{
	static const struct nvs_report *sorted[NVS_MAX_REPORTS];
	static uint32_t n;

	if (!n) {
		n = (uint32_t)(__stop_nvs_reports - __start_nvs_reports);
		n = n < NVS_MAX_REPORTS ? n : NVS_MAX_REPORTS;
		memcpy(sorted, __start_nvs_reports, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), compare_places);
	}
	return index < n ? sorted[index] : NULL;
}

bool nvs_only_verdicts(const struct nvs_options_report *o)
{
	for (uint32_t i = 0; i < o->nreports; i++)
		if (!o->reports[i]->verdict)
			return false;
	return true;
}

/* ---- for scripts ---- */

static void print_report_line(FILE *out, const struct nvs_report *r)
{
	static const char *const formats[] = {"text",	"json", "csv",	 "lines",
					      "binary", "file", "folder"};
	static const char *const needs[] = {"trace", "calls",	   "cells", "names",	 "filters",
					    "whole", "continuity", "files", "nvtx",	 "pair",
					    "apart", "timing",	   "timed", "all-times", "alone"};
	const char *comma = "";

	fprintf(out, "--%s\t%s\t", r->name, r->argument && !r->optional ? r->argument : "");
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (r->prints >> i & 1) {
			fprintf(out, "%s%s", comma, formats[i]);
			comma = ",";
		}
	comma = "\t";
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (r->needs >> i & 1) {
			fprintf(out, "%s%s", comma, needs[i]);
			comma = ",";
		}
	fputs(*comma == '\t' ? "\t\n" : "\n", out);
}

static void print_columns(FILE *out, const struct nvs_report *r)
{
	const char *before = "\t";

	fprintf(out, "--%s", r->name);
	for (uint32_t i = 0; i < r->ncolumns; i++)
		if (!(r->columns[i].flags & (NVS_COLUMN_TEXT | NVS_COLUMN_BAR))) {
			fprintf(out, "%s%s", before, r->columns[i].name);
			before = ",";
		}
	fputc('\n', out);
}

/* In a man page an option's hyphen is escaped, lest it becomes a dash. */
static void print_option_man(FILE *out, const char *name, const char *argument, bool optional,
			     const char *man)
{
	fprintf(out, ".TP\n.%s \\-\\-", argument && !optional ? "BI" : "B");
	for (; *name; name++)
		fprintf(out, "%s%c", *name == '-' ? "\\" : "", *name);
	if (argument)
		fprintf(out, optional ? "[=%s]" : "= %s", argument);
	fprintf(out, "\n%s\n", man);
}

static void print_group_man(FILE *out, const struct nvs_report_group *group)
{
	fprintf(out, ".SS %s\n", group->question);
	if (group->man)
		fprintf(out, "%s\n.PP\n", group->man);
	fputs(".nf\n    ", out);
	for (const char *p = group->example; *p; p++)
		fprintf(out, *p == '-' ? "\\%c" : "%c", *p);
	fputs("\n.fi\n", out);
}

static void print_man(FILE *out)
{
	const struct nvs_report *r, *before = NULL;

	for (uint32_t i = 0; (r = nvs_report_by_index(i)); before = r, i++) {
		if (!before || before->group != r->group)
			print_group_man(out, nvs_report_groups + r->group);
		print_option_man(out, r->name, r->argument, r->optional, r->man ? r->man : r->help);
		if (r->option)
			print_option_man(out, r->option->name, r->option->argument, false,
					 r->option->man);
	}
}

void nvs_report_list(FILE *out, const char *how)
{
	const struct nvs_report *r;

	if (!strcmp(how, "man")) {
		print_man(out);
		return;
	}
	for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++)
		if (!strcmp(how, "columns"))
			print_columns(out, r);
		else
			print_report_line(out, r);
}
