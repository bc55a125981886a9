/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-top. */
#ifndef NVSNOOP_LIVE_TOP_OPTIONS_H
#define NVSNOOP_LIVE_TOP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_TOP_PIDS 256
#define NVS_TOP_INTERVAL_MIN 0.1
#define NVS_TOP_INTERVAL_MAX 3600.0

enum nvs_top_format { NVS_TOP_SCREEN, NVS_TOP_TEXT, NVS_TOP_JSON, NVS_TOP_BLOCKS };

struct nvs_top_options {
	double interval; /* seconds */
	uint32_t pids[NVS_TOP_PIDS], npids; /* none: all */
	const char *sort; /* a column's key; with "-" before it, smallest first */
	const char *folder; /* scan only this folder; NULL: all */
	enum nvs_top_format format;
	bool once, hang, help, version;
};

/* Returns 0, or -EINVAL after a message on stderr. */
int nvs_top_options(struct nvs_top_options *o, int argc, char **argv);
void nvs_top_print_help(void);
/* Parses an interval. Returns false if TEXT is not a number or is out of bounds. */
bool nvs_top_parse_interval(const char *text, double *seconds);

#endif
