/* SPDX-License-Identifier: MIT */
/* Counts calls, failures, launches and graphs while reading, for the summary. */
#include <errno.h>
#include <string.h>
#include "decode/calls/args.h"
#include "decode/analysis/ring_stalls.h"
#include "decode/analysis/session_stats.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/query/selection.h"

bool nvs_facts_is_setup(const struct nvs_call_api *api)
{
	switch (api->group) {
	case NVS_CALL_GROUP_MODULE:
	case NVS_CALL_GROUP_RESOLVE:
		return true;
	case NVS_CALL_GROUP_CONTEXT:
		/* Changing the current context is not setup, creating one is. */
		return api->role != NVS_CALL_ROLE_CONTEXT_SET &&
		       api->role != NVS_CALL_ROLE_CONTEXT_PUSH &&
		       api->role != NVS_CALL_ROLE_CONTEXT_POP;
	default:
		return false;
	}
}

uint64_t nvs_facts_all_ns(const struct nvs_session_stats *f)
{
	return f->outermost[0].ns + f->outermost[1].ns;
}

uint64_t nvs_facts_ns(const struct nvs_session_api_stats *api)
{
	return api->api.times.total.ns + api->loading.total.ns;
}

static int count_time(struct nvs_session_stats *f, struct nvs_session_api_stats *a,
		      const struct nvs_call *call)
{
	struct nvs_pending_durations *waiting = f->source->waiting;
	bool loading = nvs_stalls_loaded_code(call);
	int r = nvs_durations_add_later(waiting, loading ? &a->loading : &a->api.times, call);

	if (!r && call->depth == 1)
		r = nvs_duration_sum_add_later(waiting,
					       &f->outermost[nvs_facts_is_setup(call->api)], call);
	if (!r && call->api->role == NVS_CALL_ROLE_GRAPH_INSTANTIATE)
		r = nvs_duration_sum_add_later(waiting, &f->instantiating, call);
	if (!loading && call->end - call->begin > a->longest) {
		a->longest = call->end - call->begin;
		a->begin = call->begin;
	}
	return r;
}

/* Returns NULL if out of memory. */
static struct nvs_session_api_stats *api_of(struct nvs_session_stats *f,
					    const struct nvs_call *call)
{
	struct nvs_api_calls_key key = {.api = call->api->number};

	return (struct nvs_session_api_stats *)nvs_api_calls_row(&f->apis, &key, call->api);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_session_stats *f = arg;
	struct nvs_session_api_stats *a;

	if (!nvs_filter_call(f->source, call))
		return 0;
	a = api_of(f, call);
	if (!a || nvs_api_calls_count(&f->apis, &a->api, call))
		return -ENOMEM;
	f->calls++;
	if (nvs_call_ran(call)) {
		f->instantiated += call->api->role == NVS_CALL_ROLE_GRAPH_INSTANTIATE;
		f->graph_launches += call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH;
	}
	return nvs_call_returned(call) ? count_time(f, a, call) : 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	((struct nvs_session_stats *)arg)->launches += op->kind == NVS_OP_LAUNCH;
	return 0;
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_session_stats *f = arg;
	bool whole = !(s->rec->rec.flags & NVS_SUB_CONTINUED);
	uint64_t launches = f->launches;
	struct nvs_session_api_stats *a;

	f->launches = 0;
	if (!nvs_filter_selects(f->source, s, call))
		return 0;
	if (launches) {
		f->launch_submissions++;
		f->launch_bytes += nvs_submission_bytes(s);
		if (call && (call->api->group == NVS_CALL_GROUP_COPY ||
			     call->api->group == NVS_CALL_GROUP_MEMSET))
			f->driver_launches += launches;
	}
	/* Counted here, not by call: a selected call may have unselected submissions. */
	if (!call || !whole)
		return 0;
	a = api_of(f, call);
	if (!a)
		return -ENOMEM;
	a->api.submissions++;
	f->setup_submissions += nvs_facts_is_setup(call->api);
	return 0;
}

int nvs_facts_begin(struct nvs_session_stats *f, struct nvs_source *s)
{
	f->source = s;
	f->apis.rows = NVS_ROWS(struct nvs_session_api_stats, api.key);
	return nvs_source_add_reader(s, &(struct nvs_pass_reader){.call = on_call,
								  .op = on_op,
								  .submitted = on_submitted,
								  .calls = true,
								  .tallies = true,
								  .arg = f});
}

void nvs_facts_sum(struct nvs_session_stats *into, const struct nvs_session_stats *from)
{
	into->calls += from->calls;
	for (int i = 0; i < 2; i++)
		into->outermost[i].ns += from->outermost[i].ns;
	into->setup_submissions += from->setup_submissions;
	into->driver_launches += from->driver_launches;
	into->launch_submissions += from->launch_submissions;
	into->launch_bytes += from->launch_bytes;
}

void nvs_facts_free(struct nvs_session_stats *f)
{
	for (size_t i = 0; i < f->apis.rows.n; i++)
		nvs_durations_free(&((struct nvs_session_api_stats *)f->apis.rows.row[i])->loading);
	nvs_api_calls_free(&f->apis);
}
