/* SPDX-License-Identifier: MIT */
/* One scrape: the contents of all live pages as metric families. */
#ifndef NVSNOOP_LIVE_EXPORTER_SCRAPE_H
#define NVSNOOP_LIVE_EXPORTER_SCRAPE_H

#include "live/exporter/exposition.h"

#define NVS_EXPORTER_LISTEN "127.0.0.1:9000"

enum { NVS_SCRAPE_TOP = 20, NVS_SCRAPE_TOP_MAX = 200 };

struct nvs_scrape_options {
	uint32_t top; /* names of each kind that get their own series, per process */
	bool gpuprobe;
};

struct nvs_http;
struct nvs_scrape;

/* HTTP is the server whose requests are reported too, or NULL. Returns NULL if there is no memory.
 *  */
struct nvs_scrape *nvs_scrape_begin(const struct nvs_scrape_options *options,
				    const struct nvs_http *http);

/* Writes a complete answer. Counters never decrease between two answers while their process lives.
 *  */
void nvs_scrape(void *scrape, struct nvs_exposition *e);

/*
 * For processes that start and end between two scrapes. nvs_scrape_watch() returns a descriptor to
 * poll, or -1. Call nvs_scrape_open_new() when it is readable (CAME) or when its timeout expired;
 * it returns the next timeout in ms, or -1 for none.
 */
int nvs_scrape_watch(struct nvs_scrape *s);
int nvs_scrape_open_new(void *scrape, bool came);

void nvs_scrape_end(struct nvs_scrape *s);

#endif
