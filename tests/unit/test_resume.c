/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* Where decoding resumes after a dword that is not a header: launches as libcuda writes them, with
 * each header broken in turn, cut into windows, and data that looks like headers. */
#include <stdlib.h>
#include "decode/gpu/resync.h"
#include "tests/unit/expect.h"
#include "tests/unit/pbmake.h"

#define LAUNCHES 64

static struct pb pb;
static struct nvs_ops *ops;
static struct nvs_ops_channel *channel;

static void make_stream(void)
{
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint32_t constants[132] = {256, 1, 1, i}, five = 5;
		/* The lower half of this address looks like a header of 7,136 words. */
		uint64_t bank = 0x7f187be00000ull + i * 0x400;

		pb_upload(&pb, bank, constants, 0x210);
		pb_upload(&pb, 0x204637000, &five, 4);
		pb_trigger(&pb, 0x204e54000ull + i * 0x800, 10);
		pb_report(&pb, 0x20460ffe0, i + 1, 4);
	}
}

static uint32_t length(uint32_t header)
{
	return 1 + (header >> 29 == 4 ? 0 : header >> 16 & 0x1fff);
}

/* From behind each header: its data is passed over, and nothing else. */
static void each_header(void)
{
	uint32_t right = 0, headers = 0;

	for (size_t i = 0; i + length(pb.words[i]) < pb.n; i += length(pb.words[i])) {
		size_t n = length(pb.words[i]), passed;

		right += nvs_resync(channel, pb.words + i + 1, pb.n - i - 1, true, &passed) &&
			 passed == n - 1;
		headers++;
	}
	EXPECT(headers > 8 * LAUNCHES);
	EXPECT_EQ(right, headers);
}

static void nowhere(void)
{
	static uint32_t words[4096];
	uint32_t x = 1;
	size_t passed;

	EXPECT(!nvs_resync(channel, words, 4096, true, &passed));
	EXPECT_EQ(passed, 4096);
	/* One header that is known, with data up to the end, among what is none. */
	for (uint32_t i = 0; i < 4096; i++)
		words[i] = 0xc0000000 | (x = x * 1664525 + 1013904223) >> 4;
	words[4000] = 0x605f206d;
	EXPECT(nvs_resync(channel, words, 4096, true, &passed));
	EXPECT_EQ(passed, 4000);
	/* Where more may follow that proves nothing. */
	EXPECT(!nvs_resync(channel, words, 4096, false, &passed));
	EXPECT_EQ(passed, 0);
	words[4001] = 0;
	words[4000] = 0x20012fff; /* no such method */
	EXPECT(!nvs_resync(channel, words, 4096, true, &passed));
}

/* A long way to the stream, in windows: the same place as in one. */
static void windows(void)
{
	size_t noise = 3 * NVS_RESYNC_AHEAD, n = noise + pb.n, start = 0, passed, end;
	uint32_t *words = malloc(4 * n);
	bool found = false;

	if (!words)
		return;
	for (size_t i = 0; i < noise; i++)
		words[i] = 0xc0000001;
	memcpy(words + noise, pb.words, 4 * pb.n);
	while (!found && start < n) {
		end = start + NVS_RESYNC_AHEAD + 1000 < n ? start + NVS_RESYNC_AHEAD + 1000 : n;
		found = nvs_resync(channel, words + start, end - start, end == n, &passed);
		start += passed;
	}
	EXPECT(found);
	EXPECT_EQ(start, noise);
	free(words);
}

int main(void)
{
	struct nvs_ops_sink sink = {0};
	struct nvs_ops_channel_info info = {.host_class = 0xc86f, .defaults = {0, 0xcbc0}};

	ops = nvs_ops_new(&sink);
	channel = ops ? nvs_ops_channel_new(ops, &info) : NULL;
	if (!channel)
		return 1;
	make_stream();
	each_header();
	nowhere();
	windows();
	nvs_ops_free(ops);
	return expect_done();
}
