/* SPDX-License-Identifier: MIT */
/* LINK: decode live/exporter/series.o */
/*
 * Metric series of a process whose names change and reorder continuously: no value decreases, no
 * series that was shown disappears, there are at most twice as many as requested, and their sum is
 * exact.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "live/exporter/series.h"
#include "tests/unit/expect.h"

enum { NAMES = 300, TOP = 5, ROUNDS = 200 };

static uint64_t seed = 16;

static uint32_t chance(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static uint64_t counted[NAMES][2], told[NAMES][2], told_other[2];
static bool was_shown[NAMES];

static int number_of(const struct nvs_one *one)
{
	return atoi(one->labels + strlen("kernel=\"k"));
}

/* Names begin one after another, and each for a while is the busiest. */
static void work(int round)
{
	for (int i = 0; i < NAMES && i <= round * 2; i++) {
		counted[i][0] += chance(i / 8 == round / 4 ? 10000 : 10);
		counted[i][1] += chance(3);
	}
}

static void scrape(struct nvs_series *s, int round)
{
	uint64_t sum[2] = {0, 0}, all[2] = {0, 0}, other[2];
	uint32_t shown = 0;

	nvs_series_begin(s, 2);
	for (int i = 0; i < NAMES && i <= round * 2; i++) {
		/* Two rows of one name. */
		uint64_t half[2] = {counted[i][0] / 2, counted[i][1] / 2};
		uint64_t rest[2] = {counted[i][0] - half[0], counted[i][1] - half[1]};
		char labels[32];

		snprintf(labels, sizeof(labels), "kernel=\"k%d\"", i);
		EXPECT(nvs_series_add(s, labels, half));
		EXPECT(nvs_series_add(s, labels, rest));
		all[0] += counted[i][0];
		all[1] += counted[i][1];
	}
	EXPECT(!nvs_series_add(s, NULL, (uint64_t[]){(uint64_t)round, 1}));
	all[0] += (uint64_t)round;
	all[1]++;
	nvs_series_choose(s, TOP, 0);
	for (uint32_t i = 0; i < s->n; i++) {
		int k = number_of(s->all[i]);

		EXPECT(s->all[i]->shown || !was_shown[k]);
		if (!s->all[i]->shown)
			continue;
		for (uint32_t c = 0; c < 2; c++) {
			uint64_t value = nvs_series_value(s, s->all[i], c);

			EXPECT(value >= told[k][c] && value <= counted[k][c]);
			told[k][c] = value;
			sum[c] += value;
		}
		was_shown[k] = true;
		shown++;
	}
	EXPECT(shown <= 2 * TOP);
	EXPECT(shown >= (round > 1 ? TOP : 1));
	EXPECT(nvs_series_other(s, other));
	for (uint32_t c = 0; c < 2; c++) {
		EXPECT(other[c] >= told_other[c]);
		told_other[c] = other[c];
		EXPECT(other[c] + sum[c] == all[c]);
	}
	nvs_series_end(s);
}

/* What is shown from its first scrape on has all that it counted. */
static void first_ones(void)
{
	struct nvs_series s = {.n = 0};
	uint64_t values[2] = {7, 1}, other[2];

	nvs_series_begin(&s, 2);
	nvs_series_choose(&s, TOP, 0);
	EXPECT(!nvs_series_other(&s, other));
	EXPECT(nvs_series_add(&s, "a", values));
	values[0] = 0;
	EXPECT(nvs_series_add(&s, "none yet", values));
	nvs_series_choose(&s, TOP, 0);
	EXPECT(s.all[0]->shown && nvs_series_value(&s, s.all[0], 0) == 7);
	EXPECT(!s.all[1]->shown);
	nvs_series_end(&s);
	nvs_series_begin(&s, 2);
	values[0] = 9;
	nvs_series_add(&s, "none yet", values);
	nvs_series_add(&s, "a", values);
	nvs_series_choose(&s, TOP, 0);
	EXPECT(s.all[1]->shown && nvs_series_value(&s, s.all[1], 0) == 9);
	nvs_series_free(&s);
}

/* More names than are remembered. */
static void too_many(void)
{
	struct nvs_series s = {.n = 0};
	uint64_t one = 1, other;

	for (int round = 1; round <= 2; round++) {
		nvs_series_begin(&s, 1);
		for (int i = 0; i < NVS_SERIES_NAMES + 10; i++) {
			char labels[32];

			snprintf(labels, sizeof(labels), "%d", i);
			EXPECT(nvs_series_add(&s, labels, &one) == (i < NVS_SERIES_NAMES));
		}
		nvs_series_choose(&s, TOP, 0);
		EXPECT(nvs_series_other(&s, &other));
		EXPECT(other + s.nshown == NVS_SERIES_NAMES + 10);
		nvs_series_end(&s);
	}
	nvs_series_free(&s);
}

int main(void)
{
	struct nvs_series s = {.n = 0};

	printf("seed %llu\n", (unsigned long long)seed);
	for (int round = 0; round < ROUNDS; round++) {
		work(round);
		scrape(&s, round);
	}
	nvs_series_free(&s);
	first_ones();
	too_many();
	return expect_done();
}
