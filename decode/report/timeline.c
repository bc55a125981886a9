/* SPDX-License-Identifier: MIT */
/* --timeline: calls with their arguments, submissions and ranges in order of time, nested by
 * indentation; with timing= also the GPU's work. Several traces are merged by one clock. Events are
 * kept small, and dropped early if -n allows it: see keep_first(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/base/search.h"
#include "decode/analysis/clock_alignment.h"
#include "decode/analysis/count_attribution.h"
#include "decode/analysis/gpu_work.h"
#include "decode/analysis/launch_arguments.h"
#include "decode/calls/bracket_times.h"
#include "decode/calls/args.h"
#include "decode/calls/handles.h"
#include "decode/calls/tally.h"
#include "decode/query/nvtx_names.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/report/core/trace_columns.h"
#include "decode/analysis/call_text.h"
#include "decode/report/core/clock_note.h"
#include "decode/report/core/report.h"
#include "decode/trace/demangled_names.h"

enum { CALL, SUBMISSION, RANGE, MARK, GPU };
static const char *const whats[] = {"call", "submission", "range", "mark", "gpu"};

/* Instructions of a call's launches; valid if in FLAGS (NVS_COUNT_*) and not in WRAPPED. */
struct insts {
	uint64_t warp, thread;
	uint32_t flags, wrapped;
	bool mixed; /* includes launches of other calls */
};

/* Kept small: there are as many as fit into memory. */
struct timeline_event {
	/* ns since the start; length -1: unknown. In ticks while the trace is read */
	int64_t at, length;
	uint64_t id; /* from 1, in order of creation */
	char *name; /* of a call, range or mark; "" of a submission; after its NUL the further text
		     */
	uint64_t bytes;
	struct insts *insts; /* NULL: unknown */
	const struct nvs_source *source;
	uint32_t thread, entries, channel,
		gpu; /* entries, channel, gpu: of submissions and GPU work */
	uint64_t submission; /* of submissions and GPU work */
	union {
		uint64_t error_ns; /* of GPU work: error of its time, ns */
		uint64_t call; /* of calls and submissions: number of the call, or NO_CALL */
	};
	const char *kernel; /* of calls: the one that it launches; NULL: none, or without a name */
	char *parameters; /* of launches; NULL: unknown */
	uint16_t depth, ranges; /* call depth, and number of enclosing ranges */
	uint8_t what;
	uint32_t lookups; /* calls that look up an entry point, one after the other; 0: another */
	bool open; /* a range that has not ended */
	bool uncounted; /* ENTRIES and BYTES are unknown */
};

struct timeline_state {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_work_list *works;
	struct nvs_arguments *arguments; /* of launches, while the trace is read */
	struct nvs_kernel_counts counts;
	struct nvs_count_shares *shares;
	struct events {
		struct timeline_event *list; /* sorted by ID */
		size_t n, room;
		uint64_t ids;
		uint64_t bytes; /* memory of all events, including dropped ones */
		uint64_t dropped; /* for lack of memory */
		/* most: rows of -n, 0: all; looked: events of this trace after the last removal;
		 * behind: events removed because they are beyond MOST */
		size_t most, looked; /* LOOKED: so many were left when that was seen to last */
		uint64_t behind;
		struct nvs_table table; /* for columns and sort order */
		uint64_t error_ns; /* largest of all events */
		bool folds; /* runs of lookups are one event */
	} * events; /* shared by all traces */
	size_t first; /* index of this trace's first event */
	struct nvs_tally tally; /* of the current submission */
	struct nvs_numbers shown; /* by thread: ticks of the latest selected submission */
	uint64_t shown_unnumbered; /* the same, of thread NVS_NONE */
};

#define NO_CALL UINT64_MAX

static struct timeline_event *find_event(const struct events *all, uint64_t id)
{
	size_t at = NVS_COUNT_BELOW(all->list, all->n, id, id);

	return id && at < all->n && all->list[at].id == id ? all->list + at : NULL;
}

static bool add_room(struct events *all, size_t text)
{
	size_t room = all->n < all->room ? all->room : all->room + all->room / 2 + 1024;
	struct timeline_event *list;

	if (!nvs_budget_allows(text + (room - all->room) * sizeof(*list)))
		return false;
	if (room == all->room)
		return true;
	list = realloc(all->list, room * sizeof(*list));
	all->list = list ? list : all->list;
	all->room = list ? room : all->room;
	return list;
}

