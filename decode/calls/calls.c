/* SPDX-License-Identifier: MIT */
/* Assembles calls, and assigns each submission to the call at its depth. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/numbers.h"
#include "decode/calls/calls.h"
#include "decode/trace/records.h"

#define MAX_DEPTH 256 /* limited by the bits in a submission's flags */

struct entry_point {
	struct nvs_call_api pub; /* first: the two are cast into each other */
	char *text;
};

/* A call in flight whose CALL_BEGIN was read. */
struct open_call {
	struct open_call *outer; /* the enclosing call; or the next in the list of spares */
	struct nvs_call call;
	uint64_t args[NVS_SITE_ARGS]; /* storage for arguments, if it never returns */
};

struct thread_calls {
	uint64_t returned[NVS_SPOOL_CALLS +
			  1]; /* by depth: number + 1 of the latest call that has returned */
	struct open_call *open; /* innermost first */
};

struct nvs_calls {
	struct nvs_trace *trace;
	struct nvs_calls_sink sink;
	struct nvs_numbers apis, threads;
	struct open_call *spare;
	struct nvs_call *now; /* call of the latest submission, or NULL */
	bool uncounted; /* the trace has no submissions, only their number */
};

struct nvs_calls *nvs_calls_new(struct nvs_trace *trace, const struct nvs_calls_sink *sink)
{
	struct nvs_calls *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->trace = trace;
	c->uncounted = nvs_trace_session(trace)->header.flags & NVS_HDR_COUNTS;
	c->sink = *sink;
	return c;
}

static void free_api(void *item)
{
	free(((struct entry_point *)item)->text);
	free(item);
}

static void free_open_calls(struct open_call *o)
{
	for (struct open_call *outer; o; o = outer) {
		outer = o->outer;
		free(o);
	}
}

static void free_thread(void *item)
{
	struct thread_calls *t = item;

	free_open_calls(t->open);
	free(t);
}

void nvs_calls_free(struct nvs_calls *c)
{
	if (!c)
		return;
	nvs_numbers_free(&c->apis, free_api);
	nvs_numbers_free(&c->threads, free_thread);
	free_open_calls(c->spare);
	free(c);
}

/* ---- entry points ---- */

static struct nvs_call_api *get_api(struct nvs_calls *c, uint32_t number)
{
	struct nvs_call_api *api = nvs_number_make(&c->apis, number, sizeof(struct entry_point));

	if (api && !api->name) {
		api->number = number;
		api->name = "";
	}
	return api;
}

static int take_api(struct nvs_calls *c, const struct nvs_rec_api *rec)
{
	struct nvs_call_api *api = get_api(c, rec->api);
	const char *text = nvs_record_tail(&rec->rec, rec->length);
	char *own, *end, *p, *group;
	uint32_t n = 0;

	if (rec->api >= NVS_MAX_NUMBER)
		return 0;
	if (!api)
		return -ENOMEM;
	/* A repeated record, for example after a restart: keep the first. */
	if (((struct entry_point *)api)->text)
		return 0;
	own = malloc(rec->length + 1ul);
	if (!own)
		return -ENOMEM;
	((struct entry_point *)api)->text = own;
	memcpy(own, text, rec->length);
	own[rec->length] = '\0';
	end = own + rec->length;
	api->passed = rec->rec.flags & NVS_API_PASSED;
	api->name = own;
	p = own + strlen(own) + 1;
	group = p < end ? p : "";
	for (p += p < end ? strlen(p) + 1 : 0; p < end && n < rec->nargs && n < NVS_CALL_MAX_ARGS;
	     n++) {
		char *colon = strchr(p, ':'), *next = p + strlen(p) + 1;

		api->arg[n] = p;
		api->kind[n] = colon ? colon + 1 : "";
		if (colon)
			*colon = '\0';
		p = next;
	}
	api->nargs = n;
	nvs_call_api_resolve(api, group);
	return 0;
}

/* ---- calls ---- */

static struct thread_calls *get_thread(struct nvs_calls *c, uint32_t number)
{
	return number == NVS_NONE
		       ? NULL
		       : nvs_number_make(&c->threads, number, sizeof(struct thread_calls));
}

static struct open_call *find_open_call(const struct thread_calls *t, uint32_t depth)
{
	struct open_call *o = t->open;

	while (o && o->call.depth > depth)
		o = o->outer;
	return o && o->call.depth == depth ? o : NULL;
}

static struct open_call *add_open_call(struct nvs_calls *c, struct thread_calls *t)
{
	struct open_call *o = c->spare;

	if (o)
		c->spare = o->outer;
	else
		o = malloc(sizeof(*o));
	if (!o)
		return NULL;
	o->outer = t->open;
	return t->open = o;
}

/* Removes the innermost call, which has ended. */
static void remove_innermost(struct nvs_calls *c, struct thread_calls *t)
{
	struct open_call *o = t->open;

	t->open = o->outer;
	o->outer = c->spare;
	c->spare = o;
}

