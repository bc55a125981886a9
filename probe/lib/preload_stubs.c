/* SPDX-License-Identifier: MIT */
/* Stubs of the preload functions that the resource manager tracking calls. The probe tracks the
 * resource manager, but records and traps nothing. */
#include "preload/base/preload.h"
#include "preload/signals/signals.h"
#include "preload/writer/session.h"

void nvs_session_prepare(void)
{
}

void nvs_session_start(void)
{
}

struct nvs_spool_channel *nvs_session_channel_slot(uint32_t number)
{
	return NULL;
}

void nvs_session_channel_free(struct nvs_spool_channel *slot)
{
}

double nvs_session_clock_rate(uint64_t *start)
{
	*start = 0;
	return 1;
}

void nvs_session_channel_done(const struct nvs_spool_channel *slot,
			      const struct nvs_spool_done *now)
{
}

void nvs_session_note_fault(uint32_t number, uint32_t channel, bool first)
{
}

void nvs_session_note_error(uint32_t result)
{
}

bool nvs_signals_check(void)
{
	return false;
}

int nvs_signals_install(void)
{
	return -1;
}

void nvs_record_attr(uint32_t key, const char *value, size_t length)
{
}
