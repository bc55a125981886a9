/* SPDX-License-Identifier: MIT */
/*
 * --hang: explains where running processes hang. Processes that write a trace are passed to one
 * nvsnoop-report --hang call, which can compare ranks. The others are explained from their live
 * pages: calls in flight, and submissions not processed.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "decode/base/compare.h"
#include "live/top/columns.h"
#include "live/read/report_child.h"
#include "live/top/top.h"

#define WIDTH 80
#define MAX_LISTED 16 /* threads and channels listed one by one, longest-running first */

/* ---- traces ---- */

/* Returns why a process' trace cannot be read, or NULL. */
static const char *why_no_trace(const struct nvs_page *page)
{
	struct stat file;

	if (!(page->flags & NVS_LIVE_TRACED) || !*page->trace)
		return "it writes no trace";
	/* A process of another user may name any path. */
	if (stat(page->trace, &file) || (S_ISREG(file.st_mode) && access(page->trace, R_OK)))
		return errno == ENOENT ? "its trace does not exist" : "its trace cannot be read";
	return S_ISREG(file.st_mode) ? NULL : "its trace is not a regular file";
}

/* Runs nvsnoop-report --hang with the N traces in ARGV, which has room for four words more. Returns
 * NULL, or the reason why that failed. */
static const char *run_report(char **argv, uint32_t n, int out)
{
	static char name[] = "nvsnoop-report", option[] = "--hang", end[] = "--";
	int status = 0, r;
	pid_t pid;

	memmove(argv + 3, argv, n * sizeof(*argv));
	memcpy(argv, (char *[]){name, option, end}, 3 * sizeof(*argv));
	argv[n + 3] = NULL;
	r = nvs_report_start(&pid, argv, out, out);
	while (!r && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r)
		return strerror(r);
	return status ? "it exited with an error" : NULL;
}

/* Explains the traces whose entry in WHY is NULL. Returns NULL, or the reason why that failed. */
static const char *explain_traces(const struct nvs_top *top, const char *const *why)
{
	char **argv = calloc(top->nrows + 4ul, sizeof(*argv));
	const char *failed = NULL;
	uint32_t n = 0;

	if (!argv)
		return strerror(ENOMEM);
	for (uint32_t i = 0; i < top->nrows; i++)
		if (!why[i])
			argv[n++] = (char *)(uintptr_t)top->rows[i].page->trace;
	if (n)
		failed = run_report(argv, n, -1);
	free(argv);
	return failed;
}

/* ---- text ---- */

/* Wraps TEXT at WIDTH. Blanks within names count as line break opportunities too. */
static void wrap_text(struct nvs_text_page *s, const char *text)
{
	char word[1024], fit[4 * sizeof(word)];

	while (*text) {
		size_t n = strcspn(text, " ");

		if (n >= sizeof(word))
			n = sizeof(word) - 1;
		memcpy(word, text, n);
		word[n] = 0;
		if (s->at &&
		    s->at + 1 + nvs_escape_to_columns(fit, sizeof(fit), word, UINT32_MAX, s->utf8) >
			    WIDTH)
			nvs_text_page_end_line(s);
		if (n)
			nvs_text_page_printf(s, NVS_TOP_PLAIN, "%s%s", s->at ? " " : "", word);
		text += n;
		text += strspn(text, " ");
	}
	nvs_text_page_end_line(s);
}

static void print_duration(FILE *f, const struct nvs_page *page, uint64_t since)
{
	char to[NVS_FIGURE];

	fputs(nvs_figure_time(to, page->mono_ns > since ? page->mono_ns - since : 0), f);
}

static int compare_by_age(const void *a, const void *b)
{
	uint64_t one = (*(const struct nvs_page_thread *const *)a)->calls[0].begin_ns,
		 two = (*(const struct nvs_page_thread *const *)b)->calls[0].begin_ns;

	return NVS_CMP(one, two);
}

