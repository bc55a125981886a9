/* SPDX-License-Identifier: MIT */
/* Time that intervals cover: decode/analysis/covered_time.c. */
/* LINK: decode/analysis/covered_time.o */
#include "decode/analysis/covered_time.h"
#include "tests/unit/expect.h"

static void test_few(void)
{
	struct nvs_covered c = {.n = 0};
	struct nvs_covered_piece all = nvs_covered_total(&c);

	EXPECT_EQ(all.to, 0);
	nvs_covered_add(&c, 10, 20);
	nvs_covered_add(&c, 50, 60);
	nvs_covered_add(&c, 15, 25); /* late, and overlaps */
	nvs_covered_add(&c, 70, 70); /* empty */
	nvs_covered_add(&c, 60, 65);
	all = nvs_covered_total(&c);
	EXPECT_EQ(all.from, 10);
	EXPECT_EQ(all.to, 65);
	EXPECT_EQ(all.covered, 15 + 15);
	EXPECT_EQ(all.gap_from, 25);
	EXPECT_EQ(all.gap_to, 50);
	nvs_covered_add(&c, 5, 100); /* around all of them */
	all = nvs_covered_total(&c);
	EXPECT_EQ(all.covered, 95);
	EXPECT_EQ(all.gap_from, all.gap_to);
}

/* More than there is room for: sums stay exact as long as none begins inside of old ones. */
static void test_many(void)
{
	struct nvs_covered c = {.n = 0};
	struct nvs_covered_piece all;
	uint64_t at = 0;

	for (int i = 0; i < 10000; i++) {
		nvs_covered_add(&c, at + 10, at + 20);
		at += i == 5000 ? 1000 : 20;
	}
	all = nvs_covered_total(&c);
	EXPECT_EQ(all.covered, 100000);
	EXPECT_EQ(all.gap_from, 100020);
	EXPECT_EQ(all.gap_to, 101010);
	/* A call of another thread that lasted all the while. */
	nvs_covered_add(&c, 5, at);
	all = nvs_covered_total(&c);
	EXPECT_EQ(all.covered, at - 5);
	EXPECT_EQ(all.gap_from, all.gap_to);
}

/* From the middle of old ones: about half of what these cover counts besides. */
static void test_inside(void)
{
	struct nvs_covered c = {.n = 0};
	struct nvs_covered_piece all;

	for (uint64_t i = 0; i < 10000; i++)
		nvs_covered_add(&c, 20 * i + 10, 20 * i + 20);
	nvs_covered_add(&c, 100000, 200010);
	all = nvs_covered_total(&c);
	EXPECT(all.covered > 145000 && all.covered < 155020);
	EXPECT_EQ(all.to, 200010);
}

int main(void)
{
	test_few();
	test_many();
	test_inside();
	return expect_done();
}
