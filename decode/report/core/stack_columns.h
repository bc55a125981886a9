/* SPDX-License-Identifier: MIT */
/* Reports by whole stacks: what their -s asks for, columns of a stack's weight, and stacks on a
 * line. */
#ifndef NVSNOOP_DECODE_REPORT_CORE_STACK_COLUMNS_H
#define NVSNOOP_DECODE_REPORT_CORE_STACK_COLUMNS_H

#include "decode/analysis/stack_tree.h"
#include "decode/report/core/report.h"

/* A report whose state begins with a struct nvs_stacks: these, and a struct nvs_stacks_each as
 * .each. */
int nvs_run_stacks_begin(struct nvs_run *run, struct nvs_source *s, void *each,
			 struct nvs_pass_reader *reader);
void nvs_run_stacks_free(struct nvs_run *run);
int nvs_run_stacks_build(struct nvs_run *run);
/* Largest first, unless -s asks for the smallest. */
int nvs_run_stacks_sort(struct nvs_run *run, enum nvs_measure by);
/* Builds the tree and lists its stacks in that order. SHOWN: limited by -n. The caller frees FRAME.
 */
int nvs_run_stacks_list(struct nvs_run *run, enum nvs_measure by, struct nvs_stacks_list *list);

extern const struct nvs_column nvs_measure_columns[NVS_MEASURES + 3];
/* Returns 0, or -EINVAL after a message on stderr. */
int nvs_measure_parse(const struct nvs_run *run, enum nvs_measure *by);

/* Prints below the text why calls have no stack; NAME: how they are shown. */
void nvs_no_stack_print(struct nvs_out *out, const char *name);

/* Columns of a row with a weight, for a list of columns. */
#define NVS_WEIGHT_COLUMNS(COL, weight)                                                   \
	COL(known, submissions, "subs", 0, 0, !(weight).uncounted, (weight).submissions)  \
	COL(known, command_bytes, "cmd bytes", 0, 2, !(weight).uncounted, (weight).bytes) \
	COL(nonzero, calls, "calls", 0, 3, (weight).calls)                                \
	COL(us, host_us_total, "host us", 0, 1, (weight).timed, (weight).ns)              \
	COL(us, gpu_us_total, "gpu us", IF_KNOWN, 1, (weight).gpu_timed, (weight).gpu_ns)

/* Prints a stack on one line, outermost first, separated by ";", as flame graphs take it. */
void nvs_stack_frame_fold(struct nvs_out *out, const struct nvs_stacks *t,
			  const struct nvs_stack_frame *f);
/* A stack's frames from inside out, a line each. */
void nvs_stacks_print(struct nvs_out *out, const struct nvs_stacks *t, struct nvs_trace *trace,
		      const struct nvs_stack_frame *frame);

#endif
