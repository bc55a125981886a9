/* SPDX-License-Identifier: MIT */
/* Shared by the assembler's files: the state of the text in progress, its tokens, and the functions
 * that turn them into words. */
#ifndef NVSNOOP_DECODE_ASSEMBLE_TEXT_H
#define NVSNOOP_DECODE_ASSEMBLE_TEXT_H

#include "decode/assemble/assemble.h"
#include "decode/base/nearest.h"
#include "decode/gpu/class.h"
#include "decode/gpu/ops.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/method_format.h"

#define NVS_ASM_MAX_DEPTH 8 /* maximum nesting of repetitions */

/* How to read eight digits without 0x. A decimal number may look like a word of the dump; the place
 * in the line decides, and where it cannot, the number is refused. */
enum nvs_asm_eight {
	NVS_ASM_EIGHT_REFUSED, /* unless it contains letters */
	NVS_ASM_EIGHT_HEX, /* where --dump prints words */
	NVS_ASM_EIGHT_DECIMAL, /* counts */
};

struct nvs_token {
	const char *p;
	size_t n; /* 0 at the end of the line */
	uint32_t column;
};

/* The header whose data words come next. */
struct nvs_asm_header {
	bool open;
	bool counted; /* the text gives the number of words */
	bool made; /* made by the assembler, not in the text */
	uint8_t form, subch; /* enum nvs_pb_form */
	uint16_t method; /* bytes */
	uint32_t total, done; /* data words */
	uint32_t word; /* its index in the words */
	struct nvs_asm_place at;
};

/* The data words that a line "NAME [9]" announces. */
struct nvs_asm_data {
	bool open, counted;
	uint8_t subch;
	uint16_t method;
	uint32_t left;
	struct nvs_asm_place at;
};

struct nvs_asm_repeat {
	const char *body;
	uint32_t line; /* first line of the body */
	uint32_t left, pass; /* passes left, and the current one */
	struct nvs_asm_place at;
};

/* What the text states about an entry, apart from its flags. */
struct nvs_asm_stated {
	bool dwords_given;
	uint32_t dwords;
	uint64_t address; /* 0: not stated */
};

struct nvs_asm {
	const struct nvs_asm_input *in;
	struct nvs_assembly *out;
	const char *next, *end; /* what is left to read */
	const char *line_start;
	struct nvs_asm_place at; /* the line, and the column of the current token */
	uint32_t lines, errors;
	bool no_memory, over; /* nothing more is read */
	bool bad; /* the current line has an error */
	bool headed; /* a submission heading was read */
	uint8_t eight; /* enum nvs_asm_eight, for the current line */
	uint8_t subch; /* default for lines that name none */
	const struct nvs_class *host, *classes[8]; /* currently bound */
	struct nvs_asm_header header;
	struct nvs_asm_data data;
	struct nvs_asm_stated *stated; /* one for each entry */
	uint32_t stated_room;
	struct nvs_asm_repeat repeat[NVS_ASM_MAX_DEPTH];
	uint32_t deep;
	uint32_t skipping; /* nested repetitions with a count of 0 that are open */
};

/* ---- tokens.c ---- */
/* Reports an error at COLUMN of the line (0: at the line's first token). Only the first one of a
 * line is reported. */
