/* SPDX-License-Identifier: MIT */
/* NVTX ranges and marks while a trace is read: the ranges open on each thread, and the tree of all
 * ranges. Ranges of one name and domain in the same place are one node. A call or a submission
 * belongs to the ranges that its thread has pushed; started ranges belong to no thread. */
#ifndef NVSNOOP_DECODE_QUERY_NVTX_RANGES_H
#define NVSNOOP_DECODE_QUERY_NVTX_RANGES_H

#include "decode/query/nvtx_names.h"
#include "decode/query/durations.h"

enum nvs_nvtx_kind { NVS_NVTX_PUSH, NVS_NVTX_START, NVS_NVTX_MARK };

struct nvs_nvtx_node {
	struct nvs_nvtx_key {
		uint32_t up; /* number + 1 of the enclosing node, 0: none */
		uint32_t domain;
		uint32_t name; /* number of its nvs_nvtx_text */
		uint32_t kind; /* enum nvs_nvtx_kind */
	} key; /* first */
	uint32_t number, depth; /* number: in order of appearance; depth: 0 for the outermost */
	struct nvs_nvtx_node *up;
	const char *name; /* "": unknown */
	uint64_t fits; /* bitmap: patterns of --nvtx that match it or an enclosing range */
	uint32_t category, color; /* of its first range */
	bool colored;
	/* For --by-nvtx: excluding nested ranges. */
	struct nvs_nvtx_counts {
		uint64_t count, ended, calls, failed, launches, graphs, submissions, bytes;
		uint32_t threads, last_thread;
		bool many; /* too many threads to count: THREADS is invalid */
		bool uncounted; /* launches, submissions and bytes are unknown */
		struct nvs_durations times;
	} own;
};

/* Result of the latest record. */
struct nvs_nvtx_event {
	enum { NVS_NVTX_NOTHING, NVS_NVTX_BEGUN, NVS_NVTX_ENDED, NVS_NVTX_MARKED } what;
	struct nvs_nvtx_node *node;
	uint32_t thread; /* that pushed or started it; NVS_NONE: not known yet */
	uint32_t told; /* at the end of a range: THREAD as it was known at its begin */
	uint32_t open; /* enclosing ranges of this thread, in all domains */
	uint64_t begin, end; /* ticks; a mark has BEGIN only */
	uint64_t *tag; /* the caller's value, kept from begin to end of a range */
};

struct nvs_nvtx;
/* Returns NULL if memory is short. */
struct nvs_nvtx *nvs_nvtx_new(const struct nvs_query *q);
void nvs_nvtx_free(struct nvs_nvtx *n);
/* Takes each record, before other readers get it. Returns 0 or -ENOMEM. */
int nvs_nvtx_record(struct nvs_nvtx *n, const struct nvs_rec *rec);
const struct nvs_nvtx_event *nvs_nvtx_current_event(const struct nvs_nvtx *n);

#define NVS_NVTX_NESTS 64 /* domains followed per thread; ranges in further ones are ignored */
/* The innermost range of each domain that THREAD had pushed at TIME, which is now or shortly
 * before. Returns their number. */
uint32_t nvs_nvtx_innermost(const struct nvs_nvtx *n, uint32_t thread, uint64_t time,
			    struct nvs_nvtx_node *nodes[NVS_NVTX_NESTS]);
/* Number of ranges open on THREAD at TIME, in all domains. */
uint32_t nvs_nvtx_open_count(const struct nvs_nvtx *n, uint32_t thread, uint64_t time);

/* By number; returns NULL after the last. */
struct nvs_nvtx_node *nvs_nvtx_node(const struct nvs_nvtx *n, uint32_t number);
/* Names from the outermost range inwards, separated by slashes; a very long path loses its outer
 * part. The caller frees it. Returns NULL if memory is short. */
char *nvs_nvtx_path(const struct nvs_nvtx_node *node);
/* Number of range ends whose begin is not in the trace. */
uint64_t nvs_nvtx_unmatched(const struct nvs_nvtx *n);
struct nvs_nvtx_names *nvs_nvtx_names(const struct nvs_nvtx *n);

#endif
