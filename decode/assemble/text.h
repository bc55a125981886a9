/* SPDX-License-Identifier: MIT */
/* What the assembler's files share: the text in progress, its tokens, and the words made of it. */
#ifndef NVSNOOP_DECODE_ASSEMBLE_TEXT_H
#define NVSNOOP_DECODE_ASSEMBLE_TEXT_H

#include "decode/assemble/assemble.h"
#include "decode/base/nearest.h"
#include "decode/gpu/class.h"
#include "decode/gpu/ops.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/method_format.h"

#define NVS_ASM_DEEP 8 /* repetitions within each other */

/* What eight digits without 0x are. Those of a decimal number that look like a word of the dump are
 * told by where they stand, and nowhere guessed. */
enum nvs_asm_eight {
	NVS_ASM_EIGHT_REFUSED, /* unless letters among them say it */
	NVS_ASM_EIGHT_HEX, /* where --dump prints words */
	NVS_ASM_EIGHT_DECIMAL, /* counts */
};

struct nvs_token {
	const char *p;
	size_t n; /* 0: the line is over */
	uint32_t column;
};

/* The header whose data words come next. */
struct nvs_asm_header {
	bool open;
	bool counted; /* the text says how many */
	bool made; /* not the text's own */
	uint8_t form, subch; /* enum nvs_pb_form */
	uint16_t method; /* bytes */
	uint32_t total, done; /* data words */
	uint32_t word; /* where it stands */
	struct nvs_asm_place at;
};

/* Words of data that a line "NAME [9]" announces. */
struct nvs_asm_data {
	bool open, counted;
	uint8_t subch;
	uint16_t method;
	uint32_t left;
	struct nvs_asm_place at;
};

struct nvs_asm_repeat {
	const char *body;
	uint32_t line; /* of the body */
	uint32_t left, pass; /* passes to come, and which this one is */
	struct nvs_asm_place at;
};

/* What the text says of an entry, beside its flags. */
struct nvs_asm_stated {
	bool dwords_given;
	uint32_t dwords;
	uint64_t address; /* 0: none */
};

struct nvs_asm {
	const struct nvs_asm_input *in;
	struct nvs_assembly *out;
	const char *next, *end; /* what is to be read */
	const char *line_start;
	struct nvs_asm_place at; /* the line, and the column of what is looked at */
	uint32_t lines, errors;
	bool no_memory, over; /* nothing more is read */
	bool bad; /* the line is */
	bool headed; /* a submission has begun */
	uint8_t eight; /* enum nvs_asm_eight: of the line */
	uint8_t subch; /* of lines that name none */
	const struct nvs_class *host, *classes[8]; /* as they stand */
	struct nvs_asm_header header;
	struct nvs_asm_data data;
	struct nvs_asm_stated *stated; /* of each entry */
	uint32_t stated_room;
	struct nvs_asm_repeat repeat[NVS_ASM_DEEP];
	uint32_t deep;
	uint32_t skipping; /* repetitions of no pass that are open */
};

