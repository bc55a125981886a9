/* SPDX-License-Identifier: MIT */
/* The timeline of --html, from the walk shared by all exports. Three kinds of packs: "names", one
 * per line, numbered from 1; "times", the numbers of each event as listed in enum page_event_kind;
 * "details", one line per event that has one, in order of the events. */
#include <errno.h>
#include <inttypes.h>
#include "decode/base/hash.h"
#include "decode/export/html/pack.h"
#include "decode/calls/args.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/roles.h"
#include "decode/export/events.h"
#include "decode/query/nvtx_names.h"
#include "decode/trace/demangled_names.h"
#include "decode/cli/table.h"
#include "decode/analysis/call_text.h"
#include "decode/report/core/report.h"
#include "decode/base/keyed_rows.h"

#define FLOW (1ull << 53) /* numbers below it are exact in JavaScript */

/* Kinds of events and their numbers, as track.js reads them. Times are ns; AT is relative to the AT
 * of the previous event. */
enum page_event_kind {
	PROCESS = 1, /* pid, name, when it was last seen (ns) or -1 */
	THREAD, /* thread, name */
	CHANNEL, /* channel, name */
	CALL, /* thread, at, length or -1, name, kernel, flags (enum call_flag), flow, submissions;
	       * a detail */
	SUBMISSION, /* channel, at, name, flow, number, thread, entries, bytes, pending or -1, what
		       it does; a detail: its site */
	RELEASE, /* channel, at, number */
	BEGIN, /* thread, at, name, domain, tag, started; a detail */
	END, /* thread, at, tag */
	MARK, /* thread, at, name, domain; a detail */
	GPU, /* channel, at, length, name, flow, number, give, brief; a detail: its note */
	MEMORY, /* at, bytes */
	GROUP, /* name of an entry point, name of its group; once for each */
	COPY, /* of the call before: its kind as in format_copy_kind(), bytes, done at its return */
	NODES, /* in a version of a graph, numbered from 1: name of the kernel, how many, enum
		* node_kind */
	GRAPH, /* of the call before: the version that it launched; 0: not on the page */
};

/* In which column --by-kernel counts a node's launches. */
enum node_kind {
	OF_CAPTURE,
	OF_NODES,
	OF_UNKNOWN,
	CONDITIONAL,
};

enum call_flag {
	FAILED = 1,
	CAPTURED = 2, /* into a graph */
	LAUNCHES = 4, /* a kernel */
};

struct page_name {
	UT_hash_handle hh;
	uint32_t number;
	char text[];
};

struct seen_key {
	uint64_t key;
	bool told;
};

/* The state of an executable graph when it was launched last. */
struct launched_graph {
	uint32_t index; /* its key */
	uint32_t nodes, version;
	uint64_t updates, changes;
};

struct page_timeline {
	struct nvs_html_pack names, events, details;
	struct nvs_html_left_out *left;
	struct page_name *known;
	uint32_t nnames, other; /* OTHER: number of the name for all that did not fit */
	struct nvs_rows seen; /* threads and channels of the current trace that were written */
	struct nvs_rows graphs; /* of the current trace */
	uint32_t nversions;
	uint64_t nnodes; /* of all versions */
	uint64_t tags, nevents;
	bool timed; /* the trace has a clock; else it has no events */
	int64_t at; /* AT of the previous event */
};

static struct page_timeline *state_of(const struct nvs_event_stream *w)
{
	return w->to;
}

/* ---- names ---- */

static void put_line(struct nvs_html_pack *p, const char *text)
{
	char safe[4096];

	nvs_escape(safe, sizeof(safe), text, strlen(text));
	nvs_html_pack_put(p, safe, strlen(safe));
	nvs_html_pack_put(p, "\n", 1);
	p->items++;
}

static uint32_t add_name(struct page_timeline *t, const char *text)
{
	if (t->names.n > NVS_PACK_BYTES)
		nvs_html_pack_flush(&t->names);
	put_line(&t->names, text);
	return ++t->nnames;
}

static uint32_t name_number(struct page_timeline *t, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	struct page_name *known = NULL;

	if (!n)
		return 0;
	HASH_FIND(hh, t->known, text, (unsigned)n, known);
	if (known)
		return known->number;
	known = nvs_budget_allows(n) ? malloc(sizeof(*known) + n + 1) : NULL;
	if (!known) {
		t->other = t->other ? t->other : add_name(t, "[other names]");
		return t->other;
	}
	memcpy(known->text, text, n + 1);
	known->number = add_name(t, text);
	HASH_ADD(hh, t->known, text[0], (unsigned)n, known);
	return known->number;
}

