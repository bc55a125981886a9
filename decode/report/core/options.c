/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-report: parsing, checks and --help. Called once, by main(). */
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/cli/sentence.h"
#include "decode/report/core/report.h"

enum {
	OPT_FORMAT = 256,
	OPT_RANGE,
	OPT_THREAD,
	OPT_CHANNEL,
	OPT_API,
	OPT_NVTX,
	OPT_OVERWRITE,
	OPT_COLOR,
	OPT_NO_PAGER,
	OPT_WIDE,
	OPT_PER_TRACE,
	OPT_PARTIAL,
	OPT_SPOOL,
	OPT_NO_SPOOL,
	OPT_EMBED,
	OPT_EXPORT,
	OPT_LIST,
	OPT_STAND_IN,
	OPT_REPORT, /* + index in the registry */
	OPT_MORE = OPT_REPORT + NVS_MAX_REPORTS, /* second option of a report, + index */
};

static const struct option common[] = {
	{"format", required_argument, NULL, OPT_FORMAT},
	{"sort", required_argument, NULL, 's'},
	{"rows", required_argument, NULL, 'n'},
	{"range", required_argument, NULL, OPT_RANGE},
	{"thread", required_argument, NULL, OPT_THREAD},
	{"channel", required_argument, NULL, OPT_CHANNEL},
	{"api", required_argument, NULL, OPT_API},
	{"nvtx", required_argument, NULL, OPT_NVTX},
	{"export", required_argument, NULL, OPT_EXPORT},
	{"output", required_argument, NULL, 'o'},
	{"overwrite", no_argument, NULL, OPT_OVERWRITE},
	{"color", required_argument, NULL, OPT_COLOR},
	{"no-pager", no_argument, NULL, OPT_NO_PAGER},
	{"wide", no_argument, NULL, OPT_WIDE},
	{"per-trace", no_argument, NULL, OPT_PER_TRACE},
	{"partial", no_argument, NULL, OPT_PARTIAL},
	{"spool", required_argument, NULL, OPT_SPOOL},
	{"no-spool", no_argument, NULL, OPT_NO_SPOOL},
	{"embed", no_argument, NULL, OPT_EMBED},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{"list-reports", optional_argument, NULL, OPT_LIST}, /* for scripts: not in --help */
	{"stand-in", required_argument, NULL, OPT_STAND_IN}, /* for nvsnoop --stat: likewise */
	{NULL, 0, NULL, 0},
};

#define COMMON (sizeof(common) / sizeof(*common))

/* Fills ALL with the options of the reports, two at most of each, then the common ones. */
static void collect_options(struct option *all)
{
	const struct nvs_report *r;

	for (int i = 0; (r = nvs_report_by_index((uint32_t)i)); i++) {
		if (!nvs_report_export_name(r))
			*all++ = (struct option){r->name,
						 r->argument ? required_argument : no_argument,
						 NULL, OPT_REPORT + i};
		if (r->option)
			*all++ = (struct option){r->option->name, required_argument, NULL,
						 OPT_MORE + i};
	}
	memcpy(all, common, sizeof(common));
}

