/* SPDX-License-Identifier: MIT */
/* Names of addresses from NAME records. */
#include <stdio.h>
#include "decode/trace/internal.h"

struct embedded_name_row {
	uint64_t key[2]; /* module, address */
	struct nvs_embedded_name pub;
};

const struct nvs_embedded_name *nvs_embedded_names_find(const struct nvs_trace *t, uint32_t module,
							uint64_t address)
{
	const uint64_t key[2] = {module, address};
	struct embedded_name_row *row = nvs_rows_find(&t->named, key);

	return row ? &row->pub : NULL;
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
	const uint64_t key[2] = {rec->module, rec->address};
	struct embedded_name_row *row;
	struct nvs_embedded_name *n;
	bool well = true;

	if (!t->named.size)
		t->named = NVS_ROWS(struct embedded_name_row, key);
	row = nvs_rows_at(&t->named, key);
	if (!row)
		return -ENOMEM;
	n = &row->pub;
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

static void free_texts(void *item)
{
	struct embedded_name_row *row = item;

	free((void *)row->pub.name);
	free((void *)row->pub.exported);
	free((void *)row->pub.line);
}

void nvs_embedded_names_free(struct nvs_trace *t)
{
	nvs_rows_free(&t->named, free_texts);
}