/* ---- events ---- */

static void put_number(struct page_timeline *t, int64_t n)
{
	nvs_html_pack_number(&t->events, n);
}

static void put_numbers(struct page_timeline *t, const uint64_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_number(t, (int64_t)list[i]);
}

#define NUMBERS(t, ...)                                 \
	put_numbers(t, (const uint64_t[]){__VA_ARGS__}, \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Returns false, and counts the event as left out, if the page is full. */
static bool begin_event(struct page_timeline *t, enum page_event_kind kind, uint64_t track,
			int64_t at)
{
	if (!t->timed)
		return false;
	if (t->nevents >= NVS_HTML_EVENTS ||
	    nvs_html_press_exceeds(t->events.press, NVS_HTML_TIMES)) {
		if (!t->left->events++)
			t->left->from_ns = (uint64_t)(at > 0 ? at : 0);
		return false;
	}
	t->nevents++;
	if (t->events.n > NVS_PACK_BYTES) {
		nvs_html_pack_flush(&t->events);
		t->at = 0;
	}
	t->events.items++;
	put_number(t, kind);
	if (kind != MEMORY)
		put_number(t, (int64_t)track);
	put_number(t, at - t->at);
	t->at = at;
	return true;
}

static void put_detail(struct page_timeline *t, const char *text)
{
	if (t->details.n > NVS_PACK_BYTES)
		nvs_html_pack_flush(&t->details);
	put_line(&t->details, text ? text : "");
}

static int status_of(const struct page_timeline *t)
{
	return t->names.status	  ? t->names.status
	       : t->events.status ? t->events.status
				  : t->details.status;
}

static bool is_new(struct page_timeline *t, uint64_t key)
{
	struct seen_key *s = nvs_rows_at(&t->seen, &key);

	if (!s || s->told)
		return false;
	return s->told = true;
}

static void put_thread(const struct nvs_event_stream *w, uint32_t thread)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, thread);
	char room[32], text[128];
	const char *known;

	if (!is_new(state_of(w), thread))
		return;
	/* Threads of a program often have the same name: append the tid. */
	known = nvs_event_thread_name(w, thread, room, sizeof(room));
	if (t && *t->name && nvs_event_tid(w, thread) == t->tid)
		snprintf(text, sizeof(text), "%.100s %u", known, t->tid);
	else
		snprintf(text, sizeof(text), "%s", known);
	NUMBERS(state_of(w), THREAD, thread, name_number(state_of(w), text));
}

/* The group decides the colour of an entry point's calls. */
static void put_group(struct page_timeline *t, uint32_t name, const struct nvs_call *call)
{
	if (is_new(t, 2ull << 32 | name))
		NUMBERS(t, GROUP, name, name_number(t, nvs_call_group_name(nvs_call_group(call))));
}

static void put_channel(const struct nvs_event_stream *w, uint32_t channel)
{
	char room[128];

	if (is_new(state_of(w), 1ull << 32 | channel))
		NUMBERS(state_of(w), CHANNEL, channel,
			name_number(state_of(w),
				    nvs_event_channel_name(w, channel, room, sizeof(room))));
}

/* ---- callbacks of the walk ---- */

static int on_begin(struct nvs_event_stream *w)
{
	struct page_timeline *t = state_of(w);
	const struct nvs_trace *trace = w->source->trace;
	int64_t end;

	nvs_rows_free(&t->seen, NULL);
	t->seen = NVS_ROWS(struct seen_key, key);
	nvs_rows_free(&t->graphs, NULL);
	t->graphs = NVS_ROWS(struct launched_graph, index);
	t->timed = w->timed;
	NUMBERS(t, PROCESS, w->pid, name_number(t, w->name));
	if (!t->timed || !nvs_clock_since_start(trace, nvs_trace_session(trace)->last_time, &end))
		put_number(t, -1);
	else
		put_number(t, end + w->clock->shift);
	return status_of(t);
}

/* What a row of --memcpy is made of, separated by bars. */
static void format_copy_kind(char text[128], const struct nvs_copy_kind *k)
{
	bool sized = k->class != NVS_COPY_NO_CLASS;
	int gpu[2] = {k->from_gpu == NVS_NONE ? -1 : (int)k->from_gpu,
		      k->to_gpu == NVS_NONE ? -1 : (int)k->to_gpu};

	snprintf(text, 128, "%s|%s|%s|%" PRIu64 "|%d|%d", nvs_copy_direction_name(k->direction),
		 nvs_copy_memory_name(k), nvs_copy_way_name(k->mode),
		 sized ? UINT64_C(1) << k->class : 0, gpu[0], gpu[1]);
}

