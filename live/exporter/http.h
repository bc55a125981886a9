/* SPDX-License-Identifier: MIT */
/*
 * The door: GET and HEAD of /metrics and of /, and nothing else. At most 32 connections at a time,
 * each for one request of at most 8 KiB of header, which has to be there after 3 s, and for 10 s in
 * all; what answers wait to be taken is at most 256 MiB. Whatever was turned away is counted.
 */
#ifndef NVSNOOP_LIVE_EXPORTER_HTTP_H
#define NVSNOOP_LIVE_EXPORTER_HTTP_H

#include "live/exporter/exposition.h"

/* Answers by what became of them; NVS_HTTP_NONE: a connection that asked for nothing that could be
 * read. */
enum nvs_http_answer {
	NVS_HTTP_OK,
	NVS_HTTP_NOT_FOUND,
	NVS_HTTP_NOT_ALLOWED,
	NVS_HTTP_UNAVAILABLE,
	NVS_HTTP_NONE,
	NVS_HTTP_ANSWERS
};
extern const char *const nvs_http_words[NVS_HTTP_ANSWERS];

struct nvs_http {
	uint64_t answers[NVS_HTTP_ANSWERS];
	/* Fills an answer of which openmetrics is set; called by nvs_http_serve() alone. */
	void (*scrape)(void *arg, struct nvs_expose *e);
	/* What else is to be done when WATCH (-1: nothing) can be read, as nvs_scrape_notice()
	 * says. */
	int (*notice)(void *arg, bool came);
	int watch;
	void *arg;
};

/* A listening socket on TEXT, "127.0.0.1:9000" or "[::1]:9000"; -1 and a message, or what bind()
 * says. */
int nvs_http_listen(const char *text, char *message, size_t room);

/* What it listens on, as a URL; OPEN: others than this machine may reach it. */
void nvs_http_where(int listener, char *url, size_t room, bool *open);

/* Until STOP, a descriptor, can be read; then 0. -1 and a message where libmicrohttpd cannot be
 * had. */
int nvs_http_serve(struct nvs_http *http, int listener, int stop, char *message, size_t room);

#endif
