/* SPDX-License-Identifier: MIT */
/*
 * Executable graphs: after each call that makes or changes one, the driver is asked for the graph's nodes,
 * child graphs and bodies of conditional nodes included, and they are told. Layouts: CUDA driver API.
 */
#include <errno.h>
#include <string.h>
#include "preload/api.h"
#include "preload/preload.h"
#include "trap/calls.h"

#define BATCH 32 /* nodes of one record */
#define MAX_DEPTH 8
#define MAX_BODIES 1024
#define TYPE_NOT_TOLD 0xffffffffu

enum { NODE_KERNEL = 0, NODE_MEMCPY = 1, NODE_MEMSET = 2, NODE_GRAPH = 4, NODE_CONDITIONAL = 13 };

struct kernel_params {
	uint64_t func;
	uint32_t grid[3], block[3], shared, pad;
	uint64_t params, extra, kern, ctx; /* the latter two since CUDA 12 */
};

struct copy3d {
	uint64_t source[9], reserved0_to_destination[13], width, height, depth;
};
_Static_assert(offsetof(struct copy3d, width) == 176, "CUDA_MEMCPY3D");

struct memset_params {
	uint64_t dst, pitch;
	uint32_t value, element;
	uint64_t width, height;
};

/* Bodies of conditional nodes: the driver gives them out once and cannot be asked again. */
static struct {
	_Atomic uint64_t node;
	uint64_t graph;
} bodies[MAX_BODIES];
static _Atomic uint32_t next_body;

/* ---- telling ---- */

struct telling {
	struct {
		struct nvs_rec_graph rec;
		struct nvs_graph_node nodes[BATCH];
	} room;
	uint32_t told;
	bool partial;
};

static void flush(struct telling *t, bool last)
{
	struct nvs_rec_graph *rec = &t->room.rec;

	if (!rec->nnodes && !last)
		return;
	rec->rec.type = NVS_REC_GRAPH;
	rec->rec.flags = (last ? NVS_GRAPH_LAST : 0) | (t->partial ? NVS_GRAPH_PARTIAL : 0);
	rec->rec.size = (uint32_t)(sizeof(*rec) + rec->nnodes * sizeof(struct nvs_graph_node));
	rec->first = t->told;
	nvs_record(&rec->rec);
	t->told += rec->nnodes;
	rec->nnodes = 0;
}

static void add(struct telling *t, const struct nvs_graph_node *node)
{
	if (t->room.rec.nnodes == BATCH)
		flush(t, false);
	t->room.nodes[t->room.rec.nnodes++] = *node;
}

