/* SPDX-License-Identifier: MIT */
/* Memory allocated and freed by graph nodes, counted on each launch of the graph. Called by
 * allocations.c. */
#include <errno.h>
#include <stdlib.h>
#include "decode/base/grow.h"
#include "decode/calls/args.h"
#include "decode/calls/roles.h"
#include "decode/analysis/allocations.h"
#include "decode/base/keyed_rows.h"

#define MAX_STEPS (1u << 24) /* limit on nodes visited over the whole trace */

/* A node that allocates or frees memory, with the call that created it. */
struct memory_node {
	struct nvs_alloc_by by;
	uint64_t address, bytes, stream;
	bool frees;
};

/* Nodes in creation order; a node is created after those it depends on. */
struct node_list {
	struct node_list *next;
	struct memory_node *node;
	uint32_t n, room;
};

struct graph_nodes {
	uint64_t handle;
	struct node_list *list;
};

/* An executable graph: the first N nodes of its graph's list, as at instantiation. */
struct exec {
	uint64_t handle;
	const struct node_list *list;
	uint64_t n;
};

struct nvs_alloc_graphs {
	struct nvs_rows graphs, execs;
	struct node_list *lists; /* all lists, to be freed */
	struct node_list captured; /* nodes of captures that have not ended */
	uint32_t steps;
};

static int append_node(struct node_list *l, const struct memory_node *node)
{
	struct memory_node *own = NVS_APPEND(l->node, l->n, l->room, 4, UINT32_MAX);

	if (!own)
		return -ENOMEM;
	*own = *node;
	return 0;
}

static int append_to_graph(struct nvs_alloc_graphs *g, uint64_t handle,
			   const struct memory_node *node)
{
	struct graph_nodes *graph = nvs_rows_at(&g->graphs, &handle);

	if (!graph)
		return -ENOMEM;
	if (!graph->list) {
		graph->list = calloc(1, sizeof(*graph->list));
		if (!graph->list)
			return -ENOMEM;
		graph->list->next = g->lists;
		g->lists = graph->list;
	}
	return append_node(graph->list, node);
}

/* Charges N steps to the budget. Returns false if the budget is exhausted. */
static bool charge_steps(struct nvs_alloc_graphs *g, uint64_t n)
{
	if (n > MAX_STEPS - g->steps) {
		nvs_budget_set_exceeded();
		return false;
	}
	g->steps += (uint32_t)n;
	return true;
}

/* Moves the captured nodes of this stream, and those this thread captured on streams that joined
 * it, to the graph. */
static int end_capture(struct nvs_alloc_graphs *g, const struct nvs_call *call, uint64_t handle)
{
	uint64_t stream = 0;
	uint32_t kept = 0;
	int r = 0;

	nvs_call_kind(call, NVS_KIND_STREAM, &stream);
	if (!charge_steps(g, g->captured.n))
		return 0;
	for (uint32_t i = 0; i < g->captured.n && !r; i++) {
		const struct memory_node *node = g->captured.node + i;

		if (node->stream == stream || node->by.thread == call->thread)
			r = append_to_graph(g, handle, node);
		else
			g->captured.node[kept++] = *node;
	}
	g->captured.n = kept;
	return r;
}

static int instantiate_graph(struct nvs_alloc_graphs *g, uint64_t handle, uint64_t exec)
{
	const struct graph_nodes *graph = nvs_rows_at(&g->graphs, &handle);
	struct exec *e = nvs_rows_at(&g->execs, &exec);

	if (!graph || !e)
		return -ENOMEM;
	e->list = graph->list;
	e->n = e->list ? e->list->n : 0;
	return 0;
}

/* Detaches the node list: the handle may be reused for another graph. */
static int detach_nodes(struct nvs_alloc_graphs *g, uint64_t handle)
{
	struct graph_nodes *graph = nvs_rows_at(&g->graphs, &handle);

	if (graph)
		graph->list = NULL;
	return graph ? 0 : -ENOMEM;
}

/* Performs the nodes in order. A node's allocation left over from the previous launch is freed
 * first. */
