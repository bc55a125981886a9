/* SPDX-License-Identifier: MIT */
/* Counts calls by entry point and stack while reading, then merges them by driver and runtime
 * API. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/args.h"
#include "decode/calls/roles.h"
#include "decode/base/compare.h"
#include "decode/analysis/api_stats.h"
#include "decode/query/selection.h"
#include "decode/query/api_names.h"
#include "decode/query/time_range.h"

#define MAX_ERRORS 64u /* distinct errors per row; an entry point has a handful */

/* ---- while reading ---- */

static int count_error(struct nvs_api_calls *a, uint32_t result, uint64_t n, uint64_t first)
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
		a->error[a->nerrors++] = (struct nvs_api_error){a->entry, result, 0, first};
	}
	a->error[i].count += n;
	if (first < a->error[i].first)
		a->error[i].first = first;
	return 0;
}

/* ---- calls inside calls ---- */

/* The calls of one thread and depth that ended inside a call that has not: their total time. */
struct inner {
	struct {
		uint32_t trace, thread, depth;
	} key;
	uint64_t begin, ticks; /* begin of the first; ticks 0: none */
};

static struct inner *find_inner(struct nvs_api_calls_list *list, const struct nvs_source *s,
				const struct nvs_call *call, uint32_t depth)
{
	struct inner key = {{s->index, call->thread, depth}, 0, 0};

	if (!list->inner.size)
		list->inner = NVS_ROWS(struct inner, key);
	return nvs_rows_at(&list->inner, &key.key);
}

/* Sets apart the time of calls nested in CALL, which has ended. A nested call without a stack is
 * counted by the call around it. WITHIN is NULL if CALL itself is not selected. */
static int split_nested(struct nvs_api_calls_list *list, struct nvs_source *s,
			struct nvs_duration_sum *within, const struct nvs_call *call)
{
	bool nested = call->depth > 1, alone = nested && call->stack == NVS_NONE;
	uint64_t own = call->end > call->begin ? call->end - call->begin : 0, ticks = 0;
	struct nvs_call part = *call;
	struct inner *in;

	/* Shortcut: calls are rarely nested. */
	if (!nested && !list->inner.n)
		return 0;
	in = find_inner(list, s, call, call->depth + 1);
	if (!in)
		return -ENOMEM;
	if (in->ticks && in->begin >= call->begin && in->ticks <= own)
		ticks = in->ticks;
	in->ticks = 0;
	part.end = call->begin + (alone ? own : ticks);
	if (nested) {
		in = find_inner(list, s, call, call->depth);
		if (!in)
			return -ENOMEM;
		in->begin = in->ticks ? in->begin : call->begin;
		in->ticks += alone ? ticks : own;
	}
	return within && part.end > part.begin
		       ? nvs_duration_sum_add_later(s->waiting, within, &part)
		       : 0;
}

struct nvs_api_calls *nvs_api_calls_row(struct nvs_api_calls_list *list,
					const struct nvs_api_calls_key *key,
					const struct nvs_call_api *entry)
{
	struct nvs_api_calls *a;

	if (!list->rows.size)
		list->rows = NVS_ROWS(struct nvs_api_calls, key);
	a = nvs_rows_at(&list->rows, key);
	if (a)
		a->entry = entry;
	return a;
}

int nvs_api_calls_count(struct nvs_api_calls_list *list, struct nvs_api_calls *a,
			const struct nvs_call *call)
{
	a->calls++;
	a->uncounted |= call->uncounted;
	a->captured += !!(call->flags & NVS_CALL_CAPTURED);
	a->open += !nvs_call_returned(call);
	if (!nvs_call_failed(call))
		return 0;
	a->failed++;
	return count_error(a, call->result, 1, list->failures++);
}

int nvs_api_calls_add(void *reader, const struct nvs_call *call)
{
	struct nvs_api_calls_list *list = ((struct nvs_api_calls_reader *)reader)->list;
	struct nvs_source *s = ((struct nvs_api_calls_reader *)reader)->source;
	struct nvs_api_calls_key key = {
		.trace = s->index,
		.api = call->api->number,
		.stack = call->stack,
		.thread = s->query->thread.n || list->threads ? call->thread : 0,
		.silent = !call->submissions && call->stack == NVS_NONE,
	};
	struct nvs_api_calls *a;

	if (!nvs_range_has_time(s, call->begin) || !nvs_filter_nvtx(s, call->thread, call->begin))
		return 0;
	if (nvs_filter_by_submissions(s->query) && !call->selected)
		return call->end ? split_nested(list, s, NULL, call) : 0;
	a = nvs_api_calls_row(list, &key, call->api);
	if (!a || nvs_api_calls_count(list, a, call))
		return -ENOMEM;
	if (!nvs_call_returned(call))
		return 0;
	if (split_nested(list, s, &a->within, call))
		return -ENOMEM;
	return nvs_durations_add_later(s->waiting, &a->times, call);
}

/* ---- by name ---- */

int nvs_api_row_merge(struct nvs_api_calls *into, struct nvs_api_calls *from)
{
	if (into->source != from->source)
		into->source = NULL;
	into->calls += from->calls;
	into->failed += from->failed;
	into->captured += from->captured;
	into->submissions += from->submissions;
	into->uncounted |= from->uncounted;
	into->open += from->open;
	into->others += from->others;
	from->calls = 0; /* no longer a row */
	for (uint32_t i = 0; i < from->nerrors; i++)
		if (count_error(into, from->error[i].result, from->error[i].count,
				from->error[i].first))
			return -ENOMEM;
	into->within.ns += from->within.ns;
	return nvs_durations_merge(&into->times, &from->times);
}

