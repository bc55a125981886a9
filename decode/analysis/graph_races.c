/* SPDX-License-Identifier: MIT */
/* Races inside a graph: nodes that access the same memory and are not connected by edges. Which
 * launch belongs to which kernel node is known by shape: where several kernels with different
 * pointers have one shape, it is not certain. Captured copies and memsets become nodes in the order
 * of their calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/races.h"
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/calls/roles.h"
#include "decode/calls/executable_graphs.h"

#define MAX_NODES 4096u /* of graphs that are checked inside */
#define MAX_COMPARED (1u << 20) /* pairs of accesses of a graph */
#define MAX_CAPTURED 65536u

/* CUgraphNodeType */
enum {
	KERNEL,
	COPY,
	MEMSET,
	HOST,
	WAIT_EVENT = 6,
	RECORD_EVENT,
	SIGNAL,
	WAIT_EXTERNAL = 9,
	BATCH = 12,
	CONDITIONAL
};

struct captured_graph {
	uint64_t graph; /* its key */
	struct race_copy *copies;
	uint32_t n;
};

struct checked_exec {
	const struct nvs_exec *exec; /* its key */
	uint64_t changes; /* of the exec when it was checked, plus one */
};

struct node_access {
	uint64_t from, to;
	uint32_t node;
	uint8_t kind;
	bool sure; /* it is this node's */
};

/* The graph being checked. */
struct graph_check {
	struct nvs_races *races;
	const struct nvs_exec *exec;
	const struct race_thread *thread;
	const struct nvs_access_work *work;
	struct nvs_race_site_key site;
	uint64_t *before; /* bit j of row i: node i waits for node j */
	uint32_t words; /* of a row */
	bool programmatic; /* it has such edges */
	struct node_access *list;
	uint32_t n, room, compared;
};

/* ---- what was captured ---- */

static int note_copy(struct nvs_races *r, const struct nvs_call *call)
{
	struct race_operand operands[2];
	int n = nvs_race_operands(call, operands);
	struct race_copy *c = NVS_APPEND_OPTIONAL(r->captured, r->ncaptured, r->captured_room, 16,
						  MAX_CAPTURED);

	if (!c)
		return 0;
	*c = (struct race_copy){.memset = call->api->group == NVS_CALL_GROUP_MEMSET};
	if (n < 1)
		return 0;
	c->dst = operands[n - 1].range.from;
	c->bytes = operands[n - 1].range.to - c->dst;
	c->src = n == 2 ? operands[0].range.from : 0;
	return 0;
}

static int end_capture(struct nvs_races *r, uint64_t graph)
{
	struct captured_graph *g;

	if (!r->graphs.size)
		r->graphs = NVS_ROWS(struct captured_graph, graph);
	g = nvs_rows_at(&r->graphs, &graph);
	if (!g)
		return -ENOMEM;
	free(g->copies);
	g->copies = r->captured;
	g->n = r->ncaptured;
	r->captured = NULL;
	r->ncaptured = r->captured_room = 0;
	return 0;
}

int nvs_race_note_capture(struct nvs_races *r, const struct nvs_call *call)
{
	bool done = nvs_call_returned(call) && !call->result;
	uint64_t graph;

	if (!done)
		return 0;
	if (call->flags & NVS_CALL_CAPTURED &&
	    (call->api->group == NVS_CALL_GROUP_COPY || call->api->group == NVS_CALL_GROUP_MEMSET))
		return note_copy(r, call);
	if (call->api->group != NVS_CALL_GROUP_CAPTURE || call->api->role == NVS_CALL_ROLE_NONE)
		return 0;
	return nvs_call_value(call, NVS_ARG_graph, &graph) ? end_capture(r, graph) : 0;
}

/* ---- the order of nodes ---- */

static uint64_t *row_of(const struct graph_check *c, uint32_t node)
{
	return c->before + (size_t)node * c->words;
}

static bool waits_for(const struct graph_check *c, uint32_t node, uint32_t other)
{
	return row_of(c, node)[other / 64] >> other % 64 & 1;
}

/* Nodes in an order in which each comes after those that it waits for; returns how many: fewer than
 * there are in a cycle. */
static uint32_t sort_nodes(const struct nvs_exec *e, uint32_t *order, uint32_t *missing)
{
	uint32_t n = 0;

	memset(missing, 0, e->nnodes * sizeof(*missing));
	for (uint32_t k = 0; k < e->edges.n; k++)
		missing[e->edges.links[k].to]++;
	for (uint32_t i = 0; i < e->nnodes; i++)
		if (!missing[i])
			order[n++] = i;
	return n;
}

