/* SPDX-License-Identifier: MIT */
/* Prints a table from a list of columns: aligned text, JSON or CSV, sorted by any column. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/nearest.h"
#include "decode/cli/sentence.h"
#include "decode/cli/table.h"

#define MAX_COLUMNS 64
#define GB 1000000000u /* bytes are printed in GB from here on */
#define NAMES_SHARE 40 /* width of all name columns together before other columns are dropped, */
#define MIN_NAME 20 /* but at least this for each */
#define LEAST_NAME 8 /* a name column is never cut below this */
#define SHOWN (NVS_COLUMN_TEXT | NVS_COLUMN_BAR) /* not in JSON and CSV, and not sortable */

/* Keys first: several columns may have the same heading. */
const struct nvs_column *nvs_table_column(const struct nvs_table *table, const char *name)
{
	for (int heading = 0; heading < 2; heading++)
		for (uint32_t i = 0; i < table->ncolumns; i++) {
			const struct nvs_column *c = table->columns + i;

			if (!(c->flags & SHOWN) &&
			    nvs_names_alike(heading ? c->title : c->name, name))
				return c;
		}
	return NULL;
}

const char *nvs_table_applicable(const struct nvs_table *table, const char *by)
{
	return by && nvs_table_column(table, by + (*by == '-')) ? by : NULL;
}

int nvs_table_no_column(const struct nvs_table *table, const char *by)
{
	const struct nvs_column *c = table->columns, *end = c + table->ncolumns;
	struct nvs_nearest near = {.wanted = by + (*by == '-')};

	fprintf(stderr, "nvsnoop-report: no column '%s'", by);
	for (; c < end; c++) {
		if (c->flags & SHOWN)
			continue;
		nvs_nearest_add(&near, c->name, strlen(c->name));
		nvs_nearest_add(&near, c->title, strlen(c->title));
	}
	nvs_nearest_print(&near);
	fprintf(stderr, "nvsnoop-report: the columns of %s are", table->report);
	for (uint32_t i = 0; i < table->ncolumns; i++)
		if (!(table->columns[i].flags & SHOWN))
			fprintf(stderr, " %s", table->columns[i].name);
	fputc('\n', stderr);
	return -EINVAL;
}

/* NaN and infinity count as unknown. */
static void get_value(const struct nvs_column *columns, const struct nvs_column *c, const void *row,
		      struct nvs_value *v)
{
	bool real;

	memset(v, 0, sizeof(*v));
	if (c->get)
		c->get(row, v);
	else
		*v = ((const struct nvs_value *)row)[c - columns];
	real = v->kind == NVS_VALUE_DECIMAL || v->kind == NVS_VALUE_FLOAT ||
	       v->kind == NVS_VALUE_DOUBLE;
	if (real && !c->get)
		v->count = c->decimals;
	if ((real || v->kind == NVS_VALUE_REAL) && !isfinite(v->real))
		v->kind = NVS_VALUE_NONE;
}

/* ---- order ---- */

/* Both are of the same kind: all known values of a column are. */
static int compare_values(const struct nvs_value *a, const struct nvs_value *b)
{
	switch (a->kind) {
	case NVS_VALUE_TEXT:
		return strcmp(a->text, b->text);
	case NVS_VALUE_REAL:
	case NVS_VALUE_BAR:
	case NVS_VALUE_DECIMAL:
	case NVS_VALUE_FLOAT:
	case NVS_VALUE_DOUBLE:
		return a->real < b->real ? -1 : a->real > b->real;
	case NVS_VALUE_NS:
	case NVS_VALUE_INTEGER:
		return a->ns < b->ns ? -1 : a->ns > b->ns;
	default:
		return a->count < b->count ? -1 : a->count > b->count;
	}
}

