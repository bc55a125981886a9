/* SPDX-License-Identifier: MIT */
/* One scrape: what all live pages say, as families of samples. */
#ifndef NVSNOOP_LIVE_EXPORTER_SCRAPE_H
#define NVSNOOP_LIVE_EXPORTER_SCRAPE_H

#include "live/exporter/exposition.h"

#define NVS_EXPORTER_LISTEN "127.0.0.1:9000"

enum { NVS_SCRAPE_TOP = 20, NVS_SCRAPE_TOP_MAX = 200 };

struct nvs_scrape_options {
	uint32_t top; /* names of a sort that a process has for itself */
	bool gpuprobe;
};

struct nvs_http;
struct nvs_scrape;

/* HTTP: whose answers are counted too, or NULL. NULL: no memory. */
struct nvs_scrape *nvs_scrape_begin(const struct nvs_scrape_options *options,
				    const struct nvs_http *http);

/* All of an answer. What counts stands still or goes up from one to the next, while its process
 * lives. */
void nvs_scrape(struct nvs_scrape *s, struct nvs_expose *e);

/*
 * So that processes are told of that come and go between two scrapes: a descriptor, or -1, and what
 * is to be done when it can be read (CAME). The latter says in how many ms it wants to be called
 * again, -1: when it can be read.
 */
int nvs_scrape_watch(struct nvs_scrape *s);
int nvs_scrape_notice(struct nvs_scrape *s, bool came);

void nvs_scrape_end(struct nvs_scrape *s);

#endif
