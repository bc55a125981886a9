/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-report: its options, and checks of what they ask for. Called once, by
 * main(). */
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/base/nearest.h"
#include "decode/cli/options.h"
#include "decode/cli/sentence.h"
#include "decode/cli/units.h"
#include "decode/report/core/report.h"

#define MAX_SORTED 128 /* of a report */

static int set_color(const struct nvs_option *option, void *target, const char *text)
{
	int word = nvs_word_index(option->argument, text);

	((struct nvs_options_report *)target)->print.color = word == 2 ? -1 : word;
	return word < 0 ? NVS_OPTION_WRONG : 0;
}

static int set_range(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_options_report *o = target;
	char from[64];

	if (nvs_range_parse(&o->query.range, text))
		return 0;
	if (strlen(text) >= sizeof(from) - 1)
		return NVS_OPTION_WRONG;
	snprintf(from, sizeof(from), "%s-", text);
	if (!nvs_range_parse(&o->query.range, from))
		return NVS_OPTION_WRONG;
	return nvs_usage_error("--range must be %s, not '%s'; did you mean '%s-', from there on, "
			       "or '-%s', up to there?",
			       option->rule, text, text, text);
}

static int add_pattern(const struct nvs_option *option, void *target, const char *text)
{
	const char *trouble = nvs_patterns_add((void *)((char *)target + option->offset), text);

	return trouble ? nvs_usage_error("%s '%s'", trouble, text) : 0;
}

static int add_channel(const struct nvs_option *option, void *target, const char *text)
{
	const char *end = text + (*text == '!');
	uint64_t n;

	if (!nvs_read_number(&end, UINT64_MAX, &n) || *end)
		return NVS_OPTION_WRONG;
	return add_pattern(option, target, text);
}

static int choose_report(struct nvs_options_report *o, const struct nvs_report *report)
{
	for (uint32_t i = 0; i < o->nreports; i++) {
		const struct nvs_report *other = o->reports[i];
		bool alone = (other->needs | report->needs) & (NVS_NEED_PAIR | NVS_NEED_ALONE);

		if (other == report)
			return 0;
		if (alone || other->parts || report->parts || nvs_report_export_name(other) ||
		    nvs_report_export_name(report) ||
		    !(other->needs & report->needs & NVS_NEED_TRACE))
			return nvs_usage_error("--%s cannot be combined with --%s", report->name,
					       other->name);
	}
	o->reports[o->nreports++] = report;
	return 0;
}

static int set_report(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_options_report *o = target;

	if (text && option->optional && strcmp(text, option->argument) != 0)
		return NVS_OPTION_WRONG;
	if (text)
		o->argument = text;
	return choose_report(o, option->context);
}

/* Takes a value of the second option of a report. */
static int add_value(const struct nvs_option *option, void *target, const char *text)
{
	const struct nvs_report *r = option->context;
	struct nvs_options_report *o = target;
	struct nvs_range moment;

	if (!option->argument)
		text = "";
	else if (r->option->timed ? !nvs_moment_parse(&moment, text)
				  : strchr(option->argument, '|') &&
					    nvs_word_index(option->argument, text) < 0)
		return NVS_OPTION_WRONG;
	if (o->nmore >= NVS_MAX_PATTERNS || (o->more_of && o->more_of != r))
		return nvs_usage_error("too many values at '%s'", text);
	o->more_of = r;
	o->more[o->nmore++] = text;
	return 0;
}

static int set_export(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_nearest near = {.wanted = text};
	char hint[NVS_NEAREST * 300], all[256] = "; the exports are";
	const struct nvs_report *r;

	for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++) {
		const char *name = nvs_report_export_name(r);
		size_t n = strlen(all);

		if (name && !strcmp(name, text))
			return choose_report(target, r);
		if (!name)
			continue;
		nvs_nearest_add(&near, name, strlen(name));
		snprintf(all + n, sizeof(all) - n, " %s", name);
	}
	return nvs_usage_error("unknown export '%s'%s", text,
			       near.n ? nvs_nearest_text(&near, hint, sizeof(hint)) : all);
}

static int set_list(const struct nvs_option *option, void *target, const char *text)
{
	((struct nvs_options_report *)target)->list = text ? text : "reports";
	return 0;
}

#define INTO(kind, field) NVS_OPTION_INTO(kind, struct nvs_options_report, field)
#define FLAG(field) INTO(CONSTANT, field), .min = true

