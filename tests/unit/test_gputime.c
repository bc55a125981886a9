/* SPDX-License-Identifier: MIT */
/*
 * Stretches of GPU time: told where the channel had work all along and the times are certain, and
 * nowhere else. At last against GPUs made up of a queue, whose own times are known: what is told
 * has to be within 2.5 % of the truth, whatever the host does meanwhile.
 */
/* LINK: decode */
#include <stdlib.h>
#include "decode/calls/gputime.h"
#include "tests/unit/expect.h"

#define SLOT 0x20460ffe0ull
#define EVENT 0x20480ff70ull
#define US 1000ull

static struct {
	uint64_t told, bytes, ns;
	uint32_t group;
	uint64_t wrong; /* told, and not within 2.5 % of a nanosecond a byte */
} got;

static void on_found(void *arg, uint32_t group, uint64_t bytes, uint64_t ns)
{
	uint64_t off = ns > bytes ? ns - bytes : bytes - ns;

	got.told++;
	got.bytes += bytes;
	got.ns += ns;
	got.group = group;
	got.wrong += off > bytes / 38;
}

static struct nvs_gputime *start(void)
{
	memset(&got, 0, sizeof(got));
	return nvs_gputime_new(on_found, NULL);
}

static void finish(struct nvs_gputime *g, uint64_t told, uint64_t bytes, uint64_t ns)
{
	nvs_gputime_end(g);
	nvs_gputime_free(g);
	EXPECT_EQ(got.told, told);
	EXPECT_EQ(got.bytes, bytes);
	EXPECT_EQ(got.ns, ns);
}

/* ---- by hand: ten microseconds of the host's from one submission to the next ---- */

/* Submission N, of group 7: releases N + 1; DONE stands in the slot, since US. */
static struct nvs_gputime_part part(uint64_t n, uint32_t done, uint64_t us)
{
	return (struct nvs_gputime_part){.engine = 3,
					 .sequence = n,
					 .host = US * 10 * (n + 1),
					 .nreleases = 1,
					 .releases[0] = {SLOT, (uint32_t)n + 1},
					 .bytes = 1000,
					 .group = 7,
					 .seen = {n ? SLOT : 0, us * US, done}};
}

static int submit(struct nvs_gputime *g, uint64_t n, uint32_t done, uint64_t us)
{
	struct nvs_gputime_part p = part(n, done, us);

	return nvs_gputime_add(g, &p);
}

/* What is seen at each submission, in turn. */
static const struct look {
	uint32_t done;
	uint64_t us;
} looks[] = {{0, 0},   {0, 0},	 {0, 0},   {0, 0},   {1, 100}, {1, 100},
	     {2, 200}, {2, 200}, {4, 400}, {4, 400}, {6, 600}, {6, 600}};

#define LOOKS (sizeof(looks) / sizeof(*looks))

static void test_queued(void)
{
	struct nvs_gputime *g = start();

	for (uint32_t i = 0; i < LOOKS; i++)
		EXPECT_EQ(submit(g, i, looks[i].done, looks[i].us), i > 4 && i % 2);
	EXPECT_EQ(got.told, 0); /* more may come */
	finish(g, 1, 5000, 500 * US);
	EXPECT_EQ(got.group, 7);
	/* A time that is not seen twice may be that of a later payload. */
	g = start();
	for (uint32_t i = 0; i < LOOKS; i++)
		EXPECT_EQ(submit(g, i, looks[i].done, looks[i].us + i), 0);
	finish(g, 0, 0, 0);
}

/* One way each in which it is not known that the channel had work all along. */
static void test_breaks(void)
{
	enum { WHOLE, BLIND, OTHER_GROUP, WAITS, LOST, CLOCK_STANDS, CLOCK_BACK, KINDS };

	for (int kind = WHOLE; kind < KINDS; kind++) {
		struct nvs_gputime *g = start();

		for (uint32_t i = 0; i < LOOKS; i++) {
			struct nvs_gputime_part p = part(i, looks[i].done, looks[i].us);

			if (kind == BLIND && i > 1 && i < 10)
				p.seen.address = EVENT;
			if (kind == OTHER_GROUP && i == 3)
				p.group = NVS_GPUTIME_OTHER;
			if (kind == WAITS && i == 3)
				p.waits = true;
			if (kind == LOST && i >= 8)
				p.sequence++;
			if (kind == CLOCK_STANDS)
				p.seen.ns = p.seen.ns ? 100 * US : 0;
			if (kind == CLOCK_BACK)
				p.seen.ns = p.seen.ns ? 1000 * US - p.seen.ns : 0;
			nvs_gputime_add(g, &p);
		}
		if (kind == WHOLE)
			finish(g, 1, 5000, 500 * US);
		else if (kind == OTHER_GROUP || kind == WAITS) /* 1 by itself, and 4 and 5 */
			finish(g, 2, 3000, 300 * US);
		else if (kind == LOST)
			finish(g, 1, 1000, 100 * US);
		else
			finish(g, 0, 0, 0);
	}
}

