/* SPDX-License-Identifier: MIT */
/* The trace that nvsnoop-top has a process write, one at a time. */
#ifndef NVSNOOP_LIVE_TOP_RECORDING_H
#define NVSNOOP_LIVE_TOP_RECORDING_H

#include "live/read/page_set.h"
#include "live/read/record_request.h"

struct nvs_top_recording {
	struct nvs_record_request *request; /* NULL: none */
	struct nvs_page page; /* program, host and pid of its process; the rest is out of date */
	uint64_t begun; /* CLOCK_MONOTONIC, ns */
	char text[256]; /* what is to be shown about it; "": nothing */
};

/* Starts a trace of the process of PAGE, or ends the one that is being written. */
void nvs_top_toggle_recording(struct nvs_top_recording *r, const struct nvs_page *page);
/* Follows it; takes the trace when it is whole. */
void nvs_top_poll_recording(struct nvs_top_recording *r);
/* Ends it, and waits for the trace. */
void nvs_top_end_recording(struct nvs_top_recording *r);

#endif
