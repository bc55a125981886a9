/* SPDX-License-Identifier: MIT */
/* Numbers, sizes and names as the closing line prints them; for the library and the launcher. */
#ifndef NVSNOOP_PRELOAD_BASE_TEXT_H
#define NVSNOOP_PRELOAD_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct nvs_text {
	char text[32];
};

/* "80,000"; "1.4 MB" */
struct nvs_text nvs_text_number(uint64_t n);
struct nvs_text nvs_text_size(uint64_t bytes);
#define NVS_NUMBER(n) nvs_text_number(n).text
#define NVS_SIZE(bytes) nvs_text_size(bytes).text
#define NVS_PLURAL(n) ((n) == 1 ? "" : "s")

/* Characters that need no quoting in a shell. */
#define NVS_SHELL_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%^"
/* Writes NAME, quoted for a shell if that is needed, to OUT of SIZE bytes (at most 4 for each of
 * NAME's, and 5). Returns its length. */
size_t nvs_text_quote(const char *name, char *out, size_t size);

#endif
