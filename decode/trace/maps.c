/* SPDX-License-Identifier: MIT */
/* Live mappings in a treap by address and a hash by number. A treap stays balanced for any order of
 * mapping and unmapping, also that of a crafted trace. */
#include <errno.h>
#include <stdlib.h>
#include "decode/base/hash.h"
#include "decode/trace/internal.h"

struct nvs_map_node {
	struct nvs_mapping map;
	struct nvs_map_node *left, *right;
	uint32_t priority;
	UT_hash_handle hh; /* by map.map */
};

/* Compares address space, address, then number, so that a lookup finds the newest of several
 * mappings with one start. */
static int compare_mappings(const struct nvs_mapping *a, const struct nvs_mapping *b)
{
	if (a->vaspace != b->vaspace)
		return a->vaspace < b->vaspace ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->map < b->map ? -1 : a->map > b->map;
}

static uint32_t next_random(struct nvs_maps *maps)
{
	uint32_t x = maps->random ? maps->random : (uint32_t)nvs_hash_key[0] | 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return maps->random = x;
}

/* Splits TREE into the nodes before NODE and those after it. */
static void split_tree(struct nvs_map_node *tree, const struct nvs_map_node *node,
		       struct nvs_map_node **before, struct nvs_map_node **behind)
{
	while (tree) {
		if (compare_mappings(&tree->map, &node->map) < 0) {
			*before = tree;
			before = &tree->right;
			tree = tree->right;
		} else {
			*behind = tree;
			behind = &tree->left;
			tree = tree->left;
		}
	}
	*before = *behind = NULL;
}

static struct nvs_map_node *join_trees(struct nvs_map_node *a, struct nvs_map_node *b)
{
	struct nvs_map_node *root = NULL, **at = &root;

	while (a && b) {
		if (a->priority > b->priority) {
			*at = a;
			at = &a->right;
			a = a->right;
		} else {
			*at = b;
			at = &b->left;
			b = b->left;
		}
	}
	*at = a ? a : b;
	return root;
}

static void insert_node(struct nvs_maps *maps, struct nvs_map_node *node)
{
	struct nvs_map_node **at = &maps->root;

	while (*at && (*at)->priority >= node->priority)
		at = compare_mappings(&node->map, &(*at)->map) < 0 ? &(*at)->left : &(*at)->right;
	split_tree(*at, node, &node->left, &node->right);
	*at = node;
}

static void remove_node(struct nvs_maps *maps, struct nvs_map_node *node)
{
	struct nvs_map_node **at = &maps->root;

	while (*at && *at != node)
		at = compare_mappings(&node->map, &(*at)->map) < 0 ? &(*at)->left : &(*at)->right;
	if (*at)
		*at = join_trees(node->left, node->right);
}

int nvs_maps_add(struct nvs_maps *maps, const struct nvs_mapping *mapping)
{
	struct nvs_map_node *node, *added = NULL;

	nvs_maps_remove(maps, mapping->map);
	if (HASH_COUNT(maps->by_number) >= NVS_MAX_NUMBER)
		return -E2BIG;
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->map = *mapping;
	node->priority = next_random(maps);
	HASH_ADD(hh, maps->by_number, map.map, sizeof(node->map.map), node);
	HASH_FIND(hh, maps->by_number, &mapping->map, sizeof(mapping->map), added);
	if (added != node) {
		free(node);
		return -ENOMEM;
	}
	insert_node(maps, node);
	return 0;
}

void nvs_maps_remove(struct nvs_maps *maps, uint32_t number)
{
	struct nvs_map_node *node;

	HASH_FIND(hh, maps->by_number, &number, sizeof(number), node);
	if (!node)
		return;
	remove_node(maps, node);
	HASH_DELETE(hh, maps->by_number, node);
	free(node);
}

void nvs_maps_neighbours(const struct nvs_maps *maps, uint32_t vaspace, uint64_t address,
			 const struct nvs_mapping **below, const struct nvs_mapping **above)
{
	const struct nvs_map_node *n = maps->root;
	struct nvs_mapping key = {.vaspace = vaspace, .address = address, .map = UINT32_MAX};

	*below = *above = NULL;
	while (n) {
		if (compare_mappings(&n->map, &key) <= 0) {
			*below = &n->map;
			n = n->right;
		} else {
			*above = &n->map;
			n = n->left;
		}
	}
	if (*below && (*below)->vaspace != vaspace)
		*below = NULL;
	if (*above && (*above)->vaspace != vaspace)
		*above = NULL;
}

const struct nvs_mapping *nvs_maps_find(const struct nvs_maps *maps, uint32_t vaspace,
					uint64_t address)
{
	const struct nvs_mapping *below, *above;

	nvs_maps_neighbours(maps, vaspace, address, &below, &above);
	return below && address - below->address < below->size ? below : NULL;
}

void nvs_maps_free(struct nvs_maps *maps)
{
	struct nvs_map_node *node, *next;

	HASH_ITER(hh, maps->by_number, node, next) {
		HASH_DELETE(hh, maps->by_number, node);
		free(node);
	}
	maps->root = NULL;
}

const struct nvs_mapping *nvs_trace_gpu_map(const struct nvs_trace *t, uint32_t vaspace,
					    uint64_t address)
{
	const struct nvs_mapping *m = nvs_maps_find(&t->gpu_maps, vaspace, address);

	return m || !vaspace ? m : nvs_maps_find(&t->gpu_maps, 0, address);
}

const struct nvs_mapping *nvs_trace_cpu_map(const struct nvs_trace *t, uint64_t address)
{
	return nvs_maps_find(&t->cpu_maps, 0, address);
}

const struct nvs_mapping *nvs_trace_cpu_map_at(const struct nvs_trace *t, uint32_t map)
{
	struct nvs_map_node *node;

	HASH_FIND(hh, t->cpu_maps.by_number, &map, sizeof(map), node);
	return node ? &node->map : NULL;
}
