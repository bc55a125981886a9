/* SPDX-License-Identifier: MIT */
/*
 * Single nodes of an executable graph are set by handle. If a whole graph, or a child graph in it,
 * gets other nodes, these come in the order of the ones that they replace, each followed by the
 * nodes inside it. The old nodes keep their handles, which later calls use, and stay disabled if
 * they were.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/trace/records.h"
#include "decode/calls/executable_graphs.h"

#define MAX_NODES (1u << 22) /* per executable graph */
#define MAX_SAME 64u /* nodes with one handle; drivers create no duplicates */
#define MAX_NEST 64
#define FREE_MOVES (1u << 20)
#define MOVES_EACH 64u /* allowance for each node in a record */

enum { TYPE_GRAPH = 4, TYPE_CONDITIONAL = 13 };

/* Returns false if visiting N more nodes exceeds the allowance, which bounds the cost of many small
 * changes to a large graph. The graph then stays unchanged and is marked partial. */
static bool take_allowance(struct nvs_exec *e, uint64_t n)
{
	if (e->moved + n > FREE_MOVES + MOVES_EACH * e->given) {
		e->partial = true;
		return false;
	}
	e->moved += n;
	return true;
}

static int add_node(struct nvs_exec *e, const struct nvs_graph_node *node)
{
	struct nvs_graph_node *own = NVS_APPEND(e->nodes, e->nnodes, e->room, 2, MAX_NODES);

	if (!own)
		return e->room >= MAX_NODES ? -E2BIG : -ENOMEM;
	*own = *node;
	return 0;
}

/* ---- nodes of one handle: set by themselves ---- */

static void announce_change(const struct nvs_exec_watch *watch, struct nvs_exec *e, uint32_t index)
{
	if (watch->changes)
		watch->changes(watch->arg, e, index);
}

struct nvs_node_place {
	uint64_t handle;
	uint32_t last; /* latest node with this handle */
};

static void drop_index(struct nvs_exec *e)
{
	nvs_rows_free(&e->places, NULL);
	free(e->same);
	e->same = NULL;
	e->placed = e->same_room = 0;
}

static int index_node(struct nvs_exec *e, uint32_t i)
{
	size_t known = e->places.n;
	struct nvs_node_place *p;

	if (!e->places.size)
		e->places = NVS_ROWS(struct nvs_node_place, handle);
	p = nvs_rows_at(&e->places, &e->nodes[i].node);
	if (!p)
		return -ENOMEM;
	e->same[i] = e->places.n == known ? p->last : NVS_NONE;
	p->last = i;
	return 0;
}

/* Adds the nodes that came since the last look-up to the index. */
static int index_nodes(struct nvs_exec *e)
{
	int r = 0;

	if (!e->placed && !take_allowance(e, e->nnodes))
		return 0;
	if (e->same_room < e->room) {
		void *more = realloc(e->same, e->room * sizeof(*e->same));

		if (!more)
			return -ENOMEM;
		e->same = more;
		e->same_room = e->room;
	}
	for (; e->placed < e->nnodes && !r; e->placed += !r)
		r = index_node(e, e->placed);
	return r;
}

static void change_node(struct nvs_graph_node *into, const struct nvs_graph_node *node)
{
	if (node->type == UINT32_MAX) {
		into->flags &= ~NVS_NODE_DISABLED;
		into->flags |= node->flags & NVS_NODE_DISABLED;
		return;
	}
	into->function = node->function;
	into->bytes = node->bytes;
	memcpy(into->grid, node->grid, sizeof(node->grid));
	memcpy(into->block, node->block, sizeof(node->block));
	into->shared = node->shared;
}

/* Changes a node's parameters, or enables or disables it. */
static int set_node(struct nvs_exec *e, const struct nvs_graph_node *node,
		    const struct nvs_exec_watch *watch)
{
	const struct nvs_node_place *p;
	uint32_t n = 0;
	int r = index_nodes(e);

	e->changes++;
	p = r ? NULL : nvs_rows_find(&e->places, &node->node);
	for (uint32_t i = p ? p->last : NVS_NONE; i != NVS_NONE && n < MAX_SAME;
	     i = e->same[i], n++) {
		announce_change(watch, e, i);
		change_node(e->nodes + i, node);
	}
	return r;
}

/* ---- many nodes at once ---- */

/* The containers of the current node. */
struct container_nest {
	uint64_t in[MAX_NEST];
	uint32_t n;
};

static uint32_t get_depth(struct container_nest *nest, const struct nvs_graph_node *node)
{
	uint32_t depth;

	while (nest->n && nest->in[nest->n - 1] != node->parent)
		nest->n--;
	depth = nest->n;
	if ((node->type == TYPE_GRAPH || node->type == TYPE_CONDITIONAL) && nest->n < MAX_NEST)
		nest->in[nest->n++] = node->node;
	return depth;
}

/* Returns the index after the last node inside the one at INDEX. */
static uint32_t find_end(const struct nvs_exec *e, uint32_t index, uint32_t end)
{
	struct container_nest nest = {.in = {e->nodes[index].node}, .n = 1};
	uint32_t i = index + 1;

	while (i < end && get_depth(&nest, e->nodes + i))
		i++;
	return i;
}

