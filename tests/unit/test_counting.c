/* SPDX-License-Identifier: MIT */
/*
 * Reading counters, with the test's own driver: a handler that jumps out of the program's call
 * leaves no lock held, a stream of ours is not queried after its context has been destroyed, and a
 * wait counts for what it waited for.
 */
/* LINK: preload */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/api/count/counter_reading.h"
#include "preload/base/preload.h"
#include "preload/base/state.h"
#include "sass/count.h"
#include "tests/unit/expect.h"
#include "trap/arch/cpu.h"

#define NOT_READY 600
#define RELAXED 2

static uint64_t current = 0xc1, streams, queried; /* queried: the first */
static size_t copied; /* bytes */
static unsigned copies;
static bool by_address; /* sums are as the counter's address says, else 0 */
static int mode; /* of capturing */
static unsigned legacy; /* so often was the legacy stream asked about */
static bool ready = true, refuse, interrupt, jumped;
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
	legacy += !stream;
	if (interrupt)
		raise(SIGUSR1);
	return ready ? 0 : NOT_READY;
}

/* As the driver does: it refuses what might disturb another thread's capture. */
static int stream_wait(uint64_t stream)
{
	return mode == RELAXED ? 0 : 906;
}

static int exchange_mode(int *other)
{
	int was = mode;

	mode = *other;
	*other = was;
	return 0;
}

