/* SPDX-License-Identifier: MIT */
/* Calls by driver API and the runtime API above it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report_apicalls.h"

struct state {
	struct nvs_source *source;
	struct nvs_api_calls *list;
	size_t n, room;
};

static struct nvs_api_calls *find(struct state *st, const char *api, const char *runtime, bool silent)
{
	struct nvs_api_calls *a;

	for (size_t i = 0; i < st->n; i++) {
		a = st->list + i;
		if (a->silent == silent && !strcmp(a->api, api) && !strcmp(a->runtime_api, runtime))
			return a;
	}
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

static void count_error(struct nvs_api_calls *a, uint32_t result, uint64_t n)
{
	size_t i = 0, last = sizeof(a->error) / sizeof(*a->error) - 1;

	while (i < last && a->error[i].count && a->error[i].result != result)
		i++;
	a->error[i].result = result;
	a->error[i].count += n;
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
	a = find(st, call->api->name, site ? site->runtime_api : "", !site);
	if (!a)
		return -ENOMEM;
	a->calls++;
	a->captured += !!(call->flags & NVS_CALL_CAPTURED);
	if (!call->end || call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED)) {
		a->open++;
		return 0;
	}
	nvs_times_add(&a->times, nvs_call_ns(st->source->trace, call->begin, call->end));
	if (nvs_call_failed(call)) {
		a->failed++;
		count_error(a, call->result, 1);
	}
	return 0;
}

static void merge(struct nvs_api_calls *into, const struct nvs_api_calls *from)
{
	into->calls += from->calls;
	into->failed += from->failed;
	into->captured += from->captured;
	into->open += from->open;
	into->times.count += from->times.count;
	into->times.sum += from->times.sum;
	if (from->times.max > into->times.max)
		into->times.max = from->times.max;
	for (size_t i = 0; i < sizeof(into->times.bucket) / sizeof(*into->times.bucket); i++)
		into->times.bucket[i] += from->times.bucket[i];
	for (size_t i = 0; i < sizeof(from->error) / sizeof(*from->error); i++)
		if (from->error[i].count)
			count_error(into, from->error[i].result, from->error[i].count);
}

/* Calls that submitted nothing go with those that did, where there is no doubt with which. */
static void settle(struct state *st)
{
	size_t kept = 0;

	for (size_t i = 0; i < st->n; i++) {
		struct nvs_api_calls *only = NULL;
		size_t others = 0;

		for (size_t k = 0; st->list[i].silent && k < st->n; k++)
			if (!st->list[k].silent && st->list[k].calls && !strcmp(st->list[k].api, st->list[i].api)) {
				only = st->list + k;
				others++;
			}
		if (others == 1) {
			merge(only, st->list + i);
			st->list[i].calls = 0;
		}
	}
	for (size_t i = 0; i < st->n; i++) {
		if (st->list[i].calls) {
			if (kept != i)
				st->list[kept] = st->list[i];
			kept++;
		} else {
			free((void *)st->list[i].api);
			free((void *)st->list[i].runtime_api);
		}
	}
	st->n = kept;
}

static void name_errors(struct nvs_api_calls *a)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(a->error) / sizeof(*a->error) && a->error[i].count; i++) {
		const char *name = nvs_call_error(a->error[i].result);

		if (name)
			n += (size_t)snprintf(a->errors + n, sizeof(a->errors) - n, "%s%s %llu", i ? ", " : "", name,
					      (unsigned long long)a->error[i].count);
		else
			n += (size_t)snprintf(a->errors + n, sizeof(a->errors) - n, "%serror %u %llu", i ? ", " : "",
					      a->error[i].result, (unsigned long long)a->error[i].count);
		if (n >= sizeof(a->errors) - 1)
			return;
	}
}

int nvs_api_calls_collect(struct nvs_source *s, uint32_t n, struct nvs_api_calls **list, size_t *count)
{
	struct state st = {0};
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct nvs_calls_sink sink = {.call = on_call, .arg = &st};

		st.source = s + i;
		if (s[i].has_calls)
			r = nvs_report_read_calls(s + i, &sink);
	}
	settle(&st);
	for (size_t i = 0; i < st.n; i++)
		name_errors(st.list + i);
	*list = st.list;
	*count = st.n;
	return r;
}

void nvs_api_calls_free(struct nvs_api_calls *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((void *)list[i].api);
		free((void *)list[i].runtime_api);
	}
	free(list);
}
