/* SPDX-License-Identifier: MIT */
/* The studies, and what the command line gives them. */
#ifndef NVSNOOP_PROBE_STUDIES_H
#define NVSNOOP_PROBE_STUDIES_H

#include "probe/lib/table.h"

#define PROBE_SIZES_MAX 128
#define PROBE_NODES_MAX 2000

struct probe_options {
	int gpu;
	enum probe_format format;
	const char *svg; /* folder for pictures; NULL: none */
	uint32_t repeat; /* submissions a row, 1 to 1000 */
	uint32_t iterations; /* transfers in each; 0: as many as the clock needs */
	uint32_t sizes[PROBE_SIZES_MAX], nsizes; /* 0: the study's own */
	bool compare; /* dma: with what profilers say of the driver's copies */
	const char *file; /* submit: the text; "-": standard input */
	const char *src, *dst; /* submit: files for $src and of $dst; NULL: none */
	const char *channel; /* submit: probe_lane.name, or its last word; NULL: by what it says */
	uint32_t timeout; /* submit: seconds */
	bool dry_run; /* submit, bench */
	bool unsafe; /* submit */
	uint32_t from, to; /* nodes of a chain; to 0: the study's own */
	bool list, card; /* bench */
	const char *save, *load, *check; /* bench: files; NULL: none */
	char **names; /* bench: which; none: all but the slow ones */
	int nnames;
};

/* Each prints its result; the exit status. */
int probe_dma(const struct probe_options *options);
int probe_copies(const struct probe_options *options); /* what --compare runs by itself */
int probe_doorbell(const struct probe_options *options);
int probe_submit_text(const struct probe_options *options);
int probe_graph(const struct probe_options *options);
int probe_bench(const struct probe_options *options);
/* What probe_graph() has recorded; prints nothing. */
int probe_graph_launches(const struct probe_options *options);

#endif
