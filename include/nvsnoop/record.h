/* SPDX-License-Identifier: MIT */
/* Part of trace.h: the head of all records. */
#ifndef NVSNOOP_RECORD_H
#define NVSNOOP_RECORD_H

#include <stdint.h>

#define NVS_NONE 0xffffffffu /* none or unknown: thread, channel, stack, GPU, token */

/* Head of every record. */
struct nvs_rec {
	uint16_t type; /* enum nvs_rec_type */
	uint16_t flags; /* per type */
	uint32_t size; /* bytes, including this head; multiple of 8 */
	uint64_t time; /* ticks of the session's clock */
};

#endif
