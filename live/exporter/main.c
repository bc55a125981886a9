/* SPDX-License-Identifier: MIT */
/* nvsnoop-exporter: the counters of running programs for Prometheus, over HTTP or in a file. */
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
	const char *listen; /* NULL: not said */
	const char *textfile; /* NULL: over HTTP */
	unsigned long interval; /* seconds; 0: not said */
	bool once;
	struct nvs_scrape_options scrape;
};

static void usage(void)
{
	printf("Usage: nvsnoop-exporter [OPTION...]\n\n"
	       "Tells Prometheus what the programs do that run under nvsnoop now: their calls,\n"
	       "launches, copies, memory, errors, channels. It reads the live pages of this\n"
	       "user's programs (root: of all), and needs no rights and no GPU.\n\n"
	       "  --listen=ADDRESS:PORT  where /metrics is to be had (%s);\n"
	       "                         :PORT is that on all addresses\n"
	       "  --textfile=FILE        write FILE instead, for the node exporter's collector;\n"
	       "                         - is standard output\n"
	       "  --interval=SECONDS     textfile: how often (15)\n"
	       "  --once                 textfile: once, and end\n"
	       "  --top=N                kernels, call sites and entry points by name a process,\n"
	       "                         the others together as `other' (%d)\n"
	       "  --gpuprobe             also GPUprobe's three metrics, by its names\n"
	       "  --help                 this text\n"
	       "  --version              which version it is\n",
	       NVS_EXPORTER_LISTEN, NVS_SCRAPE_TOP);
}

static void __attribute__((noreturn)) wrong(const char *format, const char *what)
{
	char safe[512];

	fprintf(stderr, "nvsnoop-exporter: ");
	fprintf(stderr, format, nvs_escape(safe, sizeof(safe), what, strlen(what)));
	fprintf(stderr, "; try --help\n");
	exit(2);
}

static void __attribute__((noreturn)) die(const char *message)
{
	char safe[1024];

	fprintf(stderr, "nvsnoop-exporter: %s\n",
		nvs_escape(safe, sizeof(safe), message, strlen(message)));
	exit(1);
}

static unsigned long number(const char *text, unsigned long low, unsigned long high,
			    const char *format)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < low || v > high)
		wrong(format, text);
	return v;
}

/* What --help and --version print has to arrive. */
static void told(void)
{
	if (fflush(stdout) || ferror(stdout))
		die(strerror(errno));
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
			o->interval = number(optarg, 1, 86400,
					     "--interval is a number from 1 to 86400, not '%s'");
			break;
		case 'o':
			o->once = true;
			break;
		case 'n':
			o->scrape.top =
				(uint32_t)number(optarg, 1, NVS_SCRAPE_TOP_MAX,
						 "--top is a number from 1 to 200, not '%s'");
			break;
		case 'g':
			o->scrape.gpuprobe = true;
			break;
		case 'h':
			usage();
			told();
			break;
		case 'V':
			puts("nvsnoop-exporter " NVS_VERSION);
			told();
			break;
		default:
			fprintf(stderr, "nvsnoop-exporter: try --help\n");
			exit(2);
		}
	}
	if (optind < argc)
		wrong("it takes options alone, not '%s'", argv[optind]);
	if (o->textfile && o->listen)
		wrong("%s", "--textfile writes a file, and does not --listen");
	if (!o->textfile && (o->interval || o->once))
		wrong("%s", "--interval and --once are for --textfile");
	if (o->interval && o->once)
		wrong("%s", "--once has no --interval");
	if (o->textfile && !*o->textfile)
		wrong("%s", "--textfile=FILE, which one?");
}

/* A descriptor that can be read once the program is to end. */
static int stop_asked(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) || (fd = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
		die(strerror(errno));
	return fd;
}

static void scrape(void *arg, struct nvs_expose *e)
{
	nvs_scrape(arg, e);
}

static int notice(void *arg, bool came)
{
	return nvs_scrape_notice(arg, came);
}

static int serve(const struct options *o)
{
	struct nvs_http http = {.scrape = scrape, .notice = notice};
	char message[512], url[128];
	int listener, stop;
	bool open;

	listener = nvs_http_listen(o->listen ? o->listen : NVS_EXPORTER_LISTEN, message,
				   sizeof(message));
	if (listener < 0 && errno == EINVAL)
		wrong("%s", message);
	if (listener < 0)
		die(message);
	http.arg = nvs_scrape_begin(&o->scrape, &http);
	if (!http.arg)
		die("no memory");
	http.watch = nvs_scrape_watch(http.arg);
	stop = stop_asked();
	nvs_http_where(listener, url, sizeof(url), &open);
	fprintf(stderr, "nvsnoop-exporter: %s%s\n", url,
		open ? ", for whoever reaches it: names of programs, kernels and call sites" : "");
	if (nvs_http_serve(&http, listener, stop, message, sizeof(message)))
		die(message);
	nvs_scrape_end(http.arg);
	return 0;
}

static void write_once(const struct options *o, struct nvs_scrape *s)
{
	struct nvs_expose e = {.openmetrics = false};
	char message[512];
	int failed;

	nvs_scrape(s, &e);
	failed = nvs_textfile_write(o->textfile, &e, message, sizeof(message));
	free(e.text);
	if (failed)
		die(message);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until it is time for the next file. False: the program is to end. */
static bool wait_until(struct nvs_scrape *s, struct pollfd fds[2], int64_t due)
{
	int again = -1;

	for (int64_t left; (left = due - now_ms()) > 0;) {
		if (poll(fds, 2, again >= 0 && again < left ? again : (int)left) < 0)
			die(strerror(errno));
		if (fds[0].revents)
			return false;
		if (fds[1].revents || again >= 0)
			again = nvs_scrape_notice(s, fds[1].revents);
	}
	return true;
}

static int write_file(const struct options *o)
{
	struct nvs_scrape *s = nvs_scrape_begin(&o->scrape, NULL);
	int64_t interval = (int64_t)(o->interval ? o->interval : 15) * 1000, due = now_ms();
	struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};

	if (!s)
		die("no memory");
	if (!o->once) {
		fds[0].fd = stop_asked();
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
	return options.textfile ? write_file(&options) : serve(&options);
}
