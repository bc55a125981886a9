/* SPDX-License-Identifier: MIT */
/* nvsnoop-exporter: serves the counters of running programs to Prometheus, over HTTP or in a file.
 *  */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "decode/cli/options.h"
#include "decode/cli/units.h"
#include "nvsnoop/decode.h"
#include "live/exporter/http.h"
#include "live/exporter/scrape.h"
#include "live/exporter/textfile.h"
#include "live/read/page_set.h"

struct options {
	const char *listen; /* NULL: not given */
	const char *textfile; /* NULL: serve HTTP */
	uint64_t interval; /* ns */
	bool once;
	struct nvs_scrape_options scrape;
};

#define INTO(kind, field) NVS_OPTION_INTO(kind, struct options, field)

static const struct nvs_option options_known[] = {
	{"listen", "ADDRESS:PORT", "where to serve /metrics; :PORT listens on all addresses",
	 NVS_EXPORTER_LISTEN, INTO(TEXT, listen)},
	{"textfile", "FILE",
	 "write FILE instead, for the node exporter's textfile collector; - is standard output",
	 NULL, "a file name", INTO(TEXT, textfile), .min = 1},
	{"interval", "SECONDS", "with --textfile: time between two updates", "15",
	 "1 to 86400 seconds", INTO(SECONDS, interval), .min = NVS_NS, .max = 86400 * NVS_NS},
	{"once", .help = "with --textfile: write once and exit", INTO(CONSTANT, once), .min = true},
	{"top", "N",
	 "kernels, call sites and entry points named for each process; the rest is summed as "
	 "`other'",
	 "20", INTO(NUMBER, scrape.top), .min = 1, .max = NVS_SCRAPE_TOP_MAX},
	{"gpuprobe", .help = "also export GPUprobe's three metrics under its names",
	 INTO(CONSTANT, scrape.gpuprobe), .min = true},
	{NULL},
};
_Static_assert(NVS_SCRAPE_TOP == 20, "--help says so");

static void __attribute__((noreturn)) exit_failure(const char *message)
{
	char safe[1024];

	fprintf(stderr, "nvsnoop-exporter: %s\n",
		nvs_escape(safe, sizeof(safe), message, strlen(message)));
	exit(1);
}

static void read_options(struct options *o, int argc, char **argv)
{
	struct nvs_command_line line = {
		.program = "nvsnoop-exporter",
		.usage = "Usage: nvsnoop-exporter [OPTION...]\n"
			 "\n"
			 "Exports metrics of the programs now running under nvsnoop to "
			 "Prometheus: calls,\n"
			 "launches, copies, memory, errors, channels. It reads the live pages of "
			 "this\n"
			 "user's programs (root: of all users), and needs no privileges and no "
			 "GPU.\n",
		.notes = "Exit status: 0 after SIGINT, SIGTERM, SIGHUP or --once; 1 on failure, 2 "
			 "on a\nusage error.\n",
		.options = options_known,
		.target = o,
	};
	int status = nvs_command_line_parse(&line, argc, argv);
	bool interval = nvs_option_given(&line, "interval");

	if (status >= 0)
		exit(status);
	if (line.operand < argc)
		status = nvs_usage_error("unexpected argument '%s'", argv[line.operand]);
	else if (o->textfile && o->listen)
		status = nvs_usage_error("--textfile and --listen cannot be used together");
	else if (!o->textfile && (interval || o->once))
		status = nvs_usage_error("--interval and --once require --textfile");
	else if (interval && o->once)
		status = nvs_usage_error("--once and --interval cannot be used together");
	if (status >= 0)
		exit(status);
}

/* Blocks the terminating signals. Returns a signalfd that becomes readable when one arrives. */
static int open_stop_fd(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) || (fd = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
		exit_failure(strerror(errno));
	return fd;
}

static int serve_http(const struct options *o)
{
	struct nvs_http http = {.scrape = nvs_scrape, .notice = nvs_scrape_open_new};
	char message[512], url[128];
	int listener, stop;
	bool open;

	listener = nvs_http_listen(o->listen ? o->listen : NVS_EXPORTER_LISTEN, message,
				   sizeof(message));
	if (listener < 0 && errno == EINVAL)
		exit(nvs_usage_error("%s", message));
	if (listener < 0)
		exit_failure(message);
	http.arg = nvs_scrape_begin(&o->scrape, &http);
	if (!http.arg)
		exit_failure("no memory");
	http.watch = nvs_scrape_watch(http.arg);
	stop = open_stop_fd();
	nvs_http_url(listener, url, sizeof(url), &open);
	fprintf(stderr, "nvsnoop-exporter: %s%s\n", url,
		open ? ", open to other machines: shows names of programs, kernels and call sites"
		     : "");
	if (nvs_http_serve(&http, listener, stop, message, sizeof(message)))
		exit_failure(message);
	nvs_scrape_end(http.arg);
	return 0;
}

static void write_once(const struct options *o, struct nvs_scrape *s)
{
	struct nvs_exposition e = {.openmetrics = false};
	char message[512];
	int failed;

	nvs_scrape(s, &e);
	failed = nvs_textfile_write(o->textfile, &e, message, sizeof(message));
	free(e.text);
	if (failed)
		exit_failure(message);
}

/* Waits until DUE, picking up new pages meanwhile. Returns false if the program is to stop. */
static bool wait_until(struct nvs_scrape *s, struct pollfd fds[2], int64_t due)
{
	int again = -1;

	for (int64_t left; (left = due - (int64_t)nvs_mono_ms()) > 0;) {
		if (poll(fds, 2, again >= 0 && again < left ? again : (int)left) < 0)
			exit_failure(strerror(errno));
		if (fds[0].revents)
			return false;
		if (fds[1].revents || again >= 0)
			again = nvs_scrape_open_new(s, fds[1].revents);
	}
	return true;
}

static int write_file(const struct options *o)
{
	struct nvs_scrape *s = nvs_scrape_begin(&o->scrape, NULL);
	int64_t interval = (int64_t)(o->interval / 1000000), due = (int64_t)nvs_mono_ms();
	struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};

	if (!s)
		exit_failure("no memory");
	if (!o->once) {
		fds[0].fd = open_stop_fd();
		fds[1].fd = nvs_scrape_watch(s);
	}
	do {
		write_once(o, s);
		due += interval;
	} while (!o->once && wait_until(s, fds, due));
	nvs_scrape_end(s);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.interval = 15 * NVS_NS, .scrape.top = NVS_SCRAPE_TOP};

	read_options(&options, argc, argv);
	return options.textfile ? write_file(&options) : serve_http(&options);
}
