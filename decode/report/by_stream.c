/* SPDX-License-Identifier: MIT */
/* --by-stream, --by-thread and --by-context: the same counts, summed up by different handles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/base/numbers.h"
#include "decode/report/calls.h"

enum by { BY_STREAM, BY_THREAD, BY_CONTEXT };

struct row {
	uint64_t handle; /* stream, thread number or context */
	char name[48];
	uint64_t tid, calls, failed, launches, copies, copied, memsets, graphs, syncs, submissions,
		entries, bytes;
	uint64_t threads, context;
	bool uncounted; /* what was submitted is not known */
	bool untold; /* how much some copy moved is not known */
	bool used; /* a stream: more than made and destroyed */
	uint32_t last_thread;
	struct nvs_total times, waits;
};

/* The stack of contexts of one thread; the top is the current one. */
struct contexts {
	uint32_t depth;
	uint64_t context[16];
};

/* Which row a handle has now. */
struct known {
	struct {
		uint64_t handle;
		uint64_t per_thread; /* a stream handle in a call of the per-thread kind */
	} key;
	size_t row;
	UT_hash_handle hh;
};

/* Where a stream lives. */
struct home {
	uint64_t stream, context;
	UT_hash_handle hh;
};

struct state {
	struct nvs_source *source;
	enum by by;
	struct row **rows;
	size_t *nrows, *room;
	struct nvs_numbers threads; /* struct contexts; only of those that have had one */
	struct known *known;
	struct home *homes;
};

/* ---- contexts ---- */

static int set_current(struct state *st, uint32_t thread, uint64_t context, bool push)
{
	struct contexts *c = nvs_number_get(&st->threads, thread);

	if (thread >= NVS_MAX_NUMBER)
		return 0;
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c || nvs_number_set(&st->threads, thread, c)) {
			free(c);
			return -ENOMEM;
		}
	}
	if ((push || !c->depth) && c->depth < sizeof(c->context) / sizeof(*c->context))
		c->depth++;
	c->context[c->depth - 1] = context;
	return 0;
}

static bool makes_stream(const struct nvs_call *call)
{
	return call->api->role == NVS_CALL_ROLE_STREAM_CREATE ||
	       call->api->role == NVS_CALL_ROLE_GREEN_STREAM_CREATE;
}

static uint64_t context_of_stream(const struct state *st, uint64_t stream)
{
	struct home *home;

	HASH_FIND(hh, st->homes, &stream, sizeof(stream), home);
	return home ? home->context : 0;
}

static int note_stream(struct state *st, uint64_t stream, uint64_t context)
{
	struct home *home;

	HASH_FIND(hh, st->homes, &stream, sizeof(stream), home);
	if (!home) {
		home = calloc(1, sizeof(*home));
		if (!home)
			return -ENOMEM;
		home->stream = stream;
		HASH_ADD(hh, st->homes, stream, sizeof(stream), home);
		if (!home->hh.tbl) {
			free(home);
			return -ENOMEM;
		}
	}
	home->context = context;
	return 0;
}

/* The context CALL works in, and what it does to the thread's current one. */
static int follow_context(struct state *st, const struct nvs_call *call, uint64_t *context)
{
	struct contexts *c = nvs_number_get(&st->threads, call->thread);
	uint64_t value;
	int r = 0;

	*context = c && c->depth ? c->context[c->depth - 1] : 0;
	/* One that is only being made may have the handle of an older one. */
	if (!makes_stream(call) && nvs_call_kind(call, NVS_KIND_STREAM, &value) && value > 2 &&
	    context_of_stream(st, value))
		*context = context_of_stream(st, value);
	if (call->result || !call->end)
		return 0;
	switch (call->api->role) {
	case NVS_CALL_ROLE_CONTEXT_SET:
	case NVS_CALL_ROLE_CONTEXT_PUSH:
		if (!nvs_call_value(call, NVS_ARG_context, &value))
			return 0;
		r = set_current(st, call->thread, value,
				call->api->role == NVS_CALL_ROLE_CONTEXT_PUSH);
		break;
	case NVS_CALL_ROLE_CONTEXT_POP:
		if (!c || !c->depth)
			return 0;
		c->depth--;
		break;
	case NVS_CALL_ROLE_STREAM_CREATE:
		return nvs_call_value(call, NVS_ARG_stream, &value)
			       ? note_stream(st, value, *context)
			       : 0;
	default:
		return 0;
	}
	c = nvs_number_get(&st->threads, call->thread);
	if (c && c->depth)
		*context = c->context[c->depth - 1];
	return r;
}