int nvs_table_compare(const struct nvs_order *o, const void *row_a, const void *row_b)
{
	struct nvs_value a, b;

	get_value(o->columns, o->column, row_a, &a);
	get_value(o->columns, o->column, row_b, &b);
	/* Unknown values come last in either direction. */
	if (a.kind != b.kind)
		return (a.kind == NVS_VALUE_NONE) - (b.kind == NVS_VALUE_NONE);
	return compare_values(&a, &b) * o->direction;
}

/* Stable: rows with equal values keep their order. */
static void merge_sort(const void **rows, const void **spare, size_t n, const struct nvs_order *o)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	merge_sort(rows, spare, half, o);
	merge_sort(rows + half, spare, n - half, o);
	while (i < half && j < n)
		spare[k++] = nvs_table_compare(o, rows[i], rows[j]) <= 0 ? rows[i++] : rows[j++];
	while (i < half)
		spare[k++] = rows[i++];
	memcpy(rows, spare, k * sizeof(*rows));
}

bool nvs_table_order(const struct nvs_table *table, const char *by, struct nvs_order *o)
{
	struct nvs_value v = {0};
	bool reversed = by && *by == '-';

	o->columns = table->columns;
	o->column = by ? nvs_table_column(table, by + reversed) : NULL;
	for (size_t i = 0; o->column && i < table->nrows && v.kind == NVS_VALUE_NONE; i++)
		get_value(o->columns, o->column, table->rows[i], &v);
	/* Numbers: largest first. Names: from A to Z. */
	o->direction = (v.kind == NVS_VALUE_TEXT) != reversed ? 1 : -1;
	return o->column;
}