/* Links by the node that they lead from: FIRST and NEXT are 1 + index. */
static void chain_links(const struct nvs_exec *e, uint32_t *first, uint32_t *next)
{
	memset(first, 0, e->nnodes * sizeof(*first));
	for (uint32_t k = 0; k < e->edges.n; k++) {
		next[k] = first[e->edges.links[k].from];
		first[e->edges.links[k].from] = k + 1;
	}
}

static int order_nodes(struct graph_check *c)
{
	const struct nvs_exec *e = c->exec;
	uint32_t *room = calloc(3ul * e->nnodes + e->edges.n + 1, sizeof(*room));
	uint32_t *order = room, *missing, *first, *next, n;

	c->words = e->nnodes / 64 + 1;
	c->before = calloc((size_t)e->nnodes * c->words, sizeof(*c->before));
	if (!room || !c->before) {
		free(room);
		return -ENOMEM;
	}
	missing = room + e->nnodes;
	first = missing + e->nnodes;
	next = first + e->nnodes;
	n = sort_nodes(e, order, missing);
	chain_links(e, first, next);
	for (uint32_t k = 0; k < e->edges.n; k++)
		c->programmatic |= e->edges.links[k].type == 1;
	for (uint32_t at = 0; at < n; at++)
		for (uint32_t k = first[order[at]]; k; k = next[k - 1]) {
			uint32_t to = e->edges.links[k - 1].to;

			for (uint32_t w = 0; w < c->words; w++)
				row_of(c, to)[w] |= row_of(c, order[at])[w];
			row_of(c, to)[order[at] / 64] |= 1ull << order[at] % 64;
			if (!--missing[to])
				order[n++] = to;
		}
	free(room);
	return 0;
}

/* Returns true if the only edge between them is programmatic, so that one may begin before the
 * other is done. */
static bool is_programmatic(struct graph_check *c, uint32_t a, uint32_t b)
{
	const struct nvs_exec *e = c->exec;
	bool found = false;

	for (uint32_t k = 0; k < e->edges.n; k++) {
		const struct nvs_graph_link *l = e->edges.links + k;

		c->compared++;
		if ((l->from != a || l->to != b) && (l->from != b || l->to != a))
			continue;
		if (l->type != 1)
			return false;
		found = true;
	}
	return found;
}

/* ---- what nodes access ---- */

static int add_access(struct graph_check *c, uint32_t node, const struct race_operand *o, bool sure)
{
	struct node_access *a;

	if (!nvs_memory_range_at(&c->races->ranges, o->range.from))
		return 0;
	a = NVS_APPEND_OPTIONAL(c->list, c->n, c->room, 64, 1u << 22);
	if (a)
		*a = (struct node_access){o->range.from, o->range.to, node, (uint8_t)o->kind, sure};
	return 0;
}

static bool is_same_shape(const struct nvs_graph_node *node, const struct race_launch *l)
{
	return !memcmp(node->grid, l->grid, sizeof(l->grid)) &&
	       !memcmp(node->block, l->block, sizeof(l->block));
}

static bool is_kernel(const struct nvs_graph_node *node)
{
	return node->type == KERNEL && !(node->flags & (NVS_NODE_DISABLED | NVS_NODE_CONDITIONAL));
}

/* Launches and kernel nodes of one shape are paired in order. That is certain only if there is one
 * of each. */
static int add_kernels(struct graph_check *c)
{
	const struct nvs_exec *e = c->exec;
	const struct race_thread *t = c->thread;
	uint32_t *taken = calloc(t->nlaunches + 1ul, sizeof(*taken)); /* 1 + node */
	bool *several = calloc(t->nlaunches + 1ul, sizeof(*several));
	int r = taken && several ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < e->nnodes && !r; i++) {
		uint32_t k = 0, same = NVS_NONE;

		if (!is_kernel(e->nodes + i))
			continue;
		for (; k < t->nlaunches && same == NVS_NONE; k++)
			if (!taken[k] && is_same_shape(e->nodes + i, t->launches + k))
				same = k;
		if (same != NVS_NONE)
			taken[same] = i + 1;
		for (k = 0; k < same && same != NVS_NONE; k++)
			if (is_same_shape(e->nodes + i, t->launches + k))
				several[k] = several[same] = true;
	}
	for (uint32_t p = 0; p < t->npending && !r; p++) {
		uint32_t l = t->pending[p].launch;

		if (l && taken[l - 1])
			r = add_access(c, taken[l - 1] - 1, &t->pending[p].operand,
				       !several[l - 1]);
	}
	free(taken);
	free(several);
	return r;
}

