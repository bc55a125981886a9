/* SPDX-License-Identifier: MIT */
/* Formats the text of --hang: which calls wait for which channels, and what those wait for,
 * following releases to the end of the chain. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/hang/hang.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"

#define NAME_WIDTH 60
#define MAX_LISTED 8u /* threads and channels described; the tables list all */
typedef unsigned long long ull; /* for printing */

/* ---- one submission ---- */

/* Writes the name without its arguments. */
static void print_kernel(FILE *f, const char *mangled)
{
	char *name = nvs_demangle(mangled), *end = name ? strchr(name, '(') : NULL;

	if (end && end > name)
		*end = 0;
	fputs(NVS_TEXT(name ? name : mangled, NAME_WIDTH), f);
	free(name);
}

void nvs_hang_print_work(FILE *f, const struct nvs_unfinished *u)
{
	if (u->kernel) {
		fputs("kernel ", f);
		print_kernel(f, u->kernel);
	} else if (u->launches) {
		fputs(NVS_COUNT(u->launches, "kernel", "kernels"), f);
	} else if (u->copies) {
		fprintf(f, "a copy of %s", NVS_BYTES(u->copied));
	} else if (u->memsets) {
		fputs("a memset", f);
	}
}

static bool has_work(const struct nvs_unfinished *u)
{
	return u->kernel || u->launches || u->copies || u->memsets;
}

static void print_submission(FILE *f, const struct nvs_hang_channel *c,
			     const struct nvs_unfinished *u)
{
	const struct nvs_callsite *site = nvs_trace_callsite(c->in->source->trace, u->stack);
	const char *api = nvs_api_name(site, u->api);

	fprintf(f, "submission %llu (", (ull)u->number);
	nvs_hang_print_work(f, u);
	fprintf(f, "%sby %s", has_work(u) ? ", " : "",
		NVS_TEXT(*api ? api : "an unknown call", NAME_WIDTH));
	if (*site->site)
		fprintf(f, " at %s", NVS_TEXT(site->site, NAME_WIDTH));
	fputc(')', f);
}

/* ---- what a channel waits for ---- */

const char *nvs_hang_condition(const struct nvs_unfinished_sem *sem)
{
	switch (sem->op) {
	case NVS_SEM_EQ:
		return "==";
	case NVS_SEM_AND:
		return "&";
	case NVS_SEM_NOR:
		return "nor";
	default:
		return ">=";
	}
}

static void print_semaphore(FILE *f, const struct nvs_hang_channel *c)
{
	static const char *const wanted[] = {
		[NVS_SEM_EQ] = "is",
		[NVS_SEM_GE] = "has reached",
		[NVS_SEM_CIRC_GE] = "has reached",
		[NVS_SEM_AND] = "has a bit of",
		[NVS_SEM_NOR] = "lacks a bit of",
	};
	const char *is = c->sem->op <= NVS_SEM_NOR ? wanted[c->sem->op] : "is";

	fprintf(f, "the semaphore at %#llx %s %llu", (ull)c->sem->address, is,
		(ull)c->sem->payload);
	if (c->has_value)
		fprintf(f, "; it %s %llu", c->live ? "is" : "was last", (ull)c->value);
	else
		fputs("; its value is unknown", f);
}

static void print_channel(FILE *f, struct nvs_hang_channel *c);

static void print_releaser(FILE *f, struct nvs_hang_channel *c)
{
	if (!c->releaser) {
		fputs(" No outstanding submission writes it: the program itself, another "
		      "process or a kernel must.",
		      f);
		return;
	}
	fprintf(f, " Channel %u's ", c->releaser->channel->number);
	print_submission(f, c->releaser, c->releasing_submission);
	fputs(" would write it", f);
	if (c->releaser == c) {
		fputs(", but comes after it: the channel waits for itself.", f);
		return;
	}
	fputc('.', f);
	if (c->releaser->in_progress) {
		fprintf(f, " Channels %u and %u therefore wait for each other%s.",
			c->releaser->channel->number, c->channel->number,
			c->releaser->releaser == c ? "" : ", through other channels");
		return;
	}
	if (!c->releaser->described) {
		fputc(' ', f);
		print_channel(f, c->releaser);
	}
}

static void print_queued(FILE *f, const struct nvs_hang_channel *c)
{
	uint64_t behind = nvs_unfinished_count(c->channel) - 1;

	if (behind)
		fprintf(f, "; %s queued after it",
			NVS_COUNT(behind, "more submission is", "more submissions are"));
}

