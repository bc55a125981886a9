/* SPDX-License-Identifier: MIT */
/* Waits of the host: collected while the trace is read, then looked up in lists of all work by
 * stream and by context, which are built at the end. See host_waits.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/calls/args.h"
#include "decode/calls/roles.h"
#include "decode/analysis/host_waits.h"
#include "decode/query/selection.h"
#include "decode/query/api_names.h"
#include "decode/base/compare.h"
#include "decode/base/keyed_rows.h"

#define MOST_PENDING 8u
/* Assumed time of an empty bracket if none was measured: up to 3.9 us on an H200. */
#define UNKNOWN_EMPTY_NS 4000

/* An item of a list, with the last work up to and including it. */
struct list_position {
	uint64_t list; /* stream or context */
	int64_t rung;
	uint32_t work; /* index */
	uint32_t latest; /* timed work that ended last; NVS_NONE: none */
	uint32_t untimed; /* last untimed work that is not known to be done */
	bool several; /* the list has several streams */
};

/* At END, all work of a stream or context submitted by UNTIL was done. */
struct synced {
	uint64_t list;
	int64_t end, until;
};

struct syncs {
	struct synced *at; /* sorted by list and end */
	size_t n;
};

/* An interval in which a GPU was busy, in host ns; intervals do not overlap. */
struct busy_period {
	uint64_t gpu;
	int64_t from, to;
	uint64_t before; /* total ns of earlier intervals of this GPU */
};

struct recorded_event {
	uint64_t handle;
	uint64_t context;
	int64_t until; /* ticks at which its cuEventRecord returned */
	uint32_t stream;
};

struct nvs_waits {
	struct nvs_source *source;
	const struct nvs_work_list *works;
	struct nvs_rows events;
	struct nvs_wait *list;
	size_t n, room;
	struct list_position *streams, *contexts;
	size_t nplaces;
	struct busy_period *busy;
	size_t nbusy;
	struct syncs done_streams, done_contexts;
	uint64_t dropped, untimed, error_ns;
	bool placed;
	bool partly; /* the trace covers only part of the run */
};

/* ---- calls that wait ---- */

static bool takes_stream(const struct nvs_call_api *api)
{
	for (uint32_t i = 0; i < api->nargs; i++)
		if (api->kinds[i] == NVS_KIND_STREAM)
			return true;
	return false;
}

/* Times are in ticks until nvs_waits_end(). Returns NULL if memory is short. */
static struct nvs_wait *add_wait(struct nvs_waits *w, const struct nvs_call *call)
{
	struct nvs_wait *wait = NVS_APPEND_OPTIONAL(w->list, w->n, w->room, 256, UINT32_MAX);

	if (!wait) {
		w->dropped++;
		return NULL;
	}
	*wait = (struct nvs_wait){.api = nvs_call_name(call->api),
				  .stack = call->stack,
				  .begin = (int64_t)call->begin,
				  .end = (int64_t)call->end,
				  .until = (int64_t)call->begin,
				  .stream = NVS_NONE};
	return wait;
}

static int record_event(struct nvs_waits *w, const struct nvs_call *call)
{
	struct recorded_event *event;
	uint64_t handle, context;
	uint32_t stream = nvs_work_list_call_stream(w->works, &context);

	if (stream == NVS_NONE || !nvs_call_kind(call, NVS_KIND_EVENT, &handle) ||
	    !nvs_call_ran(call))
		return 0;
	event = nvs_rows_at(&w->events, &handle);
	if (!event)
		return -ENOMEM;
	event->stream = stream;
	event->context = context;
	event->until = (int64_t)call->end;
	return 0;
}

static void wait_for_event(struct nvs_waits *w, const struct nvs_call *call)
{
	struct nvs_wait *wait = add_wait(w, call);
	size_t known = w->events.n;
	const struct recorded_event *event;
	uint64_t handle;

	if (!wait)
		return;
	wait->nothing = true;
	if (!nvs_call_kind(call, NVS_KIND_EVENT, &handle))
		return;
	event = nvs_rows_at(&w->events, &handle);
	if (!event || w->events.n > known || !event->until)
		return; /* recorded in a graph, or before the trace began */
	wait->nothing = false;
	wait->stream = event->stream;
	wait->context = event->context;
	wait->until = event->until;
	wait->certain = true;
}

