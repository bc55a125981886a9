/* SPDX-License-Identifier: MIT */
/* Executable graphs: records their nodes and edges and later changes. Structure layouts are those
 * of the CUDA driver API. */
#ifndef NVSNOOP_PRELOAD_API_GRAPHS_GRAPH_H
#define NVSNOOP_PRELOAD_API_GRAPHS_GRAPH_H

#include "preload/api/intercept/api.h"

/* ---- graphcount.c: effect of a graph launch on the live page ---- */
/* EVENT set NODES in EXEC. PARTIAL: the driver did not return all nodes. */
void nvs_graph_count_nodes(uint64_t exec, enum nvs_graph_event event,
			   const struct nvs_graph_node *nodes, uint32_t n, bool partial);
void nvs_graph_remove_counts(uint64_t exec);
/* Counts DONE, a launch of EXEC. */
void nvs_graph_count_launch(struct nvs_live_page *page, struct nvs_live_slot *slot, uint64_t exec,
			    const struct nvs_api_returned_call *done);

#define NVS_NODE_TYPE_UNKNOWN 0xffffffffu

/* CUgraphNodeType */
enum {
	NVS_NODE_KERNEL = 0,
	NVS_NODE_MEMCPY = 1,
	NVS_NODE_MEMSET = 2,
	NVS_NODE_GRAPH = 4,
	NVS_NODE_ALLOC = 10,
	NVS_NODE_FREE = 11,
	NVS_NODE_CONDITION = 13
};

/* CUDA_MEM_ALLOC_NODE_PARAMS, with spare space */
struct nvs_alloc_params {
	uint64_t pool[11], access, naccess, bytes, address, spare[9];
};
_Static_assert(offsetof(struct nvs_alloc_params, address) == 112, "CUDA_MEM_ALLOC_NODE_PARAMS");

/* CUDA_KERNEL_NODE_PARAMS */
struct nvs_kernel_params {
	uint64_t func;
	uint32_t grid[3], block[3], shared, pad;
	uint64_t params, extra, kern, ctx; /* kern and ctx: since CUDA 12 */
};

/* CUDA_MEMCPY3D */
struct nvs_copy_params {
	uint64_t source[9], reserved0_to_destination[13], width, height, depth;
};
_Static_assert(offsetof(struct nvs_copy_params, width) == 176, "CUDA_MEMCPY3D");

/* CUDA_MEMSET_NODE_PARAMS */
struct nvs_memset_params {
	uint64_t dst, pitch;
	uint32_t value, element;
	uint64_t width, height;
};

void nvs_graph_fill_kernel(struct nvs_graph_node *node, const struct nvs_kernel_params *p,
			   bool has_kern);
void nvs_graph_fill_copy(struct nvs_graph_node *node, const struct nvs_copy_params *p);
void nvs_graph_fill_memset(struct nvs_graph_node *node, const struct nvs_memset_params *p);

/* Records that EXEC now has all nodes and edges of GRAPH. */
void nvs_graph_record(uint64_t exec, uint64_t graph, enum nvs_graph_event event);
/* Records that EXEC's child graph node NODE now contains GRAPH. */
void nvs_graph_record_child(uint64_t exec, uint64_t node, uint64_t graph);
void nvs_graph_record_node(uint64_t exec, const struct nvs_graph_node *node);

/* ---- bodies.c: bodies of conditional nodes, which the driver returns only once ---- */
void nvs_bodies_add(uint64_t owner, uint64_t node, const uint64_t *graphs, uint32_t n);
/* Returns body INDEX of NODE, 0 after the last one. */
uint64_t nvs_bodies_get(uint64_t node, uint32_t index);
void nvs_bodies_remove_graph(uint64_t owner);
void nvs_bodies_remove_node(uint64_t node);

#endif