static void keep_first(struct timeline_state *st);

/* Returns NULL, and counts the event as dropped, if memory is short. */
static struct timeline_event *new_event(struct timeline_state *st, uint64_t ticks, const char *api,
					const char *text)
{
	struct events *all = st->events;
	size_t n = strlen(api) + 1, more = strlen(text) + 1;
	char *name;
	struct timeline_event *e;

	keep_first(st);
	all->bytes += sizeof(*e) + n + more;
	name = add_room(all, n + more) ? malloc(n + more) : NULL;
	if (!name) {
		all->dropped++;
		return NULL;
	}
	memcpy(name, api, n);
	memcpy(name + n, text, more);
	e = all->list + all->n++;
	*e = (struct timeline_event){.name = name,
				     .id = ++all->ids,
				     .source = st->source,
				     .at = (int64_t)ticks,
				     .length = -1};
	return e;
}

/* With filters on submissions, a call is shown if a selected one happened in it. */
static bool has_shown_inside(const struct timeline_state *st, const struct nvs_call *call)
{
	uint64_t shown;

	if (!nvs_range_has_time(st->source, call->begin))
		return false;
	if (!nvs_filter_by_submissions(st->source->query))
		return true;
	shown = call->thread == NVS_NONE ? st->shown_unnumbered
					 : (uintptr_t)nvs_number_get(&st->shown, call->thread);
	return shown && shown >= call->begin;
}

static const char *kernel_of(const struct timeline_state *st, const struct nvs_call *call)
{
	const struct nvs_kernel *k;
	uint64_t function;

	if (nvs_call_group(call) != NVS_CALL_GROUP_LAUNCH ||
	    (!nvs_call_kind(call, NVS_KIND_FUNCTION, &function) &&
	     !nvs_call_kind(call, NVS_KIND_KERNEL, &function)))
		return NULL;
	k = nvs_handles_get_kernel(st->handles, function);
	return k && *k->name ? nvs_demangled_name(st->source->trace, k->name) : NULL;
}

