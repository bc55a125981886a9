/* SPDX-License-Identifier: MIT */
/* Faults of the GPU as text, for the closing lines of the library and of the launcher. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "decode/cli/fault_names.h"
#include "preload/base/fault_text.h"

void nvs_fault_format(const struct nvs_fault_facts *f, char *to, size_t room)
{
	snprintf(to, room, "%u,%u,%u,%u,%u,%" PRIu64, f->groups, f->number, f->channel, f->channels,
		 f->error, f->after_us);
}

void nvs_fault_parse(const char *field, struct nvs_fault_facts *f)
{
	if (sscanf(field, "%u,%u,%u,%u,%u,%" SCNu64, &f->groups, &f->number, &f->channel,
		   &f->channels, &f->error, &f->after_us) != 6)
		*f = (struct nvs_fault_facts){0};
}

void nvs_fault_describe(const struct nvs_fault_facts *f, char *to, size_t room)
{
	const struct nvs_fault_name *name = nvs_fault_name(f->number);
	double after = (double)f->after_us * 1e-6;

	if (!f->groups) {
		snprintf(to, room, "a kernel failed %.3f s after the start: error %u of CUDA%s",
			 after, f->error, f->error == 710 ? ", a failed assertion" : "");
		return;
	}
	snprintf(to, room,
		 "the GPU faulted %.3f s after the start: %s (Xid %u), which ended channel %u",
		 after, name ? name->name : "an unknown error", f->number, f->channel);
	room -= strlen(to);
	to += strlen(to);
	if (f->channels > 1)
		snprintf(to, room, " and %u other%s of its group", f->channels - 1,
			 f->channels == 2 ? "" : "s");
	room -= strlen(to);
	to += strlen(to);
	if (f->groups > 1)
		snprintf(to, room, "; %u more fault%s followed", f->groups - 1,
			 f->groups == 2 ? "" : "s");
}