static int deliver_call(struct nvs_calls *c, const struct nvs_call *call)
{
	return c->sink.call ? c->sink.call(c->sink.arg, call) : 0;
}

/* Delivers calls that are still open at DEPTH or deeper: they ended without a record. */
static int drop_open_calls(struct nvs_calls *c, struct thread_calls *t, uint32_t depth)
{
	int r = 0;

	for (; t->open && t->open->call.depth >= depth; remove_innermost(c, t))
		if (!r)
			r = deliver_call(c, &t->open->call);
	return r;
}

/* Returns true if a call reported as in flight is already known, as open or returned. */
static bool is_known(const struct thread_calls *t, const struct nvs_rec_call_begin *rec)
{
	const struct open_call *o = find_open_call(t, rec->depth);

	if (o && o->call.number == rec->number)
		return true;
	return rec->depth <= NVS_SPOOL_CALLS && t->returned[rec->depth] > rec->number;
}

/* Adds the call site and arguments of a call that has not returned. O is that call, or NULL. */
static void add_site(struct open_call *o, const struct nvs_rec_call_begin *rec)
{
	const struct nvs_call_begin_site *site = nvs_begin_site(&rec->rec);
	const struct nvs_call_api *api;

	if (!o || o->call.number != rec->number || !(rec->rec.flags & NVS_BEGIN_SITED))
		return;
	api = o->call.api;
	if (o->call.stack == NVS_NONE)
		o->call.stack = site->stack;
	o->call.nargs = site->nargs < api->nargs ? site->nargs : api->nargs;
	o->call.nargs = o->call.nargs < NVS_SITE_ARGS ? o->call.nargs : NVS_SITE_ARGS;
	o->call.absent = site->absent;
	o->call.args = o->args;
	memcpy(o->args, site->args, o->call.nargs * 8ul);
	/* Their strings are never recorded. */
	for (uint32_t i = 0; i < o->call.nargs; i++)
		if (api->kinds[i] == NVS_KIND_STRING)
			o->call.absent |= 1u << i;
}

static int take_begin(struct nvs_calls *c, const struct nvs_rec_call_begin *rec)
{
	struct thread_calls *t = get_thread(c, rec->thread);
	struct nvs_call_api *api = get_api(c, rec->api);
	uint32_t depth = rec->depth;
	struct open_call *o;
	int r;

	if (rec->thread >= NVS_MAX_NUMBER || rec->api >= NVS_MAX_NUMBER || !depth ||
	    depth >= MAX_DEPTH)
		return 0;
	if (!t || !api)
		return -ENOMEM;
	if (rec->rec.flags & NVS_BEGIN_IN_FLIGHT && is_known(t, rec)) {
		add_site(find_open_call(t, depth), rec);
		return 0;
	}
	r = drop_open_calls(c, t, depth);
	if (r)
		return r;
	o = add_open_call(c, t);
	if (!o)
		return -ENOMEM;
	o->call = (struct nvs_call){
		.api = api,
		.thread = rec->thread,
		.number = rec->number,
		.begin = rec->begin,
		.depth = depth,
		.stack = NVS_NONE,
		.flags = NVS_CALL_BEGUN,
		.uncounted = c->uncounted,
		.tally.unseen = c->uncounted,
	};
	add_site(o, rec);
	return 0;
}

/* Takes the state collected since CALL_BEGIN, if it is the same call. */
static int take_open(struct nvs_calls *c, const struct nvs_rec_call *rec, struct nvs_call *call)
{
	struct thread_calls *t = rec->thread == NVS_NONE ? NULL
							 : nvs_number_get(&c->threads, rec->thread);
	struct open_call *o;
	int r;

	if (!t || !rec->depth || rec->depth >= MAX_DEPTH)
		return 0;
	r = drop_open_calls(c, t, rec->depth + 1u);
	o = find_open_call(t, rec->depth);
	if (r || !o || o->call.number != rec->number)
		return r;
	*call = o->call;
	remove_innermost(c, t);
	return 0;
}

static void note_return(struct nvs_calls *c, const struct nvs_rec_call *rec)
{
	struct thread_calls *t = rec->depth <= NVS_SPOOL_CALLS ? get_thread(c, rec->thread) : NULL;

	if (t)
		t->returned[rec->depth] = rec->number + 1;
}