static int copy(void *to, uint64_t from, size_t bytes, uint64_t stream)
{
	memset(to, 0, bytes);
	for (size_t i = 0; by_address && i < bytes; i += NVS_COUNT_BYTES)
		memcpy((uint8_t *)to + i, (uint64_t[]){from + i}, sizeof(uint64_t));
	copied += bytes;
	copies++;
	return refuse ? NOT_READY : 0;
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
						 .stream_wait = stream_wait,
						 .exchange_mode = exchange_mode,
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

static _Atomic bool waiting;

/* Ends the naps of the main thread; it blocks most signals. */
static void *wake(void *arg)
{
	while (atomic_load(&waiting))
		syscall(SYS_tgkill, getpid(), getpid(), SIGBUS);
	return NULL;
}

static void ignore(int sig)
{
}

/* A load whose thread stays in the driver keeps the lock: others go on without counting. */
static void test_lock_is_held(struct nvs_counting *c)
{
	pthread_t waker;
	sigset_t mask;

	signal(SIGBUS, ignore);
	atomic_store(&c->lock, 1);
	c->lock_mask = 0x5;
	atomic_store(&waiting, true);
	EXPECT(!pthread_create(&waker, NULL, wake, NULL));
	EXPECT(!nvs_counting_lock(c));
	atomic_store(&waiting, false);
	pthread_join(waker, NULL);
	EXPECT_EQ(c->lock_mask, 0x5);
	c->lock_mask = 0;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	EXPECT(!sigismember(&mask, SIGUSR1));
	/* Once is enough. */
	EXPECT(!nvs_counting_lock(c));
	EXPECT_EQ(atomic_load(&c->lock), 2);
	nvs_counting_unlock(c);
	EXPECT(nvs_counting_lock(c));
	nvs_counting_unlock(c);
}

/* What was given up on is asked about before the next reading, in whatever context that is. */
static void test_context_ends(struct nvs_counting *c)
{
	uint64_t stream;

	ready = false;
	EXPECT(!nvs_counting_read(NVS_COUNT_LAUNCH, 0));
	stream = c->outstanding;
	EXPECT(stream >> 8 == current);
	nvs_api_get_counting()->ended(0xc7);
	EXPECT_EQ(c->outstanding, stream);
	nvs_api_get_counting()->ended(current);
	ready = true;
	current = 0xc2;
	queried = 0;
	EXPECT(nvs_counting_read(NVS_COUNT_EXIT, 0));
	EXPECT(queried >> 8 == current);
	EXPECT_EQ(c->outstanding, 0);
}

static const struct nvs_api *api_named(const char *name)
{
	for (unsigned i = 0; i < nvs_api_count; i++)
		if (!strcmp(nvs_api_table[i].name, name))
			return nvs_api_table + i;
	abort();
}

static void launch(uint64_t stream)
{
	const uint64_t stack[8] = {[8 - NVS_ARG_REGS] = stream}; /* the ninth argument */
	struct nvs_api_frame frame = {.regs = {0xf0}, .stack = stack};

	nvs_api_get_counting()->called(&frame, api_named("cuLaunchKernel"), 0);
}

static void wait_for(const char *api, uint64_t stream)
{
	struct nvs_counting *c = nvs_counting();
	struct nvs_api_frame frame = {.regs = {stream}, .index = 0, .begin = nvs_api_now()};

	nvs_api_slots[0].api = api_named(api);
	c->credit = UINT64_MAX / 2; /* readings are not what is asked for */
	nvs_api_slots[0].api->after(&frame, 0);
}

/* A wait in one context, and for one stream, says nothing of others. */
static void test_waits(struct nvs_counting *c)
{
	struct nvs_kernel_counter *counter = atomic_load(&c->first);
	uint64_t key = nvs_api_known_key(0xf0);
	uint32_t at = nvs_hash(key, NVS_API_KNOWN_BITS);

	atomic_store(&c->function[at].name, counter->name);
	atomic_store(&c->function[at].key, key);
	current = 0xc3;
	launch(0x51);
	EXPECT(atomic_load(&counter->launched.at));
	wait_for("cuStreamSynchronize", 0x52);
	EXPECT(atomic_load(&counter->launched.at));
	current = 0xc4;
	wait_for("cuCtxSynchronize", 0);
	EXPECT(atomic_load(&counter->launched.at));
	current = 0xc3;
	wait_for("cuCtxSynchronize", 0);
	EXPECT(!atomic_load(&counter->launched.at));
	/* Threads' default streams have one number. */
	nvs_tls.thread = 1;
	launch(2);
	nvs_tls.thread = 2;
	wait_for("cuStreamSynchronize", 2);
	EXPECT(atomic_load(&counter->launched.at));
	nvs_tls.thread = 1;
	wait_for("cuStreamSynchronize", 2);
	EXPECT(!atomic_load(&counter->launched.at));
	nvs_tls.thread = 0;
	/* After one that took longer than any may there are others all the same. */
	launch(0x51);
	c->read_cost = UINT64_MAX / 2;
	wait_for("cuStreamSynchronize", 0x51);
	EXPECT(!atomic_load(&counter->launched.at));
}

/* exact=sync reads what has been launched since, and no capture of another thread's is in its way.
 */
static void test_exact(struct nvs_counting *c)
{
	struct nvs_kernel_counter *counter = atomic_load(&c->first);
	struct nvs_kernel_counter *other = nvs_counting_add(c, "other", 0x9000);
	struct nvs_options *options = (struct nvs_options *)nvs_options();

	options->values.exact = true;
	atomic_store(&other->launched.context, current);
	atomic_store(&other->launched.stream, 0x52);
	atomic_store(&other->launched.at, 1);
	copied = 0;
	launch(0x51);
	EXPECT_EQ(copied, 2 * NVS_COUNT_BYTES);
	EXPECT(!atomic_load(&counter->launched.at));
	EXPECT(atomic_load(&other->launched.at));
	atomic_store(&other->launched.at, 0);
	copied = 0;
	launch(0x51);
	EXPECT_EQ(copied, NVS_COUNT_BYTES);
	EXPECT_EQ(mode, 0);
	options->values.exact = false;
}

/* The legacy stream is left alone while the program captures one: the graph would be spoilt. */
static void test_capture(void)
{
	struct nvs_api_frame frame = {.number = 1};
	const struct nvs_api_counting *told = nvs_api_get_counting();

	legacy = 0;
	told->window(&frame, true);
	EXPECT(legacy > 0);
	legacy = 0;
	atomic_store(&nvs_api_captures, 1);
	told->window(&frame, true);
	told->window(&frame, false);
	nvs_counting_read(NVS_COUNT_CONTEXT, 0);
	EXPECT_EQ(legacy, 0);
	nvs_counting_read(NVS_COUNT_EXIT, 0);
	EXPECT(legacy > 0);
	atomic_store(&nvs_api_captures, 0);
}

/* Where a window's beginning could not be read, what was launched before is not known; what was not
 * is counted. */
static void test_window_unread(struct nvs_counting *c)
{
	struct nvs_api_frame frame = {.number = 1};
	struct nvs_kernel_counter *counter = atomic_load(&c->first), *other = counter->next;

	launch(0x51);
	EXPECT(!atomic_load(&other->launched.at));
	refuse = true;
	nvs_api_get_counting()->window(&frame, true);
	refuse = false;
	EXPECT(counter->unsure && !other->unsure);
	nvs_counting_read(NVS_COUNT_EXIT, 0);
	EXPECT(!counter->unsure && !c->discard);
}

/* Nor where another thread's reading did not end in time: known when the next one begins. */
static void test_window_busy(struct nvs_counting *c)
{
	struct nvs_api_frame frame = {.number = 1};
	struct nvs_kernel_counter *counter = atomic_load(&c->first), *other = counter->next;

	launch(0x51);
	atomic_store(&c->reading, (uint32_t)gettid());
	nvs_api_get_counting()->window(&frame, true);
	atomic_store(&c->reading, 0);
	refuse = true;
	nvs_counting_read(NVS_COUNT_EXIT, 0);
	refuse = false;
	EXPECT(counter->unsure && !other->unsure);
	nvs_counting_read(NVS_COUNT_EXIT, 0);
	EXPECT(!counter->unsure);
}

/* What lies between two that are due is copied with them where that is little and certainly one
 * piece of memory; each gets its own sum all the same. */
static void test_neighbours(struct nvs_counting *c)
{
	const uint64_t far = 3 * NVS_COUNTING_PIECE, k = NVS_COUNT_BYTES;
	const struct {
		uint64_t at[3]; /* the one in the middle is not due */
		unsigned copies;
		size_t bytes;
	} cases[] = {
		{{far, far + k, far + 2 * k}, 1, 3 * k},
		{{far + 8 * k, far + 9 * k, far + 17 * k}, 1, 10 * k},
		{{far + 20 * k, far + 21 * k, far + 30 * k}, 2, 2 * k},
		{{2 * far - 2 * k, 2 * far - k, 2 * far}, 2, 2 * k},
	};

	atomic_store(&atomic_load(&c->first)->launched.at, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nvs_kernel_counter *of[3];

		for (int j = 0; j < 3; j++)
			of[j] = nvs_counting_add(c, "neighbour", cases[i].at[j]);
		atomic_store(&of[0]->launched.at, 1);
		atomic_store(&of[2]->launched.at, 1);
		copies = 0;
		copied = 0;
		by_address = true;
		EXPECT(nvs_counting_read(NVS_COUNT_LAUNCH, 0));
		by_address = false;
		EXPECT_EQ(copies, cases[i].copies);
		EXPECT_EQ(copied, cases[i].bytes);
		EXPECT_EQ(of[0]->warp, cases[i].at[0]);
		EXPECT_EQ(of[1]->warp, 0);
		EXPECT_EQ(of[2]->warp, cases[i].at[2]);
		atomic_store(&of[0]->launched.at, 0);
		atomic_store(&of[2]->launched.at, 0);
	}
}

/* More than the memory that is read into has room for, with holes: every one gets its own sum. */
static void test_many(struct nvs_counting *c)
{
	enum { N = 400 };
	struct nvs_kernel_counter *of[N];
	uint64_t at = 100 * NVS_COUNTING_PIECE;

	for (int i = 0; i < N; i++, at += NVS_COUNT_BYTES) {
		of[i] = nvs_counting_add(c, "many", at);
		atomic_store(&of[i]->launched.at, i * i % 7 < 3);
	}
	by_address = true;
	EXPECT(nvs_counting_read(NVS_COUNT_LAUNCH, 0));
	by_address = false;
	for (int i = 0; i < N; i++) {
		EXPECT_EQ(of[i]->warp, i * i % 7 < 3 ? of[i]->address : 0);
		atomic_store(&of[i]->launched.at, 0);
	}
}

/* A pause saves up for one reading of some milliseconds, not for a loop of them. */
static void test_credit(struct nvs_counting *c)
{
	const uint64_t cost =
		10000000; /* ticks: the next but one is affordable after SHARE times it */
	struct nvs_kernel_counter *counter = atomic_load(&c->first);
	struct nvs_api_frame frame = {.regs = {0x51}};

	nvs_api_slots[0].api = api_named("cuStreamSynchronize");
	c->credit = 0;
	c->read_end = 1;
	for (int i = 0; i < 2; i++) {
		launch(0x51);
		c->read_cost = cost;
		frame.begin = nvs_api_now();
		nvs_api_slots[0].api->after(&frame, 0);
		EXPECT_EQ(atomic_load(&counter->launched.at) != 0, i);
	}
	atomic_store(&counter->launched.at, 0);
}

int main(void)
{
	struct nvs_counting *c = start();

	signal(SIGUSR1, jump);
	test_jump_out_of_reading(c);
	test_jump_out_of_lock(c);
	test_lock_is_held(c);
	test_context_ends(c);
	test_waits(c);
	test_exact(c);
	test_capture();
	test_window_unread(c);
	test_window_busy(c);
	test_neighbours(c);
	test_many(c);
	test_credit(c);
	return expect_done();
}
