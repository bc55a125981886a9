/* SPDX-License-Identifier: MIT */
/* What is remembered of a process from scrape to scrape, and what this scrape makes of its page. */
#ifndef NVSNOOP_LIVE_EXPORTER_PROCESS_LABELS_H
#define NVSNOOP_LIVE_EXPORTER_PROCESS_LABELS_H

#include "live/exporter/scrape.h"
#include "live/exporter/series.h"
#include "live/read/page_set.h"

/* Columns of the series below. */
enum {
	NVS_API_CALLS,
	NVS_API_NS,
	NVS_API_BUCKETS,
	NVS_API_COLUMNS = NVS_API_BUCKETS + NVS_LIVE_BUCKETS
};
enum { NVS_KERNEL_DIRECT, NVS_KERNEL_GRAPH, NVS_KERNEL_BOTH, NVS_KERNEL_COLUMNS };
enum {
	NVS_MEMORY_LIVE,
	NVS_MEMORY_COUNT,
	NVS_MEMORY_PEAK,
	NVS_MEMORY_BYTES,
	NVS_MEMORY_FAILED,
	NVS_MEMORY_THERE, /* 1 */
	NVS_MEMORY_COLUMNS
};
/* Numbers that a channel may not know are one more than they are, and 0 where not known. */
enum {
	NVS_CHANNEL_ENTRIES,
	NVS_CHANNEL_PENDING,
	NVS_CHANNEL_COMPLETED,
	NVS_CHANNEL_RANK, /* those that have most to do are told of */
	NVS_CHANNEL_COLUMNS
};

struct nvs_process {
	struct nvs_process *next;
	uint32_t pid;
	uint64_t start_time;
	const struct nvs_page *page; /* of this scrape; NULL: it has none */
	char common[160]; /* labels of all its samples */
	/* Kept from scrape to scrape. */
	struct nvs_series apis, results, kernels;
	/* Made anew. */
	struct nvs_series memory, sites, channels;
	/* Of those too which hold what GPUprobe tells; the launches are kept. */
	struct nvs_series probe_leaks, probe_launches, probe_results;
};

/* NULL: no memory. */
struct nvs_process *nvs_process_new(const struct nvs_page *page);
void nvs_process_look(struct nvs_process *p, const struct nvs_page *page,
		      const struct nvs_scrape_options *options);
void nvs_process_look_as_gpuprobe(struct nvs_process *p, const struct nvs_page *page, uint32_t top);
/* The scrape is over. */
void nvs_process_told(struct nvs_process *p);
void nvs_process_free(struct nvs_process *p);

#endif
