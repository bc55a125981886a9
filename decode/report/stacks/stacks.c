/* SPDX-License-Identifier: MIT */
/* --stacks: each distinct stack, with its submissions and calls. Text is one block per stack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/analysis/stack_tree.h"
#include "decode/report/core/stack_columns.h"
#include "decode/report/core/report.h"

struct stack_row {
	const struct nvs_stack_frame *frame;
	const struct nvs_source *source;
	char *stack; /* folded */
	double share; /* percent of all submissions; negative: unknown */
};

#define COLUMNS(COL)                                                             \
	NVS_WEIGHT_COLUMNS(COL, r->frame->weight)                                \
	COL(real, submissions_percent, "share %", 0, 1, r->share >= 0, r->share) \
	COL(text, api, "api", NAME, 0, r->frame->name)                           \
	COL(text, line, "line", NAME, 0,                                         \
	    nvs_trace_callsite_line(r->source->trace, r->frame->stack))          \
	COL(text, frames, "frames", NAME, 0, r->stack)                           \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct stack_row, COLUMNS)

static struct stack_row row_of(const struct nvs_run *run, const struct nvs_stack_frame *f,
			       uint64_t whole)
{
	const struct nvs_weight *w = &f->weight;

	return (struct stack_row){.frame = f,
				  .source = run->sources + f->trace,
				  .share = whole && !w->uncounted
						   ? 100.0 * (double)w->submissions / (double)whole
						   : -1};
}

static int print_table(struct nvs_run *run, const struct nvs_stacks_list *list, uint64_t whole)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct stack_row *rows = calloc(list->n + 1, sizeof(*rows));
	struct nvs_print_options o = run->options->print;
	int r = rows ? 0 : -ENOMEM;

	o.sort = NULL; /* already sorted */
	for (size_t i = 0; i < list->shown && !r; i++) {
		struct nvs_out line = {NULL};
		size_t size;

		rows[i] = row_of(run, list->frame[i], whole);
		line.file = open_memstream(&rows[i].stack, &size);
		if (line.file)
			nvs_stack_frame_fold(&line, run->state, list->frame[i]);
		r = nvs_budget_end_text(line.file, &rows[i].stack);
	}
	if (!r)
		r = nvs_table_print_array(run->out, &table, rows, list->shown, sizeof(*rows), &o);
	for (size_t i = 0; rows && i < list->shown; i++)
		free(rows[i].stack);
	free(rows);
	return r;
}

/* ---- text ---- */

static void print_known(FILE *out, bool known, uint64_t n, const char *what)
{
	char text[32];

	if (known)
		fprintf(out, "  %s %s", nvs_format_grouped(text, n), what);
	else
		fprintf(out, "  - %s", what);
}

/* Innermost frame first; the program's first frame with its source line, if known. */
void nvs_stacks_print(struct nvs_out *out, const struct nvs_stacks *t, struct nvs_trace *trace,
		      const struct nvs_stack_frame *frame)
{
	const char *line = nvs_trace_callsite_line(trace, frame->stack);

	for (const struct nvs_stack_frame *f = frame; f; f = nvs_stack_frame_at(t, f->key.parent)) {
		fputs("        ", out->file);
		nvs_out_text(out, f->name);
		if (f->key.kind != NVS_FRAME_API && *line) {
			fputc(' ', out->file);
			nvs_out_text(out, line);
			line = "";
		}
		fputc('\n', out->file);
	}
}

static void print_block(struct nvs_out *out, const struct nvs_stacks *t,
			const struct stack_row *row)
{
	const struct nvs_weight *w = &row->frame->weight;
	struct nvs_value us = {.kind = NVS_VALUE_REAL, .real = (double)w->ns / 1000};
	char text[64];

	fputs(nvs_out_style(out, NVS_STYLE_HEAD), out->file);
	if (w->uncounted)
		fputs("- submissions", out->file);
	else
		fprintf(out->file, "%s submission%s (%.2f %%)",
			nvs_format_grouped(text, w->submissions), w->submissions == 1 ? "" : "s",
			row->share > 0 ? row->share : 0);
	print_known(out->file, !w->uncounted, w->bytes, "cmd bytes");
	print_known(out->file, w->calls, w->calls, w->calls == 1 ? "call" : "calls");
	nvs_value_text_format(text, sizeof(text), &us);
	if (w->timed)
		fprintf(out->file, "  %s host us", text);
	else
		fputs("  - host us", out->file);
	fprintf(out->file, "%s\n", nvs_out_style(out, NVS_STYLE_PLAIN));
	nvs_stacks_print(out, t, row->source->trace, row->frame);
}

static bool has_unknown(const struct nvs_stacks *t, const struct nvs_stack_frame *f)
{
	while (f && strcmp(f->name, NVS_UNKNOWN_FRAME))
		f = nvs_stack_frame_at(t, f->key.parent);
	return f;
}

static int print(struct nvs_run *run)
{
	struct nvs_stacks_list list = {0};
	struct nvs_out *out = run->out;
	uint64_t whole = 0;
	bool unknown = false;
	enum nvs_measure by;
	int r = nvs_measure_parse(run, &by);

	if (!r)
		r = nvs_run_stacks_list(run, by, &list);
	for (size_t i = 0; i < list.n; i++)
		whole += list.frame[i]->weight.submissions;
	if (!r && run->options->print.format != NVS_FORMAT_TEXT)
		r = print_table(run, &list, whole);
	for (size_t i = 0; i < list.shown && run->options->print.format == NVS_FORMAT_TEXT; i++) {
		struct stack_row row = row_of(run, list.frame[i], whole);

		fputs(i ? "\n" : "", out->file);
		print_block(out, run->state, &row);
		out->told++;
		unknown |= has_unknown(run->state, row.frame);
	}
	if (unknown)
		fputc('\n', out->file);
	if (unknown)
		nvs_no_stack_print(out, NVS_UNKNOWN_FRAME);
	if (!r && list.shown < list.n && run->options->print.format == NVS_FORMAT_TEXT)
		fprintf(out->file, "\n%s%zu more stack%s; -n 0 shows all%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), list.n - list.shown,
			list.n - list.shown == 1 ? "" : "s", nvs_out_style(out, NVS_STYLE_PLAIN));
	free(list.frame);
	return r;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	((struct nvs_stacks *)run->state)->how = NVS_STACKS_PLACES;
	return nvs_run_stacks_begin(run, s, each, reader);
}

NVS_REPORT(stacks, .name = "stacks", .group = NVS_HOST_TIME, .place = 22,
	   .help = "each distinct stack, from the API out to main",
	   .man = "One block per distinct stack: its submissions, and its frames from the driver "
		  "API outwards, each with its\nfile, and the calling source line if known. All "
		  "frames of the program are shown, those inside libcuda and the\nruntime are not. "
		  "Sorted by\n.BR \\-s :\nsubmissions, cmd bytes, calls, host us or gpu us (of "
		  "timing=work). In JSON and "
		  "CSV a stack is one string, as in\n.BR \\-\\-export=folded .",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CELLS | NVS_NEED_TIMED, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), NVS_REPORT_SORT_COLUMNS(nvs_measure_columns),
	   .state = sizeof(struct nvs_stacks), .each = sizeof(struct nvs_stacks_each),
	   .begin = begin, .print = print, .free = nvs_run_stacks_free);
