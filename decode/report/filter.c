/* SPDX-License-Identifier: MIT */
/* What the command line selects: submissions by range, thread, channel and API, and calls. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/report.h"

static bool thread_matches(const struct nvs_source *s, uint32_t number, const char *want)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(s->trace, number);
	char *end;
	unsigned long n = strtoul(want, &end, 10);

	if (*want >= '0' && *want <= '9' && !*end && (n == number || (t && n == t->tid)))
		return true;
	return t && t->name[0] && !fnmatch(want, t->name, 0);
}

bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread)
{
	const struct nvs_options_report *o = s->options;
	bool ok = !o->nthread;

	for (uint32_t i = 0; i < o->nthread && !ok; i++)
		ok = thread_matches(s, thread, o->thread[i]);
	return ok;
}

bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel)
{
	const struct nvs_options_report *o = s->options;
	bool ok = !o->nchannel;

	for (uint32_t i = 0; i < o->nchannel && !ok; i++)
		ok = strtoull(o->channel[i], NULL, 0) == channel;
	return ok;
}

bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack)
{
	const struct nvs_options_report *o = s->options;
	const struct nvs_callsite *c = o->napi ? nvs_trace_callsite(s->trace, stack) : NULL;
	const char *caller = c ? strstr(c->api, " < ")
			       : NULL; /* of libcuda, where it has no name itself */
	bool ok = !o->napi;

	for (uint32_t i = 0; i < o->napi && !ok; i++)
		ok = !fnmatch(o->api[i], api, 0) || !fnmatch(o->api[i], c->api, 0) ||
		     (caller && !fnmatch(o->api[i], caller + 3, 0)) ||
		     (*c->runtime_api && !fnmatch(o->api[i], c->runtime_api, 0));
	return ok;
}

bool nvs_filter_range(const struct nvs_source *s, const struct nvs_submission *sub)
{
	const struct nvs_options_report *o = s->options;

	return !o->has_range || (sub->number >= o->first && sub->number <= o->last);
}

bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub)
{
	return nvs_filter_range(s, sub) && nvs_filter_channel(s, sub->channel->channel) &&
	       nvs_filter_thread(s, sub->thread->thread);
}

bool nvs_filter(const struct nvs_source *s, const struct nvs_submission *sub,
		const struct nvs_call *call)
{
	return nvs_filter_submission(s, sub) &&
	       (!s->options->napi ||
		nvs_filter_api(s, nvs_source_api(s, sub, call), sub->rec->stack));
}

bool nvs_filter_past(const struct nvs_source *s, const struct nvs_submission *sub, uint64_t printed)
{
	const struct nvs_options_report *o = s->options;

	return (o->rows && printed >= o->rows) || (o->has_range && sub->number >= o->last);
}

bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call)
{
	const struct nvs_options_report *o = s->options;

	/* Where submissions are selected, so are the calls they happened in. */
	return ((!o->has_range && !o->nchannel) || call->selected) && nvs_filter_call_name(s, call);
}

bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call)
{
	return nvs_filter_api(s, call->api->name, call->stack) &&
	       nvs_filter_thread(s, call->thread);
}
