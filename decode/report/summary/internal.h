/* SPDX-License-Identifier: MIT */
/* What story.c and unusual.c share: how a sentence is made. */
#ifndef NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H
#define NVSNOOP_DECODE_REPORT_SUMMARY_INTERNAL_H

#include <stdio.h>
#include "decode/report/summary/sentences.h"

/* A sentence in the making, and the command that shows more: what stands behind the trace's name.
 */
struct nvs_telling {
	const struct nvs_story *story;
	FILE *f, *more;
	bool names_api; /* the command does */
};

const struct nvs_session *nvs_story_session(const struct nvs_story *story);
/* How long the program ran; false: not known. */
bool nvs_story_ran(const struct nvs_story *story, int64_t *ns);

/* unusual.c: what may be; the last one has no name. */
struct nvs_unusual {
	const char *name;
	void (*find)(struct nvs_telling *t);
};
extern const struct nvs_unusual nvs_unusual[];

#endif
