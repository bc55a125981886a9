/* SPDX-License-Identifier: MIT */
/*
 * stalls: slow calls with different causes, and the causes on the program's live page: a launch
 * without space in its ring, a copy that synchronises, and a call that waits for a lock that the
 * copy holds.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "livepage.h"
#include "tests/softgpu/softgpu.h"

#define HELD_US 20000 /* what waits has waited so long, and longer */
#define KNOWN 100 /* launches that take what launches take */

static CUcontext context;
static CUstream stream, other;
static CUfunction known;
static CUdeviceptr words;
static volatile uint32_t *gate;

static struct nvs_live_stalled stalled(enum nvs_live_stall why)
{
	struct nvs_live_stalled sum = {0};

	for (uint32_t i = 0; i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);

		sum.calls += load(&s->stalls[why].calls);
		sum.ns += load(&s->stalls[why].ns);
	}
	return sum;
}

/* At least one, that took as long as it was held; a busy machine may make others long as well. */
static void expect_stall(enum nvs_live_stall why, const char *what, uint64_t before)
{
	struct nvs_live_stalled now = stalled(why);

	EXPECT(now.calls > before && now.ns >= HELD_US * 1000ull, "%s: %llu, before %llu, %llu ns",
	       what, (unsigned long long)now.calls, (unsigned long long)before,
	       (unsigned long long)now.ns);
}

static void beats(void)
{
	uint64_t now = load(&page->heartbeat);

	while (load(&page->heartbeat) < now + 3)
		usleep(1000);
}

static void close_gate(void)
{
	CK(cuCtxSynchronize());
	*gate = 0;
	CK(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)gate, 1, 0));
	/* Our own thread is to know the channel. */
	beats();
}

static _Atomic int launched;

/* On a real GPU nobody says so, but that nothing goes on. */
static void wait_for_waiter(void)
{
	int before = 0;

	while (softgpu_waits && !softgpu_waits(SOFTGPU_WAITS_RING))
		usleep(1000);
	while (!softgpu_waits && (!before || before != launched)) {
		before = launched;
		usleep(50000);
	}
}

static void *open_gate(void *arg)
{
	wait_for_waiter();
	/* A look of our own thread's falls into it. */
	beats();
	*gate = 1;
	return arg;
}

static void full_ring(void)
{
	uint64_t before = stalled(NVS_LIVE_STALL_RING).calls;
	pthread_t thread;

	close_gate();
	EXPECT(!pthread_create(&thread, NULL, open_gate, NULL), "no thread");
	for (; !*gate; launched++)
		app_add(known, words, 1, stream);
	pthread_join(thread, NULL);
	expect_stall(NVS_LIVE_STALL_RING, "a full ring", before);
}

static _Atomic int inside[2];

static void *copy(void *arg)
{
	static char bytes[2][256 << 10];
	int which = *(int *)arg;

	CK(cuCtxSetCurrent(context));
	inside[which] = (int)syscall(SYS_gettid);
	if (which)
		CK(cuMemcpyDtoHAsync_v2(bytes[1], words, sizeof(bytes[1]), other));
	else
		CK(cuMemcpyDtoH_v2(bytes[0], words, sizeof(bytes[0])));
	return arg;
}

/* It stays in a call. */
static bool waits(int tid)
{
	for (uint32_t i = 0; tid && i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);

		if (s->tid == (uint32_t)tid && s->generation % 2 && s->ncalls)
			return true;
	}
	return false;
}

/* The second waits for what the first one holds. */
static void held_by_a_copy(void)
{
	static const enum nvs_live_stall why[] = {NVS_LIVE_STALL_COPY, NVS_LIVE_STALL_UNKNOWN};
	static int which[] = {0, 1};
	uint64_t before[2];
	pthread_t threads[2];

	close_gate();
	for (int i = 0; i < 2; i++) {
		before[i] = stalled(why[i]).calls;
		EXPECT(!pthread_create(threads + i, NULL, copy, which + i), "no thread");
		while (!waits(inside[i]))
			usleep(1000);
	}
	usleep(HELD_US);
	*gate = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	expect_stall(NVS_LIVE_STALL_COPY, "a copy", before[0]);
	expect_stall(NVS_LIVE_STALL_UNKNOWN, "what waits for it", before[1]);
}

int main(void)
{
	context = app_context(0);
	known = app_kernel("softgpu_add");
	CK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc_v2(&words, 1 << 20));
	CK(cuMemAllocHost_v2((void **)&gate, 4096));
	find_page();
	for (int i = 0; i < KNOWN; i++)
		app_add(known, words, 1, i % 2 ? stream : other);
	full_ring();
	held_by_a_copy();
	puts("live ok");
	return 0;
}