/* Describes the channel's first submission and, recursively, what it waits for. */
static void print_channel(FILE *f, struct nvs_hang_channel *c)
{
	c->described = c->in_progress = true;
	fprintf(f, "On channel %u, ", c->channel->number);
	print_submission(f, c, c->first);
	switch (c->state) {
	case NVS_HANG_NOT_DONE:
		fputs(" has not completed", f);
		break;
	case NVS_HANG_WAITS:
		fputs(" waits until ", f);
		break;
	case NVS_HANG_EITHER:
		fputs(" has not completed: it is running, or waits until ", f);
		break;
	}
	if (c->sem)
		print_semaphore(f, c);
	print_queued(f, c);
	fputc('.', f);
	if (c->sem)
		print_releaser(f, c);
	c->in_progress = false;
}

/* ---- calls ---- */

static void print_wait(FILE *f, const struct nvs_hang *h, const struct nvs_hang_call *c)
{
	const struct nvs_trace_channel *tc =
		c->channel ? nvs_trace_channel_at(h->of->source->trace, c->channel->channel->number)
			   : NULL;
	char text[32];

	switch (c->wait) {
	case NVS_HANG_FOR_UNKNOWN:
		break;
	case NVS_HANG_FOR_NOTHING:
		fputs(h->nunknown ? "" : ", but the GPU has done everything it waits for", f);
		break;
	case NVS_HANG_FOR_CHANNEL:
		fprintf(f, ", waiting for channel %u", c->channel->channel->number);
		break;
	case NVS_HANG_FOR_ALL:
		fprintf(f, ", waiting for %u channels", h->nchannels);
		break;
	case NVS_HANG_FOR_SPACE:
		fprintf(f, ", waiting for space in the ring of channel %u: %s of",
			c->channel->channel->number,
			nvs_format_grouped(text, c->channel->channel->entries));
		fprintf(f, " %s entries are not done",
			nvs_format_grouped(text, tc && tc->known ? tc->rec.entries : 0));
	}
}

static void print_call(FILE *f, const struct nvs_hang *h, const struct nvs_hang_call *c)
{
	struct nvs_trace *t = h->of->source->trace;
	const struct nvs_trace_thread *thread = nvs_trace_thread_at(t, c->call->thread);
	const struct nvs_callsite *site = nvs_trace_callsite(t, c->call->stack);

	fprintf(f, "Thread %u", c->call->thread);
	if (thread && thread->name[0])
		fprintf(f, " (%s)", NVS_TEXT(thread->name, NAME_WIDTH));
	fprintf(f, " has been in %s", NVS_TEXT(nvs_call_name(c->call->api), NAME_WIDTH));
	if (*site->site)
		fprintf(f, " (at %s)", NVS_TEXT(site->site, NAME_WIDTH));
	fprintf(f, " for %s", NVS_DURATION(nvs_call_ns(t, c->call->begin, c->call->end)));
	print_wait(f, h, c);
	fputs(". ", f);
}

/* ---- the whole text ---- */

/* After a kill, calls in flight are only in the spool. */
static bool has_lost_spool(const struct nvs_hang *h)
{
	const struct nvs_session *s = nvs_trace_session(h->of->source->trace);

	return s->end != NVS_END_ORDERLY && s->end != NVS_END_RUNNING && !s->spool_read;
}

/* Describes how the program ended, if no call was in flight. */
static void print_end(FILE *f, const struct nvs_hang *h)
{
	const struct nvs_session *s = nvs_trace_session(h->of->source->trace);

	switch (s->end) {
	case NVS_END_ORDERLY:
		fputs(nvs_trace_goes_on(h->of->source->trace)
			      ? "The program was running when its recording ended"
			      : "The program exited normally",
		      f);
		break;
	case NVS_END_RUNNING:
		fputs("The program is running", f);
		break;
	default:
		fputs("The program was killed or crashed", f);
	}
	if (!h->of->has_calls)
		fputs("; the trace has no calls", f);
	else if (has_lost_spool(h))
		fputs("; calls in flight are unknown, since the trace has no spool", f);
	else
		fputs(", and no call was in flight", f);
}

