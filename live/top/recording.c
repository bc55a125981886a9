/* SPDX-License-Identifier: MIT */
/* The trace that nvsnoop-top has a process write: the key W starts it and ends it. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "live/read/page_set.h"
#include "live/record/trace_name.h"
#include "live/top/recording.h"

#define WAIT_MS 5000 /* for the end of a trace when nvsnoop-top ends */

static void finish(struct nvs_top_recording *r, enum nvs_record_state state)
{
	const struct nvs_record_result *result = nvs_record_request_result(r->request);
	char file[PATH_MAX] = "";
	int err = *nvs_record_request_trace(r->request)
			  ? nvs_record_take_trace(r->request, &r->page, r->page.pid, NULL, file)
			  : 0;

	if (err)
		snprintf(r->text, sizeof(r->text), "The trace of %u cannot be moved here: %s",
			 r->page.pid, strerror(-err));
	else if (state == NVS_RECORD_WRITTEN)
		snprintf(r->text, sizeof(r->text), "%.160s: %llu submissions, %llu bytes", file,
			 (unsigned long long)result->submissions,
			 (unsigned long long)result->bytes);
	else
		snprintf(r->text, sizeof(r->text), "Process %u: %s", r->page.pid,
			 nvs_record_request_why(r->request));
	nvs_record_request_close(r->request);
	r->request = NULL;
}

void nvs_top_toggle_recording(struct nvs_top_recording *r, const struct nvs_page *page)
{
	const struct nvs_record_terms terms = {.options = ""};
	char why[128];

	if (r->request) {
		nvs_record_request_stop(r->request);
		return;
	}
	r->page = *page;
	r->begun = nvs_mono_ns();
	r->text[0] = '\0';
	if (nvs_record_request_start(&r->request, page, &terms, why, sizeof(why)))
		snprintf(r->text, sizeof(r->text), "Process %u: %s", page->pid, why);
}

void nvs_top_poll_recording(struct nvs_top_recording *r)
{
	enum nvs_record_state state;

	if (!r->request)
		return;
	state = nvs_record_request_poll(r->request);
	if (state >= NVS_RECORD_WRITTEN)
		finish(r, state);
	else
		snprintf(r->text, sizeof(r->text), "Recording %u for %.1f s; W ends it",
			 r->page.pid, (double)(nvs_mono_ns() - r->begun) / 1e9);
}

void nvs_top_end_recording(struct nvs_top_recording *r)
{
	const struct timespec nap = {0, 10000000};

	if (r->request)
		nvs_record_request_stop(r->request);
	for (int ms = 0; r->request && ms < WAIT_MS; ms += 10) {
		nvs_top_poll_recording(r);
		nanosleep(&nap, NULL);
	}
	nvs_record_request_close(r->request);
	r->request = NULL;
}
