/* SPDX-License-Identifier: MIT */
/* --by-api and --by-callsite: merges the cells of all traces by name and adds the calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/analysis/api_stats.h"
#include "decode/query/durations.h"
#include "decode/report/by_api/by_api.h"
#include "decode/analysis/submission_stats.h"
#include "decode/report/core/stack_columns.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/operation_columns.h"

struct api_site_row {
	const char *api, *runtime_api, *site, *module;
	const struct nvs_source *source; /* NULL: from several traces */
	struct nvs_trace *trace; /* with STACK: where to look up the line */
	uint32_t stack, group;
	uint64_t submissions, entries, bytes, threads, channels;
	uint64_t all; /* submissions of all rows */
	bool uncounted; /* some calls' submissions are unknown */
	struct nvs_tally tally;
	const struct nvs_api_calls *calls; /* NULL: not recorded */
};

/* A cell with the names resolved from its stack. */
struct named_group {
	const struct nvs_submission_group *cell;
	const struct nvs_source *source;
	struct nvs_api_label label;
};

/* level=counts records calls but not their submissions. */
#define COUNTED (!r->calls || !r->calls->uncounted)

/* Columns of calls, if the trace records them. */
#define TIMED (r->calls && r->calls->times.total.count)

#define CALL_COLUMNS(COL)                                                               \
	COL(guarded, calls, "calls", 0, 1, r->calls, r->calls->calls)                   \
	COL(guarded, failed, "failed", IF_ANY, 6, r->calls, r->calls->failed)           \
	COL(guarded, captured, "captured", IF_ANY, 4, r->calls, r->calls->captured)     \
	COL(guarded, not_returned, "not returned", DETAIL, 0, r->calls, r->calls->open) \
	COL(us, host_us_total, "host us", 0, 1, TIMED, r->calls->times.total.ns)        \
	COL(us, host_us_mean, "us/call", BESIDE, 3, TIMED,                              \
	    nvs_duration_mean(&r->calls->times.total))                                  \
	COL(us, host_us_p50, "us p50", BESIDE, 5, TIMED,                                \
	    nvs_durations_quantile(&r->calls->times, 0.5))                              \
	COL(us, host_us_p99, "us p99", BESIDE, 6, TIMED,                                \
	    nvs_durations_quantile(&r->calls->times, 0.99))                             \
	COL(us, host_us_max, "us max", BESIDE, 4, TIMED, r->calls->times.max)

#define SUBMISSION_COLUMNS(COL, title)                                      \
	COL(known, submissions, title, 0, 0, COUNTED, r->submissions)       \
	COL(known, entries, "entries", 0, 7, COUNTED, r->entries)           \
	COL(known, command_bytes, "cmd bytes", 0, 2, COUNTED, r->bytes)     \
	COL(real, command_bytes_per_submission, "bytes/sub", 0, 4, COUNTED, \
	    r->submissions ? (double)r->bytes / (double)r->submissions : 0) \
	COL(known, threads, "thr", 0, 6, COUNTED, r->threads)               \
	COL(known, channels, "chan", 0, 6, COUNTED, r->channels)            \
	COL(real, submissions_percent, "share %", 0, 1, !r->uncounted,      \
	    r->all ? 100.0 * (double)r->submissions / (double)r->all : 0)   \
	NVS_TALLY_COLUMNS(COL)

#define MAX_COLUMNS 56

#define CALLED_COLUMNS(COL)                                            \
	COL(text, api, "api", NAME, 0, r->api)                         \
	COL(text, runtime_api, "runtime api", NAME, 5, r->runtime_api) \
	CALL_COLUMNS(COL)                                              \
	SUBMISSION_COLUMNS(COL, "submissions")                         \
	NVS_SOURCE_COLUMNS(COL, r->source)                             \
	COL(text, errors, "errors", DETAIL, 2, r->calls ? r->calls->errors : "")
NVS_COLUMNS(called_columns, struct api_site_row, CALLED_COLUMNS)

/* Replaces the column of the same name in a table if any call failed. */
static const struct nvs_column failed_column = {"errors", "errors", column_errors, NVS_COLUMN_NAME,
						2};