static void print_nothing(FILE *f, const struct nvs_hang *h)
{
	print_end(f, h);
	if (!h->nunknown && has_lost_spool(h)) {
		fputs(". All submissions in the trace were done. ", f);
		return;
	}
	if (!h->nunknown) {
		fputs(". All submissions are done: nothing hangs. ", f);
		return;
	}
	fprintf(f, ". For the last submissions of %s it is unknown whether they were done. ",
		NVS_COUNT(h->nunknown, "channel", "channels"));
}

static void print_rest(FILE *f, const struct nvs_hang *h)
{
	uint32_t listed = 0, rest = 0;

	for (uint32_t i = 0; i < h->nchannels; i++) {
		listed += h->channels[i].described;
		rest += !h->channels[i].described;
	}
	if (listed && !rest && !h->nunknown)
		fputs(" Nothing else is outstanding.", f);
	if (rest)
		fprintf(f, " %s outstanding submissions.",
			NVS_COUNT(rest, "more channel has", "more channels have"));
	if (h->nunknown && (listed || h->ncalls))
		fprintf(f, " For %s it is unknown what is done.",
			NVS_COUNT(h->nunknown, "channel", "channels"));
}

static void print_all(FILE *f, struct nvs_hang *h)
{
	uint32_t listed = 0;

	if (!h->ncalls && !h->nchannels) {
		print_nothing(f, h);
		return;
	}
	for (uint32_t i = 0; i < h->ncalls && i < MAX_LISTED; i++)
		print_call(f, h, h->calls + i);
	if (h->ncalls > MAX_LISTED)
		fprintf(f, "%u more threads are in calls. ", h->ncalls - MAX_LISTED);
	if (!h->ncalls) {
		print_end(f, h);
		fputs(". Not all submissions are done. ", f);
	}
	for (uint32_t i = 0; i < h->ncalls && listed < MAX_LISTED; i++)
		if (h->calls[i].channel && !h->calls[i].channel->described) {
			fputs(listed++ ? " " : "", f);
			print_channel(f, h->calls[i].channel);
		}
	for (uint32_t i = 0; i < h->nchannels && listed < MAX_LISTED; i++)
		if (!h->channels[i].described) {
			fputs(listed++ ? " " : "", f);
			print_channel(f, h->channels + i);
		}
	print_rest(f, h);
}

int nvs_hang_format_text(struct nvs_hang *h)
{
	size_t n;
	FILE *f = open_memstream(&h->text, &n);

	if (f)
		print_all(f, h);
	if (nvs_budget_end_text(f, &h->text))
		return -ENOMEM;
	while (n && h->text[n - 1] == ' ')
		h->text[--n] = 0;
	return 0;
}

void nvs_hang_print_oldest(FILE *f, struct nvs_hang *h)
{
	const struct nvs_hang_call *c = h->calls;
	struct nvs_hang_channel *channel;

	for (uint32_t i = 1; i < h->ncalls; i++)
		c = h->calls[i].call->begin < c->call->begin ? h->calls + i : c;
	if (!h->ncalls)
		return;
	print_wait(f, h, c);
	fputc('.', f);
	channel = c->wait == NVS_HANG_FOR_ALL ? h->channels : c->channel;
	if (channel) {
		fputc(' ', f);
		print_channel(f, channel);
	}
}

/* ---- over ranks ---- */

static void print_rank(FILE *f, const struct nvs_hang *h)
{
	struct nvs_value rank = {0};

	nvs_source_number(h->of->source, NVS_ATTR_RANK, &rank);
	if (rank.kind == NVS_VALUE_COUNT)
		fprintf(f, "rank %llu", (ull)rank.count);
	else
		fputs(NVS_TEXT(h->of->source->path, NAME_WIDTH), f);
}

/* Lists the ranks for which WHICH returns true. Returns their number. F may be NULL. */
static uint32_t print_list(FILE *f, const struct nvs_hang *hangs, uint32_t n, uint64_t number,
			   bool (*which)(const struct nvs_hang *h, uint64_t number))
{
	uint32_t all = 0, said = 0;

	for (uint32_t i = 0; i < n; i++)
		all += which(hangs + i, number);
	for (uint32_t i = 0; i < n && f; i++) {
		if (!which(hangs + i, number))
			continue;
		if (said)
			fputs(said + 1 == all ? " and " : ", ", f);
		if (said == MAX_LISTED && all > MAX_LISTED + 1) {
			fprintf(f, "%u others", all - said);
			break;
		}
		print_rank(f, hangs + i);
		said++;
	}
	return all;
}

