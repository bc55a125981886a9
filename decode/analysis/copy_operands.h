/* SPDX-License-Identifier: MIT */
/* Source, destination, kind of memory and size of a copying call, and the kinds by which copies are
 * counted. */
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

/* ---- kinds of copies ---- */

enum nvs_copy_direction {
	NVS_COPY_HTOD,
	NVS_COPY_DTOH,
	NVS_COPY_DTOD,
	NVS_COPY_PTOP, /* between the memories of two GPUs */
	NVS_COPY_HTOH,
	NVS_COPY_ARRAY,
	NVS_COPY_BATCH,
	NVS_COPY_UNDIRECTED,
};

/* How the bytes moved. */
enum nvs_copy_way {
	NVS_COPY_BY_NOTHING,
	NVS_COPY_BY_ENGINE,
	NVS_COPY_BY_INLINE,
	NVS_COPY_BY_MACRO,
	NVS_COPY_BY_KERNEL,
	NVS_COPY_BY_SEVERAL,
	NVS_COPY_CAPTURED,
	NVS_COPY_UNSEEN,
};

#define NVS_COPY_NO_CLASS 64u /* sizes are unknown */

struct nvs_copy_kind {
	enum nvs_copy_direction direction;
	enum nvs_memory_kind memory;
	uint32_t class; /* sizes up to 2^class; of a batch by its mean size */
	enum nvs_copy_way mode;
	uint32_t from_gpu, to_gpu; /* GPU whose memory it is; NVS_NONE: host memory, or unknown */
};

/* Needs the call's tally. */
struct nvs_copy_kind nvs_copy_kind_of(const struct nvs_trace *trace, const struct nvs_call *call,
				      const struct nvs_copy_endpoints *e);
const char *nvs_copy_direction_name(enum nvs_copy_direction direction);
const char *nvs_copy_way_name(enum nvs_copy_way mode);
/* The kind of host memory; "" if the direction has none. */
const char *nvs_copy_memory_name(const struct nvs_copy_kind *kind);
/* Returns true if the copy was done when the call returned. Inline bytes are only in the channel
 * then; the GPU moves them later. */
bool nvs_copy_returns_done(const struct nvs_call *call, const struct nvs_copy_endpoints *e,
			   enum nvs_copy_way mode);

#endif