/* ---- rows ---- */

static struct row *new_row(struct state *st, uint64_t handle)
{
	struct row *row;

	if (*st->nrows == *st->room) {
		size_t room = *st->room ? *st->room * 2 : 16;

		row = realloc(*st->rows, room * sizeof(*row));
		if (!row)
			return NULL;
		*st->rows = row;
		*st->room = room;
	}
	row = *st->rows + (*st->nrows)++;
	memset(row, 0, sizeof(*row));
	row->handle = handle;
	row->last_thread = NVS_NONE;
	return row;
}

static struct known *known_as(struct state *st, uint64_t handle, bool per_thread)
{
	struct known like = {.key = {handle, per_thread}}, *known;

	HASH_FIND(hh, st->known, &like.key, sizeof(like.key), known);
	return known;
}

static struct row *find(struct state *st, uint64_t handle, bool per_thread)
{
	struct known *known = known_as(st, handle, per_thread);
	struct row *row;

	if (known)
		return *st->rows + known->row;
	row = new_row(st, handle);
	known = row ? calloc(1, sizeof(*known)) : NULL;
	if (!known)
		return NULL;
	known->key.handle = handle;
	known->key.per_thread = per_thread;
	known->row = *st->nrows - 1;
	HASH_ADD(hh, st->known, key, sizeof(known->key), known);
	if (known->hh.tbl)
		return row;
	free(known);
	return NULL;
}

/* Destroyed: the same handle is another one from here on. */
static void forget(struct state *st, uint64_t handle)
{
	struct known *known = known_as(st, handle, false);

	if (!known)
		return;
	HASH_DEL(st->known, known);
	free(known);
}

static void free_state(struct state *st)
{
	struct known *known, *more;
	struct home *home, *next;

	HASH_ITER(hh, st->known, known, more) {
		HASH_DEL(st->known, known);
		free(known);
	}
	HASH_ITER(hh, st->homes, home, next) {
		HASH_DEL(st->homes, home);
		free(home);
	}
	nvs_numbers_free(&st->threads, free);
}

static void count(struct state *st, struct row *row, const struct nvs_call *call)
{
	uint8_t group = call->api->group;
	uint64_t ns = nvs_call_ns(st->source->trace, call->begin, call->end), bytes, copies;
	bool done = !call->result && !(call->flags & NVS_CALL_CAPTURED);

	row->calls++;
	row->failed += nvs_call_failed(call);
	row->launches += done && group == NVS_CALL_GROUP_LAUNCH;
	row->graphs += done && group == NVS_CALL_GROUP_GRAPH_LAUNCH;
	row->memsets += done && group == NVS_CALL_GROUP_MEMSET;
	row->uncounted |= call->uncounted;
	row->submissions += call->submissions;
	row->entries += call->entries;
	row->bytes += call->bytes;
	if (done && group == NVS_CALL_GROUP_COPY) {
		row->untold |= !nvs_call_copied(call, &bytes, &copies);
		row->copies += copies;
		row->copied += bytes;
	}
	if (row->last_thread != call->thread) {
		row->threads += row->last_thread == NVS_NONE || row->threads < 2;
		row->last_thread = call->thread;
	}
	if (call->end && call->depth <= 1)
		nvs_total_add(&row->times, ns);
	if (group == NVS_CALL_GROUP_SYNC) {
		row->syncs++;
		if (call->end)
			nvs_total_add(&row->waits, ns);
	}
}

