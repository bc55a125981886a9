/* SPDX-License-Identifier: MIT */
/* Records the contents of executable graphs: queries the driver for the nodes and edges of the
 * source graph, including child graphs and bodies of conditional nodes. */
#include <string.h>
#include "preload/api/count/counter_reading.h"
#include "preload/api/graphs/graph.h"
#include "preload/base/preload.h"
#include "trap/buffer/calls.h"

#define BATCH 32 /* nodes in a record */
#define EDGE_BATCH 64
#define MAX_EDGES (1u << 20) /* of one graph; if it has more, none are recorded */
#define MAX_DEPTH 8

/* ---- records ---- */

struct graph_writer {
	struct {
		struct nvs_rec_graph rec;
		struct nvs_graph_node nodes[BATCH];
	} room;
	struct {
		struct nvs_rec_graph_edges rec;
		struct nvs_graph_edge edges[EDGE_BATCH];
	} edges;
	uint32_t written;
	bool partial;
	/* All nodes, for the live page. */
	struct nvs_graph_node *all;
	uint32_t n, room_for;
};

static void keep_node(struct graph_writer *t, const struct nvs_graph_node *node)
{
	if (NVS_GROW(t->all, t->n, t->room_for, 64))
		t->all[t->n++] = *node;
	else
		t->partial = true;
}

static void flush_nodes(struct graph_writer *t, bool last)
{
	struct nvs_rec_graph *rec = &t->room.rec;

	if (!rec->nnodes && !last)
		return;
	rec->rec.type = NVS_REC_GRAPH;
	rec->rec.flags = (last ? NVS_GRAPH_LAST : 0) | (t->partial ? NVS_GRAPH_PARTIAL : 0);
	rec->rec.size = (uint32_t)(sizeof(*rec) + rec->nnodes * sizeof(struct nvs_graph_node));
	rec->first = t->written;
	nvs_record_write(&rec->rec);
	t->written += rec->nnodes;
	rec->nnodes = 0;
}

/* Readers recognise a new event by its first nodes, so these are written before edges. */
static void flush_edges(struct graph_writer *t)
{
	struct nvs_rec_graph_edges *rec = &t->edges.rec;

	if (!t->written)
		flush_nodes(t, false);
	rec->rec.type = NVS_REC_GRAPH_EDGES;
	rec->rec.size = (uint32_t)(sizeof(*rec) + rec->nedges * sizeof(struct nvs_graph_edge));
	rec->exec = t->room.rec.exec;
	nvs_record_write(&rec->rec);
	rec->nedges = 0;
}

static void add_edge(struct graph_writer *t, const struct nvs_graph_edge *edge)
{
	if (t->edges.rec.nedges == EDGE_BATCH)
		flush_edges(t);
	t->edges.edges[t->edges.rec.nedges++] = *edge;
}

