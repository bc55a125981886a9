/* SPDX-License-Identifier: MIT */
/* --sync: each acquire with the release that it waited for, by submission, channel and API; below
 * the table the totals by API. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/base/compare.h"
#include "decode/report/core/trace_columns.h"
#include "decode/calls/semaphore_pairs.h"
#include "decode/report/core/report.h"

#define MAX_ROWS (1u << 20) /* further acquires are only counted */

struct sync_row {
	struct nvs_sync_pair pair;
	const struct nvs_source *source;
	const char *api, *release_api;
	uint64_t count; /* by API: acquires */
	uint64_t unmatched;
};

struct sync_state {
	struct nvs_source *source; /* the trace being read */
	struct nvs_semaphore_pairs *pairs;
	const struct nvs_call *call; /* call of the current submission */
	struct sync_row *rows;
	size_t n, room;
	uint64_t dropped;
};

#define COLUMNS(COL)                                                                      \
	COL(count, submission, "submission", 0, 0, r->pair.acquire.submission)            \
	COL(count, channel, "chan", 0, 0, r->pair.acquire.channel)                        \
	COL(hex, address, "address", 0, 2, true, r->pair.address)                         \
	COL(hex, payload, "payload", 0, 0, true, r->pair.payload)                         \
	COL(known, release_submission, "released by", 0, 0, r->pair.found,                \
	    r->pair.release.submission)                                                   \
	COL(known, release_channel, "chan", 0, 1, r->pair.found, r->pair.release.channel) \
	COL(hex, value, "value", 0, 1, r->pair.found, r->pair.value)                      \
	COL(known, chain_depth, "chain", 0, 1, r->pair.found, r->pair.depth)              \
	COL(text, match, "match", NAME, 1,                                                \
	    !r->pair.found  ? "unmatched"                                                 \
	    : r->pair.later ? "later"                                                     \
			    : "")                                                         \
	COL(text, api, "api that waits", NAME, 0, r->api)                                 \
	COL(text, release_api, "api that releases", NAME, 0, r->release_api)              \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct sync_row, COLUMNS)

#define API_COLUMNS(COL)                                       \
	COL(count, acquires, "acquires", 0, 0, r->count)       \
	COL(count, unmatched, "unmatched", 0, 0, r->unmatched) \
	COL(same, api, "api that waits", NAME, 0)              \
	COL(same, release_api, "api that releases", NAME, 0)
NVS_COLUMNS(api_columns, struct sync_row, API_COLUMNS)

static void on_pair(void *arg, const struct nvs_sync_pair *pair)
{
	struct sync_state *y = arg;
	struct sync_row *r = NVS_APPEND(y->rows, y->n, y->room, 256, MAX_ROWS);

	if (!r) {
		y->dropped++;
		nvs_budget_set_exceeded();
		return;
	}
	memset(r, 0, sizeof(*r));
	r->pair = *pair;
	r->source = y->source;
	r->api = pair->acquire.api;
	if (pair->found)
		r->release_api = pair->release.api;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	((struct sync_state *)arg)->call = call;
	return 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_sync_side who = {.submission = s->number, .channel = s->channel->channel};
	struct sync_state *y = arg;

	/* Writes of all submissions are followed; acquires only of selected ones. */
	if (op->kind == NVS_OP_ACQUIRE && !nvs_filter_selects(y->source, s, y->call))
		return 0;
	who.api = nvs_source_api(y->source, s, y->call);
	return nvs_semaphore_pairs_op(y->pairs, &who, op);
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct sync_state *y = run->state;

	y->source = s;
	y->pairs = nvs_semaphore_pairs_new(on_pair, y);
	*reader = (struct nvs_pass_reader){
		.submission = on_submission, .op = on_op, .calls = true, .arg = y};
	return y->pairs ? 0 : -ENOMEM;
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct sync_state *y = run->state;

	nvs_semaphore_pairs_end(y->pairs);
	nvs_semaphore_pairs_free(y->pairs);
	y->pairs = NULL;
	return 0;
}

static int compare_submissions(const void *a, const void *b)
{
	const struct sync_row *x = a, *y = b;

	return NVS_CMP(x->source, y->source) ?: NVS_CMP(x->pair.acquire.submission, y->pair.acquire.submission) ?: NVS_CMP(x->pair.address, y->pair.address);
}

static int compare_apis(const void *a, const void *b)
{
	const struct sync_row *x = a, *y = b;
	int r = strcmp(x->api, y->api);

	return r ? r
		 : strcmp(x->release_api ? x->release_api : "",
			  y->release_api ? y->release_api : "");
}

/* Below the table: how often which API waited for which. */
static int print_by_api(struct nvs_run *run, struct sync_row *rows, size_t n)
{
	struct nvs_table table = NVS_RUN_TABLE(run, api_columns, "acquires");
	struct nvs_print_options o = run->options->print;
	size_t kept = 0;

	qsort(rows, n, sizeof(*rows), compare_apis);
	for (size_t i = 0; i < n; i++) {
		if (!kept || compare_apis(&rows[kept - 1], &rows[i])) {
			rows[kept] = rows[i];
			rows[kept].count = rows[kept].unmatched = 0;
			kept++;
		}
		rows[kept - 1].count++;
		rows[kept - 1].unmatched += !rows[i].pair.found;
	}
	o.sort = nvs_table_applicable(&table, o.sort);
	fputc('\n', run->out->file);
	return nvs_table_print_array(run->out, &table, rows, kept, sizeof(*rows), &o);
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct nvs_print_options o = run->options->print;
	struct sync_state *y = run->state;
	int r;

	if (y->n)
		qsort(y->rows, y->n, sizeof(*y->rows), compare_submissions);
	o.sort = nvs_table_applicable(&table, o.sort);
	r = nvs_table_print_array(run->out, &table, y->rows, y->n, sizeof(*y->rows), &o);
	if (!r && o.format == NVS_FORMAT_TEXT && y->n)
		r = print_by_api(run, y->rows, y->n);
	if (y->dropped)
		fprintf(stderr,
			"nvsnoop-report: %llu more acquires are neither shown nor counted; select "
			"a part with --range\n",
			(unsigned long long)y->dropped);
	return r;
}

static void free_state(struct nvs_run *run)
{
	struct sync_state *y = run->state;

	nvs_semaphore_pairs_free(y->pairs);
	free(y->rows);
}

NVS_REPORT(sync, .name = "sync", .group = NVS_STUCK, .place = 130,
	   .help = "each acquire with the release that it waits for",
	   .man = "Each semaphore acquire with the release that it waits for, across channels.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), NVS_REPORT_SORT_COLUMNS(api_columns),
	   .state = sizeof(struct sync_state), .begin = begin, .end = end, .print = print,
	   .free = free_state);
