/* SPDX-License-Identifier: MIT */
/* What a copying call moves: from where to where, in memory of which kind, and how much. */
#ifndef NVSNOOP_DECODE_ANALYSIS_COPY_OPERANDS_H
#define NVSNOOP_DECODE_ANALYSIS_COPY_OPERANDS_H

#include "decode/calls/args.h"
#include "decode/calls/hostmem.h"

struct nvs_copy_memory {
	struct nvs_hostmem *kinds;
	bool partly; /* outside of a trigger's windows allocations are not recorded */
};

struct nvs_copy_ends {
	uint64_t from, to, bytes, copies;
	bool from_host, to_host, array;
	bool batch; /* many copies: where from and to is not told */
	bool known; /* bytes */
	bool directed; /* from_host and to_host are known */
	enum nvs_memory memory; /* of the end on the host's side, else DEVICE */
};

void nvs_copy_ends(const struct nvs_copy_memory *m, const struct nvs_call *call,
		   struct nvs_copy_ends *e);
/* Does the call return when the copy is done, as CUDA has it? One that takes no stream, or to
 * pageable memory. */
bool nvs_copy_blocks(const struct nvs_call *call, const struct nvs_copy_ends *e);

#endif
