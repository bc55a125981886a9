/* SPDX-License-Identifier: MIT */
/* --by-api and --by-callsite: the cells of all traces, summed up by names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/report/api_calls.h"

struct row {
	const char *api, *runtime_api, *site, *module;
	uint64_t submissions, entries, bytes, threads, channels;
	uint64_t all; /* submissions of all rows */
	bool uncounted; /* and there are more, of which it is not known whose they are */
	struct nvs_tally tally;
	const struct nvs_api_calls *calls; /* NULL: not told */
};

/* A cell with the names of its stack. */
struct named {
	const struct nvs_cell *cell;
	const struct nvs_callsite *site;
	const char *api;
};

static void text(struct nvs_value *v, const char *s)
{
	v->kind = *s ? NVS_VALUE_TEXT : NVS_VALUE_NONE;
	v->text = s;
}

static void get_api(const void *row, struct nvs_value *v)
{
	text(v, ((const struct row *)row)->api);
}

static void get_runtime_api(const void *row, struct nvs_value *v)
{
	text(v, ((const struct row *)row)->runtime_api);
}

static void get_site(const void *row, struct nvs_value *v)
{
	text(v, ((const struct row *)row)->site);
}

static void get_module(const void *row, struct nvs_value *v)
{
	text(v, ((const struct row *)row)->module);
}

/* With level=counts calls are known, and not what they submitted. */
#define COUNTED (!r->calls || !r->calls->uncounted)

NVS_GET_KNOWN(struct row, submissions, COUNTED, r->submissions)
NVS_GET_KNOWN(struct row, entries, COUNTED, r->entries)
NVS_GET_KNOWN(struct row, bytes, COUNTED, r->bytes)
NVS_GET_REAL(struct row, bytes_each, COUNTED,
	     r->submissions ? (double)r->bytes / (double)r->submissions : 0)
NVS_GET_KNOWN(struct row, threads, COUNTED, r->threads)
NVS_GET_KNOWN(struct row, channels, COUNTED, r->channels)
NVS_GET_REAL(struct row, share, !r->uncounted,
	     r->all ? 100.0 * (double)r->submissions / (double)r->all : 0)

NVS_TALLY_GETTERS(struct row)

/* What the calls themselves tell; only where the trace holds them. */
#define GET_CALLS(name, member)                                                   \
	static void get_##name(const void *row, struct nvs_value *v)              \
	{                                                                         \
		const struct nvs_api_calls *c = ((const struct row *)row)->calls; \
		nvs_put_count(v, c ? c->member : 0);                              \
		if (!c)                                                           \
			v->kind = NVS_VALUE_NONE;                                 \
	}
#define GET_TIME(name, expr)                                                      \
	static void get_##name(const void *row, struct nvs_value *v)              \
	{                                                                         \
		const struct nvs_api_calls *c = ((const struct row *)row)->calls; \
		bool known = c && c->times.count;                                 \
		nvs_put_us(v, known, known ? (double)(expr) : 0);                 \
	}

GET_CALLS(calls, calls)
GET_CALLS(failed, failed)
GET_CALLS(captured, captured)
GET_CALLS(open, open)
GET_TIME(total, c->times.sum)
GET_TIME(mean, (double)c->times.sum / (double)c->times.count)
GET_TIME(p50, nvs_times_quantile(&c->times, 0.5))
GET_TIME(p99, nvs_times_quantile(&c->times, 0.99))
GET_TIME(max, c->times.max)

static void get_errors(const void *row, struct nvs_value *v)
{
	const struct nvs_api_calls *c = ((const struct row *)row)->calls;

	nvs_put_text(v, c ? c->errors : "");
}