/* What all kernels of the graph with this shape do with the word AT of their parameters; GIVEN if
 * they differ. */
static enum nvs_access_kind find_use(struct nvs_races *r, const struct nvs_exec *e,
				     const struct race_launch *l, uint32_t at)
{
	enum nvs_access_kind kind = NVS_ACCESS_KINDS, one;
	uint64_t before = 0;

	for (uint32_t i = 0; i < e->nnodes; i++) {
		const struct nvs_kernel *kernel;

		if (e->nodes[i].type != KERNEL || e->nodes[i].function == before ||
		    !is_same_shape(e->nodes + i, l))
			continue;
		before = e->nodes[i].function;
		kernel = nvs_handles_get_kernel(r->handles, before);
		one = kernel ? nvs_parameter_use(&r->uses, kernel->name, at) : NVS_ACCESS_GIVEN;
		if (kind != NVS_ACCESS_KINDS && kind != one)
			return NVS_ACCESS_GIVEN;
		kind = one;
	}
	return kind == NVS_ACCESS_KINDS ? NVS_ACCESS_GIVEN : kind;
}

void nvs_race_resolve_graph(struct nvs_races *r, const struct nvs_call *call, struct race_thread *t)
{
	const struct nvs_exec *e = NULL;
	uint64_t handle;

	if (nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		e = nvs_handles_get_exec(r->handles, handle);
	if (!e || (uint64_t)e->nnodes * t->npending > MAX_COMPARED)
		return;
	for (uint32_t i = 0; i < t->npending; i++) {
		struct race_pending *p = t->pending + i;

		if (p->launch)
			p->operand.kind = find_use(r, e, t->launches + p->launch - 1, p->at);
	}
}

static uint32_t count_nodes(const struct nvs_exec *e, uint32_t type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->nnodes; i++)
		n += e->nodes[i].type == type;
	return n;
}

static uint32_t count_copies(const struct captured_graph *g, bool memset)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++)
		n += g->copies[i].memset == memset;
	return n;
}

static int add_copy(struct graph_check *c, uint32_t node, const struct race_copy *copy)
{
	struct race_operand o = {.kind = NVS_ACCESS_WRITES,
				 .range = {.from = copy->dst, .to = copy->dst + copy->bytes}};
	int r;

	if (!copy->bytes ||
	    (c->exec->nodes[node].bytes && c->exec->nodes[node].bytes != copy->bytes))
		return 0;
	r = add_access(c, node, &o, true);
	if (r || copy->memset)
		return r;
	o.kind = NVS_ACCESS_READS;
	o.range = (struct nvs_access_range){.from = copy->src, .to = copy->src + copy->bytes};
	return add_access(c, node, &o, true);
}

static int add_captured(struct graph_check *c, bool memset)
{
	const struct nvs_exec *e = c->exec;
	const struct captured_graph *g = c->races->graphs.size
						 ? nvs_rows_find(&c->races->graphs, &e->graph)
						 : NULL;
	uint32_t type = memset ? MEMSET : COPY, at = 0;
	int r = 0;

	if (!g || count_copies(g, memset) != count_nodes(e, type))
		return 0;
	for (uint32_t i = 0; i < e->nnodes && !r; i++) {
		if (e->nodes[i].type != type)
			continue;
		while (g->copies[at].memset != memset)
			at++;
		r = add_copy(c, i, g->copies + at++);
	}
	return r;
}

/* ---- comparing ---- */

static uint32_t node_site(struct graph_check *c, uint32_t node)
{
	const struct nvs_graph_node *n = c->exec->nodes + node;
	struct nvs_race_site_key key = c->site;
	const struct nvs_race_site *site;

	key.exec = c->exec->handle;
	key.node = node;
	key.type = n->type;
	if (n->type == KERNEL)
		key.kernel = nvs_handles_get_kernel(c->races->handles, n->function);
	site = nvs_race_site(c->races, &key);
	return site ? site->number : UINT32_MAX;
}

