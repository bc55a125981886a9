/* SPDX-License-Identifier: MIT */
/* Decides which submissions and calls the command line selects, and explains empty selections. */
#include <string.h>
#include "decode/base/nearest.h"
#include "decode/calls/roles.h"
#include "decode/cli/units.h"
#include "decode/query/api_names.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/query/selection.h"
#include "decode/query/time_range.h"

static bool is_number(const struct nvs_pattern *p, uint32_t number)
{
	const char *end = p->text;
	uint64_t n;

	return nvs_read_number(&end, UINT32_MAX, &n) && n == number && !*end;
}

static bool is_thread(const struct nvs_pattern *p, const void *arg)
{
	const struct nvs_trace_thread *t = arg;

	return is_number(p, t->thread) || (t->tid && is_number(p, t->tid)) ||
	       (t->name[0] && nvs_pattern_matches(p, t->name));
}

bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread)
{
	struct nvs_trace_thread unknown = {.thread = thread};
	const struct nvs_trace_thread *t;

	if (!s->query->thread.n)
		return true;
	t = nvs_trace_thread_at(s->trace, thread);
	return nvs_patterns_select(&s->query->thread, is_thread, t ? t : &unknown);
}

static bool is_channel(const struct nvs_pattern *p, const void *arg)
{
	return is_number(p, *(const uint32_t *)arg);
}

bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel)
{
	return !s->query->channel.n ||
	       nvs_patterns_select(&s->query->channel, is_channel, &channel);
}

/* Also matches without version suffixes: cuMemcpyHtoD of the headers is cuMemcpyHtoD_v2 here. */
static bool is_name(const struct nvs_pattern *p, const char *name)
{
	bool per_thread;
	size_t whole = strlen(name), n = nvs_call_base_length(name, &per_thread);
	char form[NVS_PATTERN_TEXT];

	if (nvs_pattern_matches(p, name))
		return true;
	if (n == whole || whole >= sizeof(form))
		return false;
	memcpy(form, name, whole);
	form[whole - (per_thread ? strlen("_ptsz") : 0)] = '\0';
	if (per_thread && nvs_pattern_matches(p, form))
		return true;
	form[n] = '\0';
	return nvs_pattern_matches(p, form);
}

struct called {
	const char *name;
	const struct nvs_callsite *site;
};

static bool is_api(const struct nvs_pattern *p, const void *arg)
{
	const struct called *c = arg;
	/* The caller of libcuda, if the entry point has no name. */
	const char *caller = strstr(c->site->api, " < ");

	return is_name(p, c->name) || is_name(p, c->site->api) ||
	       (caller && is_name(p, caller + 3)) ||
	       (*c->site->runtime_api && is_name(p, c->site->runtime_api));
}

bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack)
{
	struct called c = {api, NULL};

	if (!s->query->api.n)
		return true;
	c.site = nvs_trace_callsite(s->trace, stack);
	return nvs_patterns_select(&s->query->api, is_api, &c);
}

bool nvs_filter_around(const struct nvs_source *s, const struct nvs_submission *sub)
{
	return nvs_range_has_submission(s, sub) && nvs_filter_channel(s, sub->channel->channel);
}

bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub)
{
	return nvs_range_has_time(s, sub->rec->rec.time) && nvs_filter_around(s, sub) &&
	       nvs_filter_thread(s, sub->thread->thread) &&
	       nvs_filter_nvtx(s, sub->rec->thread, sub->rec->rec.time);
}

bool nvs_filter_nvtx(const struct nvs_source *s, uint32_t thread, uint64_t time)
{
	struct nvs_nvtx_node *in[NVS_NVTX_NESTS];
	uint64_t fits = 0;

	if (!s->query->nvtx.n)
		return true;
	for (uint32_t n = nvs_nvtx_innermost(s->nvtx, thread, time, in); n; n--)
		fits |= in[n - 1]->fits;
	return nvs_nvtx_is_selected(&s->query->nvtx, fits);
}

bool nvs_filter_nvtx_event(const struct nvs_source *s, const struct nvs_nvtx_event *e)
{
	return !s->query->api.n && !nvs_filter_by_submissions(s->query) &&
	       nvs_range_has_time(s, e->begin) && nvs_filter_thread(s, e->thread) &&
	       nvs_nvtx_is_selected(&s->query->nvtx, e->node->fits);
}

bool nvs_filter_selects(const struct nvs_source *s, const struct nvs_submission *sub,
			const struct nvs_call *call)
{
	return nvs_filter_submission(s, sub) &&
	       (!s->query->api.n ||
		nvs_filter_api(s, nvs_source_api(s, sub, call), sub->rec->stack));
}

bool nvs_filter_is_past_end(const struct nvs_source *s, const struct nvs_submission *sub,
			    uint64_t printed)
{
	const struct nvs_query *q = s->query;

	return (q->rows && printed >= q->rows) ||
	       (q->range.by == NVS_RANGE_NUMBERS && sub->number >= q->range.to);
}

