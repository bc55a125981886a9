/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-top. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nvsnoop/decode.h"
#include "live/top/columns.h"
#include "live/top/options.h"

enum { OPT_ONCE = 256, OPT_BLOCKS, OPT_FORMAT, OPT_FOLDER, OPT_HANG };

static const struct option known[] = {
	{"interval", required_argument, NULL, 'd'},
	{"pid", required_argument, NULL, 'p'},
	{"sort", required_argument, NULL, 's'},
	{"once", no_argument, NULL, OPT_ONCE},
	{"hang", no_argument, NULL, OPT_HANG},
	{"blocks", no_argument, NULL, OPT_BLOCKS},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"folder", required_argument, NULL, OPT_FOLDER},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

void nvs_top_print_help(void)
{
	fputs("Usage: nvsnoop-top [options]\n"
	      "       nvsnoop-top --hang [PID]...\n"
	      "\n"
	      "Shows what CUDA programs that run under nvsnoop are doing now: programs of this\n"
	      "user, or of all users for root. On a terminal the view is refreshed as in top;\n"
	      "press h for the keys. Otherwise it prints lines.\n"
	      "\n"
	      "  -d, --interval=SECONDS\n"
	      "                       time between two updates, over which rates are taken (1)\n"
	      "  -p, --pid=PID        show only this process, in detail: kernels, entry points,\n"
	      "                       copies, memory, errors, channels, threads. May be given\n"
	      "                       more than once, or as PID,PID\n"
	      "  -s, --sort=COLUMN    sort by a heading or key, largest first; -COLUMN sorts\n"
	      "                       smallest first\n"
	      "      --once           measure one interval, print, and exit\n"
	      "      --hang [PID]...  explain where processes hang and what waits for what, by\n"
	      "                       nvsnoop-report --hang for those that write a trace,\n"
	      "                       else from their live pages\n"
	      "      --blocks         print totals in GPUprobe's format\n"
	      "      --format=text|json\n"
	      "                       lines of text, or one JSON object for each update\n"
	      "      --folder=FOLDER  look for live pages only in FOLDER, for example in a\n"
	      "                       container's: /proc/PID/root/tmp/nvsnoop-0\n"
	      "  -h, --help           print this and exit\n"
	      "  -V, --version        print the version and exit\n"
	      "\n"
	      "Exit status: 0, 1 on failure, 2 on a usage error.\n",
	      stdout);
}

static int report_usage_error(const char *what, const char *value)
{
	char safe[256];

	nvs_escape(safe, sizeof(safe), value, strlen(value));
	fprintf(stderr, "nvsnoop-top: %s '%s'\nTry 'nvsnoop-top --help'.\n", what, safe);
	return -EINVAL;
}

bool nvs_top_parse_interval(const char *text, double *seconds)
{
	char *end;
	double value = strtod(text, &end);

	if (*text < '.' || *text > '9' || *text == '/' || *end ||
	    !(value >= NVS_TOP_INTERVAL_MIN && value <= NVS_TOP_INTERVAL_MAX))
		return false;
	*seconds = value;
	return true;
}

static int parse_pids(struct nvs_top_options *o, const char *text)
{
	const char *at = text;
	char *end;

	for (;; at = end + 1) {
		unsigned long pid = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || (*end && *end != ',') || !pid || pid > INT32_MAX)
			return report_usage_error("invalid process ID", text);
		if (o->npids == NVS_TOP_PIDS)
			return report_usage_error("too many process IDs at", text);
		o->pids[o->npids++] = (uint32_t)pid;
		if (!*end)
			return 0;
	}
}

static int parse_format(struct nvs_top_options *o, const char *text)
{
	if (!strcmp(text, "text"))
		o->format = NVS_TOP_TEXT;
	else if (!strcmp(text, "json"))
		o->format = NVS_TOP_JSON;
	else
		return report_usage_error("unknown format", text);
	return 0;
}

static int parse_sort(struct nvs_top_options *o, const char *text)
{
	char safe[256];

	o->sort = text;
	if (nvs_top_column(text))
		return 0;
	nvs_escape(safe, sizeof(safe), text, strlen(text));
	fprintf(stderr, "nvsnoop-top: no column '%s'; the columns are\n ", safe);
	for (int i = 0; i < NVS_TOP_COLUMNS; i++)
		fprintf(stderr, "%s%s", i == NVS_TOP_COLUMNS / 2 ? "\n  " : " ",
			nvs_top_columns[i].of.name);
	fputc('\n', stderr);
	return -EINVAL;
}

static int set_option(struct nvs_top_options *o, int c)
{
	switch (c) {
	case 'd':
		return nvs_top_parse_interval(optarg, &o->interval)
			       ? 0
			       : report_usage_error("the interval must be 0.1 to 3600 seconds, not",
						    optarg);
	case 'p':
		return parse_pids(o, optarg);
	case 's':
		return parse_sort(o, optarg);
	case OPT_ONCE:
		o->once = true;
		return 0;
	case OPT_HANG:
		o->hang = true;
		return 0;
	case OPT_BLOCKS:
		o->format = NVS_TOP_BLOCKS;
		return 0;
	case OPT_FORMAT:
		return parse_format(o, optarg);
	case OPT_FOLDER:
		o->folder = optarg;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	}
	fputs("Try 'nvsnoop-top --help'.\n", stderr);
	return -EINVAL;
}

int nvs_top_options(struct nvs_top_options *o, int argc, char **argv)
{
	static char name[] = "nvsnoop-top";
	int c, r;

	*o = (struct nvs_top_options){.interval = 1};
	if (argc)
		argv[0] = name; /* getopt begins its messages with it */
	while ((c = getopt_long(argc, argv, "d:p:s:hV", known, NULL)) != -1) {
		r = set_option(o, c);
		if (r)
			return r;
	}
	while (o->hang && optind < argc) {
		r = parse_pids(o, argv[optind++]);
		if (r)
			return r;
	}
	if (optind < argc)
		return report_usage_error("unknown argument", argv[optind]);
	if (o->hang && (o->sort || o->format == NVS_TOP_JSON || o->format == NVS_TOP_BLOCKS))
		return report_usage_error("no --format, --blocks or --sort can be given with",
					  "--hang");
	return 0;
}
