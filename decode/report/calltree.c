/* SPDX-License-Identifier: MIT */
/* --calltree: the program's call tree, with what was submitted below each function. */
#include <errno.h>
#include <stdlib.h>
#include "decode/base/grow.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/analysis/stack_tree.h"
#include "decode/report/core/stack_columns.h"
#include "decode/report/core/report.h"

#define MIN_PERCENT 0.5 /* percent; text only counts what has less, unless -n 0 */
#define MAX_INDENT 32 /* characters */

struct calltree_row {
	const struct nvs_source *source;
	const struct nvs_stack_frame *frame; /* NULL: the rest that is cut */
	uint32_t depth, indent;
	bool chained; /* the only child of the row above */
	uint32_t again; /* number of equal frames nested below that are folded into this row */
	uint32_t cut; /* number of frames cut, if this is the rest */
	float share; /* percent of all; negative: unknown */
	const struct nvs_weight *weight;
};

struct tree {
	const struct nvs_source *sources;
	const struct nvs_stacks *stacks;
	enum nvs_measure by;
	uint64_t whole;
	bool all; /* cut nothing */
	bool text; /* else the process is in a row's columns and has no row */
	struct calltree_row *rows;
	size_t n, room;
	int status;
};

/* The text is valid until the next call. */
static void get_line(const struct calltree_row *r, struct nvs_value *v)
{
	static char line[4096];
	char again[32] = "";

	if (r->again)
		snprintf(again, sizeof(again), " (%u times)", r->again + 1);
	if (r->frame)
		snprintf(line, sizeof(line), "%*s%s%s%s", (int)r->indent, "",
			 r->chained ? nvs_locale_sign("\u2514 ", "`-") : "", r->frame->name, again);
	else
		snprintf(line, sizeof(line), "%*s[%u more below %.1f %%]", (int)r->indent, "",
			 r->cut, MIN_PERCENT);
	nvs_value_text(v, line);
}

#define COLUMNS(COL)                                                         \
	NVS_WEIGHT_COLUMNS(COL, *r->weight)                                  \
	COL(real, measure_percent, "share %", 0, 1, r->share >= 0, r->share) \
	COL(by, call_tree, "call tree", NAME_TEXT, 0, get_line, r)           \
	COL(count, depth, "depth", DETAIL, 0, r->depth + 1)                  \
	COL(text, frame, "frame", DETAIL, 0, r->frame ? r->frame->name : "") \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct calltree_row, COLUMNS)

static double get_share_of(const struct tree *t, const struct nvs_weight *w)
{
	if (!t->whole || (w->uncounted && t->by < NVS_BY_CALLS))
		return -1;
	return 100.0 * (double)nvs_weight_measure(w, t->by) / (double)t->whole;
}

static bool is_cut(const struct tree *t, const struct nvs_stack_frame *f)
{
	double share = get_share_of(t, &f->weight);

	return !t->all && share >= 0 && share < MIN_PERCENT;
}

static uint64_t count_children(const struct tree *t, const struct nvs_stack_frame *f, bool cut)
{
	uint64_t n = 0;

	for (f = nvs_stack_frame_at(t->stacks, f ? f->child : t->stacks->top); f;
	     f = nvs_stack_frame_at(t->stacks, f->next))
		n += is_cut(t, f) == cut;
	return n;
}

static void add_row(struct tree *t, const struct calltree_row *row)
{
	struct calltree_row *own = NVS_APPEND(t->rows, t->n, t->room, 64, UINT32_MAX);

	if (!own) {
		t->status = -ENOMEM;
		return;
	}
	*own = *row;
	own->source = row->frame ? t->sources + row->frame->trace : NULL;
	own->share = (float)get_share_of(t, row->weight);
	own->indent = row->indent < MAX_INDENT ? row->indent : MAX_INDENT;
}

/* Adds a row for the frames of PARENT that are cut. */
static void add_rest(struct tree *t, const struct nvs_stack_frame *parent,
		     const struct calltree_row *like)
{
	struct nvs_weight *sum = calloc(1, sizeof(*sum));
	struct calltree_row rest = {.depth = like->depth,
				    .indent = like->indent,
				    .chained = like->chained,
				    .weight = sum};
	const struct nvs_stack_frame *f;

	if (!sum) {
		t->status = -ENOMEM;
		return;
	}
	for (f = nvs_stack_frame_at(t->stacks, parent ? parent->child : t->stacks->top); f;
	     f = nvs_stack_frame_at(t->stacks, f->next))
		if (is_cut(t, f)) {
			nvs_weight_add(sum, &f->weight);
			rest.cut++;
			rest.frame = f;
		}
	/* A single frame is shown by its name. */
	rest.frame = rest.cut == 1 ? rest.frame : NULL;
	add_row(t, &rest);
}