/* A synchronous copy waits for its own work, unless GPU times show otherwise. */
static void wait_for_own(struct nvs_waits *w, const struct nvs_call *call, uint32_t stream)
{
	const struct nvs_work *own = nvs_work_list_last_of_call(w->works);
	struct nvs_wait *wait;
	bool to_host;

	if (!own || stream == NVS_NONE || own->kind == NVS_WORK_OTHER ||
	    !nvs_work_list_copy_blocks(w->works, call, &to_host))
		return;
	wait = add_wait(w, call);
	if (!wait)
		return;
	wait->stream = stream;
	wait->until = own->rung;
	wait->own = true;
	wait->certain = to_host;
}

int nvs_waits_call(void *waits, const struct nvs_call *call)
{
	struct nvs_waits *w = waits;
	uint64_t context;
	uint32_t stream = nvs_work_list_call_stream(w->works, &context);
	struct nvs_wait *wait;

	if (call->api->group == NVS_CALL_GROUP_EVENT)
		return record_event(w, call);
	if (!nvs_call_ran(call) || !nvs_filter_call(w->source, call))
		return 0;
	switch (call->api->role) {
	case NVS_CALL_ROLE_SYNCHRONIZE_EVENT:
		wait_for_event(w, call);
		return 0;
	case NVS_CALL_ROLE_SYNCHRONIZE:
	case NVS_CALL_ROLE_FREE:
		if (call->api->role == NVS_CALL_ROLE_FREE && takes_stream(call->api))
			return 0;
		wait = add_wait(w, call);
		if (!wait)
			return 0;
		wait->stream = stream;
		wait->context = context;
		wait->perhaps = call->api->role == NVS_CALL_ROLE_FREE;
		wait->certain = !wait->perhaps;
		return 0;
	default:
		if (call->api->group == NVS_CALL_GROUP_COPY)
			wait_for_own(w, call, stream);
		return 0;
	}
}

/* ---- lists ---- */

static int compare_places(const void *pa, const void *pb)
{
	const struct list_position *a = pa, *b = pb;

	return NVS_CMP(a->list, b->list) ?: NVS_CMP(a->rung, b->rung) ?: NVS_CMP(a->work, b->work);
}

/* Untimed work of a list that is not known to be done: the last of each channel. */
struct pending_work {
	uint32_t n, work[MOST_PENDING];
	int64_t lost; /* with MORE: doorbell time of the last one that did not fit */
	bool more;
};

static void note_untimed(struct pending_work *p, const struct nvs_work *list, uint32_t work,
			 bool timed)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (list[p->work[i]].channel == list[work].channel)
			p->work[i] = p->work[--p->n];
	if (timed)
		return;
	if (p->n < MOST_PENDING) {
		p->work[p->n++] = work;
		return;
	}
	p->more = true;
	p->lost = list[work].rung;
}

static uint32_t last_pending(const struct pending_work *p)
{
	uint32_t last = NVS_NONE;

	for (uint32_t i = 0; i < p->n; i++)
		if (last == NVS_NONE || p->work[i] > last)
			last = p->work[i];
	return last;
}

static void fill_places(struct list_position *places, size_t n, const struct nvs_work *list)
{
	struct pending_work pending = {0};

	if (n)
		qsort(places, n, sizeof(*places), compare_places);
	for (size_t i = 0; i < n; i++) {
		struct list_position *p = places + i;
		const struct nvs_work *work = list + p->work;

		p->latest = NVS_NONE;
		if (i && p[-1].list == p->list) {
			p->latest = p[-1].latest;
			p->several = p[-1].several || list[p[-1].work].stream != work->stream;
		} else {
			memset(&pending, 0, sizeof(pending));
		}
		note_untimed(&pending, list, p->work, work->flags & NVS_WORK_TIMED);
		p->untimed = last_pending(&pending);
		if (work->flags & NVS_WORK_TIMED &&
		    (p->latest == NVS_NONE || list[p->latest].end <= work->end))
			p->latest = p->work;
	}
}

static int make_lists(struct nvs_waits *w)
{
	size_t all, n = 0;
	const struct nvs_work *list = nvs_work_list_items(w->works, &all);

	w->streams = calloc(all + 1, sizeof(*w->streams));
	w->contexts = calloc(all + 1, sizeof(*w->contexts));
	if (!w->streams || !w->contexts)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		const struct nvs_work_stream *stream = nvs_work_list_stream(w->works,
									    list[i].stream);

		if (list[i].kind == NVS_WORK_OTHER || !stream)
			continue;
		w->untimed += !(list[i].flags & NVS_WORK_TIMED);
		w->streams[n] = w->contexts[n] = (struct list_position){.work = (uint32_t)i,
									.rung = list[i].rung};
		w->streams[n].list = stream->index;
		w->contexts[n++].list = stream->key.context;
	}
	w->nplaces = n;
	fill_places(w->streams, n, list);
	fill_places(w->contexts, n, list);
	return 0;
}

