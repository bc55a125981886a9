/* SPDX-License-Identifier: MIT */
/* Shared by sentences.c and findings.c: the output of a sentence, and the list of findings. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H

#include <stdio.h>
#include "decode/report/summary/sentences.h"

/* A sentence is written to F; MORE takes the arguments, after the trace's name, of a command that
 * shows more. */
struct nvs_telling {
	const struct nvs_story *story;
	FILE *f, *more;
	bool names_api; /* MORE has an --api of its own */
};

const struct nvs_session *nvs_story_session(const struct nvs_story *story);
/* Run time of the program; returns false if unknown. */
bool nvs_story_ran(const struct nvs_story *story, int64_t *ns);

/* findings.c: all findings; the last entry has no name. */
struct nvs_unusual {
	const char *name;
	void (*find)(struct nvs_telling *t);
};
extern const struct nvs_unusual nvs_unusual[];

#endif