static const struct nvs_option common[] = {
	{"export", "FORMAT", .set = set_export}, /* listed with the reports */
	{"list-reports", "HOW", .optional = true, .set = set_list}, /* for scripts */
	{"stand-in", "FILE", INTO(TEXT, stand_in)}, /* for nvsnoop --stat */
	{.help = "Output:"},
	{"format", "text|json|csv", "output format", "text", INTO(WORD, print.format)},
	{"sort", "COLUMN", "sort by heading or key, largest first; -COLUMN: smallest",
	 .letter = 's', INTO(TEXT, print.sort)},
	{"rows", "N", "print the first N rows; 0: all, also the summary's APIs", NULL, "a number",
	 'n', INTO(NUMBER, print.rows), .max = UINT64_MAX},
	{"output", "FILE", "write to FILE, which must not exist; -: stdout", .letter = 'o',
	 INTO(TEXT, print.output)},
	{"overwrite", .help = "replace the file of -o", FLAG(print.overwrite)},
	{"color", "auto|always|never", "auto: on a terminal, unless NO_COLOR is set", "auto",
	 .set = set_color},
	{"wide", .help = "all columns, even if the terminal is too narrow", FLAG(print.wide)},
	{"per-trace", .help = "one row for each of several traces, not their sum",
	 FLAG(query.per_trace)},
	{"no-pager", .help = "do not page on a terminal (else: $PAGER, or less -FRX)",
	 INTO(CONSTANT, print.pager), .min = false},
	{.help = "Selection (all but --range may be repeated; names may contain * and ?,\n"
		 "or be a regular expression between slashes; ! before a name excludes it):"},
	{"range", "A-B",
	 "submissions number A to B of each trace, and the calls that made them; with units, a "
	 "range of time: 1.5s-2s, 100ms-, 10%-20%",
	 NULL, "A-B, as in 100-200, 1.5s-2s or 10%-20%", .set = set_range},
	{"thread", "THREAD", "number, tid or name of a thread", .set = add_pattern,
	 INTO(TEXT, query.thread)},
	{"channel", "N", "number of a channel; also the calls that submitted to it", NULL,
	 "the number of a channel", .set = add_channel, INTO(TEXT, query.channel)},
	{"api", "API", "a driver or runtime API, with or without _v2, _ptsz", .set = add_pattern,
	 INTO(TEXT, query.api)},
	{"nvtx", "RANGE", "work of a thread inside this NVTX range", .set = add_pattern,
	 INTO(TEXT, query.nvtx)},
	{.help = "Reading:"},
	{"partial", .help = "read a damaged trace up to the damage", FLAG(read.partial)},
	{"spool", "FILE", "spool of the trace (default: next to the trace)",
	 INTO(TEXT, read.spool)},
	{"no-spool", .help = "do not read a spool", FLAG(read.no_spool)},
	{"embed",
	 .help = "print no report; store names and lines of call sites that TRACE lacks in it, as "
		 "this machine has them",
	 FLAG(embed)},
	{"verbose",
	 .help = "name files whose symbols cannot be read; with --by-api entry points that were "
		 "looked up but whose calls are not recorded; in the text of --dump and --raw show "
		 "fields that are 0, normally left out, and the class that first had a method, as "
		 "in cbc0:a0c0",
	 .letter = 'v', FLAG(verbose)},
	{NULL},
};

/* Fills TABLE with the options of the reports, by their groups, and the common ones. */
static void collect_options(struct nvs_option *table)
{
	const struct nvs_report *r, *before = NULL;

	for (uint32_t i = 0; (r = nvs_report_by_index(i)); before = r, i++) {
		if (!before || before->group != r->group)
			*table++ = (struct nvs_option){
				.help = nvs_report_groups[r->group].question,
				.argument = nvs_report_groups[r->group].example,
			};
		*table++ = (struct nvs_option){r->name,	     r->argument,
					       r->help,	     .optional = r->optional,
					       .context = r, .set = set_report};
		if (r->option)
			*table++ = (struct nvs_option){r->option->name, r->option->argument,
						       r->option->help, .rule = r->option->rule,
						       .context = r,	.set = add_value};
	}
	memcpy(table, common, sizeof(common));
}

