/* SPDX-License-Identifier: MIT */
/*
 * Counts graph launches in the live page: the kernel launches and copies of a graph, and the memory
 * that its nodes allocate and free. Sums are kept per graph and updated when it changes. A graph
 * that was made before the page, or that did not fit, is counted as unknown.
 */
#include <string.h>
#include "preload/api/graphs/graph.h"
#include "preload/live/live.h"
#include "trap/buffer/calls.h"

#define BITS 14
#define BUCKETS (1u << BITS)
#define MAX_GRAPHS (BUCKETS / 2)
#define MAX_NODES (1u << 20) /* of all graphs together */

struct stats_node {
	uint64_t node, bytes;
	uint64_t address; /* of memory it allocates or frees; 0: unknown */
	uint32_t row; /* row of its kernel */
	uint32_t type;
	bool off, conditional;
};

struct kernel_launches {
	uint32_t row, n;
};

struct exec_stats {
	uint64_t exec;
	struct stats_node *nodes;
	uint32_t *by_node; /* index + 1, by hash of the node; index_mask + 1 entries */
	struct kernel_launches *sums; /* by kernel; as many entries as nodes */
	uint32_t nnodes, nsums, index_mask;
	uint32_t nmemory; /* number of nodes that allocate or free */
	uint64_t kernels, copies, copy_bytes, sets;
};

struct graphs {
	_Atomic uint32_t lock;
	uint32_t ngraphs, nnodes;
	struct exec_stats graphs[BUCKETS]; /* by hash of exec; exec 0: free */
};

static struct graphs *lock_graphs(struct nvs_live_page *page)
{
	return nvs_live_lock_at(&page->graphs, sizeof(struct graphs));
}

static struct exec_stats *find_graph(struct graphs *g, uint64_t exec)
{
	struct exec_stats *e = nvs_hash_find(g->graphs, sizeof(*e), BITS, exec);

	return e->exec ? e : NULL;
}

static void free_arrays(struct exec_stats *e)
{
	nvs_free(e->nodes, e->nnodes * sizeof(*e->nodes));
	nvs_free(e->sums, e->nnodes * sizeof(*e->sums));
	nvs_free(e->by_node, (e->index_mask + 1) * sizeof(*e->by_node));
}

static void drop_graph(struct graphs *g, struct exec_stats *old)
{
	free_arrays(old);
	g->nnodes -= old->nnodes;
	g->ngraphs--;
	nvs_hash_remove(g->graphs, sizeof(*old), BITS, old);
}

/* ---- sums over nodes ---- */

/* SIGN 1 adds what NODE does per launch, -1 removes it. */
static void add_to_sums(struct exec_stats *e, const struct stats_node *node, uint32_t sign)
{
	uint32_t i;

	if (node->off || node->conditional)
		return;
	if (node->type == NVS_NODE_MEMCPY) {
		e->copies += (uint64_t)(int32_t)sign;
		e->copy_bytes += (uint64_t)(int32_t)sign * node->bytes;
	} else if (node->type == NVS_NODE_MEMSET) {
		e->sets += (uint64_t)(int32_t)sign;
	}
	if (node->type != NVS_NODE_KERNEL)
		return;
	e->kernels += (uint64_t)(int32_t)sign;
	for (i = 0; i < e->nsums && e->sums[i].row != node->row; i++)
		;
	if (i < e->nsums)
		e->sums[i].n += sign;
	else if (i < e->nnodes) {
		/* An entry that drops to 0 is removed below. */
		e->sums[i] = (struct kernel_launches){node->row, sign};
		e->nsums++;
	}
	if (i < e->nsums && !e->sums[i].n)
		e->sums[i] = e->sums[--e->nsums];
}

static void set_node(struct exec_stats *e, uint32_t i, const struct nvs_graph_node *from,
		     uint32_t row)
{
	struct stats_node *node = &e->nodes[i];

	add_to_sums(e, node, (uint32_t)-1);
	if (from->type != NVS_NODE_TYPE_UNKNOWN) {
		node->type = from->type;
		node->bytes = from->bytes;
		node->row = row;
	} else {
		node->off = from->flags & NVS_NODE_DISABLED;
	}
	add_to_sums(e, node, 1);
}

/* Returns the node's index + 1; 0: unknown. */
static uint32_t find_node(const struct exec_stats *e, uint64_t node)
{
	uint32_t at = nvs_hash(node, 32) & e->index_mask, i;

	NVS_HASH_PROBE(at, e->index_mask + 1, (i = e->by_node[at]) && e->nodes[i - 1].node != node);
	return i;
}