static void fill_kernel(struct nvs_graph_node *node, const struct kernel_params *p, uint64_t kern)
{
	node->function = p->func ? p->func : kern;
	memcpy(node->grid, p->grid, sizeof(node->grid));
	memcpy(node->block, p->block, sizeof(node->block));
	node->shared = p->shared;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static bool ask_params(struct nvs_graph_node *node)
{
	int (*get)(uint64_t, void *) = NULL;
	struct memset_params set = { 0 };
	struct kernel_params kernel = { 0 };
	struct copy3d copy = { 0 };

	switch (node->type) {
	case NODE_KERNEL:
		get = nvs_api_driver("cuGraphKernelNodeGetParams_v2");
		if (!get)
			get = nvs_api_driver("cuGraphKernelNodeGetParams");
		if (!get || get(node->node, &kernel))
			return false;
		fill_kernel(node, &kernel, kernel.kern);
		nvs_api_kernel(node->function);
		return true;
	case NODE_MEMCPY:
		get = nvs_api_driver("cuGraphMemcpyNodeGetParams");
		if (!get || get(node->node, &copy))
			return false;
		node->bytes = copy.width * at_least_one(copy.height) * at_least_one(copy.depth);
		return true;
	case NODE_MEMSET:
		get = nvs_api_driver("cuGraphMemsetNodeGetParams");
		if (!get || get(node->node, &set))
			return false;
		node->bytes = set.width * set.element * at_least_one(set.height);
		return true;
	default:
		return true;
	}
}

static void walk(struct telling *t, uint64_t graph, uint64_t parent, uint32_t flags, int depth);

static void walk_below(struct telling *t, const struct nvs_graph_node *node, int depth)
{
	int (*child)(uint64_t, uint64_t *) = nvs_api_driver("cuGraphChildGraphNodeGetGraph");
	uint32_t n = atomic_load(&next_body);
	uint64_t graph = 0;

	if (node->type == NODE_GRAPH) {
		if (child && !child(node->node, &graph))
			walk(t, graph, node->node, node->flags & NVS_NODE_CONDITIONAL, depth + 1);
		else
			t->partial = true;
	}
	if (node->type != NODE_CONDITIONAL)
		return;
	for (uint32_t i = 0; i < n && i < MAX_BODIES; i++) {
		if (atomic_load(&bodies[i].node) != node->node)
			continue;
		graph = bodies[i].graph;
		walk(t, graph, node->node, NVS_NODE_CONDITIONAL, depth + 1);
	}
	if (!graph)
		t->partial = true;
}

static void walk_node(struct telling *t, uint64_t handle, uint64_t parent, uint32_t flags, int depth)
{
	int (*get_type)(uint64_t, int *) = nvs_api_driver("cuGraphNodeGetType");
	struct nvs_graph_node node = { .node = handle, .parent = parent, .flags = flags };
	int type = 0;

	if (!get_type || get_type(handle, &type)) {
		t->partial = true;
		return;
	}
	node.type = (uint32_t)type;
	if (!ask_params(&node))
		node.flags |= NVS_NODE_NO_PARAMS;
	add(t, &node);
	walk_below(t, &node, depth);
}

static void walk(struct telling *t, uint64_t graph, uint64_t parent, uint32_t flags, int depth)
{
	int (*get_nodes)(uint64_t, uint64_t *, size_t *) = nvs_api_driver("cuGraphGetNodes");
	size_t n = 0, room;
	uint64_t *nodes;

	if (!get_nodes || depth > MAX_DEPTH || get_nodes(graph, NULL, &n)) {
		t->partial = true;
		return;
	}
	room = n;
	nodes = n ? nvs_alloc(room * sizeof(*nodes)) : NULL;
	if (nodes && !get_nodes(graph, nodes, &n))
		for (size_t i = 0; i < n && i < room; i++)
			walk_node(t, nodes[i], parent, flags, depth);
	else if (room)
		t->partial = true;
	nvs_free(nodes, room * sizeof(*nodes));
}

static bool live(void)
{
	return atomic_load(&nvs_api_live) && nvs_session_active() && !atomic_load(&nvs_writer_signal.ended);
}

static void tell_graph(uint64_t exec, uint64_t graph, uint32_t event)
{
	struct telling *t;
	int saved = errno;

	if (!live())
		return;
	t = nvs_alloc(sizeof(*t));
	if (!t)
		return;
	t->room.rec.exec = exec;
	t->room.rec.graph = graph;
	t->room.rec.event = event;
	nvs_calls.quiet++;
	walk(t, graph, 0, 0, 0);
	nvs_calls.quiet--;
	flush(t, true);
	nvs_free(t, sizeof(*t));
	errno = saved;
}

static void tell_node(uint64_t exec, const struct nvs_graph_node *node)
{
	struct telling *t;
	int saved = errno;

	if (!live())
		return;
	if (node->function)
		nvs_api_kernel(node->function);
	t = nvs_alloc(sizeof(*t));
	if (!t)
		return;
	t->room.rec.exec = exec;
	t->room.rec.event = NVS_GRAPH_NODE_SET;
	add(t, node);
	flush(t, true);
	nvs_free(t, sizeof(*t));
	errno = saved;
}

/* ---- after calls ---- */

static void after_instantiate(const struct nvs_api_slot *slot, struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[0])
		tell_graph(*(uint64_t *)f->regs[0], f->regs[1], NVS_GRAPH_INSTANTIATED);
}