/* Checks that the reports can be printed in the format of --format. */
static int check_format(const struct nvs_options_report *o)
{
	if (o->print.format == NVS_FORMAT_CSV && o->nreports > 1)
		return nvs_usage_error("CSV has room for one report only, not also for '%s'",
				       o->reports[1]->name);
	for (uint32_t i = 0; i < o->nreports; i++) {
		const struct nvs_report *r = o->reports[i];

		if (r->prints >> o->print.format & 1)
			continue;
		if (nvs_report_export_name(r))
			return nvs_usage_error("--%s has a fixed format: --format is for reports",
					       r->name);
		return nvs_usage_error("--%s is %s%s%s", r->name,
				       r->prints & NVS_PRINTS_TEXT ? "text" : "",
				       r->prints & NVS_PRINTS_JSON ? " or json" : "",
				       r->prints & NVS_PRINTS_CSV ? " or csv" : "");
	}
	return 0;
}

/* Checks that each report has the column of -s: reading and printing may take long. */
static int check_sort(const struct nvs_options_report *o)
{
	struct nvs_column columns[2 * MAX_SORTED];

	for (uint32_t i = 0; i < o->nreports && o->print.sort; i++) {
		const struct nvs_report *r = o->reports[i];
		struct nvs_table table = {.report = r->name, .columns = columns};

		for (uint32_t k = 0; k < r->ncolumns && k < MAX_SORTED; k++)
			columns[table.ncolumns++] = r->columns[k];
		for (uint32_t k = 0; k < r->nsort_columns && k < MAX_SORTED; k++)
			if (!nvs_table_column(&table, r->sort_columns[k].name))
				columns[table.ncolumns++] = r->sort_columns[k];
		if (table.ncolumns && !nvs_table_applicable(&table, o->print.sort))
			return nvs_table_no_column(&table, o->print.sort);
	}
	return 0;
}

/* Checks that a report is given whose second option is. */
static int check_values(const struct nvs_options_report *o)
{
	const struct nvs_report *r = o->more_of;

	for (uint32_t i = 0; r && i < o->nreports; i++)
		if (o->reports[i] == r)
			return 0;
	return r ? nvs_usage_error("--%s%s%s requires --%s", r->option->name,
				   r->option->argument ? "=" : "", o->more[0], r->name)
		 : 0;
}

/* The output must not be one of the traces: they are read while it is written. */
static bool is_read(const struct nvs_options_report *o, const struct stat *output)
{
	struct stat st;

	for (int i = 0; i < o->nfiles; i++)
		if (!stat(o->files[i], &st) && st.st_ino == output->st_ino &&
		    st.st_dev == output->st_dev)
			return true;
	return false;
}

/* Checked now: reading may take long. */
static int check_output(const struct nvs_options_report *o)
{
	uint32_t prints = o->reports[0]->prints;
	struct stat st;

	if (!o->print.output && prints & (NVS_PRINTS_FILE | NVS_PRINTS_FOLDER))
		return nvs_usage_error("--%s requires an output %s", o->reports[0]->name,
				       prints & NVS_PRINTS_FILE ? "file: -o FILE"
								: "directory: -o DIR");
	if (!o->print.output && prints & NVS_PRINTS_BINARY && isatty(STDOUT_FILENO))
		return nvs_usage_error("--%s is not printed on a terminal; use -o FILE or a pipe",
				       o->reports[0]->name);
	if (!o->print.output || stat(o->print.output, &st))
		return 0;
	if (prints & NVS_PRINTS_FOLDER)
		return nvs_usage_error(
			"the output directory already exists; remove it or use another name: '%s'",
			o->print.output);
	if (prints & NVS_PRINTS_FILE && !S_ISREG(st.st_mode))
		return nvs_usage_error("not a regular file: '%s'", o->print.output);
	if (!S_ISREG(st.st_mode))
		return 0;
	if (!o->print.overwrite)
		return nvs_usage_error(
			"the output file already exists; use --overwrite or another name: '%s'",
			o->print.output);
	return is_read(o, &st)
		       ? nvs_usage_error("the output would replace an input: '%s'", o->print.output)
		       : 0;
}

/* "FILE:NUMBER", unless there is a file of that name. */
static bool cut_number(char *name, uint64_t *number)
{
	char *colon = strrchr(name, ':');
	const char *end = colon ? colon + 1 : name;

	if (!colon || !access(name, F_OK) || !nvs_read_number(&end, UINT64_MAX, number) || *end)
		return false;
	*colon = '\0';
	return true;
}