static bool waits_in(const struct nvs_hang *h, uint64_t number)
{
	return h->collective && h->collective->collective == number;
}

static bool has_not_launched(const struct nvs_hang *h, uint64_t number)
{
	return h->of->has_calls && h->of->collectives < number;
}

static void print_lacking(FILE *f, const struct nvs_hang *h)
{
	const struct nvs_session *s = nvs_trace_session(h->of->source->trace);

	fputs(" According to its trace, ", f);
	print_rank(f, h);
	fprintf(f, " has launched %llu", (ull)h->of->collectives);
	if (s->end == NVS_END_ORDERLY)
		fputs(nvs_trace_goes_on(h->of->source->trace)
			      ? " and was running when its recording ended."
			      : " and exited normally.",
		      f);
	else if (h->ncalls)
		fprintf(f, " and is in %s.",
			NVS_TEXT(nvs_call_name(h->calls->call->api), NAME_WIDTH));
	else
		fputs(s->end == NVS_END_RUNNING ? " and is running, in no call."
						: " and ended abnormally, in no call.",
		      f);
}

/* The job may have ranks without a trace here, one of which may be the reason. */
static void print_none_lacking(FILE *f, const struct nvs_hang *hangs, uint32_t n)
{
	struct nvs_value size = {0};

	nvs_source_number(hangs->of->source, NVS_ATTR_WORLD_SIZE, &size);
	if (size.kind != NVS_VALUE_COUNT)
		fputs(", and all ranks with a trace here have launched it.", f);
	else if (size.count <= n)
		fputs(", and all ranks have launched it.", f);
	else
		fprintf(f,
			", and the ranks here have launched it; %llu of the job's %llu ranks have "
			"no trace here and may not have launched it.",
			(ull)(size.count - n), (ull)size.count);
}

static void print_ranks(FILE *f, const struct nvs_hang *hangs, uint32_t n, uint64_t first)
{
	const char *name = NULL;
	uint32_t missing;

	for (uint32_t i = 0; i < n && !name; i++)
		if (waits_in(hangs + i, first))
			name = hangs[i].collective->kernel;
	fprintf(f, "Collective %llu, ", (ull)first);
	print_kernel(f, name ? name : "");
	fputs(", is not done on ", f);
	print_list(f, hangs, n, first, waits_in);
	missing = print_list(NULL, hangs, n, first, has_not_launched);
	if (!missing) {
		print_none_lacking(f, hangs, n);
		return;
	}
	fputs("; ", f);
	print_list(f, hangs, n, first, has_not_launched);
	fputs(missing == 1 ? " has not launched it." : " have not launched it.", f);
	for (uint32_t i = 0, listed = 0; i < n && listed < MAX_LISTED; i++)
		if (has_not_launched(hangs + i, first)) {
			print_lacking(f, hangs + i);
			listed++;
		}
}

/* The rank whose GPU faulted first; NULL: none did. */
static const struct nvs_hang *find_faulted(const struct nvs_hang *hangs, uint32_t n)
{
	const struct nvs_hang *found = NULL;
	uint64_t at, earliest = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_unfinished_work *o = hangs[i].of;

		if (o->faults && nvs_clock_real(o->source->trace, o->fault_time, &at) &&
		    at < earliest) {
			earliest = at;
			found = hangs + i;
		}
	}
	return found;
}

static void print_faulted(FILE *f, const struct nvs_hang *h)
{
	fputs("The GPU of ", f);
	print_rank(f, h);
	fprintf(f, " faulted first (Xid\u00a0%u); --fault describes it.", h->of->fault_number);
}

int nvs_hang_format_ranks(const struct nvs_hang *hangs, uint32_t n, char **text)
{
	const struct nvs_hang *faulted = find_faulted(hangs, n);
	uint64_t first = 0;
	size_t size;
	FILE *f;

	*text = NULL;
	for (uint32_t i = 0; i < n; i++)
		if (hangs[i].collective && (!first || hangs[i].collective->collective < first))
			first = hangs[i].collective->collective;
	if ((!first && !faulted) || n < 2)
		return 0;
	f = open_memstream(text, &size);
	if (f && faulted)
		print_faulted(f, faulted);
	if (f && faulted && first)
		fputc(' ', f);
	if (f && first)
		print_ranks(f, hangs, n, first);
	return nvs_budget_end_text(f, text);
}