#define API_COLUMNS(COL)                               \
	COL(same, api, "api", NAME, 0)                 \
	COL(same, runtime_api, "runtime api", NAME, 5) \
	SUBMISSION_COLUMNS(COL##_SAME, "submissions")  \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(api_columns, struct api_site_row, API_COLUMNS)

#define OF_SITE(COL)                                      \
	COL(text, callsite, "callsite", NAME, 0, r->site) \
	COL(text, module, "module", NAME, 4, r->module)   \
	COL(same, api, "api", NAME, 0)                    \
	COL(same, runtime_api, "runtime api", NAME, 5)

#define CALLED_SITE_COLUMNS(COL)                                         \
	OF_SITE(COL)                                                     \
	SUBMISSION_COLUMNS(COL##_SAME, "subs")                           \
	CALL_COLUMNS(COL##_SAME)                                         \
	COL(same, errors, "errors", DETAIL, 2)                           \
	COL(text, line, "line", NAME_IF_ANY, 3,                          \
	    r->trace ? nvs_trace_callsite_line(r->trace, r->stack) : "") \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(called_site_columns, struct api_site_row, CALLED_SITE_COLUMNS)

#define SITE_COLUMNS(COL)                             \
	OF_SITE(COL##_SAME)                           \
	SUBMISSION_COLUMNS(COL##_SAME, "submissions") \
	COL(same, line, "line", NAME_IF_ANY, 3)       \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(site_columns, struct api_site_row, SITE_COLUMNS)

/* ---- grouping ---- */

static int compare_named(const void *a, const void *b)
{
	return nvs_api_label_compare(&((const struct named_group *)a)->label,
				     &((const struct named_group *)b)->label);
}

static int compare_numbers(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return NVS_CMP(a, b);
}

static uint64_t count_distinct(uint64_t *ids, size_t n)
{
	uint64_t count = 0;

	qsort(ids, n, sizeof(*ids), compare_numbers);
	for (size_t i = 0; i < n; i++)
		count += !i || ids[i] != ids[i - 1];
	return count;
}

static void set_label(struct api_site_row *row, const struct nvs_api_label *label)
{
	row->group = label->group;
	row->api = label->api;
	row->runtime_api = label->runtime_api;
	row->site = label->site ? label->site : "";
	row->module = label->module;
}

/* Makes one row from N cells of the same names. IDS has space for N. */
static void merge_cells(struct api_site_row *row, const struct named_group *named, size_t n,
			uint64_t *ids)
{
	set_label(row, &named->label);
	row->source = named->source;
	row->trace = named->source->trace;
	row->stack = named->cell->stack;
	for (size_t i = 0; i < n; i++) {
		if (row->source != named[i].source)
			row->source = NULL;
		row->submissions += named[i].cell->submissions;
		row->entries += named[i].cell->entries;
		row->bytes += named[i].cell->bytes;
		nvs_tally_sum(&row->tally, &named[i].cell->tally);
		ids[i] = (uint64_t)named[i].cell->trace << 32 | named[i].cell->thread;
	}
	row->threads = count_distinct(ids, n);
	for (size_t i = 0; i < n; i++)
		ids[i] = (uint64_t)named[i].cell->trace << 32 | named[i].cell->channel;
	row->channels = count_distinct(ids, n);
}

static size_t name_cells(struct nvs_source *s, uint32_t n, bool sites, struct named_group *named)
{
	const struct nvs_submission_group *cell;
	size_t count = 0;

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t at = 0; (cell = nvs_submission_groups_next(s + k, &at)); count++) {
			const struct nvs_callsite *site = nvs_trace_callsite(s[k].trace,
									     cell->stack);

			named[count].cell = cell;
			named[count].source = s + k;
			named[count].label = nvs_api_label_of(s + k, site,
							      nvs_api_name(site, cell->api), sites);
		}
	return count;
}

/* Returns the number of rows in *ROWS, which the caller frees, or -errno. */
static long make_rows(struct nvs_source *s, uint32_t n, bool sites, struct api_site_row **rows)
{
	size_t total = 1, count, nrows = 0;
	struct named_group *named;
	uint64_t *ids, all = 0;

	for (uint32_t k = 0; k < n; k++)
		total += s[k].cells->n;
	named = calloc(total, sizeof(*named));
	ids = calloc(total, sizeof(*ids));
	*rows = calloc(total, sizeof(**rows));
	if (named && ids && *rows) {
		count = name_cells(s, n, sites, named);
		qsort(named, count, sizeof(*named), compare_named);
		for (size_t i = 0, j; i < count; i = j) {
			for (j = i + 1; j < count && !compare_named(named + i, named + j); j++)
				;
			merge_cells(*rows + nrows++, named + i, j - i, ids);
			all += (*rows)[nrows - 1].submissions;
		}
	}
	for (size_t i = 0; i < nrows; i++)
		(*rows)[i].all = all;
	count = named && ids && *rows ? nrows : (size_t)-ENOMEM;
	free(named);
	free(ids);
	return (long)count;
}

static int compare_calls(const void *key, const void *of)
{
	const struct api_site_row *row = of;
	struct nvs_api_label label = {row->group, row->api, row->runtime_api, row->site,
				      row->module};

	return nvs_api_label_compare(&((const struct nvs_api_calls *)key)->label, &label);
}

/* Attaches calls to the rows of their names. Calls that submitted nothing get rows of their own. */
static long add_calls(struct api_site_row **rows, size_t nrows,
		      const struct nvs_api_calls_list *list, const struct nvs_source *sources)
{
	uint64_t all = nrows ? (*rows)->all : 0;
	struct api_site_row *more = realloc(*rows, (nrows + list->n + 1) * sizeof(*more));
	size_t submitting = nrows; /* these are sorted by name */
	bool uncounted = false;

	if (!more)
		return -ENOMEM;
	*rows = more;
	for (size_t i = 0; i < list->n; i++) {
		const struct nvs_api_calls *calls = list->named[i];
		struct api_site_row *row = bsearch(calls, more, submitting, sizeof(*more),
						   compare_calls);

		if (!row || row->calls) {
			row = more + nrows++;
			memset(row, 0, sizeof(*row));
			row->source = calls->source;
			set_label(row, &calls->label);
			row->trace = sources[calls->key.trace].trace;
			row->stack = calls->key.stack;
			row->all = all;
		}
		if (row->source != calls->source)
			row->source = NULL;
		row->calls = calls;
		row->tally.unseen += calls->uncounted;
		uncounted |= calls->uncounted;
	}
	for (size_t i = 0; i < nrows; i++)
		more[i].uncounted = uncounted;
	return (long)nrows;
}

static bool any_failed(const struct nvs_api_calls_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->named[i]->failed)
			return true;
	return false;
}

/* ---- --by-api and --by-callsite ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, void *arg,
		 struct nvs_pass_reader *reader)
{
	*(struct nvs_api_calls_reader *)arg = (struct nvs_api_calls_reader){s, run->state};
	reader->call = nvs_api_calls_add;
	return 0;
}

static int begin_sites(struct nvs_run *run, struct nvs_source *s, void *arg,
		       struct nvs_pass_reader *reader)
{
	((struct nvs_api_calls_list *)run->state)->sites = true;
	return begin(run, s, arg, reader);
}

/* Prints the table without columns of calls. */
static int print_cells(struct nvs_run *run, struct nvs_table *table, bool sites,
		       const struct nvs_print_options *o)
{
	struct api_site_row *rows = NULL;
	long count = make_rows(run->sources, run->n, sites, &rows);
	int r = count < 0 ? (int)count
			  : nvs_table_print_array(run->out, table, rows, (size_t)count,
						  sizeof(*rows), o);

	free(rows);
	return r;
}

static int print_called(struct nvs_run *run, struct nvs_table *table, bool sites)
{
	struct nvs_api_calls_list *list = run->state;
	struct nvs_column columns[MAX_COLUMNS];
	struct api_site_row *rows = NULL;
	long count = make_rows(run->sources, run->n, sites, &rows);
	int r = count < 0 ? (int)count : nvs_api_calls_merge(list, run->sources);

	memcpy(columns, table->columns, table->ncolumns * sizeof(*columns));
	table->columns = columns;
	for (uint32_t i = 0; i < table->ncolumns && any_failed(list); i++)
		if (columns[i].get == column_errors)
			columns[i] = failed_column;
	if (!r)
		count = add_calls(&rows, (size_t)count, list, run->sources);
	if (!r)
		r = count < 0 ? (int)count
			      : nvs_table_print_array(run->out, table, rows, (size_t)count,
						      sizeof(*rows), &run->options->print);
	for (long i = 0; i < count && !r && sites; i++)
		if (!*rows[i].site && run->options->print.format == NVS_FORMAT_TEXT) {
			nvs_no_stack_print(run->out, "-");
			break;
		}
	free(rows);
	return r;
}

/* A table omits the columns of calls if no trace records any. JSON and CSV keys never change. */
static bool shows_calls(const struct nvs_run *run)
{
	bool called = run->options->print.format != NVS_FORMAT_TEXT;

	for (uint32_t i = 0; i < run->n; i++)
		called |= nvs_pass_has_record(run->sources[i].first, NVS_REC_CALL);
	return called;
}

static int print_by_api(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_SUMS(run, api_columns, "submissions");
	struct nvs_table called = NVS_RUN_SUMS(run, called_columns, "submissions");
	const struct nvs_options_report *o = run->options;
	int r;

	if (!shows_calls(run))
		return print_cells(run, &table, false, &o->print);
	r = print_called(run, &called, false);
	if (!r && o->print.format == NVS_FORMAT_TEXT && !o->query.api.n && !o->query.thread.n &&
	    !nvs_filter_by_submissions(&o->query))
		r = nvs_print_unobserved_apis(run);
	return r;
}

static int print_by_callsite(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_SUMS(run, site_columns, "submissions");
	struct nvs_table called = NVS_RUN_SUMS(run, called_site_columns, "submissions");

	return shows_calls(run) ? print_called(run, &called, true)
				: print_cells(run, &table, true, &run->options->print);
}

int nvs_print_api_table(struct nvs_run *run, uint64_t rows)
{
	struct nvs_table table = NVS_RUN_SUMS(run, api_columns, "submissions");
	struct nvs_print_options top = run->options->print;

	top.sort = NULL;
	top.rows = rows;
	top.format = NVS_FORMAT_TEXT;
	return print_cells(run, &table, false, &top);
}

static void free_calls(struct nvs_run *run)
{
	nvs_api_calls_free(run->state);
}

NVS_REPORT(by_api, .name = "by-api", .group = NVS_HOST_TIME, .place = 10,
	   .help = "per driver API and the runtime API above it",
	   .man = "For each driver API and the runtime API that called it: submissions, "
		  "entries, command bytes, bytes per submission, threads, channels and "
		  "share. If the trace records calls, also how many there were and how "
		  "many failed, by error, and the host time per call: total, mean, median, "
		  "99th percentile (both to 3 %) and maximum. Calls that submitted nothing "
		  "have rows, too.\nSubmissions from inside libcuda without a public entry "
		  "point (made by libraries and tools through the tables of\n.BR "
		  "cuGetExportTable ())\nare named by the function that called libcuda, "
		  "for example\n.IR \"libcuda.so.1 < cufftExecC2C\" ,\nand\n.B "
		  "\\-\\-api=cufftExecC2C\nselects them. Submissions of entry points that "
		  "are not recorded (mostly queries) have a row by their stack;\n.B \\-v\n"
		  "lists those that the program looked up.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(called_columns), .state = sizeof(struct nvs_api_calls_list),
	   .each = sizeof(struct nvs_api_calls_reader), .begin = begin, .print = print_by_api,
	   .free = free_calls);

NVS_REPORT(by_callsite, .name = "by-callsite", .group = NVS_HOST_TIME, .place = 20,
	   .help = "per API and the program's own frame that called it",
	   .man = "The same for each API and the program's own frame that called it. "
		  "Stacks are recorded when something is submitted, and at the end of "
		  "calls that took about a millisecond or more. Shorter calls that "
		  "submitted nothing, and calls before the first GPU was opened, are in a "
		  "row of their API without a frame.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(called_site_columns), .state = sizeof(struct nvs_api_calls_list),
	   .each = sizeof(struct nvs_api_calls_reader), .begin = begin_sites,
	   .print = print_by_callsite, .free = free_calls);
