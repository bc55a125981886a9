/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* Alignment of sequences: compared with the quadratic algorithm, and at the bound beyond which
 * order is ignored. */
#include <stdlib.h>
#include <string.h>
#include "decode/base/align.h"
#include "tests/unit/expect.h"

enum { MOST = 24 };

static uint64_t seed = 20261122;

static uint32_t draw(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

/* Length of the longest common subsequence. */
static uint32_t longest(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb)
{
	uint32_t best[MOST + 1][MOST + 1] = {{0}};

	for (uint32_t i = 0; i < na; i++)
		for (uint32_t j = 0; j < nb; j++)
			best[i + 1][j + 1] = a[i] == b[j]		       ? best[i][j] + 1
					     : best[i][j + 1] > best[i + 1][j] ? best[i][j + 1]
									       : best[i + 1][j];
	return best[na][nb];
}

/* Mates are the same, of each other, and in order where that was looked at; how many. */
static bool holds(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb,
		  const uint32_t *mate_a, const uint32_t *mate_b, bool ordered, uint32_t *pairs)
{
	uint32_t other = 0, last = NVS_ALIGN_NONE;

	*pairs = 0;
	for (uint32_t i = 0; i < na; i++) {
		uint32_t j = mate_a[i];

		if (j == NVS_ALIGN_NONE)
			continue;
		if (j >= nb || mate_b[j] != i || a[i] != b[j])
			return false;
		if (ordered && last != NVS_ALIGN_NONE && j <= last)
			return false;
		last = j;
		++*pairs;
	}
	for (uint32_t j = 0; j < nb; j++)
		other += mate_b[j] != NVS_ALIGN_NONE;
	return other == *pairs;
}

static void test_random(void)
{
	uint64_t a[MOST], b[MOST];
	uint32_t mate_a[MOST], mate_b[MOST], wrong = 0, pairs;

	for (int round = 0; round < 20000; round++) {
		uint32_t na = draw(MOST + 1), nb = draw(MOST + 1), kinds = 1 + draw(6);
		bool ordered;

		for (uint32_t i = 0; i < na; i++)
			a[i] = draw(kinds);
		for (uint32_t i = 0; i < nb; i++)
			b[i] = draw(4) && i < na ? a[i] : draw(kinds);
		wrong += nvs_align(a, na, b, nb, mate_a, mate_b, &ordered) || !ordered ||
			 !holds(a, na, b, nb, mate_a, mate_b, true, &pairs) ||
			 pairs != longest(a, na, b, nb);
	}
	EXPECT_EQ(wrong, 0);
}

static void test_one_more(void)
{
	enum { N = 100000 };
	uint64_t *a = malloc(2 * N * sizeof(*a));
	uint32_t *mates = malloc((2 * N + 1) * sizeof(*mates)), *mate_b = mates + N;
	uint64_t *b = malloc((N + 1) * sizeof(*b));
	uint32_t pairs;
	bool ordered;

	for (uint32_t i = 0; i < N; i++)
		a[i] = i % 7;
	memcpy(b, a, N / 2 * sizeof(*a));
	b[N / 2] = 99;
	memcpy(b + N / 2 + 1, a + N / 2, N / 2 * sizeof(*a));
	EXPECT_EQ(nvs_align(a, N, b, N + 1, mates, mate_b, &ordered), 0);
	EXPECT(ordered && mate_b[N / 2] == NVS_ALIGN_NONE);
	EXPECT(holds(a, N, b, N + 1, mates, mate_b, true, &pairs) && pairs == N);
	free(a);
	free(b);
	free(mates);
}

/* Reversed, far beyond the bound: the same kinds find each other all the same, in linear time. */
static void test_bound(void)
{
	enum { N = 200000 };
	uint64_t *a = malloc(2 * N * sizeof(*a)), *b = a + N;
	uint32_t *mates = malloc(2 * N * sizeof(*mates)), pairs;
	bool ordered;

	for (uint32_t i = 0; i < N; i++)
		a[i] = b[N - 1 - i] = i / 2;
	EXPECT_EQ(nvs_align(a, N, b, N, mates, mates + N, &ordered), 0);
	EXPECT(!ordered && holds(a, N, b, N, mates, mates + N, false, &pairs) && pairs == N);
	EXPECT_EQ(mates[0], N - 2); /* the first of its kind there */
	for (uint32_t i = 0; i < N; i++)
		a[i] = i & 1, b[i] = i * 7919u >> 9 & 1;
	EXPECT_EQ(nvs_align(a, N, b, N, mates, mates + N, &ordered), 0);
	EXPECT(holds(a, N, b, N, mates, mates + N, ordered, &pairs));
	free(a);
	free(mates);
}

int main(void)
{
	printf("seed %llu\n", (unsigned long long)seed);
	test_random();
	test_one_more();
	test_bound();
	return expect_done();
}
