/* SPDX-License-Identifier: MIT */
/*
 * --gpu-time: the GPU's own time of submissions, by API, as timing=work has recorded it. A time
 * comes in the trace some while behind its submission, which waits for it here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/source_columns.h"
#include "decode/report/times.h"

#define MOST_WAITING 4096u /* of a channel: what is under way is less */

struct row {
	struct key {
		const char *api;
		const struct nvs_source *source;
	} key;
	uint64_t submissions, timed;
	struct nvs_times times;
};

struct waiting {
	uint64_t sequence; /* plus 1; 0: nothing here */
	struct row *row;
};

struct channel {
	struct waiting *at;
	uint32_t room; /* a power of two, or 0 */
	uint64_t seen;
};

struct state {
	struct nvs_source *source; /* that is read */
	struct nvs_rows rows;
	struct channel *channels;
	uint32_t n;
};

NVS_SOURCE_GETTERS(struct row, r->key.source)
NVS_GET_TEXT(struct row, api, r->key.api)
NVS_GET_COUNT(struct row, submissions, r->submissions)
NVS_GET_COUNT(struct row, timed, r->timed)
NVS_GET_REAL(struct row, total, r->times.total.count, (double)r->times.total.ns / 1e3)
NVS_GET_REAL(struct row, mean, r->times.total.count, nvs_total_mean(&r->times.total) / 1e3)
NVS_GET_REAL(struct row, p50, r->times.total.count,
	     (double)nvs_times_quantile(&r->times, 0.5) / 1e3)
NVS_GET_REAL(struct row, p99, r->times.total.count,
	     (double)nvs_times_quantile(&r->times, 0.99) / 1e3)
NVS_GET_REAL(struct row, max, r->times.total.count, (double)r->times.max / 1e3)

static const struct nvs_column columns[] = {
	{"submissions", "submissions", get_submissions, 0},
	{"timed", "timed", get_timed, 0},
	{"gpu_us_total", "gpu us", get_total, 0},
	{"gpu_us_mean", "us mean", get_mean, 0, 1},
	{"gpu_us_p50", "us p50", get_p50, 0, 2},
	{"gpu_us_p99", "us p99", get_p99, 0, 3},
	{"gpu_us_max", "us max", get_max, 0, 4},
	{"api", "api", get_api, NVS_COLUMN_NAME},
	NVS_SOURCE_COLUMNS,
};

/* Twice as much room, up to what can be under way: it grows with the submissions that were read. */
static int grow(struct channel *c)
{
	uint32_t room = c->room ? 2 * c->room : 16;
	struct waiting *at = calloc(room, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->room; i++)
		if (c->at[i].sequence)
			at[(c->at[i].sequence - 1) % room] = c->at[i];
	free(c->at);
	c->at = at;
	c->room = room;
	return 0;
}

static int wait_for_time(struct state *st, uint32_t channel, uint64_t sequence, struct row *row)
{
	struct channel *c;

	if (channel >= st->n) {
		uint32_t n = channel + 16;
		struct channel *all;

		if (channel >= nvs_trace_channel_count(st->source->trace))
			return 0;
		all = realloc(st->channels, n * sizeof(*all));
		if (!all)
			return -ENOMEM;
		memset(all + st->n, 0, (n - st->n) * sizeof(*all));
		st->channels = all;
		st->n = n;
	}
	c = &st->channels[channel];
	if (++c->seen > c->room && c->room < MOST_WAITING && grow(c))
		return -ENOMEM;
	c->at[sequence % c->room] = (struct waiting){sequence + 1, row};
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct state *st = arg;
	struct key key = {nvs_source_api(st->source, s, call), st->source};
	struct row *row;

	if (!nvs_filter(st->source, s, call))
		return 0;
	row = nvs_rows_at(&st->rows, &key);
	if (!row)
		return -ENOMEM;
	row->submissions++;
	return wait_for_time(st, s->channel->channel, s->rec->sequence, row);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	const struct nvs_rec_gpu_time *t = (const void *)rec;
	struct state *st = arg;
	struct waiting *w;

	if (rec->type != NVS_REC_GPU_TIME || t->channel >= st->n || !st->channels[t->channel].room)
		return 0;
	w = &st->channels[t->channel].at[t->sequence % st->channels[t->channel].room];
	if (!w->sequence || w->sequence != t->sequence + 1)
		return 0;
	w->sequence = 0;
	w->row->timed++;
	return t->kind == NVS_TIMING_WORK && t->end >= t->begin
		       ? nvs_times_add(&w->row->times, t->end - t->begin)
		       : 0;
}

static void forget(struct state *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		free(st->channels[i].at);
	free(st->channels);
	st->channels = NULL;
	st->n = 0;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each, struct nvs_reader *reader)
{
	struct state *st = run->state;

	(void)each;
	st->source = s;
	if (!st->rows.size)
		st->rows = NVS_ROWS(struct row, key);
	*reader = (struct nvs_reader){
		.submission = on_submission, .record = on_record, .calls = true, .arg = st};
	return 0;
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	(void)s;
	(void)each;
	forget(run->state);
	return 0;
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, "gpu_us_total");
	struct state *st = run->state;
	bool timed = false;

	for (size_t i = 0; i < st->rows.n; i++)
		timed |= ((const struct row *)st->rows.row[i])->timed > 0;
	if (!timed)
		st->rows.n = 0;
	run->nothing = !timed;
	return nvs_table_print_rows(run->out, &table, &st->rows, run->options);
}

static void free_row(void *row)
{
	nvs_times_free(&((struct row *)row)->times);
}

static void free_state(struct nvs_run *run)
{
	struct state *st = run->state;

	forget(st);
	nvs_rows_free(&st->rows, free_row);
}

NVS_REPORT(
	gpu_time, .name = "gpu-time", .place = 95,
	.help = "the GPU's own time, by API, of a trace with timing=work",
	.man = "The GPU's own time of what each API submitted, where the trace was recorded with\n"
	       ".BR timing=work .\n"
	       "It holds what the two timestamps take themselves, and work of other streams\n"
	       "that was done meanwhile.",
	.needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TABLE,
	NVS_REPORT_COLUMNS(columns), .state = sizeof(struct state), .begin = begin, .end = end,
	.print = print, .free = free_state);
