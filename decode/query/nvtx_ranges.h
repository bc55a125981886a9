/* SPDX-License-Identifier: MIT */
/*
 * Ranges and marks of NVTX while a trace is read: which are open on a thread, and the tree of all
 * that there were. Ranges of one name and domain in the same place are one node. A call or a
 * submission belongs to the ranges that its thread has pushed; those that are started belong to no
 * thread.
 */
#ifndef NVSNOOP_DECODE_QUERY_NVTX_RANGES_H
#define NVSNOOP_DECODE_QUERY_NVTX_RANGES_H

#include "decode/query/nvtx_names.h"
#include "decode/query/durations.h"

enum nvs_nvtx_kind { NVS_NVTX_PUSH, NVS_NVTX_START, NVS_NVTX_MARK };

struct nvs_nvtx_node {
	struct nvs_nvtx_key {
		uint32_t up; /* number + 1 of the node around it, 0: none */
		uint32_t domain;
		uint32_t name; /* number of its text */
		uint32_t kind; /* enum nvs_nvtx_kind */
	} key; /* first */
	uint32_t number, depth; /* in the order first seen; 0: the outermost */
	struct nvs_nvtx_node *up;
	const char *name; /* "" not known */
	uint64_t fits; /* patterns of --nvtx that it, or one around it, fits: a bit each */
	uint32_t category, color; /* of the first one */
	bool colored;
	/* For --by-nvtx: its own, without those of what is inside it. */
	struct nvs_nvtx_counts {
		uint64_t count, ended, calls, failed, launches, graphs, submissions, bytes;
		uint32_t threads, last_thread;
		bool many; /* threads are not known: more than can be told apart */
		bool uncounted; /* what was submitted is not known */
		struct nvs_times times;
	} own;
};

/* What the record that was read last says. */
struct nvs_nvtx_event {
	enum { NVS_NVTX_NOTHING, NVS_NVTX_BEGUN, NVS_NVTX_ENDED, NVS_NVTX_MARKED } what;
	struct nvs_nvtx_node *node;
	uint32_t thread; /* that has pushed or started it; NVS_NONE: not known yet */
	uint32_t told; /* at its end: the same as it was known when it began */
	uint32_t open; /* ranges that this thread had pushed around it, in all domains */
	uint64_t begin, end; /* ticks; of a mark, begin */
	uint64_t *tag; /* for whoever reads along: kept from begin to end */
};

struct nvs_nvtx;
/* NULL: no memory. */
struct nvs_nvtx *nvs_nvtx_new(const struct nvs_query *q);
void nvs_nvtx_free(struct nvs_nvtx *n);
/* Each record, before anybody else sees it. 0 or -ENOMEM. */
int nvs_nvtx_record(struct nvs_nvtx *n, const struct nvs_rec *rec);
const struct nvs_nvtx_event *nvs_nvtx_now(const struct nvs_nvtx *n);

#define NVS_NVTX_NESTS 64 /* domains that a thread has ranges in; of more, nothing is known */
/* The innermost ranges that THREAD had pushed at TIME (now, or shortly before), one of each domain;
 * how many. */
uint32_t nvs_nvtx_at(const struct nvs_nvtx *n, uint32_t thread, uint64_t time,
		     struct nvs_nvtx_node *nodes[NVS_NVTX_NESTS]);
/* How many it had pushed in all of them. */
uint32_t nvs_nvtx_open(const struct nvs_nvtx *n, uint32_t thread, uint64_t time);

/* By number; NULL behind the last. */
struct nvs_nvtx_node *nvs_nvtx_node(const struct nvs_nvtx *n, uint32_t number);
/* Its path: names from the outermost on, with a slash between; of one that is very long the end. To
 * be freed; NULL: no memory. */
char *nvs_nvtx_path(const struct nvs_nvtx_node *node);
/* Ends of what had not begun, as far as the trace tells. */
uint64_t nvs_nvtx_unmatched(const struct nvs_nvtx *n);
struct nvs_nvtx_names *nvs_nvtx_names(const struct nvs_nvtx *n);

#endif
