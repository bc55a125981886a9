/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-top. */
#include <stdio.h>
#include <string.h>
#include "decode/cli/options.h"
#include "decode/cli/units.h"
#include "nvsnoop/decode.h"
#include "live/top/columns.h"
#include "live/top/options.h"

bool nvs_top_parse_interval(const char *text, double *seconds)
{
	uint64_t ns;

	if (!nvs_read_decimal(&text, NVS_NS, NVS_TOP_INTERVAL_MAX, &ns) || *text ||
	    ns < NVS_TOP_INTERVAL_MIN)
		return false;
	*seconds = (double)ns / 1e9;
	return true;
}

static int set_interval(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_top_options *o = target;

	return nvs_top_parse_interval(text, &o->interval) ? 0 : NVS_OPTION_WRONG;
}

static int set_pids(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_top_options *o = target;
	const char *at = text;
	uint64_t pid;

	for (;; at++) {
		if (!nvs_read_number(&at, INT32_MAX, &pid) || !pid || (*at && *at != ','))
			return NVS_OPTION_WRONG;
		if (o->npids == NVS_TOP_PIDS)
			return nvs_usage_error("too many process IDs at '%s'", text);
		o->pids[o->npids++] = (uint32_t)pid;
		if (!*at)
			return 0;
	}
}

static int set_sort(const struct nvs_option *option, void *target, const char *text)
{
	char safe[256];

	((struct nvs_top_options *)target)->sort = text;
	if (nvs_top_column(text))
		return 0;
	nvs_escape(safe, sizeof(safe), text, strlen(text));
	fprintf(stderr, "nvsnoop-top: no column '%s'; the columns are\n ", safe);
	for (int i = 0; i < NVS_TOP_COLUMNS; i++)
		fprintf(stderr, "%s%s", i == NVS_TOP_COLUMNS / 2 ? "\n  " : " ",
			nvs_top_columns[i].key);
	fputc('\n', stderr);
	return NVS_USAGE_ERROR;
}

#define INTO(kind, field) NVS_OPTION_INTO(kind, struct nvs_top_options, field)

static const struct nvs_option known[] = {
	{"interval", "SECONDS", "time between two updates, over which rates are taken", "1",
	 "0.1 to 3600 seconds", 'd', .set = set_interval},
	{"pid", "PID",
	 "show only this process, in detail: kernels, entry points, copies, memory, errors, "
	 "channels, threads. May be given more than once, or as PID,PID",
	 NULL, "a process ID, or several as in 12,34", 'p', .set = set_pids},
	{"sort", "COLUMN", "sort by a heading or key, largest first; -COLUMN sorts smallest first",
	 .letter = 's', .set = set_sort},
	{"once", .help = "measure one interval, print, and exit", INTO(CONSTANT, once),
	 .min = true},
	{"hang",
	 .help = "explain where processes hang and what waits for what, by nvsnoop-report --hang "
		 "for those that write a trace, else from their live pages; of the processes "
		 "PID..., or all",
	 INTO(CONSTANT, hang), .min = true},
	{"blocks", .help = "print totals in GPUprobe's format", INTO(CONSTANT, format),
	 .min = NVS_TOP_BLOCKS},
	{"format", "text|json", "lines of text, or one JSON object for each update",
	 INTO(WORD, format)},
	{"folder", "FOLDER",
	 "look for live pages only in FOLDER, for example in a container's: "
	 "/proc/PID/root/tmp/nvsnoop-0",
	 INTO(TEXT, folder)},
	{NULL},
};

int nvs_top_options(struct nvs_top_options *o, int argc, char **argv)
{
	struct nvs_command_line line = {
		.program = "nvsnoop-top",
		.usage = "Usage: nvsnoop-top [options]\n"
			 "       nvsnoop-top --hang [PID]...\n"
			 "\n"
			 "Shows what CUDA programs that run under nvsnoop are doing now: programs "
			 "of this\n"
			 "user, or of all users for root. On a terminal the view is refreshed as "
			 "in top;\n"
			 "press h for the keys. Otherwise it prints lines.\n",
		.notes = "Exit status: 0, 1 on failure, 2 on a usage error.\n",
		.options = known,
		.target = o,
	};
	int status, i;

	*o = (struct nvs_top_options){.interval = 1, .format = NVS_TOP_SCREEN};
	status = nvs_command_line_parse(&line, argc, argv);
	if (status >= 0)
		return status;
	for (i = line.operand; o->hang && i < argc; i++) {
		status = set_pids(known, o, argv[i]);
		if (status == NVS_OPTION_WRONG)
			return nvs_usage_error("invalid process ID '%s'", argv[i]);
		if (status)
			return status;
	}
	if (i < argc)
		return nvs_usage_error("unexpected argument '%s'", argv[i]);
	if (o->hang && (o->sort || o->format == NVS_TOP_JSON || o->format == NVS_TOP_BLOCKS))
		return nvs_usage_error("--hang excludes --format, --blocks and --sort");
	return -1;
}
