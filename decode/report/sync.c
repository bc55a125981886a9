/* SPDX-License-Identifier: MIT */
/* --sync: each acquire with the release it waits for: which submission of which channel and API
 * waited for which. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/calls.h"
#include "decode/calls/attach.h"
#include "decode/report/report.h"
#include "decode/calls/syncpairs.h"
#include "decode/trace/stream.h"

#define MAX_ROWS (1u << 20) /* of further acquires it is said how many there are */

struct row {
	struct nvs_sync_pair pair;
	const struct nvs_source *source;
	const char *api, *release_api;
	uint64_t count; /* by API: acquires */
	uint64_t unmatched;
};

struct sync {
	struct nvs_source *source;
	struct nvs_attach *follow;
	struct nvs_sync *pairs;
	struct row *rows;
	size_t nrows, room;
	uint64_t dropped;
	int status;
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

static void text(struct nvs_value *v, const char *s)
{
	v->kind = s && *s ? NVS_VALUE_TEXT : NVS_VALUE_NONE;
	v->text = s;
}

#define GETTER(name, call)                                           \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const struct row *r = row_of(row);                   \
		call;                                                \
	}

GETTER(trace, text(v, r->source->path))
GETTER(submission, number(v, true, r->pair.acquire.submission))
GETTER(channel, number(v, true, r->pair.acquire.channel))
GETTER(api, text(v, r->api))
GETTER(address, hex(v, true, r->pair.address))
GETTER(payload, hex(v, true, r->pair.payload))
GETTER(value, hex(v, r->pair.found, r->pair.value))
GETTER(release_submission, number(v, r->pair.found, r->pair.release.submission))
GETTER(release_channel, number(v, r->pair.found, r->pair.release.channel))
GETTER(release_api, text(v, r->release_api))
GETTER(depth, number(v, r->pair.found, r->pair.depth))
GETTER(state, text(v, !r->pair.found ? "unmatched" : r->pair.later ? "later" : ""))
GETTER(count, number(v, true, r->count))
GETTER(unmatched, number(v, true, r->unmatched))

static const struct nvs_column columns[] = {
	{"trace", "trace", get_trace, NVS_COLUMN_NAME | NVS_COLUMN_SEVERAL},
	{"submission", "submission", get_submission, 0},
	{"channel", "chan", get_channel, 0},
	{"address", "address", get_address, 0, 2},
	{"payload", "payload", get_payload, 0},
	{"release_submission", "released by", get_release_submission, 0},
	{"release_channel", "chan", get_release_channel, 0, 1},
	{"value", "value", get_value, 0, 1},
	{"depth", "chain", get_depth, 0, 1},
	{"state", "state", get_state, NVS_COLUMN_NAME, 1},
	{"api", "api that waits", get_api, NVS_COLUMN_NAME},
	{"release_api", "api that releases", get_release_api, NVS_COLUMN_NAME},
};

static const struct nvs_column api_columns[] = {
	{"acquires", "acquires", get_count, 0},
	{"unmatched", "unmatched", get_unmatched, 0},
	{"api", "api that waits", get_api, NVS_COLUMN_NAME},
	{"release_api", "api that releases", get_release_api, NVS_COLUMN_NAME},
};

static void on_pair(void *arg, const struct nvs_sync_pair *pair)
{
	struct sync *y = arg;
	struct row *r;

	if (y->nrows == y->room) {
		size_t room = y->room ? 2 * y->room : 256;
		struct row *rows = room > MAX_ROWS ? NULL : realloc(y->rows, room * sizeof(*rows));

		if (!rows) {
			y->dropped++;
			return;
		}
		y->rows = rows;
		y->room = room;
	}
	r = &y->rows[y->nrows++];
	memset(r, 0, sizeof(*r));
	r->pair = *pair;
	r->source = y->source;
	r->api = pair->acquire.api;
	if (pair->found)
		r->release_api = pair->release.api;
}

