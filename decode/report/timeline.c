/* SPDX-License-Identifier: MIT */
/*
 * --timeline: calls, submissions and ranges in order of time, each call with its arguments, what
 * was called or submitted inside a call or a range below it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/report/nvtx.h"
#include "decode/report/source_columns.h"
#include "decode/report/words.h"

enum { CALL, SUBMISSION, RANGE, MARK };
static const char *const whats[] = {"call", "submission", "range", "mark"};

/* There are as many as there is room for: small. */
struct event {
	/* ns since the session's start; length -1: not known. While it is read: ticks, of the
	 * beginning and the end */
	int64_t at, length; /* of a submission: its number */
	char *name; /* of a call, a range or a mark; "" of a submission; and behind its NUL what
		       else there is to say */
	uint64_t bytes;
	const struct nvs_source *source;
	uint32_t thread, entries;
	uint16_t depth, ranges; /* in the nest of calls, and how many ranges are around it */
	uint8_t what;
	bool uncounted; /* entries and bytes are not known */
};

struct state {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct events {
		struct event *list;
		size_t n, room;
		uint64_t dropped; /* for want of memory */
	} * events; /* of all traces */
	size_t first; /* of this one */
	struct nvs_tally tally; /* of the submission in progress */
	struct nvs_numbers shown; /* by thread: ticks of the last submission shown */
	uint64_t nobody; /* likewise, of thread NVS_NONE */
};

/* NULL: there is no room for more, which is noted. What is left then is for sorting and printing
 * them. */
static struct event *new_event(struct state *st, uint64_t ticks, const char *api, const char *text)
{
	struct events *all = st->events;
	size_t n = strlen(api) + 1, more = strlen(text) + 1, room = all->room;
	struct event *e;

	if (all->n == room)
		room += room / 2 + 1024;
	if (nvs_budget_left() <
	    n + more + (room - all->room) * sizeof(*e) + nvs_budget_whole() / 4) {
		all->dropped++;
		return NULL;
	}
	e = room > all->room ? realloc(all->list, room * sizeof(*e)) : all->list;
	if (!e)
		return NULL;
	all->list = e;
	all->room = room;
	e += all->n;
	memset(e, 0, sizeof(*e));
	e->name = malloc(n + more);
	if (!e->name)
		return NULL;
	memcpy(e->name, api, n);
	memcpy(e->name + n, text, more);
	all->n++;
	e->source = st->source;
	e->at = (int64_t)ticks;
	return e;
}

/* Where submissions are selected: a call is told if one of them happened in it. */
static bool around_shown(const struct state *st, const struct nvs_call *call)
{
	uint64_t shown;

	if (!nvs_range_at(st->source, call->begin))
		return false;
	if (!nvs_filter_by_submissions(st->source->options))
		return true;
	shown = call->thread == NVS_NONE ? st->nobody
					 : (uintptr_t)nvs_number_get(&st->shown, call->thread);
	return shown && shown >= call->begin;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct state *st = arg;
	char text[NVS_WORDS_BYTES];
	struct event *e;

	if (nvs_handles_call(st->handles, call))
		return -ENOMEM;
	if (!nvs_filter_call_name(st->source, call) || !around_shown(st, call))
		return 0;
	nvs_words_call(text, st->source, st->handles, call);
	e = new_event(st, call->begin, nvs_call_name(call->api), text);
	if (!e)
		return 0;
	e->what = CALL;
	e->thread = call->thread;
	e->ranges = (uint16_t)nvs_nvtx_open(st->source->nvtx, call->thread, call->begin);
	e->depth = (uint16_t)call->depth;
	e->uncounted = call->uncounted;
	e->entries = (uint32_t)call->entries;
	e->bytes = call->bytes;
	e->length = (int64_t)call->end;
	return 0;
}

/* ---- ranges and marks ---- */

static void end_range(struct state *st, const struct nvs_nvtx_event *now)
{
	struct event *e = *now->tag ? st->events->list + *now->tag - 1 : NULL;

	if (!e)
		return;
	e->length = (int64_t)now->end;
	e->thread = now->thread;
}

