/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-top. */
#ifndef NVSNOOP_LIVE_TOP_OPTIONS_H
#define NVSNOOP_LIVE_TOP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_TOP_PIDS 256
#define NVS_TOP_INTERVAL_MIN 100000000ull /* ns */
#define NVS_TOP_INTERVAL_MAX 3600000000000ull

/* The first two in the order of --format. */
enum nvs_top_format { NVS_TOP_TEXT, NVS_TOP_JSON, NVS_TOP_BLOCKS, NVS_TOP_SCREEN };

struct nvs_top_options {
	double interval; /* seconds */
	uint32_t pids[NVS_TOP_PIDS], npids; /* none: all */
	const char *sort; /* a column's key; with "-" before it, smallest first */
	const char *folder; /* scan only this folder; NULL: all */
	enum nvs_top_format format;
	bool once, hang;
};

/* Returns -1 to continue, or the exit status: help or version was printed, or an error message. */
int nvs_top_options(struct nvs_top_options *o, int argc, char **argv);
/* Parses an interval. Returns false if TEXT is not a number or is out of bounds. */
bool nvs_top_parse_interval(const char *text, double *seconds);

#endif