struct nvs_api_label nvs_api_label_of(const struct nvs_source *s, const struct nvs_callsite *site,
				      const char *api, bool sites)
{
	return (struct nvs_api_label){
		.group = s->query->per_trace ? s->index : 0,
		.api = api,
		.runtime_api = site->runtime_api,
		.site = sites ? site->site : NULL,
		.module = site->site_module,
	};
}

int nvs_api_label_compare(const struct nvs_api_label *a, const struct nvs_api_label *b)
{
	int r = NVS_CMP(a->group, b->group);

	if (!r)
		r = strcmp(a->api, b->api);
	if (!r)
		r = strcmp(a->runtime_api, b->runtime_api);
	if (!r && a->site)
		r = strcmp(a->site, b->site);
	return r || !a->site ? r : strcmp(a->module, b->module);
}

static int compare_names(const struct nvs_api_calls *a, const struct nvs_api_calls *b)
{
	int r = nvs_api_label_compare(&a->label, &b->label);

	return r || a->label.site ? r : NVS_CMP(a->key.silent, b->key.silent);
}

/* Sorts by name, rows of one name in order of arrival. */
static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const size_t *a = pa, *b = pb;
	struct nvs_api_calls **rows = arg;
	int r = compare_names(rows[*a], rows[*b]);

	return r ? r : (*a > *b) - (*a < *b);
}

bool nvs_api_calls_is_selected(const struct nvs_api_calls *a, const struct nvs_source *sources)
{
	const struct nvs_source *s = sources + a->key.trace;

	return nvs_filter_api(s, a->entry->name, a->key.stack) &&
	       (!s->query->thread.n || nvs_filter_thread(s, a->key.thread));
}

/* Resolves the names of the selected rows. Puts their indices into ORDER and returns their
 * number. */
static size_t name_rows(struct nvs_api_calls_list *list, struct nvs_source *sources, size_t *order)
{
	size_t n = 0;

	for (size_t i = 0; i < list->rows.n; i++) {
		struct nvs_api_calls *a = list->rows.row[i];

		if (!nvs_api_calls_is_selected(a, sources))
			continue;
		a->source = sources + a->key.trace;
		a->label = nvs_api_label_of(a->source,
					    nvs_trace_callsite(a->source->trace, a->key.stack),
					    nvs_call_name(a->entry), list->sites);
		order[n++] = i;
	}
	return n;
}

/* Merges rows of one name among the N in ORDER. Returns the number left, or -ENOMEM. */
static long merge_names(struct nvs_api_calls **rows, size_t *order, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept && !compare_names(rows[order[kept - 1]], rows[order[i]])) {
			if (nvs_api_row_merge(rows[order[kept - 1]], rows[order[i]]))
				return -ENOMEM;
		} else {
			order[kept++] = order[i];
		}
	}
	return (long)kept;
}

static bool is_one_api(const struct nvs_api_calls *a, const struct nvs_api_calls *b)
{
	return a->label.group == b->label.group && !strcmp(a->label.api, b->label.api);
}

/* Merges calls that submitted nothing with those of the same API that did, if there is only one
 * such row. */
static int merge_silent(struct nvs_api_calls **rows, const size_t *order, size_t n)
{
	int r = 0;

	for (size_t i = 0, end; i < n && !r; i = end) {
		struct nvs_api_calls *loud = NULL, *silent = NULL;
		size_t nloud = 0;

		for (end = i; end < n && is_one_api(rows[order[i]], rows[order[end]]); end++)
			if (rows[order[end]]->key.silent) {
				silent = rows[order[end]];
			} else {
				loud = rows[order[end]];
				nloud++;
			}
		if (silent && nloud == 1)
			r = nvs_api_row_merge(loud, silent);
	}
	return r;
}

static int compare_first(const void *pa, const void *pb)
{
	const struct nvs_api_error *a = pa, *b = pb;

	return NVS_CMP(a->first, b->first);
}

static int name_errors(struct nvs_api_calls *a)
{
	size_t size;
	FILE *f = a->nerrors ? open_memstream(&a->errors, &size) : NULL;

	if (!f)
		return a->nerrors ? -ENOMEM : 0;
	qsort(a->error, a->nerrors, sizeof(*a->error), compare_first);
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
	return nvs_budget_end_text(f, &a->errors);
}

int nvs_api_calls_merge(struct nvs_api_calls_list *list, struct nvs_source *sources)
{
	struct nvs_api_calls **rows = (struct nvs_api_calls **)list->rows.row;
	size_t *order = calloc(list->rows.n + 1, sizeof(*order));
	long n = -ENOMEM;
	int r;

	list->named = calloc(list->rows.n + 1, sizeof(struct nvs_api_calls *));
	if (order && list->named) {
		n = (long)name_rows(list, sources, order);
		qsort_r(order, (size_t)n, sizeof(*order), compare_rows, rows);
		n = merge_names(rows, order, (size_t)n);
	}
	r = n < 0 ? (int)n : list->sites ? 0 : merge_silent(rows, order, (size_t)n);
	free(order);
	for (size_t i = 0; i < list->rows.n && !r; i++)
		if (rows[i]->label.api && rows[i]->calls) {
			list->named[list->n++] = rows[i];
			r = name_errors(rows[i]);
		}
	return r;
}

static void free_row(void *row)
{
	struct nvs_api_calls *a = row;

	nvs_durations_free(&a->times);
	free(a->error);
	free(a->errors);
}

void nvs_api_calls_free(struct nvs_api_calls_list *list)
{
	nvs_rows_free(&list->rows, free_row);
	nvs_rows_free(&list->inner, NULL);
	free(list->named);
}
