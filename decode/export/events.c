/* SPDX-License-Identifier: MIT */
/* Reads traces for exports and calls their callbacks: times, flows, releases seen, GPU work and
 * memory in use. See events.h. */
#include "decode/export/events.h"
#include <errno.h>
#include <stdlib.h>
#include "decode/base/numbers.h"
#include "decode/base/queue.h"
#include "decode/calls/args.h"
#include "decode/calls/hostmem.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/calls/tally.h"
#include "decode/calls/bracket_times.h"
#include "decode/analysis/allocations.h"
#include "decode/query/source.h"
#include "decode/report/core/report.h"
#include "decode/cli/table.h"
#include "decode/analysis/call_text.h"
#include "decode/trace/demangled_names.h"
#include "decode/query/selection.h"
#include "decode/query/api_names.h"

#define MOST_PENDING 4096u /* submissions of a channel not seen done yet */

/* A submission not seen done yet. */
struct pending_submission {
	uint64_t submission, flow;
	uint32_t entries, payload;
	bool releases; /* it releases PAYLOAD in the channel's progress slot */
	bool selected;
};

struct progress {
	struct nvs_queue queue; /* struct pending_submission */
	uint64_t entries; /* of all pending submissions */
	uint32_t last; /* payload of the latest release */
	bool counts; /* a release was seen, and each was one more than the last */
	bool lost; /* too many, or not consecutive: unknown from now on */
	int64_t gpu_end; /* end of the latest GPU work delivered */
	bool gpu_begun;
};

struct nvs_event_stream_state {
	int64_t shift; /* from time 0 to the begin of the trace */
	struct nvs_numbers channels; /* struct progress */
	struct nvs_tally tally; /* of the current submission */
	uint32_t releases, first, payload; /* number of releases of the current submission; payloads
					      of the first and last */
	bool skips; /* its payloads are not consecutive */
	struct nvs_allocs allocs; /* if there is a memory callback */
	struct nvs_copy_memory copies; /* if the sink asks for copies */
	struct nvs_arguments *arguments; /* if the sink asks for parameters; else NULL */
	struct nvs_work_list *works; /* NULL: no gpu callback, or no GPU times */
	struct nvs_numbers flows; /* flows by index in the list of works */
};

/* ---- times ---- */

static int64_t time_of(const struct nvs_event_stream *w, uint64_t ticks)
{
	int64_t ns;

	nvs_clock_since_start(w->source->trace, ticks, &ns);
	return ns + w->own->shift;
}

/* Unique number of a call. */
static uint64_t flow_of(const struct nvs_event_stream *w, const struct nvs_call *call)
{
	uint64_t thread = (call->thread + 1ull) & 0xfffff;

	return (uint64_t)(w->process & 0x3ff) << 54 | thread << 34 |
	       (call->number & 0x3ffffffffull);
}

/* ---- calls ---- */

static const struct nvs_kernel *launched_by(const struct nvs_event_stream *w,
					    const struct nvs_call *call)
{
	uint64_t handle;

	if (call->api->group != NVS_CALL_GROUP_LAUNCH ||
	    (!nvs_call_kind(call, NVS_KIND_FUNCTION, &handle) &&
	     !nvs_call_kind(call, NVS_KIND_KERNEL, &handle)))
		return NULL;
	return nvs_handles_get_kernel(w->handles, handle);
}

/* CALL or REC is NULL. */
static int follow_memory(struct nvs_event_stream *w, const struct nvs_call *call,
			 const struct nvs_rec *rec)
{
	const struct nvs_alloc_series *series = &w->own->allocs.series;
	uint64_t before = series->now;
	int r = call ? nvs_allocs_call(&w->own->allocs, call)
		     : nvs_allocs_record(&w->own->allocs, rec);

	if (r || series->now == before)
		return r;
	return w->walker->memory(w, time_of(w, call ? call->end : rec->time), series->now);
}

