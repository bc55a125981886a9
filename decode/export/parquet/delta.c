/* SPDX-License-Identifier: MIT */
/* Encodes numbers as differences. A block has a minimum, which is subtracted from its differences;
 * each part of a block has a width in bits. Differences wrap around. */
#include "decode/export/parquet/delta.h"
#include <endian.h>
#include "decode/export/proto.h"

#define BLOCK 128u
#define PARTS 4u
#define PART (BLOCK / PARTS)

static void put_signed(struct nvs_proto *page, uint64_t value)
{
	nvs_proto_varint(page, value << 1 ^ (value >> 63 ? UINT64_MAX : 0));
}

/* Packs the numbers of a part: 32 of WIDTH bits are a whole number of bytes. */
static void put_part(struct nvs_proto *page, const uint64_t *values, uint32_t width)
{
	uint64_t packed[PART + 1], bits = 0;
	uint32_t filled = 0, n = 0;

	for (uint32_t i = 0; i < PART; i++) {
		bits |= values[i] << filled;
		filled += width;
		if (filled < 64)
			continue;
		packed[n++] = htole64(bits);
		filled -= 64;
		bits = filled ? values[i] >> (width - filled) : 0;
	}
	packed[n] = htole64(bits);
	nvs_proto_put(page, packed, PART * width / 8);
}

/* VALUES: the differences, N of them; the rest of the block is 0. */
static void put_block(struct nvs_proto *page, uint64_t values[BLOCK], uint32_t n)
{
	uint8_t widths[PARTS] = {0};
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < n; i++)
		least = (int64_t)values[i] < least ? (int64_t)values[i] : least;
	for (uint32_t part = 0; part * PART < n; part++) {
		uint64_t any = 0;

		for (uint32_t i = part * PART; i < (part + 1) * PART && i < n; i++)
			any |= values[i] -= (uint64_t)least;
		widths[part] = any ? (uint8_t)(64 - __builtin_clzll(any)) : 0;
	}
	put_signed(page, (uint64_t)least);
	nvs_proto_put(page, widths, sizeof(widths));
	for (uint32_t part = 0; part < PARTS; part++)
		if (widths[part])
			put_part(page, values + part * PART, widths[part]);
}

void nvs_parquet_put_deltas(struct nvs_proto *page, const int64_t *numbers, uint32_t n)
{
	nvs_proto_varint(page, BLOCK);
	nvs_proto_varint(page, PARTS);
	nvs_proto_varint(page, n);
	put_signed(page, n ? (uint64_t)numbers[0] : 0);
	for (uint32_t i = 1; i < n; i += BLOCK) {
		uint32_t here = n - i < BLOCK ? n - i : BLOCK;
		uint64_t values[BLOCK] = {0};

		for (uint32_t k = 0; k < here; k++)
			values[k] = (uint64_t)numbers[i + k] - (uint64_t)numbers[i + k - 1];
		put_block(page, values, here);
	}
}