#define CALL_COLUMNS                                                           \
	{"calls", "calls", get_calls, 0, 1},                                   \
		{"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 6},        \
		{"captured", "captured", get_captured, NVS_COLUMN_IF_ANY, 4},  \
		{"not_returned", "not returned", get_open, NVS_COLUMN_DETAIL}, \
		{"host_us_total", "host us", get_total, 0, 1},                 \
		{"host_us_mean", "us/call", get_mean, NVS_COLUMN_BESIDE, 3},   \
		{"host_us_p50", "us p50", get_p50, NVS_COLUMN_BESIDE, 5},      \
		{"host_us_p99", "us p99", get_p99, NVS_COLUMN_BESIDE, 6},      \
	{                                                                      \
		"host_us_max", "us max", get_max, NVS_COLUMN_BESIDE, 6         \
	}

static const struct nvs_column called_columns[] = {
	{"api", "api", get_api, NVS_COLUMN_NAME},
	{"runtime_api", "runtime api", get_runtime_api, NVS_COLUMN_NAME, 5},
	CALL_COLUMNS,
	{"submissions", "submissions", get_submissions, 0},
	{"entries", "entries", get_entries, 0, 7},
	{"bytes", "cmd bytes", get_bytes, 0, 2},
	{"bytes_per_submission", "bytes/sub", get_bytes_each, 0, 4},
	{"threads", "thr", get_threads, 0, 6},
	{"channels", "chan", get_channels, 0, 6},
	{"share", "share %", get_share, 0, 1},
	NVS_TALLY_COLUMNS,
	{"errors", "errors", get_errors, NVS_COLUMN_DETAIL, 2},
};

/* The same, as a table shows it where some call failed. */
static const struct nvs_column failed_column = {"errors", "errors", get_errors, NVS_COLUMN_NAME, 2};

static const struct nvs_column api_columns[] = {
	{"api", "api", get_api, NVS_COLUMN_NAME},
	{"runtime_api", "runtime api", get_runtime_api, NVS_COLUMN_NAME, 5},
	{"submissions", "submissions", get_submissions, 0},
	{"entries", "entries", get_entries, 0, 7},
	{"bytes", "cmd bytes", get_bytes, 0, 2},
	{"bytes_per_submission", "bytes/sub", get_bytes_each, 0, 4},
	{"threads", "thr", get_threads, 0, 6},
	{"channels", "chan", get_channels, 0, 6},
	{"share", "share %", get_share, 0, 1},
	NVS_TALLY_COLUMNS,
};

static const struct nvs_column site_columns[] = {
	{"callsite", "callsite", get_site, NVS_COLUMN_NAME},
	{"module", "module", get_module, NVS_COLUMN_NAME, 4},
	{"api", "api", get_api, NVS_COLUMN_NAME},
	{"runtime_api", "runtime api", get_runtime_api, NVS_COLUMN_NAME, 5},
	{"submissions", "submissions", get_submissions, 0},
	{"entries", "entries", get_entries, 0, 7},
	{"bytes", "cmd bytes", get_bytes, 0, 2},
	{"bytes_per_submission", "bytes/sub", get_bytes_each, 0, 4},
	{"threads", "thr", get_threads, 0, 6},
	{"channels", "chan", get_channels, 0, 6},
	{"share", "share %", get_share, 0, 1},
	NVS_TALLY_COLUMNS,
};

/* ---- grouping ---- */

static int compare_names(const struct named *a, const struct named *b, bool sites)
{
	int r = strcmp(a->api, b->api);

	if (!r)
		r = strcmp(a->site->runtime_api, b->site->runtime_api);
	if (!r && sites)
		r = strcmp(a->site->site, b->site->site);
	if (!r && sites)
		r = strcmp(a->site->site_module, b->site->site_module);
	return r;
}

static int by_api(const void *a, const void *b)
{
	return compare_names(a, b, false);
}

static int by_site(const void *a, const void *b)
{
	return compare_names(a, b, true);
}

static int by_number(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

static uint64_t distinct(uint64_t *ids, size_t n)
{
	uint64_t count = 0;

	qsort(ids, n, sizeof(*ids), by_number);
	for (size_t i = 0; i < n; i++)
		count += !i || ids[i] != ids[i - 1];
	return count;
}

/* One row from N cells of the same names; IDS has room for N. */
static void sum_up(struct row *row, const struct named *named, size_t n, uint64_t *ids)
{
	row->api = named->api;
	row->runtime_api = named->site->runtime_api;
	row->site = named->site->site;
	row->module = named->site->site_module;
	for (size_t i = 0; i < n; i++) {
		row->submissions += named[i].cell->submissions;
		row->entries += named[i].cell->entries;
		row->bytes += named[i].cell->bytes;
		nvs_tally_sum(&row->tally, &named[i].cell->tally);
		ids[i] = (uint64_t)named[i].cell->trace << 32 | named[i].cell->thread;
	}
	row->threads = distinct(ids, n);
	for (size_t i = 0; i < n; i++)
		ids[i] = (uint64_t)named[i].cell->trace << 32 | named[i].cell->channel;
	row->channels = distinct(ids, n);
}

static size_t collect(struct nvs_source *s, uint32_t n, struct named *named)
{
	size_t count = 0;

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; s[k].cells && i <= s[k].mask; i++) {
			if (!nvs_filter_cell(s + k, s[k].cells + i))
				continue;
			named[count].cell = s[k].cells + i;
			named[count].site = nvs_trace_callsite(s[k].trace, s[k].cells[i].stack);
			named[count].api = nvs_api_name(named[count].site, named[count].cell->api);
			count++;
		}
	return count;
}

/* Rows behind *ROWS, to be freed; their number, or -errno. */
static long make_rows(struct nvs_source *s, uint32_t n, bool sites, struct row **rows)
{
	size_t total = 1, count, nrows = 0;
	struct named *named;
	uint64_t *ids, all = 0;

	for (uint32_t k = 0; k < n; k++)
		total += s[k].ncells;
	named = calloc(total, sizeof(*named));
	ids = calloc(total, sizeof(*ids));
	*rows = calloc(total, sizeof(**rows));
	if (named && ids && *rows) {
		count = collect(s, n, named);
		qsort(named, count, sizeof(*named), sites ? by_site : by_api);
		for (size_t i = 0, j; i < count; i = j) {
			for (j = i + 1; j < count && !compare_names(named + i, named + j, sites);
			     j++)
				;
			sum_up(*rows + nrows++, named + i, j - i, ids);
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
	const struct nvs_api_calls *calls = key;
	const struct row *row = of;
	int r = strcmp(calls->api, row->api);

	return r ? r : strcmp(calls->runtime_api, row->runtime_api);
}

/* Puts calls to the rows of their names; those that submitted nothing get rows of their own. */
static long add_calls(struct row **rows, size_t nrows, const struct nvs_api_calls *calls,
		      size_t ncalls)
{
	uint64_t all = nrows ? (*rows)->all : 0;
	struct row *more = realloc(*rows, (nrows + ncalls + 1) * sizeof(*more));
	size_t submitting = nrows; /* sorted by names */
	bool uncounted = false;

	if (!more)
		return -ENOMEM;
	*rows = more;
	for (size_t i = 0; i < ncalls; i++) {
		struct row *row = bsearch(calls + i, more, submitting, sizeof(*more),
					  compare_calls);

		if (!row || row->calls) {
			row = more + nrows++;
			memset(row, 0, sizeof(*row));
			row->api = calls[i].api;
			row->runtime_api = calls[i].runtime_api;
			row->site = row->module = "";
			row->all = all;
		}
		row->calls = calls + i;
		row->tally.unseen += calls[i].uncounted;
		uncounted |= calls[i].uncounted;
	}
	for (size_t i = 0; i < nrows; i++)
		more[i].uncounted = uncounted;
	return (long)nrows;
}

static bool any_failed(const struct nvs_api_calls *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (calls[i].failed)
			return true;
	return false;
}

/* Can it be read a second time, and is there something in it to be found? */
static bool wants_calls(const struct nvs_source *s, uint32_t n, const struct nvs_options_report *o,
			bool short_form)
{
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		any |= s[i].has_calls;
		if (!strcmp(s[i].path, "-"))
			return false;
	}
	return any && !short_form && !o->has_range && !o->nchannel;
}

static int print_table(struct nvs_out *out, struct nvs_table *table, struct row *rows, long count,
		       const struct nvs_options_report *o)
{
	return nvs_report_rows(out, table, rows, (size_t)count, sizeof(*rows), o);
}

/* ---- entry points that are not observed ---- */

struct passed {
	const char *name;
	UT_hash_handle hh;
};

static int by_passed_name(const struct passed *a, const struct passed *b)
{
	return strcmp(a->name, b->name);
}

static int collect_passed(const struct nvs_source *s, struct passed **all)
{
	const struct nvs_call_api *api;

	for (uint32_t at = 0; (api = nvs_calls_passed(s->calls, &at));) {
		struct passed *p;

		HASH_FIND(hh, *all, api->name, strlen(api->name), p);
		if (p)
			continue;
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->name = api->name;
		HASH_ADD_KEYPTR(hh, *all, p->name, strlen(p->name), p);
		if (!p->hh.tbl) {
			free(p);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Below the table, for a person: of these it is known that the program asked for them, not how
 * often they were called. */
static int print_passed(struct nvs_out *out, const struct nvs_source *s, uint32_t n, bool verbose)
{
	struct passed *all = NULL, *p, *next;
	unsigned count;
	int r = 0;

	for (uint32_t i = 0; i < n && !r; i++)
		r = collect_passed(s + i, &all);
	HASH_SORT(all, by_passed_name);
	count = HASH_COUNT(all);
	if (!r && count)
		fprintf(out->file,
			"%s%u entry point%s looked up whose calls are not observed%s%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), count, count == 1 ? "" : "s",
			verbose ? ":" : "; -v names them", nvs_out_style(out, NVS_STYLE_PLAIN));
	HASH_ITER(hh, all, p, next) {
		if (!r && verbose) {
			fputs("  ", out->file);
			nvs_out_text(out, p->name);
			fputc('\n', out->file);
		}
		HASH_DEL(all, p);
		free(p);
	}
	return r;
}

#define COLUMNS(a) .columns = a, .ncolumns = sizeof(a) / sizeof(*a)

static int print_called(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			const struct nvs_options_report *o, struct row **rows, long count)
{
	struct nvs_column columns[sizeof(called_columns) / sizeof(*called_columns)];
	struct nvs_table table = {.report = "by-api",
				  .columns = columns,
				  .ncolumns = sizeof(columns) / sizeof(*columns),
				  .sort = "submissions",
				  .several = n > 1};
	struct nvs_api_calls *calls = NULL;
	size_t ncalls = 0;
	int r = nvs_api_calls_collect(s, n, &calls, &ncalls);

	memcpy(columns, called_columns, sizeof(columns));
	if (any_failed(calls, ncalls))
		columns[table.ncolumns - 1] = failed_column;
	if (!r)
		count = add_calls(rows, (size_t)count, calls, ncalls);
	if (!r)
		r = count < 0 ? (int)count : print_table(out, &table, *rows, count, o);
	if (!r && o->format == NVS_FORMAT_TEXT && !o->napi && !o->nthread)
		r = print_passed(out, s, n, o->verbose);
	nvs_api_calls_free(calls, ncalls);
	return r;
}

static int print(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		 const struct nvs_options_report *o, bool sites, bool short_form)
{
	struct nvs_table by_sites = {.report = "by-callsite",
				     COLUMNS(site_columns),
				     .sort = "submissions",
				     .several = n > 1};
	struct nvs_table by_apis = {
		.report = "by-api", COLUMNS(api_columns), .sort = "submissions", .several = n > 1};
	struct row *rows = NULL;
	long count = make_rows(s, n, sites, &rows);
	int r;

	if (count < 0)
		r = (int)count;
	else if (!sites && wants_calls(s, n, o, short_form))
		r = print_called(out, s, n, o, &rows, count);
	else
		r = print_table(out, sites ? &by_sites : &by_apis, rows, count, o);
	free(rows);
	return r;
}

int nvs_report_by_api(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		      const struct nvs_options_report *o)
{
	return print(out, s, n, o, false, false);
}

int nvs_report_by_callsite(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			   const struct nvs_options_report *o)
{
	return print(out, s, n, o, true, false);
}

int nvs_report_top_apis(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			const struct nvs_options_report *o, uint32_t rows)
{
	struct nvs_options_report top = *o;

	top.sort = NULL;
	top.rows = rows;
	top.format = NVS_FORMAT_TEXT;
	return print(out, s, n, &top, false, true);
}