static int count_stream(struct state *st, const struct nvs_call *call, uint64_t context)
{
	bool per_thread;
	uint64_t stream = 0;
	struct row *row;

	if (!nvs_call_kind(call, NVS_KIND_STREAM, &stream) &&
	    call->api->group != NVS_CALL_GROUP_COPY && call->api->group != NVS_CALL_GROUP_MEMSET)
		return 0;
	per_thread = call->api->per_thread && !stream;
	row = find(st, stream, per_thread);
	if (!row)
		return -ENOMEM;
	row->context = context;
	if (stream > 2)
		snprintf(row->name, sizeof(row->name), "0x%llx", (unsigned long long)stream);
	else
		snprintf(row->name, sizeof(row->name), "%s",
			 stream == 2 || per_thread ? "per-thread default" : "default");
	if (makes_stream(call))
		return 0;
	count(st, row, call);
	if (call->api->role != NVS_CALL_ROLE_STREAM_DESTROY)
		row->used = true;
	else if (!call->result && call->end)
		forget(st, stream);
	return 0;
}

static int count_thread(struct state *st, const struct nvs_call *call)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(st->source->trace, call->thread);
	struct row *row = find(st, call->thread, false);

	if (!row)
		return -ENOMEM;
	snprintf(row->name, sizeof(row->name), "%s", t ? t->name : "");
	row->tid = t ? t->tid : 0;
	count(st, row, call);
	return 0;
}

static int count_context(struct state *st, const struct nvs_call *call, uint64_t context)
{
	struct row *row = find(st, context, false);

	if (!row)
		return -ENOMEM;
	if (context)
		snprintf(row->name, sizeof(row->name), "0x%llx", (unsigned long long)context);
	else
		snprintf(row->name, sizeof(row->name), "none");
	count(st, row, call);
	return 0;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct state *st = arg;
	uint64_t context;
	int r = follow_context(st, call, &context);

	if (r || !nvs_filter_call(st->source, call))
		return r;
	if (st->by == BY_STREAM)
		return count_stream(st, call, context);
	return st->by == BY_THREAD ? count_thread(st, call) : count_context(st, call, context);
}

/* ---- columns ---- */

NVS_GET_TEXT(struct row, name, r->name)
NVS_GET_COUNT(struct row, calls, r->calls)
NVS_GET_COUNT(struct row, failed, r->failed)
NVS_GET_COUNT(struct row, launches, r->launches)
NVS_GET_COUNT(struct row, graphs, r->graphs)
NVS_GET_COUNT(struct row, copies, r->copies)
NVS_GET_KNOWN(struct row, copied, !r->untold || r->copied, r->copied)
NVS_GET_COUNT(struct row, memsets, r->memsets)
NVS_GET_COUNT(struct row, syncs, r->syncs)
NVS_GET_KNOWN(struct row, submissions, !r->uncounted, r->submissions)
NVS_GET_KNOWN(struct row, entries, !r->uncounted, r->entries)
NVS_GET_KNOWN(struct row, bytes, !r->uncounted, r->bytes)
NVS_GET_TEXT(struct row, threads, r->threads > 1 ? "several" : "one")
NVS_GET_REAL(struct row, total, r->times.count, (double)r->times.ns / 1000)
NVS_GET_REAL(struct row, mean, r->times.count, (double)r->times.ns / (double)r->times.count / 1000)
NVS_GET_REAL(struct row, waits, r->waits.count, (double)r->waits.ns / 1000)

static void get_thread(const void *row, struct nvs_value *v)
{
	const struct row *r = row;

	nvs_put_count(v, r->handle);
	if (r->handle == NVS_NONE)
		v->kind = NVS_VALUE_NONE;
}

static void get_tid(const void *row, struct nvs_value *v)
{
	const struct row *r = row;

	nvs_put_count(v, r->tid);
	if (r->handle == NVS_NONE)
		v->kind = NVS_VALUE_NONE;
}

