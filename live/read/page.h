/* SPDX-License-Identifier: MIT */
/* One live page: its file and the state of the last read. Private to live/read. */
#ifndef NVSNOOP_LIVE_READ_PAGE_H
#define NVSNOOP_LIVE_READ_PAGE_H

#include "live/read/page_set.h"

/* A growable array. Each read overwrites the rows of the read before. */
struct nvs_page_list {
	void *rows;
	uint32_t n, room;
};

struct nvs_page_file {
	struct nvs_page page; /* the public view */
	int fd;
	char *path;
	uint64_t dev, ino;
	bool listed; /* found in its folder in this pass */
	bool shown; /* included in the public list */
	bool buried; /* the process has ended and its last totals were shown */
	uint64_t last_ns; /* CLOCK_MONOTONIC of the last complete read; 0: never */

	/* State of the read in progress. */
	struct nvs_live head;
	uint64_t size; /* file size in bytes */
	uint64_t budget; /* bytes that this read may still take */
	const char *wrong; /* why the page was rejected */
	void *scratch[2];
	size_t scratch_room[2];

	struct nvs_live_clock clock; /* the last consistent copy */
	bool has_clock;
	char *strings;
	uint32_t nstrings, strings_room;
	struct nvs_page_list apis, api_counts, results, faults, kernels, gpus, memory,
		memory_places, sites, allocs, channels, channel_rows, threads;
};

/* Maximum number of bytes to read from one page in one pass. */
#define NVS_PAGE_MAX_BYTES (256ull << 20)

/*
 * Reads FILE, which is open as FD and has SIZE bytes: nvs_page_read_head() only the head, which it
 * checks; nvs_page_read() everything. BUDGET is reduced by the bytes read. Returns 0, -ENOMEM, or
 * -EINVAL if the file is not a page or not ready yet; FILE->wrong is the reason then.
 */
int nvs_page_read_head(struct nvs_page_file *file, uint64_t size, uint64_t *budget);
int nvs_page_read(struct nvs_page_file *file, uint64_t size, uint64_t *budget, uint64_t now,
		  uint32_t flags);
void nvs_page_free(struct nvs_page_file *file);

/* ---- for slots.c and rows.c ---- */

/* Appends a zeroed row to LIST. Returns NULL if there is no memory. */
void *nvs_page_add_row(struct nvs_page_list *list, size_t size);
/* Reads bytes into scratch buffer WHICH. Returns NULL if the page was rejected. */
const uint8_t *nvs_page_read_bytes(struct nvs_page_file *file, uint64_t offset, uint64_t length,
				   int which);
const char *nvs_page_get_string(const struct nvs_page_file *file, uint32_t offset);
/* Ticks as ns of CLOCK_MONOTONIC, no later than this look; 0: not known. */
uint64_t nvs_page_time(const struct nvs_page_file *file, uint64_t ticks);
/* On entry MORE is the sum of this read. Sets TOTAL to it, or keeps the old TOTAL if that is
 * larger, and sets MORE to the increase since the previous read. */
void nvs_page_finish_counters(const struct nvs_page_file *file, struct nvs_page_counter *sums,
			      size_t n);
/* Rejects the page for reason WHY. Returns -EINVAL. */
int nvs_page_reject(struct nvs_page_file *file, const char *why);

/* slots.c: per-thread counters, and the calls and ranges in progress. */
int nvs_page_read_slots(struct nvs_page_file *file);
/* rows.c: all other tables. */
int nvs_page_read_names(struct nvs_page_file *file); /* call before nvs_page_read_slots() */
int nvs_page_read_tables(struct nvs_page_file *file, uint32_t flags);

#endif
