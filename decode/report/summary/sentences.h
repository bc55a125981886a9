/* SPDX-License-Identifier: MIT */
/* A trace in sentences: what happened, what took the host's time, and what is unusual. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_SENTENCES_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_SENTENCES_H

#include "decode/analysis/session_stats.h"
#include "decode/report/core/report.h"

/* What the sentences are about. */
struct nvs_story {
	const struct nvs_source *source;
	const struct nvs_options_report *options;
	const struct nvs_facts *facts;
	const char *command; /* as it was typed; "" where the trace does not say */
	const char *rank; /* "3 of 8, local rank ..": up to the comma; "" */
	const struct nvs_tally *tally; /* of what is selected */
	uint64_t submissions, bytes; /* likewise */
	bool uncounted; /* level=counts: nothing but these two is known */
	bool called; /* the trace holds calls */
	bool several; /* programs: they, not it */
};

/* The selection of the command line has left nothing of the trace. */
bool nvs_story_empty(const struct nvs_story *story);
/* 0 or -ENOMEM, as of the next. */
int nvs_story_print(struct nvs_out *out, const struct nvs_story *story);
/* The same of several traces: of FACTS what nvs_facts_sum() sums up. */
int nvs_story_print_total(struct nvs_out *out, const struct nvs_story *story);
/* Names of what is unusual, as "failures, not_whole"; to be freed. NULL: no memory. */
char *nvs_story_findings(const struct nvs_story *story);

#endif
