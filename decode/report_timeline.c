/* SPDX-License-Identifier: MIT */
/* --timeline: calls and submissions in order of time, each call with its arguments. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report_calls.h"

#define MAX_TEXT 512

struct event {
	uint32_t trace, thread, depth;
	int64_t at, length; /* ns since the start; length -1: not known */
	uint64_t order;
	const char *what; /* "call", "submission" */
	char *name, *text;
	uint64_t entries, bytes;
	bool submission;
};

struct state {
	struct nvs_source *source;
	struct event **events;
	size_t *n, *room;
};

static struct event *new_event(struct state *st, uint64_t ticks)
{
	struct event *e;

	if (*st->n == *st->room) {
		size_t room = *st->room ? *st->room * 2 : 1024;

		e = realloc(*st->events, room * sizeof(*e));
		if (!e)
			return NULL;
		*st->events = e;
		*st->room = room;
	}
	e = *st->events + (*st->n)++;
	memset(e, 0, sizeof(*e));
	e->trace = st->source->index;
	e->order = *st->n;
	e->length = -1;
	nvs_clock_since_start(st->source->trace, ticks, &e->at);
	return e;
}

static const char *outcome(const struct nvs_call *call, char *room, size_t size)
{
	if (!call->end)
		return " never returned";
	if (call->flags & NVS_CALL_UNWOUND)
		return " left by an exception";
	if (call->flags & NVS_CALL_ABANDONED)
		return " left by a jump";
	if (call->result) {
		const char *name = nvs_call_error(call->result);

		snprintf(room, size, " = %s", name ? name : "");
		if (!name)
			snprintf(room, size, " = %u", call->result);
		return room;
	}
	return call->flags & NVS_CALL_CAPTURED ? " captured" : "";
}

static char *describe(const struct nvs_call *call)
{
	char text[MAX_TEXT * 2], value[1100], end[64];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < call->nargs && n < MAX_TEXT; i++) {
		nvs_call_print(call, i, value, sizeof(value));
		if (strlen(value) > 120)
			strcpy(value + 116, "...");
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s=%s", i ? ", " : "", call->api->arg[i], value);
	}
	if (n < sizeof(text) - sizeof(end))
		snprintf(text + n, sizeof(text) - n, "%s", outcome(call, end, sizeof(end)));
	return strdup(text);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct state *st = arg;
	struct event *e;

	if (!nvs_filter_call(st->source, call) || st->source->options->has_range)
		return 0;
	e = new_event(st, call->begin);
	if (!e)
		return -ENOMEM;
	e->what = "call";
	e->thread = call->thread;
	e->depth = call->depth;
	e->name = strdup(call->api->name);
	e->text = describe(call);
	e->entries = call->entries;
	e->bytes = call->bytes;
	if (call->end)
		e->length = (int64_t)nvs_call_ns(st->source->trace, call->begin, call->end);
	return e->name && e->text ? 0 : -ENOMEM;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	const struct nvs_options_report *o = ((struct state *)arg)->source->options;
	struct state *st = arg;
	char text[64];
	struct event *e;

	if (o->has_range && (s->number < o->first || s->number > o->last))
		return 0;
	if (!nvs_filter(st->source, s->thread->thread, s->channel->channel, s->rec->stack))
		return 0;
	e = new_event(st, s->rec->rec.time);
	if (!e)
		return -ENOMEM;
	e->what = "submission";
	e->submission = true;
	e->thread = s->thread->thread;
	e->depth = (uint32_t)(s->rec->rec.flags >> NVS_SUB_CALL_SHIFT) + 1;
	snprintf(text, sizeof(text), "submission %llu", (unsigned long long)s->number);
	e->name = strdup(text);
	snprintf(text, sizeof(text), "channel %u, put %u to %u", s->channel->channel, s->rec->old_put, s->rec->new_put);
	e->text = strdup(text);
	e->entries = s->nentries;
	e->bytes = s->ndata;
	return e->name && e->text ? 0 : -ENOMEM;
}

static void get_at(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_SECONDS;
	v->ns = ((const struct event *)row)->at;
}

static void get_us(const void *row, struct nvs_value *v)
{
	const struct event *e = row;

	nvs_put_us(v, e->length >= 0, (double)e->length);
}

/* Indented by its place in the nest. */
static void get_shown(const void *row, struct nvs_value *v)
{
	nvs_put_text(v, ((const struct event *)row)->name);
}

NVS_GET_TEXT(struct event, what, r->what)
NVS_GET_TEXT(struct event, text, r->text)
NVS_GET_COUNT(struct event, thread, r->thread)
NVS_GET_COUNT(struct event, depth, r->depth)
NVS_GET_COUNT(struct event, entries, r->entries)
NVS_GET_COUNT(struct event, bytes, r->bytes)

static const struct nvs_column columns[] = {
	{"seconds", "seconds", get_at, 0},
	{"thread", "thr", get_thread, 0},
	{"what", "what", get_what, NVS_COLUMN_DETAIL},
	{"depth", "depth", get_depth, 0},
	{"host_us", "us", get_us, 0},
	{"entries", "entries", get_entries, NVS_COLUMN_DETAIL},
	{"bytes", "bytes", get_bytes, 0},
	{"name", "name", get_shown, 0},
	{"detail", "arguments and outcome", get_text, NVS_COLUMN_NAME},
};

/* Begin first; what began at the same moment, outermost first. */
static int compare(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	if (a->trace != b->trace)
		return a->trace < b->trace ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

int nvs_report_timeline(struct nvs_out *out, struct nvs_source *s, uint32_t n, const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "timeline", .columns = columns,
				  .ncolumns = sizeof(columns) / sizeof(*columns), .several = n > 1};
	struct event *events = NULL;
	size_t count = 0, room = 0;
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct state st = {.source = s + i, .events = &events, .n = &count, .room = &room};
		struct nvs_calls_sink sink = {.call = on_call, .submission = on_submission, .arg = &st};

		r = nvs_report_read_calls(s + i, &sink);
	}
	if (!r) {
		if (count)
			qsort(events, count, sizeof(*events), compare);
		r = nvs_report_rows(out, &table, events, count, sizeof(*events), o);
	}
	for (size_t i = 0; i < count; i++) {
		free(events[i].name);
		free(events[i].text);
	}
	free(events);
	return r;
}