bool nvs_filter_by_submissions(const struct nvs_query *q)
{
	return q->range.by == NVS_RANGE_NUMBERS || q->channel.n;
}

bool nvs_filter_by_name(const struct nvs_query *q)
{
	return q->api.n || q->thread.n;
}

bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call)
{
	/* If submissions are selected, calls are selected through them. */
	return (!nvs_filter_by_submissions(s->query) || call->selected) &&
	       nvs_range_has_time(s, call->begin) && nvs_filter_call_name(s, call);
}

bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call)
{
	return nvs_filter_api(s, call->api->name, call->stack) &&
	       nvs_filter_thread(s, call->thread) && nvs_filter_nvtx(s, call->thread, call->begin);
}

/* ---- empty selections ---- */

#define MAX_STACKS (1u << 16) /* limit on stacks searched for names */

/* Whether PATTERN matches anything, and similar names. */
struct pattern_search {
	const struct nvs_pattern *pattern;
	struct nvs_nearest nearest;
	bool found;
	const char *instead; /* why a match selects nothing */
};

static void offer_name(struct pattern_search *l, const char *name)
{
	bool per_thread;

	if (!l->pattern->is_regex)
		nvs_nearest_add(&l->nearest, name, nvs_call_base_length(name, &per_thread));
}

static void search_apis(struct pattern_search *l, const struct nvs_source *s)
{
	const struct nvs_calls *calls = s->first ? nvs_pass_calls(s->first) : NULL;
	uint32_t n = nvs_trace_stack_count(s->trace), at = 0;
	const struct nvs_call_api *api;

	for (uint32_t i = 0; i < n && i < MAX_STACKS; i++) {
		struct called c = {"", nvs_trace_callsite(s->trace, i)};

		l->found |= is_api(l->pattern, &c);
		offer_name(l, c.site->api);
		offer_name(l, c.site->runtime_api);
	}
	while (calls && (api = nvs_calls_next_api(calls, &at))) {
		l->found |= is_name(l->pattern, api->name);
		if (!api->passed)
			offer_name(l, api->name);
	}
}

static void search_threads(struct pattern_search *l, const struct nvs_source *s)
{
	for (uint32_t i = 0; i < nvs_trace_thread_count(s->trace); i++) {
		const struct nvs_trace_thread *t = nvs_trace_thread_at(s->trace, i);

		if (!t)
			continue;
		l->found |= is_thread(l->pattern, t);
		offer_name(l, t->name);
	}
}

static void search_channels(struct pattern_search *l, const struct nvs_source *s)
{
	for (uint32_t i = 0; i < nvs_trace_channel_count(s->trace); i++)
		l->found |= nvs_trace_channel_at(s->trace, i) && is_channel(l->pattern, &i);
}

static void search_nvtx(struct pattern_search *l, const struct nvs_source *s)
{
	struct nvs_nvtx_node *node;

	for (uint32_t i = 0; s->nvtx && (node = nvs_nvtx_node(s->nvtx, i)); i++) {
		if (node->key.kind != NVS_NVTX_PUSH) {
			if (nvs_pattern_matches(l->pattern, node->name))
				l->instead = node->key.kind == NVS_NVTX_MARK
						     ? "is a mark"
						     : "is started and ended";
			continue;
		}
		l->found |= nvs_pattern_matches(l->pattern, node->name);
		if (!l->pattern->is_regex)
			nvs_nearest_add(&l->nearest, node->name, strlen(node->name));
	}
}

static void explain_patterns(const struct nvs_source *s, uint32_t n,
			     const struct nvs_patterns *list, const char *what,
			     void (*search)(struct pattern_search *, const struct nvs_source *))
{
	for (uint32_t i = 0; i < list->n; i++) {
		struct pattern_search l = {
			list->list + i, {.wanted = list->list[i].text}, false, NULL};
		char safe[256];

		for (uint32_t k = 0; k < n && !l.pattern->excludes; k++)
			search(&l, s + k);
		if (l.found || l.pattern->excludes)
			continue;
		nvs_escape(safe, sizeof(safe), l.pattern->text, strlen(l.pattern->text));
		if (l.instead) {
			fprintf(stderr,
				"nvsnoop-report: the %s '%s' %s: it belongs to no thread and "
				"selects nothing; --range selects by time\n",
				what, safe, l.instead);
			continue;
		}
		fprintf(stderr, "nvsnoop-report: there is no %s '%s'", what, safe);
		nvs_nearest_print(&l.nearest);
	}
}

bool nvs_filter_is_set(const struct nvs_query *q)
{
	return q->range.by || q->api.n || q->thread.n || q->channel.n || q->nvtx.n;
}

void nvs_filter_explain(const struct nvs_source *sources, uint32_t n)
{
	const struct nvs_query *q = sources->query;

	nvs_range_explain(sources, n);
	explain_patterns(sources, n, &q->api, "API", search_apis);
	explain_patterns(sources, n, &q->thread, "thread", search_threads);
	explain_patterns(sources, n, &q->channel, "channel", search_channels);
	explain_patterns(sources, n, &q->nvtx, "NVTX range", search_nvtx);
}
