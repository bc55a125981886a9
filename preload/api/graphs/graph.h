/* SPDX-License-Identifier: MIT */
/*
 * Executable graphs: telling what they hold, and what of it has changed. Layouts: CUDA driver API.
 */
#ifndef NVSNOOP_PRELOAD_API_GRAPHS_GRAPH_H
#define NVSNOOP_PRELOAD_API_GRAPHS_GRAPH_H

#include "preload/api/intercept/api.h"

/* ---- graphcount.c: what a launch of it adds to the live page ---- */
/* NODES of EXEC are new by EVENT, all that are told of it; PARTIAL: the driver did not tell all. */
void nvs_graph_count_nodes(uint64_t exec, enum nvs_graph_event event,
			   const struct nvs_graph_node *nodes, uint32_t n, bool partial);
void nvs_graph_count_gone(uint64_t exec);
/* EXEC was launched by DONE. */
void nvs_graph_count(struct nvs_live_page *page, struct nvs_live_slot *slot, uint64_t exec,
		     const struct nvs_api_done *done);

#define NVS_NODE_TYPE_NOT_TOLD 0xffffffffu

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

/* CUDA_MEM_ALLOC_NODE_PARAMS, with room to spare */
struct nvs_alloc_params {
	uint64_t pool[11], access, naccess, bytes, address, spare[9];
};
_Static_assert(offsetof(struct nvs_alloc_params, address) == 112, "CUDA_MEM_ALLOC_NODE_PARAMS");

/* CUDA_KERNEL_NODE_PARAMS */
struct nvs_kernel_params {
	uint64_t func;
	uint32_t grid[3], block[3], shared, pad;
	uint64_t params, extra, kern, ctx; /* the latter two since CUDA 12 */
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

/* All nodes and edges of GRAPH are EXEC's from now on. */
void nvs_graph_tell(uint64_t exec, uint64_t graph, enum nvs_graph_event event);
/* What is inside its child graph node NODE is what GRAPH holds. */
void nvs_graph_tell_child(uint64_t exec, uint64_t node, uint64_t graph);
void nvs_graph_tell_node(uint64_t exec, const struct nvs_graph_node *node);

/* ---- bodies.c: graphs of conditional nodes, which the driver gives out once and cannot be asked
 * for again ---- */
void nvs_bodies_add(uint64_t owner, uint64_t node, const uint64_t *graphs, uint32_t n);
/* Body number INDEX of NODE; 0: it has no more. */
uint64_t nvs_bodies_get(uint64_t node, uint32_t index);
void nvs_bodies_forget_graph(uint64_t owner);
void nvs_bodies_forget_node(uint64_t node);

#endif
