/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-report. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_OPTIONS_H
#define NVSNOOP_DECODE_REPORT_CORE_OPTIONS_H

#include "decode/cli/output.h"
#include "decode/cli/pattern.h"
#include "decode/query/source.h"
#include "nvsnoop/decode.h"

#define NVS_MAX_REPORTS 64

struct nvs_report;

struct nvs_options_report {
	const struct nvs_report *reports[NVS_MAX_REPORTS]; /* in the order of the command line */
	uint32_t nreports; /* 1 at least */
	const char *argument; /* argument of the one report that takes one */
	const char *more[NVS_MAX_PATTERNS]; /* values of a report's second option */
	uint32_t nmore;
	const struct nvs_report *more_of; /* the report of that option */
	struct nvs_print_options print;
	struct nvs_query query;
	bool verbose; /* -v: list each file that could not be read */
	bool progress;
	bool embed; /* no report: store names in the traces */
	bool page; /* --html: the summary has its sentences only, and the page itself says what is
		      missing */
	const char *called; /* argv[0], for printed commands */
	const char *stand_in; /* printed in commands instead of the trace, which will be deleted */
	const char *list; /* print the registry for scripts: "reports", "columns" or "man" */
	struct nvs_read_options read;
	char **files;
	int nfiles;
	uint64_t number[2]; /* of NVS_NEED_PAIR, if NUMBERED: as given in FILE:NUMBER */
	bool numbered;
};

/* Returns -1 to continue, or the exit status: help or version was printed, or an error message.
 * Free O in either case. */
int nvs_options_parse(struct nvs_options_report *o, int argc, char **argv);
void nvs_options_free(struct nvs_options_report *o);

#endif
