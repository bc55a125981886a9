/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses in one ELF object: from the symbol tables of its file, or where that cannot be
 * read from the table in memory. Tables are read through once for all addresses, in pieces, so that
 * memory does not grow with them. For a thread of ours that nobody waits for.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_SYMBOLS_H
#define NVSNOOP_PRELOAD_WRITER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_NAME_MAX 16384u /* bytes of a name, with a NUL; longer ones count as none */

/* A symbol that an address may belong to. */
struct nvs_hit {
	uint64_t start;
	uint32_t name; /* in the table's strings */
	uint8_t table; /* index + 1; 0: none */
	bool global, sized;
};

enum { NVS_HIT_EXPORTED, NVS_HIT_ANY, NVS_HITS };

/* Zero but for the address, which is that in the file. */
struct nvs_wanted {
	uint64_t address;
	uint32_t place; /* the caller's */
	struct nvs_hit covering[NVS_HITS]; /* the innermost symbol */
	struct nvs_hit nearest[NVS_HITS]; /* the last that begins before it */
};

/* The first of N, in order of their addresses, that is not below ADDRESS; N: none. STEPS counts up
 * by each that was looked at. */
static inline size_t nvs_wanted_from(const struct nvs_wanted *wanted, size_t n, uint64_t address,
				     uint64_t *steps)
{
	size_t lo = 0, hi = n;

	for (; lo < hi; ++*steps) {
		size_t mid = lo + (hi - lo) / 2;

		if (wanted[mid].address < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct nvs_object {
	const char *path; /* "": none */
	const uint8_t *build_id;
	size_t build_id_length;
	uintptr_t bias, start; /* in memory, */
	bool loaded; /* where it still may be */
};

struct nvs_name {
	const struct nvs_wanted *wanted;
	const char *name, *exported; /* "": none */
	uint64_t offset, exported_offset;
};

/* What both functions below work in: SCRATCH. Nothing else is asked for, so that a program that is
 * short of memory keeps what it has. */
#define NVS_SCRATCH_BYTES (112u << 10)

/*
 * Calls TELL for each of N addresses that has a name, WANTED being in order of them; with FILES for
 * those too that have none, once the object's file has been looked into. Without FILES nothing is
 * opened.
 */
void nvs_symbols_find(void *scratch, const struct nvs_object *object, bool files,
		      struct nvs_wanted *wanted, size_t n,
		      void (*tell)(void *arg, const struct nvs_name *name), void *arg);

/* ---- perfmap.c ---- */

/* The same of code in no object: by the file in which process PID tells what it has made, for perf
 * and its like. Returns how many addresses were looked at, which tests hold against the lines. */
uint64_t nvs_perfmap_find(void *scratch, uint32_t pid, struct nvs_wanted *wanted, size_t n,
			  void (*tell)(void *arg, const struct nvs_name *name), void *arg);

#endif