static int run_nodes(struct nvs_allocs *a, const struct nvs_alloc_by *now, uint64_t exec)
{
	struct nvs_alloc_graphs *g = a->graphs;
	const struct exec *e = nvs_rows_at(&g->execs, &exec);
	bool found;
	int r = e ? 0 : -ENOMEM;

	if (!r && !charge_steps(g, e->n))
		return 0;
	for (uint64_t i = 0; !r && i < e->n; i++) {
		const struct memory_node *node = e->list->node + i;
		struct nvs_alloc_by by = node->by;

		by.begin = now->begin;
		by.end = now->end;
		by.context = now->context;
		by.thread = now->thread;
		r = nvs_allocs_remove(a, &by, node->address, !node->frees, &found);
		if (!r && !node->frees)
			r = nvs_allocs_add(a, &by, NVS_ALLOC_GRAPH, node->address, node->bytes);
	}
	return r;
}

static struct nvs_alloc_graphs *create_graphs(struct nvs_allocs *a)
{
	if (a->graphs)
		return a->graphs;
	a->graphs = calloc(1, sizeof(*a->graphs));
	if (a->graphs) {
		a->graphs->graphs = NVS_ROWS(struct graph_nodes, handle);
		a->graphs->execs = NVS_ROWS(struct exec, handle);
	}
	return a->graphs;
}

/* Adds a node, created by its own call or by stream capture. */
static int make_node(struct nvs_alloc_graphs *g, const struct nvs_call *call,
		     const struct nvs_alloc_by *by)
{
	uint8_t role = call->api->role;
	struct memory_node node = {
		.by = *by, .frees = role == NVS_CALL_ROLE_FREE || role == NVS_CALL_ROLE_FREE_GRAPH};
	uint64_t graph;

	/* cuGraphAddNode() adds nodes of every type; those that neither allocate nor free are
	 * ignored. */
	node.frees |= nvs_call_value(call, NVS_ARG_freed, &node.address);
	if ((!node.address && !nvs_call_value(call, NVS_ARG_address, &node.address)) ||
	    (!node.frees && !nvs_call_value(call, NVS_ARG_size, &node.bytes)))
		return 0;
	if (!(call->flags & NVS_CALL_CAPTURED))
		return nvs_call_kind(call, NVS_KIND_GRAPH, &graph)
			       ? append_to_graph(g, graph, &node)
			       : 0;
	nvs_call_kind(call, NVS_KIND_STREAM, &node.stream);
	return append_node(&g->captured, &node);
}

static bool makes_node(const struct nvs_call *call)
{
	switch (call->api->role) {
	case NVS_CALL_ROLE_ALLOC_GRAPH:
	case NVS_CALL_ROLE_FREE_GRAPH:
		return true;
	case NVS_CALL_ROLE_ALLOC_ASYNC:
	case NVS_CALL_ROLE_FREE:
		return call->flags & NVS_CALL_CAPTURED;
	}
	return false;
}

bool nvs_alloc_graphs_call(struct nvs_allocs *a, const struct nvs_call *call,
			   const struct nvs_alloc_by *by, int *r)
{
	bool launches = call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH &&
			!(call->flags & NVS_CALL_CAPTURED);
	struct nvs_alloc_graphs *g = a->graphs;
	uint64_t graph = 0, exec = 0, bytes;

	*r = 0;
	if (call->result || (!g && !makes_node(call)))
		return call->api->role == NVS_CALL_ROLE_FREE_GRAPH ||
		       (call->api->role == NVS_CALL_ROLE_ALLOC_GRAPH &&
			!nvs_call_value(call, NVS_ARG_size, &bytes));
	if (!g && !(g = create_graphs(a))) {
		*r = -ENOMEM;
		return true;
	}
	if (makes_node(call)) {
		*r = make_node(g, call, by);
		return true;
	}
	nvs_call_kind(call, NVS_KIND_GRAPH, &graph);
	nvs_call_kind(call, NVS_KIND_EXEC, &exec);
	if (launches && exec)
		*r = run_nodes(a, by, exec);
	else if (call->api->role == NVS_CALL_ROLE_GRAPH_CAPTURE && graph)
		*r = end_capture(g, call, graph);
	else if (call->api->role == NVS_CALL_ROLE_GRAPH_INSTANTIATE && exec)
		*r = instantiate_graph(g, graph, exec);
	else if (call->api->role == NVS_CALL_ROLE_GRAPH_DESTROY && graph)
		*r = detach_nodes(g, graph);
	else
		return false;
	return true;
}

void nvs_alloc_graphs_free(struct nvs_alloc_graphs *g)
{
	if (!g)
		return;
	while (g->lists) {
		struct node_list *l = g->lists;

		g->lists = l->next;
		free(l->node);
		free(l);
	}
	free(g->captured.node);
	nvs_rows_free(&g->graphs, NULL);
	nvs_rows_free(&g->execs, NULL);
	free(g);
}
