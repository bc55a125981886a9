/* SPDX-License-Identifier: MIT */
/* nvsnoop-report: opens the traces, reads them for all reports that were asked for, prints these.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/core/report.h"

enum { EXIT_WHOLE, EXIT_ERROR, EXIT_USAGE };

/* As of diff(1), where 1 is an answer. */
static int failure(const struct nvs_options_report *o)
{
	return o->nreports && o->reports[0]->needs & NVS_NEED_PAIR ? EXIT_USAGE : EXIT_ERROR;
}

/* Traces of one program name the same files. */
static bool told(const struct nvs_source *s, uint32_t n, const char *note)
{
	const char *other;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; (other = nvs_trace_symbol_note(s[i].trace, k)); k++)
			if (!strcmp(other, note))
				return true;
	return false;
}

/*
 * Which files could not tell names: on another machine than the traced one that may be all of them.
 */
static void print_notes(const struct nvs_source *s, uint32_t n, bool verbose)
{
	const char *note, *first = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; (note = nvs_trace_symbol_note(s[i].trace, k)); k++) {
			if (told(s, i, note))
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
		fprintf(stderr, " (and those of %u other file%s; -v tells which)", count - 1,
			count == 2 ? "" : "s");
	fputc('\n', stderr);
}

/* A report of traces that hold nothing of its kind; the summary has sentences for that. */
static void say_empty(const struct nvs_run *run)
{
	bool on = false;
	uint64_t submissions = 0;

	if (run->said || run->report->standard)
		return;
	for (uint32_t i = 0; i < run->n; i++) {
		on |= !nvs_trace_never_on(run->sources[i].trace);
		submissions += nvs_submissions_told(nvs_trace_session(run->sources[i].trace));
	}
	fprintf(stderr, "nvsnoop-report: --%s: nothing to show%s\n", run->report->name,
		!on	      ? ": recording was never switched on"
		: submissions ? ""
			      : ": no submissions were recorded");
}

/* Of reports that are empty. True: the command line's selection has left them so. */
static bool say_nothing(const struct nvs_run *runs, const struct nvs_options_report *o)
{
	bool nothing = false;

	for (uint32_t i = 0; i < o->nreports; i++) {
		if (!runs[i].nothing)
			continue;
		if (!nvs_filter_asked(&o->query)) {
			say_empty(runs + i);
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

static int report(struct nvs_run *runs, const struct nvs_options_report *o)
{
	int verdict = EXIT_WHOLE, r, closed;
	struct nvs_out out;

	if (nvs_out_open(&out, &o->print))
		return failure(o);
	r = nvs_runs_print(runs, &out, o, &verdict);
	closed = nvs_out_close(&out, r);
	if (r)
		return r == -EINVAL ? EXIT_USAGE : failure(o);
	/* Whoever read us has seen enough: no reason to complain. */
	if (closed && closed != -EPIPE) {
		fprintf(stderr, "nvsnoop-report: output: %s\n", strerror(-closed));
		return failure(o);
	}
	if (!nvs_verdict_alone(o))
		print_notes(runs->sources, runs->n, o->verbose);
	if (!closed && say_nothing(runs, o) && verdict == EXIT_WHOLE)
		verdict = EXIT_ERROR;
	return verdict;
}

/* What goes without memory or time that it asked for says less than there is. */
static bool say_short(void)
{
	if (nvs_budget_short())
		fprintf(stderr,
			"nvsnoop-report: a file of this size may take %llu MiB of memory, and time "
			"as it has bytes; this one asks for more: not all could be told\n",
			(unsigned long long)nvs_budget_whole() >> 20);
	return nvs_budget_short();
}

/* --help, --version and the like. */
static int tell_of_itself(const struct nvs_options_report *o)
{
	if (o->list)
		nvs_report_list(stdout, o->list);
	else if (o->help)
		nvs_options_help(stdout);
	else
		puts("nvsnoop-report " NVS_VERSION);
	/* What is longer than the buffer failed before. */
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_WHOLE;
	fprintf(stderr, "nvsnoop-report: output: %s\n", strerror(errno));
	return EXIT_ERROR;
}

int main(int argc, char **argv)
{
	struct nvs_options_report o;
	struct nvs_source *sources;
	struct nvs_run *runs;
	int status = EXIT_ERROR, failed;

	/* Large blocks go back to the system, and grow where they are; a second heap would only be
	 * reserved. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_ARENA_MAX, 1);
	if (nvs_options_parse(&o, argc, argv)) {
		nvs_options_free(&o);
		return EXIT_USAGE;
	}
	if (o.help || o.version || o.list)
		return tell_of_itself(&o);
	status = failed = failure(&o);
	if (o.embed) {
		status = nvs_embed_all(&o);
		nvs_options_free(&o);
		return status;
	}
	sources = calloc((size_t)o.nfiles + 1, sizeof(*sources));
	runs = calloc(o.nreports, sizeof(*runs));
	if (sources && runs && !nvs_runs_open(runs, sources, &o))
		status = report(runs, &o);
	if (sources && runs)
		nvs_runs_free(runs, sources, &o);
	free(sources);
	free(runs);
	if (say_short() && status != EXIT_USAGE)
		status = status == EXIT_WHOLE || failed == EXIT_USAGE ? failed : status;
	nvs_options_free(&o);
	return status;
}
