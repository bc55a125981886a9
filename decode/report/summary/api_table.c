/* SPDX-License-Identifier: MIT */
/* Prints the summary's tables of entry points by host time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/query/durations.h"
#include "decode/analysis/api_stats.h"
#include "decode/report/summary/api_table.h"
#include "decode/report/core/report.h"

struct api_row {
	struct nvs_api_calls *api; /* counts of all traces once names are merged */
	uint64_t open, open_ns, open_max; /* calls that have not returned, up to the end */
};

#define TIMED (r->api->times.total.count)
#define MAX_NS (r->open_max > r->api->times.max ? r->open_max : r->api->times.max)

static uint64_t all_ns(const struct api_row *r)
{
	return r->api->times.total.ns + r->open_ns;
}

#define COLUMNS(COL)                                                                             \
	COL(count, calls, "calls", 0, 0, r->api->calls)                                          \
	COL(count, open, "not ended", IF_ANY, 0, r->open)                                        \
	COL(known, submissions, "submissions", 0, 1, !r->api->uncounted, r->api->submissions)    \
	COL(us, host_us_total, "host us", 0, 1, TIMED || r->open, all_ns(r))                     \
	COL(us, host_us_mean, "us/call", 0, 2, TIMED, nvs_duration_mean(&r->api->times.total))   \
	COL(us, host_us_p50, "us p50", 0, 3, TIMED, nvs_durations_quantile(&r->api->times, 0.5)) \
	COL(us, host_us_max, "us max", 0, 4, TIMED || r->open, MAX_NS)                           \
	COL(text, api, "api", NAME, 0, nvs_call_name(r->api->entry))
NVS_COLUMN_GETTERS(struct api_row, COLUMNS)
const struct nvs_column nvs_api_times_columns[] = {COLUMNS(NVS_COLUMN_ENTRY)};

/* The mean and median of calls that run only once or twice mean little. */
#define SETUP_COLUMNS(COL)                          \
	COL(same, calls, "calls", 0, 0)             \
	COL(same, open, "not ended", IF_ANY, 0)     \
	COL(same, submissions, "submissions", 0, 1) \
	COL(same, host_us_total, "host us", 0, 1)   \
	COL(same, host_us_max, "us max", 0, 4)      \
	COL(same, api, "api", NAME, 0)
static const struct nvs_column setup_columns[] = {SETUP_COLUMNS(NVS_COLUMN_ENTRY)};

static int compare_names(const void *pa, const void *pb)
{
	const struct api_row *a = pa, *b = pb;

	return strcmp(a->api->entry->name, b->api->entry->name);
}

/* Sorts by name and merges rows of one name. Returns the number left, or -ENOMEM. */
static long merge_names(struct api_row *rows, size_t n)
{
	size_t kept = 0;

	qsort(rows, n, sizeof(*rows), compare_names);
	for (size_t i = 0; i < n; i++) {
		struct api_row *last = rows + kept - 1;

		if (!kept || compare_names(last, rows + i)) {
			rows[kept++] = rows[i];
			continue;
		}
		last->open += rows[i].open;
		last->open_ns += rows[i].open_ns;
		last->open_max = rows[i].open_max > last->open_max ? rows[i].open_max
								   : last->open_max;
		if (nvs_api_row_merge(last->api, rows[i].api))
			return -ENOMEM;
	}
	return (long)kept;
}

static void add_open_calls(struct api_row *row, const struct nvs_trace *trace)
{
	const struct nvs_inflight *f;

	for (uint32_t i = 0; row->api->open && (f = nvs_trace_inflight(trace, i)); i++) {
		uint64_t ns = nvs_call_ns(trace, f->begin, f->end);

		if (strcmp(f->api, row->api->entry->name))
			continue;
		row->open++;
		row->open_ns += ns;
		row->open_max = ns > row->open_max ? ns : row->open_max;
	}
}

/* Collects the entry points of FACTS. Returns their number, or -ENOMEM. */
static long add_rows(struct api_row *rows, long count, struct nvs_session_stats *facts)
{
	for (size_t i = 0; i < facts->apis.rows.n; i++) {
		struct nvs_session_api_stats *a = facts->apis.rows.row[i];

		if (nvs_durations_merge(&a->api.times, &a->loading))
			return -ENOMEM;
		nvs_durations_free(&a->loading);
		rows[count] = (struct api_row){.api = &a->api};
		add_open_calls(rows + count++, facts->source->trace);
	}
	return count;
}

/* Rows with open calls first, and each part by host time. */
static int compare_times(const void *pa, const void *pb)
{
	const struct api_row *a = pa, *b = pb;

	return NVS_CMP(!a->open, !b->open) ?: NVS_CMP(all_ns(b), all_ns(a)) ?: compare_names(a, b);
}

static int print_part(struct nvs_run *run, struct api_row *rows, size_t n, bool setup,
		      uint64_t first)
{
	struct nvs_table table = NVS_RUN_TABLE(run, nvs_api_times_columns, NULL);
	struct nvs_print_options o = run->options->print;
	int r = 0;

	if (setup) {
		table.columns = setup_columns;
		table.ncolumns = sizeof(setup_columns) / sizeof(*setup_columns);
	}
	table.rows = calloc(n + 1, sizeof(*table.rows));
	if (!table.rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (nvs_facts_is_setup(rows[i].api->entry) == setup)
			table.rows[table.nrows++] = rows + i;
	/* A sort key of the whole-trace table does not apply to entry points. */
	o.sort = nvs_table_applicable(&table, o.sort);
	o.rows = first;
	if (table.nrows) {
		fprintf(run->out->file, "\n%s%s:%s\n", nvs_out_style(run->out, NVS_STYLE_HEAD),
			setup	 ? "Contexts and modules"
			: o.sort ? "Calls"
				 : "Calls by host time",
			nvs_out_style(run->out, NVS_STYLE_PLAIN));
		r = nvs_table_print(run->out, &table, &o);
	}
	free(table.rows);
	return r;
}

int nvs_api_times_print(struct nvs_run *run, struct nvs_session_stats *const *facts, uint32_t n,
			uint64_t first)
{
	struct api_row *rows;
	size_t room = 1;
	long count = 0;
	int r;

	for (uint32_t k = 0; k < n; k++)
		room += facts[k]->apis.rows.n;
	rows = calloc(room, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t k = 0; k < n && count >= 0; k++)
		count = add_rows(rows, count, facts[k]);
	if (count >= 0)
		count = merge_names(rows, (size_t)count);
	if (count > 0)
		qsort(rows, (size_t)count, sizeof(*rows), compare_times);
	r = count < 0 ? (int)count : print_part(run, rows, (size_t)count, false, first);
	/* Setup calls: a few rows are enough. */
	if (!r)
		r = print_part(run, rows, (size_t)count, true, first ? (first + 1) / 2 : 0);
	free(rows);
	return r;
}