/* Of records that begin a range or are a mark. */
static void add_range(struct state *st, const struct nvs_nvtx_event *now,
		      const struct nvs_rec_nvtx *rec)
{
	char text[NVS_WORDS_BYTES];
	struct event *e;

	nvs_nvtx_describe(nvs_nvtx_names(st->source->nvtx), rec, text, sizeof(text));
	e = new_event(st, now->begin, now->node->name, text);
	if (!e)
		return;
	e->what = now->what == NVS_NVTX_MARKED ? MARK : RANGE;
	e->thread = now->thread;
	e->ranges = (uint16_t)now->open;
	e->depth = 1;
	e->uncounted = true;
	if (now->tag)
		*now->tag = st->events->n;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct state *st = arg;
	const struct nvs_nvtx_event *now = nvs_nvtx_now(st->source->nvtx);

	if (now->what == NVS_NVTX_ENDED)
		end_range(st, now);
	else if (now->what && nvs_filter_range_of(st->source, now))
		add_range(st, now, (const void *)rec);
	return rec->type == NVS_REC_KERNEL
		       ? nvs_handles_kernel(((struct state *)arg)->handles, (const void *)rec)
		       : 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	if (op->kind != NVS_OP_CODE)
		nvs_tally_op(&((struct state *)arg)->tally, op);
	return 0;
}

static int note_shown(struct state *st, uint32_t thread, uint64_t ticks)
{
	if (thread != NVS_NONE)
		return nvs_number_set(&st->shown, thread, (void *)(uintptr_t)ticks);
	st->nobody = ticks;
	return 0;
}

static int add_submission(struct state *st, const struct nvs_submission *s)
{
	char work[256], text[64 + sizeof(work)];
	struct event *e;

	nvs_words_tally(work, sizeof(work), &st->tally);
	snprintf(text, sizeof(text), "channel %u%s%s", s->channel->channel, *work ? ": " : "",
		 work);
	e = new_event(st, s->rec->rec.time, "", text);
	if (!e)
		return 0;
	e->what = SUBMISSION;
	e->length = (int64_t)s->number;
	e->thread = s->thread->thread;
	e->ranges = (uint16_t)nvs_nvtx_open(st->source->nvtx, e->thread, s->rec->rec.time);
	e->depth = (uint16_t)((s->rec->rec.flags >> NVS_SUB_CALL_SHIFT) + 1);
	e->entries = s->nentries;
	e->bytes = nvs_submission_bytes(s);
	return note_shown(st, e->thread, s->rec->rec.time);
}

static bool of_api(const struct nvs_source *source, const struct nvs_submission *s,
		   const struct nvs_call *call)
{
	return call ? nvs_filter_call_name(source, call)
		    : nvs_filter_api(source, "", s->rec->stack);
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	const struct nvs_options_report *o = ((struct state *)arg)->source->options;
	struct state *st = arg;
	int r = 0;

	if (nvs_filter_submission(st->source, s) && (!o->api.n || of_api(st->source, s, call)))
		r = add_submission(st, s);
	memset(&st->tally, 0, sizeof(st->tally));
	return r;
}

/* ---- lines ---- */

static const char *text_of(const struct event *e)
{
	return e->name + strlen(e->name) + 1;
}

/* Among calls and ranges, 0: the outermost. */
static int place_of(const struct event *e)
{
	return e->ranges + (e->depth > 1 ? e->depth - 1 : 0);
}

/* As a person reads it: indented by the place in the nest. Good until the next one. */
static const char *line_of(const struct event *e)
{
	static char line[256 + 3 * NVS_WORDS_BYTES / 2];
	int place = place_of(e), indent = 2 * (place < 64 ? place : 64);

	if (e->what == CALL)
		snprintf(line, sizeof(line), "%*s%s%s", indent, "", e->name, text_of(e));
	else if (e->what == SUBMISSION)
		snprintf(line, sizeof(line), "%*ssubmission %lld, %s", indent, "",
			 (long long)e->length, text_of(e));
	else
		snprintf(line, sizeof(line), "%*s%s %s%s", indent, "", whats[e->what],
			 *e->name ? e->name : "-", text_of(e));
	return line;
}

static void get_at(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_NS;
	v->ns = ((const struct event *)row)->at;
}

static void get_us(const void *row, struct nvs_value *v)
{
	const struct event *e = row;

	nvs_value_us(v, e->what != SUBMISSION && e->length >= 0, (double)e->length);
}

static void get_thread(const void *row, struct nvs_value *v)
{
	const struct event *e = row;

	nvs_value_known(v, e->thread != NVS_NONE, e->thread);
}

static void get_tid(const void *row, struct nvs_value *v)
{
	const struct event *e = row;
	const struct nvs_trace_thread *t = nvs_trace_thread_at(e->source->trace, e->thread);

	nvs_value_known(v, t && t->tid, t ? t->tid : 0);
}

