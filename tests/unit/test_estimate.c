/* SPDX-License-Identifier: MIT */
/* LINK: decode/query/estimate.o -lm */
/* Estimates of totals from drawn values: right on average, and inside their intervals in 95 of 100
 * cases. The seed is fixed. */
#include <math.h>
#include "decode/query/estimate.h"
#include "tests/unit/expect.h"

#define VALUES 5000
#define TRIALS 2000
#define SEED 20261126u

static uint64_t state = SEED;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / (double)(1ull << 53);
}

/* Values of one kernel: near 10, or now and then 50. The chance of each depends on where it is. */
static void test_intervals(uint64_t least, uint64_t most)
{
	static double value[VALUES];
	static uint64_t every[VALUES];
	double truth = 0, bias = 0;
	uint32_t inside = 0, known = 0;

	for (uint32_t i = 0; i < VALUES; i++) {
		value[i] = uniform() < 0.1 ? 50 + uniform() : 10 + uniform();
		every[i] = i / 500 % 2 ? least : most;
		truth += value[i] / VALUES;
	}
	for (uint32_t trial = 0; trial < TRIALS; trial++) {
		struct nvs_estimate e = {0};
		double half;

		for (uint32_t i = 0; i < VALUES; i++)
			if (uniform() * (double)every[i] < 1)
				nvs_estimate_add(&e, value[i], every[i]);
		bias += (nvs_estimate_mean(&e) - truth) / TRIALS;
		if (!nvs_estimate_error(&e, &half))
			continue;
		known++;
		inside += fabs(nvs_estimate_mean(&e) - truth) <= half;
	}
	printf("one of %llu to %llu, seed %u: %u of %u inside, bias %.4f\n",
	       (unsigned long long)least, (unsigned long long)most, SEED, inside, known, bias);
	EXPECT(known == TRIALS);
	EXPECT(fabs(bias) < 0.1);
	EXPECT(inside >= known * 91 / 100 && inside <= known * 98 / 100);
}

int main(void)
{
	struct nvs_estimate e = {0}, other = {0};
	double half = 1;

	EXPECT(!nvs_estimate_error(&e, &half));
	EXPECT(nvs_estimate_mean(&e) == 0 && nvs_estimate_deviation(&e) == 0);
	/* All of them: exact. */
	nvs_estimate_add(&e, 3, 1);
	nvs_estimate_add(&other, 5, 0);
	nvs_estimate_merge(&e, &other);
	EXPECT(nvs_estimate_error(&e, &half) && half == 0);
	EXPECT(e.n == 2 && nvs_estimate_mean(&e) == 4 && nvs_estimate_deviation(&e) == 1);
	/* One that stands for others says nothing of its error. */
	other = (struct nvs_estimate){0};
	nvs_estimate_add(&other, 5, 4);
	EXPECT(!nvs_estimate_error(&other, &half) && nvs_estimate_mean(&other) == 5);
	test_intervals(4, 4);
	test_intervals(50, 50);
	test_intervals(1, 20);
	test_intervals(10, 60);
	return expect_done();
}
