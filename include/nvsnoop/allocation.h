/* SPDX-License-Identifier: MIT */
/* Part of trace.h: memory that the program allocated before a trace on demand. */
#ifndef NVSNOOP_ALLOCATION_H
#define NVSNOOP_ALLOCATION_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rec.flags: it was freed between its record and the start of the window */
#define NVS_ALLOCATION_GONE (1u << 0)

/* A live allocation, written right before the window opens. The call that made it is not in the
 * trace, the call that frees it is. */
struct nvs_rec_allocation {
	struct nvs_rec rec;
	uint64_t address; /* or a handle, as the kind says */
	uint64_t bytes; /* as requested */
	uint64_t at; /* ticks when the call returned */
	uint64_t context; /* 0: none, or unknown */
	uint32_t kind; /* enum nvs_live_kind, nvsnoop/live.h */
	uint32_t stack; /* where it was made; NVS_NONE: unknown */
	uint32_t tid; /* of the thread that made it */
	uint32_t reserved;
};

#ifdef __cplusplus
}
#endif

#endif
