/* SPDX-License-Identifier: MIT */
/*
 * Hash tables in the caller's own array, of a power of two of slots, with linear probing. Nothing
 * here allocates, locks, or calls a function outside this file.
 *
 * Memory order: none is added. NVS_HASH_PROBE evaluates the caller's condition, which loads a slot
 * as the table requires: with acquire, or by compare-exchange, where it is read without a lock. The
 * slots of such a table are filled once or replaced in place, never moved. Only tables under a lock
 * may use nvs_hash_find() and nvs_hash_remove().
 */
#ifndef NVSNOOP_PRELOAD_BASE_HASH_H
#define NVSNOOP_PRELOAD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The slot in which the search for KEY begins, in a table of 2^BITS slots. */
static inline uint32_t nvs_hash(uint64_t key, unsigned bits)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> (64 - bits));
}

/* The hash of a string: FNV-1a. */
static inline uint64_t nvs_hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ull;
	return h;
}

/* Advances AT, an index in a table of SIZE slots, while OTHER is true of the slot AT. */
#define NVS_HASH_PROBE(at, size, other) \
	while (other)                   \
	(at) = ((at) + 1) & ((size)-1)

/* Iterates AT over the first N slots of a search that begins in FIRST, of SIZE. */
#define NVS_HASH_EACH(at, first, n, size)                                          \
	for (uint32_t at##_tried = 0, at = (first) & ((size)-1); at##_tried < (n); \
	     at##_tried++, at = (at + 1) & ((size)-1))

/* ---- tables of structures that begin with a uint64_t key, 0: free; at least one is free ---- */

#define NVS_HASH_KEY(table, each, at) \
	(*(const uint64_t *)(const void *)((const uint8_t *)(table) + (size_t)(at) * (each)))

/* Returns the entry of KEY, or the free one where it belongs, whose key is 0. */
static inline void *nvs_hash_find(void *table, size_t each, unsigned bits, uint64_t key)
{
	uint32_t at = nvs_hash(key, bits), size = 1u << bits;

	NVS_HASH_PROBE(at, size,
		       NVS_HASH_KEY(table, each, at) && NVS_HASH_KEY(table, each, at) != key);
	return (uint8_t *)table + at * each;
}

/* Frees ENTRY. Moves the following ones up, so that no search ends too early. */
static inline void nvs_hash_remove(void *table, size_t each, unsigned bits, void *entry)
{
	uint32_t mask = (1u << bits) - 1;
	uint32_t hole = (uint32_t)((size_t)((uint8_t *)entry - (uint8_t *)table) / each), at = hole;
	uint64_t key;

	while ((key = NVS_HASH_KEY(table, each, at = (at + 1) & mask))) {
		if (((at - nvs_hash(key, bits)) & mask) < ((at - hole) & mask))
			continue;
		memcpy((uint8_t *)table + hole * each, (uint8_t *)table + at * each, each);
		hole = at;
	}
	memset((uint8_t *)table + hole * each, 0, each);
}

#endif
