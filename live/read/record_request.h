/* SPDX-License-Identifier: MIT */
/*
 * Recording on demand: asks a process that runs with the live page alone to write a trace from now
 * on, waits for it, and takes the trace. Used by nvsnoop-record and nvsnoop-exporter. The protocol
 * is in nvsnoop/request.h.
 *
 * Nothing here blocks: start, then poll every few ms until the state is one of the last three, then
 * take the trace (or not) and close. Several requests, also to several processes, may be open.
 */
#ifndef NVSNOOP_LIVE_READ_RECORD_REQUEST_H
#define NVSNOOP_LIVE_READ_RECORD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "live/read/page_set.h"

struct nvs_record_request;

enum nvs_record_state {
	NVS_RECORD_ASKED, /* no answer yet */
	NVS_RECORD_READY, /* accepted; the window is not open yet */
	NVS_RECORD_OPEN, /* submissions are being recorded */
	NVS_RECORD_WRITTEN, /* the trace is whole */
	NVS_RECORD_REFUSED, /* nvs_record_request_why() is the reason */
	NVS_RECORD_DIED, /* the process ended or hangs; the trace, if any, lacks its end */
};

struct nvs_record_terms {
	const char *options; /* keys of NVSNOOP_OPTIONS that apply to a window, "": none */
	uint64_t submissions; /* the window ends after so many; 0: no limit */
	uint64_t at_ns; /* CLOCK_REALTIME at which the window opens; 0: at once */
};

/* What the trace has, by the process that wrote it. */
struct nvs_record_result {
	uint64_t submissions, gaps, skipped, bytes, lost_submissions;
	uint64_t open_ns, close_ns; /* CLOCK_REALTIME */
	int error; /* errno of the first failed write; 0: none */
	bool full; /* it has reached max-size */
};

/*
 * Asks the process of PAGE. WHY gets the reason if the process cannot be asked: it writes a trace
 * already, belongs to another user, has ended, or is being recorded by somebody else. Returns 0 or
 * -errno.
 */
int nvs_record_request_start(struct nvs_record_request **request, const struct nvs_page *page,
			     const struct nvs_record_terms *terms, char *why, size_t size);
enum nvs_record_state nvs_record_request_poll(struct nvs_record_request *request);
/* Ends the window now. The trace is whole when the state is NVS_RECORD_WRITTEN. */
void nvs_record_request_stop(struct nvs_record_request *request);
/* Why it was refused, or how it died. */
const char *nvs_record_request_why(const struct nvs_record_request *request);
/* NULL unless the state is NVS_RECORD_WRITTEN. */
const struct nvs_record_result *nvs_record_request_result(const struct nvs_record_request *request);
/* Where the trace is now, for readers that need no file of their own; "": there is none. It is
 * removed by nvs_record_request_close(). */
const char *nvs_record_request_trace(const struct nvs_record_request *request);
/* Moves the trace to FILE, which must not exist. Returns 0 or -errno. */
int nvs_record_request_take(struct nvs_record_request *request, const char *file);
/* Ends the request, and the window if it is open, and removes its files. NULL is allowed. */
void nvs_record_request_close(struct nvs_record_request *request);

#endif