static void index_node(struct exec_stats *e, uint32_t i)
{
	uint32_t at = nvs_hash(e->nodes[i].node, 32) & e->index_mask;

	NVS_HASH_PROBE(at, e->index_mask + 1, e->by_node[at]);
	e->by_node[at] = i + 1;
}

/* ---- memory ---- */

/* Queries the address of memory that a node allocates or frees. */
static void query_memory(struct stats_node *node)
{
	int (*get)(uint64_t, void *) = NULL;
	struct nvs_alloc_params p = {.bytes = 0};

	if (node->type == NVS_NODE_ALLOC)
		get = nvs_api_driver_function("cuGraphMemAllocNodeGetParams");
	else if (node->type == NVS_NODE_FREE)
		get = nvs_api_driver_function("cuGraphMemFreeNodeGetParams");
	if (!get)
		return;
	NVS_QUIET();
	if (!get(node->node, node->type == NVS_NODE_ALLOC ? (void *)&p : &node->address) &&
	    node->type == NVS_NODE_ALLOC) {
		node->address = p.address;
		node->bytes = p.bytes;
	}
}

/* Finds the next node of EXEC, from index I on, that allocates or frees. Releases the lock. */
static bool next_memory(struct nvs_live_page *page, uint64_t exec, uint32_t *i,
			struct stats_node *node)
{
	struct graphs *g = lock_graphs(page);
	const struct exec_stats *e = g ? find_graph(g, exec) : NULL;
	bool found = false;

	for (; e && *i < e->nnodes && !found; ++*i) {
		*node = e->nodes[*i];
		found = node->address && !node->off && !node->conditional;
	}
	if (g)
		nvs_live_unlock(&g->lock);
	return found;
}

/* In order of creation: nodes come before those that depend on them. */
static void count_memory(struct nvs_live_page *page, uint64_t exec,
			 const struct nvs_api_returned_call *d)
{
	struct nvs_live_allocation given = {.space = NVS_SPACE_ADDRESS,
					    .kind = NVS_LIVE_GRAPH,
					    .api = d->row,
					    .stack = NVS_NONE,
					    .time = d->end};
	struct stats_node node = {0};

	given.context = nvs_api_current_context(page, &given.gpu);
	nvs_api_memory_changed();
	for (uint32_t i = 0; next_memory(page, exec, &i, &node);) {
		given.value = node.address;
		given.bytes = node.bytes;
		if (node.type == NVS_NODE_ALLOC)
			nvs_live_alloc_add(page, &given);
		else
			nvs_live_free_end(page,
					  nvs_live_free_begin(page, given.space, node.address),
					  true, NVS_LIVE_GRAPH);
	}
}

/* ---- events ---- */

/* Free with free_arrays(), also on failure. */
static bool make_room(struct exec_stats *e, uint32_t n)
{
	uint32_t size = 8;

	while (size < 2 * n)
		size *= 2;
	e->nodes = nvs_alloc(n * sizeof(*e->nodes));
	e->sums = nvs_alloc(n * sizeof(*e->sums));
	e->by_node = nvs_alloc(size * sizeof(*e->by_node));
	e->index_mask = size - 1;
	e->nnodes = n;
	return e->nodes && e->sums && e->by_node;
}

static void add_graph(struct graphs *g, const struct exec_stats *e)
{
	*(struct exec_stats *)nvs_hash_find(g->graphs, sizeof(*e), BITS, e->exec) = *e;
	g->ngraphs++;
	g->nnodes += e->nnodes;
}

/* Queries the driver, so no lock is held yet. */
static void add_instantiated(struct nvs_live_page *page, uint64_t exec,
			     const struct nvs_graph_node *nodes, uint32_t n, const uint32_t *rows)
{
	struct exec_stats e = {.exec = exec};
	struct graphs *g;
	struct exec_stats *old;
	bool made = make_room(&e, n ? n : 1);

	for (uint32_t i = 0; made && i < n; i++) {
		e.nodes[i] = (struct stats_node){
			.node = nodes[i].node,
			.bytes = nodes[i].bytes,
			.row = rows[i],
			.type = nodes[i].type,
			.off = nodes[i].flags & NVS_NODE_DISABLED,
			.conditional = nodes[i].flags & NVS_NODE_CONDITIONAL,
		};
		query_memory(&e.nodes[i]);
		e.nmemory += e.nodes[i].address != 0;
		add_to_sums(&e, &e.nodes[i], 1);
		index_node(&e, i);
	}
	if (made && !n)
		e.nodes[0].off = true;
	g = lock_graphs(page);
	if (g) {
		old = find_graph(g, exec);
		if (old)
			drop_graph(g, old);
		made = made && g->ngraphs < MAX_GRAPHS && g->nnodes + n <= MAX_NODES;
		if (made)
			add_graph(g, &e);
		nvs_live_unlock(&g->lock);
	}
	if (!g || !made)
		free_arrays(&e);
}

