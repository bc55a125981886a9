/* SPDX-License-Identifier: MIT */
/* Of all names there are, those that somebody may have meant. */
#ifndef NVSNOOP_DECODE_BASE_NEAREST_H
#define NVSNOOP_DECODE_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_NEAREST 3

struct nvs_nearest {
	const char *wanted;
	const char *name[NVS_NEAREST]; /* nearest first */
	uint32_t distance[NVS_NEAREST];
	uint32_t n;
};

/* The same but for case, and for blanks, dashes and underscores? */
bool nvs_name_alike(const char *a, const char *b);
/* NAME, which is kept, is there; the first LENGTH bytes of it are compared. */
void nvs_nearest_offer(struct nvs_nearest *n, const char *name, size_t length);
/* "; did you mean 'a' or 'b'?" fit for a terminal, nothing where none is near; returns TEXT. */
char *nvs_nearest_text(const struct nvs_nearest *n, char *text, size_t room);
/* The same on stderr; then the line ends. */
void nvs_nearest_say(const struct nvs_nearest *n);

#endif
