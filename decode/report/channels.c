/* SPDX-License-Identifier: MIT */
/* --channels: what each channel is, and what went through it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/report.h"

struct row {
	const struct nvs_source *source;
	const struct nvs_trace_channel *channel;
	uint64_t submissions, entries, bytes; /* that pass the filters */
	bool uncounted; /* level=counts: but for how many submissions and bytes, nothing is known */
	bool filtered; /* by what only a submission tells: so of these not either */
	char flags[64];
	struct nvs_tally tally;
};

static const struct row *row_of(const void *row)
{
	return row;
}

static void number(struct nvs_value *v, bool known, uint64_t n)
{
	v->kind = known ? NVS_VALUE_COUNT : NVS_VALUE_NONE;
	v->count = n;
}

static void hex(struct nvs_value *v, bool known, uint64_t n)
{
	v->kind = known ? NVS_VALUE_HEX : NVS_VALUE_NONE;
	v->count = n;
}

static void get_trace(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_TEXT;
	v->text = row_of(row)->source->path;
}

static void get_channel(const void *row, struct nvs_value *v)
{
	number(v, true, row_of(row)->channel->channel);
}

static void get_gpu(const void *row, struct nvs_value *v)
{
	const struct nvs_trace_channel *c = row_of(row)->channel;

	number(v, c->known && c->rec.gpu != NVS_NONE, c->rec.gpu);
}

static void get_class(const void *row, struct nvs_value *v)
{
	hex(v, row_of(row)->channel->known, row_of(row)->channel->rec.object_class);
}

static void get_engine(const void *row, struct nvs_value *v)
{
	hex(v, row_of(row)->channel->known, row_of(row)->channel->rec.engine);
}

static void get_token(const void *row, struct nvs_value *v)
{
	hex(v, row_of(row)->channel->rec.token != NVS_NONE, row_of(row)->channel->rec.token);
}

static void get_ring(const void *row, struct nvs_value *v)
{
	number(v, row_of(row)->channel->known, row_of(row)->channel->rec.entries);
}

static void get_submissions(const void *row, struct nvs_value *v)
{
	number(v, !row_of(row)->filtered, row_of(row)->submissions);
}

static void get_entries(const void *row, struct nvs_value *v)
{
	number(v, !row_of(row)->uncounted, row_of(row)->entries);
}

static void get_bytes(const void *row, struct nvs_value *v)
{
	number(v, !row_of(row)->filtered, row_of(row)->bytes);
}

static void get_gaps(const void *row, struct nvs_value *v)
{
	number(v, true, row_of(row)->channel->counts.gaps);
}

static void get_time(const struct row *r, uint64_t ticks, bool known, struct nvs_value *v)
{
	if (known && nvs_clock_since_start(r->source->trace, ticks, &v->ns))
		v->kind = NVS_VALUE_SECONDS;
}

static void get_alloc(const void *row, struct nvs_value *v)
{
	const struct nvs_trace_channel *c = row_of(row)->channel;

	get_time(row, c->alloc_time, c->known, v);
}

static void get_free(const void *row, struct nvs_value *v)
{
	const struct nvs_trace_channel *c = row_of(row)->channel;

	get_time(row, c->free_time, c->free_time != 0, v);
}

static void get_flags(const void *row, struct nvs_value *v)
{
	v->kind = row_of(row)->flags[0] ? NVS_VALUE_TEXT : NVS_VALUE_NONE;
	v->text = row_of(row)->flags;
}

static void get_gpfifo(const void *row, struct nvs_value *v)
{
	hex(v, row_of(row)->channel->known, row_of(row)->channel->rec.gpfifo);
}

NVS_TALLY_GETTERS(struct row)

