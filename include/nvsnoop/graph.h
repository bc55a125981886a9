/* SPDX-License-Identifier: MIT */
/* Part of trace.h: executable graphs, their nodes and edges, and how these change. */
#ifndef NVSNOOP_GRAPH_H
#define NVSNOOP_GRAPH_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

enum nvs_graph_event {
	NVS_GRAPH_INSTANTIATED = 1, /* instantiated; all nodes follow */
	/*
	 * cuGraphExecUpdate: node i replaces the parameters of the executable graph's node i. The
	 * handles are those of the graph that was passed; the executable graph's nodes keep theirs,
	 * and stay disabled if they were.
	 */
	NVS_GRAPH_UPDATED = 2,
	/* New parameters of the node with this handle; its parent is not repeated (0). With type
	 * 0xffffffff only NVS_NODE_DISABLED is meant. */
	NVS_GRAPH_NODE_SET = 3,
	/* The first node is a child graph node, the others are its new contents, as in an update */
	NVS_GRAPH_CHILD_SET = 4,
};

#define NVS_GRAPH_LAST (1u << 0) /* rec.flags: the last record of this event */
#define NVS_GRAPH_PARTIAL (1u << 1) /* rec.flags: the driver did not report all of it */

/* nvs_graph_node.flags */
/* In the body of a conditional node, whose condition says how often it runs */
#define NVS_NODE_CONDITIONAL (1u << 0)
#define NVS_NODE_DISABLED (1u << 1) /* disabled: it does not run */
#define NVS_NODE_NO_PARAMS (1u << 2) /* its parameters are unknown */

struct nvs_graph_node {
	uint64_t node; /* CUgraphNode */
	uint64_t parent; /* node in whose child graph or body it is, 0: directly in the graph */
	uint64_t function; /* of a kernel node */
	uint64_t bytes; /* of a copy or memset node */
	uint32_t type; /* CUgraphNodeType: 0 kernel, 1 copy, 2 memset, 3 host, 4 child graph, ...,
			  13 conditional */
	uint32_t flags; /* NVS_NODE_* */
	uint32_t grid[3], block[3];
	uint32_t shared; /* dynamic shared memory */
	uint32_t reserved;
};

struct nvs_rec_graph {
	struct nvs_rec rec;
	uint64_t exec; /* CUgraphExec */
	uint64_t graph; /* the CUgraph it was instantiated from, 0: unknown */
	uint32_t event; /* enum nvs_graph_event */
	uint32_t first; /* index of nodes[0] within the event */
	uint32_t nnodes; /* in this record */
	uint32_t reserved;
	struct nvs_graph_node nodes[];
};

struct nvs_graph_edge {
	uint64_t from, to; /* nodes of the same graph: TO waits for FROM */
	uint8_t from_port, to_port, type; /* CUgraphEdgeData: type 1 is programmatic */
	uint8_t reserved[5];
};

/*
 * Edges of an event with many nodes, between its first and its last GRAPH record, by the handles
 * used there. Without such a record the edges are unknown: the driver or the recorder does not
 * support them. With NVS_GRAPH_PARTIAL in rec.flags there may be more edges.
 */
struct nvs_rec_graph_edges {
	struct nvs_rec rec;
	uint64_t exec; /* CUgraphExec */
	uint32_t nedges; /* in this record */
	uint32_t reserved;
	struct nvs_graph_edge edges[];
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
