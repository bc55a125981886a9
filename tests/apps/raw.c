/* SPDX-License-Identifier: MIT */
/*
 * raw CASE [N]: submissions that the CUDA API does not make. Software GPU only.
 *   wrap      a ring of 16 entries wraps N times, and so does the pushbuffer
 *   entries   1 to 40 entries per doorbell, across the end of the ring, with control entries
 *   big       segments of 8 MiB - 4
 *   empty     doorbells without new entries
 *   channels  channels created and freed N times, with reused tokens and addresses
 *   mappings  usermode objects and their mappings created, used and freed N times
 *   memory    memory mapped and freed N times, with segments in it; every other time above 40 bits
 *   twogpus   the same tokens on two GPUs, two threads
 *   fourgpus  the same tokens on four GPUs; one is opened late, one is closed and opened again
 *   contexts  contexts created and destroyed N times
 *   moved     mappings of rings moved, cut and protected, N channels
 *   twice     rings and USERDs written through a second mapping, N channels
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

static uint32_t seed = 12345;

static uint32_t rnd(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static void check_count(struct softgpu_channel *ch, uint32_t n)
{
	EXPECT(!softgpu_wait(ch, softgpu_payload(ch)), "channel died");
	EXPECT(softgpu_counted(ch) == n, "%u counted of %u", softgpu_counted(ch), n);
}

static void wrap(uint32_t n)
{
	struct softgpu_channel *ch = softgpu_channel_create(false, 16, true);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n * 16; i++) {
		if (i % 3)
			count = softgpu_submit_count(ch);
		else
			EXPECT(softgpu_submit_nop(ch, 8 + rnd() % 3000, i), "no room");
	}
	check_count(ch, count);
	softgpu_channel_destroy(ch);
}

/* Segments of host NOPs; now and then control entries between them, which need no segment. */
static void entries(uint32_t n)
{
	struct softgpu_channel *ch[2] = {softgpu_channel_create(false, 64, false),
					 softgpu_channel_at(2)};
	static uint32_t text[40][64];
	uint32_t total[2] = {0};

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *words[40];
		uint32_t dwords[40], k = 1 + rnd() % 40, c = i & 1;

		for (uint32_t j = 0; j < k; j++) {
			dwords[j] = 1 + rnd() % 60;
			words[j] = text[j];
			text[j][0] = 3u << 29 | (dwords[j] - 1) << 16 | 8 >> 2;
			for (uint32_t w = 1; w < dwords[j]; w++)
				text[j][w] = i << 16 | j << 8 | w;
		}
		EXPECT(softgpu_submit(ch[c], k, words, dwords), "not submitted");
		if (i % 7 == 0) {
			/* NOP, SET_PB_SEGMENT_EXTENDED_BASE 0, NOP */
			uint64_t control[3] = {0, 4ull << 32, 1ull << 41};

			softgpu_submit_entries(ch[c], 1 + i % 3, control);
		}
		total[c] = softgpu_submit_count(ch[c]);
	}
	check_count(ch[0], total[0]);
	check_count(ch[1], total[1]);
	softgpu_channel_destroy(ch[0]);
}

static void big(uint32_t n)
{
	struct softgpu_channel *ch = softgpu_channel_at(1);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		EXPECT(softgpu_submit_nop(ch, 0x1fffff - i, i), "not submitted");
		EXPECT(softgpu_submit_nop(ch, 200000 + i, i), "not submitted");
		count = softgpu_submit_count(ch);
	}
	check_count(ch, count);
}

static void empty(uint32_t n)
{
	struct softgpu_channel *ch = softgpu_channel_at(3);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		softgpu_ring(ch);
		count = softgpu_submit_count(ch);
		softgpu_ring(ch);
		softgpu_ring(ch);
	}
	check_count(ch, count);
}

