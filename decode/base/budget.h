/* SPDX-License-Identifier: MIT */
/*
 * How much memory a trace may take: 64 MiB, and 8 bytes for each byte of its file as stored. A
 * trace comes from a stranger, and its file is what he had to send.
 *
 * In decode, malloc() and its kin are these: they count, and return NULL where that would be too
 * much. This header comes before everything else there (see module.mk). A report that can do with
 * less looks at what is left, and says what it leaves out; for all else nvs_budget_short() tells
 * that something was asked for and not given.
 */
#ifndef NVSNOOP_DECODE_BASE_BUDGET_H
#define NVSNOOP_DECODE_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVS_BUDGET_BASE (64ull << 20)
#define NVS_BUDGET_EACH 8u
/* Of these not counted: the program itself, libraries, what zstd and libelf take. */
#define NVS_BUDGET_REST (16ull << 20)

/* What a trace takes whatever is in it: given for each that is open beside another one. */
#define NVS_BUDGET_OPEN (1ll << 20)

/* So many bytes may be taken more, or less again, whatever has been read. */
void nvs_budget_grant(int64_t bytes);
/* So many bytes more of a file have been read. On any thread, as is all of this. */
void nvs_budget_read(uint64_t bytes);
/*
 * What the calling thread takes and gives back is counted in *BYTES from now on (NULL: as that of
 * all others), until it is added to the rest: so how far one that reads ahead has come makes no
 * difference to what there is room for.
 */
void nvs_budget_aside(int64_t *bytes);
void nvs_budget_add(int64_t *bytes);
uint64_t nvs_budget_whole(void); /* bytes, with the rest */
uint64_t nvs_budget_left(void);
bool nvs_budget_short(void);
void nvs_budget_run_out(void); /* the same, of time */
/* May N bytes be taken for what can do without? Only while a quarter of all is left. False: it is
 * short. */
bool nvs_budget_spare(uint64_t n);
/* What the C library or another has allocated: counted from now on, and freed as all else. */
void *nvs_budget_adopt(void *p);

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
