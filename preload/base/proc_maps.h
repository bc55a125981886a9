/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/maps without the C library's streams. */
#ifndef NVSNOOP_PRELOAD_BASE_PROC_MAPS_H
#define NVSNOOP_PRELOAD_BASE_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct nvs_maps_line {
	uint64_t start, end;
	bool writable;
	const char *path; /* "": none */
};

/* Calls EACH for every line. Returns false, and calls nothing, if it cannot be read. Keeps errno.
 */
bool nvs_maps_read(void (*each)(void *arg, const struct nvs_maps_line *line), void *arg);

#endif
