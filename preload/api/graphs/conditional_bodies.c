/* SPDX-License-Identifier: MIT */
/*
 * Bodies of conditional nodes. A body belongs to its node, the node to a graph, and goes with it; a
 * forked child keeps the table, as it does its graphs.
 */
#include "preload/api/graphs/graph.h"
#include "preload/base/preload.h"

#define MAX_BODIES 4096

static struct body {
	uint64_t owner, node, graph; /* graph the node is in; what the node runs */
} bodies[MAX_BODIES];
static uint32_t nbodies;
static _Atomic bool any; /* has there ever been one? */

/* Keeps the order of those of one node. */
static void remove_at(uint32_t i)
{
	nbodies--;
	for (; i < nbodies; i++)
		bodies[i] = bodies[i + 1];
}

/* With what was inside the bodies. */
static void forget(uint64_t owner, uint64_t node)
{
	for (uint32_t i = 0; i < nbodies;) {
		uint64_t inside = bodies[i].graph;

		if (bodies[i].owner != owner && bodies[i].node != node) {
			i++;
			continue;
		}
		remove_at(i);
		forget(inside, 0);
		i = 0;
	}
}

void nvs_bodies_add(uint64_t owner, uint64_t node, const uint64_t *graphs, uint32_t n)
{
	sigset_t saved;

	nvs_lock(&saved);
	atomic_store(&any, true);
	forget(0, node);
	for (uint32_t i = 0; i < n && nbodies < MAX_BODIES; i++)
		bodies[nbodies++] = (struct body){owner, node, graphs[i]};
	nvs_unlock(&saved);
}

uint64_t nvs_bodies_get(uint64_t node, uint32_t index)
{
	uint64_t graph = 0;
	sigset_t saved;

	nvs_lock(&saved);
	for (uint32_t i = 0; i < nbodies && !graph; i++)
		if (bodies[i].node == node && !index--)
			graph = bodies[i].graph;
	nvs_unlock(&saved);
	return graph;
}

static void forget_locked(uint64_t owner, uint64_t node)
{
	sigset_t saved;

	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return;
	nvs_lock(&saved);
	forget(owner, node);
	nvs_unlock(&saved);
}

void nvs_bodies_forget_graph(uint64_t owner)
{
	if (owner)
		forget_locked(owner, 0);
}

void nvs_bodies_forget_node(uint64_t node)
{
	if (node)
		forget_locked(0, node);
}