/* The last of N items of SIZE bytes, which start with a list and a time and are sorted by both,
 * that is of LIST and not after AT; returns NULL if there is none. */
static const void *find_last(const void *items, size_t n, size_t size, uint64_t list, int64_t at)
{
	size_t from = 0, to = n;
	const uint64_t *item;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		item = (const void *)((const char *)items + middle * size);
		if (item[0] < list || (item[0] == list && (int64_t)item[1] <= at))
			from = middle + 1;
		else
			to = middle;
	}
	item = from ? (const void *)((const char *)items + (from - 1) * size) : NULL;
	return item && *item == list ? item : NULL;
}

/* The last item of LIST submitted by UNTIL; returns NULL if there is none. */
static const struct list_position *find_place(const struct nvs_waits *w,
					      const struct list_position *places, uint64_t list,
					      int64_t until)
{
	return find_last(places, w->nplaces, sizeof(*places), list, until);
}

/* ---- busy intervals of a GPU ---- */

static int compare_stretches(const void *pa, const void *pb)
{
	const struct busy_period *a = pa, *b = pb;

	return NVS_CMP(a->gpu, b->gpu) ?: NVS_CMP(a->from, b->from);
}

/* Merges overlapping intervals. */
static void merge_stretches(struct nvs_waits *w)
{
	size_t n = 0;

	if (w->nbusy)
		qsort(w->busy, w->nbusy, sizeof(*w->busy), compare_stretches);
	for (size_t i = 0; i < w->nbusy; i++) {
		struct busy_period *last = n ? w->busy + n - 1 : NULL, *s = w->busy + i;

		if (last && last->gpu == s->gpu && s->from <= last->to) {
			last->to = s->to > last->to ? s->to : last->to;
			continue;
		}
		s->before = last && last->gpu == s->gpu
				    ? last->before + (uint64_t)(last->to - last->from)
				    : 0;
		w->busy[n++] = *s;
	}
	w->nbusy = n;
}

static bool to_host_ns(struct nvs_waits *w, const struct nvs_work *work, uint64_t ns, int64_t *at)
{
	uint64_t give;

	if (!nvs_bracket_times_to_session(nvs_work_list_timing(w->works), work->channel, ns, at,
					  &give))
		return false;
	w->placed = true;
	w->error_ns = give > w->error_ns ? give : w->error_ns;
	return true;
}

static int make_busy(struct nvs_waits *w)
{
	size_t all;
	const struct nvs_work *list = nvs_work_list_items(w->works, &all);

	w->busy = malloc((all + 1) * sizeof(*w->busy));
	if (!w->busy)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		struct busy_period *s = w->busy + w->nbusy;

		if (!(list[i].flags & NVS_WORK_TIMED) || list[i].kind == NVS_WORK_OTHER)
			continue;
		s->gpu = list[i].gpu;
		if (to_host_ns(w, list + i, list[i].begin, &s->from) &&
		    to_host_ns(w, list + i, list[i].end, &s->to) && s->to >= s->from)
			w->nbusy++;
	}
	merge_stretches(w);
	return 0;
}

/* Busy time of GPU from its first work until AT. */
static uint64_t busy_until(const struct nvs_waits *w, uint32_t gpu, int64_t at)
{
	const struct busy_period *s = find_last(w->busy, w->nbusy, sizeof(*s), gpu, at);

	return s ? s->before + (uint64_t)((at < s->to ? at : s->to) - s->from) : 0;
}

/* ---- the end of a wait ---- */

/* Time up to which all submissions of LIST were known to be done at AT. */
static int64_t done_by(const struct syncs *syncs, uint64_t list, int64_t at)
{
	const struct synced *s = find_last(syncs->at, syncs->n, sizeof(*s), list, at);

	return s ? s->until : INT64_MIN;
}

/* Returns true if the host had waited for WORK before AT. */
static bool was_done(const struct nvs_waits *w, const struct nvs_work *work, int64_t at)
{
	const struct nvs_work_stream *stream = nvs_work_list_stream(w->works, work->stream);

	return stream && (work->rung <= done_by(&w->done_streams, stream->index, at) ||
			  work->rung <= done_by(&w->done_contexts, stream->key.context, at));
}

