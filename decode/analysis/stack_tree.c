/* SPDX-License-Identifier: MIT */
/* Builds the tree of frames from the cells and calls of all traces. See stack_tree.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/base/numbers.h"
#include "decode/calls/args.h"
#include "decode/calls/bracket_times.h"
#include "decode/calls/handles.h"
#include "decode/calls/pass.h"
#include "decode/calls/roles.h"
#include "decode/analysis/submission_stats.h"
#include "decode/analysis/stack_tree.h"
#include "decode/query/api_names.h"
#include "decode/trace/demangled_names.h"
#include "decode/query/selection.h"
#include "decode/base/keyed_rows.h"

#define MAX_FRAMES \
	(NVS_STACKS_DEPTH - 8) /* of a stack; the outermost of a deeper one are left out */

#define NO_ROOM 1u /* number of the frame for stacks beyond the memory budget */

static const char unknown[] = NVS_UNKNOWN_FRAME;

/* ---- callbacks of the pass ---- */

void nvs_stacks_begin(struct nvs_stacks *t, struct nvs_source *s, struct nvs_stacks_each *each,
		      struct nvs_pass_reader *reader)
{
	*each = (struct nvs_stacks_each){{s, &t->calls}, t, NULL};
	t->calls.threads = t->how & NVS_STACKS_THREAD;
	reader->call = nvs_api_calls_add;
	reader->arg = &each->calls;
}

/* GPU time of the submissions of one stack, thread and entry point. */
struct gpu_time {
	struct {
		uint32_t trace, stack, thread, api; /* api: NVS_NONE: unknown */
		uint32_t kernel; /* number of its handle; NVS_NONE: not asked for, or none */
	} key;
	const struct nvs_call_api *api;
	const char *kernel; /* mangled; NULL: none */
	uint64_t ns;
};

/* The GPU time of a launch whose call has not returned: its kernel is not known yet. */
struct waiting_time {
	uint64_t call; /* number + 1; 0: none */
	uint32_t stack;
	const struct nvs_call_api *api;
	uint64_t ns;
};

static int add_gpu_time(struct nvs_stacks_each *each, uint32_t thread,
			const struct waiting_time *time, const struct nvs_kernel *kernel)
{
	struct gpu_time *row, key = {.key = {each->calls.source->index, time->stack, thread,
					     time->api ? time->api->number : NVS_NONE,
					     kernel ? kernel->index : NVS_NONE}};

	if (!each->stacks->gpu.size)
		each->stacks->gpu = NVS_ROWS(struct gpu_time, key);
	row = nvs_rows_at(&each->stacks->gpu, &key.key);
	if (!row)
		return -ENOMEM;
	row->api = time->api;
	row->kernel = kernel && *kernel->name ? kernel->name : NULL;
	row->ns += time->ns;
	return 0;
}

/* The thread's last launch has returned with this kernel, or did not return. */
static int settle_time(struct nvs_stacks_each *each, uint32_t thread, struct waiting_time *time,
		       const struct nvs_kernel *kernel)
{
	int r = time->call ? add_gpu_time(each, thread, time, kernel) : 0;

	time->call = 0;
	return r;
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_stacks_each *each = arg;
	struct nvs_source *source = each->calls.source;
	bool kernels = each->stacks->how & NVS_STACKS_KERNELS;
	struct waiting_time *waiting,
		now = {.stack = s->rec->stack, .api = call ? call->api : NULL};
	struct nvs_submission_time timed;
	int r;

	if (s->rec->rec.flags & NVS_SUB_CONTINUED || !nvs_filter_selects(source, s, call) ||
	    !nvs_bracket_times_get(source->timing, s->channel->channel, s->rec->sequence, &timed) ||
	    timed.kind != NVS_TIMING_WORK || (timed.every > 1 && timed.waited))
		return 0;
	now.ns = timed.ns * timed.every;
	if (!kernels || !call || call->api->group != NVS_CALL_GROUP_LAUNCH)
		return add_gpu_time(each, s->thread->thread, &now, NULL);
	waiting = nvs_number_make(&each->stacks->waiting, s->thread->thread, sizeof(*waiting));
	if (!waiting)
		return -ENOMEM;
	r = settle_time(each, s->thread->thread, waiting, NULL);
	*waiting = now;
	waiting->call = call->number + 1;
	return r;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_stacks_each *each = arg;
	struct waiting_time *waiting = nvs_number_get(&each->stacks->waiting, call->thread);
	const struct nvs_kernel *kernel = NULL;
	uint64_t handle;
	int r = nvs_api_calls_add(arg, call);

	if (r || !waiting || waiting->call != call->number + 1)
		return r;
	if (each->handles && (nvs_call_kind(call, NVS_KIND_FUNCTION, &handle) ||
			      nvs_call_kind(call, NVS_KIND_KERNEL, &handle)))
		kernel = nvs_handles_get_kernel(each->handles, handle);
	return settle_time(each, call->thread, waiting, kernel);
}

