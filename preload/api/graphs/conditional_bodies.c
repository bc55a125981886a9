/* SPDX-License-Identifier: MIT */
/* Table of the body graphs of conditional nodes. A body is removed with its node, and a node with
 * its graph. A forked child keeps the table along with its graphs. */
#include <string.h>
#include "preload/api/graphs/graph.h"
#include "preload/base/preload.h"

#define MAX_BODIES 4096

static struct body {
	uint64_t owner, node, graph; /* graph with the node, the node, its body */
} bodies[MAX_BODIES];
static uint32_t nbodies;
static _Atomic bool any; /* false until the first one is added */

/* Also removes the bodies of nodes inside the removed bodies. */
static void remove_bodies(uint64_t owner, uint64_t node)
{
	for (uint32_t i = 0; i < nbodies;) {
		uint64_t inside = bodies[i].graph;

		if (bodies[i].owner != owner && bodies[i].node != node) {
			i++;
			continue;
		}
		/* The bodies of a node stay in order. */
		memmove(bodies + i, bodies + i + 1, (--nbodies - i) * sizeof(*bodies));
		remove_bodies(inside, 0);
		i = 0;
	}
}

void nvs_bodies_add(uint64_t owner, uint64_t node, const uint64_t *graphs, uint32_t n)
{
	NVS_LOCK_SCOPE();
	atomic_store(&any, true);
	remove_bodies(0, node);
	for (uint32_t i = 0; i < n && nbodies < MAX_BODIES; i++)
		bodies[nbodies++] = (struct body){owner, node, graphs[i]};
}

uint64_t nvs_bodies_get(uint64_t node, uint32_t index)
{
	NVS_LOCK_SCOPE();
	for (uint32_t i = 0; i < nbodies; i++)
		if (bodies[i].node == node && !index--)
			return bodies[i].graph;
	return 0;
}

static void lock_and_remove(uint64_t owner, uint64_t node)
{
	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return;
	NVS_LOCK_SCOPE();
	remove_bodies(owner, node);
}

void nvs_bodies_remove_graph(uint64_t owner)
{
	if (owner)
		lock_and_remove(owner, 0);
}

void nvs_bodies_remove_node(uint64_t node)
{
	if (node)
		lock_and_remove(0, node);
}
