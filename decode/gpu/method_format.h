/* SPDX-License-Identifier: MIT */
/* Formats methods, fields and operations as text. The text grows as needed, up to a limit. */
#ifndef NVSNOOP_DECODE_GPU_METHOD_FORMAT_H
#define NVSNOOP_DECODE_GPU_METHOD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/gpu/class.h"
#include "decode/gpu/ops.h"

/* Text under construction: one line or many. Only nvs_line_put() terminates it with a NUL. */
struct nvs_line_buffer {
	char *text;
	size_t length, room;
};

void nvs_line_put(struct nvs_line_buffer *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *nvs_line_grow(struct nvs_line_buffer *l, size_t n);
/* Reserves N bytes at the end; the caller adds to length what it uses. Returns NULL if memory is
 * short. */
static inline char *nvs_line_reserve(struct nvs_line_buffer *l, size_t n)
{
	return l->room - l->length >= n ? l->text + l->length : nvs_line_grow(l, n);
}

/* Appends TEXT; and a number after it, as %u and %x print it. */
static inline void nvs_line_text(struct nvs_line_buffer *l, const char *text)
{
	size_t n = strlen(text);
	char *p = nvs_line_reserve(l, n + 1);

	if (!p)
		return;
	memcpy(p, text, n);
	l->length += n;
}

/* Pads TEXT with spaces to WIDTH, at most 16. */
static inline void nvs_line_column(struct nvs_line_buffer *l, const char *text, size_t width)
{
	size_t n = strlen(text);

	nvs_line_text(l, text);
	if (n < width && nvs_line_reserve(l, 16)) {
		memset(l->text + l->length, ' ', 16);
		l->length += width - n;
	}
}

static inline void nvs_line_dec(struct nvs_line_buffer *l, const char *text, uint64_t number)
{
	char *p;

	nvs_line_text(l, text);
	p = nvs_line_reserve(l, NVS_DIGITS);
	if (p)
		l->length = (size_t)(nvs_put_dec(p, number) - l->text);
}

static inline void nvs_line_hex(struct nvs_line_buffer *l, const char *text, uint64_t number)
{
	char *p;

	nvs_line_text(l, text);
	p = nvs_line_reserve(l, NVS_DIGITS);
	if (p)
		l->length = (size_t)(nvs_put_hex(p, number) - l->text);
}

void nvs_line_start(struct nvs_line_buffer *l);
void nvs_line_free(struct nvs_line_buffer *l);

/* "SET_OBJECT", "CALL_MME_DATA(1)", or "0x1234?" if unknown. */
void nvs_format_method(struct nvs_line_buffer *l, const struct nvs_method_at *at, uint32_t offset);
/*
 * " OPERATION=ACQUIRE ACQUIRE_SWITCH_TSG=EN": fields with the names of their values. If there are
 * several fields, those that are 0 are left out, unless they select an operation or a layout, or
 * ZEROS is set. Bits outside all fields come last, as "+0x800".
 */
void nvs_format_fields(struct nvs_line_buffer *l, const struct nvs_method *m, uint32_t value,
		       bool zeros);
/* The same to a buffer with room for nvs_words_max_bytes(m) bytes. Returns the end. */
char *nvs_put_fields(char *p, const struct nvs_method *m, uint32_t value, bool zeros);
size_t nvs_words_max_bytes(const struct nvs_method *m);

/* The part of an address that a method holds; the preceding method holds the other half. */
enum nvs_words_address {
	NVS_ADDRESS_NONE,
	NVS_ADDRESS_SHIFTED, /* the whole address in units of 256 bytes */
	NVS_ADDRESS_LOW, /* lower half, preceded by the upper half */
	NVS_ADDRESS_HIGH, /* upper half, preceded by the lower half */
};
enum nvs_words_address nvs_words_address(const struct nvs_class *cls,
					 const struct nvs_method_at *at, uint32_t offset);
/* Returns the address. VALUE is the method's, OTHER that of the preceding method. */
uint64_t nvs_words_address_of(enum nvs_words_address kind, uint32_t value, uint32_t other);

/* The same for any method, also the first of a pair. */
enum nvs_words_half { NVS_HALF_NONE, NVS_HALF_UPPER, NVS_HALF_LOWER, NVS_HALF_SHIFTED };
enum nvs_words_half nvs_words_half(const struct nvs_class *cls, uint32_t offset);

/* Writes the location of an address, " (device+0x100)", or nothing. */
struct nvs_address_formatter {
	void (*put)(void *arg, struct nvs_line_buffer *l, uint64_t address);
	void *arg;
};

/* Writes one line without number or newline: "copy engine 0x.. -> 0x.. 4096 bytes". QMD is the
 * launch's, NULL if unknown. */
void nvs_format_op(struct nvs_line_buffer *l, const struct nvs_op *op, const struct nvs_qmd *qmd,
		   const struct nvs_address_formatter *where);

#endif