static void test_idle(void)
{
	struct nvs_gputime *g = start();

	/* Each is done before the next one, and nothing tells how the clocks stand. */
	for (uint32_t i = 0; i < 50; i++)
		submit(g, i, i, i * 10);
	finish(g, 0, 0, 0);
	/* Only the one before was under way when it was rung: it may have been done since. */
	g = start();
	for (uint32_t i = 0; i < 50; i++)
		submit(g, i, i ? i - 1 : 0, i * 10);
	finish(g, 0, 0, 0);
}

/* Whose it is may be told late. */
static void test_settle(void)
{
	struct nvs_gputime *g = start();

	for (uint32_t i = 0; i < LOOKS; i++) {
		struct nvs_gputime_part p = part(i, looks[i].done, looks[i].us);

		p.owned = true;
		p.thread = 3;
		p.number = i / 2;
		nvs_gputime_add(g, &p);
	}
	nvs_gputime_settle(g, 3, 1, 9, 0);
	nvs_gputime_settle(g, 2, 0, 9, 0); /* another thread's */
	nvs_gputime_settle(g, 3, 2, 9, 0);
	nvs_gputime_settle(g, 3, 0, 8, 0);
	/* 1 is of 8; 2 to 5 are of 9, but nothing tells where 2 and 3 end beside each other. */
	EXPECT_EQ(got.told, 1);
	EXPECT_EQ(got.group, 8);
	finish(g, 2, 5000, 500 * US);
	EXPECT_EQ(got.group, 9);
}

/* Releases alone may stand in a stretch, of whomever they are. */
static void test_releases(void)
{
	struct nvs_gputime *g = start();

	for (uint32_t i = 0; i < LOOKS; i++) {
		struct nvs_gputime_part p = part(i, looks[i].done, looks[i].us);

		if (i == 3 || i == 5) {
			p.idle = true;
			p.bytes = 0;
			p.group = NVS_GPUTIME_OTHER;
		}
		nvs_gputime_add(g, &p);
	}
	finish(g, 1, 3000, 500 * US);
}

/* A slot that does not count up may hold anybody's times. */
static void test_constant(void)
{
	for (uint32_t step = 0; step < 3; step++) {
		struct nvs_gputime *g = start();

		for (uint32_t i = 0; i < LOOKS; i++) {
			struct nvs_gputime_part p = part(i + 5, looks[i].done * step, looks[i].us);

			p.releases[0].payload = (i + 1) * step;
			EXPECT_EQ(nvs_gputime_add(g, &p), step == 1 && i > 6 && i % 2);
		}
		/* The first release is not known to have been the channel's. */
		finish(g, step == 1, step == 1 ? 4000 : 0, step == 1 ? 400 * US : 0);
	}
}

/* A channel whose slot cannot be read, and numbers that lie. */
static void test_bounds(void)
{
	struct nvs_gputime *g = start();
	struct nvs_gputime_part p;

	for (uint64_t i = 0; i < 300000; i++) {
		p = (struct nvs_gputime_part){
			.sequence = i, .host = i + 1, .owned = true, .number = i};
		nvs_gputime_add(g, &p);
		nvs_gputime_settle(g, 0, i, 1, i);
	}
	EXPECT_EQ(nvs_gputime_add(g, &(struct nvs_gputime_part){.channel = 0xfffffff0}), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		p = part(i, i * 0x10001, UINT64_MAX / (i + 1) / US);
		p.channel = 1;
		p.host = i % 7 ? UINT64_MAX - 1000 + i : 0;
		p.gpu = p.engine = i % 3 ? 1 : UINT32_MAX;
		nvs_gputime_add(g, &p);
		nvs_gputime_clock(g, 1, UINT64_MAX - i, i);
	}
	finish(g, 0, 0, 0);
}

/* ---- a queue that works one thing at a time ---- */

/* ---- what a submission took at most ---- */

#define GRIDS 6

static uint64_t most[GRIDS]; /* ns, by submission; 0: not told */

static void on_most(void *arg, uint32_t channel, uint64_t sequence, uint64_t ns)
{
	EXPECT(sequence < GRIDS && !most[sequence]);
	most[sequence] = ns;
}

