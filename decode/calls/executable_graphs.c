/* SPDX-License-Identifier: MIT */
/*
 * Nodes of an executable graph are set by their handles, each by itself. Where the whole graph, or
 * a child graph in it, is given other nodes, these come in the order of those that they replace,
 * each followed by what is inside it. The old ones keep their handles, by which later calls name
 * them, and stay switched off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/trace/records.h"
#include "decode/calls/executable_graphs.h"

#define MAX_NODES (1u << 22) /* of one executable graph */
#define MAX_SAME 64u /* nodes of one handle in it that change together; the driver makes no two */
#define MAX_NEST 64
#define FREE_MOVES (1u << 20)
#define MOVES_EACH 64u /* for each node given */

enum { TYPE_GRAPH = 4, TYPE_CONDITIONAL = 13 };

/* May N nodes more be looked at? Small changes of a large graph take their time: beyond some, it
 * stays as it was, and is told to be partial. */
static bool may(struct nvs_exec *e, uint64_t n)
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
	void *more;

	if (e->nnodes == e->room) {
		if (e->room >= MAX_NODES)
			return -E2BIG;
		more = realloc(e->nodes, (e->room ? e->room * 2 : 2) * sizeof(*e->nodes));
		if (!more)
			return -ENOMEM;
		e->nodes = more;
		e->room = e->room ? e->room * 2 : 2;
	}
	e->nodes[e->nnodes++] = *node;
	return 0;
}

/* ---- nodes of one handle: set by themselves ---- */

static void will_change(const struct nvs_exec_watch *watch, struct nvs_exec *e, uint32_t index)
{
	if (watch->changes)
		watch->changes(watch->arg, e, index);
}

struct nvs_node_place {
	uint64_t handle;
	uint32_t last; /* node of this handle */
	UT_hash_handle hh;
};

static void forget_places(struct nvs_exec *e)
{
	struct nvs_node_place *p, *next;

	HASH_ITER(hh, e->places, p, next) {
		HASH_DEL(e->places, p);
		free(p);
	}
	free(e->same);
	e->same = NULL;
	e->placed = e->same_room = 0;
}

static struct nvs_node_place *place_of(const struct nvs_exec *e, uint64_t handle)
{
	struct nvs_node_place *p;

	HASH_FIND(hh, e->places, &handle, sizeof(handle), p);
	return p;
}

static int place(struct nvs_exec *e, uint32_t i)
{
	struct nvs_node_place *p = place_of(e, e->nodes[i].node);

	e->same[i] = p ? p->last : NVS_NONE;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->handle = e->nodes[i].node;
		HASH_ADD(hh, e->places, handle, sizeof(p->handle), p);
		if (place_of(e, p->handle) != p) {
			free(p);
			return -ENOMEM;
		}
	}
	p->last = i;
	return 0;
}

/* Those that have come since the last look-up. */
static int place_nodes(struct nvs_exec *e)
{
	int r = 0;

	if (!e->placed && !may(e, e->nnodes))
		return 0;
	if (e->same_room < e->room) {
		void *more = realloc(e->same, e->room * sizeof(*e->same));

		if (!more)
			return -ENOMEM;
		e->same = more;
		e->same_room = e->room;
	}
	for (; e->placed < e->nnodes && !r; e->placed += !r)
		r = place(e, e->placed);
	return r;
}

static void change(struct nvs_graph_node *into, const struct nvs_graph_node *node)
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

/* A node of an executable graph got other parameters, or was switched on or off. */
static int set_node(struct nvs_exec *e, const struct nvs_graph_node *node,
		    const struct nvs_exec_watch *watch)
{
	const struct nvs_node_place *p;
	uint32_t n = 0;
	int r = place_nodes(e);

	e->changes++;
	p = r ? NULL : place_of(e, node->node);
	for (uint32_t i = p ? p->last : NVS_NONE; i != NVS_NONE && n < MAX_SAME;
	     i = e->same[i], n++) {
		will_change(watch, e, i);
		change(e->nodes + i, node);
	}
	return r;
}

/* ---- many nodes at once ---- */

/* Nodes that the walk is inside of. */
struct nest {
	uint64_t in[MAX_NEST];
	uint32_t n;
};

static uint32_t depth_of(struct nest *nest, const struct nvs_graph_node *node)
{
	uint32_t depth;

	while (nest->n && nest->in[nest->n - 1] != node->parent)
		nest->n--;
	depth = nest->n;
	if ((node->type == TYPE_GRAPH || node->type == TYPE_CONDITIONAL) && nest->n < MAX_NEST)
		nest->in[nest->n++] = node->node;
	return depth;
}

