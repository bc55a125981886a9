/* SPDX-License-Identifier: MIT */
/* nvsnoop-top's model: a row for each process, and the views that print rows. */
#ifndef NVSNOOP_LIVE_TOP_TOP_H
#define NVSNOOP_LIVE_TOP_TOP_H

#include "live/read/page_set.h"
#include "live/top/options.h"
#include "live/top/text_page.h"

/* A process in the list. */
struct nvs_top_row {
	const struct nvs_page *page;
	char user[32], gpus[32], command[512];
	uint32_t folder; /* length of the directory part of command */
	/* The longest-running call in flight; NULL if there is none or none is visible. */
	const char *call;
	uint64_t call_ns;
	/* Since when a call waits and no channel has advanced; 0: less than NVS_TOP_HANG_NS */
	uint64_t hang_ns;
};

#define NVS_TOP_HANG_NS 10000000000ull
#define NVS_TOP_SILENT_NS 2000000000ull /* the recorder's thread writes ten times a second */

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

/* Reads all pages and builds the rows of the selected processes, sorted. Returns 0 or -ENOMEM. */
int nvs_top_update(struct nvs_top *top);
void nvs_top_sort(struct nvs_top *top);
/* Mean GPU time of a kernel's launches, and half the width of its 95 % interval, in ns. Returns
 * false if none was timed; *HALF is NAN if the interval has no bound. */
bool nvs_top_gpu_mean(const struct nvs_page_kernel *kernel, double *mean, double *half);
const struct nvs_top_row *nvs_top_find(const struct nvs_top *top, uint32_t pid,
				       const uint64_t *pid_namespace);

/* Computes a counter's rate per second. Returns false at the first read, when it is not known. */
bool nvs_top_get_rate(const struct nvs_page *page, const struct nvs_page_counter *sum,
		      double *rate);
/* Display name of an entry point, or "(other)" for row 0; the same for a kernel, demangled. */
const char *nvs_top_api_name(const struct nvs_page *page, uint32_t api);
const char *nvs_top_kernel_name(const struct nvs_page *page, uint32_t kernel);
void nvs_top_kernel_names_free(void);

/* ---- pages of text ---- */

/* The summary lines above the list. */
void nvs_top_add_header(struct nvs_text_page *s, const struct nvs_top *top, uint32_t columns,
			const char *note);
/* The list with its heading, at most COLUMNS wide; UINT32_MAX: unlimited. */
void nvs_top_add_list(struct nvs_text_page *s, const struct nvs_top *top, uint32_t columns);

/* Why the process of ROW hangs: by nvsnoop-report if it writes a trace, else by its live page. */
void nvs_top_add_hang(struct nvs_text_page *s, const struct nvs_top_row *row);

/* Sections of the detail view. */
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
void nvs_top_add_detail(struct nvs_text_page *s, const struct nvs_top_row *row,
			enum nvs_top_part part);

/* ---- ways to print ---- */

/* Runs the interactive view until the user quits. Returns the exit status. */
int nvs_top_run_screen(struct nvs_top *top);
void nvs_top_print_text(const struct nvs_top *top, FILE *file);
void nvs_top_print_json(const struct nvs_top *top, FILE *file);
void nvs_top_print_blocks(const struct nvs_top *top, FILE *file);
/* Reads all pages and explains on stdout where the processes hang. Returns 0, -ENOMEM, or -EIO if
 * nvsnoop-report failed. */
int nvs_top_print_hang(struct nvs_top *top);

#endif
