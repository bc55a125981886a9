/* SPDX-License-Identifier: MIT */
/* The table of --diff, with both traces side by side, and the sentences below it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/align.h"
#include "decode/base/compare.h"
#include "decode/base/hash.h"
#include "decode/report/diff/side_by_side.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/report.h"

#define CELL 48 /* bytes for "1 → 2" */

enum { CALLS, SUBMISSIONS, BYTES, METHODS, HOST, WAITS, CELLS };

struct nvs_diff_row {
	struct {
		uint64_t kind, number, name; /* name: a hash */
	} key;
	uint64_t place;
	char *name, *module;
	struct nvs_diff_count of[2];
	bool counted, read; /* submissions, and their contents, are known in both */
	uint64_t changed, moved; /* pairs of submissions */
	uint32_t first[2]; /* index + 1 of the first changed pair; 0: none */
	char cell[CELLS][CELL];
};

void nvs_diff_rows_begin(struct nvs_diff_state *st)
{
	if (st->rows.size)
		return;
	st->rows = NVS_ROWS(struct nvs_diff_row, key);
	st->all = calloc(1, sizeof(*st->all));
	st->status = st->all ? 0 : -ENOMEM;
}

static void free_row(void *item)
{
	struct nvs_diff_row *row = item;

	free(row->name);
	free(row->module);
}

void nvs_diff_rows_free(struct nvs_diff_state *st)
{
	nvs_rows_free(&st->rows, free_row);
	free(st->all);
}

static char *name_of(int kind, const char *name, uint64_t number)
{
	char *text;

	if (kind == NVS_DIFF_GRAPH)
		return asprintf(&text, "graph %" PRIu64, number) < 0 ? NULL : text;
	return kind == NVS_DIFF_KERNEL && !*name ? strdup("[unknown]") : strdup(name);
}

uint64_t nvs_diff_row_at(struct nvs_diff_state *st, int kind, const char *name, const char *module,
			 uint64_t number)
{
	/* A function without a name is an address, which differs in each run. */
	if (!strncmp(name, "0x", 2))
		name = "[unknown]";
	const uint64_t both[2] = {nvs_hash64(name, strlen(name)),
				  nvs_hash64(module, strlen(module))};
	struct nvs_diff_row key = {.key = {(uint64_t)kind, number, nvs_hash64(both, sizeof(both))}},
			    *row;

	row = nvs_rows_at(&st->rows, &key.key);
	if (row && !row->place) {
		row->name = name_of(kind, name, number);
		row->module = strdup(module);
		row->place = st->rows.n;
	}
	if (row && row->name && row->module)
		return row->place;
	st->status = -ENOMEM;
	return 0;
}

static struct nvs_diff_row *row_at(struct nvs_diff_state *st, uint64_t place)
{
	return place ? st->rows.row[place - 1] : st->all;
}

struct nvs_diff_count *nvs_diff_count_at(struct nvs_diff_each *e, uint64_t row)
{
	return row_at(e->state, row)->of + e->source->index;
}

void nvs_diff_count_add(struct nvs_diff_count *into, const struct nvs_diff_count *from)
{
	into->submissions += from->submissions;
	into->methods += from->methods;
	into->bytes += from->bytes;
	into->waits += from->waits;
	into->wait_bytes += from->wait_bytes;
}

void nvs_diff_count_result(struct nvs_diff_state *st, uint64_t place, int which,
			   const struct nvs_diff_submission *s, bool new_pair)
{
	struct nvs_diff_row *row = row_at(st, place);
	const struct nvs_diff_submission *mate;

	if (s->mate == NVS_ALIGN_NONE)
		return;
	if (s->how == NVS_DIFF_TIMED) {
		row->of[which].timed++;
		row->of[which].timed_bytes += s->bytes;
		row->of[which].bytes -= s->bytes;
		row->of[which].methods -= s->methods;
	}
	if (!new_pair)
		return;
	row->moved += s->how == NVS_DIFF_MOVED;
	row->changed += s->how == NVS_DIFF_CHANGED;
	mate = st->side[!which].list + s->mate;
	if (s->how == NVS_DIFF_CHANGED &&
	    (!row->first[0] ||
	     (uint64_t)s->number + mate->number + 2 < (uint64_t)row->first[0] + row->first[1])) {
		row->first[which] = s->number + 1;
		row->first[!which] = mate->number + 1;
	}
}

