/* SPDX-License-Identifier: MIT */
/* Methods, fields and operations in words. Everything goes into a bounded text, which grows as it
 * must. */
#ifndef NVSNOOP_DECODE_GPU_METHOD_FORMAT_H
#define NVSNOOP_DECODE_GPU_METHOD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/gpu/class.h"
#include "decode/gpu/ops.h"

/* A text being made: a line, or many. nvs_line_put ends it by a NUL, the others do not. */
struct nvs_line {
	char *text;
	size_t length, room;
};

void nvs_line_put(struct nvs_line *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Room for N bytes more, which count once length is moved on; NULL: no memory. */
char *nvs_line_room(struct nvs_line *l, size_t n);
void nvs_line_start(struct nvs_line *l);
void nvs_line_free(struct nvs_line *l);

/* "SET_OBJECT", "CALL_MME_DATA(1)", or "0x1234?" where unknown. */
void nvs_words_method(struct nvs_line *l, const struct nvs_method_at *at, uint32_t offset);
/*
 * " OPERATION=ACQUIRE ACQUIRE_SWITCH_TSG=EN": fields with the names of their values. One of several
 * fields that is 0 is left out, unless it chooses an operation or a layout, or ZEROS is set; bits
 * outside of all fields come last, as "+0x800".
 */
void nvs_words_fields(struct nvs_line *l, const struct nvs_method *m, uint32_t value, bool zeros);
/* The same to where there is room for nvs_words_most(m) bytes; returns the end. */
char *nvs_words_put_fields(char *p, const struct nvs_method *m, uint32_t value, bool zeros);
size_t nvs_words_most(const struct nvs_method *m);

/* What of an address a method holds; its other half stands in the method before it. */
enum nvs_words_address {
	NVS_ADDRESS_NONE,
	NVS_ADDRESS_SHIFTED, /* all of it, in units of 256 bytes */
	NVS_ADDRESS_LOW, /* the lower half, after the upper one */
	NVS_ADDRESS_HIGH, /* the upper half, after the lower one */
};
enum nvs_words_address nvs_words_address(const struct nvs_class *cls,
					 const struct nvs_method_at *at, uint32_t offset);
/* The address, VALUE being the method's and OTHER that of the method before it. */
uint64_t nvs_words_address_of(enum nvs_words_address kind, uint32_t value, uint32_t other);

/* The same of any method, the first of the two included. */
enum nvs_words_half { NVS_HALF_NONE, NVS_HALF_UPPER, NVS_HALF_LOWER, NVS_HALF_SHIFTED };
enum nvs_words_half nvs_words_half(const struct nvs_class *cls, uint32_t offset);

/* Says where an address lies, " (device+0x100)"; may say nothing. */
struct nvs_where {
	void (*put)(void *arg, struct nvs_line *l, uint64_t address);
	void *arg;
};

/* One line without number or end: "copy engine 0x.. -> 0x.. 4096 bytes". QMD: of a launch, NULL
 * unknown. */
void nvs_words_op(struct nvs_line *l, const struct nvs_op *op, const struct nvs_qmd *qmd,
		  const struct nvs_where *where);

#endif
