/* SPDX-License-Identifier: MIT */
/*
 * Profiles for pprof: asks processes for a trace of a few seconds, converts it with nvsnoop-report
 * and deletes it. Nothing here blocks for longer than a scrape: start, then poll until it is done.
 * One thread uses all of this.
 */
#ifndef NVSNOOP_LIVE_EXPORTER_PROFILE_H
#define NVSNOOP_LIVE_EXPORTER_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NVS_PROFILE_SECONDS = 10, NVS_PROFILE_SECONDS_MAX = 60, NVS_PROFILES = 8 };

struct nvs_profile;

struct nvs_profile_terms {
	bool gpu; /* GPU time by kernel; else host time of calls */
	unsigned seconds;
	uint32_t pid; /* 0: all processes */
};

/* What a profile has come to. STATUS is that of HTTP; 0: not done. DATA is the profile, or a text
 * that says why there is none. LEFT_OUT names the processes that are not in it, and why; "" if
 * there are none. Valid until nvs_profile_end(). */
struct nvs_profile_answer {
	int status;
	const char *data;
	size_t size;
	const char *left_out;
};

/* Returns NULL without memory. */
struct nvs_profile *nvs_profile_start(const struct nvs_profile_terms *terms);
struct nvs_profile_answer nvs_profile_poll(struct nvs_profile *p);
/* Ends its windows too, if they are open. NULL is allowed. */
void nvs_profile_end(struct nvs_profile *p);

#endif
