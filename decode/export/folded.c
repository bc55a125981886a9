/* SPDX-License-Identifier: MIT */
/* --export=folded: one line per stack, "outermost;...;innermost COUNT", for flamegraph.pl, inferno
 * and speedscope. */
#include <inttypes.h>
#include <stdlib.h>
#include "decode/calls/pass.h"
#include "decode/cli/output.h"
#include "decode/query/source.h"
#include "decode/report/core/options.h"
#include "decode/report/core/report.h"
#include "decode/analysis/stack_tree.h"
#include "decode/report/core/stack_columns.h"

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct nvs_stacks *t = run->state;

	for (uint32_t i = 0; i < run->options->nmore; i++)
		t->how |= strcmp(run->options->more[i], "process") ? NVS_STACKS_THREAD
								   : NVS_STACKS_PROCESS;
	return nvs_run_stacks_begin(run, s, each, reader);
}

static int print(struct nvs_run *run)
{
	struct nvs_stacks_list list = {0};
	struct nvs_out *out = run->out;
	enum nvs_measure by;
	int r = nvs_measure_parse(run, &by);

	if (!r)
		r = nvs_run_stacks_list(run, by, &list);
	for (size_t i = 0; i < list.shown; i++) {
		uint64_t n = nvs_weight_measure(&list.frame[i]->weight, by);

		if (!n)
			continue;
		nvs_stack_frame_fold(out, run->state, list.frame[i]);
		fprintf(out->file, " %" PRIu64 "\n", n);
		out->told++;
	}
	if (list.shown < list.n)
		fprintf(stderr, "nvsnoop-report: %zu more stacks; -n 0 prints all\n",
			list.n - list.shown);
	free(list.frame);
	return r;
}

static const struct nvs_report_option root = {
	"root", "process|thread", "outermost frame (thread; of several traces, process)",
	"The outermost frame: the process, which is the default for several traces, or the thread; "
	"both may be given."};

NVS_REPORT(export_folded, .name = "export=folded", .group = NVS_EXPORTS, .place = 300,
	   .help = "stacks for flame graphs, one per line; by -s submissions, bytes, calls, "
		   "or host_us or gpu_us, in ns (submissions)",
	   .man = "One line per stack, outermost frame first, with the number of its submissions, "
		  "as input for flamegraph.pl, inferno and\nspeedscope.\nWith\n.BR \\-s ,\nbytes "
		  "of commands, calls, the host time of calls in ns (\\-s host_us), or with "
		  "timing=work "
		  "the GPU time of submissions in ns (\\-s gpu_us).\nThe time of a call excludes "
		  "nested calls. Calls without a stack are below\n.BR [unknown] ;\na "
		  "semicolon in a name is written as \\ex3b.",
	   .option = &root, .needs = NVS_NEED_TRACE | NVS_NEED_CELLS | NVS_NEED_TIMED,
	   .prints = NVS_PRINTS_TEXT, NVS_REPORT_COLUMNS(nvs_measure_columns),
	   .state = sizeof(struct nvs_stacks), .each = sizeof(struct nvs_stacks_each),
	   .begin = begin, .print = print, .free = nvs_run_stacks_free);
