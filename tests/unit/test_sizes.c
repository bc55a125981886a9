/* SPDX-License-Identifier: MIT */
/* LINK: decode decode/analysis/size_histogram.o */
/* Counting different sizes: exact while there are few, approximate when there are many. */
#include "decode/analysis/size_histogram.h"
#include <stdlib.h>
#include "tests/unit/expect.h"

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void few(void)
{
	static const uint64_t sizes[] = {100, 76, 100, 100, 3680, 76};
	static const uint64_t medians[] = {100, 76, 100, 100, 100, 100};
	struct nvs_sizes s = {0};

	EXPECT(nvs_sizes_median(&s) == 0 && nvs_sizes_mean(&s) == 0);
	for (uint32_t i = 0; i < 6; i++) {
		EXPECT(!nvs_sizes_add(&s, sizes[i]));
		EXPECT(nvs_sizes_median(&s) == medians[i]);
	}
	EXPECT(s.min == 76 && s.max == 3680 && s.count == 6 && s.n == 3);
	EXPECT(nvs_sizes_mean(&s) == 4132.0 / 6);
	nvs_sizes_free(&s);
	EXPECT(!s.list && !s.count);
}

/* As many different ones as are kept, by a fixed seed: the median of those that came so far. */
static void exact(void)
{
	uint64_t seen[1000], sorted[1000];
	struct nvs_sizes s = {0};
	uint32_t seed = 7, wrong = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		seed = seed * 1664525 + 1013904223;
		seen[i] = sorted[i] = (seed >> 16) % NVS_SIZES_MAX * 8;
		wrong += nvs_sizes_add(&s, seen[i]) != 0;
		qsort(sorted, i + 1, sizeof(*sorted), by_size);
		wrong += nvs_sizes_median(&s) != sorted[i / 2];
	}
	EXPECT(!wrong && s.n == NVS_SIZES_MAX);
	nvs_sizes_free(&s);
}

/* All different: the memory is bounded, the ends and the mean are exact, the median near. */
static void many(void)
{
	struct nvs_sizes s = {0};
	uint32_t wrong = 0;

	for (uint64_t i = 0; i < 10000; i++)
		wrong += nvs_sizes_add(&s, i * 7919 % 10000) != 0;
	EXPECT(!wrong && s.n == NVS_SIZES_MAX && s.room <= 2 * NVS_SIZES_MAX);
	EXPECT(s.min == 0 && s.max == 9999 && nvs_sizes_mean(&s) == 4999.5);
	EXPECT(nvs_sizes_median(&s) > 3000 && nvs_sizes_median(&s) < 7000);
	nvs_sizes_free(&s);
}

int main(void)
{
	few();
	exact();
	many();
	return expect_done();
}
