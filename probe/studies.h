/* SPDX-License-Identifier: MIT */
/* The studies, and what the command line gives them. */
#ifndef NVSNOOP_PROBE_STUDIES_H
#define NVSNOOP_PROBE_STUDIES_H

#include "probe/table.h"

#define PROBE_SIZES_MAX 128

struct probe_options {
	int gpu;
	enum probe_format format;
	const char *svg; /* folder for pictures; NULL: none */
	uint32_t repeat; /* submissions a row, 1 to 1000 */
	uint32_t iterations; /* transfers in each; 0: as many as the clock needs */
	uint32_t sizes[PROBE_SIZES_MAX], nsizes; /* 0: the study's own */
};

/* Each prints its result; the exit status. */
int probe_dma(const struct probe_options *options);
int probe_doorbell(const struct probe_options *options);

#endif
