/* SPDX-License-Identifier: MIT */
/* Live resource-manager objects by client and handle. */
#include <stdlib.h>
#include "decode/hash.h"
#include "decode/internal.h"

struct nvs_object_node {
	uint32_t key[2]; /* client, handle */
	size_t bytes;
	UT_hash_handle hh;
	struct nvs_trace_object pub; /* last: parameters follow */
};

static struct nvs_object_node *find(const struct nvs_trace *t, uint32_t client, uint32_t handle)
{
	uint32_t key[2] = {client, handle};
	struct nvs_object_node *node;

	HASH_FIND(hh, t->objects, key, sizeof(key), node);
	return node;
}

int nvs_objects_add(struct nvs_trace *t, const struct nvs_rec_object *rec)
{
	size_t bytes = sizeof(struct nvs_object_node) + rec->params_length;
	struct nvs_object_node *node;

	nvs_objects_remove(t, rec->client, rec->handle);
	if (t->nobjects >= NVS_MAX_NUMBER)
		return -E2BIG;
	node = nvs_model_alloc(t, bytes);
	if (!node)
		return -ENOMEM;
	memcpy(&node->pub.rec, rec, sizeof(node->pub.rec));
	memcpy(node + 1, nvs_tail(&rec->rec, rec->params_length), rec->params_length);
	node->pub.params = (const uint8_t *)(node + 1);
	node->key[0] = rec->client;
	node->key[1] = rec->handle;
	node->bytes = bytes;
	HASH_ADD(hh, t->objects, key, sizeof(node->key), node);
	if (find(t, rec->client, rec->handle) != node) {
		nvs_model_release(t, node, bytes);
		return -ENOMEM;
	}
	t->nobjects++;
	return 0;
}

static void drop(struct nvs_trace *t, struct nvs_object_node *node)
{
	HASH_DELETE(hh, t->objects, node);
	nvs_model_release(t, node, node->bytes);
	t->nobjects--;
}

void nvs_objects_remove(struct nvs_trace *t, uint32_t client, uint32_t handle)
{
	struct nvs_object_node *node = find(t, client, handle);

	if (node)
		drop(t, node);
}

void nvs_objects_free(struct nvs_trace *t)
{
	struct nvs_object_node *node, *next;

	HASH_ITER (hh, t->objects, node, next) {
		drop(t, node);
	}
}

const struct nvs_trace_object *nvs_trace_object(const struct nvs_trace *t, uint32_t client,
						uint32_t handle)
{
	const struct nvs_object_node *node = find(t, client, handle);

	return node ? &node->pub : NULL;
}

int nvs_trace_children(const struct nvs_trace *t, uint32_t client, uint32_t parent,
		       int (*fn)(void *arg, const struct nvs_trace_object *object), void *arg)
{
	struct nvs_object_node *node, *next;
	int r = 0;

	HASH_ITER (hh, t->objects, node, next) {
		if (r || node->key[0] != client || node->pub.rec.parent != parent)
			continue;
		r = fn(arg, &node->pub);
	}
	return r;
}
