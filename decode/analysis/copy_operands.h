/* SPDX-License-Identifier: MIT */
/* Source, destination, kind of memory and size of a copying call. */
#ifndef NVSNOOP_DECODE_ANALYSIS_COPY_OPERANDS_H
#define NVSNOOP_DECODE_ANALYSIS_COPY_OPERANDS_H

#include "decode/calls/args.h"
#include "decode/calls/hostmem.h"

struct nvs_copy_memory {
	struct nvs_hostmem *kinds;
	bool partly; /* allocations outside of recorded windows are missing */
};

struct nvs_copy_endpoints {
	uint64_t from, to, bytes, copies;
	bool from_host, to_host, array;
	bool batch; /* several copies: source and destination are not known */
	bool known; /* BYTES is valid */
	bool directed; /* from_host and to_host are known */
	enum nvs_memory_kind memory; /* kind at the host's end, else DEVICE */
};

/* Returns 0 or -ENOMEM. KINDS is freed with nvs_hostmem_free(). */
int nvs_copy_memory_begin(struct nvs_copy_memory *m, const struct nvs_trace *trace);
void nvs_copy_endpoints_read(const struct nvs_copy_memory *m, const struct nvs_call *call,
			     struct nvs_copy_endpoints *e);
/* Returns true if CUDA specifies that the call returns when the copy is done: it takes no
 * stream, or copies to pageable memory. */
bool nvs_copy_is_blocking(const struct nvs_call *call, const struct nvs_copy_endpoints *e);

#endif