/* Returns NULL if they are unknown; "none" of a kernel without parameters. */
static char *describe_parameters(const struct timeline_state *st, const struct nvs_call *call)
{
	char text[NVS_ARGUMENTS_TEXT];
	struct nvs_launch_arguments of;
	const struct nvs_kernel *k;
	uint64_t function;

	if (nvs_call_group(call) != NVS_CALL_GROUP_LAUNCH ||
	    !nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return NULL;
	k = nvs_handles_get_kernel(st->handles, function);
	if (!nvs_arguments_of_call(st->arguments, call, k ? k->name : NULL, &of))
		return NULL;
	nvs_arguments_text(&of, text, sizeof(text));
	if (!of.of.size)
		strcpy(text, "none");
	return nvs_budget_allows(strlen(text) + 1) ? strdup(text) : NULL;
}

/* A program looks up hundreds of entry points in a row: in text, these calls are one line. LENGTH
 * is then the sum. Returns true if CALL was added to the previous one. */
static bool fold_lookup(struct timeline_state *st, const struct nvs_call *call)
{
	struct events *all = st->events;
	struct timeline_event *e = all->n > st->first ? all->list + all->n - 1 : NULL;

	if (!all->folds || call->api->group != NVS_CALL_GROUP_RESOLVE || !call->end || !e ||
	    !e->lookups || e->thread != call->thread || e->depth != call->depth ||
	    strcmp(e->name, nvs_call_name(call->api)))
		return false;
	e->lookups++;
	e->length += call->end > call->begin ? (int64_t)(call->end - call->begin) : 0;
	return true;
}

static bool add_call(struct timeline_state *st, const struct nvs_call *call)
{
	char text[NVS_CALL_TEXT_BYTES];
	struct timeline_event *e;

	if (!nvs_filter_call_name(st->source, call) || !has_shown_inside(st, call))
		return false;
	if (fold_lookup(st, call))
		return true;
	nvs_call_text(text, st->source, st->handles, call);
	e = new_event(st, call->begin, nvs_call_name(call->api), text);
	if (!e)
		return false;
	e->what = CALL;
	e->call = call->number;
	e->kernel = kernel_of(st, call);
	e->parameters = describe_parameters(st, call);
	e->lookups = call->end && call->api->group == NVS_CALL_GROUP_RESOLVE;
	e->thread = call->thread;
	e->ranges = (uint16_t)nvs_nvtx_open_count(st->source->nvtx, call->thread, call->begin);
	e->depth = (uint16_t)call->depth;
	e->uncounted = call->uncounted;
	e->entries = (uint32_t)call->entries;
	e->bytes = call->bytes;
	if (call->end)
		e->length = call->end > call->begin ? (int64_t)(call->end - call->begin) : 0;
	return true;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct timeline_state *st = arg;

	return nvs_count_shares_call(st->shares, call, add_call(st, call) ? st->events->ids : 0);
}

/* ---- ranges and marks ---- */

static void end_range(struct timeline_state *st, const struct nvs_nvtx_event *now)
{
	struct timeline_event *e = find_event(st->events, *now->tag);

	if (!e)
		return;
	e->open = false;
	e->length = now->end > (uint64_t)e->at ? (int64_t)(now->end - (uint64_t)e->at) : 0;
	e->thread = now->thread;
}

/* Adds a range at its begin, or a mark. */
static void add_range(struct timeline_state *st, const struct nvs_nvtx_event *now,
		      const struct nvs_rec_nvtx *rec)
{
	char text[NVS_CALL_TEXT_BYTES];
	struct timeline_event *e;

	nvs_nvtx_describe(nvs_nvtx_names(st->source->nvtx), rec, text, sizeof(text));
	e = new_event(st, now->begin, now->node->name, text);
	if (!e)
		return;
	e->what = now->what == NVS_NVTX_MARKED ? MARK : RANGE;
	e->thread = now->thread;
	e->ranges = (uint16_t)now->open;
	e->depth = 1;
	e->uncounted = true;
	e->open = now->tag;
	if (now->tag)
		*now->tag = e->id;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct timeline_state *st = arg;
	const struct nvs_nvtx_event *now = nvs_nvtx_current_event(st->source->nvtx);

	if (now->what == NVS_NVTX_ENDED)
		end_range(st, now);
	else if (now->what && nvs_filter_nvtx_event(st->source, now))
		add_range(st, now, (const void *)rec);
	return 0;
}

/* A count shared by several calls is not shown for any of them. */
static int add_share(void *arg, const struct nvs_count_share *share)
{
	const struct timeline_state *st = arg;

	for (uint32_t i = 0; i < share->ncalls; i++) {
		struct timeline_event *e = find_event(st->events, share->calls[i]);

		if (e && !e->insts)
			e->insts = calloc(1, sizeof(*e->insts));
		if (e && !e->insts)
			return -ENOMEM;
		if (!e)
			continue;
		e->insts->mixed |= share->ncalls > 1 || !share->whole;
		e->insts->flags |= share->counted->flags;
		e->insts->wrapped |= share->counted->wrapped;
		e->insts->warp += share->warp;
		e->insts->thread += share->thread;
	}
	return 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	if (op->kind != NVS_OP_CODE)
		nvs_tally_add(&((struct timeline_state *)arg)->tally, op);
	return 0;
}

static int note_shown(struct timeline_state *st, uint32_t thread, uint64_t ticks)
{
	if (thread != NVS_NONE)
		return nvs_number_set(&st->shown, thread, (void *)(uintptr_t)ticks);
	st->shown_unnumbered = ticks;
	return 0;
}

static int add_submission(struct timeline_state *st, const struct nvs_submission *s,
			  const struct nvs_call *call)
{
	char work[256], text[64 + sizeof(work)];
	struct timeline_event *e;

	nvs_tally_text(work, sizeof(work), &st->tally);
	snprintf(text, sizeof(text), "channel %u%s%s", s->channel->channel, *work ? ": " : "",
		 work);
	e = new_event(st, s->rec->rec.time, "", text);
	if (!e)
		return 0;
	e->what = SUBMISSION;
	e->call = call ? call->number : NO_CALL;
	e->length = 0;
	e->submission = s->number;
	e->channel = s->channel->channel;
	e->gpu = s->channel->known ? s->channel->rec.gpu : NVS_NONE;
	e->thread = s->thread->thread;
	e->ranges = (uint16_t)nvs_nvtx_open_count(st->source->nvtx, e->thread, s->rec->rec.time);
	e->depth = (uint16_t)((s->rec->rec.flags >> NVS_SUB_CALL_SHIFT) + 1);
	e->entries = s->nentries;
	e->bytes = nvs_submission_bytes(s);
	return note_shown(st, e->thread, s->rec->rec.time);
}

static bool is_of_api(const struct nvs_source *source, const struct nvs_submission *s,
		      const struct nvs_call *call)
{
	return call ? nvs_filter_call_name(source, call)
		    : nvs_filter_api(source, "", s->rec->stack);
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	const struct nvs_query *q = ((struct timeline_state *)arg)->source->query;
	struct timeline_state *st = arg;
	int r = 0;

	if (nvs_filter_submission(st->source, s) && (!q->api.n || is_of_api(st->source, s, call)))
		r = add_submission(st, s, call);
	memset(&st->tally, 0, sizeof(st->tally));
	return r;
}

/* ---- lines ---- */

static const char *text_of(const struct timeline_event *e)
{
	return e->name + strlen(e->name) + 1;
}

/* Nesting level in calls and ranges; 0: outermost. */
static int nesting_of(const struct timeline_event *e)
{
	return e->ranges + (e->depth > 1 ? e->depth - 1 : 0);
}

/* The text column: indented by nesting level. Valid until the next call. */
static const char *line_of(const struct timeline_event *e)
{
	static char line[256 + 3 * NVS_CALL_TEXT_BYTES / 2 + NVS_ARGUMENTS_TEXT];
	int place = nesting_of(e), indent = 2 * (place < 64 ? place : 64);

	if (e->lookups > 1)
		snprintf(line, sizeof(line), "%*s%s: %u calls in a row", indent, "", e->name,
			 e->lookups);
	else if (e->what == CALL)
		snprintf(line, sizeof(line), "%*s%s%s%s%s", indent, "", e->name, text_of(e),
			 e->parameters ? ", parameters: " : "", e->parameters ?: "");
	else if (e->what == SUBMISSION)
		snprintf(line, sizeof(line), "%*ssubmission %lld, %s", indent, "",
			 (long long)e->submission, text_of(e));
	else if (e->what == GPU && e->gpu != NVS_NONE)
		snprintf(line, sizeof(line), "GPU %u: %s", e->gpu, text_of(e));
	else
		snprintf(line, sizeof(line), "%*s%s %s%s", indent, "", whats[e->what],
			 *e->name ? e->name : "-", text_of(e));
	return line;
}

static uint32_t tid_of(const struct timeline_event *e)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(e->source->trace, e->thread);

	return t ? t->tid : 0;
}

