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

void nvs_top_help(void)
{
	fputs("Usage: nvsnoop-top [options]\n"
	      "       nvsnoop-top --hang [PID]...\n"
	      "\n"
	      "Shows what the CUDA programs do that run under nvsnoop now: those of this user,\n"
	      "or of all users for root. On a terminal it is renewed, as top is; keys are told\n"
	      "by h. Elsewhere it prints lines.\n"
	      "\n"
	      "  -d, --interval=SECONDS\n"
	      "                       time between two looks, and what rates are of (1)\n"
	      "  -p, --pid=PID        this process alone; may be given more than once, or as\n"
	      "                       PID,PID. Of one process all is told: kernels, entry\n"
	      "                       points, copies, memory, errors, channels, threads\n"
	      "  -s, --sort=COLUMN    largest first; -COLUMN: smallest first; by heading or key\n"
	      "      --once           look for one interval, print, and exit\n"
	      "      --hang [PID]...  say what processes hang in, and who waits for whom: by\n"
	      "                       nvsnoop-report --hang where they write traces, else by\n"
	      "                       what they show here\n"
	      "      --blocks         totals as GPUprobe prints them\n"
	      "      --format=text|json\n"
	      "                       lines for a person, or one object a look\n"
	      "      --folder=FOLDER  look for processes' pages there alone, as in that of a\n"
	      "                       container: /proc/PID/root/tmp/nvsnoop-0\n"
	      "  -h, --help           print this and exit\n"
	      "  -V, --version        print the version and exit\n"
	      "\n"
	      "Exits 0, or 1 on failure, 2 on wrong usage.\n",
	      stdout);
}

static int wrong(const char *what, const char *value)
{
	char safe[256];

	nvs_escape(safe, sizeof(safe), value, strlen(value));
	fprintf(stderr, "nvsnoop-top: %s '%s'\nTry 'nvsnoop-top --help'.\n", what, safe);
	return -EINVAL;
}

bool nvs_top_interval(const char *text, double *seconds)
{
	char *end;
	double value = strtod(text, &end);

	if (*text < '.' || *text > '9' || *text == '/' || *end ||
	    !(value >= NVS_TOP_INTERVAL_MIN && value <= NVS_TOP_INTERVAL_MAX))
		return false;
	*seconds = value;
	return true;
}

static int take_pids(struct nvs_top_options *o, const char *text)
{
	const char *at = text;
	char *end;

	for (;; at = end + 1) {
		unsigned long pid = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || (*end && *end != ',') || !pid || pid > INT32_MAX)
			return wrong("wrong process id", text);
		if (o->npids == NVS_TOP_PIDS)
			return wrong("too many process ids at", text);
		o->pids[o->npids++] = (uint32_t)pid;
		if (!*end)
			return 0;
	}
}

static int take_format(struct nvs_top_options *o, const char *text)
{
	if (!strcmp(text, "text"))
		o->format = NVS_TOP_TEXT;
	else if (!strcmp(text, "json"))
		o->format = NVS_TOP_JSON;
	else
		return wrong("unknown format", text);
	return 0;
}

static int take_sort(struct nvs_top_options *o, const char *text)
{
	char safe[256];

	o->sort = text;
	if (nvs_top_column(text))
		return 0;
	nvs_escape(safe, sizeof(safe), text, strlen(text));
	fprintf(stderr, "nvsnoop-top: no column '%s'; there are\n ", safe);
	for (int i = 0; i < NVS_TOP_COLUMNS; i++)
		fprintf(stderr, "%s%s", i == NVS_TOP_COLUMNS / 2 ? "\n  " : " ",
			nvs_top_columns[i].key);
	fputc('\n', stderr);
	return -EINVAL;
}

static int take(struct nvs_top_options *o, int c)
{
	switch (c) {
	case 'd':
		return nvs_top_interval(optarg, &o->interval)
			       ? 0
			       : wrong("an interval is 0.1 to 3600 seconds, not", optarg);
	case 'p':
		return take_pids(o, optarg);
	case 's':
		return take_sort(o, optarg);
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
		return take_format(o, optarg);
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
		r = take(o, c);
		if (r)
			return r;
	}
	while (o->hang && optind < argc) {
		r = take_pids(o, argv[optind++]);
		if (r)
			return r;
	}
	if (optind < argc)
		return wrong("unknown argument", argv[optind]);
	if (o->hang && (o->sort || o->format == NVS_TOP_JSON || o->format == NVS_TOP_BLOCKS))
		return wrong("says words alone, in no format and no order:", "--hang");
	return 0;
}
