/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/* The trap's own memcpy and similar functions, compared with libc: all short lengths, all
 * alignments, all overlaps. */
#include "tests/unit/fakering.h"

void *nvs_memcpy(void *to, const void *from, size_t n);
void *nvs_memmove(void *to, const void *from, size_t n);
void *nvs_memset(void *to, int byte, size_t n);
int nvs_memcmp(const void *a, const void *b, size_t n);

#define ROOM 1024u

static uint8_t ours[ROOM], theirs[ROOM], source[ROOM];

static void fill(void)
{
	for (uint32_t i = 0; i < ROOM; i++) {
		source[i] = (uint8_t)(i * 37 + (i >> 8) * 11 + 1);
		ours[i] = theirs[i] = (uint8_t)(i * 101 + 7);
	}
}

static bool same(void)
{
	return !memcmp(ours, theirs, ROOM);
}

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

int main(void)
{
	uint32_t wrong = 0;

	for (uint32_t n = 0; n < 300; n++) {
		for (uint32_t at = 0; at < 9; at++) {
			fill();
			wrong += nvs_memcpy(ours + 16 + at, source + 8 - at, n) != ours + 16 + at;
			memcpy(theirs + 16 + at, source + 8 - at, n);
			wrong += !same();
			wrong += nvs_memset(ours + 16 + at, (int)(n + 0x1c0), n) != ours + 16 + at;
			memset(theirs + 16 + at, (int)(n + 0x1c0), n);
			wrong += !same();
		}
	}
	CHECK(!wrong);
	for (uint32_t n = 0; n < 300; n++) {
		for (uint32_t to = 0; to < 400; to += to < 290 || to > 310 ? 7 : 1) {
			fill();
			wrong += nvs_memmove(ours + to, ours + 300, n) != ours + to;
			memmove(theirs + to, theirs + 300, n);
			wrong += !same();
		}
	}
	CHECK(!wrong);
	for (uint32_t n = 0; n < 40; n++) {
		for (uint32_t at = 0; at < 44; at++) {
			for (int by = -3; by < 4; by++) {
				fill();
				memcpy(ours, source, 64);
				ours[at] = (uint8_t)(ours[at] + by * 60);
				wrong += sign(nvs_memcmp(ours, source, n)) !=
					 sign(memcmp(ours, source, n));
			}
		}
	}
	CHECK(!wrong);
	return test_result();
}
