/* SPDX-License-Identifier: MIT */
/* Executable graphs (CUgraphExec): the nodes that they hold, as records make and change them. */
#ifndef NVSNOOP_DECODE_CALLS_EXECUTABLE_GRAPHS_H
#define NVSNOOP_DECODE_CALLS_EXECUTABLE_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/calls/edges.h"

struct nvs_exec {
	uint32_t index;
	uint64_t handle, graph;
	enum nvs_graph_origin origin;
	uint32_t nnodes, room;
	struct nvs_graph_node *nodes; /* each before those that are inside it */
	struct nvs_node_place *places; /* by handle; made when a node is first looked up */
	uint32_t *same; /* per node the one before it with the same handle */
	uint32_t placed, same_room;
	uint32_t before; /* nodes that stood before a change that is being told, where CHANGING */
	bool changing;
	uint64_t updates; /* cuGraphExecUpdate */
	uint64_t changes; /* of single nodes, child graphs among them */
	struct nvs_edges edges; /* between places in NODES */
	uint64_t given; /* nodes and edges in records of it */
	uint64_t moved; /* looked at or moved for it beyond those that a record names */
	bool partial;
	void *user;
};

/* Node INDEX of EXEC is about to change; NVS_NONE: any of them. */
typedef void nvs_exec_changes(void *arg, struct nvs_exec *exec, uint32_t index);
struct nvs_exec_watch {
	nvs_exec_changes *changes; /* NULL: nobody asks */
	void *arg;
};

/* Takes in a record that is E's. 0, -ENOMEM, or -E2BIG: more nodes than are kept. */
int nvs_exec_record(struct nvs_exec *e, const struct nvs_rec_graph *rec,
		    const struct nvs_exec_watch *watch);
int nvs_exec_edges(struct nvs_exec *e, const struct nvs_rec_graph_edges *rec);
/* E with all it has. */
void nvs_exec_free(struct nvs_exec *e);

#endif
