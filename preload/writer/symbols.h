/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses in one ELF object, from the symbol tables of its file, or from the table in
 * memory if the file cannot be read. Each table is read once for all addresses, in blocks, so that
 * memory use is constant. Runs on a thread of the library on which nothing waits.
 */
#ifndef NVSNOOP_PRELOAD_WRITER_SYMBOLS_H
#define NVSNOOP_PRELOAD_WRITER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_NAME_MAX 16384u /* maximum size of a name, with the NUL; longer ones are ignored */

/* A symbol that may contain an address. */
struct nvs_hit {
	uint64_t start;
	uint32_t name; /* offset in the table's strings */
	uint8_t table; /* index + 1; 0: none */
	bool global, sized;
};

enum { NVS_HIT_EXPORTED, NVS_HIT_ANY, NVS_HITS };

/* All fields are zero but the address, which is relative to the file. */
struct nvs_wanted {
	uint64_t address;
	uint32_t place; /* for the caller's use */
	struct nvs_hit covering[NVS_HITS]; /* the innermost symbol */
	struct nvs_hit nearest[NVS_HITS]; /* the last symbol that starts before it */
};

/* Returns the index of the first of N addresses, in ascending order, that is >= ADDRESS; N if there
 * is none. STEPS counts comparisons. */
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

struct nvs_elf_module {
	const char *path; /* "": none */
	const uint8_t *build_id;
	size_t build_id_length;
	uintptr_t bias, start; /* in memory, */
	bool loaded; /* if it is still loaded */
};

struct nvs_name {
	const struct nvs_wanted *wanted;
	const char *name, *exported; /* "": none */
	uint64_t offset, exported_offset;
};

/* Size of SCRATCH, the working memory of both functions below. They allocate nothing, so that a
 * program short of memory keeps what it has. */
#define NVS_SCRATCH_BYTES (112u << 10)

/*
 * Calls TELL for each of the N addresses, in ascending order, that has a name. With FILES, the
 * object's file is read, and TELL is then also called for addresses without a name. Without FILES
 * no file is opened.
 */
void nvs_symbols_find(void *scratch, const struct nvs_elf_module *object, bool files,
		      struct nvs_wanted *wanted, size_t n,
		      void (*tell)(void *arg, const struct nvs_name *name), void *arg);

/* ---- perfmap.c ---- */

/* The same for code that is in no object, from the file that process PID writes for perf. Returns
 * the number of comparisons, for tests. */
uint64_t nvs_perfmap_find(void *scratch, uint32_t pid, struct nvs_wanted *wanted, size_t n,
			  void (*tell)(void *arg, const struct nvs_name *name), void *arg);

#endif
