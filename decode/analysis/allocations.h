/* SPDX-License-Identifier: MIT */
/*
 * Memory that the program allocates through the API: what it holds, by kind and context, and by
 * call site what it never freed, freed twice, or freed without owning it. Sizes are as requested.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_ALLOCATIONS_H
#define NVSNOOP_DECODE_ANALYSIS_ALLOCATIONS_H

#include "decode/analysis/current_context.h"
#include "decode/analysis/memory_ranges.h"
#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

enum nvs_alloc_kind {
	NVS_ALLOC_DEVICE,
	NVS_ALLOC_ASYNC, /* from a pool */
	NVS_ALLOC_GRAPH, /* by a graph node */
	NVS_ALLOC_PHYSICAL, /* cuMemCreate */
	NVS_ALLOC_ARRAY,
	NVS_ALLOC_MANAGED, /* from here on not memory of this GPU, or owned elsewhere */
	NVS_ALLOC_HOST,
	NVS_ALLOC_REGISTERED,
	NVS_ALLOC_RESERVED, /* addresses only */
	NVS_ALLOC_IMPORTED, /* from another process */
	NVS_ALLOC_EXTERNAL, /* from another API */
	NVS_ALLOC_VIEW, /* another address of memory that is counted elsewhere: not shown */
	NVS_ALLOC_KINDS,
};

const char *nvs_alloc_kind_name(enum nvs_alloc_kind kind); /* "device" */

/* Allocations of one kind in one context. */
struct nvs_alloc_row {
	struct {
		uint64_t context; /* 0: unknown */
		uint64_t kind;
	} key;
	struct nvs_alloc *first; /* live, newest first */
	uint64_t allocs, frees, failed; /* failed: failed allocations */
	uint64_t failed_frees; /* failed frees of allocations in this row */
	uint64_t ended; /* freed by destroying their context */
	uint64_t live, live_bytes, peak, bytes; /* bytes: sum over all allocations */
	uint64_t sizeless; /* allocations of unknown size */
	uint32_t gpu; /* where its addresses are mapped; NVS_NONE: unknown */
	bool gpus; /* mapped on several GPUs */
};

enum nvs_alloc_event {
	NVS_ALLOC_UNFREED,
	NVS_ALLOC_ENDED, /* freed by destroying its context, not by a call */
	NVS_ALLOC_FAILED,
	NVS_ALLOC_DOUBLE_FREE, /* freed a second time; the call failed */
	NVS_ALLOC_UNKNOWN_FREE, /* free of an address never allocated; the call failed */
	NVS_ALLOC_UNSEEN_FREE, /* successful free of an allocation that was not recorded */
	NVS_ALLOC_EVENTS,
};

/* Events of one kind at one call site. */
struct nvs_alloc_group {
	struct {
		const struct nvs_call_api *api;
		uint32_t what, kind; /* kind: NVS_ALLOC_KINDS if unknown */
		uint32_t stack, result; /* CUresult */
	} key;
	uint64_t count, bytes, sizeless;
};

/* GPU memory held over time. Intervals double in width when they run out. */
#define NVS_ALLOC_TIMES 64
struct nvs_alloc_series {
	uint64_t first, width; /* ticks */
	uint32_t n; /* number of intervals */
	uint64_t live[NVS_ALLOC_TIMES]; /* at the end of the interval */
	uint64_t peak[NVS_ALLOC_TIMES];
	uint64_t now, max, max_at; /* most: the maximum, at most_at */
};
/* Sets the bytes held from time AT on to NOW. AT may go back only slightly. */
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
	bool places_dropped; /* some freed places were dropped to save memory */
	/* Called for each address at which memory is allocated. */
	void (*on_alloc)(void *arg, uint64_t address);
	void *arg;
	struct nvs_memory_ranges *ranges; /* filled if set after nvs_allocs_begin() */
	const struct nvs_alloc_by *now; /* the call that is being followed */
};

void nvs_allocs_begin(struct nvs_allocs *a, const struct nvs_source *s);
/* Call in trace order. Returns 0 or -ENOMEM. */
int nvs_allocs_call(struct nvs_allocs *a, const struct nvs_call *call);
/* The same for records: allocations from before a trace on demand. */
int nvs_allocs_record(struct nvs_allocs *a, const struct nvs_rec *rec);
/* Call at the end of the trace: allocations that are still live are reported as unfreed. */
int nvs_allocs_end(struct nvs_allocs *a);
void nvs_allocs_free(struct nvs_allocs *a);

/* ---- between allocations.c and graph_allocations.c ---- */

/* The call that allocates or frees. */
struct nvs_alloc_by {
	const struct nvs_call_api *api;
	uint64_t context, begin, end; /* ticks */
	uint32_t thread, stack;
	bool selected;
};

/* allocation_size.c: the bytes that CALL allocates, at ADDRESS; UINT64_MAX if unknown. */
uint64_t nvs_alloc_size(const struct nvs_trace *trace, const struct nvs_call *call,
			uint64_t address);
int nvs_allocs_add(struct nvs_allocs *a, const struct nvs_alloc_by *by, enum nvs_alloc_kind kind,
		   uint64_t address, uint64_t bytes);
/* Frees the allocation at ADDRESS; *FOUND: there was one. AGAIN: only if a graph allocated it,
 * before the graph allocates it again. */
int nvs_allocs_remove(struct nvs_allocs *a, const struct nvs_alloc_by *by, uint64_t address,
		      bool again, bool *found);

/* Returns true if CALL concerns a graph or was captured into one; *R is then 0 or -ENOMEM. */
bool nvs_alloc_graphs_call(struct nvs_allocs *a, const struct nvs_call *call,
			   const struct nvs_alloc_by *by, int *r);
void nvs_alloc_graphs_free(struct nvs_alloc_graphs *g);

#endif
