/* SPDX-License-Identifier: MIT */
/* Shared by sentences.c and findings.c: the output of a sentence, and the list of findings. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H

#include <stdio.h>
#include "decode/report/summary/sentences.h"

/* A sentence is written to F; MORE takes the arguments, after the trace's name, of a command that
 * shows more. */
struct nvs_sentence {
	const struct nvs_summary_input *story;
	FILE *f, *more;
	bool names_api; /* MORE has an --api of its own */
};

const struct nvs_session *nvs_summary_session(const struct nvs_summary_input *story);
/* Run time of the program; returns false if unknown. */
bool nvs_summary_run_time(const struct nvs_summary_input *story, int64_t *ns);

/* findings.c: all findings; the last entry has no name. */
struct nvs_summary_checks {
	const char *name;
	void (*find)(struct nvs_sentence *t);
};
extern const struct nvs_summary_checks nvs_summary_check_list[];

#endif
