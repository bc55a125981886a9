/* SPDX-License-Identifier: MIT */
/* The columns of the list, and the layout of the list for a given width. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "decode/base/nearest.h"
#include "live/top/columns.h"

/* ---- contents ---- */

#define TEXT(name, expr) NVS_GET_TEXT(struct nvs_top_row, name, expr)
/* A counter's rate per second, in units of UNIT. */
#define RATE(name, sum, unit) \
	NVS_GET_REAL(struct nvs_top_row, name, true, rate_of(r->page, &r->page->sum) / (unit))
/* A gauge: bytes or a count. */
#define LEVEL(name, value) \
	NVS_GET_KNOWN(struct nvs_top_row, name, r->page->value != NVS_LIVE_UNKNOWN, r->page->value)

/* NAN if unknown. */
static double rate_of(const struct nvs_page *page, const struct nvs_page_counter *sum)
{
	double rate;

	return nvs_top_get_rate(page, sum, &rate) ? rate : NAN;
}

/* Ranks sort as numbers. */
static void get_rank(const void *row, struct nvs_value *v)
{
	const char *rank = ((const struct nvs_top_row *)row)->page->rank;

	v->kind = *rank ? NVS_VALUE_REAL : NVS_VALUE_NONE;
	v->text = rank;
	for (; isdigit((unsigned char)*rank); rank++)
		v->real = 10 * v->real + (*rank - '0');
}

static void get_for(const void *row, struct nvs_value *v)
{
	const struct nvs_top_row *r = row;

	v->kind = r->call ? NVS_VALUE_NS : NVS_VALUE_NONE;
	v->ns = (int64_t)r->call_ns;
}

NVS_GET_COUNT(struct nvs_top_row, pid, r->page->pid)
TEXT(user, r->user)
TEXT(gpu, r->gpus)
TEXT(call, r->call)
TEXT(command, r->command + r->folder)
RATE(calls, calls, 1)
RATE(launches, launches, 1)
RATE(submissions, submissions, 1)
RATE(bytes, bytes, 1e6)
RATE(copied, copied, 1e9)
LEVEL(pending, pending)
LEVEL(memory, device_live)
LEVEL(peak, device_peak)

#define NAME NVS_COLUMN_NAME
#define IF_KNOWN NVS_COLUMN_IF_KNOWN
const struct nvs_top_column nvs_top_columns[NVS_TOP_COLUMNS] = {
	{{"pid", "PID", get_pid, 0, 0}, 7, 0, NULL},
	{{"user", "USER", get_user, NAME, 11}, -8, 0, NULL},
	{{"rank", "RANK", get_rank, IF_KNOWN, 9}, 4, 0, NULL},
	{{"gpu", "GPU", get_gpu, NAME, 6}, 3, 0, NULL},
	{{"calls_per_s", "CALL/s", get_calls, 0, 7}, 6, 0, nvs_figure_count},
	{{"launches_per_s", "LNCH/s", get_launches, 0, 0}, 6, 0, nvs_figure_count},
	{{"submissions_per_s", "SUBM/s", get_submissions, 0, 5}, 6, 0, nvs_figure_count},
	{{"command_mb_per_s", "CMD MB/s", get_bytes, 0, 8}, 8, 0, nvs_figure_plain},
	{{"copied_gb_per_s", "COPY GB/s", get_copied, 0, 2}, 9, 0, nvs_figure_plain},
	{{"pending", "PEND", get_pending, 0, 1}, 5, 0, nvs_figure_count},
	{{"memory", "MEM", get_memory, 0, 0}, 5, 0, nvs_figure_count},
	{{"peak", "PEAK", get_peak, 0, 10}, 5, 0, nvs_figure_count},
	{{"call", "IN CALL", get_call, NAME, 3}, -12, 10, NULL},
	{{"call_for", "FOR", get_for, 0, 4}, 6, 0, NULL},
	{{"command", "COMMAND", get_command, NAME, 0}, -8, 255, NULL},
};

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

		l->width[i] = c->of.flags & IF_KNOWN && !is_column_known(top, c)
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
	if (c->of.get == get_for)
		return row->call_ns >= 10000000000ull  ? NVS_TOP_BAD
		       : row->call_ns >= 1000000000ull ? NVS_TOP_WARN
						       : NVS_TOP_PLAIN;
	if (c->of.get == get_launches && v->real > 0)
		return NVS_TOP_GOOD;
	if (c->of.get == get_memory)
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
			put_cell(s, text ? style_of(row, c, &v) : NVS_TOP_DIM, text ? text : "-", c,
				 l.width[i]);
		}
		nvs_text_page_end_line(s);
	}
}