static void print_thread(FILE *f, const struct nvs_page *page, const struct nvs_page_thread *t)
{
	fprintf(f, "Thread %u", t->tid);
	if (*t->name)
		fprintf(f, " (%s)", t->name);
	fprintf(f, " has been in %s", nvs_top_api_name(page, t->calls[0].api));
	if (t->calls[0].begin_ns) {
		fputs(" for ", f);
		print_duration(f, page, t->calls[0].begin_ns);
	}
	for (uint32_t i = 1; i < t->ncalls; i++)
		fprintf(f, ", inside it in %s", nvs_top_api_name(page, t->calls[i].api));
	for (uint32_t i = 0; i < t->nranges; i++)
		fprintf(f, "%s%s", i ? " > " : ", in the NVTX range ", t->ranges[i].name);
	fputs(". ", f);
}

/* Prints the threads with calls in flight. Returns their number. */
static uint32_t print_threads(FILE *f, const struct nvs_page *page)
{
	const struct nvs_page_thread **order = calloc(page->nthreads + 1ul, sizeof(*order));
	uint32_t n = 0;

	for (uint32_t i = 0; order && i < page->nthreads; i++)
		if (page->threads[i].ncalls)
			order[n++] = page->threads + i;
	if (n)
		qsort(order, n, sizeof(*order), compare_by_age);
	for (uint32_t i = 0; i < n && i < MAX_LISTED; i++)
		print_thread(f, page, order[i]);
	if (n > MAX_LISTED)
		fprintf(f, "%u more threads are in calls that began later. ", n - MAX_LISTED);
	if (!(page->flags & NVS_LIVE_API))
		fputs("Calls are not observed (api=off): calls in flight are unknown. ", f);
	free(order);
	return n;
}

static void print_channel(FILE *f, const struct nvs_page *page, const struct nvs_page_channel *c)
{
	fprintf(f, "Channel %u", c->channel);
	if (c->gpu && page->gpus[c->gpu - 1].ordinal != NVS_NONE)
		fprintf(f, " of GPU %u", page->gpus[c->gpu - 1].ordinal);
	fprintf(f, " has processed %llu of %llu submissions", (unsigned long long)c->completed,
		(unsigned long long)c->submitted.total);
	if (c->completed && c->completed_ns) {
		fputs(", the last one ", f);
		print_duration(f, page, c->completed_ns);
		fputs(" ago", f);
	}
	if (c->submitted_ns) {
		fputs("; the last was submitted ", f);
		print_duration(f, page, c->submitted_ns);
		fputs(" ago", f);
	}
	fputs(". ", f);
	if (c->used && c->used != NVS_NONE && c->entries)
		fprintf(f, "Of its ring's %u entries the GPU has not fetched %u. ", c->entries,
			c->used);
}

/* Prints the channels with pending submissions. Returns how many have, or may have, some. */
static uint32_t print_channels(FILE *f, const struct nvs_page *page)
{
	uint32_t pending = 0, unknown = 0;

	for (uint32_t i = 0; i < page->nchannels; i++) {
		const struct nvs_page_channel *c = page->channels + i;

		if (c->pending == NVS_LIVE_UNKNOWN)
			unknown++;
		else if (c->pending && pending++ < MAX_LISTED)
			print_channel(f, page, c);
	}
	if (pending > MAX_LISTED)
		fprintf(f, "%u more channels have pending submissions. ", pending - MAX_LISTED);
	if (pending && pending + unknown < page->nchannels)
		fputs("The other channels have processed all their submissions. ", f);
	if (unknown)
		fprintf(f, "The progress of %u channel%s is unknown. ", unknown,
			unknown == 1 ? "" : "s");
	return pending + unknown;
}