#define OF_SUBMISSION(r) ((r)->what == SUBMISSION || (r)->what == GPU)
#define INSTS(r, what) \
	((r)->insts && !(r)->insts->mixed && (r)->insts->flags & ~(r)->insts->wrapped & (what))

#define COLUMNS(COL)                                                                               \
	COL(ns, time_ns, "seconds", 0, 0, true, r->at)                                             \
	COL(known, thread, "thr", IF_ANY, 0, r->thread != NVS_NONE, r->thread)                     \
	COL(nonzero, tid, "tid", DETAIL, 0, tid_of(r))                                             \
	COL(text, kind, "kind", DETAIL, 0, whats[r->what])                                         \
	COL(count, depth, "depth", DETAIL, 0, r->what < RANGE ? r->depth : r->ranges + 1u)         \
	COL(us, host_us, "host us", 0, 0, !OF_SUBMISSION(r) && r->length >= 0, r->length)          \
	COL(known, entries, "entries", DETAIL, 0, !r->uncounted, r->entries)                       \
	COL(known, command_bytes, "cmd bytes", IF_ANY, 0, !r->uncounted, r->bytes)                 \
	COL(guarded, warp_instructions, "warp insts", IF_KNOWN, 0, INSTS(r, NVS_COUNT_WARP),       \
	    r->insts->warp)                                                                        \
	COL(guarded, thread_instructions, "thread insts", IF_KNOWN, 0, INSTS(r, NVS_COUNT_THREAD), \
	    r->insts->thread)                                                                      \
	COL(text, line, "call", NAME_TEXT, 0, line_of(r))                                          \
	COL(text, api, "api", DETAIL, 0, r->what == CALL ? r->name : "")                           \
	COL(known, call, "call number", DETAIL, 0, r->what <= SUBMISSION && r->call != NO_CALL,    \
	    r->call)                                                                               \
	COL(text, kernel, "kernel", DETAIL, 0, r->what == CALL ? r->kernel : NULL)                 \
	COL(text, range, "range", DETAIL, 0, r->what == RANGE || r->what == MARK ? r->name : "")   \
	COL(known, submission, "submission", DETAIL, 0, OF_SUBMISSION(r), r->submission)           \
	COL(text, detail, "detail", DETAIL, 0, text_of(r))                                         \
	COL(us, gpu_us, "gpu us", IF_KNOWN, 0, r->what == GPU && r->length >= 0, r->length)        \
	COL(known, channel, "channel", DETAIL, 0, OF_SUBMISSION(r), r->channel)                    \
	COL(known, gpu, "gpu", DETAIL, 0, OF_SUBMISSION(r) && r->gpu != NVS_NONE, r->gpu)          \
	COL(text, gpu_work, "gpu work", DETAIL, 0, r->what == GPU ? r->name : "")                  \
	COL(us, clock_error_us, "clock error", DETAIL, 0, r->what == GPU, r->error_ns)             \
	COL(text, parameters, "parameters", DETAIL, 0, r->parameters)                              \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct timeline_event, COLUMNS)

