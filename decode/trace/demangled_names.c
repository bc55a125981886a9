/* SPDX-License-Identifier: MIT */
/* Demangled names and source lines, cached so that the helper is asked only once for each. */
#include "decode/base/hash.h"
#include "decode/trace/helper.h"
#include "decode/trace/internal.h"

struct nvs_demangled {
	UT_hash_handle hh;
	char *text; /* NULL: unknown */
	char key[]; /* a name, or a module number and an address in it */
};

static struct nvs_demangled *find_written(struct nvs_trace *t, const void *key, size_t size)
{
	struct nvs_demangled *w;

	HASH_FIND(hh, t->written, key, size, w);
	return w;
}

/* Takes ownership of TEXT. */
static const char *add_written(struct nvs_trace *t, const void *key, size_t size, char *text)
{
	struct nvs_demangled *w = calloc(1, sizeof(*w) + size);
	unsigned before = HASH_COUNT(t->written);

	if (w) {
		w->text = text;
		memcpy(w->key, key, size);
		HASH_ADD_KEYPTR(hh, t->written, w->key, size, w);
		if (HASH_COUNT(t->written) > before)
			return text;
	}
	free(w);
	free(text);
	return NULL;
}

const char *nvs_demangled_name(struct nvs_trace *t, const char *name)
{
	size_t size = strlen(name) + 1;
	struct nvs_demangled *w;
	const char *text;

	if (name[0] != '_')
		return name;
	w = find_written(t, name, size);
	text = w ? w->text : add_written(t, name, size, nvs_helper_name(name));
	return text ? text : name;
}

const char *nvs_trace_demangle(struct nvs_trace *t, const char *name)
{
	return nvs_demangled_name(t, name);
}

const char *nvs_source_line(struct nvs_trace *t, const struct nvs_trace_module *m, uint64_t pc)
{
	uint64_t key[2] = {m->module, pc - m->bias};
	const struct nvs_embedded_name *named = nvs_embedded_names_find(t, m->module, key[1]);
	struct nvs_demangled *w;
	char path[4096];
	const char *text;

	if (named && named->line)
		return named->line;
	w = find_written(t, key, sizeof(key));
	if (!w && !nvs_symbols_path(path, sizeof(path), t, m))
		return "";
	text = w ? w->text
		 : add_written(t, key, sizeof(key),
			       nvs_helper_line(path, m->build_id, m->build_id_length, key[1]));
	return text ? text : "";
}

void nvs_demangled_free(struct nvs_trace *t)
{
	struct nvs_demangled *w, *next;

	HASH_ITER(hh, t->written, w, next) {
		HASH_DEL(t->written, w);
		free(w->text);
		free(w);
	}
	nvs_helper_stop();
}