void nvs_asm_error(struct nvs_asm *s, uint32_t column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void nvs_asm_error_at(struct nvs_asm *s, const struct nvs_asm_place *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Reports an unknown name and suggests similar ones. */
void nvs_asm_unknown_name(struct nvs_asm *s, const struct nvs_token *t,
			  const struct nvs_nearest *near, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Returns the next blank-separated token of the line; empty at a comment or the end of the line. */
struct nvs_token nvs_asm_next_token(struct nvs_asm *s);
/* Puts back T, the last token read. */
void nvs_asm_put_back(struct nvs_asm *s, const struct nvs_token *t);
bool nvs_token_is(const struct nvs_token *t, const char *word);
/* Reads exactly N hexadecimal digits into *VALUE. */
bool nvs_token_hex(const struct nvs_token *t, size_t n, uint64_t *value);
/* Copies the token to NAME. Returns NULL if it is longer than any name. */
#define NVS_ASM_NAME 96
const char *nvs_token_name(const struct nvs_token *t, char name[NVS_ASM_NAME]);

/* ---- value.c ---- */
struct nvs_asm_value {
	uint64_t v;
	bool address; /* a 64-bit address, whatever its value */
};
/* Reads a whole token as a value: 12, 0x1f, 0000001f if s->eight allows, $src+16*$i, $src.hi.
 * Returns false after reporting an error. */
bool nvs_asm_value(struct nvs_asm *s, const struct nvs_token *t, struct nvs_asm_value *v);
/* Reads a value that is no address and at most MOST. */
bool nvs_asm_read_number(struct nvs_asm *s, const struct nvs_token *t, uint32_t most, uint32_t *v);
/* Reads a decimal count, with any number of digits. */
bool nvs_asm_read_decimal(struct nvs_asm *s, const struct nvs_token *t, uint32_t *n);
/* Reads "[9]", or "[]" as UINT32_MAX. Returns false after reporting an error. */
bool nvs_asm_read_count(struct nvs_asm *s, const struct nvs_token *t, uint32_t *count);

/* ---- emit.c ---- */
void nvs_asm_add_word(struct nvs_asm *s, uint32_t word, uint32_t column);
/* TOTAL is UINT32_MAX if the words are to be counted. EXTRA holds bits outside all fields of a
 * header. */
void nvs_asm_header(struct nvs_asm *s, uint8_t form, uint8_t subch, uint32_t method, uint32_t total,
		    uint32_t extra);
/* Adds a data word for METHOD (in bytes): to the open header if it continues there, else to a new
 * header of FORM. */
void nvs_asm_data(struct nvs_asm *s, uint8_t subch, uint32_t method, uint32_t value, uint8_t form,
		  uint32_t column);
/* Adds a raw word, which is the next data word if a header is open. */
void nvs_asm_add_raw(struct nvs_asm *s, uint32_t value, uint32_t column);
/* Closes the open header and data; reports an error if announced words are missing. */
void nvs_asm_close_header(struct nvs_asm *s);
void nvs_asm_close_data(struct nvs_asm *s);
void nvs_asm_entry(struct nvs_asm *s, const struct nvs_asm_entry *entry,
		   const struct nvs_asm_stated *stated);
/* Completes all entries. */
void nvs_asm_finish_entries(struct nvs_asm *s);

/* ---- entry.c ---- */
/* Reads the rest of a line after "entry", for example "0000220202800000 address 0x202800000 8
 * dwords subroutine" or only "sync". */
void nvs_asm_read_entry(struct nvs_asm *s);
/* --dump prints a header that ends a segment with its data, which begins the next segment. ADDRESS,
 * the header's own, shows that the last word belongs to the preceding entry, and moves it there. */
void nvs_asm_move_header(struct nvs_asm *s, uint64_t address);

/* ---- fields.c ---- */
/* The method that a line names, and its value. */
struct nvs_asm_line {
	uint8_t subch;
	const struct nvs_class *cls; /* NULL: unknown */
	const struct nvs_method *method; /* NULL: in no table */
	uint32_t offset;
	struct nvs_token name;
	/* The value as given so far. */
	bool has_value, has_fields;
	uint32_t value, fields, known; /* mask of the bits that fields have set */
	struct nvs_token value_at;
};
/* Reads the value of the whole 32-bit word. */
void nvs_asm_read_whole(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t);
/* Reads "UPPER=0x2"; EQUALS is the offset of '='. */
void nvs_asm_read_field(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t,
			size_t equals);
/* Reads "+0x800": bits outside all fields. */
void nvs_asm_read_bits(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t);

/* ---- method.c ---- */
/* Reads a line such as "[s4] [c8b5] [0240] SET_SEMAPHORE_A 00000002 UPPER=0x2". */
void nvs_asm_read_method(struct nvs_asm *s);
/* Reads "0240" or "SET_SEMAPHORE_A" on the current subchannel. Returns the offset in bytes, or
 * UINT32_MAX after reporting an error. */
uint32_t nvs_asm_read_offset(struct nvs_asm *s, const struct nvs_token *t);
/* Reads "s4", which also applies to the lines that follow. */
bool nvs_asm_read_subchannel(struct nvs_asm *s, const struct nvs_token *t);

#endif
