/* SPDX-License-Identifier: MIT */
/* snapshot=: the memory that words of parameters point into, as calls allocate, map and free it. */
/* LINK: preload */
#include <stdlib.h>
#include <string.h>
#include "preload/api/snapshot/snapshot.h"
#include "tests/unit/expect.h"

#define MB (1ull << 20)

/* A call with up to four arguments, which all processors have in registers. */
static void call(const char *name, uint32_t result, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct nvs_api_frame frame = {.regs = {a, b, c, d}};
	const uint64_t none[8] = {0};

	frame.stack = none;
	for (unsigned i = 0; i < nvs_api_count; i++)
		if (!strcmp(nvs_api_table[i].name, name))
			nvs_api_slots[0].api = nvs_api_table + i;
	EXPECT_STR(nvs_api_slots[0].api->name, name);
	nvs_snapshot_follow(&frame, result);
}

/* Sets *SIZE to that of the memory that ADDRESS is in, and returns where it begins; 0: in none. */
static uint64_t memory_of(uint64_t address, uint64_t *size)
{
	static struct nvs_snapshot_ranges found;

	found.n = 0;
	nvs_snapshot_find_pointers(&found, (const uint8_t *)&address, sizeof(address));
	*size = found.n ? found.range[0].size : 0;
	return found.n ? found.range[0].address : 0;
}

static uint32_t count_all(void)
{
	static struct nvs_snapshot_ranges found;

	found.n = 0;
	nvs_snapshot_find_others(&found);
	return found.n;
}

static void test_allocations(void)
{
	uint64_t address = 0x7f0000000000, pitch = 512, size;

	call("cuMemAlloc_v2", 0, (uintptr_t)&address, 4096, 0, 0);
	EXPECT_EQ(memory_of(address + 4095, &size), address);
	EXPECT_EQ(size, 4096);
	EXPECT_EQ(memory_of(address + 4096, &size), 0);
	call("cuMemFree_v2", 1, address, 0, 0, 0);
	EXPECT_EQ(count_all(), 1);
	call("cuMemFree_v2", 0, address, 0, 0, 0);
	EXPECT_EQ(count_all(), 0);
	call("cuMemAllocPitch_v2", 0, (uintptr_t)&address, (uintptr_t)&pitch, 400, 10);
	EXPECT_EQ(memory_of(address + 5119, &size), address);
	EXPECT_EQ(size, 5120);
	call("cuMemFree_v2", 0, address, 0, 0, 0);
	call("cuMemAlloc_v2", 2, (uintptr_t)&address, 4096, 0, 0);
	EXPECT_EQ(count_all(), 0);
}

/* Reserved addresses are no memory; one call unmaps what several have mapped. */
static void test_mappings(void)
{
	uint64_t base = 0x7f1000000000, size;

	call("cuMemAddressReserve", 0, (uintptr_t)&base, 64 * MB, 0, 0);
	EXPECT_EQ(count_all(), 0);
	for (uint64_t i = 1; i < 5; i++)
		call("cuMemMap", 0, base + 2 * i * MB, 2 * MB, 0, 7);
	EXPECT_EQ(memory_of(base, &size), 0);
	EXPECT_EQ(memory_of(base + 5 * MB, &size), base + 4 * MB);
	EXPECT_EQ(size, 2 * MB);
	call("cuMemUnmap", 0, base + 4 * MB, 4 * MB, 0, 0);
	EXPECT_EQ(count_all(), 2);
	EXPECT_EQ(memory_of(base + 5 * MB, &size), 0);
	EXPECT_EQ(memory_of(base + 7 * MB, &size), 0);
	EXPECT_EQ(memory_of(base + 3 * MB, &size), base + 2 * MB);
	EXPECT_EQ(memory_of(base + 9 * MB, &size), base + 8 * MB);
	call("cuMemUnmap", 0, base, 64 * MB, 0, 0);
	call("cuMemAddressFree", 0, base, 64 * MB, 0, 0);
	EXPECT_EQ(count_all(), 0);
}

int main(void)
{
	test_allocations();
	test_mappings();
	return expect_done();
}
