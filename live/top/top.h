/* SPDX-License-Identifier: MIT */
/* What nvsnoop-top shows: a row for each process, all of one, and how these are printed. */
#ifndef NVSNOOP_LIVE_TOP_TOP_H
#define NVSNOOP_LIVE_TOP_TOP_H

#include "live/read/page_set.h"
#include "live/top/options.h"
#include "live/top/text_page.h"

/* A process as the list shows it. */
struct nvs_top_row {
	const struct nvs_page *page;
	char user[32], gpus[32], command[512];
	uint32_t folder; /* characters of command before its base name */
	/* The call that has been in flight for longest; NULL: none is, or none can be seen */
	const char *call;
	uint64_t call_ns;
};

struct nvs_top {
	const struct nvs_top_options *options;
	struct nvs_pages *pages;
	struct nvs_top_row *rows;
	uint32_t nrows;
	const struct nvs_top_column *sort;
	bool ascending;
	bool utf8;
	double interval; /* seconds */
	uint32_t refused;
	const char *why;
};

/* Looks again, and makes rows of those that are asked for, sorted. 0 or -ENOMEM. */
int nvs_top_look(struct nvs_top *top);
void nvs_top_sort(struct nvs_top *top);
const struct nvs_top_row *nvs_top_find(const struct nvs_top *top, uint32_t pid);

/* A second of a counter. False: not known yet. */
bool nvs_top_rate(const struct nvs_page *page, const struct nvs_sum *sum, double *rate);
/* An entry point, or what stands for those that found no room; likewise a kernel, demangled. */
const char *nvs_top_api(const struct nvs_page *page, uint32_t api);
const char *nvs_top_kernel(const struct nvs_page *page, uint32_t kernel);
void nvs_top_kernels_free(void);

/* ---- pages of text ---- */

/* The lines above the list: what all do together. */
void nvs_top_head(struct nvs_sheet *s, const struct nvs_top *top, uint32_t columns,
		  const char *note);
/* The list in COLUMNS columns, its head first; UINT32_MAX: all of it. */
void nvs_top_list(struct nvs_sheet *s, const struct nvs_top *top, uint32_t columns);

/* Parts of what is told of one process. */
enum nvs_top_part {
	NVS_TOP_ALL,
	NVS_TOP_KERNELS,
	NVS_TOP_APIS,
	NVS_TOP_COPIES,
	NVS_TOP_MEMORY,
	NVS_TOP_ERRORS,
	NVS_TOP_CHANNELS,
	NVS_TOP_THREADS,
	NVS_TOP_PARTS
};

const char *nvs_top_part_name(enum nvs_top_part part); /* "Kernels" */
void nvs_top_detail(struct nvs_sheet *s, const struct nvs_top_row *row, enum nvs_top_part part);

/* ---- ways to print ---- */

/* On a terminal, until the user has had enough: the exit status. */
int nvs_top_screen(struct nvs_top *top);
void nvs_top_text(const struct nvs_top *top, FILE *file);
void nvs_top_json(const struct nvs_top *top, FILE *file);
void nvs_top_blocks(const struct nvs_top *top, FILE *file);
/* Looks, and says on stdout what the processes hang in. 0, -ENOMEM, or -EIO: not of each trace. */
int nvs_top_hang(struct nvs_top *top);

#endif
