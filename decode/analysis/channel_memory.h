/* SPDX-License-Identifier: MIT */
/* While a trace is read: in which memory each channel's GPFIFO ring, USERD, pushbuffer and
 * semaphores are, and how many addresses of its commands the process has mapped at the same
 * address. */
#ifndef NVSNOOP_DECODE_ANALYSIS_CHANNEL_MEMORY_H
#define NVSNOOP_DECODE_ANALYSIS_CHANNEL_MEMORY_H

#include "decode/analysis/address_kind.h"

enum { NVS_RING, NVS_USERD, NVS_PUSHBUFFER, NVS_SEMAPHORES, NVS_PLACES };

/* One channel. */
struct nvs_channel_memory {
	uint32_t channel; /* its key */
	uint8_t in[NVS_PLACES]; /* NVS_IN_*, 0: unknown */
	/* Addresses in copies, memsets, uploads, triggers and semaphores; SAME: the process has the
	 * same memory mapped at the same address. */
	uint64_t addresses, same;
};

struct nvs_channel_memory_tracker {
	const struct nvs_source *source;
	struct nvs_rows channels; /* struct nvs_channel_memory */
	struct nvs_channel_memory *now; /* channel of the current submission; NULL: not selected */
	uint32_t vaspace;
	uint32_t age; /* incremented with each new or removed mapping */
	struct nvs_page_lookup { /* cache of lookups, valid for entries of the current age */
		uint64_t number;
		uint32_t vaspace, age;
		uint8_t in;
		bool same;
	} pages[256];
};

void nvs_channel_memory_begin(struct nvs_channel_memory_tracker *p, const struct nvs_source *s,
			      struct nvs_pass_reader *reader);

#endif
