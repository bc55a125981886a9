/* SPDX-License-Identifier: MIT */
/* --by-rank: minimum, median and maximum of each measure over all ranks, and the outlier. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/calls/roles.h"
#include "decode/analysis/clock_alignment.h"
#include "decode/report/core/trace_columns.h"
#include "decode/query/durations.h"
#include "decode/report/core/report.h"

enum measure {
	CALLS,
	FAILED,
	LAUNCHES,
	GRAPHS,
	COPIES,
	COPIED,
	MEMSETS,
	SYNCS,
	SUBMISSIONS,
	BYTES,
	HOST_US,
	WAIT_US,
	DURATION_US,
	BEGAN_US,
	GAPS,
	MEASURES,
};

/* Names as in the columns of other reports. */
static const char *const keys[] = {
	[CALLS] = "calls",
	[FAILED] = "failed",
	[LAUNCHES] = "launch_calls",
	[GRAPHS] = "graph_launches",
	[COPIES] = "copies",
	[COPIED] = "copied_bytes",
	[MEMSETS] = "memset_calls",
	[SYNCS] = "sync_calls",
	[SUBMISSIONS] = "submissions",
	[BYTES] = "command_bytes",
	[HOST_US] = "host_us_total",
	[WAIT_US] = "wait_us_total",
	[DURATION_US] = "duration_us",
	[BEGAN_US] = "began_us",
	[GAPS] = "gaps",
};

struct rank {
	struct nvs_source *source;
	double value[MEASURES]; /* NAN: unknown */
	struct nvs_duration_sum host, waits;
	bool has_calls;
};

/* ---- while reading ---- */

static int on_call(void *arg, const struct nvs_call *call)
{
	struct rank *k = arg;
	uint64_t bytes, copies;
	bool ran = nvs_call_ran(call);

	if (!nvs_filter_call(k->source, call))
		return 0;
	k->value[CALLS]++;
	k->value[FAILED] += nvs_call_failed(call);
	k->value[LAUNCHES] += ran && call->api->group == NVS_CALL_GROUP_LAUNCH;
	k->value[GRAPHS] += ran && call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH;
	k->value[MEMSETS] += ran && call->api->group == NVS_CALL_GROUP_MEMSET;
	k->value[SYNCS] += call->api->group == NVS_CALL_GROUP_SYNC;
	if (ran && call->api->group == NVS_CALL_GROUP_COPY) {
		nvs_call_copied(call, &bytes, &copies);
		k->value[COPIES] += (double)copies;
		k->value[COPIED] += (double)bytes;
	}
	if (!call->end)
		return 0;
	if (call->depth <= 1 && nvs_duration_sum_add_later(k->source->waiting, &k->host, call))
		return -ENOMEM;
	return call->api->group == NVS_CALL_GROUP_SYNC
		       ? nvs_duration_sum_add_later(k->source->waiting, &k->waits, call)
		       : 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct rank *k = arg;

	if (!nvs_filter_selects(k->source, s, call))
		return 0;
	k->value[SUBMISSIONS] += !(s->rec->rec.flags & NVS_SUB_CONTINUED);
	k->value[BYTES] += (double)nvs_submission_bytes(s);
	return 0;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	((struct rank *)arg)->has_calls |= rec->type == NVS_REC_API;
	return 0;
}

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	((struct rank *)each)->source = s;
	*reader = (struct nvs_pass_reader){.call = on_call,
					   .submission = on_submission,
					   .record = on_record,
					   .calls = true,
					   .tallies = true,
					   .arg = each};
	return 0;
}

/* ---- over all ranks ---- */

struct rank_row {
	const struct nvs_source *source; /* NULL: from several */
	const char *key;
	bool known;
	double least, median, most, total;
	char text[4][32]; /* set for counts: formatted values */
	const struct rank *least_at, *most_at, *outlier;
};

static void get_rank(const struct rank *k, struct nvs_value *v)
{
	if (k)
		nvs_source_number(k->source, NVS_ATTR_RANK, v);
}

static void get_trace(const struct rank *k, struct nvs_value *v)
{
	nvs_source_path(k ? k->source : NULL, v);
}

static void get_number(bool known, double number, const char *text, struct nvs_value *v)
{
	nvs_value_real(v, known, number);
	if (*text)
		v->text = text;
}

#define COLUMNS(COL)                                                                  \
	COL(text, measure, "measure", 0, 0, r->key)                                   \
	COL(by, least, "least", 0, 0, get_number, r->known, r->least, r->text[0])     \
	COL(by, least_rank, "rank", IF_KNOWN, 0, get_rank, r->least_at)               \
	COL(by, median, "median", 0, 0, get_number, r->known, r->median, r->text[1])  \
	COL(by, most, "most", 0, 0, get_number, r->known, r->most, r->text[2])        \
	COL(by, most_rank, "rank", IF_KNOWN, 0, get_rank, r->most_at)                 \
	COL(by, total, "total", 0, 2, get_number, r->known, r->total, r->text[3])     \
	COL(by, outlier_rank, "outlier", IF_KNOWN, 0, get_rank, r->outlier)           \
	COL(by, least_trace, "least in", DETAIL, 0, get_trace, r->least_at)           \
	COL(by, most_trace, "most in", DETAIL, 0, get_trace, r->most_at)              \
	COL(by, outlier_trace, "outlier in", NAME_IF_KNOWN, 1, get_trace, r->outlier) \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct rank_row, COLUMNS)

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return NVS_CMP(*x, *y);
}

