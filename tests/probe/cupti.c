/* SPDX-License-Identifier: MIT */
/* Stands in for libcupti.so: tells of 103 copies to the device of a few sizes at every flush, each
 * of 1000 ns and one more for 16 bytes, and of some that must not count. */
#include <stdint.h>
#include <string.h>

struct record { /* CUpti_ActivityMemcpy */
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint8_t rest[24];
};

static void (*requested)(uint8_t **, size_t *, size_t *);
static void (*completed)(void *, uint32_t, uint8_t *, size_t, size_t);

int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
				   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
	requested = request;
	completed = complete;
	return 0;
}

int cuptiActivityEnable(int kind)
{
	return kind != 1;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	static const uint64_t sizes[] = {32, 8192, 32768};
	uint64_t now = 1000000;

	for (int i = 0; i < 3; i++) {
		size_t size, most, at = 0;
		uint8_t *buffer;

		requested(&buffer, &size, &most);
		for (int k = 0; k < 3 * 103; k++) {
			uint64_t ns = 1000 + sizes[i] / 16;
			/* To the device; from it; a memset, which is another record. */
			struct record r = {.kind = k % 3 == 2 ? 2 : 1,
					   .copy = k % 3 == 1 ? 2 : 1,
					   .bytes = sizes[i],
					   .start = now,
					   .end = now + (k % 3 ? 7 : ns)};

			memcpy(buffer + at, &r, sizeof(r));
			at += sizeof(r);
			now += 5000;
		}
		completed(NULL, flag, buffer, size, at);
	}
	return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + sizeof(struct record) : buffer;

	if (next >= buffer + valid)
		return 12; /* CUPTI_ERROR_MAX_LIMIT_REACHED */
	*record = next;
	return 0;
}
