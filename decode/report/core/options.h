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
	const struct nvs_report *reports[NVS_MAX_REPORTS]; /* in the order asked for */
	uint32_t nreports; /* 1 at least */
	const char *argument; /* of the one report that takes one */
	const char *more[NVS_MAX_PATTERNS]; /* values of a report's further option */
	uint32_t nmore;
	const struct nvs_report *more_of; /* whose option that is */
	struct nvs_print_options print;
	struct nvs_query query;
	bool verbose; /* each file that could not be read */
	bool progress;
	bool embed; /* no report: names go into the traces */
	bool page; /* --html: of the summary its sentences alone; what there is none of it says */
	bool help, version;
	const char *called; /* as we were called: for commands that are shown */
	const char *stand_in; /* in these for the trace, which will not be kept */
	const char *list; /* the registry for scripts: "reports", "columns" or "man" */
	struct nvs_read_options read;
	char **files;
	int nfiles;
	uint64_t number[2]; /* of NVS_NEED_PAIR, where NUMBERED: FILE:NUMBER was given */
	bool numbered;
};

/* 0, or -EINVAL with a message on stderr: exit 2. To be freed either way. */
int nvs_options_parse(struct nvs_options_report *o, int argc, char **argv);
void nvs_options_free(struct nvs_options_report *o);
void nvs_options_help(FILE *out);

#endif
