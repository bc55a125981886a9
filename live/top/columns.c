/* SPDX-License-Identifier: MIT */
/* The columns of the list, and the layout of the list for a given width. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "live/top/columns.h"

#define UNKNOWN (-1.0) /* sorts after known values */

/* ---- contents ---- */

#define TEXT(name, expr)                                                                   \
	static const char *text_##name(const struct nvs_top_row *row, char to[NVS_FIGURE]) \
	{                                                                                  \
		return expr;                                                               \
	}
/* A counter's rate per second, in units of UNIT. */
#define RATE(name, sum, unit, show)                                                          \
	static double figure_##name(const struct nvs_top_row *row)                           \
	{                                                                                    \
		double rate;                                                                 \
                                                                                             \
		return nvs_top_get_rate(row->page, &row->page->sum, &rate) ? rate : UNKNOWN; \
	}                                                                                    \
	static const char *text_##name(const struct nvs_top_row *row, char to[NVS_FIGURE])   \
	{                                                                                    \
		double rate = figure_##name(row);                                            \
                                                                                             \
		return rate < 0 ? NULL : show(to, rate / (unit));                            \
	}
/* A gauge: bytes or a count. */
#define LEVEL(name, value)                                                                        \
	static double figure_##name(const struct nvs_top_row *row)                                \
	{                                                                                         \
		return row->page->value == NVS_LIVE_UNKNOWN ? UNKNOWN : (double)row->page->value; \
	}                                                                                         \
	static const char *text_##name(const struct nvs_top_row *row, char to[NVS_FIGURE])        \
	{                                                                                         \
		double value = figure_##name(row);                                                \
                                                                                                  \
		return value < 0 ? NULL : nvs_figure_count(to, value);                            \
	}

static double figure_pid(const struct nvs_top_row *row)
{
	return row->page->pid;
}

static const char *text_pid(const struct nvs_top_row *row, char to[NVS_FIGURE])
{
	snprintf(to, NVS_FIGURE, "%u", row->page->pid);
	return to;
}

/* Ranks sort as numbers. */
static double figure_rank(const struct nvs_top_row *row)
{
	double rank = 0;
	const char *at = row->page->rank;

	for (; isdigit((unsigned char)*at); at++)
		rank = 10 * rank + (*at - '0');
	return *row->page->rank ? rank : UNKNOWN;
}

static double figure_for(const struct nvs_top_row *row)
{
	return row->call ? (double)row->call_ns : UNKNOWN;
}

TEXT(user, row->user)
TEXT(rank, *row->page->rank ? row->page->rank : NULL)
TEXT(gpu, *row->gpus ? row->gpus : NULL)
TEXT(call, row->call)
TEXT(for, row->call ? nvs_figure_time(to, row->call_ns) : NULL)
TEXT(command, row->command + row->folder)
RATE(calls, calls, 1, nvs_figure_count)
RATE(launches, launches, 1, nvs_figure_count)
RATE(submissions, submissions, 1, nvs_figure_count)
RATE(bytes, bytes, 1e6, nvs_figure_plain)
RATE(copied, copied, 1e9, nvs_figure_plain)
LEVEL(pending, pending)
LEVEL(memory, device_live)
LEVEL(peak, device_peak)

const struct nvs_top_column nvs_top_columns[NVS_TOP_COLUMNS] = {
	{"pid", "PID", 7, 0, 0, figure_pid, text_pid},
	{"user", "USER", -8, 11, 0, NULL, text_user},
	{"rank", "RANK", 4, 9, 0, figure_rank, text_rank, true},
	{"gpu", "GPU", 3, 6, 0, NULL, text_gpu},
	{"calls_per_s", "CALL/s", 6, 7, 0, figure_calls, text_calls},
	{"launches_per_s", "LNCH/s", 6, 0, 0, figure_launches, text_launches},
	{"submissions_per_s", "SUBM/s", 6, 5, 0, figure_submissions, text_submissions},
	{"command_mb_per_s", "CMD MB/s", 8, 8, 0, figure_bytes, text_bytes},
	{"copied_gb_per_s", "COPY GB/s", 9, 2, 0, figure_copied, text_copied},
	{"pending", "PEND", 5, 1, 0, figure_pending, text_pending},
	{"memory", "MEM", 5, 0, 0, figure_memory, text_memory},
	{"peak", "PEAK", 5, 10, 0, figure_peak, text_peak},
	{"call", "IN CALL", -12, 3, 10, NULL, text_call},
	{"call_for", "FOR", 6, 4, 0, figure_for, text_for},
	{"command", "COMMAND", -8, 0, 255, NULL, text_command},
};