/*
 * Submissions are passed at 50, 100, 210, 400 and 500 us. The grid of the one at 210 us runs on:
 * the next one tells of its end if it acquires what it releases, and else nothing does.
 */
static void test_grid(void)
{
	static const uint64_t since[GRIDS] = {0, 50, 100, 210, 400, 500};

	for (int acquires = 0; acquires < 2; acquires++) {
		const uint64_t us[GRIDS] = {0, 50, acquires ? 300 : 0, 190, 100, 0};
		struct nvs_gputime *g = start();

		memset(most, 0, sizeof(most));
		nvs_gputime_watch(g, on_most);
		for (uint64_t n = 0; n < GRIDS; n++) {
			struct nvs_gputime_part p = part(n, (uint32_t)n, since[n]);

			p.host = US * 1000 * (n + 1);
			p.grid = n == 2 ? EVENT : 0;
			p.awaits = n == 3 && acquires ? EVENT : 0;
			EXPECT(nvs_gputime_add(g, &p) >= 0);
		}
		nvs_gputime_end(g);
		nvs_gputime_free(g);
		for (uint64_t n = 0; n < GRIDS; n++)
			EXPECT_EQ(most[n], us[n] ? us[n] * US + 1024 : 0);
	}
}

static uint64_t state;

static uint64_t dice(uint64_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % n;
}

struct way {
	const char *name;
	uint64_t work; /* ns each, about */
	uint64_t call; /* ns of the host's from one doorbell to the next, about */
	uint64_t pause; /* and more than that now and then, at most */
	uint64_t late; /* ns until the first of a burst comes to its doorbell, at most */
	uint64_t stall; /* ns that the host stops now and then between looking and ringing, at most
			 */
	uint64_t step; /* of the GPU's clock */
	int64_t gain; /* of the GPU's clock on the host's, of 100000 */
	bool events; /* some release another slot beside the channel's, always of 0 */
	bool silent; /* some release nothing */
	bool others; /* another channel of the engine has work, and is in the way */
	bool once; /* it had some, long ago, and nothing tells that it was done */
	bool often; /* surely told */
};

static const struct way ways[] = {
	{"256 KiB", 7000, 1500, 0, 500, 0, 32, 0, .often = true},
	{"256 KiB, late", 7000, 1500, 0, 100000, 0, 32, 0, .often = true},
	{"256 KiB, stalls", 7000, 1500, 0, 500, 250000, 32, 3, .often = true},
	{"256 KiB, coarse clock", 7000, 1500, 0, 20000, 0, 1024, -3, .often = true},
	{"256 KiB, events", 7000, 1500, 0, 20000, 0, 32, 0, .events = true, .often = true},
	{"256 KiB, silent", 7000, 1500, 0, 20000, 100000, 32, 0, .silent = true, .often = true},
	{"as fast as the host", 7000, 6500, 0, 20000, 0, 32, 0},
	{"nearly dry", 12000, 400, 48000, 20000, 0, 32, 0},
	{"slower than the host", 1000, 1500, 0, 20000, 0, 32, 0},
	{"1 MiB, late", 20000, 1500, 0, 300000, 0, 32, -5, .often = true},
	{"1 MiB, stalls", 20000, 1500, 0, 500, 400000, 1000, 5, .events = true, .often = true},
	{"64 MiB", 1200000, 1500, 0, 20000, 0, 32, 5, .often = true},
	{"64 MiB, late", 1200000, 1500, 0, 30000000, 0, 32, 5, .often = true},
	{"64 MiB, stalls", 1200000, 1500, 0, 500, 30000000, 1024, 5, .events = true,
	 .silent = true},
	{"others in the way", 20000, 1500, 0, 20000, 0, 32, 0, .others = true},
	{"another before", 20000, 1500, 0, 20000, 0, 32, 0, .once = true, .often = true},
};

#define BURST 43
#define DEPTH 64

struct sim {
	struct nvs_gputime *g;
	const struct way *way;
	uint64_t host, end[2]; /* of the latest of each channel */
	uint64_t ends[DEPTH]; /* by payload */
	uint32_t n, payload,
		done; /* submissions; payload of the last one, and the one that is there */
	uint64_t told; /* GPU's time of the latest release that was certain, for the clocks */
	bool event; /* the one before released it */
	uint64_t work;
};

static uint64_t gpu_time(const struct sim *s, uint64_t host)
{
	uint64_t ns = host + (uint64_t)((int64_t)(host / 100000) * s->way->gain) +
		      1700000000000000000ull;

	return ns - ns % s->way->step;
}