static int sort_rows(struct nvs_table *table, const char *by)
{
	const void **spare;
	struct nvs_order o;

	if (!by)
		return 0;
	if (!nvs_table_order(table, by, &o))
		return nvs_table_no_column(table, by);
	if (table->nrows < 2)
		return 0;
	spare = calloc(table->nrows, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	merge_sort(table->rows, spare, table->nrows, &o);
	free(spare);
	return 0;
}

/* ---- JSON and CSV ---- */

void nvs_table_json(struct nvs_json *j, const struct nvs_table *t, size_t nrows)
{
	for (size_t r = 0; r < nrows; r++) {
		nvs_json_break(j);
		nvs_json_open(j, NULL, '{');
		for (uint32_t i = 0; i < t->ncolumns; i++) {
			struct nvs_value v;

			if (t->columns[i].flags & SHOWN)
				continue;
			get_value(t->columns, t->columns + i, t->rows[r], &v);
			nvs_json_key(j, t->columns[i].name);
			nvs_value_json(j->file, &v);
		}
		nvs_json_close(j, '}');
	}
}

static void print_json(struct nvs_out *out, const struct nvs_table *t, size_t nrows)
{
	struct nvs_json j = {.file = out->file, .flat = out->lines};

	nvs_json_open(&j, NULL, '{');
	nvs_json_number(&j, "schema", NVS_SCHEMA);
	nvs_json_text(&j, "report", t->report);
	nvs_json_open(&j, "rows", '[');
	nvs_table_json(&j, t, nrows);
	if (nrows)
		nvs_json_break(&j);
	nvs_json_close(&j, ']');
	if (nvs_budget_exceeded())
		nvs_json_bool(&j, "left_out", true);
	nvs_json_close(&j, '}');
	fputc('\n', out->file);
}

void nvs_table_csv(struct nvs_out *out, const struct nvs_table *t, size_t nrows)
{
	const char *end = t->csv_end ? t->csv_end : "\r\n";

	/* The first line has the keys. */
	for (size_t r = 0; r <= nrows; r++) {
		const char *comma = "";

		for (uint32_t i = 0; i < t->ncolumns; i++) {
			const struct nvs_column *c = t->columns + i;
			char text[NVS_VALUE_ROOM];
			struct nvs_value v;

			if (c->flags & (SHOWN | NVS_COLUMN_JSON))
				continue;
			fputs(comma, out->file);
			comma = ",";
			if (!r) {
				nvs_out_csv(out, c->name);
				continue;
			}
			get_value(t->columns, c, t->rows[r - 1], &v);
			nvs_value_plain_format(text, sizeof(text), &v, "");
			nvs_out_csv(out, v.kind == NVS_VALUE_TEXT ? v.text : text);
		}
		fputs(end, out->file);
	}
}

/* ---- text ---- */

/* Width of S, or of the longer line of a heading; every character counts as narrow. */
static int width_of(const char *s)
{
	int n = 0, most = 0;

	for (; *s; s++) {
		n = *s == '\n' ? 0 : n + (((unsigned char)*s & 0xc0) != 0x80);
		most = n > most ? n : most;
	}
	return most;
}

/* Line LINE, 0 or 1, of a heading. A heading of one line is in line 1. */
static void heading_text(char *text, size_t room, const char *title, int line)
{
	const char *cut = strchr(title, '\n');

	if (line)
		snprintf(text, room, "%s", cut ? cut + 1 : title);
	else
		snprintf(text, room, "%.*s", cut ? (int)(cut - title) : 0, title);
}

struct table_layout {
	const struct nvs_column *column[MAX_COLUMNS]; /* in print order */
	int width[MAX_COLUMNS];
	bool left[MAX_COLUMNS];
	uint32_t n;
};

static bool any_known(const struct nvs_table *t, const struct nvs_column *c, size_t nrows)
{
	struct nvs_value v = {0};

	for (size_t r = 0; r < nrows && v.kind == NVS_VALUE_NONE; r++)
		get_value(t->columns, c, t->rows[r], &v);
	return v.kind != NVS_VALUE_NONE;
}

static bool all_zero(const struct nvs_table *t, const struct nvs_column *c, size_t nrows)
{
	for (size_t r = 0; r < nrows; r++) {
		struct nvs_value v;

		get_value(t->columns, c, t->rows[r], &v);
		if (v.kind == NVS_VALUE_COUNT || v.kind == NVS_VALUE_TRUTH
			    ? v.count
			    : v.kind != NVS_VALUE_NONE)
			return false;
	}
	return true;
}

/* Numbers come before names, since names may be long; within each the lower rank first, after the
 * columns of the trace. */
static uint32_t position_of(const struct nvs_table *t, const struct nvs_column *c, uint32_t rank)
{
	if (t->as_given)
		return 0;
	return (c->flags & NVS_COLUMN_NAME ? 512 : 0) +
	       (c->flags & NVS_COLUMN_SEVERAL ? 0 : 1 + rank);
}

/* The column that rows are sorted by is printed, even if it is a detail; names of other columns'
 * rows are not. */
static bool is_kept(const struct nvs_table *t, const struct nvs_column *c, size_t nrows,
		    const struct nvs_column *keep)
{
	struct nvs_value v = {0};

	for (size_t r = 0; c == keep && r < nrows && v.kind == NVS_VALUE_NONE; r++)
		get_value(t->columns, c, t->rows[r], &v);
	return v.kind != NVS_VALUE_NONE && v.kind != NVS_VALUE_TEXT;
}

static void choose_columns(struct table_layout *l, const struct nvs_table *t, size_t nrows,
			   bool bars, const struct nvs_column *keep)
{
	uint32_t place[MAX_COLUMNS], rank = 0;

	l->n = 0;
	for (uint32_t i = 0; i < t->ncolumns && l->n < MAX_COLUMNS; i++) {
		const struct nvs_column *c = t->columns + i;
		uint32_t at = l->n;

		/* A detail that is printed is next to the column before it, too. */
		rank = c->flags & (NVS_COLUMN_BESIDE | NVS_COLUMN_DETAIL) ? rank : c->rank;
		if (!is_kept(t, c, nrows, keep) &&
		    (c->flags & (NVS_COLUMN_DETAIL | NVS_COLUMN_JSON) ||
		     (c->flags & NVS_COLUMN_BAR && !bars) ||
		     (c->flags & NVS_COLUMN_SEVERAL && !t->several) ||
		     (c->flags & NVS_COLUMN_IF_ANY && all_zero(t, c, nrows)) ||
		     (c->flags & NVS_COLUMN_IF_KNOWN && !any_known(t, c, nrows))))
			continue;
		for (; at && position_of(t, c, rank) < place[at - 1]; at--) {
			l->column[at] = l->column[at - 1];
			place[at] = place[at - 1];
		}
		l->column[at] = c;
		place[at] = position_of(t, c, rank);
		l->n++;
	}
}

/* ---- cells ---- */

/* Keys of counts that are the number of a thing: digits are not grouped. */
static bool is_number_of_thing(const char *key)
{
	static const char *const keys[] = {
		"pid",
		"tid",
		"rank",
		"thread",
		"submission",
		"channel",
		"release_channel",
		"other_channel",
		"release_submission",
		"graph",
		"image",
		"kernel_number",
		"a_changed_first",
		"parts_at",
		"collective_undone",
		"parts_thread",
		"b_changed_first",
		"color",
		"value",
		"wanted",
		"subchannel",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static bool ends_in(const char *key, const char *end)
{
	size_t length = strlen(key), n = strlen(end);

	return length >= n && !strcmp(key + length - n, end);
}

/* Returns the maximum that belongs to a quantile, host_us_max of host_us_p50; 0: none. */
static double max_of(const struct nvs_table *t, const struct nvs_column *c, const void *row)
{
	size_t stem = strlen(c->name) - strlen("p50");
	struct nvs_value v = {0};

	for (uint32_t i = 0; i < t->ncolumns; i++)
		if (!strncmp(t->columns[i].name, c->name, stem) &&
		    !strcmp(t->columns[i].name + stem, "max"))
			get_value(t->columns, t->columns + i, row, &v);
	return v.kind == NVS_VALUE_REAL ? v.real : 0;
}

/* The only place where a value becomes text for people: as in sentences, by what its key means. */
static void format_cell(const struct nvs_table *t, const struct nvs_column *c, const void *row,
			char text[NVS_VALUE_ROOM])
{
	struct nvs_value v;
	double most;

	get_value(t->columns, c, row, &v);
	nvs_value_text_format(text, NVS_VALUE_ROOM, &v);
	if (v.text)
		return;
	if (v.kind == NVS_VALUE_COUNT && v.count >= GB && ends_in(c->name, "bytes"))
		snprintf(text, NVS_VALUE_ROOM, "%.2f GB", (double)v.count / GB);
	else if (v.kind == NVS_VALUE_COUNT && !is_number_of_thing(c->name))
		nvs_format_grouped(text, v.count);
	if (v.kind != NVS_VALUE_REAL || (!ends_in(c->name, "_p50") && !ends_in(c->name, "_p99")))
		return;
	/* A single value is exact; and no quantile is above the maximum. */
	most = max_of(t, c, row);
	if (v.real == most)
		return;
	if (nvs_value_rough_format(text, NVS_VALUE_ROOM, v.real) > most && most)
		nvs_value_text_format(text, NVS_VALUE_ROOM, &v);
}

static void lay_out(struct table_layout *l, const struct nvs_table *t, size_t nrows, bool bars,
		    const struct nvs_column *keep)
{
	choose_columns(l, t, nrows, bars, keep);
	for (uint32_t i = 0; i < l->n; i++) {
		l->left[i] = l->column[i]->flags &
			     (NVS_COLUMN_NAME | NVS_COLUMN_BAR | NVS_COLUMN_LEFT);
		l->width[i] = width_of(l->column[i]->title);
	}
	for (size_t r = 0; r < nrows; r++)
		for (uint32_t i = 0; i < l->n; i++) {
			char text[NVS_VALUE_ROOM];
			int w;

			format_cell(t, l->column[i], t->rows[r], text);
			w = width_of(text);
			if (w > l->width[i])
				l->width[i] = w;
		}
}

static bool is_shrinkable(const struct table_layout *l, uint32_t i)
{
	return l->column[i]->flags & NVS_COLUMN_NAME;
}

/* Total width if names are cut to LEAST (0: uncut). */
static int total_width(const struct table_layout *l, int least)
{
	int total = l->n ? -2 : 0;

	for (uint32_t i = 0; i < l->n; i++)
		total += 2 + (least && is_shrinkable(l, i) && l->width[i] > least ? least
										  : l->width[i]);
	return total;
}

static void drop_column(struct table_layout *l, uint32_t at)
{
	l->n--;
	for (; at < l->n; at++) {
		l->column[at] = l->column[at + 1];
		l->width[at] = l->width[at + 1];
		l->left[at] = l->left[at + 1];
	}
}

/* Width that each name column keeps before others are dropped: names identify rows, but a narrow
 * terminal leaves half for numbers. */
static int share_of_names(const struct table_layout *l, int room)
{
	int share = room / 2 < NAMES_SHARE ? room / 2 : NAMES_SHARE, names = 0;

	for (uint32_t i = 0; i < l->n; i++)
		names += is_shrinkable(l, i);
	share /= names ? names : 1;
	return share > MIN_NAME ? share : MIN_NAME;
}

/* Drops columns other than KEEP until the rest fits: first those with no value in any row, whatever
 * their rank, then those of zeros, then by rank. Returns how many. */
static uint32_t drop_columns(struct table_layout *l, const struct nvs_table *t, size_t nrows,
			     int room, const struct nvs_column *keep)
{
	uint32_t dropped = 0;

	while (total_width(l, share_of_names(l, room)) > room) {
		uint32_t worst = 0, worth = 0;

		for (uint32_t i = 0; i < l->n; i++) {
			uint32_t rank = l->column[i]->rank;

			if (rank && !t->as_given && all_zero(t, l->column[i], nrows))
				rank += 256;
			if (!t->as_given && nrows && !any_known(t, l->column[i], nrows))
				rank += 512;
			if (rank && (rank > worth || (rank == worth && !t->as_given)) &&
			    l->column[i] != keep) {
				worst = i;
				worth = rank;
			}
		}
		if (!worth)
			break;
		drop_column(l, worst);
		dropped++;
	}
	return dropped;
}

/* Narrows the widest name columns until the table fits. */
static void shrink_names(struct table_layout *l, int room, int least)
{
	while (total_width(l, 0) > room) {
		uint32_t widest = l->n;

		for (uint32_t i = 0; i < l->n; i++)
			if (is_shrinkable(l, i) && l->width[i] > least &&
			    (widest == l->n || l->width[i] > l->width[widest]))
				widest = i;
		if (widest == l->n)
			return;
		l->width[widest]--;
	}
}

/* Returns S after N characters. */
static char *skip_characters(char *s, int n)
{
	while (*s && n--)
		for (s++; ((unsigned char)*s & 0xc0) == 0x80; s++)
			;
	return s;
}

/* Lines are cut at the end; names in the middle, as kernels of one family differ at the end. */
static void print_cut(struct nvs_out *out, const struct nvs_column *c, char *text, int room)
{
	int tail = c->flags & NVS_COLUMN_TEXT ? 0 : (room - 1) / 2;
	const char *end = skip_characters(text, width_of(text) - tail);

	*skip_characters(text, room - 1 - tail) = '\0';
	fprintf(out->file, "%s%s%s", text, nvs_locale_sign("\u2026", "~"), end);
}

/* BLANKS: those that are due before the next text of the line. */
static void print_cell(struct nvs_out *out, const struct table_layout *l, uint32_t i, char *text,
		       int *blanks)
{
	int w = width_of(text), room = l->width[i], pad = w < room ? room - w : 0;

	*blanks += (i ? 2 : 0) + (l->left[i] ? 0 : pad);
	if (*text) {
		fprintf(out->file, "%*s", *blanks, "");
		*blanks = 0;
		if (w > room)
			print_cut(out, l->column[i], text, room);
		else
			fputs(text, out->file);
	}
	*blanks += l->left[i] ? pad : 0;
}

static void print_headings(struct nvs_out *out, const struct table_layout *l)
{
	char text[NVS_VALUE_ROOM];
	bool two = false;

	for (uint32_t i = 0; i < l->n; i++)
		two |= strchr(l->column[i]->title, '\n') != NULL;
	for (int line = !two; line < 2; line++) {
		int blanks = 0;

		fputs(nvs_out_style(out, NVS_STYLE_HEAD), out->file);
		for (uint32_t i = 0; i < l->n; i++) {
			heading_text(text, sizeof(text), l->column[i]->title, line);
			print_cell(out, l, i, text, &blanks);
		}
		fprintf(out->file, "%s\n", nvs_out_style(out, NVS_STYLE_PLAIN));
	}
}

uint32_t nvs_table_text(struct nvs_out *out, const struct nvs_table *t, size_t nrows,
			const struct nvs_column *keep)
{
	char text[NVS_VALUE_ROOM];
	uint32_t hidden = 0;
	struct table_layout l;

	lay_out(&l, t, nrows, out->terminal, keep);
	if (out->fit) {
		hidden = drop_columns(&l, t, nrows, out->width, keep);
		shrink_names(&l, out->width, MIN_NAME);
		shrink_names(&l, out->width, LEAST_NAME);
	}
	print_headings(out, &l);
	for (size_t r = 0; r < nrows; r++) {
		int blanks = 0;

		for (uint32_t i = 0; i < l.n; i++) {
			format_cell(t, l.column[i], t->rows[r], text);
			print_cell(out, &l, i, text, &blanks);
		}
		fputc('\n', out->file);
	}
	return hidden;
}

static void print_text(struct nvs_out *out, const struct nvs_table *t, size_t nrows,
		       const char *sort)
{
	uint64_t more = t->nrows - nrows + t->more;
	uint32_t hidden = nvs_table_text(out, t, nrows,
					 sort ? nvs_table_column(t, sort + (*sort == '-')) : NULL);

	if (more)
		fprintf(out->file, "%s%" PRIu64 " more row%s; %s%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), more, more == 1 ? "" : "s",
			t->choose ? t->choose : "-n 0 shows all",
			nvs_out_style(out, NVS_STYLE_PLAIN));
	if (hidden)
		fprintf(out->file, "%s%u column%s hidden; --wide shows all%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), hidden, hidden == 1 ? "" : "s",
			nvs_out_style(out, NVS_STYLE_PLAIN));
}

int nvs_table_print(struct nvs_out *out, struct nvs_table *table, const struct nvs_print_options *o)
{
	int r = sort_rows(table, table->sort);
	size_t n = table->nrows;

	if (!r)
		r = sort_rows(table, o->sort);
	if (r)
		return r;
	out->told += n + table->more;
	if (o->rows && o->rows < n)
		n = o->rows;
	if (o->format == NVS_FORMAT_JSON)
		print_json(out, table, n);
	else if (o->format == NVS_FORMAT_CSV)
		nvs_table_csv(out, table, n);
	else
		print_text(out, table, n, o->sort);
	return 0;
}

int nvs_table_print_rows(struct nvs_out *out, struct nvs_table *table, const struct nvs_rows *rows,
			 const struct nvs_print_options *o)
{
	table->rows = (const void **)rows->row;
	table->nrows = rows->n;
	return nvs_table_print(out, table, o);
}

int nvs_table_print_array(struct nvs_out *out, struct nvs_table *table, const void *rows, size_t n,
			  size_t size, const struct nvs_print_options *o)
{
	int r;

	table->nrows = n;
	table->rows = calloc(n + 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		table->rows[i] = (const char *)rows + i * size;
	r = nvs_table_print(out, table, o);
	free(table->rows);
	return r;
}
