/* SPDX-License-Identifier: MIT */
/* Where in the GPU's memory an address lies, in a few words. */
#ifndef NVSNOOP_DECODE_REPORT_WHERE_H
#define NVSNOOP_DECODE_REPORT_WHERE_H

#include "decode/report/report.h"
#include "decode/gpu/words.h"

/* What a line speaks of: the trace, and the address space of the channel in question. */
struct nvs_place {
	const struct nvs_trace *trace;
	uint32_t vaspace;
};

/* For nvs_where.put, ARG being a struct nvs_place: " [device 2 MiB +0x100]"; nothing where not
 * known. */
void nvs_where_put(void *arg, struct nvs_line *l, uint64_t address);
/* "device", "host", "managed", "?"; NULL: in no mapping known. */
const char *nvs_where_kind(const struct nvs_place *p, uint64_t address);

#endif
