/* SPDX-License-Identifier: MIT */
/* --embed: adds names and lines to traces, so that they can be reported on other machines. */
#include <errno.h>
#include <inttypes.h>
#include "decode/report/core/report.h"
#include "decode/trace/embed.h"
#include "decode/trace/stream.h"

static int report_failure(const char *path, int r, const struct nvs_error *err)
{
	if (*err->text)
		fprintf(stderr, "nvsnoop-report: %s\n", err->text);
	else
		fprintf(stderr, "nvsnoop-report: %s: %s\n", path, strerror(-r));
	return r;
}

/* "t.zst: 20 addresses in its stacks, 18 with names, 2 with lines (7 new)" */
static void print_result(const char *path, const struct nvs_embed_counts *e)
{
	char safe[4096];

	nvs_escape(safe, sizeof(safe), path, strlen(path));
	printf("%s: %" PRIu64 " address%s in its stacks, %" PRIu64 " with names, %" PRIu64
	       " with lines (%" PRIu64 " new)",
	       safe, e->addresses, e->addresses == 1 ? "" : "es", e->named, e->lines, e->added);
	if (e->open)
		printf("; the file%s of %" PRIu64 " %s missing", e->open == 1 ? "" : "s", e->open,
		       e->open == 1 ? "is" : "are");
	putchar('\n');
}

static int embed_trace(const struct nvs_options_report *o, const char *path)
{
	struct nvs_read_options read = o->read;
	struct nvs_embed_counts done;
	struct nvs_error err = {""};
	struct nvs_trace *t;
	int r;

	read.size = sizeof(read);
	if (o->progress) {
		read.progress = nvs_progress_print;
		read.progress_arg = (void *)path;
	}
	r = nvs_trace_open(&t, path, &read, &err);
	if (r)
		return report_failure(path, r, &err);
	r = nvs_stream_read(t, NULL, NULL, &err);
	nvs_progress_clear();
	if (!r)
		r = nvs_trace_embed(t, &done, &err);
	if (r)
		report_failure(path, r, &err);
	else
		print_result(path, &done);
	nvs_trace_close(t);
	return r;
}

int nvs_embed_all(const struct nvs_options_report *o)
{
	int status = 0;

	for (int i = 0; i < o->nfiles; i++)
		if (embed_trace(o, o->files[i]))
			status = 1;
	return fflush(stdout) ? 1 : status;
}
