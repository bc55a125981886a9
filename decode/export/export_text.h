/* SPDX-License-Identifier: MIT */
/* Untrusted text in exports: escaped to UTF-8 without control characters, and cut if very long. */
#ifndef NVSNOOP_DECODE_EXPORT_EXPORT_TEXT_H
#define NVSNOOP_DECODE_EXPORT_EXPORT_TEXT_H

#include <string.h>
#include "nvsnoop/decode.h"

#define NVS_EXPORT_TEXT 4096u /* bytes of a text before escaping */
#define NVS_EXPORT_TEXT_BYTES (4 * NVS_EXPORT_TEXT + 1)

static inline bool nvs_is_plain(const char *text, size_t length)
{
	const uint64_t each = 0x0101010101010101;
	uint64_t special = 0, w;
	size_t i = 0;

	/* The upper bit of a byte is set by a value of 0x80 or above, by 0x7f + 1, and by a value
	 * below 0x20 less 0x20; a carry comes from a special byte only. */
	for (; length - i >= sizeof(w); i += sizeof(w)) {
		memcpy(&w, text + i, sizeof(w));
		special |= w | (w + each) | (w - 0x20 * each);
	}
	if (length >= sizeof(w)) {
		memcpy(&w, text + length - sizeof(w), sizeof(w));
		special |= w | (w + each) | (w - 0x20 * each);
		i = length;
	}
	for (; i < length; i++)
		special |= (unsigned char)(text[i] - 0x20) >= 0x7f - 0x20 ? 0x80 : 0;
	return !(special & 0x80 * each);
}

/* TEXT itself if it is plain, which almost all is; else its escaped form in SAFE. LENGTH becomes
 * that of the result. */
static inline const char *nvs_export_text(char safe[NVS_EXPORT_TEXT_BYTES], const char *text,
					  size_t *length)
{
	*length = *length < NVS_EXPORT_TEXT ? *length : NVS_EXPORT_TEXT;
	if (nvs_is_plain(text, *length))
		return text;
	nvs_escape(safe, NVS_EXPORT_TEXT_BYTES, text, *length);
	*length = strlen(safe);
	return safe;
}

#endif