static void put_copy(struct page_timeline *t, const struct nvs_call *call,
		     const struct nvs_event_copy *copy)
{
	char text[128];

	format_copy_kind(text, &copy->kind);
	NUMBERS(t, COPY, name_number(t, text), copy->ends.bytes,
		nvs_copy_returns_done(call, &copy->ends, copy->kind.mode));
}

static enum node_kind kind_of_node(const struct nvs_exec *exec, const struct nvs_graph_node *node)
{
	if (node->flags & NVS_NODE_CONDITIONAL)
		return CONDITIONAL;
	return exec->origin == NVS_GRAPH_FROM_CAPTURE ? OF_CAPTURE
	       : exec->origin == NVS_GRAPH_FROM_NODES ? OF_NODES
						      : OF_UNKNOWN;
}

/* Kernels of the graph as it is now; equal ones that follow each other are counted. */
static void put_nodes(struct nvs_event_stream *w, const struct nvs_exec *exec)
{
	struct page_timeline *t = state_of(w);
	uint32_t name = 0, n = 0;
	enum node_kind kind = OF_UNKNOWN;

	for (uint32_t i = 0; i < exec->nnodes; i++) {
		const struct nvs_graph_node *node = exec->nodes + i;
		const struct nvs_kernel *k;
		uint32_t own;

		if (node->type || node->flags & NVS_NODE_DISABLED)
			continue;
		k = nvs_handles_get_kernel(w->handles, node->function);
		own = k && *k->name ? name_number(t, nvs_demangled_name(w->source->trace, k->name))
				    : 0;
		if (n && (own != name || kind_of_node(exec, node) != kind)) {
			NUMBERS(t, NODES, t->nversions, name, n, kind);
			n = 0;
		}
		name = own;
		kind = kind_of_node(exec, node);
		n++;
	}
	if (n)
		NUMBERS(t, NODES, t->nversions, name, n, kind);
}

/* Writes the nodes only if they have changed since the last launch. Returns the version, or 0. */
static uint32_t graph_version(struct nvs_event_stream *w, const struct nvs_exec *exec)
{
	struct page_timeline *t = state_of(w);
	struct launched_graph *g = nvs_rows_at(&t->graphs, &exec->index);

	if (!g || (g->version && g->nodes == exec->nnodes && g->updates == exec->updates &&
		   g->changes == exec->changes))
		return g ? g->version : 0;
	t->nnodes += exec->nnodes;
	if (t->nnodes > NVS_HTML_NODES)
		return g->version = 0;
	*g = (struct launched_graph){exec->index, exec->nnodes, ++t->nversions, exec->updates,
				     exec->changes};
	put_nodes(w, exec);
	return g->version;
}

static void put_graph(struct nvs_event_stream *w, const struct nvs_call *call)
{
	const struct nvs_exec *exec;
	uint64_t handle;

	if (call->api->group != NVS_CALL_GROUP_GRAPH_LAUNCH || call->result || !call->end ||
	    call->flags & NVS_CALL_CAPTURED || !nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return;
	exec = nvs_handles_get_exec(w->handles, handle);
	NUMBERS(state_of(w), GRAPH, exec ? graph_version(w, exec) : 0);
}

static int on_call(struct nvs_event_stream *w, const struct nvs_event_call *c)
{
	struct page_timeline *t = state_of(w);
	uint32_t name = name_number(t, c->name);
	char text[NVS_CALL_TEXT_BYTES];

	put_thread(w, c->call->thread);
	put_group(t, name, c->call);
	if (!begin_event(t, CALL, c->call->thread, c->begin))
		return 0;
	put_number(t, c->ended ? c->end - c->begin : -1);
	NUMBERS(t, name, name_number(t, c->kernel),
		(c->ended && c->call->result ? FAILED : 0) |
			(c->call->flags & NVS_CALL_CAPTURED ? CAPTURED : 0) |
			(c->launched ? LAUNCHES : 0),
		c->flow % FLOW, c->call->uncounted ? 0 : c->call->asked_submissions);
	if (c->copy)
		put_copy(t, c->call, c->copy);
	put_graph(w, c->call);
	nvs_call_text(text, w->source, w->handles, c->call);
	put_detail(t, text);
	return status_of(t);
}

static int on_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one)
{
	const struct nvs_submission *s = one->s;
	struct page_timeline *t = state_of(w);
	char work[256];

	put_channel(w, s->channel->channel);
	if (!begin_event(t, SUBMISSION, s->channel->channel, one->at))
		return 0;
	nvs_tally_text(work, sizeof(work), one->tally);
	NUMBERS(t, name_number(t, one->api), one->flow % FLOW, s->number, s->thread->thread,
		s->nentries, nvs_submission_bytes(s));
	put_number(t, one->counted ? (int64_t)one->pending : -1);
	put_number(t, name_number(t, work));
	put_detail(t, one->site);
	return status_of(t);
}

