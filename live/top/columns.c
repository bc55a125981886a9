/* SPDX-License-Identifier: MIT */
/* The columns of the list, and the layout of the list for a given width. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "decode/base/nearest.h"
#include "live/top/columns.h"

/* ---- contents ---- */

/* NAN if unknown. */
static double rate_of(const struct nvs_page *page, const struct nvs_page_counter *sum)
{
	double rate;

	return nvs_top_get_rate(page, sum, &rate) ? rate : NAN;
}

/* Ranks sort as numbers. */
static void get_rank(const char *rank, struct nvs_value *v)
{
	v->kind = *rank ? NVS_VALUE_REAL : NVS_VALUE_NONE;
	v->text = rank;
	for (; isdigit((unsigned char)*rank); rank++)
		v->real = 10 * v->real + (*rank - '0');
}

/* A counter's rate per second, in units of UNIT. */
#define RATE(sum, unit) true, rate_of(r->page, &r->page->sum) / (unit)
/* A gauge: bytes or a count. */
#define LEVEL(value) r->page->value != NVS_LIVE_UNKNOWN, r->page->value

/* COL(width, more, show, as in a list of decode/cli/table.h) */
#define COLUMNS(COL)                                                                               \
	COL(1, 0, NULL, text, hang, "!", IF_KNOWN, 0, r->hang_ns ? "!" : NULL)                     \
	COL(7, 0, NULL, count, pid, "PID", 0, 0, r->page->pid)                                     \
	COL(-8, 0, NULL, text, user, "USER", NAME, 11, r->user)                                    \
	COL(4, 0, NULL, by, rank, "RANK", IF_KNOWN, 9, get_rank, r->page->rank)                    \
	COL(3, 0, NULL, text, gpu, "GPU", NAME, 6, r->gpus)                                        \
	COL(6, 0, nvs_figure_count, real, calls_per_s, "CALL/s", 0, 7, RATE(calls, 1))             \
	COL(6, 0, nvs_figure_count, real, launches_per_s, "LNCH/s", 0, 0, RATE(launches, 1))       \
	COL(6, 0, nvs_figure_count, real, submissions_per_s, "SUBM/s", 0, 5, RATE(submissions, 1)) \
	COL(8, 0, nvs_figure_plain, real, command_mb_per_s, "CMD MB/s", 0, 8, RATE(bytes, 1e6))    \
	COL(9, 0, nvs_figure_plain, real, copied_gb_per_s, "COPY GB/s", 0, 4, RATE(copied, 1e9))   \
	COL(5, 0, nvs_figure_count, known, pending, "PEND", 0, 3, LEVEL(pending))                  \
	COL(5, 0, nvs_figure_count, known, memory, "MEM", 0, 0, LEVEL(device_live))                \
	COL(5, 0, nvs_figure_count, known, peak, "PEAK", 0, 10, LEVEL(device_peak))                \
	COL(-12, 10, NULL, text, call, "IN CALL", NAME, 1, r->call)                                \
	COL(6, 0, NULL, ns, call_for, "FOR", 0, 2, r->call, (int64_t)r->call_ns)                   \
	COL(-8, 255, NULL, text, command, "COMMAND", NAME, 0, r->command + r->folder)
