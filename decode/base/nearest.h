/* SPDX-License-Identifier: MIT */
/* Suggests names for a misspelt one ("did you mean ...?"). */
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

/* Compares ignoring case; blanks, dashes, underscores and slashes are equal. */
bool nvs_names_alike(const char *a, const char *b);
/* Offers NAME, which must stay valid, as a candidate. Its first LENGTH bytes are compared. */
void nvs_nearest_add(struct nvs_nearest *n, const char *name, size_t length);
/* Writes "; did you mean 'a' or 'b'?" with escaped names, or an empty string if no name is near.
 * Returns TEXT. */
char *nvs_nearest_text(const struct nvs_nearest *n, char *text, size_t room);
/* Prints that text and a newline to stderr. */
void nvs_nearest_print(const struct nvs_nearest *n);

#endif