static int check_pair(struct nvs_options_report *o)
{
	bool first, second;

	if (!(o->reports[0]->needs & NVS_NEED_PAIR))
		return 0;
	if (o->nfiles != 2)
		return nvs_usage_error("--diff takes two traces");
	first = cut_number(o->files[0], o->number);
	second = cut_number(o->files[1], o->number + 1);
	o->numbered = first && second;
	return first == second
		       ? 0
		       : nvs_usage_error("give the number of a submission for both traces or "
					 "none, not only for '%s'",
					 o->files[second]);
}

static int check_files(const struct nvs_options_report *o)
{
	uint32_t takes = o->reports[0]->needs & (NVS_NEED_TRACE | NVS_NEED_FILES);
	const struct nvs_report *r;

	if (takes && !o->nfiles)
		return nvs_usage_error("no %s given", takes & NVS_NEED_FILES ? "file" : "trace");
	for (uint32_t i = 0; takes && (r = nvs_report_by_index(i)); i++)
		if (!strcmp(o->files[0], r->name) && access(r->name, F_OK))
			return nvs_usage_error("there is no file '%s'; did you mean --%s?", r->name,
					       r->name);
	return !takes && o->nfiles
		       ? nvs_usage_error("--classes and --class take no file: '%s'", o->files[0])
		       : 0;
}

/* The reports that make up --html follow it in the list. */
static int add_parts(struct nvs_options_report *o)
{
	const char *const *part = o->reports[0]->parts;
	const struct nvs_report *r;

	if (!part)
		return 0;
	if (o->print.sort)
		return nvs_usage_error(
			"-s does not apply to --html, whose tables are sorted in the browser: '%s'",
			o->print.sort);
	o->page = true;
	o->called = "nvsnoop-report"; /* the reader may be on another machine */
	for (; *part; part++)
		for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++)
			if (!strcmp(r->name, *part))
				o->reports[o->nreports++] = r;
	return 0;
}

/* The locale decides for text only: JSON, CSV, --html and exports are UTF-8. */
static void set_signs(const struct nvs_options_report *o)
{
	setlocale(LC_CTYPE, "");
	nvs_use_utf8_signs(o->print.format != NVS_FORMAT_TEXT || o->page ||
			   nvs_report_export_name(o->reports[0]) ||
			   !strcmp(nl_langinfo(CODESET), "UTF-8"));
}

void nvs_options_free(struct nvs_options_report *o)
{
	nvs_patterns_free(&o->query.thread);
	nvs_patterns_free(&o->query.channel);
	nvs_patterns_free(&o->query.api);
	nvs_patterns_free(&o->query.nvtx);
}

int nvs_options_parse(struct nvs_options_report *o, int argc, char **argv)
{
	struct nvs_option table[NVS_OPTIONS_MAX] = {0};
	static char name[] = "nvsnoop-report";
	struct nvs_command_line line = {
		.program = name,
		.usage = "Usage: nvsnoop-report [report] [options] TRACE...\n"
			 "\n"
			 "Reports on traces recorded by libnvsnoop. Several traces are reported "
			 "together.\n"
			 "Several reports may be given; without one: the summary.\n",
		.notes = "TRACE may be - for standard input. Exits 0, 1 on failure, 2 on wrong "
			 "usage.\n",
		.options = table,
		.target = o,
	};
	const struct nvs_report *r;
	int status;

	memset(o, 0, sizeof(*o));
	o->print.pager = true;
	o->progress = isatty(STDERR_FILENO);
	o->called = argc ? argv[0] : name;
	collect_options(table);
	status = nvs_command_line_parse(&line, argc, argv);
	if (status >= 0 || o->list)
		return status;
	o->files = argv + line.operand;
	o->nfiles = argc - line.operand;
	o->print.has_rows = nvs_option_given(&line, "rows");
	if (o->print.output && !strcmp(o->print.output, "-"))
		o->print.output = NULL;
	if (o->embed && o->nreports)
		return nvs_usage_error("--embed cannot be combined with a report: '%s'",
				       o->reports[0]->name);
	for (uint32_t i = 0; !o->nreports && (r = nvs_report_by_index(i)); i++)
		if (r->standard)
			o->reports[o->nreports++] = r;
	o->print.pager &= !nvs_only_verdicts(o);
	if (check_values(o) || check_files(o) || check_pair(o) || check_output(o) ||
	    check_format(o) || add_parts(o) || check_sort(o))
		return NVS_USAGE_ERROR;
	o->query.rows = o->print.rows;
	o->print.folder = o->reports[0]->prints & NVS_PRINTS_FOLDER;
	set_signs(o);
	return -1;
}
