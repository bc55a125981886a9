/* SPDX-License-Identifier: MIT */
/* Methods, fields and operations in words. Everything goes into a bounded text, which grows as it
 * must. */
#ifndef NVSNOOP_DECODE_WORDS_H
#define NVSNOOP_DECODE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/class.h"
#include "decode/ops.h"

/* A line being made. text is always ended by a NUL once something was put. */
struct nvs_line {
	char *text;
	size_t length, room;
};

void nvs_line_put(struct nvs_line *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nvs_line_start(struct nvs_line *l);
void nvs_line_free(struct nvs_line *l);

/* "SET_OBJECT", "CALL_MME_DATA(1)", or "0x1234?" where unknown. */
void nvs_words_method(struct nvs_line *l, const struct nvs_method_at *at, uint32_t offset);
/*
 * " OPERATION=ACQUIRE ACQUIRE_SWITCH_TSG=EN": fields with the names of their values. One of several
 * fields that is 0 is left out, unless it chooses an operation or a layout; bits outside of all
 * fields come last, as
 * "+0x800".
 */
void nvs_words_fields(struct nvs_line *l, const struct nvs_method *m, uint32_t value);

/*
 * The address whose later half the method AT holds: its other half stands in the method before it,
 * whose value is OTHER. False: it holds none.
 */
bool nvs_words_address(const struct nvs_class *cls, const struct nvs_method_at *at, uint32_t offset,
		       uint32_t value, uint32_t other, uint64_t *address);

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
