/* SPDX-License-Identifier: MIT */
/* A profile: one recording window for each process, and then a run of nvsnoop-report over the
 * traces. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "live/exporter/profile.h"
#include "live/read/page_set.h"
#include "live/read/record_request.h"
#include "live/read/report_child.h"

enum { OK = 200, NOT_FOUND = 404, CONFLICT = 409, TOO_MANY = 429, FAILED = 500 };
enum { WORDS = 8 }; /* of nvsnoop-report's command line, besides traces */

#define AHEAD_NS 400000000ull /* windows of several processes open this long after the request */
#define MAX_TRACE "256M" /* of each process */

struct profile_window {
	struct nvs_record_request *request;
	uint32_t pid;
	uint64_t pid_namespace;
	bool ended, written;
};

struct nvs_profile {
	struct nvs_profile *next;
	struct nvs_profile_terms terms;
	struct nvs_pages *pages;
	struct profile_window *windows;
	uint32_t n;
	pid_t report; /* 0: not started */
	int out, errors; /* its output; -1: none */
	int status; /* 0: not done */
	char message[1280];
	char left_out[1024]; /* the processes that cannot be profiled, and why */
	char *data;
	size_t size;
};

static struct nvs_profile *profiles; /* all of them */

static void finish(struct nvs_profile *p, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The profile is done, without a result. */
static void finish(struct nvs_profile *p, int status, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(p->message, sizeof(p->message) - 1, format, list);
	va_end(list);
	strcat(p->message, "\n");
	p->status = status;
}

/* ---- the windows ---- */

/* A process writes its own reasons, and they become a header. What does not fit is not named. */
static void leave_out(struct nvs_profile *p, uint32_t pid, const char *why)
{
	size_t n = strlen(p->left_out);
	char text[320];

	snprintf(text, sizeof(text), "%sprocess %u: %s", n ? "; " : "", pid, why);
	for (char *at = text; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	if (n + strlen(text) < sizeof(p->left_out))
		strcpy(p->left_out + n, text);
}

static bool is_busy(const struct nvs_page *page)
{
	for (const struct nvs_profile *p = profiles; p; p = p->next)
		for (uint32_t i = 0; i < p->n && !p->status; i++)
			if (p->windows[i].pid == page->pid &&
			    p->windows[i].pid_namespace == page->pid_namespace)
				return true;
	return false;
}

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Asks the process of PAGE. Returns 0, or the status to answer if no process can be asked. */
static int start_window(struct nvs_profile *p, const struct nvs_page *page, uint64_t at)
{
	/* What a GPU's work waited for is in its commands. */
	char options[64], why[256];
	struct nvs_record_terms terms = {.options = options, .at_ns = at};
	struct profile_window *w = &p->windows[p->n];
	int err;

	snprintf(options, sizeof(options), "level=%s,max-size=" MAX_TRACE ",duration=%u",
		 p->terms.gpu ? "full" : "headers", p->terms.seconds);
	if (p->terms.gpu && !(page->flags & NVS_LIVE_TIMED)) {
		leave_out(p, page->pid, "it was not started with nvsnoop -o none --timing=sample");
		return CONFLICT;
	}
	if (is_busy(page)) {
		leave_out(p, page->pid, "a profile of it is in progress");
		return TOO_MANY;
	}
	err = nvs_record_request_start(&w->request, page, &terms, why, sizeof(why));
	if (err) {
		leave_out(p, page->pid, why);
		return err == -EEXIST ? TOO_MANY : CONFLICT;
	}
	w->pid = page->pid;
	w->pid_namespace = page->pid_namespace;
	p->n++;
	return 0;
}

static void start_windows(struct nvs_profile *p)
{
	uint32_t n = nvs_pages_count(p->pages);
	uint64_t at = p->terms.pid ? 0 : real_ns() + AHEAD_NS;
	int status = 0;
	bool found = false;

	for (uint32_t i = 0; i < n && !(p->terms.pid && found); i++) {
		const struct nvs_page *page = nvs_pages_get(p->pages, i);

		if (page->gone || (p->terms.pid && page->pid != p->terms.pid))
			continue;
		found = true;
		status = start_window(p, page, at) ?: status;
	}
	if (!found)
		finish(p, NOT_FOUND,
		       p->terms.pid ? "process %u has no live page" : "no process has a live page",
		       p->terms.pid);
	else if (!p->n)
		finish(p, status, "%s", p->left_out);
}

struct nvs_profile *nvs_profile_start(const struct nvs_profile_terms *terms)
{
	struct nvs_profile *p = calloc(1, sizeof(*p));
	uint32_t running = 0;

	if (!p)
		return NULL;
	p->terms = *terms;
	p->out = p->errors = -1;
	for (const struct nvs_profile *other = profiles; other; other = other->next)
		running++;
	p->next = profiles;
	profiles = p;
	if (running >= NVS_PROFILES) {
		finish(p, TOO_MANY, "%u profiles are in progress", running);
		return p;
	}
	/* A set of its own: reading one that is scraped would change what the next scrape shows. */
	if (!nvs_pages_open(&p->pages, 0) && !nvs_pages_update(p->pages))
		p->windows = calloc(nvs_pages_count(p->pages) + 1ul, sizeof(*p->windows));
	if (p->windows)
		start_windows(p);
	else
		finish(p, FAILED, "not enough memory");
	return p;
}

/* Returns true if all windows have ended. */
static bool poll_windows(struct nvs_profile *p)
{
	bool all = true;

	for (uint32_t i = 0; i < p->n; i++) {
		struct profile_window *w = &p->windows[i];
		enum nvs_record_state state;

		if (w->ended)
			continue;
		state = nvs_record_request_poll(w->request);
		w->ended = state >= NVS_RECORD_WRITTEN;
		w->written = state == NVS_RECORD_WRITTEN;
		all &= w->ended;
		if (w->ended && !w->written)
			leave_out(p, w->pid, nvs_record_request_why(w->request));
	}
	return all;
}

/* ---- the report ---- */

static void start_report(struct nvs_profile *p)
{
	static char name[] = "nvsnoop-report", export[] = "--export=pprof", sort[] = "-s",
		    gpu[] = "gpu_us_total", host[] = "host_us_total", end[] = "--";
	char **argv = calloc(p->n + WORDS, sizeof(*argv)), **at = argv;
	uint32_t n = 0;
	int err = ENOMEM;

	p->out = memfd_create("nvsnoop-profile", MFD_CLOEXEC);
	p->errors = memfd_create("nvsnoop-errors", MFD_CLOEXEC);
	if (argv && p->out >= 0 && p->errors >= 0) {
		*at++ = name;
		*at++ = export;
		*at++ = sort;
		*at++ = p->terms.gpu ? gpu : host;
		*at++ = end;
		for (uint32_t i = 0; i < p->n; i++)
			if (p->windows[i].written) {
				*at++ = (char *)(uintptr_t)nvs_record_request_trace(
					p->windows[i].request);
				n++;
			}
		err = n ? nvs_report_start(&p->report, argv, p->out, p->errors) : 0;
	}
	free(argv);
	if (err)
		finish(p, FAILED, "nvsnoop-report cannot be run: %s", strerror(err));
	else if (!n)
		finish(p, CONFLICT, "%s", p->left_out);
}

/* Reads what the report wrote to FD. */
static bool read_output(struct nvs_profile *p, int fd)
{
	struct stat st;
	size_t n = 0;

	if (fstat(fd, &st))
		return false;
	p->data = malloc((size_t)st.st_size + 1);
	while (p->data && n < (size_t)st.st_size) {
		ssize_t part = pread(fd, p->data + n, (size_t)st.st_size - n, (off_t)n);

		if (part <= 0)
			return false;
		n += (size_t)part;
	}
	p->size = n;
	return p->data;
}

static void close_windows(struct nvs_profile *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		nvs_record_request_close(p->windows[i].request);
	p->n = 0;
}

static void finish_report(struct nvs_profile *p, int status)
{
	bool good = WIFEXITED(status) && !WEXITSTATUS(status);

	p->report = 0;
	if (read_output(p, good ? p->out : p->errors)) {
		p->status = good ? OK : FAILED;
	} else {
		free(p->data);
		p->data = NULL;
		finish(p, FAILED, "not enough memory");
	}
	close_windows(p);
}

struct nvs_profile_answer nvs_profile_poll(struct nvs_profile *p)
{
	int status;

	if (!p->status && !p->report && poll_windows(p))
		start_report(p);
	else if (!p->status && p->report && waitpid(p->report, &status, WNOHANG) == p->report)
		finish_report(p, status);
	return (struct nvs_profile_answer){p->status, p->data ? p->data : p->message,
					   p->data ? p->size : strlen(p->message), p->left_out};
}

void nvs_profile_end(struct nvs_profile *p)
{
	struct nvs_profile **at = &profiles;

	if (!p)
		return;
	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
	if (p->report) {
		kill(p->report, SIGKILL);
		waitpid(p->report, NULL, 0);
	}
	close_windows(p);
	if (p->out >= 0)
		close(p->out);
	if (p->errors >= 0)
		close(p->errors);
	nvs_pages_close(p->pages);
	free(p->windows);
	free(p->data);
	free(p);
}
