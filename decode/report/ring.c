/* SPDX-License-Identifier: MIT */
/* --ring: how full each channel's GPFIFO ring and its part of the pushbuffer were, and the calls
 * that waited inside the driver with the cause the trace shows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/ring_occupancy.h"
#include "decode/report/core/trace_columns.h"
#include "decode/query/durations.h"
#include "decode/analysis/ring_stalls.h"
#include "decode/report/core/report.h"

struct ring_channel {
	uint32_t number; /* its key */
	uint64_t submissions, ring_full, pushbuffer_full;
	uint32_t ring_max, unfetched_max;
	uint64_t pushbuffer_max, chunk;
	uint64_t calls, ns; /* calls that waited for room, and their time */
	bool known, got; /* progress was seen; GP_GET was */
};

struct ring_state {
	struct nvs_source *source;
	struct nvs_ring_occupancy *pending;
	struct nvs_rows channels;
	struct nvs_stalls waits;
};

/* ---- callbacks of the pass ---- */

/* Entries that the GPU had not fetched, by GP_GET in USERD. */
static void note_unfetched(struct ring_channel *c, const struct nvs_submission *s)
{
	uint32_t ring = s->channel->known ? s->channel->rec.entries : 0, unfetched;

	if (s->get == NVS_NONE || s->get >= ring || s->rec->new_put >= ring)
		return;
	unfetched = (s->rec->new_put + ring - s->get) % ring;
	c->got = true;
	c->unfetched_max = unfetched > c->unfetched_max ? unfetched : c->unfetched_max;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct ring_state *st = arg;
	struct ring_channel *c = nvs_rows_at(&st->channels, &s->channel->channel);
	struct nvs_occupancy fill;
	int r = nvs_ring_occupancy_submission(st->pending, s, &fill);

	if (r || !c)
		return r ? r : -ENOMEM;
	nvs_stalls_submission(&st->waits, s, &fill);
	if (!nvs_filter_selects(st->source, s, call))
		return 0;
	note_unfetched(c, s);
	c->submissions += !(s->rec->rec.flags & NVS_SUB_CONTINUED);
	c->known |= fill.known;
	c->ring_full += fill.ring_full;
	c->pushbuffer_full += fill.pushbuffer_full;
	if (fill.known && fill.ring > c->ring_max)
		c->ring_max = fill.ring;
	if (fill.known && fill.pushbuffer > c->pushbuffer_max)
		c->pushbuffer_max = fill.pushbuffer;
	c->chunk = fill.chunk > c->chunk ? fill.chunk : c->chunk;
	return 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	if (op->kind == NVS_OP_RELEASE)
		nvs_ring_occupancy_release(((struct ring_state *)arg)->pending, s, op);
	return 0;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct ring_state *st = each;

	st->source = s;
	st->pending = nvs_ring_occupancy_new();
	st->channels = NVS_ROWS(struct ring_channel, number);
	reader->submission = on_submission;
	reader->op = on_op;
	reader->calls = true;
	return st->pending ? nvs_stalls_begin(&st->waits, s) : -ENOMEM;
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct ring_state *st = each;

	nvs_ring_occupancy_free(st->pending);
	st->pending = NULL;
	return 0;
}

/* ---- columns ---- */

struct ring_row {
	const struct nvs_source *source;
	const struct ring_channel *channel; /* NULL: a call */
	const struct nvs_stall *wait;
	char cause[64], others[96];
};

static const struct nvs_trace_channel *find_channel(const struct ring_row *r)
{
	uint32_t number = r->channel ? r->channel->number : r->wait->channel;
	const struct nvs_trace_channel *c = nvs_trace_channel_at(r->source->trace, number);

	return c && c->known ? c : NULL;
}

static const struct nvs_callsite *callsite_of(const struct ring_row *r)
{
	return r->wait && r->wait->stack != NVS_NONE
		       ? nvs_trace_callsite(r->source->trace, r->wait->stack)
		       : NULL;
}

static uint32_t tid_of(const struct ring_row *r)
{
	const struct nvs_trace_thread *t =
		r->wait ? nvs_trace_thread_at(r->source->trace, r->wait->thread) : NULL;

	return t ? t->tid : 0;
}

static const struct ring_channel no_channel;

static const struct ring_channel *counters_of(const struct ring_row *r)
{
	return r->channel ? r->channel : &no_channel;
}