/* Returns true if COLUMN is final once an event has ended. */
static bool is_known_soon(const struct nvs_column *column)
{
	return !column || (column->get != column_warp_instructions &&
			   column->get != column_thread_instructions && column->get != column_tid);
}

static int compare_sources(const struct timeline_event *a, const struct timeline_event *b)
{
	return a->source < b->source ? -1 : a->source > b->source;
}

/* By begin; at the same time by trace, then outermost first, then in order of creation. */
static int compare_events(const void *pa, const void *pb)
{
	const struct timeline_event *a = *(const struct timeline_event *const *)pa,
				    *b = *(const struct timeline_event *const *)pb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->source != b->source)
		return compare_sources(a, b);
	if (nesting_of(a) != nesting_of(b))
		return nesting_of(a) < nesting_of(b) ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* One trace after the other. */
static int compare_apart(const void *pa, const void *pb)
{
	int r = compare_sources(*(const struct timeline_event *const *)pa,
				*(const struct timeline_event *const *)pb);

	return r ? r : compare_events(pa, pb);
}

/* Print order: by -s, and by time for equal values. */
struct first {
	struct nvs_order order;
	bool sorted;
};

static int compare_first(const void *pa, const void *pb, void *arg)
{
	const struct first *f = arg;
	int r = f->sorted ? nvs_table_compare(&f->order, *(const void *const *)pa,
					      *(const void *const *)pb)
			  : 0;

	return r ? r : compare_events(pa, pb);
}

static void remove_event(struct events *all, struct timeline_event *e)
{
	all->behind++;
	free(e->name);
	free(e->insts);
	free(e->parameters);
	e->name = NULL;
}

/* Removes the events of this trace from ROWS[MOST] on. */
static void remove_rest(struct timeline_state *st, const void **rows, size_t n)
{
	struct events *all = st->events;
	size_t kept = st->first;

	for (size_t i = all->most; i < n; i++)
		remove_event(all, (struct timeline_event *)(uintptr_t)rows[i]);
	for (size_t i = st->first; i < all->n; i++)
		if (all->list[i].name)
			all->list[kept++] = all->list[i];
	all->n = kept;
}

/* With -n N only N events are printed: when this trace has several times as many, the others are
 * removed. Ranges that have not ended are kept, since their order is not final. */
