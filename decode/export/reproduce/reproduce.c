/* SPDX-License-Identifier: MIT */
/* --reproduce=N: the launch of submission N as a C program with its code and its memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "decode/cli/options.h"
#include "decode/cli/units.h"
#include "decode/export/output_dir.h"
#include "decode/export/reproduce/launch.h"
#include "decode/report/core/report.h"

struct reproduce_state {
	struct nvs_launch_facts facts;
	bool deep;
};

static const char *judge(const struct nvs_launch_facts *f)
{
	if (!f->submitted)
		return "the trace does not have it";
	if (!f->launched)
		return "it launches no kernel, or its commands were not recorded";
	if (!f->returned)
		return "the call that made it is not in the trace";
	if (!f->kernel)
		return "its call launches a graph, or a kernel whose name is unknown: only direct "
		       "launches can be reproduced";
	if (!f->has_params)
		return "its parameters are not in the trace: record without --level=headers";
	return NULL;
}

static int refuse(const struct nvs_run *run, const struct nvs_launch_facts *f, const char *why)
{
	char path[512];

	nvs_escape(path, sizeof(path), run->sources->path, strlen(run->sources->path));
	fprintf(stderr, "nvsnoop-report: %s: submission %" PRIu64 "%s%s cannot be reproduced: %s\n",
		path, f->submission, f->kernel ? ", " : "", f->kernel ? f->kernel : "", why);
	return -ENODATA;
}

static int write_folder(struct nvs_run *run)
{
	struct reproduce_state *st = run->state;

	if (chmod(run->options->print.output, 0700)) {
		perror(run->options->print.output);
		return -EIO;
	}
	run->out->told++;
	return nvs_program_write(run, &st->facts, st->deep);
}

static int print(struct nvs_run *run)
{
	const char *text = run->options->argument, *why;
	struct reproduce_state *st = run->state;
	uint64_t number;
	int r;

	if (!nvs_read_number(&text, INT64_MAX, &number) || *text) {
		nvs_usage_error("--reproduce takes the number of a submission, not '%s'",
				run->options->argument);
		return -EINVAL;
	}
	if (run->n != 1) {
		nvs_usage_error("--reproduce takes one trace");
		return -EINVAL;
	}
	st->deep = run->options->nmore;
	r = nvs_launch_facts_read(&st->facts, run->sources, number);
	if (r)
		return r;
	why = judge(&st->facts);
	if (!why)
		r = nvs_launch_facts_read_code(&st->facts, &why);
	if (why || r)
		return r ? r : refuse(run, &st->facts, why);
	return nvs_output_dir_run(run, write_folder);
}

static void free_state(struct nvs_run *run)
{
	nvs_launch_facts_free(&((struct reproduce_state *)run->state)->facts);
}

static const struct nvs_report_option deep = {
	.name = "deep",
	.help = "with --reproduce: follow addresses inside buffers, too",
	.man = "With\n.BR \\-\\-reproduce :\nfollow addresses inside buffers, such as tables of "
	       "rows, "
	       "and rewrite them as those in parameters. A word that happens to look like an "
	       "address is rewritten, too.",
};

NVS_REPORT(
	reproduce, .name = "reproduce", .argument = "N", .group = NVS_GPU_WORK, .place = 120,
	.help = "the kernel launch of submission N as a C program with its data; -o FOLDER",
	.man = "The kernel launch of submission N as a program, in the folder of\n.BR \\-o :\n"
	       "one C file that needs libcuda alone, a Makefile, the cubin or PTX, and the "
	       "memory that the launch reaches, before and after it, as\n.B nvsnoop "
	       "\\-\\-snapshot\nrecorded it; without that, memory begins as zeros. The program "
	       "places memory at the recorded addresses. If they cannot be had, it prints why, "
	       "places it elsewhere, and rewrites the words that are addresses; one that is in no "
	       "allocation becomes 0, with a line. It compares, prints how many bytes differ "
	       "and where the first is, and the time of 100 more runs. Its exit status is 0 if "
	       "all is as recorded, 1 if something differs, 2 if it could not run. Of a launch "
	       "that faulted, the program faults. A launch that cannot be reproduced is "
	       "refused with the reason: textures and surfaces, tensor maps in no allocation, "
	       "launches by kernels, missing code.\nThe folder is only for its owner (mode "
	       "0700): it has data of the program, and code that may be its vendor's.",
	.needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_ALONE,
	.prints = NVS_PRINTS_TEXT | NVS_PRINTS_FOLDER, .option = &deep,
	.state = sizeof(struct reproduce_state), .print = print, .free = free_state);