#define OF_CHANNELS(COL)                                                                           \
	COL(guarded, gpfifo_entries, "ring", 0, 0, find_channel(r), find_channel(r)->rec.entries)  \
	COL(known, submissions, "subs", 0, 0, r->channel, counters_of(r)->submissions)             \
	COL(known, ring_used_max, "used", 0, 0, counters_of(r)->known, counters_of(r)->ring_max)   \
	COL(known, ring_full, "ring full", 0, 0, counters_of(r)->known, counters_of(r)->ring_full) \
	COL(known, unfetched_max, "not taken", DETAIL, 0, counters_of(r)->got,                     \
	    counters_of(r)->unfetched_max)                                                         \
	COL(nonzero, pushbuffer_bytes, "pushbuffer", IF_KNOWN, 0, counters_of(r)->chunk)           \
	COL(known, pushbuffer_used_max_bytes, "pb used", 0, 0, counters_of(r)->known,              \
	    counters_of(r)->pushbuffer_max)                                                        \
	COL(known, pushbuffer_full, "pb full", 0, 0, counters_of(r)->known,                        \
	    counters_of(r)->pushbuffer_full)                                                       \
	COL(known, full_calls, "calls", 0, 0, counters_of(r)->known, counters_of(r)->calls)        \
	COL(us, full_us_total, "us waiting", 0, 0, counters_of(r)->known, counters_of(r)->ns)
#define OF_CALLS(COL)                                                                              \
	COL(by, time_ns, "seconds", 0, 1, nvs_source_time, r->source, r->wait,                     \
	    r->wait ? r->wait->begin : 0)                                                          \
	COL(guarded, thread, "thr", 0, 0, r->wait && r->wait->thread != NVS_NONE, r->wait->thread) \
	COL(nonzero, tid, "tid", DETAIL, 0, tid_of(r))                                             \
	COL(us, host_us, "host us", 0, 0, r->wait, r->wait->ns)                                    \
	COL(us, host_us_p50, "us p50", 0, 2, r->wait && r->wait->usual, r->wait->usual)            \
	COL(text, cause, "cause", NAME, 0, r->cause)                                               \
	COL(text, others_inside, "others inside", NAME_IF_KNOWN, 3, r->others)                     \
	COL(text, api, "api", NAME, 0, r->wait ? nvs_call_name(r->wait->api) : "")                 \
	COL(text, callsite, "callsite", NAME, 1, callsite_of(r) ? callsite_of(r)->site : "")       \
	COL(text, module, "module", DETAIL, 0, callsite_of(r) ? callsite_of(r)->site_module : "")

#define COLUMNS(COL)                                                                  \
	COL(text, kind, "kind", 0, 0, r->channel ? "channel" : "call")                \
	COL(known, channel, "chan", 0, 0, r->channel || r->wait->channel != NVS_NONE, \
	    r->channel ? r->channel->number : r->wait->channel)                       \
	OF_CHANNELS(COL)                                                              \
	OF_CALLS(COL)                                                                 \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct ring_row, COLUMNS)