static void on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct sync *y = arg;
	struct nvs_sync_side who = {s->number, s->channel->channel, nvs_source_api(y->source, s)};

	/* Releases of all submissions count; acquires only of those asked for. */
	if (op->kind == NVS_OP_ACQUIRE && !nvs_filter(y->source, s))
		return;
	if (!y->status)
		y->status = nvs_sync_op(y->pairs, &who, op);
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	struct sync *y = arg;
	int r = nvs_calls_submission(y->source->calls, s);

	if (!r)
		r = nvs_attach_submission(y->follow, s, s->number);
	return r ? r : y->status;
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	struct sync *y = arg;
	int r = nvs_calls_record(y->source->calls, rec);

	return r ? r : nvs_attach_record(y->follow, rec);
}

static int by_submission(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->pair.acquire.submission != y->pair.acquire.submission)
		return x->pair.acquire.submission < y->pair.acquire.submission ? -1 : 1;
	return x->pair.address < y->pair.address ? -1 : x->pair.address > y->pair.address;
}

static int by_apis(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int r = strcmp(x->api, y->api);

	return r ? r
		 : strcmp(x->release_api ? x->release_api : "",
			  y->release_api ? y->release_api : "");
}

static int read_pairs(struct sync *y)
{
	static const struct nvs_stream_consumer consumer = {
		.flags = NVS_READ_WHOLE, .submission = on_submission, .record = on_record};
	struct nvs_attach_sink sink = {.op = on_op, .arg = y};
	struct nvs_error err = {""};
	int r = -ENOMEM;

	y->follow = nvs_attach_new(y->source->trace, &sink);
	y->pairs = nvs_sync_new(on_pair, y);
	if (y->follow && y->pairs) {
		r = nvs_stream_read(y->source->trace, &consumer, y, &err);
		nvs_progress_clear();
		nvs_sync_end(y->pairs);
	}
	if (r)
		fprintf(stderr, "nvsnoop-report: %s\n", *err.text ? err.text : strerror(-r));
	nvs_attach_free(y->follow);
	nvs_sync_free(y->pairs);
	return r;
}

static int print_rows(struct nvs_out *out, struct nvs_table *table, struct row *rows, size_t n,
		      const struct nvs_options_report *o)
{
	int r = -ENOMEM;

	table->nrows = n;
	table->rows = calloc(n + 1, sizeof(*table->rows));
	if (table->rows) {
		for (size_t i = 0; i < n; i++)
			table->rows[i] = &rows[i];
		r = nvs_table_print(out, table, o);
	}
	free(table->rows);
	return r;
}

/* How often which API waited for which, below the table. */
static int print_by_api(struct nvs_out *out, struct row *rows, size_t n,
			const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "sync-by-api",
				  .columns = api_columns,
				  .ncolumns = sizeof(api_columns) / sizeof(api_columns[0]),
				  .sort = "acquires"};
	struct nvs_options_report plain = *o;
	size_t kept = 0;

	qsort(rows, n, sizeof(*rows), by_apis);
	for (size_t i = 0; i < n; i++) {
		if (!kept || by_apis(&rows[kept - 1], &rows[i])) {
			rows[kept] = rows[i];
			rows[kept].count = rows[kept].unmatched = 0;
			kept++;
		}
		rows[kept - 1].count++;
		rows[kept - 1].unmatched += !rows[i].pair.found;
	}
	plain.sort = NULL;
	fputc('\n', out->file);
	return print_rows(out, &table, rows, kept, &plain);
}

int nvs_report_sync(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		    const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "sync",
				  .columns = columns,
				  .ncolumns = sizeof(columns) / sizeof(columns[0]),
				  .several = n > 1};
	struct sync y = {0};
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		y.source = s + i;
		r = read_pairs(&y);
	}
	if (!r) {
		if (y.nrows)
			qsort(y.rows, y.nrows, sizeof(*y.rows), by_submission);
		r = print_rows(out, &table, y.rows, y.nrows, o);
	}
	if (!r && o->format == NVS_FORMAT_TEXT && y.nrows)
		r = print_by_api(out, y.rows, y.nrows, o);
	if (y.dropped)
		fprintf(stderr,
			"nvsnoop-report: %llu more acquires are neither shown nor counted; --range "
			"chooses\n",
			(unsigned long long)y.dropped);
	free(y.rows);
	return r;
}
