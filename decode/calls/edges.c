/* SPDX-License-Identifier: MIT */
/* Edges of an executable graph. A record names nodes by the handles of its event; edges are kept by
 * node index, because handles change and indices do not. */
#include <errno.h>
#include <stdlib.h>
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/base/search.h"
#include "decode/trace/records.h"
#include "decode/calls/edges.h"

#define MAX_EDGES (1u << 24) /* per executable graph */

void nvs_edges_begin(struct nvs_edges *e, uint32_t event)
{
	e->event = event;
	e->nevent_edges = 0;
	e->has_record = e->is_incomplete = false;
}

int nvs_edges_record(struct nvs_edges *e, const struct nvs_rec_graph_edges *rec)
{
	const struct nvs_graph_edge *edges =
		nvs_record_tail(&rec->rec, (uint64_t)rec->nedges * sizeof(*edges));

	e->has_record = true;
	e->is_incomplete |= !!(rec->rec.flags & NVS_GRAPH_PARTIAL);
	for (uint32_t i = 0; i < rec->nedges; i++) {
		struct nvs_graph_edge *edge = NVS_APPEND(e->told, e->nevent_edges,
							 e->event_edge_room, 16, MAX_EDGES);

		if (!edge)
			return e->event_edge_room > MAX_EDGES / 2 ? -E2BIG : -ENOMEM;
		*edge = edges[i];
	}
	return 0;
}

/* ---- from handles to places ---- */

struct handle_position {
	uint64_t handle;
	uint32_t index;
};

static int compare_handles(const void *a, const void *b)
{
	const struct handle_position *x = a, *y = b;

	return NVS_CMP(x->handle, y->handle) ?: NVS_CMP(x->index, y->index);
}

static bool find_place(const struct handle_position *places, uint32_t n, uint64_t handle,
		       uint32_t *index)
{
	size_t i = NVS_COUNT_BELOW(places, n, handle, handle);

	*index = i < n ? places[i].index : 0;
	return i < n && places[i].handle == handle;
}

/* Removes the edges of nodes [AT, END), and shifts those after END for N nodes in their place. */
static void make_room(struct nvs_edges *e, uint32_t at, uint32_t end, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->n; i++) {
		struct nvs_graph_link l = e->links[i];

		if ((l.from >= at && l.from < end) || (l.to >= at && l.to < end))
			continue;
		l.from += l.from >= end ? n - (end - at) : 0;
		l.to += l.to >= end ? n - (end - at) : 0;
		e->links[kept++] = l;
	}
	e->n = kept;
}

static int add_links(struct nvs_edges *e, const struct handle_position *places, uint32_t n)
{
	for (uint32_t i = 0; i < e->nevent_edges; i++) {
		struct nvs_graph_link *link, l = {.type = e->told[i].type};

		if (!find_place(places, n, e->told[i].from, &l.from) ||
		    !find_place(places, n, e->told[i].to, &l.to)) {
			e->is_incomplete = true;
			continue;
		}
		link = NVS_APPEND(e->links, e->n, e->room, 16, MAX_EDGES);
		if (!link)
			return e->room > MAX_EDGES / 2 ? -E2BIG : -ENOMEM;
		*link = l;
	}
	return 0;
}

int nvs_edges_finish(struct nvs_edges *e, const struct nvs_graph_node *nodes, uint32_t n,
		     uint32_t at, uint32_t end, bool others)
{
	struct handle_position *places = malloc((n + 1ul) * sizeof(*places));
	int r;

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		places[i] = (struct handle_position){nodes[i].node, at + i};
	qsort(places, n, sizeof(*places), compare_handles);
	make_room(e, at, end, n);
	r = add_links(e, places, n);
	free(places);
	e->known = (e->known || !others) && !e->is_incomplete && (e->has_record || !n);
	nvs_edges_begin(e, 0);
	return r;
}

void nvs_edges_free(struct nvs_edges *e)
{
	free(e->told);
	free(e->links);
}

/* ---- the longest path ---- */

/* A node is done when the nodes before it and those inside it are. Its length is that of the
 * longest path inside it, or 1. */
struct paths {
	uint32_t *first, *next; /* edges by source node; NVS_NONE: end of the list */
	uint32_t *parent; /* of each node; NVS_NONE: none */
	uint32_t *waits; /* number of nodes that each waits for */
	uint32_t *before, *inside; /* each node's longest path up to it, and inside it */
	uint32_t *ready; /* stack of nodes that wait for nothing */
	uint32_t nready, longest, done;
};

static void release_node(struct paths *p, uint32_t node)
{
	if (!--p->waits[node])
		p->ready[p->nready++] = node;
}

static void raise_value(uint32_t *what, uint32_t to)
{
	*what = *what > to ? *what : to;
}

static void walk_paths(struct paths *p, const struct nvs_edges *e)
{
	while (p->nready) {
		uint32_t i = p->ready[--p->nready];
		uint32_t path = p->before[i] + (p->inside[i] ? p->inside[i] : 1);

		p->done++;
		for (uint32_t k = p->first[i]; k != NVS_NONE; k = p->next[k]) {
			raise_value(p->before + e->links[k].to, path);
			release_node(p, e->links[k].to);
		}
		raise_value(p->parent[i] == NVS_NONE ? &p->longest : p->inside + p->parent[i],
			    path);
		if (p->parent[i] != NVS_NONE)
			release_node(p, p->parent[i]);
	}
}

/* A node comes after the one that contains it. */
static void find_parents(struct paths *p, const struct nvs_graph_node *nodes, uint32_t n,
			 const struct handle_position *places)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t parent;

		p->parent[i] = NVS_NONE;
		if (!nodes[i].parent || !find_place(places, n, nodes[i].parent, &parent) ||
		    parent >= i)
			continue;
		p->parent[i] = parent;
		p->waits[parent]++;
	}
}

static void prepare_paths(struct paths *p, const struct nvs_edges *e, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		p->first[i] = NVS_NONE;
	for (uint32_t k = 0; k < e->n; k++) {
		p->next[k] = p->first[e->links[k].from];
		p->first[e->links[k].from] = k;
		p->waits[e->links[k].to]++;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!p->waits[i])
			p->ready[p->nready++] = i;
}

int nvs_edges_longest_path(const struct nvs_edges *e, const struct nvs_graph_node *nodes,
			   uint32_t n, uint32_t *longest)
{
	uint32_t *room = calloc(6ul * n + e->n + 1, sizeof(*room));
	struct handle_position *places = malloc((n + 1ul) * sizeof(*places));
	struct paths p = {room,
			  room + 6ul * n,
			  room + n,
			  room + 2ul * n,
			  room + 3ul * n,
			  room + 4ul * n,
			  room + 5ul * n,
			  0,
			  0,
			  0};

	*longest = 0;
	if (room && places && e->known) {
		for (uint32_t i = 0; i < n; i++)
			places[i] = (struct handle_position){nodes[i].node, i};
		qsort(places, n, sizeof(*places), compare_handles);
		find_parents(&p, nodes, n, places);
		prepare_paths(&p, e, n);
		walk_paths(&p, e);
		/* In a cycle, which drivers do not create, some nodes are never done. */
		*longest = p.done == n ? p.longest : 0;
	}
	free(places);
	free(room);
	return room && places ? 0 : -ENOMEM;
}