static void keep_first(struct timeline_state *st)
{
	struct events *all = st->events;
	size_t have = all->n - st->first, n = 0;
	struct first f;

	if (!all->most || have < 4096 || have / 2 < all->looked || have / 2 < all->most)
		return;
	all->table.rows = calloc(have, sizeof(*all->table.rows));
	if (!all->table.rows)
		return;
	for (size_t i = st->first; i < all->n; i++)
		if (!all->list[i].open)
			all->table.rows[n++] = all->list + i;
	all->table.nrows = n;
	f.sorted = nvs_table_order(&all->table, all->table.sort, &f.order);
	if (n > all->most) {
		qsort_r(all->table.rows, n, sizeof(*all->table.rows), compare_first, &f);
		remove_rest(st, all->table.rows, n);
	}
	all->looked = all->n - st->first;
	free(all->table.rows);
	all->table.rows = NULL;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	const struct nvs_options_report *o = run->options;
	struct timeline_state *st = each;

	st->source = s;
	st->events = run->state;
	st->first = st->events->n;
	st->events->looked = 0;
	st->events->folds = o->print.format == NVS_FORMAT_TEXT && !o->print.sort && !o->query.api.n;
	st->events->table = (struct nvs_table)NVS_RUN_TABLE(run, columns, o->print.sort);
	if (!o->print.sort || is_known_soon(nvs_table_column(
				      &st->events->table, o->print.sort + (*o->print.sort == '-'))))
		st->events->most = o->print.rows;
	st->works = nvs_work_list_new(s, &st->handles);
	st->arguments = nvs_arguments_new(s);
	if (!st->arguments || nvs_arguments_add(st->arguments, s))
		return -ENOMEM;
	*reader = (struct nvs_pass_reader){.call = on_call,
					   .record = on_record,
					   .submitted = on_submission,
					   .op = on_op,
					   .calls = true,
					   .tallies = true,
					   .handles = &st->handles,
					   .arg = st};
	st->shares = nvs_count_shares_new(s, &st->handles, &st->counts);
	return st->works && st->shares ? nvs_work_list_read(st->works) : -ENOMEM;
}

/* Adds the GPU work of a submission, converted to the host's clock. */
static void add_work(struct timeline_state *st, const struct nvs_work *work)
{
	const char *name = nvs_work_list_name(st->works, work);
	char text[NVS_CALL_TEXT_BYTES];
	struct timeline_event *e;
	uint64_t give;
	int64_t at;

	if (!nvs_bracket_times_to_session(nvs_work_list_timing(st->works), work->channel,
					  work->begin, &at, &give))
		return;
	snprintf(text, sizeof(text), "%s%ssubmission %llu, channel %u", name, *name ? ", " : "",
		 (unsigned long long)work->number, work->channel);
	e = new_event(st, 0, name, text);
	if (!e)
		return;
	e->what = GPU;
	e->at = at;
	e->length = work->flags & NVS_WORK_TOO_SHORT ? -1 : (int64_t)work->ns;
	e->error_ns = give;
	st->events->error_ns = give > st->events->error_ns ? give : st->events->error_ns;
	e->thread = NVS_NONE;
	e->submission = work->number;
	e->channel = work->channel;
	e->gpu = work->gpu;
	e->depth = 1;
	e->uncounted = true;
}

static int add_works(struct timeline_state *st)
{
	int r = nvs_work_list_finish(st->works);
	size_t n;
	const struct nvs_work *list = nvs_work_list_items(st->works, &n);

	for (size_t i = 0; i < n && !r; i++)
		if (list[i].flags & NVS_WORK_TIMED && list[i].flags & NVS_WORK_SELECTED)
			add_work(st, list + i);
	if (nvs_bracket_times_exist(nvs_work_list_timing(st->works)))
		st->events->dropped += nvs_work_list_dropped(st->works);
	nvs_work_list_free(st->works);
	st->works = NULL;
	return r;
}

/* Converts ticks to ns: the clock is complete now. */
static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct timeline_state *st = each;
	int r = nvs_count_shares_end(st->shares, add_share, st);

	nvs_count_shares_free(st->shares);
	st->shares = NULL;
	nvs_arguments_free(st->arguments);
	st->arguments = NULL;
	nvs_numbers_free(&st->shown, NULL);
	for (size_t i = st->first; i < st->events->n; i++) {
		struct timeline_event *e = st->events->list + i;
		uint64_t from = (uint64_t)e->at;

		nvs_clock_since_start(s->trace, from, &e->at);
		e->open = false;
		if (e->what != SUBMISSION && e->length >= 0)
			e->length = (int64_t)nvs_call_ns(s->trace, from,
							 from + (uint64_t)e->length);
	}
	return r ? r : add_works(st);
}