/* Replaces N nodes from FIRST on by NODES; they keep their handles. */
static void replace_nodes(struct exec_stats *e, uint32_t first, const struct nvs_graph_node *nodes,
			  uint32_t n, const uint32_t *rows)
{
	for (uint32_t i = 0; i < n && first + i < e->nnodes; i++)
		if (nodes[i].type != NVS_NODE_TYPE_UNKNOWN)
			set_node(e, first + i, &nodes[i], rows[i]);
}

static void apply_event(struct exec_stats *e, enum nvs_graph_event event,
			const struct nvs_graph_node *nodes, uint32_t n, const uint32_t *rows)
{
	uint32_t at;

	if (event == NVS_GRAPH_UPDATED) {
		replace_nodes(e, 0, nodes, n, rows);
		return;
	}
	at = n ? find_node(e, nodes[0].node) : 0;
	if (!at)
		return;
	/* The nodes of a child graph follow its node. */
	if (event == NVS_GRAPH_CHILD_SET)
		replace_nodes(e, at, nodes + 1, n - 1, rows + 1);
	else
		set_node(e, at - 1, &nodes[0], rows[0]);
}

void nvs_graph_count_nodes(uint64_t exec, enum nvs_graph_event event,
			   const struct nvs_graph_node *nodes, uint32_t n, bool partial)
{
	struct nvs_live_page *page = nvs_live_page();
	uint32_t *rows = page && n ? nvs_alloc(n * sizeof(*rows)) : NULL;
	struct graphs *g;
	struct exec_stats *e;

	if (!page || (n && !rows))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (nodes[i].type == NVS_NODE_KERNEL && nodes[i].function)
			rows[i] = nvs_api_kernel_row(page, nodes[i].function);
	if (event == NVS_GRAPH_INSTANTIATED && !partial) {
		add_instantiated(page, exec, nodes, n, rows);
	} else if ((g = lock_graphs(page))) {
		e = find_graph(g, exec);
		/* A graph known only in part is treated as unknown. */
		if (e && event == NVS_GRAPH_INSTANTIATED)
			drop_graph(g, e);
		else if (e)
			apply_event(e, event, nodes, n, rows);
		nvs_live_unlock(&g->lock);
	}
	nvs_free(rows, n * sizeof(*rows));
}

void nvs_graph_remove_counts(uint64_t exec)
{
	struct nvs_live_page *page = nvs_live_page();
	struct graphs *g = page && page->graphs ? lock_graphs(page) : NULL;
	struct exec_stats *e;

	if (!g)
		return;
	e = find_graph(g, exec);
	if (e)
		drop_graph(g, e);
	nvs_live_unlock(&g->lock);
}

void nvs_graph_count_launch(struct nvs_live_page *page, struct nvs_live_slot *slot, uint64_t exec,
			    const struct nvs_api_returned_call *d)
{
	struct graphs *g = page->graphs ? lock_graphs(page) : NULL;
	const struct exec_stats *e = g ? find_graph(g, exec) : NULL;
	bool memory = false;

	nvs_live_add(&slot->graph_launches, 1);
	if (e) {
		for (uint32_t i = 0; i < e->nsums; i++)
			nvs_live_add(&nvs_live_kernel_count(slot, e->sums[i].row)->graph,
				     e->sums[i].n);
		nvs_live_add(&slot->graph_kernels, e->kernels);
		nvs_live_add(&slot->graph_copies, e->copies);
		nvs_live_add(&slot->graph_copy_bytes, e->copy_bytes);
		nvs_live_add(&slot->graph_sets, e->sets);
		memory = e->nmemory;
	} else {
		nvs_live_add(&slot->graphs_unknown, 1);
	}
	if (g)
		nvs_live_unlock(&g->lock);
	if (memory && !d->result)
		count_memory(page, exec, d);
}
