/* SPDX-License-Identifier: MIT */
/* Slow calls: which do not count, and the cause under which each of the others is counted. */
/* LINK: preload */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include "trap/arch/context.h"
#include "preload/live/live.h"
#include "trap/low/guard.h"
#include "tests/unit/expect.h"

#define ROW 3
#define US 1000ull

static struct nvs_live_page *page;
static struct nvs_live_slot *slot;
static struct nvs_live_channel *channels;
static uint64_t claim;
static uint32_t released;

/* One channel, number 7, of 1,024 entries; nobody has looked at it yet. */
static void make_page(void)
{
	struct nvs_live_table *t;

	page = calloc(1, sizeof(*page));
	page->base = aligned_alloc(64, 1 << 20);
	memset(page->base, 0, 1 << 20);
	page->head = (void *)page->base;
	t = &page->head->tables[NVS_LIVE_CHANNELS];
	t->offset = 8192;
	t->rows = t->used = 2;
	t->row_bytes = sizeof(struct nvs_live_channel);
	channels = (void *)(page->base + t->offset);
	slot = (void *)(page->base + 16384);
}

static void seen(uint64_t submitted, uint64_t completed)
{
	claim = submitted << NVS_PUT_BITS | 5;
	released = (uint32_t)completed + 40; /* of an own count */
	channels[1] = (struct nvs_live_channel){.channel = 7,
						.flags = NVS_LIVE_CHANNEL_ALIVE,
						.entries = 1024,
						.completed_of = submitted,
						.wanted = submitted + 40};
	page->rings[1] = (struct nvs_live_ring){.claim = &claim, .released = &released};
}

static void usual_calls(uint64_t n, uint64_t ns)
{
	memset(slot, 0, sizeof(*slot) + NVS_LIVE_API_ROWS * sizeof(struct nvs_live_api_count));
	for (uint64_t i = 0; i < n; i++)
		nvs_live_count_call(slot, ROW, ns);
}

/* The cause under which CALL has been counted; -1: none. */
static int why(struct nvs_live_slow_call call)
{
	int cause = -1;

	memset(slot->stalls, 0, sizeof(slot->stalls));
	call.row = ROW;
	nvs_live_stall(page, slot, &call);
	for (int i = 0; i < NVS_LIVE_STALLS; i++)
		if (slot->stalls[i].calls) {
			EXPECT(cause < 0);
			EXPECT_EQ(slot->stalls[i].calls, 1);
			EXPECT_EQ(slot->stalls[i].ns, call.ns);
			cause = i;
		}
	return cause;
}

static void test_usual(void)
{
	nvs_tls.rung = 0;
	usual_calls(100, 150 * US);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 200 * US}), -1);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 200 * US, .memory = true}), -1);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 200 * US, .copy = true}),
		  NVS_LIVE_STALL_COPY);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 3000 * US}), NVS_LIVE_STALL_UNKNOWN);
	/* Of too few it is not known what is usual. */
	usual_calls(5, 150 * US);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 200 * US}), NVS_LIVE_STALL_UNKNOWN);
	/* Half of them are short. */
	usual_calls(100, 2 * US);
	for (int i = 0; i < 90; i++)
		nvs_live_count_call(slot, ROW, 500 * US);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 200 * US}), NVS_LIVE_STALL_UNKNOWN);
}

static void test_order(void)
{
	nvs_tls.rung = 0;
	usual_calls(100, 2 * US);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 200 * US, .memory = true, .copy = true}),
		  NVS_LIVE_STALL_MEMORY);
	EXPECT_EQ(why((struct nvs_live_slow_call){.ns = 200 * US, .module = true, .memory = true}),
		  NVS_LIVE_STALL_MODULE);
}

static void test_ring(void)
{
	const struct nvs_live_slow_call call = {.begin = 1000, .ns = 200 * US, .module = true};

	nvs_tls.rung = 7 + 1;
	usual_calls(100, 2 * US);
	seen(5000, 3990);
	EXPECT_EQ(why(call), NVS_LIVE_STALL_RING);
	/* Much of it is done when the call is. */
	seen(5000, 4200);
	EXPECT_EQ(why(call), NVS_LIVE_STALL_MODULE);
	/* More was submitted since our own thread looked. */
	claim += 100ull << NVS_PUT_BITS;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_RING);
	/* Two entries a submission. */
	seen(5000, 4500);
	slot->counts[NVS_LIVE_SKIPPED] = 100;
	slot->counts[NVS_LIVE_SKIPPED_ENTRIES] = 200;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_RING);
	/* It was full at a look that fell into the call, or before. */
	seen(5000, 5000);
	page->rings[1].full_at = 1001;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_RING);
	page->rings[1].full_at = 999;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_MODULE);
	/* Another channel's ring says nothing. */
	seen(5000, 3990);
	nvs_tls.rung = 6 + 1;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_MODULE);
}

/* What is not known is no full ring, and what is gone does no harm. */
static void test_unknown(void)
{
	const struct nvs_live_slow_call call = {.begin = 1000, .ns = 200 * US};

	nvs_tls.rung = 7 + 1;
	seen(5000, 3990);
	page->rings[1].released = (const uint32_t *)8;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_UNKNOWN);
	seen(5000, 3990);
	channels[1].completed_of = NVS_LIVE_UNKNOWN;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_UNKNOWN);
	seen(500, 0);
	released = 3000000000u;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_UNKNOWN);
	seen(5000, 3990);
	channels[1].flags = 0;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_UNKNOWN);
	seen(5000, 3990);
	channels[1].sequence = 1;
	EXPECT_EQ(why(call), NVS_LIVE_STALL_UNKNOWN);
}

/* What the fault handler does for a guarded access. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uintptr_t on = nvs_guard_fixup(nvs_context_pc(&uc->uc_mcontext));

	(void)sig;
	(void)info;
	if (!on)
		_exit(99);
	nvs_context_set_pc(&uc->uc_mcontext, on);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &sa, NULL);
	make_page();
	test_usual();
	test_order();
	test_ring();
	test_unknown();
	return expect_done();
}