void nvs_options_help(FILE *out)
{
	fputs("Usage: nvsnoop-report [report] [options] TRACE...\n"
	      "\n"
	      "Reports on traces recorded by libnvsnoop. Several traces are reported together.\n"
	      "\n",
	      out);
	nvs_report_help(out);
	fputs("\n"
	      "Output:\n"
	      "  --format=text|json|csv\n"
	      "                       output format (text)\n"
	      "  -s, --sort=COLUMN    sort by heading or key, largest first; -COLUMN: smallest\n"
	      "  -n, --rows=N         print the first N rows; 0: all, also the summary's APIs\n"
	      "  -o, --output=FILE    write to FILE, which must not exist; -: stdout\n"
	      "  --overwrite          replace the file of -o\n"
	      "  --color=auto|always|never\n"
	      "                       auto: on a terminal, unless NO_COLOR is set (auto)\n"
	      "  --wide               all columns, even if the terminal is too narrow\n"
	      "  --per-trace          one row for each of several traces, not their sum\n"
	      "  --no-pager           do not page on a terminal (else: $PAGER, or less -FRX)\n"
	      "\n"
	      "Selection (all but --range may be repeated; names may contain * and ?,\n"
	      "or be a regular expression between slashes; ! before a name excludes it):\n"
	      "  --range=A-B          submissions number A to B of each trace, and the calls\n"
	      "                       that made them; with units, a range of time:\n"
	      "                       1.5s-2s, 100ms-, 10%-20%\n"
	      "  --thread=THREAD      number, tid or name of a thread\n"
	      "  --channel=N          number of a channel; also the calls that submitted to it\n"
	      "  --api=API            a driver or runtime API, with or without _v2, _ptsz\n"
	      "  --nvtx=RANGE         work of a thread inside this NVTX range\n"
	      "\n"
	      "Reading:\n"
	      "  --partial            read a damaged trace up to the damage\n"
	      "  --spool=FILE         spool of the trace (default: next to the trace)\n"
	      "  --no-spool           do not read a spool\n"
	      "  --embed              print no report; store names and lines of call sites that\n"
	      "                       TRACE lacks in it, as this machine has them\n"
	      "\n"
	      "  -v, --verbose        name files whose symbols cannot be read; with --by-api\n"
	      "                       entry points that were looked up but whose calls are\n"
	      "                       not recorded; in the text of --dump and --raw show fields\n"
	      "                       that are 0, normally left out, and the class that\n"
	      "                       first had a method, as in cbc0:a0c0\n"
	      "  -h, --help           print this and exit\n"
	      "  -V, --version        print the version and exit\n"
	      "\n"
	      "TRACE may be - for standard input. Exits 0, 1 on failure, 2 on wrong usage.\n",
	      out);
}

static const char try_help[] = "Try 'nvsnoop-report --help'.\n";

static int fail_usage(const char *what, const char *value)
{
	char safe[256];

	nvs_escape(safe, sizeof(safe), value, strlen(value));
	fprintf(stderr, "nvsnoop-report: %s '%s'\n%s", what, safe, try_help);
	return -EINVAL;
}

static bool parse_number(const char *s, const char **end, uint64_t *value)
{
	char *stop;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*value = strtoull(s, &stop, 0);
	*end = stop;
	return !errno;
}

static int parse_format(struct nvs_options_report *o, const char *s)
{
	static const char *const names[] = {"text", "json", "csv"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(s, names[i])) {
			o->print.format = (enum nvs_format)i;
			return 0;
		}
	return fail_usage("unknown format", s);
}

static int parse_color(struct nvs_options_report *o, const char *s)
{
	static const char *const names[] = {"never", "auto", "always"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(s, names[i])) {
			o->print.color = i - 1;
			return 0;
		}
	return fail_usage("unknown colour mode", s);
}

static int add_pattern(struct nvs_patterns *list, const char *s)
{
	const char *trouble = nvs_patterns_add(list, s);

	return trouble ? fail_usage(trouble, s) : 0;
}

static int add_value(struct nvs_options_report *o, const struct nvs_report *r, const char *s)
{
	if (o->nmore >= NVS_MAX_PATTERNS || (o->more_of && o->more_of != r))
		return fail_usage("too many values at", s);
	o->more_of = r;
	o->more[o->nmore++] = s;
	return 0;
}

static int choose_report(struct nvs_options_report *o, const struct nvs_report *report)
{
	for (uint32_t i = 0; i < o->nreports; i++) {
		if (o->reports[i] == report)
			return 0;
		if (nvs_report_export_name(o->reports[i]) || nvs_report_export_name(report))
			return fail_usage("an export cannot be combined with another report:",
					  report->name);
		if (o->reports[i]->parts || report->parts)
			return fail_usage("--html cannot be combined with another report:",
					  report->name);
		if ((o->reports[i]->needs | report->needs) & NVS_NEED_PAIR)
			return fail_usage("--diff cannot be combined with another report:",
					  report->name);
		if (!(o->reports[i]->needs & report->needs & NVS_NEED_TRACE))
			return fail_usage("cannot be combined with another report:", report->name);
	}
	o->reports[o->nreports++] = report;
	return 0;
}

static int parse_rows(struct nvs_options_report *o, const char *s)
{
	const char *end;

	o->print.has_rows = true;
	return parse_number(s, &end, &o->print.rows) && !*end
		       ? 0
		       : fail_usage("invalid number of rows", s);
}

