/* SPDX-License-Identifier: MIT */
/* Reads a trace once and sums up per stack, thread and channel: whatever a table wants is made from
 * that. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/calls.h"
#include "decode/calls/attach.h"
#include "decode/base/hash.h"
#include "decode/calls/continuity.h"
#include "decode/report/report.h"
#include "decode/trace/stream.h"

#define MAX_CELLS (1u << 24)

/*
 * What tells cells apart: stack, thread, channel and the API of the call, as a stack that ends
 * inside the driver may be that of several. Names a cell for good, though cells move.
 */
static uint64_t cell_tag(const struct nvs_source *s, const struct nvs_submission *sub)
{
	const uint32_t key[] = {sub->rec->stack, sub->thread->thread, sub->channel->channel,
				s->now_api ? s->now_api->number : NVS_NONE};

	return nvs_hash64(key, sizeof(key));
}

static struct nvs_cell *slot(struct nvs_source *s, uint64_t tag)
{
	uint32_t i = (uint32_t)tag & s->mask;

	while (s->cells[i].used && s->cells[i].tag != tag)
		i = (i + 1) & s->mask;
	return s->cells + i;
}

static int grow(struct nvs_source *s)
{
	uint32_t room = s->cells ? (s->mask + 1) * 2 : 1024;
	struct nvs_cell *old = s->cells;
	uint32_t n = old ? s->mask + 1 : 0;

	if (room > MAX_CELLS)
		return -E2BIG;
	s->cells = calloc(room, sizeof(*s->cells));
	if (!s->cells) {
		s->cells = old;
		return -ENOMEM;
	}
	s->mask = room - 1;
	s->last = NULL;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].used)
			*slot(s, old[i].tag) = old[i];
	free(old);
	return 0;
}

static struct nvs_cell *find(struct nvs_source *s, const struct nvs_submission *sub, uint64_t tag)
{
	struct nvs_cell *c = s->last;

	if (c && c->tag == tag)
		return c;
	if (!s->cells || s->ncells >= s->mask / 4 * 3)
		if (grow(s))
			return NULL;
	c = slot(s, tag);
	if (!c->used) {
		c->used = true;
		c->tag = tag;
		c->stack = sub->rec->stack;
		c->thread = sub->thread->thread;
		c->channel = sub->channel->channel;
		c->trace = s->index;
		c->api = s->now_api;
		s->ncells++;
	}
	return s->last = c;
}

static struct nvs_cell *cell_of_tag(struct nvs_source *s, uint64_t tag)
{
	struct nvs_cell *c = s->cells ? slot(s, tag) : NULL;

	return c && c->used ? c : NULL;
}

static void on_op(void *arg, const struct nvs_submission *sub, const struct nvs_op *op)
{
	struct nvs_source *s = arg;

	if (op->kind == NVS_OP_RELEASE && !s->status)
		s->status = nvs_continuity_release(s->progress, s->trace, sub, op);
	if (!s->now)
		return;
	if (op->kind == NVS_OP_CODE) {
		struct nvs_cell *c = cell_of_tag(s, op->code.tag);

		if (c)
			nvs_tally_code(&c->tally, op);
	} else {
		nvs_tally_op(&s->now->tally, op);
	}
}

static bool counted(const struct nvs_source *s, const struct nvs_submission *sub)
{
	return !s->options->has_range ||
	       (sub->number >= s->options->first && sub->number <= s->options->last);
}

static int on_api(void *arg, const struct nvs_submission *sub, const struct nvs_call *call)
{
	((struct nvs_source *)arg)->now_api = call ? call->api : NULL;
	return 0;
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *sub)
{
	struct nvs_source *s = arg;
	struct nvs_cell *c = NULL;
	int r = nvs_calls_submission(s->calls, sub);
	uint64_t tag;

	if (r)
		return r;
	tag = cell_tag(s, sub);
	if (counted(s, sub)) {
		c = find(s, sub, tag);
		if (!c) {
			fprintf(stderr, "nvsnoop-report: %s: too many call sites\n", s->path);
			return -E2BIG;
		}
		c->submissions += !(sub->rec->rec.flags & NVS_SUB_CONTINUED);
		c->entries += sub->nentries;
		c->bytes += nvs_submission_bytes(sub);
		c->tally.unseen += nvs_submission_skipped(sub);
	}
	if (!s->follow)
		return 0;
	s->now = c;
	r = nvs_attach_submission(s->follow, sub, tag);
	return r ? r : s->status;
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	struct nvs_source *s = arg;

	int r = nvs_calls_record(s->calls, rec);

	s->has_calls |= rec->type == NVS_REC_CALL;
	if (r || !s->follow)
		return r;
	nvs_continuity_record(s->progress, rec);
	return nvs_attach_record(s->follow, rec);
}