static int print_events(struct nvs_run *run, bool apart)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	const struct events *all = run->state;
	int r;

	table.more = all->behind;
	if (all->dropped || all->bytes > nvs_budget_total() / 4)
		table.choose = "-n 0 shows as many as fit in memory";
	table.rows = calloc(all->n + 1, sizeof(*table.rows));
	if (!table.rows)
		return -ENOMEM;
	for (; table.nrows < all->n; table.nrows++)
		table.rows[table.nrows] = all->list + table.nrows;
	qsort(table.rows, table.nrows, sizeof(*table.rows), apart ? compare_apart : compare_events);
	r = nvs_table_print(run->out, &table, &run->options->print);
	free(table.rows);
	if (!r && all->error_ns && run->options->print.format == NVS_FORMAT_TEXT)
		fprintf(run->out->file,
			"%sGPU work is aligned with the calls to within %.2f us.%s\n",
			nvs_out_style(run->out, NVS_STYLE_DIM), (double)all->error_ns / 1000,
			nvs_out_style(run->out, NVS_STYLE_PLAIN));
	return r;
}

static int print_together(struct nvs_run *run)
{
	struct nvs_trace_clock *clocks = calloc(run->n + 1ul, sizeof(*clocks));
	const struct events *all = run->state;
	int r = clocks ? nvs_clocks_align(clocks, run->sources, run->n) : -ENOMEM;

	for (size_t i = 0; i < all->n && !r; i++)
		all->list[i].at += clocks[all->list[i].source - run->sources].shift;
	if (!r)
		r = print_events(run, false);
	if (!r && all->n && run->options->print.format == NVS_FORMAT_TEXT)
		r = nvs_clock_note_print(run->out, clocks, run->sources, run->n);
	free(clocks);
	return r;
}

static int print(struct nvs_run *run)
{
	const struct events *all = run->state;
	bool apart = run->n < 2 || run->options->query.per_trace;
	int r = apart ? print_events(run, true) : print_together(run);

	if (all->dropped)
		fprintf(stderr,
			"nvsnoop-report: %llu more calls, submissions and ranges are not shown; "
			"select a part with --range, --thread or --api\n",
			(unsigned long long)all->dropped);
	return r;
}

static void free_events(struct nvs_run *run)
{
	struct timeline_state *st = run->each;
	struct events *all = run->state;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_numbers_free(&st[i].shown, NULL);
		nvs_count_shares_free(st[i].shares);
		nvs_kernel_counts_free(&st[i].counts);
		nvs_work_list_free(st[i].works);
		nvs_arguments_free(st[i].arguments);
	}
	for (size_t i = 0; i < all->n; i++) {
		free(all->list[i].name);
		free(all->list[i].insts);
		free(all->list[i].parameters);
	}
	free(all->list);
}

NVS_REPORT(
	timeline, .name = "timeline", .group = NVS_WHAT_HAPPENED, .place = 90,
	.help = "calls, submissions, ranges and GPU work by time",
	.man = "Calls with their arguments, submissions with what they do, and ranges and "
	       "marks of NVTX, in order of time; what is done inside a call or a range\nis "
	       "indented below it. In text, calls of\n.B cuGetProcAddress\nin a row are one line, "
	       "unless they are selected by\n.B \\-\\-api\nor sorted by\n.BR \\-s .\nTime 0, "
	       "here and in all reports, is the first thing in the trace, whatever is selected: "
	       "calls may have begun\nbefore the session. With\n.B \\-\\-range\nor\n"
	       ".BR \\-\\-channel ,\nthe submissions selected and the calls around them. Of a "
	       "trace with\n.BR timing=work ,\nalso what the GPU did of each submission, from "
	       "when on and for how long. Both clocks are read side by side; below the table "
	       "stands\nhow far that may be off. Several traces "
	       "stand beside each other by their clocks: time 0 is the beginning of the first "
	       "then, and below the table stands how well that is known, and\nby how much a "
	       "clock was set meanwhile. With\n.B \\-\\-per\\-trace\nthey come one after the "
	       "other, each by its own time.",
	.needs = NVS_NEED_ALL_TIMES | NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS |
		 NVS_NEED_NVTX,
	.prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns), .state = sizeof(struct events),
	.each = sizeof(struct timeline_state), .begin = begin, .end = end, .print = print,
	.free = free_events);
