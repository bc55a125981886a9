/* SPDX-License-Identifier: MIT */
/*
 * Stretches of GPU time: told where the channel had work all along and the times are certain, and nowhere
 * else. At last against a GPU made up of a queue, whose own times are known.
 */
/* LINK: decode */
#include <stdlib.h>
#include "decode/gputime.h"
#include "tests/unit/expect.h"

#define SLOT 0x20460ffe0ull

static struct {
	uint64_t stretches, bytes, ns;
	uint32_t group;
} got;

static void on_stretch(void *arg, uint32_t group, uint64_t bytes, uint64_t ns)
{
	got.stretches++;
	got.bytes += bytes;
	got.ns += ns;
	got.group = group;
}

static struct nvs_gputime *start(void)
{
	memset(&got, 0, sizeof(got));
	return nvs_gputime_new(on_stretch, NULL);
}

/* Submission N of channel 0, of group 7: releases N + 1; DONE stands in the slot, since NS. */
static struct nvs_gputime_part submit(struct nvs_gputime *g, uint64_t n, uint32_t done, uint64_t ns)
{
	struct nvs_gputime_part p = {.sequence = n, .released = true, .address = SLOT, .payload = (uint32_t)n + 1,
				     .bytes = 1000, .group = 7};

	EXPECT(nvs_gputime_observe(g, 0, n ? SLOT : 0, done, ns) >= 0);
	EXPECT_EQ(nvs_gputime_add(g, &p), 0);
	return p;
}

static void finish(struct nvs_gputime *g, uint64_t stretches, uint64_t bytes, uint64_t ns)
{
	nvs_gputime_free(g);
	EXPECT_EQ(got.stretches, stretches);
	EXPECT_EQ(got.bytes, bytes);
	EXPECT_EQ(got.ns, ns);
}

static void test_queued(void)
{
	struct nvs_gputime *g = start();

	submit(g, 0, 0, 0);
	submit(g, 1, 0, 0);
	submit(g, 2, 0, 0); /* the first is not done yet, and nothing tells since when */
	finish(g, 0, 0, 0);
	g = start();
	submit(g, 0, 0, 0);
	submit(g, 1, 0, 10); /* a release that nobody here has seen */
	submit(g, 2, 1, 500);
	submit(g, 3, 1, 500); /* certain now */
	submit(g, 4, 3, 900);
	submit(g, 5, 3, 900);
	EXPECT_EQ(got.stretches, 0); /* 1 was submitted to a channel that may have been done with 0 */
	submit(g, 6, 5, 1700);
	submit(g, 7, 5, 1700);
	EXPECT_EQ(got.group, 7);
	finish(g, 1, 2000, 800);
}

static void test_idle(void)
{
	struct nvs_gputime *g = start();

	for (uint32_t i = 0; i < 50; i++)
		submit(g, i, i, i * 100); /* each is done before the next one */
	finish(g, 0, 0, 0);
}

/* Payload and time are read one after the other: a time may be that of a later payload. */
static void test_torn(void)
{
	struct nvs_gputime *g = start();

	submit(g, 0, 0, 0);
	submit(g, 1, 1, 100);
	submit(g, 2, 1, 100);
	submit(g, 3, 1, 100);
	submit(g, 4, 2, 250); /* may be the time of 3 */
	submit(g, 5, 3, 250);
	submit(g, 6, 4, 400);
	submit(g, 7, 4, 400);
	finish(g, 0, 0, 0); /* 1 was not queued behind 0 */
	g = start();
	submit(g, 0, 0, 0);
	submit(g, 1, 0, 0);
	submit(g, 2, 1, 100);
	submit(g, 3, 1, 100);
	submit(g, 4, 1, 100);
	submit(g, 5, 2, 300); /* torn: 300 is that of 3 */
	submit(g, 6, 3, 300);
	submit(g, 7, 4, 500);
	submit(g, 8, 4, 500);
	EXPECT_EQ(got.stretches, 0); /* 1 is in it */
	submit(g, 9, 5, 650);
	submit(g, 10, 5, 650);
	finish(g, 1, 1000, 150);
}