static void after_update(const struct nvs_api_slot *slot, struct nvs_api_frame *f, uint32_t result)
{
	if (!result)
		tell_graph(f->regs[0], f->regs[1], NVS_GRAPH_UPDATED);
}

static void after_set_kernel(const struct nvs_api_slot *slot, struct nvs_api_frame *f, uint32_t result)
{
	const struct kernel_params *p = (const void *)f->regs[2];
	size_t n = strlen(slot->api->name);
	struct nvs_graph_node node = { .node = f->regs[1], .type = NODE_KERNEL };

	if (result || !p)
		return;
	fill_kernel(&node, p, !strcmp(slot->api->name + n - 3, "_v2") ? p->kern : 0);
	tell_node(f->regs[0], &node);
}

/* CUgraphNodeParams: the type, then 16 bytes from its start what belongs to it. */
static void after_set_node(const struct nvs_api_slot *slot, struct nvs_api_frame *f, uint32_t result)
{
	const uint8_t *p = (const void *)f->regs[2];
	const struct kernel_params *kernel = (const void *)(p + 16);
	struct nvs_graph_node node = { .node = f->regs[1], .type = TYPE_NOT_TOLD };

	if (result || !p || *(const uint32_t *)(const void *)p != NODE_KERNEL)
		return;
	node.type = NODE_KERNEL;
	fill_kernel(&node, kernel, kernel->kern);
	tell_node(f->regs[0], &node);
}

static void after_set_enabled(const struct nvs_api_slot *slot, struct nvs_api_frame *f, uint32_t result)
{
	struct nvs_graph_node node = {
		.node = f->regs[1],
		.type = TYPE_NOT_TOLD,
		.flags = (uint32_t)f->regs[2] ? 0 : NVS_NODE_DISABLED,
	};

	if (!result)
		tell_node(f->regs[0], &node);
}

static void keep_bodies(const uint64_t *out, const uint8_t *p)
{
	uint32_t size, type;
	const uint64_t *graphs;

	memcpy(&type, p, sizeof(type));
	if (type != NODE_CONDITIONAL)
		return;
	memcpy(&size, p + 28, sizeof(size));
	memcpy(&graphs, p + 32, sizeof(graphs));
	for (uint32_t i = 0; graphs && i < size; i++) {
		uint32_t at = atomic_fetch_add(&next_body, 1);

		if (at >= MAX_BODIES)
			return;
		bodies[at].graph = graphs[i];
		atomic_store(&bodies[at].node, *out);
	}
}

static void after_add_node(const struct nvs_api_slot *slot, struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[0] && f->regs[4])
		keep_bodies((const void *)f->regs[0], (const void *)f->regs[4]);
}

static void after_add_node_v2(const struct nvs_api_slot *slot, struct nvs_api_frame *f, uint32_t result)
{
	if (!result && f->regs[0] && f->regs[5])
		keep_bodies((const void *)f->regs[0], (const void *)f->regs[5]);
}

static const struct {
	const char *name;
	nvs_api_after_fn fn;
} handlers[] = {
	{ "cuGraphInstantiate", after_instantiate },
	{ "cuGraphInstantiate_v2", after_instantiate },
	{ "cuGraphInstantiateWithFlags", after_instantiate },
	{ "cuGraphInstantiateWithParams", after_instantiate },
	{ "cuGraphInstantiateWithParams_ptsz", after_instantiate },
	{ "cuGraphExecUpdate", after_update },
	{ "cuGraphExecUpdate_v2", after_update },
	{ "cuGraphExecKernelNodeSetParams", after_set_kernel },
	{ "cuGraphExecKernelNodeSetParams_v2", after_set_kernel },
	{ "cuGraphExecNodeSetParams", after_set_node },
	{ "cuGraphNodeSetEnabled", after_set_enabled },
	{ "cuGraphAddNode", after_add_node },
	{ "cuGraphAddNode_v2", after_add_node_v2 },
};

nvs_api_after_fn nvs_api_graph_after_of(const char *name)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++)
		if (!strcmp(name, handlers[i].name))
			return handlers[i].fn;
	return NULL;
}
