/* SPDX-License-Identifier: MIT */
/* The list of all reports, gathered by the linker, and what --help, the man page and scripts print
 * of it. */
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/report/core/report.h"

extern const struct nvs_report *const __start_nvs_reports[], *const __stop_nvs_reports[];

static int by_place(const void *a, const void *b)
{
	const struct nvs_report *x = *(const struct nvs_report *const *)a;
	const struct nvs_report *y = *(const struct nvs_report *const *)b;

	return NVS_CMP(x->place, y->place);
}

const struct nvs_report *nvs_report_by_index(uint32_t index)
{
	static const struct nvs_report *sorted[NVS_MAX_REPORTS];
	static uint32_t n;

	if (!n) {
		n = (uint32_t)(__stop_nvs_reports - __start_nvs_reports);
		n = n < NVS_MAX_REPORTS ? n : NVS_MAX_REPORTS;
		memcpy(sorted, __start_nvs_reports, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_place);
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

/* ---- --help ---- */

static void print_option_help(FILE *out, const char *name, const char *argument, const char *help)
{
	char option[64];

	snprintf(option, sizeof(option), "--%s%s%s", name, argument ? "=" : "",
		 argument ? argument : "");
	fprintf(out, "  %-20s ", option);
	for (; *help; help++) {
		fputc(*help, out);
		if (*help == '\n')
			fprintf(out, "%23s", "");
	}
	fputc('\n', out);
}

enum report_part { OF_TRACES, EXPORTS, WITHOUT_TRACE };

static bool is_in(const struct nvs_report *r, enum report_part part)
{
	if (!(r->needs & NVS_NEED_TRACE))
		return part == WITHOUT_TRACE;
	return part == (nvs_report_export_name(r) ? EXPORTS : OF_TRACES);
}

static void print_part_help(FILE *out, enum report_part part)
{
	const struct nvs_report *r;

	for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++) {
		if (!is_in(r, part))
			continue;
		print_option_help(out, r->name, r->argument, r->help);
		if (r->option)
			print_option_help(out, r->option->name, r->option->argument,
					  r->option->help);
	}
}

void nvs_report_help(FILE *out)
{
	fputs("Reports (several may be given; without one: a summary):\n", out);
	print_part_help(out, OF_TRACES);
	fputs("\nFor other tools:\n", out);
	print_part_help(out, EXPORTS);
	fputs("\nWithout a trace:\n", out);
	print_part_help(out, WITHOUT_TRACE);
}

/* ---- for scripts ---- */

static void print_report_line(FILE *out, const struct nvs_report *r)
{
	static const char *const formats[] = {"text",	"json", "csv",	 "lines",
					      "binary", "file", "folder"};
	static const char *const needs[] = {"trace",   "calls", "cells",      "names",
					    "filters", "whole", "continuity", "files",
					    "nvtx",    "pair",	"apart",      "timing"};
	const char *comma = "";

	fprintf(out, "--%s\t%s\t", r->name, r->argument ? r->argument : "");
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
static void print_option_man(FILE *out, const char *name, const char *argument, const char *man)
{
	fprintf(out, ".TP\n.%s \\-\\-", argument ? "BI" : "B");
	for (; *name; name++)
		fprintf(out, "%s%c", *name == '-' ? "\\" : "", *name);
	if (argument)
		fprintf(out, "= %s", argument);
	fprintf(out, "\n%s\n", man);
}

static void print_part_man(FILE *out, enum report_part part)
{
	const struct nvs_report *r;

	for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++) {
		if (!is_in(r, part))
			continue;
		print_option_man(out, r->name, r->argument, r->man ? r->man : r->help);
		if (r->option)
			print_option_man(out, r->option->name, r->option->argument, r->option->man);
	}
}

void nvs_report_list(FILE *out, const char *how)
{
	const struct nvs_report *r;

	if (!strcmp(how, "man")) {
		print_part_man(out, OF_TRACES);
		fputs(".SH EXPORTS\nFormats of other tools. An export cannot be combined with "
		      "other reports. It is written to standard output, or to the file of\n.BR "
		      "\\-o .\n",
		      out);
		print_part_man(out, EXPORTS);
		fputs(".SH WITHOUT A TRACE\n", out);
		print_part_man(out, WITHOUT_TRACE);
		return;
	}
	for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++)
		if (!strcmp(how, "columns"))
			print_columns(out, r);
		else
			print_report_line(out, r);
}