/* A single child is indented only once below the last branch: recursion and long chains of
 * frames would soon leave the page. */
static void init_inner(const struct tree *t, const struct calltree_row *outer,
		       struct calltree_row *inner)
{
	inner->depth = outer->depth + 1;
	inner->chained =
		count_children(t, outer->frame, false) + count_children(t, outer->frame, true) == 1;
	inner->indent = outer->indent;
	if (!inner->chained)
		inner->indent += outer->chained ? 4 : 2;
}

/* Returns true if ROW is recursion with no own weight on the way, which is folded into one line. */
static bool is_folded(const struct tree *t, const struct calltree_row *row)
{
	const struct nvs_stack_frame *outer = row->chained && !t->all ? t->rows[t->n - 1].frame
								      : NULL;

	return outer && !strcmp(outer->name, row->frame->name) &&
	       nvs_weight_measure(&outer->weight, t->by) == nvs_weight_measure(row->weight, t->by);
}

static void add_rows(struct tree *t)
{
	const struct nvs_stack_frame *f = nvs_stack_frame_at(t->stacks, t->stacks->top);
	struct calltree_row level[NVS_STACKS_DEPTH + 1] = {{NULL}};
	uint32_t depth = 0;

	while (f && !t->status) {
		level[depth].frame = f;
		level[depth].weight = &f->weight;
		if (!is_cut(t, f)) {
			if (f->key.kind >= NVS_FRAME_PROCESS && !t->text)
				level[depth].depth = UINT32_MAX;
			else if (is_folded(t, level + depth))
				t->rows[t->n - 1].again++;
			else
				add_row(t, level + depth);
			if (f->child && depth < NVS_STACKS_DEPTH) {
				init_inner(t, level + depth, level + depth + 1);
				f = nvs_stack_frame_at(t->stacks, f->child);
				depth++;
				continue;
			}
		}
		for (; f && !f->next; depth--) {
			f = nvs_stack_frame_at(t->stacks, f->key.parent);
			if (count_children(t, f, true))
				add_rest(t, f, level + depth);
		}
		f = f ? nvs_stack_frame_at(t->stacks, f->next) : NULL;
	}
}

static int print_tree(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct nvs_print_options o = run->options->print;
	struct tree t = {.sources = run->sources, .stacks = run->state};
	struct nvs_weight whole;
	int r = nvs_measure_parse(run, &t.by);

	if (!r)
		r = nvs_run_stacks_build(run);
	if (r)
		return r;
	whole = nvs_stacks_sum(run->state);
	t.whole = nvs_weight_measure(&whole, t.by);
	t.text = o.format == NVS_FORMAT_TEXT;
	t.all = !t.text || (o.has_rows && !o.rows);
	table.several = false; /* the process is the outermost frame */
	o.sort = NULL; /* siblings are sorted already */
	r = nvs_run_stacks_sort(run, t.by);
	if (!r)
		add_rows(&t);
	r = r ? r : t.status;
	if (!r)
		r = nvs_table_print_array(run->out, &table, t.rows, t.n, sizeof(*t.rows), &o);
	for (size_t i = 0; i < t.n && t.text && !r; i++)
		if (t.rows[i].frame && !strcmp(t.rows[i].frame->name, NVS_UNKNOWN_FRAME)) {
			nvs_no_stack_print(run->out, NVS_UNKNOWN_FRAME);
			break;
		}
	for (size_t i = 0; i < t.n; i++)
		if (t.rows[i].cut)
			free((void *)t.rows[i].weight);
	free(t.rows);
	return r;
}

NVS_REPORT(calltree, .name = "calltree", .group = NVS_HOST_TIME, .place = 24,
	   .help = "the program's functions, one inside the other, with "
		   "what each submits in total; -n 0: show even the smallest",
	   .man = "The program's call tree from the outermost function down to the runtime "
		  "API and the driver API, with what was submitted below each function, "
		  "its share of the total, the host time of calls, and with timing=work the "
		  "GPU time of submissions.\nSorted by\n.BR "
		  "\\-s ,\nwhich is submissions, cmd bytes, calls, host us or gpu us; the share is "
		  "of that.\nAn only child is shown below its caller without further "
		  "indentation.\nText omits functions with less than 0.5 %, and counts "
		  "them, unless\n.B \\-n 0\nis given. Calls whose stack is unknown are "
		  "below\n.BR [unknown] .",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS | NVS_NEED_TIMED, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), NVS_REPORT_SORT_COLUMNS(nvs_measure_columns),
	   .state = sizeof(struct nvs_stacks), .each = sizeof(struct nvs_stacks_each),
	   .begin = nvs_run_stacks_begin, .print = print_tree, .free = nvs_run_stacks_free);
