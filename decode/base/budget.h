/* SPDX-License-Identifier: MIT */
/*
 * The memory limit for reading a trace: 64 MiB plus 8 bytes for each byte of its file as stored,
 * because a trace may come from an untrusted source.
 *
 * In decode, malloc() and its relatives are the functions below: they count, and return NULL above
 * the limit. module.mk includes this header before all others. A report that can work with less
 * memory asks nvs_budget_left() and says what it leaves out; nvs_budget_exceeded() is true if any
 * allocation was refused.
 */
#ifndef NVSNOOP_DECODE_BASE_BUDGET_H
#define NVSNOOP_DECODE_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVS_BUDGET_BASE (64ull << 20)
#define NVS_BUDGET_PER_BYTE 8u
/* Part of the limit that is not counted: the program itself, libraries, allocations of zstd and
 * libelf. */
#define NVS_BUDGET_UNCOUNTED (16ull << 20)

/* Fixed cost of one open trace: granted for each trace that is opened in addition to the first. */
#define NVS_BUDGET_OPEN (1ll << 20)

/* Raises the limit by BYTES (lowers it if negative), regardless of what has been read. */
void nvs_budget_grant(int64_t bytes);
/* Records that BYTES more of a file have been read, which raises the limit. Like all functions
 * here, callable from any thread. */
void nvs_budget_read(uint64_t bytes);
/*
 * From now on, counts the calling thread's allocations in *BYTES instead of the common counter,
 * which NULL restores. nvs_budget_add() later adds *BYTES to the common counter: the progress of a
 * read-ahead thread then does not change what fits at a given point of the trace.
 */
void nvs_budget_count_in(int64_t *bytes);
void nvs_budget_add(int64_t *bytes);
uint64_t nvs_budget_total(void); /* the limit in bytes, NVS_BUDGET_UNCOUNTED included */
uint64_t nvs_budget_left(void);
bool nvs_budget_exceeded(void);
void nvs_budget_set_exceeded(void); /* sets the same flag because time has run out */
/* Returns true if N bytes may be allocated for optional data: only while a quarter of the limit
 * would be left. If false, nvs_budget_exceeded() is true afterwards. */
bool nvs_budget_allows(uint64_t n);
/* Counts a block that the C library or another library has allocated; it is freed with free() as
 * above. */
void *nvs_budget_adopt(void *p);
/* Ends F, a stream that open_memstream() opened for *TEXT, and counts the text; F may be NULL.
 * Returns 0 or -ENOMEM. */
int nvs_budget_end_text(FILE *f, char **text);

void *nvs_budget_malloc(size_t n) __attribute__((malloc));
void *nvs_budget_calloc(size_t n, size_t size) __attribute__((malloc));
void *nvs_budget_realloc(void *p, size_t n);
void *nvs_budget_aligned_alloc(size_t align, size_t n) __attribute__((malloc));
int nvs_budget_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *nvs_budget_strdup(const char *s);
char *nvs_budget_strndup(const char *s, size_t n);
void nvs_budget_free(void *p);

#define malloc nvs_budget_malloc
#define calloc nvs_budget_calloc
#define realloc nvs_budget_realloc
#define aligned_alloc nvs_budget_aligned_alloc
#define asprintf nvs_budget_asprintf
#define strdup nvs_budget_strdup
#define strndup nvs_budget_strndup
#define free nvs_budget_free

#endif
