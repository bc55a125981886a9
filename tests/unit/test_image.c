/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* The image of the GPU's memory, compared with a plain array with a mark for each byte: writes,
 * fills, copies and forgetting at any address and of any length, aligned to dwords or not. */
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/memory_image.h"
#include "tests/unit/expect.h"

#define BYTES 32768u
#define STEPS 60000u
#define SEED 20261122u

static uint8_t model[BYTES], known[BYTES];

static uint32_t below(uint32_t n)
{
	static uint64_t state = SEED;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static bool all_known(uint32_t at, uint32_t n)
{
	return !memchr(known + at, 0, n);
}

/* A range that is mostly one of whole dwords. */
static void draw(uint32_t *at, uint32_t *n)
{
	bool odd = !below(8);

	*n = 1 + below(below(4) ? 64 : 6000);
	*at = below(BYTES - *n - 8);
	*at &= odd ? ~0u : ~3u;
	*n = odd ? *n : (*n + 3) & ~3u;
}

static void write_some(struct nvs_memimage *image, uint32_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		model[at + i] = (uint8_t)below(256);
	memset(known + at, 1, n);
	nvs_memimage_write(image, at, model + at, n);
}

static void fill_some(struct nvs_memimage *image, uint32_t at, uint32_t n)
{
	uint8_t element[16];
	uint32_t size = 1 + below(sizeof(element));

	for (uint32_t i = 0; i < size; i++)
		element[i] = (uint8_t)below(256);
	for (uint32_t i = 0; i < n; i++)
		model[at + i] = element[i % size];
	memset(known + at, 1, n);
	nvs_memimage_fill(image, at, element, size, n);
}

/* What a piece of it lacks, none of the piece gets: but for whole ranges nothing is expected. */
static void copy_some(struct nvs_memimage *image, uint32_t at, uint32_t n)
{
	uint32_t from = below(BYTES - n);

	if (!all_known(from, n) || (from < at + n && at < from + n))
		return;
	memcpy(model + at, model + from, n);
	memset(known + at, 1, n);
	nvs_memimage_copy(image, at, from, n);
}

static bool reads_right(struct nvs_memimage *image, uint32_t at, uint32_t n)
{
	static uint8_t bytes[BYTES];
	const void *here = nvs_memimage_peek(image, at, n);
	bool read = nvs_memimage_read(image, at, bytes, n);

	if (read != all_known(at, n) || (here && !read))
		return false;
	return (!read || !memcmp(bytes, model + at, n)) && (!here || !memcmp(here, model + at, n));
}

int main(void)
{
	struct nvs_memimage *image = nvs_memimage_new(BYTES / 4096);
	uint32_t wrong = 0, seen = 0;

	printf("seed %u\n", SEED);
	nvs_memimage_allow(image, UINT32_MAX);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t at, n, what = below(8);

		draw(&at, &n);
		if (what < 2)
			write_some(image, at, n);
		else if (what == 2)
			fill_some(image, at, n);
		else if (what == 3)
			copy_some(image, at, n);
		else if (what == 4)
			nvs_memimage_mark_kept(image, at, n);
		else if (what == 5) {
			memset(known + at, 0, n);
			nvs_memimage_invalidate(image, at, n);
		} else {
			wrong += !reads_right(image, at, n);
			seen += all_known(at, n);
		}
	}
	EXPECT(!wrong);
	EXPECT(seen > STEPS / 50);
	nvs_memimage_free(image);
	return expect_done();
}
