/* SPDX-License-Identifier: MIT */
/* Error messages, and text that needs no escaping. */
#ifndef NVSNOOP_DECODE_BASE_TEXT_H
#define NVSNOOP_DECODE_BASE_TEXT_H

#include <string.h>
#include "nvsnoop/decode.h"

/* Writes the message to ERR, which may be NULL, and returns CODE. */
int nvs_fail(struct nvs_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The upper bit of a byte is set by a value of 0x80 or above, by 0x7f + 1, and by a value below
 * 0x20 less 0x20; a carry comes from a byte that is not plain only. */
static inline uint64_t nvs_special_bits(const char *eight)
{
	const uint64_t each = 0x0101010101010101;
	uint64_t w;

	memcpy(&w, eight, sizeof(w));
	return (w | (w + each) | (w - 0x20 * each)) & 0x80 * each;
}

/* Returns true if all of TEXT is printable ASCII. Eight characters at a time; the last eight may
 * overlap those before. */
static inline bool nvs_is_plain(const char *text, size_t length)
{
	uint64_t special = 0;
	size_t i = 0;

	for (; length - i >= 8; i += 8)
		special |= nvs_special_bits(text + i);
	if (length >= 8)
		return !(special | nvs_special_bits(text + length - 8));
	for (; i < length; i++)
		special |= (unsigned char)(text[i] - 0x20) >= 0x7f - 0x20;
	return !special;
}

#endif
