/* SPDX-License-Identifier: MIT */
/* Executable graphs (CUgraphExec) and their nodes, as created and changed by records. */
#ifndef NVSNOOP_DECODE_CALLS_EXECUTABLE_GRAPHS_H
#define NVSNOOP_DECODE_CALLS_EXECUTABLE_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/base/keyed_rows.h"
#include "decode/calls/edges.h"

struct nvs_exec {
	uint32_t index;
	uint64_t handle, graph;
	enum nvs_graph_origin origin;
	uint32_t nnodes, room;
	struct nvs_graph_node *nodes; /* each precedes the nodes inside it */
	struct nvs_rows places; /* index by handle; built when a node is first looked up */
	uint32_t *same; /* for each node, the previous one with the same handle */
	uint32_t placed, same_room;
	uint32_t before; /* while CHANGING: number of nodes before the change */
	bool changing;
	uint64_t updates; /* by cuGraphExecUpdate */
	uint64_t changes; /* of single nodes, including child graphs */
	struct nvs_edges edges; /* between indices of NODES */
	uint64_t given; /* nodes and edges in its records */
	uint64_t moved; /* visited or moved, beyond those that a record names */
	bool partial;
};

/* Called before node INDEX of EXEC changes; NVS_NONE: any node may. */
typedef void nvs_exec_changing_fn(void *arg, struct nvs_exec *exec, uint32_t index);
struct nvs_exec_watch {
	nvs_exec_changing_fn *changes; /* may be NULL */
	void *arg;
};

/* Applies a record of E. Returns 0, -ENOMEM, or -E2BIG if there are more nodes than the limit. */
int nvs_exec_record(struct nvs_exec *e, const struct nvs_rec_graph *rec,
		    const struct nvs_exec_watch *watch);
int nvs_exec_edges(struct nvs_exec *e, const struct nvs_rec_graph_edges *rec);
/* Frees E and all its parts. */
void nvs_exec_free(struct nvs_exec *e);

#endif
