/* SPDX-License-Identifier: MIT */
/* nvsnoop-record: asks processes that have only a live page for a trace, waits for it, and moves it
 * to its name. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "decode/cli/units.h"
#include "live/read/record_request.h"
#include "live/record/record.h"
#include "live/record/trace_name.h"
#include "preload/base/names.h"
#include "preload/base/text.h"

#define POLL_MS 10
#define AHEAD_NS 400000000ull /* windows of several processes open this long after the request */

enum { EXIT_WRITTEN, EXIT_FAILED };

struct window {
	struct nvs_record_target of;
	struct nvs_record_request *request;
	char file[PATH_MAX]; /* where its trace is now; "": nowhere */
	bool ended;
};

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NVS_NS + (uint64_t)now.tv_nsec;
}

/* ---- the traces ---- */

static void print_result(const struct window *w)
{
	const struct nvs_record_result *d = nvs_record_request_result(w->request);
	char quoted[4 * PATH_MAX + 8], printable[PATH_MAX];

	nvs_name_printable(w->file, printable, sizeof(printable));
	fprintf(stderr, "nvsnoop-record: %s: %s, %s submission%s, %s gap%s", printable,
		NVS_SIZE(d->bytes), NVS_NUMBER(d->submissions), NVS_PLURAL(d->submissions),
		NVS_NUMBER(d->gaps), NVS_PLURAL(d->gaps));
	if (d->full)
		fputs(", up to --max-size", stderr);
	if (d->error)
		fprintf(stderr, "; WRITING FAILED (%s), %s submission%s lost", strerror(d->error),
			NVS_NUMBER(d->lost_submissions),
			d->lost_submissions == 1 ? " was" : "s were");
	nvs_text_quote(w->file, quoted, sizeof(quoted));
	fprintf(stderr, "; next: nvsnoop-report %s\n", quoted);
}

/* Returns whether the trace is whole and has its name. */
static bool finish_window(const struct nvs_record_options *o, struct window *w,
			  enum nvs_record_state state)
{
	const struct nvs_record_result *result = nvs_record_request_result(w->request);
	int err = *nvs_record_request_trace(w->request)
			  ? nvs_record_take_trace(w->request, w->of.page, w->of.pid, o->out,
						  w->file)
			  : 0;
	char printable[PATH_MAX];

	if (err)
		nvs_record_complain(w->of.pid, "its trace cannot be moved to %s: %s",
				    o->out ?: NVS_DEFAULT_OUT, strerror(-err));
	if (state == NVS_RECORD_REFUSED) {
		nvs_record_complain(w->of.pid, "%s", nvs_record_request_why(w->request));
	} else if (state == NVS_RECORD_DIED) {
		nvs_name_printable(w->file, printable, sizeof(printable));
		nvs_record_complain(w->of.pid, "%s%s%s", nvs_record_request_why(w->request),
				    *w->file ? "; what was written is in " : "",
				    *w->file ? printable : "");
	} else if (!err && !o->quiet) {
		print_result(w);
	}
	return state == NVS_RECORD_WRITTEN && !err && !result->error;
}

/* ---- all windows ---- */

static uint32_t start_windows(const struct nvs_record_options *o, struct window *windows,
			      const struct nvs_record_targets *targets)
{
	struct nvs_record_terms terms = {
		.options = o->options,
		.submissions = o->submissions,
		.at_ns = targets->n > 1 ? real_ns() + AHEAD_NS : 0,
	};
	uint32_t failed = 0;
	char why[256];

	for (uint32_t i = 0; i < targets->n; i++) {
		struct window *w = &windows[i];

		w->of = targets->list[i];
		if (!nvs_record_request_start(&w->request, w->of.page, &terms, why, sizeof(why)))
			continue;
		nvs_record_complain(w->of.pid, "%s", why);
		w->ended = true;
		failed++;
	}
	return failed;
}

static void stop_all(struct window *windows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!windows[i].ended)
			nvs_record_request_stop(windows[i].request);
}

/* Waits until all have ended; a signal ends them. Returns how many failed. */
static uint32_t wait_for_windows(const struct nvs_record_options *o, struct window *windows,
				 uint32_t n, int signals)
{
	struct pollfd stop = {signals, POLLIN, 0};
	uint32_t left = n, failed = 0;
	struct signalfd_siginfo info;

	while (left) {
		left = 0;
		for (uint32_t i = 0; i < n; i++) {
			struct window *w = &windows[i];
			enum nvs_record_state state;

			if (w->ended)
				continue;
			state = nvs_record_request_poll(w->request);
			w->ended = state >= NVS_RECORD_WRITTEN;
			failed += w->ended && !finish_window(o, w, state);
			left += !w->ended;
		}
		if (left && poll(&stop, 1, POLL_MS) > 0 && read(signals, &info, sizeof(info)) > 0)
			stop_all(windows, n);
	}
	return failed;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static uint32_t record(const struct nvs_record_options *o, const struct nvs_record_targets *targets)
{
	struct window *windows = calloc(targets->n, sizeof(*windows));
	int signals = open_signals();
	uint32_t failed;

	if (!windows || signals < 0) {
		fprintf(stderr, "nvsnoop-record: %s\n", strerror(errno));
		free(windows);
		return targets->n;
	}
	failed = start_windows(o, windows, targets);
	failed += wait_for_windows(o, windows, targets->n, signals);
	for (uint32_t i = 0; i < targets->n; i++)
		nvs_record_request_close(windows[i].request);
	free(windows);
	close(signals);
	return failed;
}

int main(int argc, char **argv)
{
	struct nvs_record_options options;
	struct nvs_record_targets targets;
	int status = nvs_record_options_parse(&options, argc, argv);
	uint32_t failed;

	if (status >= 0)
		return status;
	if (nvs_record_find(&options, &targets)) {
		fputs("nvsnoop-record: no memory\n", stderr);
		return EXIT_FAILED;
	}
	failed = targets.missing;
	if (targets.n)
		failed += record(&options, &targets);
	nvs_record_free(&targets);
	nvs_patterns_free(&options.names);
	return failed ? EXIT_FAILED : EXIT_WRITTEN;
}