/* Returns NULL if CALL is no copy. */
static const struct nvs_event_copy *read_copy(const struct nvs_event_stream *w,
					      const struct nvs_call *call,
					      struct nvs_event_copy *copy)
{
	if (!w->walker->copies || call->api->group != NVS_CALL_GROUP_COPY)
		return NULL;
	nvs_copy_endpoints_read(&w->own->copies, call, &copy->ends);
	copy->kind = nvs_copy_kind_of(w->source->trace, call, &copy->ends);
	return copy;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_event_stream *w = arg;
	struct nvs_event_call c = {.call = call};
	struct nvs_launch_arguments arguments;
	struct nvs_event_copy copy;
	uint64_t context;
	uint32_t stream;
	int r = w->own->works ? nvs_work_list_call(w->own->works, call, &stream, &context) : 0;

	if (!r && w->walker->memory)
		r = follow_memory(w, call, NULL);
	if (!r && w->own->arguments)
		r = nvs_arguments_call(w->own->arguments, call);
	if (!r && w->walker->copies)
		r = nvs_hostmem_call(w->own->copies.kinds, call);
	if (r || !w->walker->call || !nvs_filter_call(w->source, call))
		return r;
	c.name = nvs_call_name(call->api);
	c.launched = launched_by(w, call);
	c.kernel = c.launched && *c.launched->name
			   ? nvs_demangled_name(w->source->trace, c.launched->name)
			   : "";
	c.flow = flow_of(w, call);
	c.begin = time_of(w, call->begin);
	c.ended = call->end;
	if (c.ended)
		c.end = time_of(w, call->end);
	c.copy = read_copy(w, call, &copy);
	if (w->own->arguments && c.launched &&
	    nvs_arguments_of_call(w->own->arguments, call, c.launched->name, &arguments))
		c.arguments = &arguments;
	w->run->out->told++;
	return w->walker->call(w, &c);
}

/* ---- completion ---- */

/* Number of pending submissions that are done if the slot has PAYLOAD. */
static uint32_t done_by(const struct progress *p, uint32_t payload)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nvs_queue_count(&p->queue); i++) {
		const struct pending_submission *one = nvs_queue_at(&p->queue, p->queue.first + i);

		if (!one->releases)
			continue;
		if ((int32_t)(payload - one->payload) < 0)
			break;
		n = i + 1;
	}
	return n;
}

/* S has a reading of the slot: delivers the submissions that it shows done. */
static int emit_releases(struct nvs_event_stream *w, struct progress *p,
			 const struct nvs_submission *s, int64_t at)
{
	uint32_t payload = (uint32_t)s->rec->progress[0];
	int r = 0;

	if (!p->counts || p->lost || !s->rec->progress_address)
		return 0;
	for (uint32_t n = done_by(p, payload); n && !r; n--) {
		const struct pending_submission one =
			*(struct pending_submission *)nvs_queue_at(&p->queue, p->queue.first++);

		p->entries -= one.entries;
		if (one.releases && one.selected && w->walker->release)
			r = w->walker->release(
				w, &(struct nvs_event_release){
					   s->channel, one.submission, one.flow, one.payload, at,
					   one.payload == payload ? s->rec->progress[1] : 0});
	}
	return r;
}