static int on_release(struct nvs_event_stream *w, const struct nvs_event_release *r)
{
	if (begin_event(state_of(w), RELEASE, r->channel->channel, r->at))
		NUMBERS(state_of(w), r->submission);
	return status_of(state_of(w));
}

static int on_range(struct nvs_event_stream *w, const struct nvs_event_range *r)
{
	const struct nvs_nvtx_event *e = r->event;
	struct nvs_nvtx_names *names = nvs_nvtx_names(w->source->nvtx);
	bool marked = e->what == NVS_NVTX_MARKED;
	char text[NVS_CALL_TEXT_BYTES];
	struct page_timeline *t = state_of(w);

	if (e->what == NVS_NVTX_ENDED) {
		if (e->tag && *e->tag && begin_event(t, END, e->told, r->end))
			NUMBERS(t, *e->tag);
		return status_of(t);
	}
	put_thread(w, e->thread);
	if (!begin_event(t, marked ? MARK : BEGIN, e->thread, r->begin))
		return status_of(t);
	NUMBERS(t, name_number(t, *r->name ? r->name : "-"),
		name_number(t, e->node->key.domain ? nvs_nvtx_domain(names, e->node->key.domain)
						   : ""));
	if (!marked && e->tag)
		*e->tag = ++t->tags;
	if (!marked)
		NUMBERS(t, e->tag ? *e->tag : 0, e->node->key.kind == NVS_NVTX_START);
	put_detail(t, nvs_walk_range_detail(w, r, text, sizeof(text)));
	return status_of(t);
}

static int on_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g)
{
	struct page_timeline *t = state_of(w);

	put_channel(w, g->work->channel);
	if (!begin_event(t, GPU, g->work->channel, g->begin))
		return 0;
	put_number(t, g->end - g->begin);
	NUMBERS(t, name_number(t, *g->name ? g->name : "-"), g->flow % FLOW, g->work->number,
		g->error_ns, g->too_short);
	put_detail(t, nvs_event_gpu_note(g));
	return status_of(t);
}

static int on_memory(struct nvs_event_stream *w, int64_t at, uint64_t bytes)
{
	if (begin_event(state_of(w), MEMORY, 0, at))
		put_number(state_of(w), (int64_t)bytes);
	return status_of(state_of(w));
}

static const struct nvs_event_sink walker = {
	.copies = true,
	.begin = on_begin,
	.call = on_call,
	.submission = on_submission,
	.release = on_release,
	.range = on_range,
	.gpu = on_gpu,
	.memory = on_memory,
};

static void free_names(struct page_timeline *t)
{
	struct page_name *n, *next;

	HASH_ITER(hh, t->known, n, next) {
		HASH_DEL(t->known, n);
		free(n);
	}
}

int nvs_html_print_timeline(struct nvs_run *run, struct nvs_html_left_out *left)
{
	struct nvs_html_press *press = nvs_html_press_new(run->out->file);
	struct page_timeline t = {.names = {.press = press, .kind = "names"},
				  .events = {.press = press, .kind = "times"},
				  .details = {.press = press, .kind = "details"},
				  .left = left,
				  .seen = NVS_ROWS(struct seen_key, key)};
	int r = press ? nvs_events_deliver(run, &walker, &t) : -ENOMEM, end;

	end = nvs_html_pack_end(&t.names);
	r = r < 0 ? r : end;
	end = nvs_html_pack_end(&t.events);
	r = r < 0 ? r : end;
	end = nvs_html_pack_end(&t.details);
	nvs_html_press_free(press);
	nvs_rows_free(&t.seen, NULL);
	nvs_rows_free(&t.graphs, NULL);
	free_names(&t);
	return r < 0 ? r : end;
}