#define CHANNEL_COLUMNS(COL)             \
	COL(same, channel, "chan", 0, 0) \
	OF_CHANNELS(COL##_SAME)          \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(channel_columns, struct ring_row, CHANNEL_COLUMNS)

#define CALL_COLUMNS(COL)                     \
	OF_CALLS(COL##_SAME)                  \
	COL(same, channel, "chan", DETAIL, 0) \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(call_columns, struct ring_row, CALL_COLUMNS)

/* ---- printing ---- */

#define SHOWN 20u /* calls without -n */

static size_t add_channel_rows(struct nvs_run *run, struct ring_row *rows)
{
	size_t n = 0;

	for (uint32_t k = 0; k < run->n; k++) {
		struct ring_state *st = (struct ring_state *)run->each + k;

		for (size_t i = 0; i < st->channels.n; i++) {
			const struct ring_channel *c = st->channels.row[i];

			if (!c->submissions || !nvs_filter_channel(st->source, c->number))
				continue;
			if (rows)
				rows[n] = (struct ring_row){.source = st->source, .channel = c};
			n++;
		}
	}
	return n;
}

static size_t add_call_rows(struct nvs_run *run, struct ring_row *rows)
{
	size_t n = 0;

	for (uint32_t k = 0; k < run->n; k++) {
		const struct ring_state *st = (struct ring_state *)run->each + k;

		for (size_t i = 0; i < st->waits.n; i++, n++) {
			struct ring_row *r;

			if (!rows)
				continue;
			r = rows + n;
			*r = (struct ring_row){.source = st->source, .wait = st->waits.wait + i};
			nvs_stall_cause(r->wait, r->cause, sizeof(r->cause));
			nvs_stall_others(&st->waits, r->wait, r->others, sizeof(r->others));
		}
	}
	return n;
}

/* Finds the calls that waited, and adds them to their channels. */
static int finish_trace(struct ring_state *st)
{
	int r;

	nvs_stalls_finish(&st->waits);
	r = nvs_stalls_find_others(&st->waits);
	for (size_t i = 0; i < st->waits.n && !r; i++) {
		const struct nvs_stall *w = st->waits.wait + i;
		struct ring_channel *c = w->channel == NVS_NONE
						 ? NULL
						 : nvs_rows_at(&st->channels, &w->channel);

		if (!c)
			continue;
		c->calls++;
		c->ns += w->ns;
	}
	return r;
}

/* Two tables: -s applies to the one with that column, -n to the calls. */
static int print_text(struct nvs_run *run, struct ring_row *rows, size_t nchannels, size_t ncalls)
{
	struct nvs_table channels = NVS_RUN_TABLE(run, channel_columns, "submissions");
	struct nvs_table calls = NVS_RUN_TABLE(run, call_columns, "host_us");
	struct nvs_print_options of_channels = run->options->print, of_calls = of_channels;
	size_t told = 0;
	int r;

	of_channels.sort = nvs_table_applicable(&channels, of_channels.sort);
	of_calls.sort = nvs_table_applicable(&calls, of_calls.sort);
	of_channels.rows = 0;
	if (!of_calls.has_rows)
		of_calls.rows = SHOWN;
	for (size_t i = 0; i < nchannels; i++)
		if (rows[i].channel->known)
			rows[told++] = rows[i];
	r = nvs_table_print_array(run->out, &channels, rows, told, sizeof(*rows), &of_channels);
	if (!r && told < nchannels)
		fprintf(run->out->file, "%zu channel%s with unknown progress\n", nchannels - told,
			nchannels - told == 1 ? "" : "s");
	if (r || !ncalls)
		return r;
	fputc('\n', run->out->file);
	return nvs_table_print_array(run->out, &calls, rows + nchannels, ncalls, sizeof(*rows),
				     &of_calls);
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	size_t nchannels, ncalls;
	struct ring_row *rows;
	uint64_t dropped = 0;
	int r = 0;

	for (uint32_t k = 0; k < run->n && !r; k++) {
		struct ring_state *st = (struct ring_state *)run->each + k;

		r = finish_trace(st);
		dropped += st->waits.dropped;
	}
	if (r)
		return r;
	nchannels = add_channel_rows(run, NULL);
	ncalls = add_call_rows(run, NULL);
	rows = calloc(nchannels + ncalls + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	add_channel_rows(run, rows);
	add_call_rows(run, rows + nchannels);
	r = run->options->print.format == NVS_FORMAT_TEXT
		    ? print_text(run, rows, nchannels, ncalls)
		    : nvs_table_print_array(run->out, &table, rows, nchannels + ncalls,
					    sizeof(*rows), &run->options->print);
	free(rows);
	if (dropped)
		fprintf(stderr, "nvsnoop-report: %llu more calls that waited are not shown\n",
			(unsigned long long)dropped);
	return r;
}

static void free_state(struct nvs_run *run)
{
	struct ring_state *st = run->each;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_ring_occupancy_free(st[i].pending);
		nvs_rows_free(&st[i].channels, NULL);
		nvs_stalls_free(&st[i].waits);
	}
}

NVS_REPORT(
	ring, .name = "ring", .group = NVS_STUCK, .place = 105,
	.help = "how full rings and pushbuffers were; which calls waited, and why",
	.man = "Per channel: the maximum of ring entries, and of bytes in its part of the "
	       "pushbuffer, that were submitted and not done, and how often a submission found "
	       "almost no room: 16 entries or 128 KiB left, a sixteenth of small ones, since a "
	       "driver keeps some in reserve. Then calls that took unexpectedly long: calls that "
	       "submit, and took at least 0.1 ms and ten times the median of their API (for an API "
	       "with fewer than 20 calls, at least 0.1 ms), with the causes that the trace shows:\n"
	       ".BR \"ring full\" ,\n.BR \"pushbuffer full\" ,\n"
	       ".B module loading\n(code was uploaded, or a module was loaded, during the call),\n"
	       ".B memory allocation\n(objects of the resource manager were allocated or mapped "
	       "during the call),\n"
	       ".BR \"synchronising copy\" ,\nor\n.B other threads\n(that were inside the driver "
	       "for at least half of that time, with their calls). An empty cause is unknown.",
	.needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TABLE,
	NVS_REPORT_COLUMNS(columns), .each = sizeof(struct ring_state), .begin = begin, .end = end,
	.print = print, .free = free_state);