/* Payloads must be consecutive: the values of another kind of slot mean nothing here. */
static void note_pending(struct nvs_event_stream *w, struct progress *p,
			 const struct nvs_submission *s, uint64_t flow, bool selected)
{
	struct nvs_event_stream_state *own = w->own;
	struct pending_submission one = {s->number,    flow,	      s->nentries,
					 own->payload, own->releases, selected};

	if (own->releases) {
		p->lost |= own->skips || (p->counts && own->first != p->last + 1);
		p->counts = true;
		p->last = own->payload;
	}
	p->queue.size = sizeof(one);
	p->lost |= !nvs_queue_reserve(&p->queue, MOST_PENDING);
	if (p->lost)
		return;
	*(struct pending_submission *)nvs_queue_at(&p->queue, p->queue.end++) = one;
	p->entries += one.entries;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_event_stream *w = arg;
	struct nvs_event_stream_state *own = w->own;
	int r = own->works ? nvs_work_list_op(own->works, s, op) : 0;

	if (!r && own->arguments)
		r = nvs_arguments_op(own->arguments, s, op);
	if (op->kind != NVS_OP_CODE)
		nvs_tally_add(&own->tally, op);
	else if (op->code.tag == s->number)
		nvs_tally_add_code(&own->tally, op);
	else if (!r && w->walker->code)
		r = w->walker->code(w, op);
	if (r || op->kind != NVS_OP_RELEASE || op->sem.op != NVS_SEM_SET ||
	    op->sem.address != s->channel->progress_address || !op->sem.address)
		return r;
	if (!own->releases++)
		own->first = (uint32_t)op->sem.payload;
	else
		own->skips |= (uint32_t)op->sem.payload != own->payload + 1;
	own->payload = (uint32_t)op->sem.payload;
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_arguments *arguments = ((struct nvs_event_stream *)arg)->own->arguments;

	return arguments ? nvs_arguments_submission(arguments, s, call) : 0;
}

static int emit_submission(struct nvs_event_stream *w, const struct progress *p,
			   const struct nvs_submission *s, const struct nvs_call *call, int64_t at,
			   uint64_t flow)
{
	struct nvs_event_submission one = {s, call, .flow = flow, .at = at,
					   .tally = &w->own->tally};

	one.api = nvs_source_api(w->source, s, call);
	one.site = nvs_trace_callsite(w->source->trace, s->rec->stack)->site;
	one.counted = p->counts && !p->lost;
	one.pending = p->entries;
	w->run->out->told++;
	return w->walker->submission(w, &one);
}

/* Keeps the flow for when the GPU work is delivered. */
static int note_work(struct nvs_event_stream_state *own, const struct nvs_submission *s,
		     const struct nvs_call *call, uint64_t flow)
{
	size_t before, n;
	int r;

	nvs_work_list_items(own->works, &before);
	r = nvs_work_list_submitted(own->works, s, call);
	nvs_work_list_items(own->works, &n);
	return r || n == before || !flow
		       ? r
		       : nvs_number_set(&own->flows, (uint32_t)before, (void *)(uintptr_t)flow);
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_event_stream *w = arg;
	struct progress *p = nvs_number_make(&w->own->channels, s->channel->channel, sizeof(*p));
	uint64_t flow = call ? flow_of(w, call) : 0;
	int64_t at = time_of(w, s->rec->rec.time);
	bool selected = nvs_filter_selects(w->source, s, call);
	int r = p ? emit_releases(w, p, s, at) : -ENOMEM;

	if (!r)
		note_pending(w, p, s, flow, selected);
	if (!r && w->own->works)
		r = note_work(w->own, s, call, flow);
	if (!r && selected && w->walker->submission)
		r = emit_submission(w, p, s, call, at, flow);
	memset(&w->own->tally, 0, sizeof(w->own->tally));
	w->own->releases = 0;
	w->own->skips = false;
	return r;
}

/* ---- ranges ---- */

static int emit_range(struct nvs_event_stream *w, const struct nvs_rec *rec)
{
	const struct nvs_nvtx_event *now = nvs_nvtx_current_event(w->source->nvtx);
	struct nvs_event_range range = {now};

	if (!now->what || !nvs_filter_nvtx_event(w->source, now))
		return 0;
	range.name = now->node->name;
	range.rec = now->what == NVS_NVTX_ENDED ? NULL : (const void *)rec;
	range.begin = time_of(w, now->begin);
	if (now->what == NVS_NVTX_ENDED)
		range.end = time_of(w, now->end);
	else
		w->run->out->told++;
	return w->walker->range(w, &range);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_event_stream *w = arg;
	int r = w->own->works ? nvs_work_list_record(w->own->works, rec) : 0;

	if (!r && w->walker->memory)
		r = follow_memory(w, NULL, rec);
	if (!r && w->own->arguments)
		r = nvs_arguments_record(w->own->arguments, rec);
	return r || !w->walker->range ? r : emit_range(w, rec);
}