static int parse_channel(struct nvs_options_report *o, const char *s)
{
	const char *end;
	uint64_t n;

	if (!parse_number(s + (*s == '!'), &end, &n) || *end)
		return fail_usage("invalid channel", s);
	return add_pattern(&o->query.channel, s);
}

static int set_export(struct nvs_options_report *o, const char *s)
{
	const struct nvs_report *r;

	for (uint32_t i = 0; (r = nvs_report_by_index(i)); i++)
		if (nvs_report_export_name(r) && !strcmp(nvs_report_export_name(r), s))
			return choose_report(o, r);
	return fail_usage("unknown export", s);
}

static int set_report(struct nvs_options_report *o, int c)
{
	if (c >= OPT_MORE)
		return add_value(o, nvs_report_by_index((uint32_t)(c - OPT_MORE)), optarg);
	if (optarg)
		o->argument = optarg;
	return choose_report(o, nvs_report_by_index((uint32_t)(c - OPT_REPORT)));
}

static int set_option(struct nvs_options_report *o, int c)
{
	if (c >= OPT_REPORT)
		return set_report(o, c);
	switch (c) {
	case OPT_FORMAT:
		return parse_format(o, optarg);
	case 's':
		o->print.sort = optarg;
		return 0;
	case 'n':
		return parse_rows(o, optarg);
	case OPT_RANGE:
		return nvs_range_parse(&o->query.range, optarg)
			       ? 0
			       : fail_usage("invalid range", optarg);
	case OPT_THREAD:
		return add_pattern(&o->query.thread, optarg);
	case OPT_CHANNEL:
		return parse_channel(o, optarg);
	case OPT_API:
		return add_pattern(&o->query.api, optarg);
	case OPT_NVTX:
		return add_pattern(&o->query.nvtx, optarg);
	case OPT_EXPORT:
		return set_export(o, optarg);
	case 'o':
		o->print.output = strcmp(optarg, "-") ? optarg : NULL;
		return 0;
	case OPT_OVERWRITE:
		o->print.overwrite = true;
		return 0;
	case OPT_COLOR:
		return parse_color(o, optarg);
	case OPT_NO_PAGER:
		o->print.pager = false;
		return 0;
	case OPT_WIDE:
		o->print.wide = true;
		return 0;
	case OPT_PER_TRACE:
		o->query.per_trace = true;
		return 0;
	case OPT_PARTIAL:
		o->read.partial = true;
		return 0;
	case OPT_SPOOL:
		o->read.spool = optarg;
		return 0;
	case OPT_NO_SPOOL:
		o->read.no_spool = true;
		return 0;
	case OPT_EMBED:
		o->embed = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_LIST:
		o->list = optarg ? optarg : "reports";
		return 0;
	case OPT_STAND_IN:
		o->stand_in = optarg;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	}
	fputs(try_help, stderr);
	return -EINVAL;
}

/* Checks that the reports can be printed in the format of --format. */
static int check_format(const struct nvs_options_report *o)
{
	static const char *const words[] = {"text", " or json", " or csv"};

	if (o->print.format == NVS_FORMAT_CSV && o->nreports > 1)
		return fail_usage("CSV has room for one report only, not also for",
				  o->reports[1]->name);
	for (uint32_t i = 0; i < o->nreports; i++) {
		const struct nvs_report *r = o->reports[i];

		if (r->prints >> o->print.format & 1)
			continue;
		if (!strncmp(r->name, "export=", 7)) {
			fprintf(stderr,
				"nvsnoop-report: --%s has a fixed format: --format is for "
				"reports\n",
				r->name);
			return -EINVAL;
		}
		fprintf(stderr, "nvsnoop-report: --%s is ", r->name);
		for (int f = 0; f < 3; f++)
			fputs(r->prints >> f & 1 ? words[f] : "", stderr);
		fputc('\n', stderr);
		return -EINVAL;
	}
	return 0;
}