/* ROOT is the node that contains both lists, 0: none. */
static bool same_shape(const struct nvs_graph_node *a, const struct nvs_graph_node *b, uint32_t n,
		       uint64_t root)
{
	struct container_nest in_a = {.in = {root}, .n = !!root}, in_b = in_a;

	for (uint32_t i = 0; i < n; i++)
		if (a[i].type != b[i].type || get_depth(&in_a, a + i) != get_depth(&in_b, b + i))
			return false;
	return true;
}

static void take_over(struct nvs_graph_node *to, const struct nvs_graph_node *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t node = to[i].node, parent = to[i].parent;
		uint32_t kept = to[i].flags & (NVS_NODE_DISABLED | NVS_NODE_CONDITIONAL);

		to[i] = from[i];
		to[i].node = node;
		to[i].parent = parent;
		to[i].flags |= kept;
	}
}

/* Replaces [AT, END) of the first OLD nodes by the nodes from FROM on. */
static int replace_nodes(struct nvs_exec *e, uint32_t old, uint32_t at, uint32_t end, uint32_t from)
{
	uint32_t n = e->nnodes - from;
	struct nvs_graph_node *row = malloc((n + 1ul) * sizeof(*row));

	if (!row)
		return -ENOMEM;
	memcpy(row, e->nodes + from, n * sizeof(*row));
	/* There is room: the new nodes were after the old ones. */
	memmove(e->nodes + at + n, e->nodes + end, (old - end) * sizeof(*row));
	memcpy(e->nodes + at, row, n * sizeof(*row));
	e->nnodes = old - (end - at) + n;
	free(row);
	return 0;
}

static int apply_change(struct nvs_exec *e, bool child)
{
	uint32_t old = e->before, at = 0, end = old, from = old + child;
	uint64_t root = 0;
	int r;

	if (e->nnodes < from)
		return 0;
	if (child) {
		root = e->nodes[old].node;
		while (at < old && e->nodes[at].node != root)
			at++;
		if (at == old) {
			e->partial = true;
			e->nnodes = old;
			return 0;
		}
		end = find_end(e, at++, old);
	}
	r = nvs_edges_finish(&e->edges, e->nodes + from, e->nnodes - from, at, end, child);
	if (r)
		return r;
	if (e->nnodes - from != end - at ||
	    !same_shape(e->nodes + at, e->nodes + from, end - at, root))
		return replace_nodes(e, old, at, end, from);
	take_over(e->nodes + at, e->nodes + from, end - at);
	e->nnodes = old;
	return 0;
}

static void begin_change(struct nvs_exec *e)
{
	/* Discard a change whose records were incomplete. */
	if (e->changing)
		e->nnodes = e->before;
	e->before = e->nnodes;
	e->changing = true;
}

static int end_change(struct nvs_exec *e, uint32_t event, bool allowed)
{
	if (!e->changing)
		return 0;
	e->changing = false;
	if (!allowed)
		e->nnodes = e->before;
	return !allowed ? 0 : apply_change(e, event == NVS_GRAPH_CHILD_SET);
}

static bool changes_many(uint32_t event)
{
	return event == NVS_GRAPH_UPDATED || event == NVS_GRAPH_CHILD_SET;
}

static int end_event(struct nvs_exec *e, const struct nvs_rec_graph *rec,
		     const struct nvs_exec_watch *watch)
{
	bool child = rec->event == NVS_GRAPH_CHILD_SET, allowed;

	/* Once, at the end of the instantiation. */
	if (!changes_many(rec->event))
		return e->edges.event != NVS_GRAPH_INSTANTIATED || e->edges.event != rec->event
			       ? 0
			       : nvs_edges_finish(&e->edges, e->nodes, e->nnodes, 0, 0, false);
	allowed = !child || take_allowance(e, e->nnodes + e->edges.n);
	if (allowed)
		announce_change(watch, e, NVS_NONE);
	drop_index(e);
	return end_change(e, rec->event, allowed);
}

int nvs_exec_record(struct nvs_exec *e, const struct nvs_rec_graph *rec,
		    const struct nvs_exec_watch *watch)
{
	const struct nvs_graph_node *nodes =
		nvs_record_tail(&rec->rec, (uint64_t)rec->nnodes * sizeof(*nodes));
	int r = 0;

	e->given += rec->nnodes;
	if (rec->event == NVS_GRAPH_NODE_SET) {
		for (uint32_t i = 0; i < rec->nnodes && !r; i++)
			r = set_node(e, nodes + i, watch);
		return r;
	}
	if (!rec->first)
		nvs_edges_begin(&e->edges, rec->event);
	if (!rec->first && changes_many(rec->event)) {
		drop_index(e);
		begin_change(e);
		e->updates += rec->event == NVS_GRAPH_UPDATED;
		e->changes += rec->event == NVS_GRAPH_CHILD_SET;
	}
	for (uint32_t i = 0; i < rec->nnodes && !r; i++)
		r = add_node(e, nodes + i);
	if (!r && rec->rec.flags & NVS_GRAPH_LAST)
		r = end_event(e, rec, watch);
	e->partial |= !!(rec->rec.flags & NVS_GRAPH_PARTIAL);
	return r;
}

int nvs_exec_edges(struct nvs_exec *e, const struct nvs_rec_graph_edges *rec)
{
	e->given += rec->nedges;
	return nvs_edges_record(&e->edges, rec);
}

void nvs_exec_free(struct nvs_exec *e)
{
	nvs_edges_free(&e->edges);
	free(e->nodes);
	drop_index(e);
	free(e);
}