#define GETTER(width, more, show, ...) NVS_COLUMN_GETTER(__VA_ARGS__)
#define ENTRY(width, more, show, kind, key, title, flags, rank, ...) \
	{{#key, title, column_##key, NVS_COLUMN_##flags, rank}, width, more, show},
typedef struct nvs_top_row nvs_table_row;
COLUMNS(GETTER)
const struct nvs_top_column nvs_top_columns[NVS_TOP_COLUMNS] = {COLUMNS(ENTRY)};

const struct nvs_top_column *nvs_top_column(const char *name)
{
	name += *name == '-';
	for (int i = 0; i < NVS_TOP_COLUMNS; i++)
		if (nvs_names_alike(name, nvs_top_columns[i].of.name) ||
		    nvs_names_alike(name, nvs_top_columns[i].of.title))
			return nvs_top_columns + i;
	return NULL;
}

/* Returns NULL if the value, which VALUE receives, is unknown. */
static const char *show_value(const struct nvs_top_column *c, const struct nvs_top_row *row,
			      char to[NVS_FIGURE], struct nvs_value *v)
{
	*v = (struct nvs_value){0};
	c->of.get(row, v);
	if (v->kind == NVS_VALUE_NONE || isnan(v->real))
		return NULL;
	if (v->text)
		return v->text;
	if (v->kind == NVS_VALUE_NS)
		return nvs_figure_time(to, (uint64_t)v->ns);
	if (c->show)
		return c->show(to, v->kind == NVS_VALUE_COUNT ? (double)v->count : v->real);
	nvs_value_plain_format(to, NVS_FIGURE, v, "-");
	return to;
}

/* ---- the list ---- */

/* Width of each column; 0: left out. */
struct column_widths {
	uint32_t width[NVS_TOP_COLUMNS];
	uint32_t all; /* total, with a blank between columns */
};

/* Minimum width. COMMAND gets more if the terminal has 80 columns: a few letters are of little use.
 *  */
static uint32_t min_width(const struct nvs_top_column *c, uint32_t columns)
{
	uint32_t width = (uint32_t)(c->width < 0 ? -c->width : c->width);

	return c->more == 255 && columns >= 80 ? width * 3 / 2 : width;
}

static bool is_column_known(const struct nvs_top *top, const struct nvs_top_column *c)
{
	char to[NVS_FIGURE];
	struct nvs_value v;

	for (uint32_t i = 0; i < top->nrows; i++)
		if (show_value(c, top->rows + i, to, &v))
			return true;
	return false;
}

static void sum_widths(struct column_widths *l)
{
	l->all = 0;
	for (int i = 0; i < NVS_TOP_COLUMNS; i++)
		l->all += l->width[i] ? l->width[i] + !!l->all : 0;
}

/* Drops the column with the highest rank, except the sort column. Returns false if none can go. */
static bool drop_column(struct column_widths *l, const struct nvs_top *top)
{
	int last = -1;

	for (int i = 0; i < NVS_TOP_COLUMNS; i++)
		if (l->width[i] && nvs_top_columns[i].of.rank && nvs_top_columns + i != top->sort &&
		    (last < 0 || nvs_top_columns[i].of.rank > nvs_top_columns[last].of.rank))
			last = i;
	if (last >= 0)
		l->width[last] = 0;
	return last >= 0;
}

static void compute_layout(struct column_widths *l, const struct nvs_top *top, uint32_t columns)
{
	for (int i = 0; i < NVS_TOP_COLUMNS; i++) {
		const struct nvs_top_column *c = nvs_top_columns + i;

		l->width[i] = c->of.flags & NVS_COLUMN_IF_KNOWN && !is_column_known(top, c)
				      ? 0
				      : min_width(c, columns);
	}
	for (sum_widths(l); l->all > columns && drop_column(l, top);)
		sum_widths(l);
	/* Distribute the remaining width among text columns. */
	for (int i = 0; i < NVS_TOP_COLUMNS && l->all < columns; i++) {
		uint32_t left = columns - l->all, more = nvs_top_columns[i].more;

		if (!l->width[i] || !more)
			continue;
		l->width[i] += more == 255 || more > left ? left : more;
		sum_widths(l);
	}
}

static enum nvs_top_style style_of(const struct nvs_top_row *row, const struct nvs_top_column *c,
				   const struct nvs_value *v)
{
	if (row->page->gone)
		return NVS_TOP_DIM;
	if (row->hang_ns &&
	    (c->of.get == column_hang || c->of.get == column_call || c->of.get == column_command))
		return NVS_TOP_BAD;
	if (c->of.get == column_call_for)
		return row->call_ns >= NVS_TOP_HANG_NS ? NVS_TOP_BAD
		       : row->call_ns >= 1000000000ull ? NVS_TOP_WARN
						       : NVS_TOP_PLAIN;
	if (c->of.get == column_launches_per_s && v->real > 0)
		return NVS_TOP_GOOD;
	if (c->of.get == column_memory)
		return NVS_TOP_STRONG;
	return NVS_TOP_PLAIN;
}

/* The last column is not padded. */
static void put_cell(struct nvs_text_page *s, enum nvs_top_style style, const char *text,
		     const struct nvs_top_column *c, uint32_t width)
{
	bool last = c == nvs_top_columns + NVS_TOP_COLUMNS - 1;

	nvs_text_page_add_escaped(s, style, text, width,
				  c->width > 0 ? -(int)width
				  : last       ? 0
					       : (int)width);
}

void nvs_top_add_list(struct nvs_text_page *s, const struct nvs_top *top, uint32_t columns)
{
	struct column_widths l;
	char to[NVS_FIGURE];

	compute_layout(&l, top, columns == UINT32_MAX ? 4096 : columns);
	for (int i = 0; i < NVS_TOP_COLUMNS; i++) {
		const struct nvs_top_column *c = nvs_top_columns + i;

		if (!l.width[i])
			continue;
		if (s->at)
			nvs_text_page_pad(s, NVS_TOP_HEAD, s->at + 1);
		put_cell(s, c == top->sort ? NVS_TOP_CHOSEN : NVS_TOP_HEAD, c->of.title, c,
			 l.width[i]);
	}
	if (columns != UINT32_MAX)
		nvs_text_page_pad(s, NVS_TOP_HEAD, columns);
	nvs_text_page_end_line(s);
	for (uint32_t r = 0; r < top->nrows; r++) {
		const struct nvs_top_row *row = top->rows + r;

		for (int i = 0; i < NVS_TOP_COLUMNS; i++) {
			const struct nvs_top_column *c = nvs_top_columns + i;
			const char *text;
			struct nvs_value v;

			if (!l.width[i])
				continue;
			text = show_value(c, row, to, &v);
			if (s->at)
				nvs_text_page_pad(s, NVS_TOP_PLAIN, s->at + 1);
			if (!text)
				text = c->of.get == column_hang ? "" : "-";
			put_cell(s, v.kind ? style_of(row, c, &v) : NVS_TOP_DIM, text, c,
				 l.width[i]);
		}
		nvs_text_page_end_line(s);
	}
}
