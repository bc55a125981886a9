/* SPDX-License-Identifier: MIT */
/* Draws the key of the hash function at program start. */
#include <sys/random.h>
#include <time.h>
#include "decode/base/hash.h"

uint64_t nvs_hash_key[2];

__attribute__((constructor)) static void draw_key(void)
{
	struct timespec now;

	if (getrandom(nvs_hash_key, sizeof(nvs_hash_key), GRND_NONBLOCK) != sizeof(nvs_hash_key)) {
		clock_gettime(CLOCK_REALTIME, &now);
		nvs_hash_key[0] = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u;
		nvs_hash_key[1] = (uintptr_t)&now ^ (uint64_t)now.tv_sec << 32;
	}
	nvs_hash_key[1] |= 1;
}