static void get_context(const void *row, struct nvs_value *v)
{
	v->kind = ((const struct row *)row)->context ? NVS_VALUE_HEX : NVS_VALUE_NONE;
	v->count = ((const struct row *)row)->context;
}

#define COUNTS                                                                                    \
	{"calls", "calls", get_calls, 0}, {"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 4}, \
		{"launches", "launches", get_launches, 0},                                        \
		{"graph_launches", "graphs", get_graphs, NVS_COLUMN_IF_ANY, 2},                   \
		{"copies", "copies", get_copies, NVS_COLUMN_IF_ANY, 2},                           \
		{"bytes_copied", "copy bytes", get_copied, NVS_COLUMN_IF_ANY, 2},                 \
		{"memsets", "memsets", get_memsets, NVS_COLUMN_IF_ANY, 4},                        \
		{"syncs", "syncs", get_syncs, NVS_COLUMN_IF_ANY, 3},                              \
		{"submissions", "subs", get_submissions, 0},                                      \
		{"entries", "entries", get_entries, NVS_COLUMN_DETAIL},                           \
		{"bytes", "cmd bytes", get_bytes, 0, 3},                                          \
		{"host_us_total", "host us", get_total, 0, 1},                                    \
		{"host_us_mean", "us/call", get_mean, NVS_COLUMN_BESIDE, 1},                      \
	{                                                                                         \
		"wait_us_total", "us waiting", get_waits, NVS_COLUMN_IF_ANY, 2                    \
	}

static const struct nvs_column stream_columns[] = {
	{"stream", "stream", get_name, 0},
	COUNTS,
	{"threads", "threads", get_threads, 0, 5},
	{"context", "context", get_context, NVS_COLUMN_DETAIL},
};
static const struct nvs_column thread_columns[] = {
	{"thread", "thread", get_thread, 0},
	{"tid", "tid", get_tid, 0, 3},
	COUNTS,
	{"name", "name", get_name, NVS_COLUMN_NAME},
};
static const struct nvs_column context_columns[] = {
	{"context", "context", get_name, 0},
	COUNTS,
	{"threads", "threads", get_threads, 0, 5},
};

/*
 * Libraries make streams by the dozen to be ready: a person wants to see those that did something.
 */
static size_t fold_unused(struct row *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].used)
			rows[kept++] = rows[i];
	return kept;
}

static int print(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		 const struct nvs_options_report *o, enum by by, struct nvs_table *table)
{
	struct row *rows = NULL;
	size_t nrows = 0, room = 0, unused = 0;
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct state st = {
			.source = s + i, .by = by, .rows = &rows, .nrows = &nrows, .room = &room};
		struct nvs_reader reader = {.call = on_call, .tallies = true, .arg = &st};

		r = nvs_report_read_calls(s + i, &reader);
		free_state(&st);
	}
	table->several = n > 1;
	table->sort = "calls";
	if (by == BY_STREAM && o->format == NVS_FORMAT_TEXT) {
		unused = nrows - fold_unused(rows, nrows);
		nrows -= unused;
	}
	if (!r)
		r = nvs_report_rows(out, table, rows, nrows, sizeof(*rows), o);
	if (!r && unused)
		fprintf(out->file, "%zu stream%s unused\n", unused, unused == 1 ? "" : "s");
	free(rows);
	return r;
}

int nvs_report_by_stream(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			 const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "by-stream",
				  .columns = stream_columns,
				  .ncolumns = sizeof(stream_columns) / sizeof(*stream_columns)};

	return print(out, s, n, o, BY_STREAM, &table);
}

int nvs_report_by_thread(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			 const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "by-thread",
				  .columns = thread_columns,
				  .ncolumns = sizeof(thread_columns) / sizeof(*thread_columns)};

	return print(out, s, n, o, BY_THREAD, &table);
}

int nvs_report_by_context(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			  const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "by-context",
				  .columns = context_columns,
				  .ncolumns = sizeof(context_columns) / sizeof(*context_columns)};

	return print(out, s, n, o, BY_CONTEXT, &table);
}
