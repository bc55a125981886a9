/* SPDX-License-Identifier: MIT */
/* Small copies from host memory. The driver sends one inline, or by a macro or engine if another
 * is in flight, so two runs of one program differ in how copies are sent. */
#include <string.h>
#include "decode/base/hash.h"
#include "decode/calls/tally.h"
#include "decode/report/diff/diff.h"

/* Size limits, bytes, of copies that the driver sends inline if no other is in flight. Otherwise
 * a macro fetches them, or from 4 KiB on an engine. Measured on H200s, docs/tour.md. */
#define MIN_EITHER 64u
#define MAX_EITHER 24576u

uint8_t nvs_diff_copy_mode(const struct nvs_tally *t)
{
	uint64_t copies = 0;
	uint8_t sent = 0;

	for (uint8_t mode = 0; mode < NVS_COPY_MODES; mode++) {
		copies += t->copies[mode];
		sent = t->copies[mode] ? 1 + mode : sent;
	}
	if (copies != 1 || t->copied[sent - 1] < MIN_EITHER || t->copied[sent - 1] > MAX_EITHER ||
	    t->launches || t->triggers || t->memsets || t->uploads || t->unseen)
		return 0;
	return sent;
}

uint64_t nvs_diff_copied_data_id(const struct nvs_copy_memory *m, const struct nvs_call *call,
				 uint64_t copied)
{
	struct nvs_copy_endpoints ends = {0};

	if (call->api->group == NVS_CALL_GROUP_COPY && call->end && !call->result)
		nvs_copy_endpoints_read(m, call, &ends);
	const uint64_t what[3] = {copied, ends.memory, 1};

	if (!ends.known || ends.copies != 1 || !ends.directed || !ends.from_host || ends.to_host ||
	    ends.array || ends.bytes != copied)
		return 0;
	return nvs_hash64(what, sizeof(what));
}

bool nvs_diff_has_other_driver(const struct nvs_source *a, const struct nvs_source *b)
{
	const char *of[2] = {nvs_trace_session(a->trace)->attr[NVS_ATTR_DRIVER],
			     nvs_trace_session(b->trace)->attr[NVS_ATTR_DRIVER]};

	return !of[0] || !of[1] || strcmp(of[0], of[1]);
}