/* ---- GPU work ---- */

/* *UNPLACED counts work whose GPU clock was never read. */
static int emit_work(struct nvs_event_stream *w, uint32_t index, const struct nvs_work *work,
		     uint64_t *unplaced)
{
	struct progress *p = nvs_number_get(&w->own->channels, work->channel);
	struct nvs_event_gpu_work g = {.work = work, .too_short = work->flags & NVS_WORK_TOO_SHORT};

	if (!p || !nvs_bracket_times_to_session(nvs_work_list_timing(w->own->works), work->channel,
						work->begin, &g.begin, &g.error_ns)) {
		++*unplaced;
		return 0;
	}
	g.name = nvs_work_list_name(w->own->works, work);
	if (work->stream != NVS_NONE)
		g.stream = nvs_work_list_stream(w->own->works, work->stream);
	g.flow = (uintptr_t)nvs_number_get(&w->own->flows, index);
	g.begin += w->own->shift;
	/* Each time has a small error: keep them from overlapping. */
	if (p->gpu_begun && g.begin < p->gpu_end)
		g.begin = p->gpu_end;
	g.end = g.begin + (g.too_short ? 0 : (int64_t)work->ns);
	p->gpu_end = g.end;
	p->gpu_begun = true;
	return w->walker->gpu(w, &g);
}

static int emit_works(struct nvs_event_stream *w)
{
	struct nvs_work_list *works = w->own->works;
	uint64_t unplaced = 0;
	int r = nvs_work_list_finish(works);
	size_t n;
	const struct nvs_work *list = nvs_work_list_items(works, &n);

	for (size_t i = 0; i < n && !r; i++)
		if (list[i].flags & NVS_WORK_TIMED && list[i].flags & NVS_WORK_SELECTED)
			r = emit_work(w, (uint32_t)i, list + i, &unplaced);
	if (unplaced)
		fprintf(stderr,
			"nvsnoop-report: %s: GPU work of %llu submissions is left out: the trace "
			"has no readings of the GPU's clock to align it with the calls\n",
			w->source->path, (unsigned long long)unplaced);
	if (nvs_work_list_dropped(works))
		fprintf(stderr,
			"nvsnoop-report: %s: GPU work of %llu submissions does not fit in memory; "
			"select a part with --range\n",
			w->source->path, (unsigned long long)nvs_work_list_dropped(works));
	return r;
}

static int on_read(void *arg)
{
	struct nvs_event_stream *w = arg;
	int r = w->walker->read ? w->walker->read(w) : 0;

	return r || !w->own->works ? r : emit_works(w);
}

/* ---- a trace ---- */

static void free_progress(void *item)
{
	struct progress *p = item;

	if (p)
		free(p->queue.item);
	free(p);
}

static int read_trace(struct nvs_event_stream *w)
{
	struct nvs_pass_reader reader = {.call = on_call,
					 .record = on_record,
					 .op = on_op,
					 .submission = on_submission,
					 .submitted = on_submitted,
					 .end = on_read,
					 .calls = true,
					 .tallies = w->own->works || w->walker->copies,
					 .handles = &w->handles,
					 .arg = w};
	bool done = w->walker->submission || w->walker->release;
	int r = w->walker->begin ? w->walker->begin(w) : 0;

	if (!done)
		reader.op = NULL;
	if (w->walker->range)
		w->source->later |= NVS_NEED_NVTX;
	if (!r)
		r = nvs_source_read(w->source, &reader);
	if (w->walker->end) {
		int end = w->walker->end(w, !r);

		r = r ? r : end;
	}
	return r;
}

static bool has_clock(const struct nvs_source *s)
{
	int64_t ns;

	return nvs_clock_since_start(s->trace, nvs_trace_session(s->trace)->first_time, &ns);
}

