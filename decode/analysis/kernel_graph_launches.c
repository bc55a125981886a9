/* SPDX-License-Identifier: MIT */
/* Counts graph launches for --by-kernel: one counter per executable graph, added to the rows of its
 * kernel nodes only when a node changes or the trace ends. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/pass.h"
#include "decode/base/grow.h"
#include "decode/calls/executable_graphs.h"
#include "decode/analysis/kernel_stats.h"
#include "decode/calls/args.h"

struct counted {
	struct nvs_kernel_row *row; /* NULL: not a kernel node, or disabled */
	uint64_t since; /* launches of the graph before the node got its current parameters */
	bool changed; /* since the last launch of the graph */
};

struct counted_graph {
	const struct nvs_exec *exec; /* its key */
	uint64_t launches;
	uint32_t n, room; /* nodes seen */
	struct counted *nodes;
	uint32_t *changed, nchanged, changed_room;
};

static void count_node_launches(const struct nvs_exec *exec, struct counted_graph *g, uint32_t i)
{
	uint64_t n = g->launches - g->nodes[i].since;
	struct nvs_kernel_row *row = g->nodes[i].row;

	g->nodes[i].row = NULL;
	if (!row)
		return;
	if (exec->nodes[i].flags & NVS_NODE_CONDITIONAL)
		row->conditional += n;
	else if (exec->origin == NVS_GRAPH_FROM_CAPTURE)
		row->by_capture += n;
	else if (exec->origin == NVS_GRAPH_FROM_NODES)
		row->by_nodes += n;
	else
		row->by_unknown += n;
}

static int see_node(struct nvs_kernels *st, const struct nvs_exec *exec, struct counted_graph *g,
		    uint32_t i)
{
	const struct nvs_graph_node *node = exec->nodes + i;
	struct nvs_shape shape;
	struct nvs_kernel_row *row;

	g->nodes[i] = (struct counted){NULL, g->launches, false};
	if (node->type || node->flags & NVS_NODE_DISABLED)
		return 0;
	row = nvs_kernel_row(st, nvs_handles_get_kernel(st->handles, node->function));
	if (!row)
		return -ENOMEM;
	g->nodes[i].row = row;
	memcpy(shape.grid, node->grid, sizeof(shape.grid));
	memcpy(shape.block, node->block, sizeof(shape.block));
	if (!(node->flags & NVS_NODE_NO_PARAMS))
		nvs_kernel_add_shape(st, row, &shape);
	if (node->shared > row->dynamic)
		row->dynamic = node->shared;
	return 0;
}

static void count_all_nodes(struct counted_graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		count_node_launches(g->exec, g, i);
	g->n = g->nchanged = 0;
}

/* Called before node I changes, or before all do (NVS_NONE): launches so far belong to the old
 * kernel. */
static int on_node_change(void *arg, struct nvs_exec *exec, uint32_t i)
{
	struct nvs_kernels *st = arg;
	struct counted_graph *g = nvs_rows_find(&st->graphs, &exec);
	uint32_t *changed;

	if (g && i == NVS_NONE)
		count_all_nodes(g);
	if (!g || i >= g->n || g->nodes[i].changed)
		return 0;
	count_node_launches(exec, g, i);
	g->nodes[i].changed = true;
	changed = NVS_APPEND(g->changed, g->nchanged, g->changed_room, 4, UINT32_MAX);
	if (!changed)
		return -ENOMEM;
	*changed = i;
	return 0;
}

/* Reads the nodes that were added or changed since the last launch. */
static int see_nodes(struct nvs_kernels *st, const struct nvs_exec *exec, struct counted_graph *g)
{
	struct counted *more;
	int r = 0;

	if (g->room < exec->nnodes) {
		more = realloc(g->nodes, exec->room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		g->nodes = more;
		g->room = exec->room;
	}
	while (g->n > exec->nnodes)
		count_node_launches(exec, g, --g->n);
	for (uint32_t i = 0; i < g->nchanged && !r; i++)
		r = g->changed[i] < g->n ? see_node(st, exec, g, g->changed[i]) : 0;
	g->nchanged = 0;
	for (; g->n < exec->nnodes && !r; g->n += !r)
		r = see_node(st, exec, g, g->n);
	return r;
}

int nvs_kernels_graph_launch(struct nvs_kernels *st, const struct nvs_call *call)
{
	struct nvs_exec *exec;
	struct counted_graph *g;
	uint64_t handle;
	int r;

	if (call->result || !call->end || call->flags & NVS_CALL_CAPTURED ||
	    !nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	exec = nvs_handles_get_exec(st->handles, handle);
	g = exec ? nvs_rows_at(&st->graphs, &exec) : NULL;
	r = g ? see_nodes(st, exec, g) : -ENOMEM;
	if (!r)
		g->launches++;
	return r;
}

void nvs_kernels_begin(struct nvs_kernels *st, struct nvs_pass_reader *reader)
{
	st->rows = NVS_ROWS(struct nvs_kernel_row, kernel);
	st->graphs = NVS_ROWS(struct counted_graph, exec);
	reader->handles = &st->handles;
	reader->node_change = on_node_change;
}

static void free_graph(void *row)
{
	struct counted_graph *g = row;

	count_all_nodes(g);
	free(g->nodes);
	free(g->changed);
}

void nvs_kernels_finish(struct nvs_kernels *st)
{
	nvs_rows_free(&st->graphs, free_graph);
}
