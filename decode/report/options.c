/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-report. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/report/report.h"

enum {
	OPT_BY_API = 256,
	OPT_BY_CALLSITE,
	OPT_CHANNELS,
	OPT_VERIFY,
	OPT_DUMP,
	OPT_OPS,
	OPT_SYNC,
	OPT_BY_KERNEL,
	OPT_GRAPHS,
	OPT_MEMCPY,
	OPT_BY_STREAM,
	OPT_BY_THREAD,
	OPT_BY_CONTEXT,
	OPT_TIMELINE,
	OPT_CLASSES,
	OPT_CLASS,
	OPT_RAW,
	OPT_SUBCH,
	OPT_FORMAT,
	OPT_RANGE,
	OPT_THREAD,
	OPT_CHANNEL,
	OPT_API,
	OPT_COLOR,
	OPT_NO_PAGER,
	OPT_WIDE,
	OPT_PARTIAL,
	OPT_SPOOL,
	OPT_NO_SPOOL,
};

static const struct option longs[] = {
	{"by-api", no_argument, NULL, OPT_BY_API},
	{"by-callsite", no_argument, NULL, OPT_BY_CALLSITE},
	{"channels", no_argument, NULL, OPT_CHANNELS},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"dump", no_argument, NULL, OPT_DUMP},
	{"ops", no_argument, NULL, OPT_OPS},
	{"sync", no_argument, NULL, OPT_SYNC},
	{"by-kernel", no_argument, NULL, OPT_BY_KERNEL},
	{"graphs", no_argument, NULL, OPT_GRAPHS},
	{"memcpy", no_argument, NULL, OPT_MEMCPY},
	{"by-stream", no_argument, NULL, OPT_BY_STREAM},
	{"by-thread", no_argument, NULL, OPT_BY_THREAD},
	{"by-context", no_argument, NULL, OPT_BY_CONTEXT},
	{"timeline", no_argument, NULL, OPT_TIMELINE},
	{"classes", no_argument, NULL, OPT_CLASSES},
	{"class", required_argument, NULL, OPT_CLASS},
	{"raw", no_argument, NULL, OPT_RAW},
	{"subch", required_argument, NULL, OPT_SUBCH},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"sort", required_argument, NULL, 's'},
	{"rows", required_argument, NULL, 'n'},
	{"range", required_argument, NULL, OPT_RANGE},
	{"thread", required_argument, NULL, OPT_THREAD},
	{"channel", required_argument, NULL, OPT_CHANNEL},
	{"api", required_argument, NULL, OPT_API},
	{"color", required_argument, NULL, OPT_COLOR},
	{"no-pager", no_argument, NULL, OPT_NO_PAGER},
	{"wide", no_argument, NULL, OPT_WIDE},
	{"partial", no_argument, NULL, OPT_PARTIAL},
	{"spool", required_argument, NULL, OPT_SPOOL},
	{"no-spool", no_argument, NULL, OPT_NO_SPOOL},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

void nvs_options_help(FILE *out)
{
	fputs("Usage: nvsnoop-report [report] [options] TRACE...\n"
	      "\n"
	      "Reports what libnvsnoop recorded. Several traces are reported together.\n"
	      "\n"
	      "Reports (without one: a summary):\n"
	      "  --by-api             per driver API and the runtime API above it\n"
	      "  --by-callsite        per API and the program's own frame that called it\n"
	      "  --by-kernel          per kernel: launches, direct and by graphs\n"
	      "  --graphs             per executable graph: nodes, and what a launch costs\n"
	      "  --memcpy             copies by direction, memory, mode and size\n"
	      "  --by-stream          per stream\n"
	      "  --by-thread          per thread\n"
	      "  --by-context         per context\n"
	      "  --timeline           calls and submissions in order of time\n"
	      "  --channels           per channel\n"
	      "  --ops                what every submission does: copies, launches, semaphores\n"
	      "  --dump               every submission with its entries and methods in words\n"
	      "  --sync               each acquire with the release that it waits for\n"
	      "  --verify             is the trace whole? Exits 0: whole; 1: something missing,\n"
	      "                       or it cannot be read; 3: whole up to the program's crash\n"
	      "\n"
	      "Without a trace:\n"
	      "  --classes            the classes whose methods are known\n"
	      "  --class=CLASS        the methods of one (cbc0), or of descriptors (04_00)\n"
	      "  --raw                TRACE... are bare files of pushbuffer dwords; exits 1\n"
	      "                       where some had to be passed over\n"
	      "  --subch=N=CLASS      with --raw: class of a subchannel; may be given for each\n"
	      "\n"
	      "Output:\n"
	      "  --format=FORMAT      text (default), json or csv\n"
	      "  -s, --sort=COLUMN    largest first; -COLUMN: smallest first\n"
	      "  -n, --rows=N         the first N rows only\n"
	      "  --color=WHEN         auto (default), always or never\n"
	      "  --wide               all columns, also where a terminal is too narrow for them\n"
	      "  --no-pager           do not page on a terminal (else: $PAGER, or less -FRX)\n"
	      "\n"
	      "Selection (each but --range may be given more than once; API may hold * and ?):\n"
	      "  --range=A-B          submissions number A to B of each trace\n"
	      "  --thread=THREAD      number, tid or name of a thread\n"
	      "  --channel=N          number of a channel\n"
	      "  --api=API            name of a driver or runtime API\n"
	      "\n"
	      "Reading:\n"
	      "  --partial            of a damaged trace, the whole frames before the damage\n"
	      "  --spool=FILE         where the trace's spool lies (else: beside it)\n"
	      "  --no-spool           the trace alone\n"
	      "\n"
	      "  -v, --verbose        name each file whose symbols cannot be read, and each\n"
	      "                       entry point that --by-api only counts; in the text of\n"
	      "                       --dump and --raw show fields that are 0, which are left\n"
	      "                       out else, and the class that first had a method, as in\n"
	      "                       cbc0:a0c0\n"
	      "  -h, --help           print this and exit\n"
	      "  -V, --version        print the version and exit\n"
	      "\n"
	      "TRACE may be - for standard input. Exits 0, or 1 on failure, 2 on wrong usage.\n",
	      out);
}

