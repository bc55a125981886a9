/* SPDX-License-Identifier: MIT */
/* One live page: its file, and what was made of it at the last look. For live/read alone. */
#ifndef NVSNOOP_LIVE_READ_PAGE_H
#define NVSNOOP_LIVE_READ_PAGE_H

#include "live/read/page_set.h"

/* A list that grows: what a look finds is put where that of the look before stood. */
struct nvs_page_list {
	void *rows;
	uint32_t n, room;
};

struct nvs_page_file {
	struct nvs_page page; /* what others see */
	int fd;
	uint64_t dev, ino;
	bool listed; /* found in its folder at this look */
	bool shown; /* others see it */
	bool buried; /* dead, and not shown any more */
	uint64_t last_ns; /* when it was last read as a whole, 0: never */

	/* Of the look in progress. */
	struct nvs_live head;
	uint64_t size; /* of the file */
	uint64_t budget; /* bytes that may still be read */
	const char *wrong; /* what the page is refused for */
	void *scratch[2];
	size_t scratch_room[2];

	struct nvs_live_clock clock; /* the last that was read whole */
	bool has_clock;
	char *strings;
	uint32_t nstrings, strings_room;
	struct nvs_page_list apis, api_counts, results, kernels, gpus, memory, memory_places, sites,
		allocs, channels, channel_rows, threads;
};

/* Bytes that one look at one page may take. */
#define NVS_PAGE_MOST_BYTES (256ull << 20)

/*
 * Reads the file that is open as FD and has SIZE bytes: its head alone, which is checked then; and
 * all of it. BUDGET goes down by what was read. 0, -EINVAL: it is no page, or not ready,
 * FILE->wrong says why; -ENOMEM.
 */
int nvs_page_read_head(struct nvs_page_file *file, uint64_t size, uint64_t *budget);
int nvs_page_read(struct nvs_page_file *file, uint64_t size, uint64_t *budget, uint64_t now,
		  uint32_t flags);
void nvs_page_free(struct nvs_page_file *file);

/* ---- for those who read parts of it ---- */

/* The next row of a list, zero; NULL: no memory. */
void *nvs_page_row(struct nvs_page_list *list, size_t size);
/*
 * COUNT rows of a table from the FIRST on, in scratch memory number WHICH; NULL: refused. LEAST:
 * how long a row is at least; *STEP: how long it is.
 */
const uint8_t *nvs_page_table(struct nvs_page_file *file, enum nvs_live_table_number number,
			      size_t least, int which, uint32_t *count, uint32_t *step);
const uint8_t *nvs_page_bytes(struct nvs_page_file *file, uint64_t offset, uint64_t length,
			      int which);
const char *nvs_page_string(const struct nvs_page_file *file, uint32_t offset);
/* Ticks as ns of CLOCK_MONOTONIC, no later than this look; 0: not known. */
uint64_t nvs_page_time(const struct nvs_page_file *file, uint64_t ticks);
/* TOTAL: MORE as it has been summed up in this look, or as it was; MORE: what came since. */
void nvs_page_settle(const struct nvs_page_file *file, struct nvs_sum *sums, size_t n);
/* -EINVAL, for the reason WHY. */
int nvs_page_refuse(struct nvs_page_file *file, const char *why);

/* slots.c: what threads have counted, and the calls and ranges that they are in. */
int nvs_page_slots(struct nvs_page_file *file);
/* rows.c: the other tables. */
int nvs_page_names(struct nvs_page_file *file); /* ahead of the slots */
int nvs_page_rows(struct nvs_page_file *file, uint32_t flags);

#endif
