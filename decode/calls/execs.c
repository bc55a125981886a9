/* SPDX-License-Identifier: MIT */
/*
 * A whole executable graph, or a child graph in it, is given other nodes. They stand in the order
 * of those they replace, each followed by what is inside it. The old ones keep their handles, by
 * which they are named in later calls, and stay switched off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/launches.h"

#define MAX_NEST 64
#define FREE_MOVES (1u << 20)
#define MOVES_EACH 64u /* for each node given */

enum { TYPE_GRAPH = 4, TYPE_CONDITIONAL = 13 };

/* Nodes that the walk is inside of. */
struct nest {
	uint64_t in[MAX_NEST];
	uint32_t n;
};

bool nvs_exec_may(struct nvs_exec *e, uint64_t n)
{
	if (e->moved + n > FREE_MOVES + MOVES_EACH * e->given) {
		e->partial = true;
		return false;
	}
	e->moved += n;
	return true;
}

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
	if (e->nnodes - from != end - at ||
	    !same_shape(e->nodes + at, e->nodes + from, end - at, root))
		return replace(e, old, at, end, from);
	take_over(e->nodes + at, e->nodes + from, end - at);
	e->nnodes = old;
	return 0;
}

void nvs_exec_change_begins(struct nvs_exec *e)
{
	/* One that was not told to its end leaves nothing behind. */
	if (e->changing)
		e->nnodes = e->before;
	e->before = e->nnodes;
	e->changing = true;
}

int nvs_exec_change_ends(struct nvs_exec *e, uint32_t event, bool may)
{
	if (!e->changing)
		return 0;
	e->changing = false;
	if (!may)
		e->nnodes = e->before;
	return !may ? 0 : settle(e, event == NVS_GRAPH_CHILD_SET);
}