static void test_breaks(void)
{
	struct nvs_gputime *g = start();
	struct nvs_gputime_part p = {.released = true, .address = SLOT, .payload = 4, .sequence = 3,
				     .group = NVS_GPUTIME_OTHER};

	/* Something else in between. */
	submit(g, 0, 0, 0);
	submit(g, 1, 0, 0);
	submit(g, 2, 1, 100);
	EXPECT_EQ(nvs_gputime_observe(g, 0, SLOT, 1, 100), 1);
	EXPECT_EQ(nvs_gputime_add(g, &p), 0);
	submit(g, 4, 2, 200);
	submit(g, 5, 2, 200);
	submit(g, 6, 4, 400);
	submit(g, 7, 4, 400);
	finish(g, 0, 0, 0);
	/* A submission is missing between 6 and 8. */
	g = start();
	for (uint64_t i = 0; i < 7; i++)
		submit(g, i, i < 2 ? 0 : (uint32_t)i / 2, i / 2 * 100);
	submit(g, 8, 3, 300);
	submit(g, 9, 4, 400);
	submit(g, 10, 4, 400);
	finish(g, 1, 1000, 100);
	/* Nothing was seen at the eighth: the channel may have been idle before it. */
	for (int blind = 0; blind < 2; blind++) {
		g = start();
		for (uint64_t i = 0; i < 10; i++) {
			struct nvs_gputime_part part = {.sequence = i, .released = true, .address = SLOT,
							.payload = (uint32_t)i + 1, .bytes = 10, .group = 7};
			uint32_t done = i < 2 ? 0 : i < 5 ? 1 : i < 9 ? 3 : 9;

			nvs_gputime_observe(g, 0, blind && i == 7 ? 0 : SLOT, done, done * 100);
			nvs_gputime_add(g, &part);
		}
		finish(g, !blind, blind ? 0 : 60, blind ? 0 : 600);
	}
	/* A clock that stands, or runs back. */
	g = start();
	for (uint64_t i = 0; i < 20; i++)
		submit(g, i, i < 2 ? 0 : (uint32_t)i / 2, 500);
	finish(g, 0, 0, 0);
	g = start();
	for (uint64_t i = 0; i < 20; i++)
		submit(g, i, i < 2 ? 0 : (uint32_t)i / 2, 5000 - i / 2);
	finish(g, 0, 0, 0);
}

static void test_settle(void)
{
	struct nvs_gputime *g = start();

	for (uint64_t i = 0; i < 12; i++) {
		struct nvs_gputime_part p = {.sequence = i, .released = true, .address = SLOT,
					     .payload = (uint32_t)i + 1, .bytes = 10, .owned = true, .thread = 3,
					     .number = i / 4};

		nvs_gputime_observe(g, 0, SLOT, i < 2 ? 0 : (uint32_t)i / 2, i / 2 * 100);
		nvs_gputime_add(g, &p);
	}
	EXPECT_EQ(got.stretches, 0);
	nvs_gputime_settle(g, 3, 1, 9);
	nvs_gputime_settle(g, 2, 0, 9); /* another thread's */
	EXPECT_EQ(got.stretches, 0);
	nvs_gputime_settle(g, 3, 0, 8);
	EXPECT_EQ(got.stretches, 4 - 1);
	EXPECT_EQ(got.group, 9);
	finish(g, 3, 30, 300);
}

/* ---- a queue that works one thing at a time ---- */

static uint64_t state;

static uint64_t dice(uint64_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % n;
}

#define N 200000

static void test_queue(uint64_t seed)
{
	static uint64_t end[N + 1], work[N + 1];
	struct nvs_gputime *g = start();
	uint64_t now = 1000000, busy = 0;
	uint32_t done = 0;

	state = seed;
	for (uint32_t i = 0; i < N; i++) {
		uint64_t gap = dice(10) ? 20 + dice(100) : dice(3000);
		uint32_t torn;

		now += gap;
		while (done < i && end[done] <= now)
			done++;
		torn = done;
		/* Between the two loads the next one may come to its end. */
		if (!dice(4) && torn < i && end[torn] <= now + 20)
			torn++;
		work[i] = 20 + dice(120);
		end[i] = (i && end[i - 1] > now ? end[i - 1] : now) + work[i];
		busy += work[i];
		nvs_gputime_observe(g, 0, SLOT, done, torn ? end[torn - 1] : 0);
		nvs_gputime_add(g, &(struct nvs_gputime_part){.sequence = i, .released = true, .address = SLOT,
							      .payload = i + 1, .bytes = work[i], .group = 1});
	}
	nvs_gputime_free(g);
	printf("seed %llu: %llu stretches, %llu of %llu ns of work\n", (unsigned long long)seed,
	       (unsigned long long)got.stretches, (unsigned long long)got.bytes, (unsigned long long)busy);
	/* A byte took a nanosecond, and no stretch had the queue run dry. */
	EXPECT(got.stretches > 1000);
	EXPECT_EQ(got.bytes, got.ns);
}

/*
 * A channel that is idle before each burst. The GPU's clock is ahead by years and gains on the host's, or loses;
 * submissions are seen a little late, and releases some time after they were done.
 */
