/* SPDX-License-Identifier: MIT */
/*
 * Memory that a program asked for, by its calls: what it holds, by kind and context, and what it
 * did not free, freed twice, or freed without having it, by call site. Bytes are those asked for.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_ALLOCATIONS_H
#define NVSNOOP_DECODE_ANALYSIS_ALLOCATIONS_H

#include "decode/analysis/current_context.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

enum nvs_alloc_kind {
	NVS_ALLOC_DEVICE,
	NVS_ALLOC_ASYNC, /* of a pool */
	NVS_ALLOC_GRAPH, /* by a graph's node */
	NVS_ALLOC_PHYSICAL, /* cuMemCreate */
	NVS_ALLOC_ARRAY,
	NVS_ALLOC_MANAGED, /* from here on it is not the GPU's, or another's */
	NVS_ALLOC_HOST,
	NVS_ALLOC_REGISTERED,
	NVS_ALLOC_RESERVED, /* addresses alone */
	NVS_ALLOC_IMPORTED, /* of another process */
	NVS_ALLOC_EXTERNAL, /* of another API */
	NVS_ALLOC_VIEW, /* an address for what is counted elsewhere: not shown */
	NVS_ALLOC_KINDS,
};

const char *nvs_alloc_kind_name(enum nvs_alloc_kind kind); /* "device" */

/* What one context has of one kind. */
struct nvs_alloc_row {
	struct {
		uint64_t context; /* 0: not known */
		uint64_t kind;
	} key;
	struct nvs_alloc *first; /* live, newest first */
	uint64_t allocs, frees, failed; /* failed: to allocate */
	uint64_t failed_frees; /* of what it has */
	uint64_t ended; /* freed with their context */
	uint64_t live, live_bytes, peak, bytes; /* bytes: of all there were */
	uint64_t sizeless; /* allocations of which the size is not known */
	uint32_t gpu; /* that its addresses are mapped on; NVS_NONE: not known */
	bool gpus; /* of several */
};

enum nvs_alloc_what {
	NVS_ALLOC_UNFREED,
	NVS_ALLOC_ENDED, /* freed with its context, not by a call */
	NVS_ALLOC_FAILED,
	NVS_ALLOC_TWICE, /* freed again; it failed */
	NVS_ALLOC_UNKNOWN, /* a free of what was never given out; it failed */
	NVS_ALLOC_UNSEEN, /* a free that worked, of what was allocated unseen */
	NVS_ALLOC_WHATS,
};

/* What happened at one call site. */
struct nvs_alloc_group {
	struct {
		const struct nvs_call_api *api;
		uint32_t what, kind; /* kind NVS_ALLOC_KINDS: not known */
		uint32_t stack, result; /* CUresult */
	} key;
	uint64_t count, bytes, sizeless;
};

/* How much of the GPU's memory was held, by intervals that get longer. */
#define NVS_ALLOC_TIMES 64
struct nvs_alloc_series {
	uint64_t first, width; /* ticks */
	uint32_t n; /* intervals */
	uint64_t live[NVS_ALLOC_TIMES]; /* at its end */
	uint64_t peak[NVS_ALLOC_TIMES];
	uint64_t now, most, most_at; /* the highest of all, and when */
};
/* NOW bytes are held from AT on; AT does not go back by much. */
void nvs_alloc_series_set(struct nvs_alloc_series *s, uint64_t at, uint64_t now);

struct nvs_alloc_graphs;

struct nvs_allocs {
	const struct nvs_source *source;
	struct nvs_contexts contexts;
	struct nvs_alloc_place *places; /* by address or handle */
	struct nvs_rows rows; /* struct nvs_alloc_row */
	struct nvs_rows groups; /* struct nvs_alloc_group */
	struct nvs_rows devices; /* primary contexts */
	struct nvs_alloc_graphs *graphs;
	struct nvs_alloc_series series;
	bool forgot; /* for want of memory: what was freed already is not known of all */
	/* Told of each address that memory was given at. */
	void (*given)(void *arg, uint64_t address);
	void *arg;
};

void nvs_allocs_begin(struct nvs_allocs *a, const struct nvs_source *s);
/* In the order of the trace. 0 or -ENOMEM. */
int nvs_allocs_call(struct nvs_allocs *a, const struct nvs_call *call);
/* All has been read: what is live now is unfreed. */
int nvs_allocs_end(struct nvs_allocs *a);
void nvs_allocs_free(struct nvs_allocs *a);

/* ---- between allocs.c and alloc_graphs.c ---- */

/* Who asked for it. */
struct nvs_alloc_by {
	const struct nvs_call_api *api;
	uint64_t context, begin, end; /* ticks */
	uint32_t thread, stack;
	bool selected;
};

int nvs_allocs_take(struct nvs_allocs *a, const struct nvs_alloc_by *by, enum nvs_alloc_kind kind,
		    uint64_t address, uint64_t bytes);
/* Frees what is there; *FOUND: it was. AGAIN: only memory of a graph, which is allocated anew. */
int nvs_allocs_give_back(struct nvs_allocs *a, const struct nvs_alloc_by *by, uint64_t address,
			 bool again, bool *found);

/* True: CALL is about a graph, or became part of one, and *R is what came of it. */
bool nvs_alloc_graphs_call(struct nvs_allocs *a, const struct nvs_call *call,
			   const struct nvs_alloc_by *by, int *r);
void nvs_alloc_graphs_free(struct nvs_alloc_graphs *g);

#endif
