/* SPDX-License-Identifier: MIT */
/* LINK: decode/query/nvtx_ranges.o decode/query/nvtx_names.o decode/base/keyed_rows.o */
/* LINK: decode/query/durations.o decode/cli/pattern.o decode */
/*
 * NVTX ranges as the reader follows them, from hand-made records: lost ends, a forked process,
 * threads that are known late, ends without a begin, queries for an earlier time, and numbers
 * chosen by an attacker.
 */
#include <stdlib.h>
#include "decode/query/nvtx_ranges.h"
#include "tests/unit/expect.h"

enum { PUSH = NVS_NVTX_PUSHED | NVS_NVTX_DEPTH };

static struct nvs_query query;
static struct nvs_nvtx *n;
static uint64_t now;

static void restart(void)
{
	nvs_nvtx_free(n);
	n = nvs_nvtx_new(&query);
	now = 1000;
}

struct event {
	struct nvs_rec_nvtx rec;
	char text[64];
};

static int feed(const void *rec)
{
	return nvs_nvtx_record(n, rec);
}

static struct event event(uint32_t type, uint32_t flags, uint32_t thread, uint32_t domain,
			  uint64_t id, const char *text)
{
	struct event e = {.rec = {.rec = {.type = (uint16_t)type,
					  .flags = (uint16_t)flags,
					  .size = sizeof(e),
					  .time = now += 10},
				  .thread = thread,
				  .domain = domain,
				  .id = id,
				  .length = sizeof(e.text)}};

	strcpy(e.text, text);
	return e;
}

static void begins(uint32_t flags, uint32_t thread, uint32_t domain, uint64_t id, const char *text)
{
	struct event e = event(NVS_REC_NVTX_BEGIN, flags, thread, domain, id, text);

	EXPECT_EQ(feed(&e), 0);
}

static void ends(uint32_t flags, uint32_t thread, uint32_t domain, uint64_t id)
{
	struct nvs_rec_nvtx_end e = {.rec = {.type = NVS_REC_NVTX_END,
					     .flags = (uint16_t)flags,
					     .size = sizeof(e),
					     .time = now += 10},
				     .thread = thread,
				     .domain = domain,
				     .id = id};

	EXPECT_EQ(feed(&e), 0);
}

static void thread(uint32_t number, uint32_t tid)
{
	struct nvs_rec_thread t = {
		.rec = {.type = NVS_REC_THREAD, .size = sizeof(t), .time = now += 10},
		.thread = number,
		.tid = tid};

	EXPECT_EQ(feed(&t), 0);
}

/* Paths of the innermost ranges of a thread at TIME, a blank behind each. */
static const char *open_at(uint32_t number, uint64_t time)
{
	static char text[4096];
	struct nvs_nvtx_node *nodes[NVS_NVTX_NESTS];
	uint32_t count = nvs_nvtx_at(n, number, time, nodes);

	*text = '\0';
	for (uint32_t i = 0; i < count; i++) {
		char *path = nvs_nvtx_path(nodes[i]);

		strcat(strcat(text, path), " ");
		free(path);
	}
	return text;
}

#define OPEN(thread, want) EXPECT(!strcmp(open_at(thread, now), want))

static void test_nest(void)
{
	restart();
	begins(PUSH, 0, 0, 0, "a");
	begins(PUSH, 0, 0, 1, "b");
	OPEN(0, "a/b ");
	OPEN(1, "");
	OPEN(NVS_NONE, "");
	begins(PUSH, 0, 3, 0, "other");
	EXPECT_EQ(nvs_nvtx_open(n, 0, now), 3);
	EXPECT_EQ(nvs_nvtx_now(n)->open, 2);
	ends(PUSH, 0, 3, 0);
	OPEN(0, "a/b ");
	ends(PUSH, 0, 0, 1);
	EXPECT_EQ(nvs_nvtx_now(n)->what, NVS_NVTX_ENDED);
	EXPECT_EQ(nvs_nvtx_now(n)->begin, 1020);
	EXPECT_EQ(nvs_nvtx_now(n)->end, now);
	OPEN(0, "a ");
	begins(PUSH, 0, 0, 1, "b");
	EXPECT_EQ(nvs_nvtx_now(n)->node->number, 1); /* the same place again */
	/* A moment ago, and before all of it. */
	EXPECT(!strcmp(open_at(0, now - 1), "a "));
	EXPECT(!strcmp(open_at(0, 1005), ""));
	EXPECT_EQ(nvs_nvtx_unmatched(n), 0);
}

