/* SPDX-License-Identifier: MIT */
/* snapshot=: the memory of a launch that failed is free again when the GPU has done the copies
 * before it, and a launch whose slot was used by another meanwhile is not taken for finished. */
/* LINK: preload */
#include <stdatomic.h>
#include <string.h>
#include "preload/api/images/image.h"
#include "preload/api/snapshot/snapshot.h"
#include "preload/base/preload.h"
#include "tests/unit/expect.h"

static void *find_function(const char *name);
static void keep(const struct nvs_rec *rec);
static void step(void);
#define nvs_api_driver_function find_function
#define nvs_record_write keep
#define nvs_largest_record() (1u << 20)
#undef atomic_compare_exchange_strong
#define atomic_compare_exchange_strong(p, e, v)                                         \
	(step(), atomic_compare_exchange_strong_explicit(p, e, v, memory_order_seq_cst, \
							 memory_order_seq_cst))
#include "preload/api/snapshot/snapshot.c"

#define KERNEL 0xf0

static uint32_t taken, failed; /* records */
static struct snapshot_slot *recycled; /* by another thread, at the next step */

static void keep(const struct nvs_rec *rec)
{
	const struct nvs_rec_snapshot *s = (const void *)rec;

	taken += s->reason == NVS_SNAPSHOT_TAKEN;
	failed += s->reason == NVS_SNAPSHOT_FAILED;
}

/* Another thread has recorded the launch, and the next one has its slot. */
static void step(void)
{
	if (!recycled)
		return;
	recycled->words[1] = 0;
	recycled = NULL;
}

/* ---- the driver ---- */

static int get_current(uint64_t *context)
{
	*context = 0xc1;
	return 0;
}

static int succeed(void)
{
	return 0;
}

static int fail(void)
{
	return 1;
}

static void *find_function(const char *name)
{
	if (!strcmp(name, "cuCtxGetCurrent"))
		return get_current;
	return strcmp(name, "cuKernelGetParamInfo") ? (void *)succeed : (void *)fail;
}

static struct snapshot_slot *launch(uint32_t result)
{
	const uint64_t stack[8] = {0};
	struct nvs_api_frame frame = {.regs = {KERNEL}, .stack = stack};

	nvs_api_before_launch(&frame);
	EXPECT(frame.token && !(frame.token & WITH_REASON));
	nvs_api_after_launch(&frame, result);
	return get_snapshots()->slot + frame.token - 1;
}

static struct snapshot_slot *launch_named(const char *name, uint32_t result)
{
	nvs_snapshot_got_kernel(KERNEL, 0x11, name);
	return launch(result);
}

static void start(void)
{
	struct nvs_options *options = (struct nvs_options *)nvs_options();
	uint64_t address = 0x7f0000000000, none[8] = {0};
	struct nvs_api_frame frame = {.regs = {(uintptr_t)&address, 4096}, .stack = none};

	strcpy(options->values.snapshot, "*");
	options->values.snapshot_nth = 1;
	options->values.snapshot_size = 1 << 20;
	for (unsigned i = 0; i < nvs_api_count; i++)
		if (!strcmp(nvs_api_table[i].name, "cuMemAlloc_v2"))
			nvs_api_slots[0].api = nvs_api_table + i;
	nvs_snapshot_follow(&frame, 0);
	for (unsigned i = 0; i < nvs_api_count; i++)
		if (!strcmp(nvs_api_table[i].name, "cuLaunchKernel"))
			nvs_api_slots[0].api = nvs_api_table + i;
	nvs_snapshot_prepare();
}

static void test_launch_fails(void)
{
	struct snapshot_slot *slot = launch_named("first", 1);

	EXPECT_EQ(failed, 2);
	EXPECT(slot->end > 0);
	record_waited();
	EXPECT(slot->end > 0);
	slot->words[0] = 1;
	record_waited();
	EXPECT_EQ(slot->end, 0);
	EXPECT_EQ(atomic_load(&slot->state), FREE);
	EXPECT_EQ(failed, 2);
	EXPECT_EQ(taken, 0);
}

static void test_slot_is_recycled(void)
{
	struct snapshot_slot *slot = launch_named("second", 0);

	slot->words[0] = slot->words[1] = 1;
	recycled = slot;
	record_waited();
	EXPECT_EQ(taken, 0);
	EXPECT_EQ(atomic_load(&slot->state), QUEUED);
	EXPECT(slot->end > 0);
	slot->words[1] = 1;
	record_waited();
	EXPECT_EQ(taken, 2);
	EXPECT_EQ(atomic_load(&slot->state), FREE);
}

int main(void)
{
	start();
	test_launch_fails();
	test_slot_is_recycled();
	return expect_done();
}
