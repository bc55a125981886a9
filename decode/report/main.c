/* SPDX-License-Identifier: MIT */
/* nvsnoop-report: opens the traces, reads them once, prints one report. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/report.h"

enum { EXIT_WHOLE, EXIT_ERROR, EXIT_USAGE };

static int open_source(struct nvs_source *s, const struct nvs_options_report *o, uint32_t index)
{
	struct nvs_read_options read = o->read;
	struct nvs_error err = {""};
	int r;

	s->index = index;
	s->path = o->files[index];
	s->options = o;
	read.size = sizeof(read);
	if (o->progress) {
		read.progress = nvs_progress;
		read.progress_arg = (void *)s->path;
	}
	r = nvs_trace_open(&s->trace, s->path, &read, &err);
	if (r) {
		fprintf(stderr, "nvsnoop-report: %s\n", *err.text ? err.text : strerror(-r));
		return r;
	}
	return nvs_source_read(s);
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

static int print(struct nvs_out *out, struct nvs_source *s, uint32_t n,
		 const struct nvs_options_report *o, int *status)
{
	switch (o->kind) {
	case NVS_REPORT_BY_API:
		return nvs_report_by_api(out, s, n, o);
	case NVS_REPORT_BY_CALLSITE:
		return nvs_report_by_callsite(out, s, n, o);
	case NVS_REPORT_CHANNELS:
		return nvs_report_channels(out, s, n, o);
	case NVS_REPORT_VERIFY:
		return nvs_report_verify(out, s, n, o, status);
	case NVS_REPORT_DUMP:
		return nvs_report_dump(out, s, n, o);
	case NVS_REPORT_OPS:
		return nvs_report_ops(out, s, n, o);
	case NVS_REPORT_SYNC:
		return nvs_report_sync(out, s, n, o);
	case NVS_REPORT_BY_KERNEL:
		return nvs_report_by_kernel(out, s, n, o);
	case NVS_REPORT_GRAPHS:
		return nvs_report_graphs(out, s, n, o);
	case NVS_REPORT_MEMCPY:
		return nvs_report_memcpy(out, s, n, o);
	case NVS_REPORT_BY_STREAM:
		return nvs_report_by_stream(out, s, n, o);
	case NVS_REPORT_BY_THREAD:
		return nvs_report_by_thread(out, s, n, o);
	case NVS_REPORT_BY_CONTEXT:
		return nvs_report_by_context(out, s, n, o);
	case NVS_REPORT_TIMELINE:
		return nvs_report_timeline(out, s, n, o);
	case NVS_REPORT_CLASSES:
		return nvs_report_classes(out, o);
	case NVS_REPORT_CLASS:
		return nvs_report_class(out, o);
	case NVS_REPORT_RAW:
		return nvs_report_raw(out, o);
	case NVS_REPORT_SUMMARY:
		return nvs_report_summary(out, s, n, o);
	}
	return -EINVAL;
}

static int report(struct nvs_source *s, uint32_t n, const struct nvs_options_report *o)
{
	struct nvs_out out;
	int status = EXIT_WHOLE, r, closed;

	r = nvs_out_open(&out, o);
	if (r)
		return EXIT_ERROR;
	r = print(&out, s, n, o, &status);
	closed = nvs_out_close(&out);
	if (r)
		return r == -EINVAL ? EXIT_USAGE : EXIT_ERROR;
	/* Whoever read us has seen enough: no reason to complain. */
	if (closed && closed != -EPIPE) {
		fprintf(stderr, "nvsnoop-report: output: %s\n", strerror(-closed));
		return EXIT_ERROR;
	}
	if (o->kind != NVS_REPORT_VERIFY)
		print_notes(s, n, o->verbose);
	return status;
}

/* What goes without memory or time that it asked for says less than there is. */
static bool say_short(void)
{
	if (nvs_budget_short())
		fprintf(stderr,
			"nvsnoop-report: a file of this size may take %llu MiB of memory, and time "
			"as it has bytes; this one "
			"asks for more: not all could be told\n",
			(unsigned long long)nvs_budget_whole() >> 20);
	return nvs_budget_short();
}

int main(int argc, char **argv)
{
	struct nvs_options_report o;
	struct nvs_source *s;
	int status = EXIT_WHOLE;
	uint32_t n = 0;

	/* Large blocks go back to the system, and grow where they are; a second heap would only be
	 * reserved. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_ARENA_MAX, 1);
	if (nvs_options_parse(&o, argc, argv))
		return EXIT_USAGE;
	if (o.help || o.version) {
		if (o.help)
			nvs_options_help(stdout);
		else
			puts("nvsnoop-report " NVS_VERSION);
		if (!fflush(stdout))
			return EXIT_WHOLE;
		fprintf(stderr, "nvsnoop-report: output: %s\n", strerror(errno));
		return EXIT_ERROR;
	}
	if (o.kind >= NVS_REPORT_CLASSES)
		return report(NULL, 0, &o);
	s = calloc((size_t)o.nfiles, sizeof(*s));
	if (!s)
		return EXIT_ERROR;
	for (; n < (uint32_t)o.nfiles && status == EXIT_WHOLE; n++)
		if (open_source(s + n, &o, n))
			status = EXIT_ERROR;
	if (status == EXIT_WHOLE)
		status = report(s, n, &o);
	for (uint32_t i = 0; i < n; i++)
		nvs_source_free(s + i);
	free(s);
	return say_short() && status == EXIT_WHOLE ? EXIT_ERROR : status;
}