/* What has lost its end is over when what is around it ends, or goes on. */
static void test_lost_ends(void)
{
	restart();
	begins(PUSH, 0, 0, 0, "a");
	begins(PUSH, 0, 0, 1, "b");
	begins(PUSH, 0, 0, 2, "c");
	begins(PUSH, 0, 0, 1, "d");
	OPEN(0, "a/d ");
	begins(PUSH, 0, 0, 2, "c");
	ends(PUSH, 0, 0, 0);
	EXPECT(!strcmp(nvs_nvtx_now(n)->node->name, "a"));
	OPEN(0, "");
	EXPECT_EQ(nvs_nvtx_unmatched(n), 0);
	/* Never pushed; and pushed in the process that this one was forked from. */
	ends(PUSH, 0, 0, UINT64_MAX);
	begins(PUSH, 0, 0, 5, "child");
	OPEN(0, "child ");
	ends(PUSH, 0, 0, 5);
	ends(PUSH, 0, 0, 4);
	EXPECT_EQ(nvs_nvtx_now(n)->what, NVS_NVTX_NOTHING);
	EXPECT_EQ(nvs_nvtx_unmatched(n), 2);
	ends(PUSH, 7, 0, 0);
	ends(0, 0, 0, 99);
	EXPECT_EQ(nvs_nvtx_unmatched(n), 4);
}

static void early(uint32_t tid, uint64_t at, uint64_t depth, const char *text)
{
	struct event e = event(NVS_REC_NVTX_BEGIN, PUSH, NVS_NONE, 0, depth, text);

	e.rec.tid = tid;
	e.rec.at = at;
	EXPECT_EQ(feed(&e), 0);
}

static void test_late_threads(void)
{
	restart();
	early(100, 10, 0, "early");
	early(101, 11, 0, "of another");
	OPEN(0, "");
	thread(0, 100);
	OPEN(0, "early ");
	EXPECT(!strcmp(open_at(0, 10), "early "));
	EXPECT(!strcmp(open_at(0, 9), ""));
	begins(PUSH, 0, 0, 1, "late");
	OPEN(0, "early/late ");
	/* Told behind what came after it: it may not take that away. */
	early(100, 12, 0, "too late");
	OPEN(0, "early/late ");
	/* Of a thread that has told its number already. */
	thread(2, 102);
	early(102, 13, 0, "known");
	OPEN(2, "known ");
	EXPECT_EQ(nvs_nvtx_now(n)->thread, 2);
}

static void test_started(void)
{
	restart();
	begins(0, 0, 0, 8, "x");
	*nvs_nvtx_now(n)->tag = 77;
	begins(0, 0, 0, 9, "x");
	OPEN(0, "");
	ends(0, 5, 0, 8);
	EXPECT_EQ(nvs_nvtx_now(n)->thread, 0); /* whose it is */
	EXPECT_EQ(*nvs_nvtx_now(n)->tag, 77);
	EXPECT_EQ(nvs_nvtx_now(n)->begin, 1010);
	ends(0, 5, 0, 8);
	EXPECT_EQ(nvs_nvtx_unmatched(n), 1);
	EXPECT(nvs_nvtx_node(n, 0) && !nvs_nvtx_node(n, 1));
}