static uint32_t pid_of(const struct nvs_run *run, uint32_t index)
{
	uint32_t pid = nvs_trace_session(run->sources[index].trace)->header.pid;

	for (uint32_t i = 0; i < run->n && pid; i++)
		if (i != index && nvs_trace_session(run->sources[i].trace)->header.pid == pid)
			pid = 0;
	return pid && pid < INT32_MAX ? pid : index + 1;
}

static void name_process(struct nvs_event_stream *w)
{
	const struct nvs_session *s = nvs_trace_session(w->source->trace);
	const char *exe = s->attr[NVS_ATTR_EXE], *host = s->attr[NVS_ATTR_HOST];
	const char *rank = s->attr[NVS_ATTR_RANK];
	char plain[sizeof(w->name)];

	exe = exe ? exe : "process";
	exe = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe;
	snprintf(plain, sizeof(plain), "%.100s %u%s%.16s%s%.64s", exe, s->header.pid,
		 rank ? ", rank " : "", rank ? rank : "", host ? " on " : "", host ? host : "");
	nvs_escape(w->name, sizeof(w->name), plain, strlen(plain));
}

/* All work is kept until the end, so only if there can be GPU times. */
static bool has_times(const struct nvs_event_stream *w)
{
	const char *options = nvs_trace_session(w->source->trace)->attr[NVS_ATTR_OPTIONS];

	return w->walker->gpu && w->timed && options && strstr(options, "timing=work");
}

static int walk_trace(struct nvs_event_stream *w)
{
	struct nvs_event_stream_state own = {.works = NULL};
	int r = 0;

	w->timed = has_clock(w->source);
	if (w->walker->times && !w->timed) {
		fprintf(stderr, "nvsnoop-report: %s: has too few clock readings to compute times\n",
			w->source->path);
		return -ENODATA;
	}
	w->own = &own;
	own.shift = w->clock->shift;
	name_process(w);
	if (w->walker->memory)
		nvs_allocs_begin(&own.allocs, w->source);
	if (w->walker->copies)
		r = nvs_copy_memory_begin(&own.copies, w->source->trace);
	if (!r && w->walker->parameters) {
		own.arguments = nvs_arguments_new(w->source);
		r = own.arguments ? 0 : -ENOMEM;
	}
	if (!r && has_times(w)) {
		own.works = nvs_work_list_new(w->source, &w->handles);
		r = own.works ? 0 : -ENOMEM;
	}
	if (!r)
		r = read_trace(w);
	nvs_work_list_free(own.works);
	nvs_arguments_free(own.arguments);
	nvs_source_read_end(w->source);
	nvs_numbers_free(&own.flows, NULL);
	nvs_numbers_free(&own.channels, free_progress);
	if (w->walker->memory)
		nvs_allocs_free(&own.allocs);
	nvs_hostmem_free(own.copies.kinds);
	return r;
}

/* Returns ns since 1970 at time 0; 0 if unknown. */
static uint64_t base_of(const struct nvs_trace_clock *clocks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (clocks[i].known)
			return clocks[i].began - (uint64_t)clocks[i].shift;
	return 0;
}

int nvs_events_deliver(struct nvs_run *run, const struct nvs_event_sink *walker, void *to)
{
	struct nvs_trace_clock *clocks = calloc(run->n + 1ul, sizeof(*clocks));
	int r = clocks ? nvs_clocks_align(clocks, run->sources, run->n) : -ENOMEM;

	for (uint32_t i = 0; i < run->n && !r; i++) {
		struct nvs_event_stream w = {.run = run,
					     .source = run->sources + i,
					     .to = to,
					     .base = base_of(clocks, run->n),
					     .clock = clocks + i,
					     .process = i + 1,
					     .walker = walker};

		w.pid = pid_of(run, i);
		r = walk_trace(&w);
	}
	free(clocks);
	return r;
}