/* Work of a stream ends in order. */
static uint32_t last_in_order(const struct list_position *p)
{
	return p->untimed != NVS_NONE && (p->latest == NVS_NONE || p->untimed > p->latest)
		       ? p->untimed
		       : p->latest;
}

/* The work of a context that ended last. P is the last item submitted by then, PENDING its untimed
 * work. If several streams had work left, only GPU times can decide. */
static uint32_t last_of_all(const struct nvs_waits *w, const struct list_position *p,
			    struct pending_work *pending, int64_t at)
{
	size_t n;
	const struct nvs_work *list = nvs_work_list_items(w->works, &n);
	uint32_t latest = p->latest, last;

	if (!p->several)
		return last_in_order(p);
	for (uint32_t i = pending->n; i--;)
		if (was_done(w, list + pending->work[i], at))
			pending->work[i] = pending->work[--pending->n];
	pending->more = pending->more && pending->lost > done_by(&w->done_contexts, p->list, at);
	if (pending->more)
		return NVS_NONE;
	if (!pending->n)
		return latest != NVS_NONE ? latest : p->work;
	/* Other timed work ended before it. */
	if (latest != NVS_NONE && was_done(w, list + latest, at))
		latest = NVS_NONE;
	last = last_pending(pending);
	for (uint32_t i = 0; i < pending->n; i++)
		if (list[pending->work[i]].stream != list[last].stream)
			return NVS_NONE;
	if (latest != NVS_NONE && list[latest].stream != list[last].stream)
		return NVS_NONE;
	return latest != NVS_NONE && latest > last ? latest : last;
}

static int compare_untils(const void *pa, const void *pb)
{
	const struct nvs_wait *a = *(struct nvs_wait *const *)pa,
			      *b = *(struct nvs_wait *const *)pb;

	return NVS_CMP(a->context, b->context) ?: NVS_CMP(a->until, b->until);
}

/* Finds the last work of each wait for a context: walks waits and lists in parallel. */
static int find_context_ends(struct nvs_waits *w)
{
	struct nvs_wait **waits = malloc((w->n + 1) * sizeof(*waits));
	struct pending_work pending = {0};
	size_t all, n = 0, next = 0;
	const struct nvs_work *list = nvs_work_list_items(w->works, &all);

	if (!waits)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++)
		if (w->list[i].stream == NVS_NONE && !w->list[i].nothing)
			waits[n++] = w->list + i;
	if (n)
		qsort(waits, n, sizeof(struct nvs_wait *), compare_untils);
	for (size_t i = 0; i < n; i++) {
		const struct list_position *p = find_place(w, w->contexts, waits[i]->context,
							   waits[i]->until);
		size_t until = p ? (size_t)(p - w->contexts) + 1 : next;

		for (; next < until; next++) {
			const struct nvs_work *work = list + w->contexts[next].work;

			if (next && w->contexts[next].list != w->contexts[next - 1].list)
				memset(&pending, 0, sizeof(pending));
			note_untimed(&pending, list, w->contexts[next].work,
				     work->flags & NVS_WORK_TIMED);
		}
		waits[i]->last = p ? last_of_all(w, p, &pending, waits[i]->begin) : NVS_NONE;
	}
	free(waits);
	return 0;
}

/* Ends in host ns: of the work, of its bracket, and the earliest possible end of the work if no
 * empty bracket was measured. */
struct ends {
	int64_t least, work, bracket;
};

static bool place_ends(const struct nvs_waits *w, const struct nvs_work *work, struct ends *at,
		       int64_t *give)
{
	uint64_t ns;

	if (!(work->flags & NVS_WORK_TIMED) ||
	    !nvs_bracket_times_to_session(nvs_work_list_timing(w->works), work->channel, work->end,
					  &at->bracket, &ns))
		return false;
	*give = (int64_t)ns;
	at->work = at->bracket - (int64_t)(work->end - work->begin - work->ns);
	at->least = work->flags & NVS_WORK_SUBTRACTED ? at->work : at->bracket - UNKNOWN_EMPTY_NS;
	return true;
}

bool nvs_wait_end_find(const struct nvs_waits *w, const struct nvs_wait *wait,
		       struct nvs_wait_end *end)
{
	bool stream = wait->stream != NVS_NONE;
	const struct list_position *p =
		wait->nothing ? NULL
		: stream      ? find_place(w, w->streams, wait->stream, wait->until)
			      : find_place(w, w->contexts, wait->context, wait->until);
	struct ends at;
	int64_t give;
	uint32_t last;
	size_t n;
	const struct nvs_work *list = nvs_work_list_items(w->works, &n);