static void one(struct sim *s, uint64_t work, bool first)
{
	const struct way *w = s->way;
	uint64_t rung, from, look;
	struct nvs_gputime_part p = {.engine = 3,
				     .sequence = s->n,
				     .host = s->host,
				     .bytes = work,
				     .group = work > 900,
				     .owned = true,
				     .number = s->n};
	bool silent = w->silent && s->n && !dice(6);
	int certain;

	if (first && w->late)
		p.host = s->host += dice(w->late);
	look = s->host + dice(200);
	while (s->done < s->payload && s->ends[(s->done + 1) % DEPTH] <= look)
		s->done++;
	p.seen.address = s->event ? EVENT : SLOT;
	p.seen.payload = s->event ? 0 : s->done;
	p.seen.ns = s->done ? gpu_time(s, s->ends[s->done % DEPTH]) : 0;
	/* Between the two loads the next one may come to its end. */
	if (!dice(8) && s->done < s->payload && s->ends[(s->done + 1) % DEPTH] <= look + 500)
		p.seen.ns = gpu_time(s, s->ends[(s->done + 1) % DEPTH]);
	/* An event's slot may hold what another channel left there. */
	if (s->event && dice(2))
		p.seen.ns -= dice(1000000);
	s->event = w->events && !dice(5);
	/* In this order or that. */
	if (s->event && dice(2))
		p.releases[p.nreleases++].address = EVENT;
	if (!silent) {
		p.releases[p.nreleases].address = SLOT;
		p.releases[p.nreleases++].payload = s->payload + 1;
	}
	if (s->event && p.nreleases < 2)
		p.releases[p.nreleases++].address = EVENT;
	rung = look + 100 + dice(200) + (w->stall && !dice(30) ? dice(w->stall) : 0);
	from = rung + 1000 + dice(3000);
	if (w->others && first)
		s->end[1] += 10 * work;
	if (from < s->end[0])
		from = s->end[0];
	if (from < s->end[1])
		from = s->end[1];
	certain = nvs_gputime_add(s->g, &p);
	EXPECT(certain >= 0);
	if (certain)
		s->told = p.seen.ns;
	s->n++;
	s->end[0] = from + work;
	if (!silent)
		s->ends[++s->payload % DEPTH] = s->end[0];
	s->work += work > 900 ? work : 0;
	/* The call ends, and with it the doubt of when that was seen. */
	s->host = rung + w->call / 2 + dice(w->call / 2);
	if (s->told)
		nvs_gputime_clock(s->g, 0, s->host, s->told);
	s->told = 0;
	nvs_gputime_settle(s->g, 0, p.number, p.group, s->host);
	s->host += dice(w->call / 2) + (w->pause && dice(2) ? dice(w->pause) : 0);
}

static void test_way(const struct way *w, uint64_t seed)
{
	struct sim s = {.g = start(), .way = w, .host = 1000000};

	state = seed;
	for (uint32_t burst = 0; burst < 200; burst++) {
		/* Short things one by one tell how the clocks stand. */
		for (int i = 0; i < 3; i++) {
			one(&s, 900, false);
			s.host += 2 * US;
		}
		s.host = s.end[0] + US + dice(100 * US);
		if (w->others || (w->once && !burst)) {
			struct nvs_gputime_part p = {.channel = 1,
						     .engine = 3,
						     .sequence = burst,
						     .host = s.host,
						     .load = 1000,
						     .group = NVS_GPUTIME_OTHER};

			nvs_gputime_add(s.g, &p);
			s.end[1] = s.host;
		}
		for (int i = 0; i < BURST; i++)
			one(&s, w->work - w->work / 8 + dice(w->work / 4), !i);
		s.host = s.end[0] + US + dice(100 * US);
	}
	nvs_gputime_end(s.g);
	nvs_gputime_free(s.g);
	printf("%s, seed %llu: %llu told, %llu wrong: %llu of %llu ns of work told as %llu\n",
	       w->name, (unsigned long long)seed, (unsigned long long)got.told,
	       (unsigned long long)got.wrong, (unsigned long long)got.bytes,
	       (unsigned long long)s.work, (unsigned long long)got.ns);
	EXPECT_EQ(got.wrong, 0);
	EXPECT(!w->often || got.bytes > s.work / 3);
}

int main(void)
{
	test_queued();
	test_breaks();
	test_idle();
	test_settle();
	test_releases();
	test_constant();
	test_bounds();
	test_grid();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		for (uint64_t seed = 1; seed < 4; seed++)
			test_way(ways + i, seed);
	return expect_done();
}