static void add_node(struct graph_writer *t, const struct nvs_graph_node *node)
{
	keep_node(t, node);
	if (t->room.rec.nnodes == BATCH)
		flush_nodes(t, false);
	t->room.nodes[t->room.rec.nnodes++] = *node;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

void nvs_graph_fill_kernel(struct nvs_graph_node *node, const struct nvs_kernel_params *p,
			   bool has_kern)
{
	node->function = p->func || !has_kern ? p->func : p->kern;
	memcpy(node->grid, p->grid, sizeof(node->grid));
	memcpy(node->block, p->block, sizeof(node->block));
	node->shared = p->shared;
}

void nvs_graph_fill_copy(struct nvs_graph_node *node, const struct nvs_copy_params *p)
{
	node->bytes = p->width * at_least_one(p->height) * at_least_one(p->depth);
}

void nvs_graph_fill_memset(struct nvs_graph_node *node, const struct nvs_memset_params *p)
{
	node->bytes = p->width * p->element * at_least_one(p->height);
}

static bool query_params(struct nvs_graph_node *node)
{
	int (*get)(uint64_t, void *) = NULL;
	struct nvs_memset_params set = {0};
	struct nvs_kernel_params kernel = {0};
	struct nvs_copy_params copy = {0};

	switch (node->type) {
	case NVS_NODE_KERNEL:
		get = nvs_api_driver_function("cuGraphKernelNodeGetParams_v2");
		if (!get)
			get = nvs_api_driver_function("cuGraphKernelNodeGetParams");
		if (!get || get(node->node, &kernel))
			return false;
		nvs_graph_fill_kernel(node, &kernel, true);
		nvs_api_kernel(node->function);
		nvs_counting_in_graph(node->function);
		return true;
	case NVS_NODE_MEMCPY:
		get = nvs_api_driver_function("cuGraphMemcpyNodeGetParams");
		if (!get || get(node->node, &copy))
			return false;
		nvs_graph_fill_copy(node, &copy);
		return true;
	case NVS_NODE_MEMSET:
		get = nvs_api_driver_function("cuGraphMemsetNodeGetParams");
		if (!get || get(node->node, &set))
			return false;
		nvs_graph_fill_memset(node, &set);
		return true;
	default:
		return true;
	}
}

static void walk_graph(struct graph_writer *t, uint64_t graph, uint64_t parent, uint32_t flags,
		       int depth);

static void walk_bodies(struct graph_writer *t, const struct nvs_graph_node *node, int depth)
{
	uint64_t graph;
	uint32_t i = 0;

	while ((graph = nvs_bodies_get(node->node, i))) {
		walk_graph(t, graph, node->node, NVS_NODE_CONDITIONAL, depth + 1);
		i++;
	}
	if (!i)
		t->partial = true;
}

static void walk_below(struct graph_writer *t, const struct nvs_graph_node *node, int depth)
{
	int (*child)(uint64_t,
		     uint64_t *) = nvs_api_driver_function("cuGraphChildGraphNodeGetGraph");
	uint64_t graph = 0;

	if (node->type == NVS_NODE_CONDITION)
		walk_bodies(t, node, depth);
	if (node->type != NVS_NODE_GRAPH)
		return;
	if (child && !child(node->node, &graph))
		walk_graph(t, graph, node->node, node->flags & NVS_NODE_CONDITIONAL, depth + 1);
	else
		t->partial = true;
}

static void walk_node(struct graph_writer *t, uint64_t handle, uint64_t parent, uint32_t flags,
		      int depth)
{
	int (*get_type)(uint64_t, int *) = nvs_api_driver_function("cuGraphNodeGetType");
	struct nvs_graph_node node = {.node = handle, .parent = parent, .flags = flags};
	int type = 0;

	if (!get_type || get_type(handle, &type)) {
		t->partial = true;
		return;
	}
	node.type = (uint32_t)type;
	if (!query_params(&node))
		node.flags |= NVS_NODE_NO_PARAMS;
	add_node(t, &node);
	walk_below(t, &node, depth);
}

/* ---- edges ---- */

struct edges {
	uint64_t *from, *to;
	uint8_t (*data)[8]; /* CUgraphEdgeData */
	size_t room, n;
};
#define EDGE_BYTES (2 * sizeof(uint64_t) + 8)

/* Reads up to `room` edges. */
static bool query_edges(uint64_t graph, struct edges *e)
{
	int (*get)(uint64_t, uint64_t *, uint64_t *, size_t *);
	int (*get_v2)(uint64_t, uint64_t *, uint64_t *, uint8_t(*)[8], size_t *);

	e->n = e->room;
	get_v2 = nvs_api_driver_function("cuGraphGetEdges_v2");
	if (get_v2)
		return !get_v2(graph, e->from, e->to, e->data, &e->n);
	get = nvs_api_driver_function("cuGraphGetEdges");
	return get && !get(graph, e->from, e->to, &e->n);
}

static void add_edges(struct graph_writer *t, const struct edges *e)
{
	for (size_t i = 0; i < e->n; i++)
		add_edge(t, &(struct nvs_graph_edge){
				    .from = e->from[i],
				    .to = e->to[i],
				    .from_port = e->data[i][0],
				    .to_port = e->data[i][1],
				    .type = e->data[i][2],
			    });
}

/*
 * Most graphs have about as many edges as nodes. The driver is not asked for the number first: it
 * may refuse that if the caller does not also take the edges' data. Returns false if the driver
 * fails or there are too many edges.
 */
static bool walk_edges(struct graph_writer *t, uint64_t graph, size_t nodes)
{
	bool answered = true, whole = false;
	struct edges e;

	for (e.room = 2 * nodes; answered && !whole && e.room <= MAX_EDGES; e.room *= 2) {
		e.from = nvs_alloc(e.room * EDGE_BYTES);
		e.to = e.from ? e.from + e.room : NULL;
		e.data = e.from ? (void *)(e.to + e.room) : NULL;
		answered = e.from && query_edges(graph, &e);
		whole = answered && e.n < e.room;
		if (whole)
			add_edges(t, &e);
		nvs_free(e.from, e.room * EDGE_BYTES);
	}
	return whole;
}

static void walk_graph(struct graph_writer *t, uint64_t graph, uint64_t parent, uint32_t flags,
		       int depth)
{
	int (*get_nodes)(uint64_t, uint64_t *,
			 size_t *) = nvs_api_driver_function("cuGraphGetNodes");
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
	if (room > 1 && !walk_edges(t, graph, room))
		t->edges.rec.rec.flags = NVS_GRAPH_PARTIAL;
}

static bool is_recording(void)
{
	return atomic_load(&nvs_api_live) && nvs_session_is_active() &&
	       !atomic_load(&nvs_writer_signal.ended);
}

/* NODE: record this node and the graph inside it. NULL: the whole graph. */
static void record_graph(uint64_t exec, const struct nvs_graph_node *node, uint64_t graph,
			 enum nvs_graph_event event)
{
	struct graph_writer *t;
	NVS_KEEP_ERRNO();

	if (!is_recording())
		return;
	t = nvs_alloc(sizeof(*t));
	if (!t)
		return;
	t->room.rec.exec = exec;
	t->room.rec.graph = graph;
	t->room.rec.event = event;
	if (node)
		add_node(t, node);
	nvs_calls.quiet++;
	if (graph)
		walk_graph(t, graph, node ? node->node : 0, 0, 0);
	if (graph && (t->written || t->room.rec.nnodes) &&
	    (nvs_api_driver_function("cuGraphGetEdges_v2") ||
	     nvs_api_driver_function("cuGraphGetEdges")))
		flush_edges(t);
	nvs_calls.quiet--;
	flush_nodes(t, true);
	nvs_graph_count_nodes(exec, event, t->all, t->n, t->partial);
	nvs_free(t->all, t->room_for * sizeof(*t->all));
	nvs_free(t, sizeof(*t));
}

void nvs_graph_record(uint64_t exec, uint64_t graph, enum nvs_graph_event event)
{
	record_graph(exec, NULL, graph, event);
}

void nvs_graph_record_child(uint64_t exec, uint64_t handle, uint64_t graph)
{
	struct nvs_graph_node node = {.node = handle, .type = NVS_NODE_GRAPH};

	record_graph(exec, &node, graph, NVS_GRAPH_CHILD_SET);
}

void nvs_graph_record_node(uint64_t exec, const struct nvs_graph_node *node)
{
	if (is_recording() && node->function) {
		nvs_api_kernel(node->function);
		nvs_counting_in_graph(node->function);
	}
	record_graph(exec, node, 0, NVS_GRAPH_NODE_SET);
}
