/* SPDX-License-Identifier: MIT */
/* Calls that had not returned when the trace ended: they show where each thread was blocked. */
#include <stdlib.h>
#include "decode/trace/internal.h"

#define MAX_INFLIGHT 65536

static void take_name(struct nvs_trace *t, const struct nvs_rec_api *rec)
{
	char *name;

	if (rec->api >= NVS_MAX_NUMBER || nvs_number_get(&t->api_names, rec->api))
		return;
	name = strndup(nvs_record_tail(&rec->rec, rec->length), rec->length);
	if (name && nvs_number_set(&t->api_names, rec->api, name))
		free(name);
}

static void take_return(struct nvs_trace *t, const struct nvs_rec_call *rec)
{
	struct nvs_thread_state *thr = rec->thread == NVS_NONE ? NULL
							       : nvs_model_thread(t, rec->thread);

	if (thr && rec->depth <= NVS_SPOOL_CALLS)
		thr->returned[rec->depth] = rec->number + 1;
}

static double seconds_between(const struct nvs_trace *t, uint64_t from, uint64_t to)
{
	int64_t a, b;

	if (!nvs_clock_since_start(t, from, &a) || !nvs_clock_since_start(t, to, &b))
		return 0;
	return (double)(b - a) / 1e9;
}

static void add_remark(struct nvs_trace *t, const struct nvs_inflight *f)
{
	const struct nvs_trace_thread *thr = nvs_trace_thread_at(t, f->thread);

	nvs_trace_add_finding(
		t, NVS_FINDING_REMARK,
		"in flight%s: %s, thread %u (%s%stid %u), began at %.6f s, %.3f s earlier",
		t->running && !t->end_seen ? "" : " at the end", f->api[0] ? f->api : "a call",
		f->thread, thr ? thr->name : "", thr && thr->name[0] ? ", " : "",
		thr ? thr->tid : 0, seconds_between(t, t->session.first_time, f->begin),
		seconds_between(t, f->begin, f->end));
}

static void take_begin(struct nvs_trace *t, const struct nvs_rec_call_begin *rec)
{
	struct nvs_inflight_list *list = &t->inflight;
	struct nvs_thread_state *thr;
	const char *name;
	/* It may have begun after the process was last heard from. */
	uint64_t end = rec->rec.time > rec->begin ? rec->rec.time : rec->begin;
	uint32_t stack = rec->rec.flags & NVS_BEGIN_SITED ? nvs_begin_site(&rec->rec)->stack
							  : NVS_NONE;
	void *more;

	if (!(rec->rec.flags & NVS_BEGIN_IN_FLIGHT) || !rec->depth || rec->depth > NVS_SPOOL_CALLS)
		return;
	thr = rec->thread == NVS_NONE ? NULL : nvs_model_thread(t, rec->thread);
	if (!thr)
		return;
	/* Its return was recorded before it was removed from the buffer's header. */
	if (thr->returned[rec->depth] > rec->number || list->count >= MAX_INFLIGHT)
		return;
	/* Grow at powers of two. */
	if (!(list->count & (list->count - 1))) {
		more = realloc(list->items,
			       (list->count ? list->count * 2 : 1) * sizeof(*list->items));
		if (!more)
			return;
		list->items = more;
	}
	name = nvs_number_get(&t->api_names, rec->api);
	list->items[list->count++] = (struct nvs_inflight){
		rec->thread, rec->depth, name ? name : "", rec->begin, end, rec->number, stack};
	add_remark(t, &list->items[list->count - 1]);
}

void nvs_inflight_record(struct nvs_trace *t, const struct nvs_rec *rec)
{
	if (rec->type == NVS_REC_API)
		take_name(t, (const void *)rec);
	else if (rec->type == NVS_REC_CALL)
		take_return(t, (const void *)rec);
	else if (rec->type == NVS_REC_CALL_BEGIN)
		take_begin(t, (const void *)rec);
}

const struct nvs_inflight *nvs_trace_inflight(const struct nvs_trace *t, uint32_t index)
{
	return index < t->inflight.count ? &t->inflight.items[index] : NULL;
}

void nvs_inflight_restart(struct nvs_trace *t)
{
	t->inflight.count = 0;
	free(t->inflight.items);
	t->inflight.items = NULL;
}

void nvs_inflight_free(struct nvs_trace *t)
{
	nvs_inflight_restart(t);
	nvs_numbers_free(&t->api_names, free);
}
