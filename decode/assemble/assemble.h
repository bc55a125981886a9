/* SPDX-License-Identifier: MIT */
/*
 * The inverse of --dump: assembles method words from a text of method names and fields, using the
 * same tables. The output of --dump for one submission assembles to the same words and entries; a
 * text written by hand may leave out whatever follows from the rest. The grammar is in
 * nvsnoop-probe(1).
 */
#ifndef NVSNOOP_DECODE_ASSEMBLE_ASSEMBLE_H
#define NVSNOOP_DECODE_ASSEMBLE_ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of words that a text makes (8 MiB), and of lines read, where each pass of a
 * repetition counts. */
#define NVS_ASM_MAX_WORDS (1u << 21)

struct nvs_asm_place {
	uint32_t line, column; /* from 1; columns in bytes */
};

struct nvs_asm_entry {
	/* As in the GPFIFO. The address is 0 for a segment that the text gives none for; bits 41
	 * and 63, and bit 0, always hold LEVEL, SYNC and FETCH as the text gives them. */
	uint64_t entry;
	bool control; /* without a segment */
	uint32_t first, dwords; /* range of words */
	struct nvs_asm_place at;
};

struct nvs_assembly {
	uint32_t *words;
	struct nvs_asm_place *places; /* one for each word */
	uint32_t nwords, word_room;
	struct nvs_asm_entry *entries;
	uint32_t nentries, entry_room;
	/* Classes assumed before any SET_OBJECT of the text; 0: unknown. */
	uint16_t host, classes[8];
	bool given[8]; /* stated in the text, not the default */
};

/* "$NAME" in the text stands for a buffer at ADDRESS. */
struct nvs_asm_symbol {
	const char *name;
	uint64_t address;
};

struct nvs_asm_input {
	const char *text;
	size_t length;
	const struct nvs_asm_symbol *symbols;
	uint32_t nsymbols;
	uint16_t classes[8]; /* default class of each subchannel; 0: none */
	/* Receives each error and its place; MESSAGE is one line, escaped for a terminal. */
	void (*complain)(void *arg, const struct nvs_asm_place *at, const char *message);
	void *arg;
};

/* Overwrites *A, which must be freed whatever the result. Returns 0, -ENOMEM, or -EINVAL if errors
 * were reported (20 at most). */
int nvs_assemble(struct nvs_assembly *a, const struct nvs_asm_input *in);
void nvs_assembly_free(struct nvs_assembly *a);

#endif