static void test_clocks(uint64_t seed, int64_t gain)
{
	struct nvs_gputime *g = start();
	uint64_t host = 1000000, work = 0, last = 0;
	uint32_t n = 0;

	state = seed;
	for (uint32_t burst = 0; burst < 2000; burst++) {
		uint64_t end = 0;

		/* Each second one is a single short thing, which tells how the clocks stand. */
		for (uint32_t i = 0; i < (burst % 2 ? 40 : 1); i++) {
			uint64_t took = burst % 2 ? 3000 + dice(3000) : 1000, began = host;

			nvs_gputime_observe(g, 0, SLOT, i ? n - i : n, last);
			/* The call ends, and with it the doubt of when that was seen. */
			host += 200 + dice(300);
			if (!i && last)
				nvs_gputime_clock(g, 0, host, last);
			nvs_gputime_add(g, &(struct nvs_gputime_part){.sequence = n, .released = true, .address = SLOT,
								      .payload = n + 1, .bytes = took, .host = began,
								      .group = burst % 2});
			n++;
			end = (i ? end : host) + took;
			work += burst % 2 ? took : 0;
		}
		last = end + (uint64_t)((int64_t)end / 100000 * gain) + 1700000000000000000ull;
		host = end + 500 + dice(100000);
	}
	nvs_gputime_free(g);
	printf("seed %llu: %llu of %llu ns of work told as %llu\n", (unsigned long long)seed,
	       (unsigned long long)got.bytes, (unsigned long long)work, (unsigned long long)got.ns);
	EXPECT(got.bytes > work / 2 && got.bytes <= work);
	/* Never less than it took, but for what the clocks differ by, and at most a tenth more. */
	EXPECT(got.ns + got.ns / 5000 >= got.bytes && got.ns < got.bytes + got.bytes / 9);
}

static void add(struct nvs_gputime *g, uint32_t n, uint32_t done, uint64_t ns, bool waits, bool idle, uint32_t group)
{
	nvs_gputime_observe(g, 0, SLOT, done, ns);
	nvs_gputime_add(g, &(struct nvs_gputime_part){.sequence = n, .released = true, .address = SLOT,
						      .payload = n + 1, .bytes = idle ? 0 : 100, .waits = waits,
						      .idle = idle, .group = group});
}

/* Releases alone may stand in a stretch, of whomever they are; what waits may not. */
static void test_waits(void)
{
	for (int waits = 0; waits < 2; waits++) {
		struct nvs_gputime *g = start();

		add(g, 0, 0, 0, false, false, 1);
		add(g, 1, 1, 1000, false, false, 1);
		add(g, 2, 1, 1000, false, false, 1);
		add(g, 3, 2, 2000, waits, false, 1);
		add(g, 4, 2, 2000, false, true, NVS_GPUTIME_OTHER);
		add(g, 5, 3, 2500, false, true, NVS_GPUTIME_OTHER);
		add(g, 6, 3, 2500, false, true, NVS_GPUTIME_OTHER);
		add(g, 7, 6, 4000, false, true, NVS_GPUTIME_OTHER);
		add(g, 8, 6, 4000, false, true, NVS_GPUTIME_OTHER);
		/* 2 by itself; 3, 4 and 5 together. */
		finish(g, waits ? 1 : 2, waits ? 100 : 200, waits ? 500 : 2000);
		EXPECT_EQ(got.group, 1);
	}
}

/* A channel whose slot cannot be read, and numbers that lie. */
static void test_bounds(void)
{
	struct nvs_gputime *g = start();

	for (uint64_t i = 0; i < 300000; i++) {
		struct nvs_gputime_part p = {.sequence = i, .owned = true, .number = i};

		nvs_gputime_observe(g, 0, 0, 0, 0);
		nvs_gputime_add(g, &p);
		nvs_gputime_settle(g, 0, i, 1);
	}
	EXPECT_EQ(nvs_gputime_observe(g, 0xfffffff0, SLOT, 1, 1), 0);
	EXPECT_EQ(nvs_gputime_add(g, &(struct nvs_gputime_part){.channel = 0xfffffff0}), 0);
	finish(g, 0, 0, 0);
}

int main(void)
{
	test_queued();
	test_idle();
	test_torn();
	test_breaks();
	test_settle();
	for (uint64_t seed = 1; seed < 6; seed++)
		test_queue(seed);
	for (uint64_t seed = 1; seed < 4; seed++)
		for (int64_t gain = -5; gain <= 5; gain += 5)
			test_clocks(seed, gain);
	test_waits();
	test_bounds();
	return expect_done();
}
