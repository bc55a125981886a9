/* SPDX-License-Identifier: MIT */
/* The process attributes of a trace, and how the process ended, as text. */
#ifndef NVSNOOP_DECODE_ANALYSIS_SESSION_TEXT_H
#define NVSNOOP_DECODE_ANALYSIS_SESSION_TEXT_H

#include "nvsnoop/decode.h"

/* Each text is "" if the trace does not record it. */
struct nvs_session_text {
	const struct nvs_trace *trace;
	const struct nvs_session *session;
	char command[1024], gpu[256], uuid[512], started[64], ended[160], whole[96], host[256],
		rank[128], in_flight[256];
};

void nvs_session_text_fill(struct nvs_session_text *about, const struct nvs_trace *trace);

#endif
