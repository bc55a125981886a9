/* SPDX-License-Identifier: MIT */
/*
 * nvsnoop-exporter: serves the counters of running programs to Prometheus, over HTTP or in a file.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "nvsnoop/decode.h"
#include "live/exporter/http.h"
#include "live/exporter/scrape.h"
#include "live/exporter/textfile.h"

struct options {
	const char *listen; /* NULL: not given */
	const char *textfile; /* NULL: serve HTTP */
	unsigned long interval; /* seconds; 0: not given */
	bool once;
	struct nvs_scrape_options scrape;
};

static void print_usage(void)
{
	printf("Usage: nvsnoop-exporter [OPTION...]\n\n"
	       "Exports metrics of the programs now running under nvsnoop to Prometheus: calls,\n"
	       "launches, copies, memory, errors, channels. It reads the live pages of this\n"
	       "user's programs (root: of all users), and needs no privileges and no GPU.\n\n"
	       "  --listen=ADDRESS:PORT  where to serve /metrics (%s);\n"
	       "                         :PORT listens on all addresses\n"
	       "  --textfile=FILE        write FILE instead, for the node exporter's textfile\n"
	       "                         collector; - is standard output\n"
	       "  --interval=SECONDS     with --textfile: time between two updates (15)\n"
	       "  --once                 with --textfile: write once and exit\n"
	       "  --top=N                kernels, call sites and entry points named for each\n"
	       "                         process; the rest is summed as `other' (%d)\n"
	       "  --gpuprobe             also export GPUprobe's three metrics under its names\n"
	       "  --help                 print this and exit\n"
	       "  --version              print the version and exit\n",
	       NVS_EXPORTER_LISTEN, NVS_SCRAPE_TOP);
}

static void __attribute__((noreturn)) exit_usage(const char *format, const char *what)
{
	char safe[512];

	fprintf(stderr, "nvsnoop-exporter: ");
	fprintf(stderr, format, nvs_escape(safe, sizeof(safe), what, strlen(what)));
	fprintf(stderr, "; try --help\n");
	exit(2);
}

static void __attribute__((noreturn)) exit_failure(const char *message)
{
	char safe[1024];

	fprintf(stderr, "nvsnoop-exporter: %s\n",
		nvs_escape(safe, sizeof(safe), message, strlen(message)));
	exit(1);
}

static unsigned long parse_number(const char *text, unsigned long low, unsigned long high,
				  const char *format)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < low || v > high)
		exit_usage(format, text);
	return v;
}

/* Exits after --help or --version; a failed write is an error. */
static void finish_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		exit_failure(strerror(errno));
	exit(0);
}

static void read_options(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{"listen", required_argument, NULL, 'l'},
		{"textfile", required_argument, NULL, 't'},
		{"interval", required_argument, NULL, 'i'},
		{"once", no_argument, NULL, 'o'},
		{"top", required_argument, NULL, 'n'},
		{"gpuprobe", no_argument, NULL, 'g'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		switch (c) {
		case 'l':
			o->listen = optarg;
			break;
		case 't':
			o->textfile = optarg;
			break;
		case 'i':
			o->interval = parse_number(
				optarg, 1, 86400,
				"--interval must be a number from 1 to 86400, not '%s'");
			break;
		case 'o':
			o->once = true;
			break;
		case 'n':
			o->scrape.top = (uint32_t)parse_number(
				optarg, 1, NVS_SCRAPE_TOP_MAX,
				"--top must be a number from 1 to 200, not '%s'");
			break;
		case 'g':
			o->scrape.gpuprobe = true;
			break;
		case 'h':
			print_usage();
			finish_output();
			break;
		case 'V':
			puts("nvsnoop-exporter " NVS_VERSION);
			finish_output();
			break;
		default:
			fprintf(stderr, "nvsnoop-exporter: try --help\n");
			exit(2);
		}
	}
	if (optind < argc)
		exit_usage("unexpected argument '%s'", argv[optind]);
	if (o->textfile && o->listen)
		exit_usage("%s", "--textfile and --listen cannot be used together");
	if (!o->textfile && (o->interval || o->once))
		exit_usage("%s", "--interval and --once require --textfile");
	if (o->interval && o->once)
		exit_usage("%s", "--once and --interval cannot be used together");
	if (o->textfile && !*o->textfile)
		exit_usage("%s", "--textfile requires a file name");
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

static void fill_answer(void *arg, struct nvs_exposition *e)
{
	nvs_scrape(arg, e);
}

static int check_pages(void *arg, bool came)
{
	return nvs_scrape_open_new(arg, came);
}

static int serve_http(const struct options *o)
{
	struct nvs_http http = {.scrape = fill_answer, .notice = check_pages};
	char message[512], url[128];
	int listener, stop;
	bool open;

	listener = nvs_http_listen(o->listen ? o->listen : NVS_EXPORTER_LISTEN, message,
				   sizeof(message));
	if (listener < 0 && errno == EINVAL)
		exit_usage("%s", message);
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

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until DUE, picking up new pages meanwhile. Returns false if the program is to stop. */
static bool wait_until(struct nvs_scrape *s, struct pollfd fds[2], int64_t due)
{
	int again = -1;

	for (int64_t left; (left = due - now_ms()) > 0;) {
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
	int64_t interval = (int64_t)(o->interval ? o->interval : 15) * 1000, due = now_ms();
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
	struct options options = {.scrape.top = NVS_SCRAPE_TOP};

	argv[0] = (char *)"nvsnoop-exporter";
	read_options(&options, argc, argv);
	return options.textfile ? write_file(&options) : serve_http(&options);
}
