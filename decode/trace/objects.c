/* SPDX-License-Identifier: MIT */
/* Live resource-manager objects by client and handle. */
#include <stdlib.h>
#include "decode/base/hash.h"
#include "decode/trace/internal.h"

struct nvs_object_node {
	uint32_t key[2]; /* client, handle */
	struct nvs_object_node *next, **link; /* in the list of its family */
	struct family *family;
	UT_hash_handle hh;
	struct nvs_trace_object pub; /* last: parameters follow */
};

/* The live objects of one parent. */
struct family {
	uint32_t key[2]; /* client, parent */
	struct nvs_object_node *first, **last; /* oldest first */
	UT_hash_handle hh;
};

static struct family *find_family(const struct nvs_trace *t, uint32_t client, uint32_t parent)
{
	uint32_t key[2] = {client, parent};
	struct family *f;

	HASH_FIND(hh, t->families, key, sizeof(key), f);
	return f;
}

static int join_family(struct nvs_trace *t, struct nvs_object_node *node)
{
	struct family *f = find_family(t, node->key[0], node->pub.parent);

	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		f->key[0] = node->key[0];
		f->key[1] = node->pub.parent;
		f->last = &f->first;
		HASH_ADD(hh, t->families, key, sizeof(f->key), f);
		if (!f->hh.tbl) {
			free(f);
			return -ENOMEM;
		}
	}
	node->family = f;
	node->next = NULL;
	node->link = f->last;
	*f->last = node;
	f->last = &node->next;
	return 0;
}

static void leave_family(struct nvs_trace *t, struct nvs_object_node *node)
{
	struct family *f = node->family;

	*node->link = node->next;
	*(node->next ? &node->next->link : &f->last) = node->link;
	if (f->first)
		return;
	HASH_DELETE(hh, t->families, f);
	free(f);
}

static struct nvs_object_node *find_object(const struct nvs_trace *t, uint32_t client,
					   uint32_t handle)
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
	node = calloc(1, bytes);
	if (!node)
		return -ENOMEM;
	memcpy(node + 1, nvs_record_tail(&rec->rec, rec->params_length), rec->params_length);
	node->pub = (struct nvs_trace_object){
		.client = rec->client,
		.handle = rec->handle,
		.parent = rec->parent,
		.object_class = rec->object_class,
		.gpu = rec->gpu,
		.source_client = rec->source_client,
		.source_handle = rec->source_handle,
		.params_length = rec->params_length,
		.params = (const uint8_t *)(node + 1),
		.time = rec->rec.time,
	};
	node->key[0] = rec->client;
	node->key[1] = rec->handle;
	HASH_ADD(hh, t->objects, key, sizeof(node->key), node);
	if (!node->hh.tbl) {
		free(node);
		return -ENOMEM;
	}
	if (join_family(t, node)) {
		HASH_DELETE(hh, t->objects, node);
		free(node);
		return -ENOMEM;
	}
	t->nobjects++;
	return 0;
}

static void remove_object(struct nvs_trace *t, struct nvs_object_node *node)
{
	leave_family(t, node);
	HASH_DELETE(hh, t->objects, node);
	free(node);
	t->nobjects--;
}

void nvs_objects_remove(struct nvs_trace *t, uint32_t client, uint32_t handle)
{
	struct nvs_object_node *node = find_object(t, client, handle);

	if (node)
		remove_object(t, node);
}

void nvs_objects_free(struct nvs_trace *t)
{
	struct nvs_object_node *node, *next;

	HASH_ITER(hh, t->objects, node, next) {
		remove_object(t, node);
	}
}

const struct nvs_trace_object *nvs_trace_object(const struct nvs_trace *t, uint32_t client,
						uint32_t handle)
{
	const struct nvs_object_node *node = find_object(t, client, handle);

	return node ? &node->pub : NULL;
}

int nvs_trace_children(const struct nvs_trace *t, uint32_t client, uint32_t parent,
		       int (*fn)(void *arg, const struct nvs_trace_object *object), void *arg)
{
	const struct family *f = find_family(t, client, parent);
	int r = 0;

	for (const struct nvs_object_node *node = f ? f->first : NULL; node && !r;
	     node = node->next)
		r = fn(arg, &node->pub);
	return r;
}
