/* SPDX-License-Identifier: MIT */
/* nvsnoop-top: shows what the CUDA programs being recorded are doing. Chooses between the
 * interactive view and the printed formats. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "decode/trace/helper.h"
#include "live/top/columns.h"
#include "live/top/screen.h"
#include "nvsnoop/decode.h"

enum { EXIT_WHOLE, EXIT_ERROR };

static void sleep_s(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds,
			     .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* Flushes stdout and returns the exit status. A reader that closed the pipe is not an error. */
static int finish_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_WHOLE;
	if (errno != EPIPE)
		fprintf(stderr, "nvsnoop-top: output: %s\n", strerror(errno));
	return errno == EPIPE ? EXIT_WHOLE : EXIT_ERROR;
}

static void print_why_none(const struct nvs_top *top)
{
	if (top->options->npids)
		fprintf(stderr, "nvsnoop-top: process %u is not recorded now\n",
			top->options->pids[0]);
	else if (!top->nrows && top->options->format != NVS_TOP_JSON)
		fputs("nvsnoop-top: no process is recorded now; nvsnoop -o none PROGRAM starts "
		      "one\n",
		      stderr);
	if (top->refused)
		fprintf(stderr, "nvsnoop-top: %u file%s skipped: %s\n", top->refused,
			top->refused == 1 ? " was" : "s were", top->why);
}

static void print_snapshot(const struct nvs_top *top)
{
	if (top->options->format == NVS_TOP_JSON)
		nvs_top_print_json(top, stdout);
	else if (top->options->format == NVS_TOP_BLOCKS)
		nvs_top_print_blocks(top, stdout);
	else
		nvs_top_print_text(top, stdout);
}

/* Prints once, or until the selected processes have ended or the reader has closed the pipe. */
static int print_all(struct nvs_top *top)
{
	bool totals = top->options->format == NVS_TOP_BLOCKS && top->options->once;

	nvs_top_update(top);
	for (bool first = true;; first = false) {
		int status;

		/* Totals need only one read. */
		if (!totals) {
			sleep_s(top->interval);
			nvs_top_update(top);
		}
		if (top->options->npids && !top->nrows) {
			if (!first)
				return EXIT_WHOLE;
			print_why_none(top);
			return EXIT_ERROR;
		}
		if (!first && top->options->format == NVS_TOP_TEXT)
			putchar('\n');
		print_snapshot(top);
		if (first && !top->nrows)
			print_why_none(top);
		status = finish_output();
		if (status || ferror(stdout) || top->options->once)
			return status;
	}
}

static int print_hang(struct nvs_top *top)
{
	int r = nvs_top_print_hang(top), status;

	if (r == -ENOMEM)
		fputs("nvsnoop-top: no memory\n", stderr);
	for (uint32_t i = 0; i < top->options->npids; i++)
		if (!nvs_top_find(top, top->options->pids[i], NULL)) {
			fprintf(stderr, "nvsnoop-top: process %u is not recorded now\n",
				top->options->pids[i]);
			r = -ENOENT;
		}
	if (!top->options->npids && !top->nrows)
		print_why_none(top);
	status = finish_output();
	return r ? EXIT_ERROR : status;
}

static int run_view(struct nvs_top_options *o)
{
	struct nvs_top top = {.options = o,
			      .interval = o->interval,
			      .utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
			      .sort = nvs_top_column(o->sort ? o->sort : "launches_per_s"),
			      .ascending = o->sort && *o->sort == '-'};
	uint32_t flags = o->format == NVS_TOP_BLOCKS ? NVS_PAGES_ALLOCS : 0;
	int status = EXIT_ERROR, r = nvs_pages_open(&top.pages, flags);
	char safe[512];

	if (!r && o->folder)
		r = nvs_pages_restrict(top.pages, o->folder);
	if (r)
		fprintf(stderr, "nvsnoop-top: %s: %s\n",
			o->folder ? nvs_escape(safe, sizeof(safe), o->folder, strlen(o->folder))
				  : "cannot read live pages",
			strerror(-r));
	else if (o->hang)
		status = print_hang(&top);
	else if (o->format == NVS_TOP_SCREEN)
		status = nvs_top_run_screen(&top);
	else
		status = print_all(&top);
	nvs_pages_close(top.pages);
	nvs_top_kernel_names_free();
	nvs_helper_stop();
	free(top.rows);
	return status;
}

int main(int argc, char **argv)
{
	struct nvs_top_options o;
	int status;

	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_IGN);
	status = nvs_top_options(&o, argc, argv);
	if (status >= 0)
		return status;
	if (o.format == NVS_TOP_SCREEN && (o.once || !nvs_screen_is_usable()))
		o.format = NVS_TOP_TEXT;
	return run_view(&o);
}
