/* SPDX-License-Identifier: MIT */
/* Reads a trace once and sums up per stack, thread and channel: whatever a table wants is made from
 * that. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report.h"

#define MAX_CELLS (1u << 24)

static uint32_t hash(uint32_t stack, uint32_t thread, uint32_t channel)
{
	uint64_t h = stack * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 29 ^ thread) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 32 ^ channel) * 0x94d049bb133111ebull;
	return (uint32_t)(h >> 32);
}

static struct nvs_cell *slot(struct nvs_source *s, uint32_t stack, uint32_t thread,
			     uint32_t channel)
{
	uint32_t i = hash(stack, thread, channel) & s->mask;

	for (;; i = (i + 1) & s->mask) {
		struct nvs_cell *c = s->cells + i;

		if (!c->used || (c->stack == stack && c->thread == thread && c->channel == channel))
			return c;
	}
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
			*slot(s, old[i].stack, old[i].thread, old[i].channel) = old[i];
	free(old);
	return 0;
}

static struct nvs_cell *find(struct nvs_source *s, uint32_t stack, uint32_t thread,
			     uint32_t channel)
{
	struct nvs_cell *c = s->last;

	if (c && c->stack == stack && c->thread == thread && c->channel == channel)
		return c;
	if (!s->cells || s->ncells >= s->mask / 4 * 3)
		if (grow(s))
			return NULL;
	c = slot(s, stack, thread, channel);
	if (!c->used) {
		c->used = true;
		c->stack = stack;
		c->thread = thread;
		c->channel = channel;
		c->trace = s->index;
		s->ncells++;
	}
	return s->last = c;
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *sub)
{
	struct nvs_source *s = arg;
	struct nvs_cell *c;

	if (s->options->has_range &&
	    (sub->number < s->options->first || sub->number > s->options->last))
		return 0;
	c = find(s, sub->rec->stack, sub->thread->thread, sub->channel->channel);
	if (!c) {
		fprintf(stderr, "nvsnoop-report: %s: too many call sites\n", s->path);
		return -E2BIG;
	}
	c->submissions += !(sub->rec->rec.flags & NVS_SUB_CONTINUED);
	c->entries += sub->nentries;
	c->bytes += sub->ndata;
	/* What comes in pieces, and what was left out by choice, is said by its entry. */
	for (uint32_t i = 0; i < sub->nentries; i++) {
		const struct nvs_gp_entry *e = sub->entries + i;

		if (e->state == NVS_SEG_FOLLOWS || e->state == NVS_SEG_SKIPPED)
			c->bytes += e->bytes;
	}
	return 0;
}

int nvs_source_read(struct nvs_source *s)
{
	static const struct nvs_consumer consumer = {.submission = on_submission};
	struct nvs_error err = {""};
	int r = nvs_trace_read(s->trace, &consumer, s, &err);

	nvs_progress_clear();
	if (r && err.text[0])
		fprintf(stderr, "nvsnoop-report: %s\n", err.text);
	return r;
}

void nvs_source_free(struct nvs_source *s)
{
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

static bool api_matches(const struct nvs_source *s, uint32_t stack, const char *want)
{
	const struct nvs_callsite *c = nvs_trace_callsite(s->trace, stack);

	return !fnmatch(want, c->api, 0) || (*c->runtime_api && !fnmatch(want, c->runtime_api, 0));
}

bool nvs_filter(const struct nvs_source *s, uint32_t thread, uint32_t channel, uint32_t stack)
{
	const struct nvs_options_report *o = s->options;
	bool ok = !o->nthread;

	for (uint32_t i = 0; i < o->nthread && !ok; i++)
		ok = thread_matches(s, thread, o->thread[i]);
	if (!ok)
		return false;
	ok = !o->nchannel;
	for (uint32_t i = 0; i < o->nchannel && !ok; i++)
		ok = strtoull(o->channel[i], NULL, 0) == channel;
	if (!ok)
		return false;
	ok = !o->napi;
	for (uint32_t i = 0; i < o->napi && !ok; i++)
		ok = api_matches(s, stack, o->api[i]);
	return ok;
}

bool nvs_filter_cell(const struct nvs_source *s, const struct nvs_cell *cell)
{
	return cell->used && nvs_filter(s, cell->thread, cell->channel, cell->stack);
}
