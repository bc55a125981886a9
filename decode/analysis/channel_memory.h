/* SPDX-License-Identifier: MIT */
/* While a trace is read: in whose memory each channel's things lie, and which addresses of its
 * commands are the process's own addresses as well. */
#ifndef NVSNOOP_DECODE_ANALYSIS_CHANNEL_MEMORY_H
#define NVSNOOP_DECODE_ANALYSIS_CHANNEL_MEMORY_H

#include "decode/analysis/address_kind.h"

enum { NVS_RING, NVS_USERD, NVS_PUSHBUFFER, NVS_SEMAPHORES, NVS_PLACES };

/* Of one channel. */
struct nvs_lies {
	uint32_t channel; /* its key */
	uint8_t in[NVS_PLACES]; /* NVS_IN_*, 0: not known */
	/* That copies, memsets, uploads, triggers and semaphores name; SAME: the process has the
	 * same memory mapped at the same address. */
	uint64_t addresses, same;
};

struct nvs_places {
	const struct nvs_source *source;
	struct nvs_rows channels; /* struct nvs_lies */
	struct nvs_lies *now; /* of the submission in progress; NULL: not asked for */
	uint32_t vaspace;
	uint32_t age; /* counts mappings that came or went */
	struct nvs_page { /* looked up before, when that was the age */
		uint64_t number;
		uint32_t vaspace, age;
		uint8_t in;
		bool same;
	} pages[256];
};

void nvs_places_begin(struct nvs_places *p, const struct nvs_source *s, struct nvs_reader *reader);
/* NULL: no memory. */
const struct nvs_lies *nvs_places_of(struct nvs_places *p, uint32_t channel);
void nvs_places_free(struct nvs_places *p);

#endif
