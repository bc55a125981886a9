/* SPDX-License-Identifier: MIT */
/*
 * What the handles in calls mean: functions by name, executable graphs with their nodes, graphs by
 * how they came to be. Handles are used again; what they mean follows the order of the trace.
 */
#ifndef NVSNOOP_DECODE_CALLS_LAUNCHES_H
#define NVSNOOP_DECODE_CALLS_LAUNCHES_H

#include "decode/calls/calls.h"

/* One function, whatever the handles it had: told apart by name. */
struct nvs_kernel {
	uint32_t index;
	const char *name; /* mangled; "" where not known: then by handle */
	uint64_t handle; /* the first */
	bool has_attributes;
	uint32_t registers, shared, local, max_threads; /* the latest */
	void *user;
};

struct nvs_exec {
	uint32_t index;
	uint64_t handle, graph;
	enum nvs_graph_origin origin;
	uint32_t nnodes, room;
	struct nvs_graph_node *nodes;
	struct nvs_node_place *places; /* by handle; made when a node is first looked up */
	uint32_t *same; /* per node the one before it with the same handle */
	uint32_t placed, same_room;
	uint32_t before; /* nodes of it that stood before a change that is being told, where
			    CHANGING */
	bool changing;
	uint64_t updates; /* cuGraphExecUpdate */
	uint64_t changes; /* of single nodes, child graphs among them */
	uint64_t given; /* nodes in records of it */
	uint64_t moved; /* looked at or moved for it beyond those that a record names */
	bool partial;
	void *user;
};

struct nvs_launches;
struct nvs_launches *nvs_launches_new(void); /* NULL: no memory */
/* CHANGES is called when node INDEX of EXEC is about to change; NVS_NONE: any of its nodes. */
void nvs_launches_watch(struct nvs_launches *l,
			void (*changes)(void *arg, struct nvs_exec *exec, uint32_t index),
			void *arg);
void nvs_launches_free(struct nvs_launches *l);

/* In the order of the trace; the call before it is looked at. 0 or -ENOMEM. */
int nvs_launches_call(struct nvs_launches *l, const struct nvs_call *call);
int nvs_launches_kernel(struct nvs_launches *l, const struct nvs_rec_kernel *rec);
int nvs_launches_graph(struct nvs_launches *l, const struct nvs_rec_graph *rec);
/* Either, if REC is one of them. */
int nvs_launches_record(struct nvs_launches *l, const struct nvs_rec *rec);

/* execs.c: nodes added in between replace others, by enum nvs_graph_event. 0 or -ENOMEM. */
void nvs_exec_change_begins(struct nvs_exec *e);
/* MAY: false: it stays as it was. */
int nvs_exec_change_ends(struct nvs_exec *e, uint32_t event, bool may);
/* May N nodes more be looked at? Small changes of a large graph take their time: beyond some, it
 * stays as it was, and is told to be partial. */
bool nvs_exec_may(struct nvs_exec *e, uint64_t n);

/* Made where it is missing; NULL: no memory. */
struct nvs_kernel *nvs_launches_of(struct nvs_launches *l, uint64_t function);
struct nvs_exec *nvs_launches_exec(struct nvs_launches *l, uint64_t exec);
uint32_t nvs_launches_kernel_count(const struct nvs_launches *l);
struct nvs_kernel *nvs_launches_kernel_at(const struct nvs_launches *l, uint32_t index);
uint32_t nvs_launches_exec_count(const struct nvs_launches *l);
struct nvs_exec *nvs_launches_exec_at(const struct nvs_launches *l, uint32_t index);

#endif