/* ---- by name ---- */

/* Compares names, ignoring case. Blanks, dashes, underscores and slashes are equal. */
static bool names_equal(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		int x = strchr(" -_/", *a) ? '_' : tolower((unsigned char)*a);
		int y = strchr(" -_/", *b) ? '_' : tolower((unsigned char)*b);

		if (x != y)
			return false;
	}
	return !*a && !*b;
}

const struct nvs_top_column *nvs_top_column(const char *name)
{
	name += *name == '-';
	for (int i = 0; i < NVS_TOP_COLUMNS; i++)
		if (names_equal(name, nvs_top_columns[i].key) ||
		    names_equal(name, nvs_top_columns[i].title))
			return nvs_top_columns + i;
	return NULL;
}

/* ---- the list ---- */

/* Width of each column; 0: left out. */
struct column_widths {
	uint32_t width[NVS_TOP_COLUMNS];
	uint32_t all; /* total, with a blank between columns */
};

/*
 * Minimum width. COMMAND gets more if the terminal has 80 columns: a few letters are of little use.
 */
static uint32_t min_width(const struct nvs_top_column *c, uint32_t columns)
{
	uint32_t width = (uint32_t)(c->width < 0 ? -c->width : c->width);

	return c->more == 255 && columns >= 80 ? width * 3 / 2 : width;
}

static bool is_column_known(const struct nvs_top *top, const struct nvs_top_column *c)
{
	char to[NVS_FIGURE];

	for (uint32_t i = 0; i < top->nrows; i++)
		if (c->text(top->rows + i, to))
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
		if (l->width[i] && nvs_top_columns[i].rank && nvs_top_columns + i != top->sort &&
		    (last < 0 || nvs_top_columns[i].rank > nvs_top_columns[last].rank))
			last = i;
	if (last >= 0)
		l->width[last] = 0;
	return last >= 0;
}

static void compute_layout(struct column_widths *l, const struct nvs_top *top, uint32_t columns)
{
	for (int i = 0; i < NVS_TOP_COLUMNS; i++) {
		const struct nvs_top_column *c = nvs_top_columns + i;

		l->width[i] = c->if_known && !is_column_known(top, c) ? 0 : min_width(c, columns);
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

static enum nvs_top_style style_of(const struct nvs_top_row *row, const struct nvs_top_column *c)
{
	if (row->page->gone)
		return NVS_TOP_DIM;
	if (c->figure == figure_for && row->call)
		return row->call_ns >= 10000000000ull  ? NVS_TOP_BAD
		       : row->call_ns >= 1000000000ull ? NVS_TOP_WARN
						       : NVS_TOP_PLAIN;
	if (c->figure == figure_launches && figure_launches(row) > 0)
		return NVS_TOP_GOOD;
	if (c->figure == figure_memory)
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
		put_cell(s, c == top->sort ? NVS_TOP_CHOSEN : NVS_TOP_HEAD, c->title, c,
			 l.width[i]);
	}
	if (columns != UINT32_MAX)
		nvs_text_page_pad(s, NVS_TOP_HEAD, columns);
	nvs_text_page_end_line(s);
	for (uint32_t r = 0; r < top->nrows; r++) {
		const struct nvs_top_row *row = top->rows + r;

		for (int i = 0; i < NVS_TOP_COLUMNS; i++) {
			const struct nvs_top_column *c = nvs_top_columns + i;
			const char *text = l.width[i] ? c->text(row, to) : NULL;

			if (!l.width[i])
				continue;
			if (s->at)
				nvs_text_page_pad(s, NVS_TOP_PLAIN, s->at + 1);
			put_cell(s, text ? style_of(row, c) : NVS_TOP_DIM, text ? text : "-", c,
				 l.width[i]);
		}
		nvs_text_page_end_line(s);
	}
}
