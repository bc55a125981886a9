/* SPDX-License-Identifier: MIT */
/* Counts allocated bytes by malloc_usable_size(). */
#include "decode/base/uncounted.h"
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>

#define HEAD 16u /* bytes of allocator overhead per block, approximately */

static uint64_t given, taken; /* bytes */
static bool fell_short;
/* The counter that this thread uses instead of TAKEN, or NULL. Initial-exec: the library must need
 * nothing but libc. */
static _Thread_local int64_t *aside __attribute__((tls_model("initial-exec")));

static void count_taken(uint64_t bytes, bool more)
{
	if (aside)
		*aside += more ? (int64_t)bytes : -(int64_t)bytes;
	else if (more)
		__atomic_fetch_add(&taken, bytes, __ATOMIC_RELAXED);
	else
		__atomic_fetch_sub(&taken, bytes, __ATOMIC_RELAXED);
}

void nvs_budget_count_in(int64_t *bytes)
{
	aside = bytes;
}

void nvs_budget_add(int64_t *bytes)
{
	__atomic_fetch_add(&taken, (uint64_t)*bytes, __ATOMIC_RELAXED);
	*bytes = 0;
}

static uint64_t budget_limit(void)
{
	return NVS_BUDGET_BASE - NVS_BUDGET_UNCOUNTED + __atomic_load_n(&given, __ATOMIC_RELAXED);
}

void nvs_budget_read(uint64_t bytes)
{
	__atomic_fetch_add(&given, bytes * NVS_BUDGET_PER_BYTE, __ATOMIC_RELAXED);
}

void nvs_budget_grant(int64_t bytes)
{
	__atomic_fetch_add(&given, (uint64_t)bytes, __ATOMIC_RELAXED);
}

uint64_t nvs_budget_total(void)
{
	return budget_limit() + NVS_BUDGET_UNCOUNTED;
}

uint64_t nvs_budget_left(void)
{
	uint64_t have = budget_limit(), used = __atomic_load_n(&taken, __ATOMIC_RELAXED);

	return used < have ? have - used : 0;
}

bool nvs_budget_exceeded(void)
{
	return __atomic_load_n(&fell_short, __ATOMIC_RELAXED);
}

static uint64_t size_of(void *p)
{
	return p ? malloc_usable_size(p) + HEAD : 0;
}

static bool check_fits(uint64_t n)
{
	if (n <= nvs_budget_left())
		return true;
	nvs_budget_set_exceeded();
	return false;
}

void nvs_budget_set_exceeded(void)
{
	__atomic_store_n(&fell_short, true, __ATOMIC_RELAXED);
}

bool nvs_budget_allows(uint64_t n)
{
	return check_fits(n + nvs_budget_total() / 4);
}

void *nvs_budget_adopt(void *p)
{
	if (p)
		count_taken(size_of(p), true);
	else
		nvs_budget_set_exceeded();
	return p;
}

int nvs_budget_end_text(FILE *f, char **text)
{
	return f && !fclose(f) && nvs_budget_adopt(*text) ? 0 : -ENOMEM;
}

void *nvs_budget_malloc(size_t n)
{
	return check_fits(n) ? nvs_budget_adopt(malloc(n)) : NULL;
}

void *nvs_budget_calloc(size_t n, size_t size)
{
	size_t bytes;

	return !__builtin_mul_overflow(n, size, &bytes) && check_fits(bytes)
		       ? nvs_budget_adopt(calloc(n, size))
		       : NULL;
}

void *nvs_budget_realloc(void *p, size_t n)
{
	uint64_t had = size_of(p);
	void *more = n <= had || check_fits(n - had) ? realloc(p, n) : NULL;

	if (more)
		count_taken(had, false);
	return more ? nvs_budget_adopt(more) : NULL;
}

void *nvs_budget_aligned_alloc(size_t align, size_t n)
{
	return check_fits(n) ? nvs_budget_adopt(aligned_alloc(align, n)) : NULL;
}

int nvs_budget_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(text, format, args);
	va_end(args);
	if (n >= 0)
		nvs_budget_adopt(*text);
	return n;
}

char *nvs_budget_strdup(const char *s)
{
	return nvs_budget_strndup(s, SIZE_MAX / 2);
}

char *nvs_budget_strndup(const char *s, size_t n)
{
	size_t length = strnlen(s, n);
	char *copy = nvs_budget_malloc(length + 1);

	if (copy)
		memcpy(copy, s, length);
	if (copy)
		copy[length] = '\0';
	return copy;
}

void nvs_budget_free(void *p)
{
	count_taken(size_of(p), false);
	free(p);
}
