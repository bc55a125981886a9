/* SPDX-License-Identifier: MIT */
/* Calls by driver API and the runtime API above it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/report/api_calls.h"

#define MAX_ERRORS 64u /* that are told apart, of one row; an entry point has a handful */

/* One row by its names: "S" or "s" (silent), the API's and the runtime's, each with its NUL. */
struct row {
	size_t at;
	UT_hash_handle hh;
	char key[];
};

/* The rows of one API that are not silent. */
struct loud {
	const char *api;
	size_t at, n;
	UT_hash_handle hh;
};

struct state {
	struct nvs_source *source;
	struct nvs_api_calls *list;
	size_t n, room;
	struct row *rows;
};

static struct row *row_of(struct state *st, const char *api, const char *runtime, bool silent)
{
	size_t first = strlen(api) + 1, second = strlen(runtime) + 1, length = 1 + first + second;
	struct row *found, *row = malloc(sizeof(*row) + length);

	if (!row)
		return NULL;
	row->key[0] = silent ? 's' : 'S';
	memcpy(row->key + 1, api, first);
	memcpy(row->key + 1 + first, runtime, second);
	HASH_FIND(hh, st->rows, row->key, length, found);
	if (found) {
		free(row);
		return found;
	}
	row->at = st->n;
	HASH_ADD(hh, st->rows, key[0], length, row);
	HASH_FIND(hh, st->rows, row->key, length, found);
	if (!found)
		free(row);
	return found;
}

static struct nvs_api_calls *find(struct state *st, const char *api, const char *runtime,
				  bool silent)
{
	struct row *row = row_of(st, api, runtime, silent);
	struct nvs_api_calls *a;

	if (!row || row->at < st->n)
		return row ? st->list + row->at : NULL;
	if (st->n == st->room) {
		size_t room = st->room ? st->room * 2 : 64;

		a = realloc(st->list, room * sizeof(*a));
		if (!a)
			return NULL;
		st->list = a;
		st->room = room;
	}
	a = st->list + st->n;
	memset(a, 0, sizeof(*a));
	a->api = strdup(api);
	a->runtime_api = strdup(runtime);
	a->silent = silent;
	st->n++;
	return a->api && a->runtime_api ? a : NULL;
}

static int count_error(struct nvs_api_calls *a, uint32_t result, uint64_t n)
{
	struct nvs_api_error *e;
	uint32_t i = 0;

	while (i < a->nerrors && a->error[i].result != result)
		i++;
	if (i == MAX_ERRORS) {
		a->others += n;
		return 0;
	}
	if (i == a->nerrors) {
		e = realloc(a->error, (i + 1) * sizeof(*e));
		if (!e)
			return -ENOMEM;
		a->error = e;
		a->error[a->nerrors++] = (struct nvs_api_error){.result = result};
	}
	a->error[i].count += n;
	return 0;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	const struct nvs_callsite *site = NULL;
	struct state *st = arg;
	struct nvs_api_calls *a;

	if (!nvs_filter_call(st->source, call))
		return 0;
	if (call->submissions)
		site = nvs_trace_callsite(st->source->trace, call->stack);
	a = find(st, nvs_call_name(call), site ? site->runtime_api : "", !site);
	if (!a)
		return -ENOMEM;
	a->calls++;
	a->uncounted |= call->uncounted;
	a->captured += !!(call->flags & NVS_CALL_CAPTURED);
	if (!call->end || call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED)) {
		a->open++;
		return 0;
	}
	if (nvs_call_failed(call)) {
		a->failed++;
		if (count_error(a, call->result, 1))
			return -ENOMEM;
	}
	return nvs_times_add(&a->times, nvs_call_ns(st->source->trace, call->begin, call->end));
}

static int merge(struct nvs_api_calls *into, const struct nvs_api_calls *from)
{
	into->calls += from->calls;
	into->failed += from->failed;
	into->captured += from->captured;
	into->uncounted |= from->uncounted;
	into->open += from->open;
	into->others += from->others;
	for (uint32_t i = 0; i < from->nerrors; i++)
		if (count_error(into, from->error[i].result, from->error[i].count))
			return -ENOMEM;
	return nvs_times_merge(&into->times, &from->times);
}

static int settle_row(struct state *st, struct nvs_api_calls *a, struct loud *all)
{
	struct loud *only = NULL;

	if (a->silent)
		HASH_FIND(hh, all, a->api, strlen(a->api), only);
	if (!only || only->n != 1)
		return 0;
	if (merge(st->list + only->at, a))
		return -ENOMEM;
	a->calls = 0;
	return 0;
}

static void free_calls(struct nvs_api_calls *a)
{
	nvs_times_free(&a->times);
	free(a->error);
	free(a->errors);
	free((void *)a->api);
	free((void *)a->runtime_api);
}

/* Calls that submitted nothing go with those that did, where there is no doubt with which. */
static int settle(struct state *st)
{
	struct loud *room = calloc(st->n ? st->n : 1, sizeof(*room)), *all = NULL, *l;
	size_t kept = 0;
	int r = room ? 0 : -ENOMEM;

	for (size_t i = 0; room && i < st->n; i++) {
		const struct nvs_api_calls *a = st->list + i;

		if (a->silent || !a->calls)
			continue;
		HASH_FIND(hh, all, a->api, strlen(a->api), l);
		if (!l) {
			l = room + i;
			l->api = a->api;
			HASH_ADD_KEYPTR(hh, all, l->api, strlen(l->api), l);
		}
		l->at = i;
		l->n++;
	}
	for (size_t i = 0; i < st->n && !r; i++)
		r = settle_row(st, st->list + i, all);
	HASH_CLEAR(hh, all);
	free(room);
	for (size_t i = 0; i < st->n; i++) {
		if (st->list[i].calls) {
			if (kept != i)
				st->list[kept] = st->list[i];
			kept++;
		} else {
			free_calls(st->list + i);
		}
	}
	st->n = kept;
	return r;
}

static int name_errors(struct nvs_api_calls *a)
{
	size_t size;
	FILE *f = a->nerrors ? open_memstream(&a->errors, &size) : NULL;

	if (!f)
		return a->nerrors ? -ENOMEM : 0;
	for (uint32_t i = 0; i < a->nerrors; i++) {
		const char *name = nvs_call_error(a->error[i].result);

		fputs(i ? ", " : "", f);
		if (name)
			fputs(name, f);
		else
			fprintf(f, "error %u", a->error[i].result);
		fprintf(f, " %llu", (unsigned long long)a->error[i].count);
	}
	if (a->others)
		fprintf(f, ", others %llu", (unsigned long long)a->others);
	return fclose(f) ? -ENOMEM : 0;
}

int nvs_api_calls_collect(struct nvs_source *s, uint32_t n, struct nvs_api_calls **list,
			  size_t *count)
{
	struct state st = {0};
	struct row *row, *next;
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct nvs_reader reader = {.call = on_call, .arg = &st};

		st.source = s + i;
		if (s[i].has_calls)
			r = nvs_report_read_calls(s + i, &reader);
	}
	if (!r)
		r = settle(&st);
	HASH_ITER(hh, st.rows, row, next) {
		HASH_DEL(st.rows, row);
		free(row);
	}
	for (size_t i = 0; i < st.n && !r; i++)
		r = name_errors(st.list + i);
	*list = st.list;
	*count = st.n;
	return r;
}

void nvs_api_calls_free(struct nvs_api_calls *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free_calls(list + i);
	free(list);
}