/* ---- tokens.c ---- */
/* Complains at COLUMN of the line (0: the line's first token), once a line. */
void nvs_asm_wrong(struct nvs_asm *s, uint32_t column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void nvs_asm_wrong_at(struct nvs_asm *s, const struct nvs_asm_place *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, with the names that may be meant. */
void nvs_asm_unknown(struct nvs_asm *s, const struct nvs_token *t, const struct nvs_nearest *near,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The next token of the line, which has no blank in it; a comment is none. */
struct nvs_token nvs_asm_token(struct nvs_asm *s);
/* The line goes on from T, which was had last. */
void nvs_asm_back(struct nvs_asm *s, const struct nvs_token *t);
bool nvs_token_is(const struct nvs_token *t, const char *word);
/* N hexadecimal digits, neither more nor less, into *value. */
bool nvs_token_hex(const struct nvs_token *t, size_t n, uint64_t *value);
/* The token as a string; NULL: it is longer than any name. */
#define NVS_ASM_NAME 96
const char *nvs_token_name(const struct nvs_token *t, char name[NVS_ASM_NAME]);

/* ---- value.c ---- */
struct nvs_asm_value {
	uint64_t v;
	bool address; /* of 64 bits, whatever its value */
};
/* 12, 0x1f, 0000001f by s->eight, $src+16*$i, $src.hi; all of the token. False: complained. */
bool nvs_asm_value(struct nvs_asm *s, const struct nvs_token *t, struct nvs_asm_value *v);
/* The same, of 32 bits or as few as MOST needs. */
bool nvs_asm_number(struct nvs_asm *s, const struct nvs_token *t, uint32_t most, uint32_t *v);
/* The same, of how many: decimal, however many digits. */
bool nvs_asm_many(struct nvs_asm *s, const struct nvs_token *t, uint32_t *n);
/* "[9]" or "[]", which is UINT32_MAX. False: complained. */
bool nvs_asm_count(struct nvs_asm *s, const struct nvs_token *t, uint32_t *count);

/* ---- emit.c ---- */
void nvs_asm_word(struct nvs_asm *s, uint32_t word, uint32_t column);
/* TOTAL UINT32_MAX: as many as come. EXTRA: bits that no field of a header has. */
void nvs_asm_header(struct nvs_asm *s, uint8_t form, uint8_t subch, uint32_t method, uint32_t total,
		    uint32_t extra);
/* A data word for METHOD (bytes), in the header that is open or one of its own, of FORM. */
void nvs_asm_data(struct nvs_asm *s, uint8_t subch, uint32_t method, uint32_t value, uint8_t form,
		  uint32_t column);
/* A word as it stands, which is the next data of the header that is open. */
void nvs_asm_plain(struct nvs_asm *s, uint32_t value, uint32_t column);
/* No more data comes for what is open: complains where more was announced. */
void nvs_asm_close(struct nvs_asm *s);
void nvs_asm_close_data(struct nvs_asm *s);
void nvs_asm_entry(struct nvs_asm *s, const struct nvs_asm_entry *entry,
		   const struct nvs_asm_stated *stated);
/* The entry that words go to. */
void nvs_asm_begin(struct nvs_asm *s);
/* All entries are complete. */
void nvs_asm_finish(struct nvs_asm *s);

/* ---- entry.c ---- */
/* Behind "entry": "0000220202800000  address 0x202800000  8 dwords subroutine", or just "sync" */
void nvs_asm_entry_line(struct nvs_asm *s);
/*
 * A header that ends a segment is told with its data, which begins the next one: ADDRESS, where it
 * stands, shows that the last word belongs to the entry before.
 */
void nvs_asm_move_header(struct nvs_asm *s, uint64_t address);

/* ---- fields.c ---- */
/* A method as the line names it. */
struct nvs_asm_line {
	uint8_t subch;
	const struct nvs_class *cls; /* NULL: not known */
	const struct nvs_method *method; /* NULL: not named by a table */
	uint32_t offset;
	struct nvs_token name;
	/* What is said of its value. */
	bool has_value, has_fields;
	uint32_t value, fields, known; /* bits of fields that are given */
	struct nvs_token value_at;
};
/* A value of all 32 bits. */
void nvs_asm_whole(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t);
/* "UPPER=0x2", whose '=' is so many bytes on. */
void nvs_asm_field(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t,
		   size_t equals);
/* "+0x800": bits outside of all fields. */
void nvs_asm_outside(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t);

/* ---- method.c ---- */
/* "[s4] [c8b5] [0240] SET_SEMAPHORE_A 00000002 UPPER=0x2" */
void nvs_asm_method(struct nvs_asm *s);
/* "0240" or "SET_SEMAPHORE_A" of the subchannel, in bytes; UINT32_MAX: complained. */
uint32_t nvs_asm_offset(struct nvs_asm *s, const struct nvs_token *t);
/* "s4", which holds for what follows. */
bool nvs_asm_subchannel(struct nvs_asm *s, const struct nvs_token *t);

#endif
