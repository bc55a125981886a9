/* SPDX-License-Identifier: MIT */
/* The studies and their options. */
#ifndef NVSNOOP_PROBE_STUDIES_H
#define NVSNOOP_PROBE_STUDIES_H

#include "probe/lib/table.h"

#define PROBE_SIZES_MAX 128
#define PROBE_NODES_MAX 2000
#define PROBE_DOORBELLS_MAX 1024

struct probe_options {
	int gpu;
	enum probe_format format;
	const char *svg; /* folder for plots; NULL: none */
	uint32_t repeat; /* submissions per row, 1 to 1000 */
	uint32_t iterations; /* transfers per submission; 0: as many as the clock's resolution needs
			      */
	uint32_t sizes[PROBE_SIZES_MAX], nsizes; /* 0: the study's default */
	uint32_t doorbells[PROBE_SIZES_MAX], ndoorbells; /* doorbell: 0: the stages of one */
	bool compare; /* dma: compare with times that profilers report */
	const char *file; /* submit: the text; "-": standard input */
	const char *src, *dst; /* submit: files for $src and of $dst; NULL: none */
	const char *channel; /* submit: probe_channel_kind_entry.name, or its last word; NULL:
				chosen by the classes used */
	uint32_t timeout; /* submit: seconds */
	bool dry_run; /* submit, bench */
	bool unsafe; /* submit */
	uint32_t from, to; /* nodes of a chain; to 0: the study's default */
	bool list, card; /* bench */
	const char *save, *check, *accel_sim; /* bench: files; NULL: none */
	const char *load[2]; /* bench: NULL: none; two are compared */
	char **names; /* bench: names; none: all except the slow ones */
	int nnames;
};

/* Each prints its results and returns the exit status. */
int probe_run_dma(const struct probe_options *options);
int probe_run_copies(const struct probe_options *options); /* internal, run by --compare */
int probe_run_doorbell(const struct probe_options *options);
int probe_run_submit(const struct probe_options *options);
int probe_run_graph(const struct probe_options *options);
int probe_run_bench(const struct probe_options *options);
/* Internal, run and recorded by probe_run_graph(); prints nothing. */
int probe_run_graph_launches(const struct probe_options *options);

#endif