static const struct nvs_column columns[] = {
	{"trace", "trace", get_trace, NVS_COLUMN_NAME | NVS_COLUMN_SEVERAL},
	{"channel", "chan", get_channel, 0},
	{"gpu", "gpu", get_gpu, 0, 1},
	{"class", "class", get_class, 0, 1},
	{"engine", "eng", get_engine, 0, 6},
	{"token", "token", get_token, 0, 3},
	{"ring", "ring", get_ring, 0, 7},
	{"submissions", "submissions", get_submissions, 0},
	{"entries", "entries", get_entries, 0, 6},
	{"bytes", "cmd bytes", get_bytes, 0, 1},
	{"gaps", "gaps", get_gaps, 0},
	NVS_TALLY_COLUMNS,
	{"allocated", "allocated", get_alloc, NVS_COLUMN_DETAIL},
	{"freed", "freed", get_free, NVS_COLUMN_DETAIL},
	{"gpfifo", "gpfifo", get_gpfifo, NVS_COLUMN_DETAIL},
	{"flags", "flags", get_flags, NVS_COLUMN_NAME, 4},
};

static void set_flags(struct row *r)
{
	const struct nvs_trace_channel *c = r->channel;
	struct {
		const char *name;
		bool set;
	} flags[] = {
		{"unknown", !c->known},
		{"unbound", c->known && !(c->rec.flags & NVS_CHAN_BOUND)},
		{"shadow", c->rec.flags & NVS_CHAN_SHADOW},
		{"no-doorbell", c->rec.flags & NVS_CHAN_NO_DOORBELL},
		{"freed", c->free_time != 0},
	};
	char *p = r->flags;

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].set)
			p += snprintf(p, (size_t)(r->flags + sizeof(r->flags) - p), "%s%s",
				      p > r->flags ? " " : "", flags[i].name);
}

/* Rows of one trace. A channel without submissions is shown unless the filters ask for something of
 * them. */
static size_t add_rows(const struct nvs_source *s, struct row *rows)
{
	const struct nvs_options_report *o = s->options;
	uint32_t n = nvs_trace_channel_count(s->trace);
	struct row **of = calloc((size_t)n + 1, sizeof(*of));
	bool uncounted = nvs_trace_session(s->trace)->header.flags & NVS_HDR_COUNTS;
	bool strict = o->nthread || o->napi || o->has_range;
	size_t count = 0, kept = 0;

	for (uint32_t i = 0; of && i < n; i++) {
		const struct nvs_trace_channel *c = nvs_trace_channel_at(s->trace, i);

		if (!c || !nvs_filter_channel(s, i))
			continue;
		of[i] = rows + count++;
		of[i]->source = s;
		of[i]->channel = c;
		of[i]->uncounted = uncounted;
		of[i]->filtered = uncounted && strict;
		of[i]->tally.unseen = uncounted;
		of[i]->submissions = uncounted ? c->counts.skipped_submissions : 0;
		of[i]->bytes = uncounted ? c->counts.skipped_bytes : 0;
		set_flags(of[i]);
	}
	for (uint32_t i = 0; of && s->cells && i <= s->mask; i++) {
		const struct nvs_cell *c = s->cells + i;

		if (!nvs_filter_cell(s, c) || !of[c->channel])
			continue;
		of[c->channel]->submissions += c->submissions;
		of[c->channel]->entries += c->entries;
		of[c->channel]->bytes += c->bytes;
		nvs_tally_sum(&of[c->channel]->tally, &c->tally);
	}
	for (size_t i = 0; i < count; i++)
		if (!strict || rows[i].submissions)
			rows[kept++] = rows[i];
	free(of);
	return kept;
}

int nvs_report_channels(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "channels",
				  .columns = columns,
				  .ncolumns = sizeof(columns) / sizeof(*columns),
				  .several = n > 1};
	size_t total = 1;
	struct row *rows;
	int r = -ENOMEM;

	for (uint32_t k = 0; k < n; k++)
		total += nvs_trace_channel_count(s[k].trace);
	rows = calloc(total, sizeof(*rows));
	table.rows = calloc(total, sizeof(*table.rows));
	if (rows && table.rows) {
		for (uint32_t k = 0; k < n; k++)
			table.nrows += add_rows(s + k, rows + table.nrows);
		for (size_t i = 0; i < table.nrows; i++)
			table.rows[i] = rows + i;
		r = nvs_table_print(out, &table, o);
	}
	free(table.rows);
	free(rows);
	return r;
}
