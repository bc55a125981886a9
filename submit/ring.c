/* SPDX-License-Identifier: MIT */
/* Submits to a GPFIFO: entries, GP_PUT, doorbell; the GPU sees each store before the next one. */
#include "trap/arch/cpu.h"
#include "submit/ring.h"
#include <errno.h>
#include <time.h>

#define USERD_GP_GET (0x88 / 4)
#define USERD_GP_PUT (0x8c / 4)
#define GP_EXTENDED_BASE 4ull /* opcode of a control entry */
#define PATIENCE_NS 1000000000ull

static uint64_t base_of(uint64_t address)
{
	return address >> 40;
}

/* True if the channel's class can address ADDRESS. */
static bool can_reach(const struct nvs_ring *r, uint64_t address)
{
	if (base_of(address) && r->object_class < NVS_EXTENDED_BASE_CLASS)
		return false;
	return address >> 57 == 0;
}

void nvs_ring_open(struct nvs_ring *r)
{
	r->put = r->done = r->userd[USERD_GP_PUT] & (r->entries - 1);
}

void nvs_ring_mark_idle(struct nvs_ring *r)
{
	r->done = r->put;
}

static uint64_t segment_entry(const struct nvs_ring_segment *p)
{
	return (p->address & 0xfffffffffcull) | (uint64_t)p->dwords << 42 | p->bits;
}

static uint64_t extended_base(uint64_t address)
{
	return base_of(address) << 8 | GP_EXTENDED_BASE << 32;
}

/* Number of entries for the pieces: one each, and one for every change of the upper address bits.
 *  */
static uint32_t entries_of(const struct nvs_ring_segment *pieces, uint32_t n)
{
	uint64_t base = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		count += 1 + (base_of(pieces[i].address) != base);
		base = base_of(pieces[i].address);
	}
	return count + (base != 0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The ring is full when GP_PUT is one before GP_GET. */
static int wait_for_room(const struct nvs_ring *r, uint32_t n)
{
	uint64_t begin = now_ns();

	for (;;) {
		bool has_get = r->object_class < NVS_NO_GET_CLASS;
		uint32_t get = has_get ? r->userd[USERD_GP_GET] : r->done;

		if (((get - r->put - 1) & (r->entries - 1)) >= n)
			return 0;
		if (!has_get || now_ns() - begin > PATIENCE_NS)
			return -EBUSY;
	}
}

static void put_entry(struct nvs_ring *r, uint64_t entry)
{
	r->gpfifo[r->put] = entry;
	r->put = (r->put + 1) & (r->entries - 1);
}

int nvs_ring_submit(struct nvs_ring *r, const struct nvs_ring_segment *pieces, uint32_t n)
{
	uint32_t count = entries_of(pieces, n);
	uint64_t base = 0;
	int err;

	for (uint32_t i = 0; i < n; i++) {
		if (!can_reach(r, pieces[i].address))
			return -ERANGE;
		if (pieces[i].dwords > NVS_SEGMENT_DWORDS_MAX)
			return -E2BIG;
	}
	if (count >= r->entries)
		return -E2BIG;
	err = wait_for_room(r, count);
	if (err)
		return err;
	nvs_fence_device();
	for (uint32_t i = 0; i < n; i++) {
		if (base_of(pieces[i].address) != base)
			put_entry(r, extended_base(pieces[i].address));
		base = base_of(pieces[i].address);
		put_entry(r, segment_entry(&pieces[i]));
	}
	if (base)
		put_entry(r, extended_base(0));
	nvs_fence_device();
	r->userd[USERD_GP_PUT] = r->put;
	nvs_fence_device();
	*r->doorbell = r->token;
	nvs_fence_device();
	return 0;
}
