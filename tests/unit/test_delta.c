/* SPDX-License-Identifier: MIT */
/* Delta encoding of records: the reader restores what the writer encodes, for any records; a
 * foreign frame in which a record refers to a missing one is rejected. */
/* LINK: preload decode */
#include <stdbool.h>
#include "decode/trace/records.h"
#include "preload/writer/packer.h"
#include "tests/unit/expect.h"

#define WORDS (64u << 10)

static uint32_t records[WORDS], packed[WORDS], slots[NVS_DELTA_SLOTS];
static uint64_t seed = 20261122;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static uint32_t deltas(const uint32_t *frame, uint32_t total)
{
	uint32_t n = 0;

	for (uint32_t at = 0; at < total; at += frame[at + 1] / 4)
		n += (frame[at] & NVS_REC_DELTA) != 0;
	return n;
}

/* A row of records of few kinds, sizes, threads and channels: most have one like them before. */
static uint32_t fill(void)
{
	static const uint16_t types[] = {NVS_REC_SUBMISSION, NVS_REC_CALL_BEGIN, NVS_REC_CALL,
					 NVS_REC_GAP, NVS_REC_PAD};
	uint32_t at = 0, pattern = draw(1000);

	for (;;) {
		uint32_t n = draw(8) ? 12 + 2 * draw(3) : 4 + 2 * draw(200);

		if (at + n > WORDS)
			return at;
		records[at] = types[draw(5)] | draw(4) << 16;
		records[at + 1] = n * 4;
		for (uint32_t i = 2; i < n; i++)
			records[at + i] = draw(3) ? i * pattern : draw(UINT32_MAX);
		if (n > 5) {
			records[at + 4] = draw(3);
			records[at + 5] = draw(50) ? draw(4) : draw(100000);
		}
		at += n;
	}
}

static void test_random(void)
{
	uint32_t total, n = 0;
	bool same = true;

	for (int round = 0; round < 200 && same; round++) {
		total = fill();
		nvs_delta_frame(packed, records, total * 4ul, slots);
		n += deltas(packed, total);
		same = nvs_delta_restore((uint8_t *)packed, total * 4ul) &&
		       !memcmp(records, packed, total * 4ul);
	}
	EXPECT(same);
	EXPECT(n > 10000);
}

/* Two launches that differ as the two before them did leave the same words. */
static void test_like(void)
{
	for (uint32_t k = 0; k < 3; k++) {
		uint32_t *rec = records + k * 20;

		for (uint32_t i = 0; i < 20; i++)
			rec[i] = k * i;
		rec[0] = NVS_REC_SUBMISSION;
		rec[1] = 80;
		rec[4] = rec[5] = 7;
	}
	nvs_delta_frame(packed, records, 240, slots);
	EXPECT(packed[0] == NVS_REC_SUBMISSION &&
	       packed[20] == (NVS_REC_SUBMISSION | NVS_REC_DELTA));
	EXPECT(!memcmp(packed + 20, packed + 40, 80));
	EXPECT(packed[24] == 7 && packed[25] == 7 && packed[26] == 6 && packed[39] == 19);
	EXPECT(nvs_delta_restore((uint8_t *)packed, 240) && !memcmp(packed, records, 240));
}

static bool restores(uint32_t type, uint32_t size, uint32_t word5, uint32_t bytes)
{
	memset(packed, 0, 1024);
	packed[0] = NVS_REC_CALL;
	packed[1] = 80;
	packed[5] = 3;
	packed[20] = type;
	packed[21] = size;
	packed[25] = word5;
	return nvs_delta_restore((uint8_t *)packed, bytes);
}

static void test_strangers(void)
{
	EXPECT(restores(NVS_REC_CALL | NVS_REC_DELTA, 80, 3, 160));
	EXPECT(!restores(NVS_REC_CALL | NVS_REC_DELTA, 80, 4, 160));
	EXPECT(!restores(NVS_REC_SUBMISSION | NVS_REC_DELTA, 80, 3, 160));
	EXPECT(!restores(NVS_REC_CALL | NVS_REC_DELTA, 72, 3, 160));
	EXPECT(!restores(NVS_REC_GAP | NVS_REC_DELTA, 80, 3, 160));
	EXPECT(!restores(NVS_REC_CALL | NVS_REC_DELTA, 16, 3, 160));
	/* What is no record is left to whoever checks records. */
	EXPECT(restores(NVS_REC_CALL | NVS_REC_DELTA, 0, 3, 160) &&
	       packed[20] == (NVS_REC_CALL | NVS_REC_DELTA));
	EXPECT(restores(NVS_REC_CALL | NVS_REC_DELTA, 0xfffffff8, 3, 160));
	EXPECT(restores(NVS_REC_CALL | NVS_REC_DELTA, 80, 3, 156));
	EXPECT(restores(NVS_REC_CALL, 80, 3, 8) && restores(NVS_REC_CALL, 80, 3, 0));
}

/* What the program has written over a ring ends neither the writer nor the frame. */
static void test_scribbled(void)
{
	for (uint32_t i = 0; i < 1000; i++)
		records[i] = draw(UINT32_MAX);
	for (uint32_t size = 0; size < 8; size++) {
		records[0] = NVS_REC_SUBMISSION;
		records[1] = size;
		nvs_delta_frame(packed, records, 4000, slots);
		EXPECT(!memcmp(packed, records, 4000));
	}
}

int main(void)
{
	printf("seed %llu\n", (unsigned long long)seed);
	test_random();
	test_like();
	test_strangers();
	test_scribbled();
	return expect_done();
}
