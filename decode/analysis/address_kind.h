/* SPDX-License-Identifier: MIT */
/* Where in the GPU's memory an address lies, in a few words. */
#ifndef NVSNOOP_DECODE_ANALYSIS_ADDRESS_KIND_H
#define NVSNOOP_DECODE_ANALYSIS_ADDRESS_KIND_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/gpu/method_format.h"

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

/* In whose memory. */
#define NVS_IN_DEVICE (1u << 0)
#define NVS_IN_HOST (1u << 1)
#define NVS_IN_MANAGED (1u << 2)

uint8_t nvs_where_in(const struct nvs_place *p, uint64_t address); /* 0: not known */
uint8_t nvs_where_userd(const struct nvs_trace *trace, const struct nvs_trace_channel *channel);
/* Has the process the same memory mapped at the same address? */
bool nvs_where_same(const struct nvs_place *p, uint64_t address);
/* "device", "host+managed"; NULL: 0. */
const char *nvs_where_name(uint8_t in);

#endif