void nvs_stacks_begin_timed(struct nvs_stacks_each *each, struct nvs_pass_reader *reader)
{
	reader->submitted = on_submitted;
	reader->calls = true;
	if (!(each->stacks->how & NVS_STACKS_KERNELS))
		return;
	reader->call = on_call;
	reader->handles = &each->handles;
}

static void free_frame(void *row)
{
	struct nvs_stack_frame *f = row;

	if (f->own)
		free((void *)f->name);
}

void nvs_stacks_free(struct nvs_stacks *t)
{
	nvs_api_calls_free(&t->calls);
	nvs_rows_free(&t->gpu, NULL);
	nvs_numbers_free(&t->waiting, free);
	nvs_stacks_drop(t);
}

void nvs_stacks_drop(struct nvs_stacks *t)
{
	nvs_rows_free(&t->frames, free_frame);
}

/* ---- adding a stack to the tree ---- */

/* A stack that is being added. */
struct tree_walk {
	struct nvs_stacks *t;
	struct nvs_source *source;
	uint32_t trace, stack, thread;
	uint32_t at; /* number of the frame reached so far */
	bool full; /* out of memory */
};

/* Moves to the child frame NAME, adding it if missing. COPY: NAME must be copied. */
static void add_frame(struct tree_walk *w, const char *name, uint32_t kind, bool copy)
{
	struct nvs_stacks *t = w->t;
	struct nvs_stack_frame key = {.key = {nvs_hash64(name, strlen(name)), w->at, kind}}, *f,
			       *parent;

	if (w->full)
		return;
	/* Leave memory for printing the tables. */
	f = nvs_budget_allows(sizeof(*f)) ? nvs_rows_at(&t->frames, &key.key) : NULL;
	if (!f) {
		w->full = true;
		return;
	}
	if (!f->name) {
		f->name = copy ? strdup(name) : name;
		f->own = copy && f->name;
		f->name = f->name ? f->name : unknown;
		f->number = (uint32_t)t->frames.n;
		f->trace = w->trace;
		f->stack = w->stack;
		parent = nvs_stack_frame_at(t, w->at);
		f->next = parent ? parent->child : t->top;
		*(parent ? &parent->child : &t->top) = f->number;
	}
	w->at = f->number;
}

static void add_frame_format(struct tree_walk *w, uint32_t kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void add_frame_format(struct tree_walk *w, uint32_t kind, const char *format, ...)
{
	char text[1024], *p = text;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n >= (int)sizeof(text)) {
		va_start(args, format);
		p = vasprintf(&p, format, args) < 0 ? text : nvs_budget_adopt(p);
		va_end(args);
	}
	add_frame(w, p, kind, true);
	if (p != text)
		free(p);
}

/* A frame without a symbol is shown as its file; nested ones of one file are merged. */
static void add_nameless(struct tree_walk *w, const char *file)
{
	const struct nvs_stack_frame *at = nvs_stack_frame_at(w->t, w->at);
	size_t n = strlen(file);

	if (at && at->key.kind == NVS_FRAME && at->name[0] == '[' &&
	    !strncmp(at->name + 1, file, n) && !strcmp(at->name + 1 + n, "]"))
		return;
	add_frame_format(w, NVS_FRAME, "[%s]", file);
}

