/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* Growing arrays and circular queues: capacity, the maximum, and what is left unchanged. */
#include <stdlib.h>
#include "decode/base/budget.h"
#include "decode/base/grow.h"
#include "decode/base/queue.h"
#include "tests/unit/expect.h"

static void test_append(void)
{
	uint32_t *list = NULL, n = 0, room = 0, *own;

	for (uint32_t i = 0; i < 12; i++) {
		own = NVS_APPEND(list, n, room, 3, 12);
		if (!own)
			break;
		*own = i;
	}
	EXPECT_EQ(n, 12);
	EXPECT_EQ(room, 12);
	own = list;
	EXPECT(!NVS_APPEND(list, n, room, 3, 12));
	EXPECT(list == own && n == 12 && room == 12);
	for (uint32_t i = 0; i < n; i++)
		EXPECT_EQ(list[i], i);
	free(list);
}

static void test_reserve(void)
{
	size_t n = 0, room = 0;
	uint64_t *list = NULL, *own = NVS_RESERVE(list, n, room, 4, UINT32_MAX);

	EXPECT(own && own == list);
	EXPECT_EQ(n, 0);
	EXPECT_EQ(room, 4);
	free(list);
}

/* More than the budget: optional data are refused, and the list stays. */
static void test_optional(void)
{
	struct {
		char bytes[1 << 20];
	} *list = NULL;
	uint32_t n = 0, room = 0, max = 1u << 30;

	EXPECT(!NVS_APPEND_OPTIONAL(list, n, room, max, max));
	EXPECT(!list && !n && !room);
	EXPECT(nvs_budget_exceeded());
}

static void add_item(struct nvs_queue *q, uint32_t value)
{
	if (nvs_queue_reserve(q, 32))
		*(uint32_t *)nvs_queue_at(q, q->end++) = value;
}

/* Grows while its first item is in the middle of the ring. */
static void test_queue(void)
{
	struct nvs_queue q = {.size = sizeof(uint32_t)};

	EXPECT(!nvs_queue_last(&q));
	for (uint32_t i = 0; i < 10; i++)
		add_item(&q, i);
	q.first += 7;
	for (uint32_t i = 10; i < 35; i++)
		add_item(&q, i);
	EXPECT_EQ(q.room, 32);
	EXPECT_EQ(nvs_queue_count(&q), 28);
	for (uint64_t i = q.first; i != q.end; i++)
		EXPECT_EQ(*(uint32_t *)nvs_queue_at(&q, i), i);
	EXPECT_EQ(*(uint32_t *)nvs_queue_last(&q), 34);
	for (uint32_t i = 35; i < 50; i++)
		add_item(&q, i);
	EXPECT_EQ(nvs_queue_count(&q), 32);
	EXPECT_EQ(*(uint32_t *)nvs_queue_last(&q), 38);
	free(q.item);
}

int main(void)
{
	test_append();
	test_reserve();
	test_optional();
	test_queue();
	return expect_done();
}
