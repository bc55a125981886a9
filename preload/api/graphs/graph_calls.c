/* SPDX-License-Identifier: MIT */
/* Handlers after calls that create, change or destroy an executable graph, or destroy the graph or
 * node it was made from. */
#include <string.h>
#include "preload/api/graphs/graph.h"

void nvs_api_after_instantiate(struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[0])
		nvs_graph_record(*(uint64_t *)f->regs[0], f->regs[1], NVS_GRAPH_INSTANTIATED);
}

/* A refused update leaves the graph unchanged. */
void nvs_api_after_update(struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		nvs_graph_record(f->regs[0], f->regs[1], NVS_GRAPH_UPDATED);
}

/* ---- parameters of one node: (exec, node, parameters) ---- */

static void set_node(const struct nvs_api_frame *f, uint32_t type, const void *p, bool has_kern)
{
	struct nvs_graph_node node = {.node = f->regs[1], .type = type};

	if (type == NVS_NODE_KERNEL)
		nvs_graph_fill_kernel(&node, p, has_kern);
	else if (type == NVS_NODE_MEMCPY)
		nvs_graph_fill_copy(&node, p);
	else
		nvs_graph_fill_memset(&node, p);
	nvs_graph_record_node(f->regs[0], &node);
}

void nvs_api_after_set_kernel(struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[2])
		set_node(f, NVS_NODE_KERNEL, (const void *)f->regs[2], false);
}

void nvs_api_after_set_kernel_v2(struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[2])
		set_node(f, NVS_NODE_KERNEL, (const void *)f->regs[2], true);
}

void nvs_api_after_set_copy(struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[2])
		set_node(f, NVS_NODE_MEMCPY, (const void *)f->regs[2], false);
}

void nvs_api_after_set_memset(struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[2])
		set_node(f, NVS_NODE_MEMSET, (const void *)f->regs[2], false);
}

void nvs_api_after_set_child(struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		nvs_graph_record_child(f->regs[0], f->regs[1], f->regs[2]);
}

/* CUgraphNodeParams: the type, then the type's own parameters at offset 16. */
void nvs_api_after_set_node(struct nvs_api_frame *f, uint32_t result)
{
	const uint8_t *p = (const void *)f->regs[2];
	uint32_t type;

	if (result || !p)
		return;
	memcpy(&type, p, sizeof(type));
	switch (type) {
	case NVS_NODE_KERNEL:
	case NVS_NODE_MEMSET:
		set_node(f, type, p + 16, true);
		break;
	case NVS_NODE_MEMCPY: /* after flags and context */
		set_node(f, type, p + 32, false);
		break;
	case NVS_NODE_GRAPH:
		nvs_graph_record_child(f->regs[0], f->regs[1],
				       *(const uint64_t *)(const void *)(p + 16));
		break;
	}
}

void nvs_api_after_set_enabled(struct nvs_api_frame *f, uint32_t result)
{
	struct nvs_graph_node node = {
		.node = f->regs[1],
		.type = NVS_NODE_TYPE_UNKNOWN,
		.flags = (uint32_t)f->regs[2] ? 0 : NVS_NODE_DISABLED,
	};

	if (!result)
		nvs_graph_record_node(f->regs[0], &node);
}

/* ---- bodies of conditional nodes ---- */

static void keep_bodies(const struct nvs_api_frame *f, const uint8_t *p)
{
	uint32_t size, type;
	const uint64_t *graphs;

	memcpy(&type, p, sizeof(type));
	if (type != NVS_NODE_CONDITION)
		return;
	memcpy(&size, p + 28, sizeof(size));
	memcpy(&graphs, p + 32, sizeof(graphs));
	if (graphs)
		nvs_bodies_add(f->regs[1], *(const uint64_t *)f->regs[0], graphs, size);
}

void nvs_api_after_add_node(struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[0] && f->regs[4])
		keep_bodies(f, (const void *)f->regs[4]);
}

void nvs_api_after_add_node_v2(struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[0] && f->regs[5])
		keep_bodies(f, (const void *)f->regs[5]);
}

void nvs_api_after_destroy_exec(struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		nvs_graph_remove_counts(f->regs[0]);
}

void nvs_api_after_destroy_graph(struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		nvs_bodies_remove_graph(f->regs[0]);
}

void nvs_api_after_destroy_node(struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		nvs_bodies_remove_node(f->regs[0]);
}