/* Behind the last node that is inside the one at INDEX. */
static uint32_t end_of(const struct nvs_exec *e, uint32_t index, uint32_t end)
{
	struct nest nest = {.in = {e->nodes[index].node}, .n = 1};
	uint32_t i = index + 1;

	while (i < end && depth_of(&nest, e->nodes + i))
		i++;
	return i;
}

/* ROOT: the node that both rows are inside of, 0 none. */
static bool same_shape(const struct nvs_graph_node *a, const struct nvs_graph_node *b, uint32_t n,
		       uint64_t root)
{
	struct nest in_a = {.in = {root}, .n = !!root}, in_b = in_a;

	for (uint32_t i = 0; i < n; i++)
		if (a[i].type != b[i].type || depth_of(&in_a, a + i) != depth_of(&in_b, b + i))
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

/* The first OLD nodes with [AT, END) of them replaced by those from FROM on. */
static int replace(struct nvs_exec *e, uint32_t old, uint32_t at, uint32_t end, uint32_t from)
{
	uint32_t n = e->nnodes - from;
	struct nvs_graph_node *row = malloc((n + 1ul) * sizeof(*row));

	if (!row)
		return -ENOMEM;
	memcpy(row, e->nodes + from, n * sizeof(*row));
	/* There is room: what was new stood behind the old. */
	memmove(e->nodes + at + n, e->nodes + end, (old - end) * sizeof(*row));
	memcpy(e->nodes + at, row, n * sizeof(*row));
	e->nnodes = old - (end - at) + n;
	free(row);
	return 0;
}

static int settle(struct nvs_exec *e, bool child)
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
		end = end_of(e, at++, old);
	}
	r = nvs_edges_settle(&e->edges, e->nodes + from, e->nnodes - from, at, end, child);
	if (r)
		return r;
	if (e->nnodes - from != end - at ||
	    !same_shape(e->nodes + at, e->nodes + from, end - at, root))
		return replace(e, old, at, end, from);
	take_over(e->nodes + at, e->nodes + from, end - at);
	e->nnodes = old;
	return 0;
}

static void change_begins(struct nvs_exec *e)
{
	/* One that was not told to its end leaves nothing behind. */
	if (e->changing)
		e->nnodes = e->before;
	e->before = e->nnodes;
	e->changing = true;
}

static int change_ends(struct nvs_exec *e, uint32_t event, bool allowed)
{
	if (!e->changing)
		return 0;
	e->changing = false;
	if (!allowed)
		e->nnodes = e->before;
	return !allowed ? 0 : settle(e, event == NVS_GRAPH_CHILD_SET);
}

static bool changes_many(uint32_t event)
{
	return event == NVS_GRAPH_UPDATED || event == NVS_GRAPH_CHILD_SET;
}

static int event_ends(struct nvs_exec *e, const struct nvs_rec_graph *rec,
		      const struct nvs_exec_watch *watch)
{
	bool child = rec->event == NVS_GRAPH_CHILD_SET, allowed;

	/* Once, at the end of what made it. */
	if (!changes_many(rec->event))
		return e->edges.event != NVS_GRAPH_INSTANTIATED || e->edges.event != rec->event
			       ? 0
			       : nvs_edges_settle(&e->edges, e->nodes, e->nnodes, 0, 0, false);
	allowed = !child || may(e, e->nnodes + e->edges.n);
	if (allowed)
		will_change(watch, e, NVS_NONE);
	forget_places(e);
	return change_ends(e, rec->event, allowed);
}

int nvs_exec_record(struct nvs_exec *e, const struct nvs_rec_graph *rec,
		    const struct nvs_exec_watch *watch)
{
	const struct nvs_graph_node *nodes = nvs_tail(&rec->rec,
						      (uint64_t)rec->nnodes * sizeof(*nodes));
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
		forget_places(e);
		change_begins(e);
		e->updates += rec->event == NVS_GRAPH_UPDATED;
		e->changes += rec->event == NVS_GRAPH_CHILD_SET;
	}
	for (uint32_t i = 0; i < rec->nnodes && !r; i++)
		r = add_node(e, nodes + i);
	if (!r && rec->rec.flags & NVS_GRAPH_LAST)
		r = event_ends(e, rec, watch);
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
	forget_places(e);
	free(e);
}
