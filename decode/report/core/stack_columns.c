/* SPDX-License-Identifier: MIT */
/* Reports by whole stacks: what their -s asks for, and stacks on a line. */
#include <string.h>
#include "decode/analysis/gpu_work.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/stack_columns.h"

int nvs_run_stacks_begin(struct nvs_run *run, struct nvs_source *s, void *each,
			 struct nvs_pass_reader *reader)
{
	struct nvs_stacks *t = run->state;

	t->how |= run->n > 1 ? NVS_STACKS_PROCESS : 0;
	nvs_stacks_begin(t, s, each, reader);
	/* Sums of a sample would be a part of the time: only kernels are estimated. */
	if (run->report->needs & NVS_NEED_TIMED && run->second && nvs_trace_is_timed(s) &&
	    (t->how & NVS_STACKS_KERNELS || !nvs_trace_is_sampled(s)))
		nvs_stacks_begin_timed(each, reader);
	return 0;
}

void nvs_run_stacks_free(struct nvs_run *run)
{
	nvs_stacks_free(run->state);
}

int nvs_run_stacks_build(struct nvs_run *run)
{
	return nvs_stacks_build(run->state, run->sources, run->n);
}

static bool smallest_first(const struct nvs_run *run)
{
	const char *sort = run->options->print.sort;

	return sort && *sort == '-';
}

int nvs_run_stacks_sort(struct nvs_run *run, enum nvs_measure by)
{
	return nvs_stacks_sort(run->state, by, smallest_first(run));
}

int nvs_run_stacks_list(struct nvs_run *run, enum nvs_measure by, struct nvs_stacks_list *list)
{
	uint64_t rows = run->options->print.rows;
	int r = nvs_run_stacks_build(run);

	if (!r)
		r = nvs_stacks_list(run->state, by, smallest_first(run), list);
	list->shown = rows && rows < list->n ? rows : list->n;
	return r;
}

#define WEIGHT_COLUMNS(COL) NVS_WEIGHT_COLUMNS(COL, *r)
NVS_COLUMN_GETTERS(struct nvs_weight, WEIGHT_COLUMNS)

/* Further names that -s accepts. */
const struct nvs_column nvs_measure_columns[] = {
	WEIGHT_COLUMNS(NVS_COLUMN_ENTRY){"time", "time", column_host_us_total, 0},
	{"bytes", "bytes", column_command_bytes, 0},
	{"share", "share %", column_submissions, 0}};

int nvs_measure_parse(const struct nvs_run *run, enum nvs_measure *by)
{
	struct nvs_table table = NVS_RUN_TABLE(run, nvs_measure_columns, NULL);
	const char *sort = run->options->print.sort;
	const struct nvs_column *c;

	*by = NVS_BY_SUBMISSIONS;
	if (!sort)
		return 0;
	c = nvs_table_column(&table, sort + (*sort == '-'));
	if (!c)
		return nvs_table_no_column(&table, sort);
	*by = c->get == column_host_us_total   ? NVS_BY_TIME
	      : c->get == column_gpu_us_total  ? NVS_BY_GPU_TIME
	      : c->get == column_calls	       ? NVS_BY_CALLS
	      : c->get == column_command_bytes ? NVS_BY_BYTES
					       : NVS_BY_SUBMISSIONS;
	return 0;
}

void nvs_no_stack_print(struct nvs_out *out, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "%s: calls without a stack. One is recorded at a doorbell, at an allocation "
		 "or a free, and at the end of a call of about a millisecond or more.",
		 name);
	fputs(nvs_out_style(out, NVS_STYLE_DIM), out->file);
	nvs_print_wrapped(out, text, 0);
	fputs(nvs_out_style(out, NVS_STYLE_PLAIN), out->file);
}

/* ---- folded ---- */

void nvs_stack_frame_fold(struct nvs_out *out, const struct nvs_stacks *t,
			  const struct nvs_stack_frame *f)
{
	const struct nvs_stack_frame *path[NVS_STACKS_DEPTH];
	size_t n = 0;

	for (; f && n < NVS_STACKS_DEPTH; f = nvs_stack_frame_at(t, f->key.parent))
		path[n++] = f;
	while (n--) {
		const char *name = path[n]->name;

		for (size_t part; *name; name += part) {
			part = strcspn(name, ";");
			nvs_out_text_part(out, name, part);
			if (!part)
				fputs("\\x3b", out->file);
			part += !part;
		}
		if (n)
			fputc(';', out->file);
	}
}
