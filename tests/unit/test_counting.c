/* SPDX-License-Identifier: MIT */
/*
 * Reading counters, with a driver of the test's own: a handler that jumps out of the program's call
 * leaves nothing held, and a stream of ours is not asked after its context has ended.
 */
/* LINK: preload */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include "preload/api/counting.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "tests/unit/expect.h"

#define NOT_READY 600

static uint64_t current = 0xc1, streams, queried; /* queried: the first */
static bool ready = true, interrupt, jumped;
static sigjmp_buf back;

static int get_current(uint64_t *context)
{
	*context = current;
	return 0;
}

static int enlist(void *p, size_t bytes, unsigned flags)
{
	return 0;
}

static int stream_create(uint64_t *stream, unsigned flags)
{
	*stream = current << 8 | ++streams;
	return 0;
}

static int stream_query(uint64_t stream)
{
	queried = queried ? queried : stream;
	if (interrupt)
		raise(SIGUSR1);
	return ready ? 0 : NOT_READY;
}

static int copy(void *to, uint64_t from, size_t bytes, uint64_t stream)
{
	memset(to, 0, bytes);
	return 0;
}

static void jump(int sig)
{
	jumped = true;
	interrupt = false;
	siglongjmp(back, 1);
}

static struct nvs_counting *start(void)
{
	struct nvs_counting *c = nvs_counting_start();

	c->able = true;
	c->driver = (struct nvs_counting_driver){.get_current = get_current,
						 .enlist = enlist,
						 .stream_create = stream_create,
						 .stream_query = stream_query,
						 .copy = copy};
	nvs_counting_add(c, "kernel", 0x7000);
	atomic_store(&nvs_state()->session_active, true);
	return c;
}

/* It comes when the reading is over, which is nobody's then. */
static void test_jump_out_of_reading(struct nvs_counting *c)
{
	interrupt = true;
	jumped = false;
	if (!sigsetjmp(back, 1))
		nvs_counting_read(NVS_COUNT_EXIT, 0);
	EXPECT(jumped);
	EXPECT_EQ(atomic_load(&c->reading), 0);
	EXPECT(nvs_counting_read(NVS_COUNT_EXIT, 0));
}

static void test_jump_out_of_lock(struct nvs_counting *c)
{
	jumped = false;
	if (!sigsetjmp(back, 1)) {
		EXPECT(nvs_counting_lock(c));
		raise(SIGUSR1);
		EXPECT(!jumped);
		nvs_counting_unlock(c);
	}
	EXPECT(jumped);
	EXPECT_EQ(atomic_load(&c->lock), 0);
}

/* What was given up on is asked about before the next reading, in whatever context that is. */
static void test_context_ends(struct nvs_counting *c)
{
	uint64_t stream;

	ready = false;
	EXPECT(!nvs_counting_read(NVS_COUNT_LAUNCH, 0));
	stream = c->outstanding;
	EXPECT(stream >> 8 == current);
	nvs_api_who_counts()->ended(0xc7);
	EXPECT_EQ(c->outstanding, stream);
	nvs_api_who_counts()->ended(current);
	ready = true;
	current = 0xc2;
	queried = 0;
	EXPECT(nvs_counting_read(NVS_COUNT_EXIT, 0));
	EXPECT(queried >> 8 == current);
	EXPECT_EQ(c->outstanding, 0);
}

int main(void)
{
	struct nvs_counting *c = start();

	signal(SIGUSR1, jump);
	test_jump_out_of_reading(c);
	test_jump_out_of_lock(c);
	test_context_ends(c);
	return expect_done();
}