static void channels(uint32_t n)
{
	struct softgpu_channel *kept = softgpu_channel_create(true, 0, true);

	for (uint32_t i = 0; i < n; i++) {
		struct softgpu_channel *ch[3];
		uint32_t count[3] = {0};

		for (uint32_t c = 0; c < 3; c++) {
			ch[c] = softgpu_channel_create(c == 1, 32 << c, c != 2);
			EXPECT(ch[c], "channel %u of round %u", c, i);
		}
		for (uint32_t k = 0; k < 20; k++)
			for (uint32_t c = 0; c < 3; c++)
				count[c] = softgpu_submit_count(ch[c]);
		softgpu_submit_count(kept);
		for (uint32_t c = 0; c < 3; c++) {
			check_count(ch[c], count[c]);
			softgpu_channel_destroy(ch[c]);
		}
	}
	check_count(kept, n);
	softgpu_channel_destroy(kept);
}

static void mappings(uint32_t n)
{
	struct softgpu_channel *ch = softgpu_channel_at(4);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		volatile uint32_t *a = softgpu_map_doorbell(i & 1, true), *b;

		EXPECT(a, "mapping of round %u", i);
		count = softgpu_submit_count(ch);
		b = softgpu_map_doorbell(!(i & 1), true);
		count = softgpu_submit_count(ch);
		check_count(ch, count);
		softgpu_unmap_doorbell(b);
		count = softgpu_submit_count(ch);
		check_count(ch, count);
		softgpu_unmap_doorbell(a);
	}
	check_count(ch, count);
}

static void memory(uint32_t n)
{
	struct softgpu_channel *ch = softgpu_channel_at(5);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t *p = softgpu_alloc(0x200000, i & 1), words = 1000 + rnd() % 1000;
		uint64_t entry[3];

		EXPECT(p, "memory of round %u", i);
		p += rnd() % 1000;
		p[0] = 3u << 29 | (words - 1) << 16 | 8 >> 2;
		for (uint32_t w = 1; w < words; w++)
			p[w] = i * 3 + w;
		/* SET_PB_SEGMENT_EXTENDED_BASE, the segment, and back to 0 */
		entry[0] = 4ull << 32 | (uint64_t)p >> 40 << 8;
		entry[1] = ((uint64_t)p & 0xfffffffffc) | 1ull << 41 | (uint64_t)words << 42;
		entry[2] = 4ull << 32;
		if (i & 1)
			softgpu_submit_entries(ch, 3, entry);
		else
			softgpu_submit_entries(ch, 1, entry + 1);
		count = softgpu_submit_count(ch);
		check_count(ch, count);
		softgpu_free((void *)((uint64_t)p & ~0x1fffffull));
	}
	check_count(ch, count);
}

struct gpu {
	int ordinal;
	uint32_t n, token, gpu;
};

static void *on_gpu(void *arg)
{
	struct gpu *g = arg;
	struct softgpu_channel_info info;
	struct softgpu_channel *ch;
	uint32_t count = 0;

	app_context(g->ordinal);
	ch = softgpu_channel_at(0);
	softgpu_channel_info(ch, &info);
	g->token = info.token;
	g->gpu = info.gpu;
	for (uint32_t i = 0; i < g->n; i++)
		count = softgpu_submit_count(ch);
	check_count(ch, count);
	return NULL;
}

static void twogpus(uint32_t n)
{
	struct gpu g[2] = {{0, n, 0, 0}, {1, n, 0, 0}};
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, on_gpu, &g[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	EXPECT(g[0].token == g[1].token && g[0].gpu != g[1].gpu, "tokens %x %x of GPUs %u %u",
	       g[0].token, g[1].token, g[0].gpu, g[1].gpu);
}

/* A turn of one GPU: a context of its own, N submissions, and all of it given back. */
static void *turn_on_gpu(void *arg)
{
	struct gpu *g = arg;
	struct softgpu_channel_info info;
	struct softgpu_channel *ch;
	CUdevice d;
	CUcontext c;
	uint32_t count = 0;

	CK(cuDeviceGet(&d, g->ordinal));
	CK(cuCtxCreate_v2(&c, 0, d));
	ch = softgpu_channel_at(0);
	softgpu_channel_info(ch, &info);
	g->token = info.token;
	g->gpu = info.gpu;
	for (uint32_t i = 0; i < g->n; i++)
		count = softgpu_submit_count(ch);
	check_count(ch, count);
	CK(cuCtxDestroy_v2(c));
	return NULL;
}

/* GPU 3 comes when the others have been at work, GPU 2 is gone meanwhile; each submits a number of
 * its own. */
static void fourgpus(uint32_t n)
{
	struct gpu g[4];
	pthread_t t[4];
	uint32_t same = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 4; i++) {
			bool there = i < 2 || (i == 2 ? round != 1 : round != 0);

			g[i] = (struct gpu){i, n * (uint32_t)(i + 1) / 4 + 1, 0, 0};
			if (there)
				pthread_create(&t[i], NULL, turn_on_gpu, &g[i]);
			else
				t[i] = 0;
		}
		for (int i = 0; i < 4; i++)
			if (t[i])
				pthread_join(t[i], NULL);
		same += g[1].token == g[2 + (round == 1)].token;
	}
	EXPECT(same == 3, "GPUs with a context each had other tokens");
}

