/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server: answers GET and HEAD of /metrics and /, GET of /debug/pprof/gpu and
 * /debug/pprof/host (profile.h), and nothing else. Limits: 32
 * connections, one request each, 8 KiB of header that must arrive within 3 s, 10 s per connection
 * (not while a profile is being taken), 256 MiB of answers not yet received. Rejected requests are
 * counted.
 */
#ifndef NVSNOOP_LIVE_EXPORTER_HTTP_H
#define NVSNOOP_LIVE_EXPORTER_HTTP_H

#include "live/exporter/exposition.h"

/* Answers by status; NVS_HTTP_NONE: a connection without a readable request. */
enum nvs_http_answer {
	NVS_HTTP_OK,
	NVS_HTTP_BAD,
	NVS_HTTP_NOT_FOUND,
	NVS_HTTP_NOT_ALLOWED,
	NVS_HTTP_CONFLICT,
	NVS_HTTP_TOO_MANY,
	NVS_HTTP_FAILED,
	NVS_HTTP_UNAVAILABLE,
	NVS_HTTP_NONE,
	NVS_HTTP_ANSWERS
};
extern const char *const nvs_http_code_names[NVS_HTTP_ANSWERS];

struct nvs_http {
	uint64_t answers[NVS_HTTP_ANSWERS];
	/* Writes an answer; E->openmetrics is set. Called only by nvs_http_serve(). */
	void (*scrape)(void *arg, struct nvs_exposition *e);
	/* Called when WATCH (-1: none) is readable; see nvs_scrape_open_new(). */
	int (*notice)(void *arg, bool came);
	int watch;
	void *arg;
};

/* Opens a listening socket on TEXT, "127.0.0.1:9000" or "[::1]:9000". Returns -1 with a message on
 * failure; errno is EINVAL if TEXT is malformed. */
int nvs_http_listen(const char *text, char *message, size_t room);

/* Formats the listening address as a URL. Sets OPEN if other machines can reach it. */
void nvs_http_url(int listener, char *url, size_t room, bool *open);

/* Serves requests until descriptor STOP is readable. Returns 0, or -1 with a message if
 * libmicrohttpd cannot be used. */
int nvs_http_serve(struct nvs_http *http, int listener, int stop, char *message, size_t room);

#endif