/* Reports that print operations or methods follow them in a second pass of their own. */
static bool counts_operations(const struct nvs_options_report *o)
{
	return o->kind != NVS_REPORT_DUMP && o->kind != NVS_REPORT_OPS &&
	       (o->kind < NVS_REPORT_SYNC || o->kind > NVS_REPORT_TIMELINE);
}

int nvs_source_read(struct nvs_source *s)
{
	struct nvs_stream_consumer consumer = {.submission = on_submission, .record = on_record};
	struct nvs_attach_sink sink = {.op = on_op, .arg = s};
	struct nvs_calls_sink calls = {.submission = on_api, .arg = s};
	struct nvs_error err = {""};
	int r;

	s->calls = nvs_calls_new(s->trace, &calls);
	if (!s->calls)
		return -ENOMEM;
	if (counts_operations(s->options)) {
		consumer.flags = NVS_READ_WHOLE;
		s->follow = nvs_attach_new(s->trace, &sink);
		s->progress = nvs_continuity_new();
		if (!s->follow || !s->progress)
			return -ENOMEM;
	}
	r = nvs_stream_read(s->trace, &consumer, s, &err);
	/* What was in flight at the end is not at the beginning of the next pass. */
	if (!r)
		r = nvs_calls_end(s->calls);
	nvs_progress_clear();
	if (r && err.text[0])
		fprintf(stderr, "nvsnoop-report: %s\n", err.text);
	nvs_attach_free(s->follow);
	nvs_continuity_free(s->progress);
	s->follow = NULL;
	s->progress = NULL;
	return r;
}

void nvs_source_free(struct nvs_source *s)
{
	nvs_attach_free(s->follow);
	nvs_continuity_free(s->progress);
	nvs_calls_free(s->calls);
	nvs_trace_close(s->trace);
	free(s->cells);
	memset(s, 0, sizeof(*s));
}

/* ---- filters ---- */

static bool thread_matches(const struct nvs_source *s, uint32_t number, const char *want)
{
	const struct nvs_trace_thread *t = nvs_trace_thread_at(s->trace, number);
	char *end;
	unsigned long n = strtoul(want, &end, 10);

	if (*want >= '0' && *want <= '9' && !*end && (n == number || (t && n == t->tid)))
		return true;
	return t && t->name[0] && !fnmatch(want, t->name, 0);
}

bool nvs_filter_thread(const struct nvs_source *s, uint32_t thread)
{
	const struct nvs_options_report *o = s->options;
	bool ok = !o->nthread;

	for (uint32_t i = 0; i < o->nthread && !ok; i++)
		ok = thread_matches(s, thread, o->thread[i]);
	return ok;
}

bool nvs_filter_channel(const struct nvs_source *s, uint32_t channel)
{
	const struct nvs_options_report *o = s->options;
	bool ok = !o->nchannel;

	for (uint32_t i = 0; i < o->nchannel && !ok; i++)
		ok = strtoull(o->channel[i], NULL, 0) == channel;
	return ok;
}

bool nvs_filter_api(const struct nvs_source *s, const char *api, uint32_t stack)
{
	const struct nvs_options_report *o = s->options;
	const struct nvs_callsite *c = o->napi ? nvs_trace_callsite(s->trace, stack) : NULL;
	const char *caller = c ? strstr(c->api, " < ")
			       : NULL; /* of libcuda, where it has no name itself */
	bool ok = !o->napi;

	for (uint32_t i = 0; i < o->napi && !ok; i++)
		ok = !fnmatch(o->api[i], api, 0) || !fnmatch(o->api[i], c->api, 0) ||
		     (caller && !fnmatch(o->api[i], caller + 3, 0)) ||
		     (*c->runtime_api && !fnmatch(o->api[i], c->runtime_api, 0));
	return ok;
}

bool nvs_filter_submission(const struct nvs_source *s, const struct nvs_submission *sub)
{
	return counted(s, sub) && nvs_filter_channel(s, sub->channel->channel) &&
	       nvs_filter_thread(s, sub->thread->thread);
}

bool nvs_filter(const struct nvs_source *s, const struct nvs_submission *sub)
{
	return nvs_filter_submission(s, sub) &&
	       (!s->options->napi || nvs_filter_api(s, nvs_source_api(s, sub), sub->rec->stack));
}

const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api)
{
	return site->is_public || !api || !*api->name ? site->api : api->name;
}

const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub)
{
	return nvs_api_name(nvs_trace_callsite(s->trace, sub->rec->stack), s->now_api);
}

bool nvs_filter_cell(const struct nvs_source *s, const struct nvs_cell *cell)
{
	return cell->used && nvs_filter_channel(s, cell->channel) &&
	       nvs_filter_thread(s, cell->thread) &&
	       (!s->options->napi ||
		nvs_filter_api(s,
			       nvs_api_name(nvs_trace_callsite(s->trace, cell->stack), cell->api),
			       cell->stack));
}
