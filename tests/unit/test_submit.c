/* SPDX-License-Identifier: MIT */
/* LINK: submit/ring.o */
/* A GPFIFO of our own: when it has space, with and without GP_GET. */
#include <errno.h>
#include "submit/ring.h"
#include "tests/unit/expect.h"

#define ENTRIES 8

static uint64_t gpfifo[ENTRIES];
static uint32_t userd[128], doorbell;
static const struct nvs_ring_segment pieces[ENTRIES];

static struct nvs_ring open_ring(uint32_t object_class)
{
	struct nvs_ring r = {
		gpfifo,	    userd,
		&doorbell,  .entries = ENTRIES,
		.token = 7, .object_class = object_class,
	};

	userd[0x88 / 4] = userd[0x8c / 4] = 3;
	nvs_ring_open(&r);
	return r;
}

/* Submits N single pieces, and expects room for all of them. */
static void fill(struct nvs_ring *r, uint32_t n)
{
	while (n--)
		EXPECT(!nvs_ring_submit(r, pieces, 1));
}

int main(void)
{
	struct nvs_ring r = open_ring(NVS_NO_GET_CLASS - 0x100);

	fill(&r, ENTRIES - 1);
	EXPECT(userd[0x8c / 4] == 2 && doorbell == 7);
	userd[0x88 / 4] = 1; /* six have been fetched */
	fill(&r, 6);
	EXPECT(nvs_ring_submit(&r, pieces, ENTRIES) == -E2BIG);

	/* GP_GET never moves; what stands there means nothing. */
	r = open_ring(NVS_NO_GET_CLASS);
	fill(&r, ENTRIES - 1);
	userd[0x88 / 4] = 1;
	EXPECT(nvs_ring_submit(&r, pieces, 1) == -EBUSY);
	nvs_ring_mark_idle(&r);
	fill(&r, ENTRIES - 1);
	EXPECT(nvs_ring_submit(&r, pieces, 1) == -EBUSY);
	return expect_done();
}