NVS_SOURCE_GETTERS(struct event, r->source)
NVS_GET_TEXT(struct event, api, r->what == CALL ? r->name : "")
NVS_GET_TEXT(struct event, range, r->what >= RANGE ? r->name : "")
NVS_GET_KNOWN(struct event, submission, r->what == SUBMISSION, (uint64_t)r->length)
NVS_GET_TEXT(struct event, line, line_of(r))
NVS_GET_TEXT(struct event, what, whats[r->what])
NVS_GET_TEXT(struct event, text, text_of(r))
NVS_GET_COUNT(struct event, depth, r->what < RANGE ? r->depth : r->ranges + 1u)
NVS_GET_KNOWN(struct event, entries, !r->uncounted, r->entries)
NVS_GET_KNOWN(struct event, bytes, !r->uncounted, r->bytes)

static const struct nvs_column columns[] = {
	{"time_ns", "seconds", get_at, 0},
	{"thread", "thr", get_thread, NVS_COLUMN_IF_ANY},
	{"tid", "tid", get_tid, NVS_COLUMN_DETAIL},
	{"kind", "kind", get_what, NVS_COLUMN_DETAIL},
	{"depth", "depth", get_depth, NVS_COLUMN_DETAIL},
	{"host_us", "host us", get_us, 0},
	{"entries", "entries", get_entries, NVS_COLUMN_DETAIL},
	{"command_bytes", "cmd bytes", get_bytes, NVS_COLUMN_IF_ANY},
	{"line", "call", get_line, NVS_COLUMN_NAME | NVS_COLUMN_TEXT},
	{"api", "api", get_api, NVS_COLUMN_DETAIL},
	{"range", "range", get_range, NVS_COLUMN_DETAIL},
	{"submission", "submission", get_submission, NVS_COLUMN_DETAIL},
	{"detail", "detail", get_text, NVS_COLUMN_DETAIL},
	NVS_SOURCE_COLUMNS,
};

/* Begin first; what began at the same moment, outermost first, then as it came. */
static int compare(const void *pa, const void *pb)
{
	const struct event *a = *(const struct event *const *)pa,
			   *b = *(const struct event *const *)pb;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (place_of(a) != place_of(b))
		return place_of(a) < place_of(b) ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each, struct nvs_reader *reader)
{
	struct state *st = each;

	st->source = s;
	st->events = run->state;
	st->first = st->events->n;
	st->handles = nvs_handles_new();
	*reader = (struct nvs_reader){.call = on_call,
				      .record = on_record,
				      .submitted = on_submission,
				      .op = on_op,
				      .calls = true,
				      .arg = st};
	return st->handles ? 0 : -ENOMEM;
}

/* Now that the clock is known. */
static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct state *st = each;

	nvs_numbers_free(&st->shown, NULL);
	nvs_handles_free(st->handles);
	st->handles = NULL;
	for (size_t i = st->first; i < st->events->n; i++) {
		struct event *e = st->events->list + i;
		uint64_t from = (uint64_t)e->at, to = (uint64_t)e->length;

		nvs_clock_since_start(s->trace, from, &e->at);
		if (e->what != SUBMISSION)
			e->length = to ? (int64_t)nvs_call_ns(s->trace, from, to) : -1;
	}
	return 0;
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	const struct events *all = run->state;
	int r;

	table.rows = calloc(all->n + 1, sizeof(*table.rows));
	if (!table.rows)
		return -ENOMEM;
	for (; table.nrows < all->n; table.nrows++)
		table.rows[table.nrows] = all->list + table.nrows;
	qsort(table.rows, table.nrows, sizeof(*table.rows), compare);
	r = nvs_table_print(run->out, &table, run->options);
	free(table.rows);
	if (all->dropped)
		fprintf(stderr,
			"nvsnoop-report: %llu more calls, submissions and ranges are not shown; "
			"--range, "
			"--thread and --api choose\n",
			(unsigned long long)all->dropped);
	return r;
}

static void free_events(struct nvs_run *run)
{
	struct state *st = run->each;
	struct events *all = run->state;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_numbers_free(&st[i].shown, NULL);
		nvs_handles_free(st[i].handles);
	}
	for (size_t i = 0; i < all->n; i++)
		free(all->list[i].name);
	free(all->list);
}

NVS_REPORT(timeline, .name = "timeline", .place = 90,
	   .help = "calls, submissions and ranges of NVTX in order of time",
	   .man = "Calls with their arguments, submissions with what they do, and ranges and "
		  "marks of NVTX, in order of time; what is done inside a call or a range\nis "
		  "indented below it. Time 0, "
		  "here and in all reports, is the first thing in the trace, whatever is selected: "
		  "calls may have begun\nbefore the session. With\n.B \\-\\-range\nor\n"
		  ".BR \\-\\-channel ,\nthe submissions selected and the calls around them.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS | NVS_NEED_NVTX,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns), .state = sizeof(struct events),
	   .each = sizeof(struct state), .begin = begin, .end = end, .print = print,
	   .free = free_events);
