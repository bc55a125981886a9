/* SPDX-License-Identifier: MIT */
/* nvsnoop-report: parses the command line, opens the traces, reads them once for all reports that
 * were asked for, and prints these. Exits 0, 1 on failure, 2 on wrong usage. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "decode/cli/options.h"
#include "decode/report/core/report.h"

enum { EXIT_WHOLE, EXIT_ERROR, EXIT_USAGE };

/* --diff exits as diff(1) does: 1 means that they differ, so trouble is 2. */
static int failure_status(const struct nvs_options_report *o)
{
	return o->nreports && o->reports[0]->needs & NVS_NEED_PAIR ? EXIT_USAGE : EXIT_ERROR;
}

/* Traces of one program have the same notes: each is printed once. */
static bool is_repeated(const struct nvs_source *s, uint32_t n, const char *note)
{
	const char *other;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; (other = nvs_trace_symbol_note(s[i].trace, k)); k++)
			if (!strcmp(other, note))
				return true;
	return false;
}

/* Names the files whose symbols could not be read: on another machine than the traced one that may
 * be all of them. */
static void print_notes(const struct nvs_source *s, uint32_t n, bool verbose)
{
	const char *note, *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; (note = nvs_trace_symbol_note(s[i].trace, k)); k++) {
			if (is_repeated(s, i, note))
				continue;
			first = first ? first : note;
			count++;
			if (verbose)
				fprintf(stderr, "nvsnoop-report: %s\n", note);
		}
	if (!first || verbose)
		return;
	fprintf(stderr, "nvsnoop-report: %s", first);
	if (count > 1)
		fprintf(stderr, " (and those of %u other file%s; -v shows which)", count - 1,
			count == 2 ? "" : "s");
	fputc('\n', stderr);
}

/* An empty report without a filter; the summary prints sentences of its own. */
static void print_empty(const struct nvs_run *run)
{
	bool on = false;
	uint64_t submissions = 0;

	if (run->said || run->report->standard)
		return;
	for (uint32_t i = 0; i < run->n; i++) {
		on |= !nvs_trace_never_on(run->sources[i].trace);
		submissions += nvs_session_submissions(nvs_trace_session(run->sources[i].trace));
	}
	fprintf(stderr, "nvsnoop-report: --%s: nothing to show%s\n", run->report->name,
		!on	      ? ": recording was never switched on"
		: submissions ? ""
			      : ": no submissions were recorded");
}

/* Explains empty reports. Returns true if the selection of the command line left one empty. */
static bool print_nothing(const struct nvs_run *runs, const struct nvs_options_report *o)
{
	bool nothing = false;

	for (uint32_t i = 0; i < o->nreports; i++) {
		if (!runs[i].nothing)
			continue;
		if (!nvs_filter_is_set(&o->query)) {
			print_empty(runs + i);
			continue;
		}
		fprintf(stderr, "nvsnoop-report: --%s: nothing is selected\n",
			runs[i].report->name);
		nothing = true;
	}
	if (nothing)
		nvs_filter_explain(runs->sources, (uint32_t)o->nfiles);
	return nothing;
}

static int print_reports(struct nvs_run *runs, const struct nvs_options_report *o)
{
	int verdict = EXIT_WHOLE, r, closed;
	struct nvs_out out;

	if (nvs_out_open(&out, &o->print))
		return failure_status(o);
	r = nvs_runs_print(runs, &out, o, &verdict);
	closed = nvs_out_close(&out, r);
	if (r)
		return r == -EINVAL ? EXIT_USAGE : failure_status(o);
	/* EPIPE: the reader has closed the pipe, which is no error. */
	if (closed && closed != -EPIPE) {
		fprintf(stderr, "nvsnoop-report: output: %s\n", strerror(-closed));
		return failure_status(o);
	}
	if (!nvs_only_verdicts(o))
		print_notes(runs->sources, runs->n, o->verbose);
	if (!closed && print_nothing(runs, o) && verdict == EXIT_WHOLE)
		verdict = EXIT_ERROR;
	return verdict;
}

/* The budget ran out: reports are incomplete. */
static bool print_budget_note(void)
{
	if (nvs_budget_exceeded())
		fprintf(stderr,
			"nvsnoop-report: the output is incomplete: a trace of this size may take "
			"%llu MiB of memory, and a limited time, and this one needs more\n",
			(unsigned long long)nvs_budget_total() >> 20);
	return nvs_budget_exceeded();
}

int main(int argc, char **argv)
{
	struct nvs_options_report o;
	struct nvs_source *sources;
	struct nvs_run *runs;
	int status, failed, opened;

	/* Large blocks are mapped: they are returned at free() and grow in place; a second arena
	 * would only reserve address space. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_ARENA_MAX, 1);
	status = nvs_options_parse(&o, argc, argv);
	if (status < 0 && o.list) {
		nvs_report_list(stdout, o.list);
		status = nvs_finish_stdout();
	}
	if (status >= 0) {
		nvs_options_free(&o);
		return status;
	}
	status = failed = failure_status(&o);
	if (o.embed) {
		status = nvs_embed_all(&o);
		nvs_options_free(&o);
		return status;
	}
	sources = calloc((size_t)o.nfiles + 1, sizeof(*sources));
	runs = calloc(o.nreports, sizeof(*runs));
	opened = sources && runs ? nvs_runs_open(runs, sources, &o) : -ENOMEM;
	if (!opened)
		status = print_reports(runs, &o);
	else if (opened == -EPERM)
		status = failed = EXIT_USAGE;
	if (sources && runs)
		nvs_runs_free(runs, sources, &o);
	free(sources);
	free(runs);
	if (print_budget_note() && status != EXIT_USAGE)
		status = status == EXIT_WHOLE || failed == EXIT_USAGE ? failed : status;
	nvs_options_free(&o);
	return status;
}