static void print_page(FILE *f, const struct nvs_page *page, const char *why)
{
	uint32_t calls, channels;

	fprintf(f, "Process %u", page->pid);
	if (*page->program)
		fprintf(f, " (%s)", page->program);
	if (*page->rank)
		fprintf(f, ", rank %s%s%s,", page->rank, *page->size ? " of " : "", page->size);
	fprintf(f, " is explained from its live page only: %s. ", why);
	if (page->mono_ns > page->heard_ns && page->mono_ns - page->heard_ns > NVS_TOP_SILENT_NS) {
		fputs("It was last active ", f);
		print_duration(f, page, page->heard_ns);
		fputs(" ago: it is stopped or gets no CPU time, and the state of channels below "
		      "is from then. ",
		      f);
	}
	calls = print_threads(f, page);
	channels = print_channels(f, page);
	if (!calls && (page->flags & NVS_LIVE_API))
		fputs(channels ? "No call is in flight: no thread waits. "
			       : "No call is in flight, and all submissions have been "
				 "processed: no thread waits. ",
		      f);
	else
		fputs("A kernel may still run after its channel has moved on. The live page "
		      "does not record which kernel or semaphore is pending, or where in the "
		      "program calls were made: record a trace for that.",
		      f);
}

static void add_explanation(struct nvs_text_page *s, const struct nvs_page *page, const char *why)
{
	size_t length = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &length);

	if (f)
		print_page(f, page, why);
	if (!f || fclose(f))
		s->failed = true;
	else
		wrap_text(s, text);
	free(text);
}

static int explain_page(const struct nvs_top *top, const struct nvs_page *page, const char *why)
{
	struct nvs_text_page s = {.utf8 = top->utf8};
	bool failed;

	add_explanation(&s, page, why);
	nvs_text_page_print(&s, stdout);
	failed = s.failed;
	nvs_text_page_free(&s);
	return failed ? -ENOMEM : 0;
}

#define REPORT_FAILED "nvsnoop-report cannot explain its trace: %s"

/* If nvsnoop-report fails, falls back to the live pages. */
static int explain_all(const struct nvs_top *top, const char **why)
{
	bool printed = false;
	const char *failed;
	char words[256];
	int r = 0;

	for (uint32_t i = 0; i < top->nrows; i++) {
		why[i] = why_no_trace(top->rows[i].page);
		printed = printed || !why[i];
	}
	failed = explain_traces(top, why);
	if (failed)
		snprintf(words, sizeof(words), REPORT_FAILED, failed);
	for (uint32_t i = 0; i < top->nrows && !r; i++) {
		if (!why[i] && !failed)
			continue;
		fputs(printed ? "\n" : "", stdout);
		printed = true;
		r = explain_page(top, top->rows[i].page, why[i] ? why[i] : words);
	}
	return failed ? -EIO : r;
}

int nvs_top_print_hang(struct nvs_top *top)
{
	const char **why;
	int r;

	top->sort = nvs_top_column("pid");
	top->ascending = true;
	r = nvs_top_update(top);
	why = calloc(top->nrows + 1ul, sizeof(*why));
	if (!r)
		r = why ? explain_all(top, why) : -ENOMEM;
	free(why);
	return r;
}

/* ---- in the interactive view ---- */

static void add_file(struct nvs_text_page *s, FILE *file)
{
	size_t room = 0;
	char *line = NULL;

	rewind(file);
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = 0;
		nvs_text_page_add_escaped(s, NVS_TOP_PLAIN, line, UINT32_MAX, 0);
		nvs_text_page_end_line(s);
	}
	free(line);
}

void nvs_top_add_hang(struct nvs_text_page *s, const struct nvs_top_row *row)
{
	char *argv[5] = {(char *)(uintptr_t)row->page->trace};
	const char *why = why_no_trace(row->page), *failed;
	FILE *out = why ? NULL : tmpfile();
	char words[256];

	if (out) {
		failed = run_report(argv, 1, fileno(out));
		add_file(s, out);
		fclose(out);
		if (!failed)
			return;
		snprintf(words, sizeof(words), REPORT_FAILED, failed);
		why = words;
	}
	add_explanation(s, row->page, why ? why : strerror(errno));
}