static const char try_help[] = "Try 'nvsnoop-report --help'.\n";

static int wrong(const char *what, const char *value)
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

/* A, A-B, A-, -B */
static int parse_range(struct nvs_options_report *o, const char *s)
{
	const char *p = s;

	o->has_range = true;
	o->first = 0;
	o->last = UINT64_MAX;
	if (*p != '-') {
		if (!parse_number(p, &p, &o->first))
			return wrong("wrong range", s);
		if (!*p)
			o->last = o->first;
	}
	if (*p == '-' && *++p && !parse_number(p, &p, &o->last))
		return wrong("wrong range", s);
	return *p || !*s || !strcmp(s, "-") || o->first > o->last ? wrong("wrong range", s) : 0;
}

static int parse_format(struct nvs_options_report *o, const char *s)
{
	static const char *const names[] = {"text", "json", "csv"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(s, names[i])) {
			o->format = (enum nvs_format)i;
			return 0;
		}
	return wrong("unknown format", s);
}

static int parse_color(struct nvs_options_report *o, const char *s)
{
	static const char *const names[] = {"never", "auto", "always"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(s, names[i])) {
			o->color = i - 1;
			return 0;
		}
	return wrong("unknown colour mode", s);
}

static int add_filter(const char **list, uint32_t *n, const char *s)
{
	if (*n >= NVS_MAX_FILTERS)
		return wrong("too many filters at", s);
	list[(*n)++] = s;
	return 0;
}

static int choose(struct nvs_options_report *o, bool *chosen, enum nvs_report_kind kind)
{
	if (*chosen && o->kind != kind)
		return wrong("more than one report", longs[kind - NVS_REPORT_BY_API].name);
	*chosen = true;
	o->kind = kind;
	return 0;
}

static int parse_rows(struct nvs_options_report *o, const char *s)
{
	const char *end;

	return parse_number(s, &end, &o->rows) && !*end && o->rows
		       ? 0
		       : wrong("wrong number of rows", s);
}

static int parse_channel(struct nvs_options_report *o, const char *s)
{
	const char *end;
	uint64_t n;

	if (!parse_number(s, &end, &n) || *end)
		return wrong("wrong channel", s);
	return add_filter(o->channel, &o->nchannel, s);
}

static int take(struct nvs_options_report *o, int c, bool *chosen)
{
	switch (c) {
	case OPT_BY_API:
	case OPT_BY_CALLSITE:
	case OPT_CHANNELS:
	case OPT_VERIFY:
	case OPT_DUMP:
	case OPT_OPS:
	case OPT_SYNC:
	case OPT_BY_KERNEL:
	case OPT_GRAPHS:
	case OPT_MEMCPY:
	case OPT_BY_STREAM:
	case OPT_BY_THREAD:
	case OPT_BY_CONTEXT:
	case OPT_TIMELINE:
	case OPT_CLASSES:
	case OPT_CLASS:
	case OPT_RAW:
		if (c == OPT_CLASS)
			o->cls = optarg;
		return choose(o, chosen,
			      (enum nvs_report_kind)(NVS_REPORT_BY_API + c - OPT_BY_API));
	case OPT_FORMAT:
		return parse_format(o, optarg);
	case 's':
		o->sort = optarg;
		return 0;
	case 'n':
		return parse_rows(o, optarg);
	case OPT_RANGE:
		return parse_range(o, optarg);
	case OPT_THREAD:
		return add_filter(o->thread, &o->nthread, optarg);
	case OPT_SUBCH:
		return add_filter(o->subch, &o->nsubch, optarg);
	case OPT_CHANNEL:
		return parse_channel(o, optarg);
	case OPT_API:
		return add_filter(o->api, &o->napi, optarg);
	case OPT_COLOR:
		return parse_color(o, optarg);
	case OPT_NO_PAGER:
		o->pager = false;
		return 0;
	case OPT_WIDE:
		o->wide = true;
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
	case 'v':
		o->verbose = true;
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

static int check_files(const struct nvs_options_report *o)
{
	if (o->kind == NVS_REPORT_CLASSES || o->kind == NVS_REPORT_CLASS)
		return o->nfiles ? wrong("--classes and --class take no file, as", o->files[0]) : 0;
	if (o->nsubch && o->kind != NVS_REPORT_RAW)
		return wrong("--subch goes with --raw:", o->subch[0]);
	if (!o->nfiles) {
		fprintf(stderr, "nvsnoop-report: no %s given\n%s",
			o->kind == NVS_REPORT_RAW ? "file" : "trace", try_help);
		return -EINVAL;
	}
	return 0;
}

int nvs_options_parse(struct nvs_options_report *o, int argc, char **argv)
{
	bool chosen = false;
	int c;

	memset(o, 0, sizeof(*o));
	o->pager = true;
	o->progress = isatty(STDERR_FILENO);
	while ((c = getopt_long(argc, argv, "s:n:vhV", longs, NULL)) != -1)
		if (take(o, c, &chosen))
			return -EINVAL;
	o->files = argv + optind;
	o->nfiles = argc - optind;
	if (o->help || o->version)
		return 0;
	return check_files(o);
}