/* Without depths, and deeper than anybody looks. */
static void test_deep(void)
{
	char *path;

	restart();
	for (uint32_t i = 0; i < 10000; i++)
		begins(NVS_NVTX_PUSHED, 0, 40, 0, "deep");
	EXPECT_EQ(nvs_nvtx_open(n, 0, now), 512);
	path = nvs_nvtx_path(nvs_nvtx_node(n, 511));
	EXPECT(path && strlen(path) == 512 * 5 - 1);
	free(path);
	restart();
	for (uint32_t i = 0; i < 500; i++)
		begins(PUSH, 0, 0, i, "a name of twenty-six bytes");
	path = nvs_nvtx_path(nvs_nvtx_node(n, 499));
	EXPECT(path && strlen(path) < 4200 && !strncmp(path, ".../a name", 10));
	free(path);
	restart();
	for (uint32_t i = 0; i < 10000; i++)
		begins(NVS_NVTX_PUSHED, 0, 40, 0, "deep");
	for (uint32_t i = 0; i < 9999; i++)
		ends(NVS_NVTX_PUSHED, 0, 40, 0);
	OPEN(0, "deep ");
	ends(NVS_NVTX_PUSHED, 0, 40, 0);
	OPEN(0, "");
	EXPECT_EQ(nvs_nvtx_unmatched(n), 0);
	for (uint32_t i = 0; i < 10000; i++)
		begins(PUSH, 0, 0, i, "deep");
	ends(PUSH, 0, 0, 9999);
	ends(PUSH, 0, 0, 0);
	EXPECT_EQ(nvs_nvtx_now(n)->what, NVS_NVTX_ENDED);
}

static void test_strange(void)
{
	restart();
	for (uint32_t i = 0; i < 1000; i++)
		begins(PUSH, 0, i, 0, "domain");
	EXPECT_EQ(nvs_nvtx_open(n, 0, now), NVS_NVTX_NESTS);
	begins(PUSH, NVS_MAX_NUMBER, 0, 0, "absurd");
	EXPECT_EQ(nvs_nvtx_now(n)->what, NVS_NVTX_NOTHING);
	begins(PUSH, 1, NVS_NONE, UINT64_MAX, "far");
	OPEN(1, "far ");
	/* Longer ago than is remembered: nothing is said. */
	for (uint32_t i = 0; i < 20; i++) {
		begins(PUSH, 2, 0, 0, "x");
		ends(PUSH, 2, 0, 0);
	}
	EXPECT(!strcmp(open_at(2, now - 390), ""));
	EXPECT(!strcmp(open_at(2, now - 5), "x "));
}

static void test_filter(void)
{
	static const struct {
		const char *patterns[2];
		const char *selected; /* of step, step/warm, step/cold, mark: s, w, c */
	} cases[] = {
		{{"step"}, "swc"},	{{"warm"}, "w"},	   {{"!warm"}, "sc"},
		{{"w*", "cold"}, "wc"}, {{"step", "!cold"}, "sw"}, {{"/^(warm|cold)$/"}, "wc"},
		{{"nothing"}, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char selected[8] = "";
		const struct nvs_nvtx_node *node;

		for (int k = 0; k < 2 && cases[i].patterns[k]; k++)
			EXPECT(!nvs_patterns_add(&query.nvtx, cases[i].patterns[k]));
		restart();
		begins(PUSH, 0, 0, 0, "step");
		begins(PUSH, 0, 0, 1, "warm");
		ends(PUSH, 0, 0, 1);
		begins(PUSH, 0, 0, 1, "cold");
		for (uint32_t k = 0; (node = nvs_nvtx_node(n, k)); k++)
			if (nvs_nvtx_pass(&query.nvtx, node->fits))
				strncat(selected, node->name, 1);
		EXPECT(!strcmp(selected, cases[i].selected));
		nvs_patterns_free(&query.nvtx);
	}
}

int main(void)
{
	test_nest();
	test_lost_ends();
	test_late_threads();
	test_started();
	test_deep();
	test_strange();
	test_filter();
	nvs_nvtx_free(n);
	printf("%d passed, %d failed\n", expect_passed, expect_failed);
	return expect_failed != 0;
}