static int compare_nodes(struct graph_check *c, const struct node_access *x,
			 const struct node_access *y)
{
	const struct node_access *a = x->node < y->node ? x : y, *b = a == x ? y : x;
	enum nvs_race_level level = nvs_access_conflict(a->kind, b->kind);
	enum nvs_race_cause cause = NVS_RACE_NO_EDGE;
	struct nvs_access_work first = *c->work, second = *c->work;
	struct nvs_access_conflict conflict = {&first, &second, a->kind, b->kind, NVS_UNORDERED};

	if (a->node == b->node || !level ||
	    c->exec->nodes[a->node].parent != c->exec->nodes[b->node].parent)
		return 0;
	if (waits_for(c, a->node, b->node) || waits_for(c, b->node, a->node)) {
		if (!c->programmatic || !is_programmatic(c, a->node, b->node))
			return 0;
		cause = NVS_RACE_PROGRAMMATIC_EDGE;
	}
	if (!a->sure || !b->sure || cause == NVS_RACE_PROGRAMMATIC_EDGE)
		level = NVS_RACE_POSSIBLE;
	conflict.address = a->from > b->from ? a->from : b->from;
	conflict.memory = nvs_memory_range_at(&c->races->ranges, conflict.address);
	first.site = node_site(c, a->node);
	second.site = node_site(c, b->node);
	if (first.site == UINT32_MAX || second.site == UINT32_MAX)
		return -ENOMEM;
	return conflict.memory ? nvs_race_found(c->races, level, cause, &conflict) : 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct node_access *x = a, *y = b;

	return NVS_CMP(x->from, y->from) ?: NVS_CMP(x->node, y->node);
}

static int compare_all(struct graph_check *c)
{
	int r = 0;

	if (c->n)
		qsort(c->list, c->n, sizeof(*c->list), compare_places);
	for (uint32_t i = 0; i < c->n && !r; i++)
		for (uint32_t k = i + 1; k < c->n && c->list[k].from < c->list[i].to && !r; k++) {
			if (c->compared++ >= MAX_COMPARED) {
				c->races->graph_nodes += c->exec->nnodes;
				return 0;
			}
			r = compare_nodes(c, c->list + i, c->list + k);
		}
	return r;
}

/* ---- the whole ---- */

static int follow_nodes(struct nvs_races *r, const struct nvs_exec *e)
{
	bool waits = false, calls = false, records = false;

	for (uint32_t i = 0; i < e->nnodes; i++) {
		uint32_t type = e->nodes[i].type;

		waits |= type == WAIT_EVENT || type == WAIT_EXTERNAL || type == BATCH;
		calls |= type == HOST;
		records |= type == RECORD_EVENT;
		r->conditional |= type == CONDITIONAL;
	}
	r->foreign |= waits;
	return nvs_stream_order_graph(&r->order, (struct nvs_ordered_stream *)r->stream, waits,
				      calls, records);
}

static int check_inside(struct graph_check *c)
{
	int r = order_nodes(c);

	if (!r)
		r = add_kernels(c);
	if (!r)
		r = add_captured(c, false);
	if (!r)
		r = add_captured(c, true);
	if (!r)
		r = compare_all(c);
	free(c->before);
	free(c->list);
	return r;
}

int nvs_race_check_graph(struct nvs_races *r, const struct nvs_call *call,
			 const struct race_thread *t, const struct nvs_access_work *work)
{
	struct graph_check c = {.races = r, .thread = t, .work = work};
	struct checked_exec *checked;
	uint64_t handle, changes;
	int failed;

	if (!nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	c.exec = nvs_handles_get_exec(r->handles, handle);
	if (!r->execs.size)
		r->execs = NVS_ROWS(struct checked_exec, exec);
	checked = c.exec ? nvs_rows_at(&r->execs, &c.exec) : NULL;
	if (!checked)
		return -ENOMEM;
	failed = follow_nodes(r, c.exec);
	changes = 1 + c.exec->changes + c.exec->updates;
	if (failed || checked->changes == changes)
		return failed;
	checked->changes = changes;
	if (!c.exec->edges.known || c.exec->partial)
		return 0;
	if (c.exec->nnodes > MAX_NODES) {
		r->graph_nodes += c.exec->nnodes;
		return 0;
	}
	c.site = (struct nvs_race_site_key){.api = call->api, .stack = call->stack};
	return check_inside(&c);
}

static void free_graph(void *row)
{
	free(((struct captured_graph *)row)->copies);
}

void nvs_race_graphs_free(struct nvs_races *r)
{
	nvs_rows_free(&r->graphs, free_graph);
	nvs_rows_free(&r->execs, NULL);
}
