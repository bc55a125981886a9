/* SPDX-License-Identifier: MIT */
/* Names of addresses from NAME records. */
#include <stdio.h>
#include "decode/base/hash.h"
#include "decode/trace/internal.h"

struct nvs_embedded_name_node {
	struct nvs_embedded_name pub; /* first */
	uint64_t key[2]; /* module, address */
	UT_hash_handle hh;
};

static struct nvs_embedded_name_node *find_node(const struct nvs_trace *t, uint32_t module,
						uint64_t address)
{
	uint64_t key[2] = {module, address};
	struct nvs_embedded_name_node *node;

	HASH_FIND(hh, t->named, key, sizeof(key), node);
	return node;
}

const struct nvs_embedded_name *nvs_embedded_names_find(const struct nvs_trace *t, uint32_t module,
							uint64_t address)
{
	struct nvs_embedded_name_node *node = find_node(t, module, address);

	return node ? &node->pub : NULL;
}

uint32_t nvs_embedded_names_count(const struct nvs_trace *t)
{
	return HASH_COUNT(t->named);
}

static struct nvs_embedded_name_node *add_node(struct nvs_trace *t, uint32_t module,
					       uint64_t address)
{
	struct nvs_embedded_name_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->key[0] = module;
	node->key[1] = address;
	HASH_ADD(hh, t->named, key, sizeof(node->key), node);
	if (node->hh.tbl)
		return node;
	free(node);
	return NULL;
}

/* Copies a name; empty or invalid text counts as none. Returns false if memory is short. */
static bool copy_text(const char **to, const char *text, size_t length)
{
	if (!length || memchr(text, 0, length))
		return true;
	*to = strndup(text, length);
	return *to;
}

static bool copy_line(const char **to, const char *file, size_t length, uint32_t line)
{
	char *text;

	if (!length || !line || memchr(file, 0, length))
		return true;
	if (asprintf(&text, "%.*s:%u", (int)length, file, line) < 0)
		return false;
	*to = text;
	return true;
}

int nvs_embedded_names_add(struct nvs_trace *t, const struct nvs_rec_name *rec)
{
	size_t length = (size_t)rec->name_length + rec->exported_length + rec->file_length;
	const char *text = nvs_record_tail(&rec->rec, length);
	struct nvs_embedded_name_node *node = find_node(t, rec->module, rec->address);
	struct nvs_embedded_name *n;
	bool well = true;

	if (!node)
		node = add_node(t, rec->module, rec->address);
	if (!node)
		return -ENOMEM;
	n = &node->pub;
	/* Keep the first record: later passes change nothing. */
	if (!n->name) {
		n->offset = rec->offset;
		n->is_exported = rec->rec.flags & NVS_NAME_EXPORTED;
		well &= copy_text(&n->name, text, rec->name_length);
	}
	text += rec->name_length;
	if (!n->exported) {
		n->exported_offset = rec->exported_offset;
		well &= copy_text(&n->exported, text, rec->exported_length);
	}
	text += rec->exported_length;
	if (!n->line)
		well &= copy_line(&n->line, text, rec->file_length, rec->line);
	return well ? 0 : -ENOMEM;
}

const char *nvs_embedded_name_get(const struct nvs_embedded_name *n, bool exported,
				  uint64_t *offset)
{
	if (exported && !n->is_exported) {
		*offset = n->exported_offset;
		return n->exported;
	}
	*offset = n->offset;
	return n->name;
}

void nvs_embedded_names_free(struct nvs_trace *t)
{
	struct nvs_embedded_name_node *node, *next;

	HASH_ITER(hh, t->named, node, next) {
		HASH_DEL(t->named, node);
		free((void *)node->pub.name);
		free((void *)node->pub.exported);
		free((void *)node->pub.line);
		free(node);
	}
}