static int take_call(struct nvs_calls *c, const struct nvs_rec_call *rec)
{
	struct nvs_call call = {
		.stack = NVS_NONE, .uncounted = c->uncounted, .tally.unseen = c->uncounted};
	struct nvs_call_api *api = get_api(c, rec->api);
	const uint8_t *tail = nvs_record_tail(&rec->rec, rec->nargs * 8ull + rec->bytes);
	int r;

	if (rec->api >= NVS_MAX_NUMBER)
		return 0;
	if (!api)
		return -ENOMEM;
	r = take_open(c, rec, &call);
	if (r)
		return r;
	note_return(c, rec);
	call.api = api;
	call.thread = rec->thread;
	call.number = rec->number;
	/* 0 without a CALL_BEGIN: that record was lost, and with it the duration of the call. */
	if (rec->begin || !call.begin)
		call.begin = rec->begin ? rec->begin : rec->rec.time;
	call.end = rec->end ? rec->end : rec->rec.time ? rec->rec.time : 1;
	call.result = rec->result;
	call.depth = rec->depth;
	call.flags = rec->rec.flags;
	call.nargs = rec->nargs < api->nargs ? rec->nargs : api->nargs;
	call.absent = rec->absent;
	call.args = (const void *)tail;
	call.strings = (const char *)tail + rec->nargs * 8ull;
	if (rec->rec.flags & NVS_CALL_SITED && call.stack == NVS_NONE)
		memcpy(&call.stack, rec->args, sizeof(call.stack));
	/* String lengths must fit the recorded bytes. */
	for (uint32_t i = 0, used = 0; i < call.nargs; i++) {
		if (api->kinds[i] != NVS_KIND_STRING || call.absent >> i & 1 ||
		    call.args[i] == UINT64_MAX)
			continue;
		used += (uint32_t)call.args[i] & 0xffffff;
		if (used > rec->bytes)
			call.nargs = i;
	}
	return deliver_call(c, &call);
}

static struct nvs_call *find_call(struct nvs_calls *c, const struct nvs_submission *s)
{
	uint32_t depth = s->rec->rec.flags >> NVS_SUB_CALL_SHIFT;
	struct thread_calls *t = nvs_number_get(&c->threads, s->rec->thread);

	struct open_call *o = depth && t ? find_open_call(t, depth) : NULL;

	return o ? &o->call : NULL;
}

static void count_submission(const struct nvs_calls *c, struct nvs_call *call,
			     const struct nvs_submission *s)
{
	uint64_t rang = !(s->rec->rec.flags & NVS_SUB_CONTINUED), bytes = nvs_submission_bytes(s);
	unsigned asked = c->sink.selects ? c->sink.selects(c->sink.select_arg, s, call)
					 : NVS_SELECTS_CALL | NVS_SELECTS_ITSELF;

	call->submissions += rang;
	call->entries += s->nentries;
	call->bytes += bytes;
	call->tally.unseen += nvs_submission_skipped(s);
	if (call->stack == NVS_NONE)
		call->stack = s->rec->stack;
	call->selected |= !!(asked & NVS_SELECTS_CALL);
	if (asked & NVS_SELECTS_ITSELF) {
		call->asked_submissions += rang;
		call->asked_entries += s->nentries;
		call->asked_bytes += bytes;
	}
}

int nvs_calls_submission(struct nvs_calls *c, const struct nvs_submission *s)
{
	struct nvs_call *call = find_call(c, s);

	if (call)
		count_submission(c, call, s);
	c->now = call;
	return c->sink.submission ? c->sink.submission(c->sink.arg, s, call) : 0;
}

void nvs_calls_op(struct nvs_calls *c, const struct nvs_op *op)
{
	if (!c->now)
		return;
	/* Copies identified as code were made in the same call. */
	if (op->kind == NVS_OP_CODE)
		nvs_tally_add_code(&c->now->tally, op);
	else
		nvs_tally_add(&c->now->tally, op);
}

int nvs_calls_record(struct nvs_calls *c, const struct nvs_rec *rec)
{
	switch (rec->type) {
	case NVS_REC_API:
		return take_api(c, (const void *)rec);
	case NVS_REC_CALL_BEGIN:
		return take_begin(c, (const void *)rec);
	case NVS_REC_CALL:
		return take_call(c, (const void *)rec);
	case NVS_REC_KERNEL:
		return c->sink.kernel ? c->sink.kernel(c->sink.arg, (const void *)rec) : 0;
	case NVS_REC_GRAPH:
		return c->sink.graph ? c->sink.graph(c->sink.arg, (const void *)rec) : 0;
	default:
		return 0;
	}
}

const struct nvs_call_api *nvs_calls_next_api(const struct nvs_calls *c, uint32_t *at)
{
	const struct nvs_call_api *api = NULL;

	while (!api && *at < c->apis.count)
		api = nvs_number_get(&c->apis, (*at)++);
	return api;
}

const struct nvs_call_api *nvs_calls_next_unobserved(const struct nvs_calls *c, uint32_t *at)
{
	const struct nvs_call_api *api;

	do
		api = nvs_calls_next_api(c, at);
	while (api && !api->passed);
	return api;
}

int nvs_calls_finish(struct nvs_calls *c)
{
	int r = 0;

	for (uint32_t i = 0; i < c->threads.count && !r; i++) {
		struct thread_calls *t = nvs_number_get(&c->threads, i);

		if (t)
			r = drop_open_calls(c, t, 1);
	}
	return r;
}

uint64_t nvs_call_ns(const struct nvs_trace *trace, uint64_t begin, uint64_t end)
{
	uint64_t a, b;

	if (end <= begin || !nvs_clock_mono(trace, begin, &a) || !nvs_clock_mono(trace, end, &b) ||
	    b <= a)
		return 0;
	return b - a < INT64_MAX ? b - a : INT64_MAX;
}