/* ---- columns ---- */

static const char *const kinds[] = {"api", "kernel", "graph", "callsite"};

/* A table shows both values in one cell; JSON and CSV have separate keys. */
#define SIDES(COL, key, is_known, member)                                    \
	COL(known, a_##key, "a_" #key, DETAIL, 0, is_known, r->of[0].member) \
	COL(known, b_##key, "b_" #key, DETAIL, 0, is_known, r->of[1].member)
#define COLUMNS(COL)                                                                            \
	COL(text, calls, "calls", TEXT, 1, r->cell[CALLS])                                      \
	COL(text, submissions, "submissions", TEXT, 1, r->cell[SUBMISSIONS])                    \
	COL(text, command_bytes, "cmd bytes", TEXT, 1, r->cell[BYTES])                          \
	COL(text, methods, "methods", TEXT, 4, r->cell[METHODS])                                \
	COL(known, changed_submissions, "changed", IF_ANY, 2, r->read, r->changed)              \
	COL(known, moved_submissions, "moved", IF_ANY, 3, r->counted, r->moved)                 \
	COL(text, host_us, "host us", TEXT, 6, r->cell[HOST])                                   \
	COL(text, waits, "waits", TEXT, 7, r->cell[WAITS])                                      \
	COL(text, kind, "kind", NAME, 0, kinds[r->key.kind])                                    \
	COL(text, name, "name", NAME, 0, r->name)                                               \
	COL(text, module, "module", NAME_IF_ANY, 7, r->module)                                  \
	SIDES(COL, calls, true, calls)                                                          \
	SIDES(COL, submissions, r->counted, submissions)                                        \
	SIDES(COL, command_bytes, r->read, bytes)                                               \
	SIDES(COL, methods, r->read, methods)                                                   \
	COL(known, a_changed_first, "a_changed_first", DETAIL, 0, r->first[0], r->first[0] - 1) \
	COL(known, b_changed_first, "b_changed_first", DETAIL, 0, r->first[1], r->first[1] - 1) \
	SIDES(COL, waits, r->read, waits)                                                       \
	COL(us, a_host_us_total, "a_host_us_total", DETAIL, 0, r->of[0].host.count,             \
	    r->of[0].host.ns)                                                                   \
	COL(us, b_host_us_total, "b_host_us_total", DETAIL, 0, r->of[1].host.count,             \
	    r->of[1].host.ns)
NVS_COLUMN_GETTERS(struct nvs_diff_row, COLUMNS)

const struct nvs_column nvs_diff_columns[] = {COLUMNS(NVS_COLUMN_ENTRY)};
_Static_assert(sizeof(nvs_diff_columns) / sizeof(*nvs_diff_columns) == NVS_DIFF_NCOLUMNS,
	       "diff_rows.h says how many");

/* ---- the table ---- */

static bool has_difference(const struct nvs_diff_row *row)
{
	const struct nvs_diff_count *a = row->of, *b = row->of + 1;

	if (a->calls != b->calls || row->changed || row->moved)
		return true;
	if (row->counted && a->submissions != b->submissions)
		return true;
	return row->read && (a->bytes != b->bytes || a->methods != b->methods);
}

static void put_cell(struct nvs_diff_row *row, int cell, bool known, uint64_t a, uint64_t b)
{
	if (!known)
		return;
	if (a == b)
		snprintf(row->cell[cell], CELL, "%" PRIu64, a);
	else
		snprintf(row->cell[cell], CELL, "%" PRIu64 "%s%" PRIu64, a, NVS_ARROW, b);
}

static int finish_row(struct nvs_diff_row *row)
{
	const struct nvs_diff_count *a = row->of, *b = row->of + 1;
	char *plain;

	put_cell(row, CALLS, true, a->calls, b->calls);
	put_cell(row, SUBMISSIONS, row->counted, a->submissions, b->submissions);
	put_cell(row, BYTES, row->read, a->bytes, b->bytes);
	put_cell(row, METHODS, row->read, a->methods, b->methods);
	put_cell(row, WAITS, row->read, a->waits, b->waits);
	if (a->host.count || b->host.count)
		snprintf(row->cell[HOST], CELL, "%.0f%s%.0f", (double)a->host.ns / 1000, NVS_ARROW,
			 (double)b->host.ns / 1000);
	if (row->key.kind != NVS_DIFF_KERNEL)
		return 0;
	plain = nvs_demangle(row->name);
	if (!plain)
		return -ENOMEM;
	free(row->name);
	row->name = plain;
	return 0;
}

static uint64_t get_byte_difference(const struct nvs_diff_row *row)
{
	uint64_t a = row->of[0].bytes, b = row->of[1].bytes;

	return a > b ? a - b : b - a;
}

/* Sorts by kind, then by difference in bytes, then by name. */
static int compare_rows(const void *pa, const void *pb)
{
	const struct nvs_diff_row *a = *(const struct nvs_diff_row *const *)pa,
				  *b = *(const struct nvs_diff_row *const *)pb;

	return NVS_CMP(a->key.kind, b->key.kind) ?: NVS_CMP(get_byte_difference(b), get_byte_difference(a)) ?: NVS_CMP(a->key.number, b->key.number) ?: strcmp(a->name, b->name);
}

/* ---- below the table ---- */

static void print_sides(FILE *f, uint64_t a, uint64_t b, void (*say)(FILE *f, uint64_t n))
{
	say(f, a);
	if (a == b)
		return;
	fputs(NVS_ARROW, f);
	say(f, b);
}

static void print_number(FILE *f, uint64_t n)
{
	char text[32];

	fputs(nvs_format_grouped(text, n), f);
}

static void print_time(FILE *f, uint64_t ns)
{
	fputs(ns ? NVS_DURATION(ns) : "-", f);
}

static void print_verdict(FILE *f, const struct nvs_diff_state *st, bool same)
{
	const struct nvs_diff_row *all = st->all;

	if (!same)
		return;
	fprintf(f, "No difference: %s", NVS_COUNT(all->of[0].calls, "call", "calls"));
	if (all->counted)
		fprintf(f, ", %s", NVS_COUNT(all->of[0].submissions, "submission", "submissions"));
	if (all->read)
		fprintf(f, ", %s of commands", NVS_BYTES(all->of[0].bytes));
	fputs(".\n", f);
}

static const char *driver_of(const struct nvs_source *s)
{
	const char *driver = nvs_trace_session(s->trace)->attr[NVS_ATTR_DRIVER];

	return driver ? driver : "-";
}

static void print_traces(FILE *f, const struct nvs_source *sources)
{
	const char *a = driver_of(sources), *b = driver_of(sources + 1);

	if (strcmp(a, b))
		fprintf(f, "Driver %s%s%s.\n", NVS_TEXT(a, CELL), NVS_ARROW, NVS_TEXT(b, CELL));
	for (int k = 0; k < 2; k++)
		if (nvs_trace_problems(sources[k].trace))
			fprintf(f,
				"The %s trace is incomplete, and what it lacks counts as a "
				"difference; see --verify.\n",
				k ? "second" : "first");
}

static void print_uncompared(FILE *f, const struct nvs_diff_state *st)
{
	const struct nvs_diff_row *all = st->all;
	const struct nvs_diff_count *a = all->of, *b = all->of + 1;
	char text[2][32];

	if (st->unmatched[0] + st->unmatched[1])
		fprintf(f, "Submissions in only one trace: %s in the first, %s in the second.\n",
			nvs_format_grouped(text[0], st->unmatched[0]),
			nvs_format_grouped(text[1], st->unmatched[1]));
	if (st->unordered)
		fprintf(f, "%s with more than %u differences: order not compared.\n",
			NVS_COUNT(st->unordered, "thread", "threads"), NVS_ALIGN_MAX);
	if (st->uncounted || st->unread)
		fprintf(f, "A trace was recorded with level=%s: only calls%s are compared.\n",
			st->uncounted ? "counts" : "headers",
			st->uncounted ? "" : " and submissions");
	fputs("Not compared: host time in calls ", f);
	print_sides(f, a->host.ns, b->host.ns, print_time);
	if (!all->read) {
		fputs(".\n", f);
		return;
	}
	fputs(", waits for the GPU ", f);
	print_sides(f, a->waits, b->waits, print_number);
	fputs(" (", f);
	print_sides(f, a->wait_bytes, b->wait_bytes, print_number);
	fputs(" bytes)", f);
	if (a->timed) {
		fputs(", small copies sent in another way (depends on the engine being idle): ", f);
		print_number(f, a->timed);
		fputs(" (", f);
		print_sides(f, a->timed_bytes, b->timed_bytes, print_number);
		fputs(" bytes)", f);
	}
	fputs(".\n", f);
}

/* Prints the command that shows the first change in detail. */
static void print_next_command(struct nvs_run *run, const struct nvs_diff_state *st)
{
	const struct nvs_diff_row *all = st->all;
	FILE *f = run->out->file;

	if (!all->first[0])
		return;
	fputs("To see the methods of the first change:\n    ", f);
	nvs_print_shell_word(f, run->options->called);
	fputs(" --diff", f);
	for (int k = 0; k < 2; k++) {
		fputc(' ', f);
		nvs_print_shell_word(f, run->sources[k].path);
		fprintf(f, ":%u", all->first[k] - 1);
	}
	fputc('\n', f);
}

static int print_summary(struct nvs_run *run, const struct nvs_diff_state *st, bool same)
{
	char *text = NULL, *line, *next;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	print_verdict(f, st, same);
	print_traces(f, run->sources);
	print_uncompared(f, st);
	if (nvs_budget_end_text(f, &text))
		return -ENOMEM;
	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		*next++ = '\0';
		nvs_print_wrapped(run->out, line, 0);
	}
	free(text);
	print_next_command(run, st);
	return 0;
}

static void set_known(const struct nvs_diff_state *st, struct nvs_diff_row *row)
{
	row->counted = !st->uncounted;
	row->read = !st->unread;
}

int nvs_diff_rows_print(struct nvs_run *run, struct nvs_diff_state *st)
{
	struct nvs_table table = NVS_RUN_TABLE(run, nvs_diff_columns, NULL);
	const void **rows = calloc(st->rows.n + 1, sizeof(*rows));
	bool same;
	int r = rows ? 0 : -ENOMEM;
	size_t n = 0;

	set_known(st, st->all);
	if (st->uncounted)
		st->unmatched[0] = st->unmatched[1] = 0;
	same = !has_difference(st->all) && !st->unmatched[0] && !st->unmatched[1];

	/* A mistyped filter must not pass for two equal traces. */
	if (!r && !st->rows.n && nvs_filter_is_set(&run->options->query)) {
		fputs("nvsnoop-report: --diff: nothing is selected\n", stderr);
		nvs_filter_explain(run->sources, run->n);
		free(rows);
		return -EINVAL;
	}
	for (size_t i = 0; i < st->rows.n && !r; i++) {
		struct nvs_diff_row *row = st->rows.row[i];

		/* Call sites are known only where something was submitted. */
		if (st->uncounted && row->key.kind == NVS_DIFF_SITE)
			continue;
		set_known(st, row);
		same &= !has_difference(row);
		if (!has_difference(row) && !run->options->verbose)
			continue;
		r = finish_row(row);
		rows[n++] = row;
	}
	if (!r) {
		qsort(rows, n, sizeof(*rows), compare_rows);
		table.rows = rows;
		table.nrows = n;
		if (n || run->options->print.format != NVS_FORMAT_TEXT)
			r = nvs_table_print(run->out, &table, &run->options->print);
	}
	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		r = print_summary(run, st, same);
	run->verdict = !same;
	free(rows);
	return r;
}