static void contexts(uint32_t n)
{
	CUdevice d;

	CK(cuDeviceGet(&d, 0));
	for (uint32_t i = 0; i < n; i++) {
		CUcontext c;
		uint32_t k = 0;

		CK(cuCtxCreate_v2(&c, 0, d));
		for (int j = 0; j < 50; j++)
			k = softgpu_submit_count(softgpu_channel_at(i % 20));
		check_count(softgpu_channel_at(i % 20), k);
		CK(cuCtxDestroy_v2(c));
	}
}

static void count_on(struct softgpu_channel *ch, uint32_t n)
{
	uint32_t count = 0;

	while (n--)
		count = softgpu_submit_count(ch);
	check_count(ch, count);
}

/* Of the object that holds both: they lie in its first pages. */
static char *rings_page(struct softgpu_channel *ch)
{
	struct softgpu_channel_info info;
	uintptr_t ring, userd;

	softgpu_channel_info(ch, &info);
	ring = (uintptr_t)info.ring & ~4095ul;
	userd = (uintptr_t)info.userd & ~4095ul;
	return (char *)(userd < ring && ring - userd < 0x10000 ? userd : ring);
}

static void moved(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct softgpu_channel *ch = softgpu_channel_create(i & 1, 0, true);
		size_t size = i % 3 == 1 ? 0x1000 : 0x4000;
		char *page = rings_page(ch);

		count_on(ch, 3);
		if (i % 3 == 2) {
			EXPECT(softgpu_channel_map_again(ch, true), "not moved");
		} else {
			EXPECT(!mprotect(page, size, i & 1 ? PROT_NONE : PROT_READ), "mprotect");
			EXPECT(!mprotect(page, size, PROT_READ | PROT_WRITE), "mprotect");
		}
		count_on(ch, 40);
		softgpu_channel_destroy(ch);
	}
}

static void two(uint32_t n)
{
	struct softgpu_channel *ch[2] = {softgpu_channel_create(false, 0, true),
					 softgpu_channel_create(true, 0, true)};

	for (uint32_t i = 0; i < n; i++)
		count_on(ch[i & 1], 3);
	softgpu_channel_destroy(ch[0]);
	softgpu_channel_destroy(ch[1]);
}

static void twice(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct softgpu_channel *ch = softgpu_channel_create(i & 1, 0, true);

		count_on(ch, 3);
		EXPECT(softgpu_channel_map_again(ch, false), "no second mapping");
		count_on(ch, 40);
		softgpu_channel_destroy(ch);
	}
}

static const struct {
	const char *name;
	void (*run)(uint32_t n);
	uint32_t n;
} cases[] = {{"wrap", wrap, 500},
	     {"entries", entries, 500},
	     {"big", big, 3},
	     {"empty", empty, 300},
	     {"channels", channels, 30},
	     {"mappings", mappings, 30},
	     {"two", two, 20},
	     {"memory", memory, 100},
	     {"twogpus", twogpus, 2000},
	     {"fourgpus", fourgpus, 2000},
	     {"contexts", contexts, 6},
	     {"moved", moved, 12},
	     {"twice", twice, 6}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		app_context(0);
		cases[i].run(argc > 2 ? (uint32_t)atoi(argv[2]) : cases[i].n);
		printf("raw %s ok\n", argv[1]);
		return 0;
	}
	fprintf(stderr, "usage: raw CASE [N]\n");
	return 2;
}