	*end = (struct nvs_wait_end){.busy = NVS_UNKNOWN, .late = NVS_UNKNOWN};
	last = !p ? NVS_NONE : stream ? last_in_order(p) : wait->last;
	end->work = last == NVS_NONE ? NULL : list + last;
	end->done = p ? !wait->own && end->work && was_done(w, end->work, wait->begin)
		      : !wait->nothing && !w->partly && !w->dropped;
	if (end->work && end->work->flags & NVS_WORK_TIMED && w->placed)
		end->busy = busy_until(w, end->work->gpu, wait->end) -
			    busy_until(w, end->work->gpu, wait->begin);
	/* Frees and copies that need not wait count only if a wait can be shown. */
	if (!end->work || !place_ends(w, end->work, &at, &give))
		return !wait->perhaps;
	end->done = end->done || at.bracket <= wait->begin;
	/* The driver's release precedes the end of the bracket, so the host may return before it.
	 */
	if (at.work <= wait->end + give ||
	    (!wait->own && !wait->perhaps && at.least <= wait->end + give))
		end->late = wait->end > at.work ? (uint64_t)(wait->end - at.work) : 0;
	else if (wait->perhaps || wait->own)
		return false;
	else
		end->work = NULL;
	return !wait->perhaps || !end->done;
}

/* ---- life ---- */

struct nvs_waits *nvs_waits_new(struct nvs_source *s, const struct nvs_work_list *works)
{
	struct nvs_waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->source = s;
	w->works = works;
	w->partly = nvs_trace_session(s->trace)->header.flags &
		    (NVS_HDR_TRIGGER | NVS_HDR_KEEP_LAST);
	w->events = (struct nvs_rows){.size = sizeof(struct recorded_event),
				      .key = sizeof(uint64_t)};
	return w;
}

void nvs_waits_free(struct nvs_waits *w)
{
	if (!w)
		return;
	nvs_rows_free(&w->events, NULL);
	free(w->list);
	free(w->streams);
	free(w->contexts);
	free(w->busy);
	free(w->done_streams.at);
	free(w->done_contexts.at);
	free(w);
}

static int compare_ends(const void *pa, const void *pb)
{
	const struct synced *a = pa, *b = pb;

	return NVS_CMP(a->list, b->list) ?: NVS_CMP(a->end, b->end);
}

static void sort_syncs(struct syncs *syncs)
{
	if (syncs->n)
		qsort(syncs->at, syncs->n, sizeof(*syncs->at), compare_ends);
	for (size_t i = 1; i < syncs->n; i++)
		if (syncs->at[i - 1].list == syncs->at[i].list &&
		    syncs->at[i - 1].until > syncs->at[i].until)
			syncs->at[i].until = syncs->at[i - 1].until;
}

static int note_synced(struct nvs_waits *w)
{
	struct syncs *streams = &w->done_streams, *contexts = &w->done_contexts;

	streams->at = malloc((w->n + 1) * sizeof(*streams->at));
	contexts->at = malloc((w->n + 1) * sizeof(*contexts->at));
	if (!streams->at || !contexts->at)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++) {
		const struct nvs_wait *wait = w->list + i;

		if (!wait->certain)
			continue;
		if (wait->stream == NVS_NONE)
			contexts->at[contexts->n++] = (struct synced){wait->context, wait->end,
								      wait->until};
		else
			streams->at[streams->n++] = (struct synced){wait->stream, wait->end,
								    wait->until};
	}
	sort_syncs(streams);
	sort_syncs(contexts);
	return 0;
}

int nvs_waits_end(struct nvs_waits *w, struct nvs_waits_found *found)
{
	int r = make_lists(w);

	for (size_t i = 0; i < w->n; i++) {
		struct nvs_wait *wait = w->list + i;
		struct nvs_trace *t = w->source->trace;
		int64_t begin = wait->begin, until = wait->until;

		nvs_clock_since_start(t, (uint64_t)begin, &wait->begin);
		wait->end = wait->begin +
			    (int64_t)nvs_call_ns(t, (uint64_t)begin, (uint64_t)wait->end);
		nvs_clock_since_start(t, (uint64_t)until, &wait->until);
	}
	if (!r)
		r = note_synced(w);
	if (!r)
		r = find_context_ends(w);
	if (!r)
		r = make_busy(w);
	*found = (struct nvs_waits_found){w->list,    w->n,	   w->dropped,
					  w->untimed, w->error_ns, w->placed};
	return r;
}