static void add_stack_frame(struct tree_walk *w, const struct nvs_trace_stack *stack, uint32_t i)
{
	uint32_t back = i ? 1 : 0; /* a return address may be the first byte of the next function */
	unsigned long long offset;
	struct nvs_symbol s;

	nvs_symbol_find(w->source->trace, stack->pc[i] - back, stack->time, &s);
	offset = s.offset + back;
	if (!(w->t->how & NVS_STACKS_PLACES)) {
		if (s.name)
			add_frame(w, s.name, NVS_FRAME, false);
		else
			add_nameless(w, s.file ? s.file : "unknown");
	} else if (s.name) {
		add_frame_format(w, NVS_FRAME, "%s+0x%llx (%s)", s.name, offset,
				 s.file ? s.file : "?");
	} else if (s.file) {
		add_frame_format(w, NVS_FRAME, "%s+0x%llx", s.file, offset);
	} else {
		add_frame_format(w, NVS_FRAME, "0x%llx", offset);
	}
}

static void add_process(struct tree_walk *w)
{
	const struct nvs_session *session = nvs_trace_session(w->source->trace);
	const char *exe = session->attr[NVS_ATTR_EXE], *slash = exe ? strrchr(exe, '/') : NULL;

	add_frame_format(w, NVS_FRAME_PROCESS + w->trace, "%s (%u)",
			 slash ? slash + 1
			 : exe ? exe
			       : "?",
			 session->header.pid);
}

static void add_thread(struct tree_walk *w)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(w->source->trace, w->thread);

	if (!t || !t->tid)
		add_frame(w, unknown, NVS_FRAME, false);
	else
		add_frame_format(w, NVS_FRAME, "%s (%u)", t->name, t->tid);
}

/* From the outermost frame to the program's innermost one, the call site. */
static void add_stack(struct tree_walk *w)
{
	const struct nvs_trace_stack *stack = nvs_trace_stack_at(w->source->trace, w->stack);
	uint32_t site = nvs_trace_callsite(w->source->trace, w->stack)->site_frame, n;

	w->at = 0;
	w->full = false;
	if (w->t->how & NVS_STACKS_PROCESS)
		add_process(w);
	if (w->t->how & NVS_STACKS_THREAD)
		add_thread(w);
	if (!stack || site >= stack->nframes) {
		add_frame(w, unknown, NVS_FRAME, false);
		return;
	}
	n = stack->nframes - site > MAX_FRAMES ? site + MAX_FRAMES : stack->nframes;
	while (n-- > site && !w->full)
		add_stack_frame(w, stack, n);
}

static void add_weight(struct tree_walk *w, const char *api, const char *runtime,
		       const struct nvs_weight *weight)
{
	if (*runtime)
		add_frame(w, runtime, NVS_FRAME_API, false);
	add_frame(w, api, NVS_FRAME_API, false);
	nvs_weight_add(&nvs_stack_frame_at(w->t, w->at ? w->at : NO_ROOM)->weight, weight);
}

/* Cache of the frame of each stack, since many cells share one. */
struct known_frame {
	struct nvs_numbers at; /* frame's number + 1 */
};

static void begin_stack(struct tree_walk *w, struct known_frame *known, uint32_t stack,
			uint32_t thread)
{
	bool keep = !(w->t->how & NVS_STACKS_THREAD) && stack < NVS_MAX_NUMBER;
	uintptr_t at = keep ? (uintptr_t)nvs_number_get(&known->at, stack) : 0;

	w->stack = stack;
	w->thread = thread;
	w->full = false;
	w->at = (uint32_t)at;
	if (at)
		return;
	add_stack(w);
	if (keep && !w->full)
		nvs_number_set(&known->at, stack, (void *)(uintptr_t)w->at);
}

static void add_cells(struct tree_walk *w, struct known_frame *known)
{
	const struct nvs_submission_group *cell;

	for (uint32_t at = 0; (cell = nvs_submission_groups_next(w->source, &at));) {
		const struct nvs_callsite *site = nvs_trace_callsite(w->source->trace, cell->stack);
		struct nvs_weight weight = {.submissions = cell->submissions, .bytes = cell->bytes};

		begin_stack(w, known, cell->stack, cell->thread);
		add_weight(w, nvs_api_name(site, cell->api), site->runtime_api, &weight);
	}
}

