/* SPDX-License-Identifier: MIT */
/* The summary's sentences about a trace: what happened, which calls took the host's time, and
 * findings. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_SENTENCES_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_SENTENCES_H

#include "decode/analysis/session_stats.h"
#include "decode/report/core/report.h"
#include "decode/report/summary/causes.h"

/* Input of the sentences. */
struct nvs_summary_input {
	const struct nvs_source *source;
	const struct nvs_options_report *options;
	const struct nvs_session_stats *facts;
	const struct nvs_causes *causes; /* NULL: of several traces */
	const char *command; /* command line of the program; "" if unknown */
	const char *rank; /* "3 of 8, local rank ..", printed up to the comma; or "" */
	const struct nvs_tally *tally; /* of the selected submissions */
	uint64_t submissions, bytes; /* of the selected submissions, too */
	bool uncounted; /* level=counts: only these two are known */
	bool called; /* the trace has calls */
	bool several; /* about several programs: "they" instead of "it" */
};

/* Returns true if the filters select nothing of the trace. */
bool nvs_summary_is_empty(const struct nvs_summary_input *story);
/* Both return 0 or -ENOMEM. */
int nvs_summary_print(struct nvs_out *out, const struct nvs_summary_input *story);
/* For several traces: FACTS has only what nvs_facts_sum() adds up. */
int nvs_summary_print_total(struct nvs_out *out, const struct nvs_summary_input *story);
/* Names of the findings, for example "failures, not_whole". The caller frees it; NULL if memory is
 * short. */
char *nvs_summary_findings(const struct nvs_summary_input *story);

#endif