/* Returns the lower of the two middle values if N is even. */
static double median_of(double *sorted, uint32_t n)
{
	qsort(sorted, n, sizeof(*sorted), by_value);
	return sorted[(n - 1) / 2];
}

/* Returns the rank farthest from the median if its distance exceeds a tenth of the median and
 * five times the median distance, else NULL. Two ranks have no outlier. */
static const struct rank *outlier_of(const struct rank *ranks, uint32_t n, enum measure m,
				     double median, double *room)
{
	const struct rank *far = NULL;
	double most = 0, usual;
	uint32_t known = 0;

	for (uint32_t i = 0; i < n; i++) {
		double away = fabs(ranks[i].value[m] - median);

		if (isnan(away))
			continue;
		room[known++] = away;
		if (away > most) {
			most = away;
			far = ranks + i;
		}
	}
	usual = median_of(room, known);
	return known > 2 && most > fabs(median) / 10 && most > 5 * usual ? far : NULL;
}

static bool is_count(enum measure m)
{
	return m != HOST_US && m != WAIT_US && m != DURATION_US && m != BEGAN_US;
}

static void format_counts(struct rank_row *row, enum measure m)
{
	const double of[] = {row->least, row->median, row->most, row->total};

	for (int i = 0; i < 4 && is_count(m); i++)
		snprintf(row->text[i], sizeof(row->text[i]), "%.0f", of[i]);
}

static void summarize_measure(struct rank_row *row, const struct rank *ranks, uint32_t n,
			      enum measure m, double *room)
{
	uint32_t known = 0;

	row->key = keys[m];
	for (uint32_t i = 0; i < n; i++) {
		double x = ranks[i].value[m];

		if (isnan(x))
			continue;
		room[known++] = x;
		row->total += x;
		if (!row->least_at || x < row->least) {
			row->least = x;
			row->least_at = ranks + i;
		}
		if (!row->most_at || x > row->most) {
			row->most = x;
			row->most_at = ranks + i;
		}
	}
	row->known = known;
	if (!known)
		return;
	row->median = median_of(room, known);
	row->outlier = outlier_of(ranks, n, m, row->median, room);
	format_counts(row, m);
	/* All ranks are equal: no minimum or maximum. */
	if (row->least == row->most)
		row->least_at = row->most_at = NULL;
}

static void finish_rank(struct rank *k, const struct nvs_trace_clock *clock)
{
	const struct nvs_session *s = nvs_trace_session(k->source->trace);

	k->value[HOST_US] = (double)k->host.ns / 1000;
	k->value[WAIT_US] = (double)k->waits.ns / 1000;
	k->value[DURATION_US] = (double)nvs_call_ns(k->source->trace, s->first_time, s->last_time) /
				1000;
	k->value[BEGAN_US] = clock->known ? (double)clock->shift / 1000 : NAN;
	k->value[GAPS] = (double)s->counts.gaps;
	/* A trace without calls has none of the measures taken from calls. */
	for (int m = 0; m < MEASURES && !k->has_calls; m++)
		if (m < SUBMISSIONS || m == HOST_US || m == WAIT_US)
			k->value[m] = NAN;
}

/* Prints all ranks together, or each one separately with --per-trace. */
static int print_ranks(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	bool apart = run->options->query.per_trace || run->n == 1;
	uint32_t rounds = apart ? run->n : 1, of = apart ? 1 : run->n;
	double *room = calloc(run->n + 1ul, sizeof(*room)), all = 0;
	struct rank_row *rows = calloc(rounds + 1ul, MEASURES * sizeof(*rows));
	struct nvs_trace_clock *clocks = calloc(run->n + 1ul, sizeof(*clocks));
	struct rank *ranks = run->each;
	int r = room && rows && clocks ? nvs_clocks_align(clocks, run->sources, run->n) : -ENOMEM;

	for (uint32_t i = 0; i < run->n && !r; i++) {
		finish_rank(ranks + i, clocks + i);
		all += (ranks[i].has_calls ? ranks[i].value[CALLS] : 0) +
		       ranks[i].value[SUBMISSIONS];
	}
	if (!all) /* nothing was recorded in the selection */
		rounds = 0;
	for (uint32_t i = 0; i < rounds * MEASURES && !r; i++) {
		summarize_measure(rows + i, ranks + i / MEASURES, of, i % MEASURES, room);
		rows[i].source = apart ? run->sources + i / MEASURES : NULL;
	}
	table.several = apart && run->n > 1;
	if (!r)
		r = nvs_table_print_array(run->out, &table, rows, (size_t)rounds * MEASURES,
					  sizeof(*rows), &run->options->print);
	free(clocks);
	free(room);
	free(rows);
	return r;
}

NVS_REPORT(by_rank, .name = "by-rank", .group = NVS_RANKS, .place = 94,
	   .help = "minimum, median and maximum over all ranks, and outliers",
	   .man = "One trace per rank: the minimum, median and maximum of each count and "
		  "time over all ranks, and the outlier: the rank farthest from the "
		  "median, if that is by more than a tenth of it and five times the median "
		  "distance. Traces are read in parallel on all cores.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS | NVS_NEED_WHOLE |
		    NVS_NEED_APART,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns), .each = sizeof(struct rank),
	   .begin = begin_trace, .print = print_ranks);
