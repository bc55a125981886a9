/* SPDX-License-Identifier: MIT */
/*
 * uthash with a keyed hash function, for keys that come from a trace. uthash's own function has no
 * key, so a crafted trace could put all its keys into one bucket; this one uses a random key in
 * each process. If memory is short, HASH_ADD does not add the element.
 */
#ifndef NVSNOOP_DECODE_BASE_HASH_H
#define NVSNOOP_DECODE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, length, value) ((value) = nvs_hash(key, length))
#include <uthash.h>

extern uint64_t nvs_hash_key[2]; /* drawn before main() */

static inline uint64_t nvs_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t nvs_hash64(const void *key, size_t length)
{
	const uint8_t *p = key;
	uint64_t hash = nvs_hash_key[0] ^ length, word;

	for (; length >= sizeof(word); p += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = nvs_hash_mix(hash ^ word, nvs_hash_key[1]) ^ nvs_hash_key[0];
	}
	/* The rest, without a call of memcpy(). */
	word = 0;
	for (size_t i = 0; i < length; i++)
		word = word << 8 | p[i];
	return nvs_hash_mix(hash ^ word, nvs_hash_key[1]);
}

static inline unsigned nvs_hash(const void *key, size_t length)
{
	uint64_t hash = nvs_hash64(key, length);

	return (unsigned)(hash ^ hash >> 32);
}

#endif
