/* SPDX-License-Identifier: MIT */
/* A part of trace.h: what all records have in common. */
#ifndef NVSNOOP_RECORD_H
#define NVSNOOP_RECORD_H

#include <stdint.h>

#define NVS_NONE 0xffffffffu /* no such number: thread, channel, stack, GPU, token not known */

/* Head of every record. */
struct nvs_rec {
	uint16_t type; /* enum nvs_rec_type */
	uint16_t flags; /* per type */
	uint32_t size; /* bytes, with this head; multiple of 8 */
	uint64_t time; /* ticks of the session's clock */
};

#endif
