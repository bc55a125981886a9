/* SPDX-License-Identifier: MIT */
/* A process known to the exporter: the series kept between scrapes, and those rebuilt from its
 * page. */
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
enum {
	NVS_KERNEL_DIRECT,
	NVS_KERNEL_GRAPH,
	NVS_KERNEL_BOTH,
	NVS_KERNEL_GPU_NS,
	NVS_KERNEL_TIMED,
	NVS_KERNEL_COLUMNS
};
enum {
	NVS_MEMORY_LIVE,
	NVS_MEMORY_COUNT,
	NVS_MEMORY_PEAK,
	NVS_MEMORY_BYTES,
	NVS_MEMORY_FAILED,
	NVS_MEMORY_THERE, /* always 1 */
	NVS_MEMORY_COLUMNS
};
/* Values that may be unknown are stored plus one; 0 means unknown. */
enum {
	NVS_CHANNEL_ENTRIES,
	NVS_CHANNEL_PENDING,
	NVS_CHANNEL_COMPLETED,
	NVS_CHANNEL_RANK, /* sort key: channels with most pending are reported */
	NVS_CHANNEL_COLUMNS
};

struct nvs_exported_process {
	struct nvs_exported_process *next;
	uint32_t pid;
	uint64_t start_time, pid_namespace;
	const struct nvs_page *page; /* of this scrape; NULL outside of one */
	char common[192]; /* labels common to all its samples */
	/* Kept between scrapes. */
	struct nvs_series apis, results, kernels;
	/* Rebuilt at each scrape. */
	struct nvs_series memory, sites, channels;
	/* GPUprobe's metrics; only probe_launches is kept between scrapes. */
	struct nvs_series probe_leaks, probe_launches, probe_results;
};

/* Returns NULL if there is no memory. */
struct nvs_exported_process *nvs_process_new(const struct nvs_page *page);
void nvs_process_update(struct nvs_exported_process *p, const struct nvs_page *page,
			const struct nvs_scrape_options *options);
void nvs_process_update_gpuprobe(struct nvs_exported_process *p, const struct nvs_page *page,
				 uint32_t top);
/* Call after the process' samples were written. */
void nvs_process_end_scrape(struct nvs_exported_process *p);
void nvs_process_free(struct nvs_exported_process *p);

#endif