/* Checks the second option of a report: it needs that report, and a moment has to parse. */
static int check_values(const struct nvs_options_report *o)
{
	const struct nvs_report *r = o->more_of;

	struct nvs_range moment;

	if (!r || r == o->reports[0]) {
		if (!r || !r->option->timed)
			return 0;
		return o->nmore == 1 && nvs_moment_parse(&moment, o->more[0])
			       ? 0
			       : fail_usage(
					 "a time is required, for example 1.5s, 200ms or 50%, not",
					 o->more[0]);
	}
	fprintf(stderr, "nvsnoop-report: --%s requires --%s: '%s'\n%s", r->option->name, r->name,
		o->more[0], try_help);
	return -EINVAL;
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
		return fail_usage(prints & NVS_PRINTS_FILE ? "-o FILE is required for"
							   : "-o DIR is required for",
				  o->reports[0]->name);
	if (!o->print.output && prints & NVS_PRINTS_BINARY && isatty(STDOUT_FILENO))
		return fail_usage("use -o FILE or a pipe; binary output does not go to a terminal:",
				  o->reports[0]->name);
	if (!o->print.output || stat(o->print.output, &st))
		return 0;
	if (prints & NVS_PRINTS_FOLDER)
		return fail_usage(
			"the output directory already exists; remove it or use another name:",
			o->print.output);
	if (prints & NVS_PRINTS_FILE && !S_ISREG(st.st_mode))
		return fail_usage("not a regular file:", o->print.output);
	if (!S_ISREG(st.st_mode))
		return 0;
	if (!o->print.overwrite)
		return fail_usage(
			"the output file already exists; use --overwrite or another name:",
			o->print.output);
	return is_read(o, &st) ? fail_usage("the output would replace an input:", o->print.output)
			       : 0;
}

/* "FILE:NUMBER", unless there is a file of that name. */
static bool cut_number(char *name, uint64_t *number)
{
	char *colon = strrchr(name, ':');
	const char *end;

	if (!colon || !access(name, F_OK) || !parse_number(colon + 1, &end, number) || *end)
		return false;
	*colon = '\0';
	return true;
}

static int check_pair(struct nvs_options_report *o)
{
	bool first, second;

	if (!(o->reports[0]->needs & NVS_NEED_PAIR))
		return 0;
	if (o->nfiles != 2) {
		fprintf(stderr, "nvsnoop-report: --diff takes two traces\n%s", try_help);
		return -EINVAL;
	}
	first = cut_number(o->files[0], o->number);
	second = cut_number(o->files[1], o->number + 1);
	o->numbered = first && second;
	return first == second ? 0
			       : fail_usage("give the number of a submission for both traces or "
					    "none, not only for",
					    o->files[second]);
}

static int check_files(const struct nvs_options_report *o)
{
	uint32_t takes = o->reports[0]->needs & (NVS_NEED_TRACE | NVS_NEED_FILES);

	if (takes && !o->nfiles) {
		fprintf(stderr, "nvsnoop-report: no %s given\n%s",
			takes & NVS_NEED_FILES ? "file" : "trace", try_help);
		return -EINVAL;
	}
	return !takes && o->nfiles ? fail_usage("--classes and --class take no file:", o->files[0])
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
		return fail_usage(
			"-s does not apply to --html, whose tables are sorted in the browser:",
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
	struct option all[2 * NVS_MAX_REPORTS + COMMON];
	static char name[] = "nvsnoop-report";
	const struct nvs_report *r;
	int c;

	memset(o, 0, sizeof(*o));
	o->print.pager = true;
	o->progress = isatty(STDERR_FILENO);
	collect_options(all);
	o->called = argc ? argv[0] : name;
	if (argc)
		argv[0] = name; /* getopt begins its messages with it */
	while ((c = getopt_long(argc, argv, "s:n:o:vhV", all, NULL)) != -1)
		if (set_option(o, c))
			return -EINVAL;
	o->files = argv + optind;
	o->nfiles = argc - optind;
	if (o->help || o->version || o->list)
		return 0;
	if (o->embed && o->nreports)
		return fail_usage("--embed cannot be combined with a report:", o->reports[0]->name);
	for (uint32_t i = 0; !o->nreports && (r = nvs_report_by_index(i)); i++)
		if (r->standard)
			o->reports[o->nreports++] = r;
	o->print.pager &= !nvs_only_verdicts(o);
	if (check_values(o) || check_files(o) || check_pair(o) || check_output(o))
		return -EINVAL;
	if (check_format(o) || add_parts(o))
		return -EINVAL;
	o->query.rows = o->print.rows;
	o->print.folder = o->reports[0]->prints & NVS_PRINTS_FOLDER;
	set_signs(o);
	return 0;
}
