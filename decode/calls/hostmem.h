/* SPDX-License-Identifier: MIT */
/* The memory kind of a program's addresses, from its allocation calls. */
#ifndef NVSNOOP_DECODE_CALLS_HOSTMEM_H
#define NVSNOOP_DECODE_CALLS_HOSTMEM_H

#include "decode/calls/calls.h"

enum nvs_memory_kind {
	NVS_MEMORY_PAGEABLE,
	NVS_MEMORY_PINNED,
	NVS_MEMORY_MANAGED,
	NVS_MEMORY_DEVICE,
	NVS_MEMORY_UNKNOWN, /* never of an address; for callers: the address may have been allocated
			     * unseen */
};

struct nvs_hostmem;
struct nvs_hostmem *nvs_hostmem_new(void); /* NULL if memory is short */
void nvs_hostmem_free(struct nvs_hostmem *h);
/* Records allocations and frees. Returns 0 or -ENOMEM. */
int nvs_hostmem_call(struct nvs_hostmem *h, const struct nvs_call *call);
enum nvs_memory_kind nvs_hostmem_kind(const struct nvs_hostmem *h, uint64_t address);
const char *nvs_memory_name(enum nvs_memory_kind kind); /* "pageable", ... */

#endif
