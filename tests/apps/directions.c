/* SPDX-License-Identifier: MIT */
/*
 * directions: copies that leave their direction to the driver, and what the program's live page
 * counts for them. The ends are at the start of an allocation or inside, pinned or pageable, or in
 * memory that was of another kind before. Prints the number of each.
 */
#include <string.h>
#include "livepage.h"

#define BYTES (1u << 20)

static uint64_t want[NVS_LIVE_DIRECTIONS][NVS_LIVE_MODES];
static CUstream stream;

static uint64_t copies(int direction, int mode)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);

		sum += load(&s->copies[direction][mode].calls);
	}
	return sum;
}

/* Copies of so many bytes, and memsets. */
static void expect_sizes(uint64_t copied, uint64_t sets, uint64_t set_bytes)
{
	uint64_t n = 0, calls = 0, bytes = 0;

	for (uint32_t i = 0; i < rows(NVS_LIVE_SLOTS); i++) {
		const struct nvs_live_slot *s = row(NVS_LIVE_SLOTS, i);

		calls += load(&s->sets);
		bytes += load(&s->set_bytes);
		for (int d = 0; d < NVS_LIVE_DIRECTIONS; d++)
			n += load(&s->copy_sizes[d][3]); /* 17 to 64 bytes */
	}
	EXPECT(n == copied && calls == sets && bytes == set_bytes, "%llu copies, %llu sets of %llu",
	       (unsigned long long)n, (unsigned long long)calls, (unsigned long long)bytes);
}

static uint64_t all_copies(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		sum += want[i][NVS_LIVE_SYNC] + want[i][NVS_LIVE_ASYNC];
	return sum;
}

static void expect_all(const char *what)
{
	for (int i = 0; i < NVS_LIVE_DIRECTIONS; i++)
		for (int k = 0; k < NVS_LIVE_MODES; k++)
			EXPECT(copies(i, k) == want[i][k], "%s: %llu of direction %d, not %llu",
			       what, (unsigned long long)copies(i, k), i,
			       (unsigned long long)want[i][k]);
}

static void copy(const char *what, enum nvs_live_direction direction, CUdeviceptr to,
		 CUdeviceptr from)
{
	for (int i = 0; i < 3; i++) {
		CK(cuMemcpy(to + 64 * i, from + 5000 * i, 64));
		CK(cuMemcpyAsync(to + 5000 * i, from, 64, stream));
	}
	CK(cuStreamSynchronize(stream));
	want[direction][NVS_LIVE_SYNC] += 3;
	want[direction][NVS_LIVE_ASYNC] += 3;
	expect_all(what);
}

/* Where memory of one kind was, there is some of another kind now. */
static void places_change(void)
{
	CUdeviceptr small, device;
	uint32_t again = 0;
	void *pinned;

	CK(cuMemAlloc_v2(&small, BYTES));
	for (int i = 0; i < 20; i++) {
		CK(cuMemAlloc_v2(&device, 4 * BYTES));
		copy("to the GPU", NVS_LIVE_D2D, device, small);
		CK(cuMemFree_v2(device));
		CK(cuMemAllocHost_v2(&pinned, 4 * BYTES));
		again += (CUdeviceptr)(uintptr_t)pinned == device;
		copy("from the GPU", NVS_LIVE_D2H, (CUdeviceptr)(uintptr_t)pinned, small);
		CK(cuMemFreeHost(pinned));
	}
	EXPECT(again, "no place was taken twice");
}

int main(void)
{
	CUdeviceptr device, to, from;
	size_t bytes = 64, first = 0;
	CUmemcpyAttributes attributes = {.srcAccessOrder = 1};
	void *pinned, *pageable = malloc(BYTES);

	app_context(0);
	find_page();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc_v2(&device, BYTES));
	CK(cuMemAllocHost_v2(&pinned, BYTES));
	memset(pageable, 0, BYTES);
	copy("pageable", NVS_LIVE_H2D, device, (CUdeviceptr)(uintptr_t)pageable);
	copy("pageable", NVS_LIVE_D2H, (CUdeviceptr)(uintptr_t)pageable, device + BYTES / 2);
	copy("pinned", NVS_LIVE_H2D, device + 100, (CUdeviceptr)(uintptr_t)pinned + 100);
	copy("pinned", NVS_LIVE_D2H, (CUdeviceptr)(uintptr_t)pinned, device);
	copy("device", NVS_LIVE_D2D, device, device + BYTES / 2);
	to = device;
	from = (CUdeviceptr)(uintptr_t)pinned;
	CK(cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &attributes, &first, 1, stream));
	want[NVS_LIVE_ANY][NVS_LIVE_ASYNC]++;
	expect_all("a batch");
	places_change();
	CK(cuMemsetD8_v2(device, 1, 1000));
	CK(cuMemsetD32_v2(device, 1, 1000));
	CK(cuMemsetD2D8Async(device, 64, 1, 10, 3, stream));
	CK(cuStreamSynchronize(stream));
	expect_sizes(all_copies(), 3, 1000 + 4000 + 30);
	puts("live ok");
	return 0;
}
