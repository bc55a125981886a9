/* SPDX-License-Identifier: MIT */
/* Kind of memory and allocation of a GPU address, from the mappings in the trace. */
#ifndef NVSNOOP_DECODE_ANALYSIS_ADDRESS_KIND_H
#define NVSNOOP_DECODE_ANALYSIS_ADDRESS_KIND_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"
#include "decode/gpu/method_format.h"

/* Address space in which addresses are looked up: that of a channel. */
struct nvs_address_space {
	const struct nvs_trace *trace;
	uint32_t vaspace;
};

/* For nvs_address_formatter.put, ARG is a struct nvs_address_space. Appends " [device 2 MiB
 * +0x100]"; nothing if unknown. */
void nvs_address_kind_append(void *arg, struct nvs_line_buffer *l, uint64_t address);
/* "device", "host", "managed" or "?"; NULL: in no known mapping. */
const char *nvs_address_kind(const struct nvs_address_space *p, uint64_t address);

/* Kinds of memory, as bits. */
#define NVS_IN_DEVICE (1u << 0)
#define NVS_IN_HOST (1u << 1)
#define NVS_IN_MANAGED (1u << 2)

uint8_t nvs_address_memory(const struct nvs_address_space *p, uint64_t address); /* 0: unknown */
uint8_t nvs_userd_memory(const struct nvs_trace *trace, const struct nvs_trace_channel *channel);
/* Returns true if the process has the same memory mapped at the same address. */
bool nvs_address_is_same(const struct nvs_address_space *p, uint64_t address);
/* "device", "host+managed"; NULL for 0. */
const char *nvs_memory_bits_name(uint8_t in);

#endif
