/* SPDX-License-Identifier: MIT */
/* nvsnoop-record: its command line, and the processes it selects. */
#ifndef NVSNOOP_LIVE_RECORD_RECORD_H
#define NVSNOOP_LIVE_RECORD_RECORD_H

#include "decode/cli/pattern.h"
#include "live/read/page_set.h"
#include "preload/base/options.h"

#define NVS_RECORD_PIDS 64

struct nvs_record_options {
	const char *out; /* pattern of the traces' names; NULL: the default */
	uint32_t pids[NVS_RECORD_PIDS], npids;
	bool all, quiet;
	struct nvs_patterns names; /* of programs or jobs */
	uint64_t submissions; /* 0: no limit */
	struct nvs_option_values values; /* what OPTIONS means */
	char options[2000]; /* for the processes, as in NVSNOOP_OPTIONS */
};

/* Returns -1 to continue, or the exit status. */
int nvs_record_options_parse(struct nvs_record_options *o, int argc, char **argv);

/* The pages of the selected processes. Those of other mount namespaces are in sets of their own. */
struct nvs_record_target {
	const struct nvs_page *page;
	uint32_t pid; /* as this program sees it */
};
struct nvs_record_targets {
	struct nvs_pages **sets;
	struct nvs_record_target *list;
	uint32_t nsets, n;
	uint32_t missing; /* processes that are selected and have no page; the reasons were printed
			   */
};

/* Finds the processes. Returns 0 or -ENOMEM. */
int nvs_record_find(const struct nvs_record_options *o, struct nvs_record_targets *targets);
void nvs_record_free(struct nvs_record_targets *targets);
/* Prints a message about a process on stderr. */
void nvs_record_complain(uint32_t pid, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
