/* SPDX-License-Identifier: MIT */
/*
 * The inverse of --dump: words of methods out of a text of their names and fields, with the same
 * tables. What --dump prints of one submission comes out as it was, word for word, entries and all;
 * a text by hand may leave out what follows from the rest. The grammar stands in nvsnoop-probe(1).
 */
#ifndef NVSNOOP_DECODE_ASSEMBLE_ASSEMBLE_H
#define NVSNOOP_DECODE_ASSEMBLE_ASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text makes no more words than this, and no more lines are looked at, those of repetitions
 * counted each time: 8 MiB. */
#define NVS_ASM_MOST (1u << 21)

struct nvs_asm_place {
	uint32_t line, column; /* from 1 on; columns in bytes */
};

struct nvs_asm_entry {
	/* As in the GPFIFO. Of a segment that the text gives no address for, that is 0; bits 41 and
	 * 63, and bit 0, are what it says of LEVEL, SYNC and FETCH in any case. */
	uint64_t entry;
	bool control; /* has no segment */
	uint32_t first, dwords; /* of words */
	struct nvs_asm_place at;
};

struct nvs_assembly {
	uint32_t *words;
	struct nvs_asm_place *places; /* of each word */
	uint32_t nwords, word_room;
	struct nvs_asm_entry *entries;
	uint32_t nentries, entry_room;
	/* Classes that its names are of, before any SET_OBJECT of its own; 0: not known. */
	uint16_t host, classes[8];
	bool given[8]; /* the text says so; else it is the one by default */
};

/* "$NAME" of the text: a buffer at ADDRESS. */
struct nvs_asm_symbol {
	const char *name;
	uint64_t address;
};

struct nvs_asm_input {
	const char *text;
	size_t length;
	const struct nvs_asm_symbol *symbols;
	uint32_t nsymbols;
	uint16_t classes[8]; /* of subchannels, where the text says nothing; 0: none */
	/* What is wrong, and where; MESSAGE is one line, fit for a terminal. */
	void (*complain)(void *arg, const struct nvs_asm_place *at, const char *message);
	void *arg;
};

/*
 * *A, whatever it held, is filled. 0, or -EINVAL: something was complained about (20 times at
 * most); -ENOMEM. To be freed in any case.
 */
int nvs_assemble(struct nvs_assembly *a, const struct nvs_asm_input *in);
void nvs_assembly_free(struct nvs_assembly *a);

#endif
