/* SPDX-License-Identifier: MIT */
/* What the live page and the closing lines say of faults of the GPU. */
#include "preload/base/ownthread.h"
#include "preload/live/live.h"
#include "preload/writer/session.h"

static void note_time(const struct nvs_recorder *session, struct nvs_fault_facts *f)
{
	if (!nvs_fault_is_known(f))
		f->after_us = (nvs_clock_read().mono_ns - session->start.mono_ns) / 1000;
}

void nvs_session_note_fault(uint32_t number, uint32_t channel, bool first)
{
	struct nvs_live_page *page = nvs_live_page();
	struct nvs_recorder *session = nvs_session();
	struct nvs_fault_facts *f = &session->fault;

	if (first) {
		note_time(session, f);
		f->groups++;
		if (page)
			nvs_live_count_fault(page, number, channel, nvs_clock_now());
	}
	if (first && f->groups == 1) {
		f->number = number;
		f->channel = channel;
	}
	f->channels += f->groups == 1;
}

void nvs_session_note_error(uint32_t result)
{
	struct nvs_recorder *session = nvs_session();

	note_time(session, &session->fault);
	if (session->fault.error)
		return;
	session->fault.error = result;
	/* It reports the fault to the launcher: the program may end itself by a signal now. */
	nvs_poll_thread_wake();
}