static void add_calls(struct tree_walk *w, struct known_frame *known,
		      const struct nvs_source *sources)
{
	const struct nvs_rows *rows = &w->t->calls.rows;

	for (size_t i = 0; i < rows->n; i++) {
		const struct nvs_api_calls *a = rows->row[i];
		uint64_t all = a->times.total.ns, within = a->within.ns;
		struct nvs_weight weight = {.calls = a->calls,
					    .ns = all > within ? all - within : 0,
					    .uncounted = a->uncounted,
					    .timed = a->times.total.count};

		if (a->key.trace != w->trace || !nvs_api_calls_is_selected(a, sources))
			continue;
		begin_stack(w, known, a->key.stack, a->key.thread);
		add_weight(w, nvs_call_name(a->entry),
			   nvs_trace_callsite(w->source->trace, a->key.stack)->runtime_api,
			   &weight);
	}
}

static void add_gpu_times(struct tree_walk *w, struct known_frame *known)
{
	for (size_t i = 0; i < w->t->gpu.n; i++) {
		const struct gpu_time *g = w->t->gpu.row[i];
		const struct nvs_callsite *site = nvs_trace_callsite(w->source->trace,
								     g->key.stack);
		struct nvs_weight weight = {.gpu_ns = g->ns, .gpu_timed = true};

		if (g->key.trace != w->trace)
			continue;
		begin_stack(w, known, g->key.stack, g->key.thread);
		if (g->kernel) {
			if (*site->runtime_api)
				add_frame(w, site->runtime_api, NVS_FRAME_API, false);
			add_frame(w, nvs_api_name(site, g->api), NVS_FRAME_API, false);
			add_weight(w, nvs_demangled_name(w->source->trace, g->kernel), "", &weight);
		} else {
			add_weight(w, nvs_api_name(site, g->api), site->runtime_api, &weight);
		}
	}
}

/* The tree begins with the frame for stacks beyond the memory budget. */
int nvs_stacks_init(struct nvs_stacks *t)
{
	struct nvs_stack_frame key = {.key = {0, 0, NVS_FRAME_API}}, *f;

	t->frames = NVS_ROWS(struct nvs_stack_frame, key);
	f = nvs_rows_at(&t->frames, &key.key);
	if (!f)
		return -ENOMEM;
	f->name = "[no memory left]";
	f->number = t->top = NO_ROOM;
	f->stack = NVS_NONE;
	return 0;
}

uint32_t nvs_stacks_add(struct nvs_stacks *t, struct nvs_source *s, uint32_t stack,
			const struct nvs_call_api *api)
{
	struct tree_walk w = {.t = t, .source = s, .trace = s->index, .stack = stack};
	const char *runtime = nvs_trace_callsite(s->trace, stack)->runtime_api;

	add_stack(&w);
	if (*runtime)
		add_frame(&w, runtime, NVS_FRAME_API, false);
	add_frame(&w, nvs_call_name(api), NVS_FRAME_API, false);
	return w.at ? w.at : NO_ROOM;
}

int nvs_stacks_build(struct nvs_stacks *t, struct nvs_source *sources, uint32_t n)
{
	int r = nvs_stacks_init(t);

	for (uint32_t i = 0; i < n && !r; i++) {
		struct known_frame *known = calloc(1, sizeof(*known));
		struct tree_walk w = {.t = t, .source = sources + i, .trace = i};

		if (!known)
			return -ENOMEM;
		add_cells(&w, known);
		add_calls(&w, known, sources);
		add_gpu_times(&w, known);
		nvs_numbers_free(&known->at, NULL);
		free(known);
	}
	return r;
}

struct nvs_weight nvs_stacks_sum(struct nvs_stacks *t)
{
	struct nvs_weight all = {0};

	/* Children have higher numbers than their parents. */
	for (size_t i = t->frames.n; i; i--) {
		const struct nvs_stack_frame *f = nvs_stack_frame_at(t, (uint32_t)i);
		struct nvs_stack_frame *parent = nvs_stack_frame_at(t, f->key.parent);

		nvs_weight_add(parent ? &parent->weight : &all, &f->weight);
	}
	return all;
}

struct nvs_stack_frame *nvs_stack_frame_next(const struct nvs_stacks *t,
					     const struct nvs_stack_frame *f, uint32_t *depth)
{
	if (!f) {
		*depth = 0;
		return nvs_stack_frame_at(t, t->top);
	}
	if (f->child) {
		++*depth;
		return nvs_stack_frame_at(t, f->child);
	}
	while (f && !f->next) {
		f = nvs_stack_frame_at(t, f->key.parent);
		--*depth;
	}
	return f ? nvs_stack_frame_at(t, f->next) : NULL;
}
