/* SPDX-License-Identifier: MIT */
/* Untrusted text in exports: escaped to UTF-8 without control characters, and cut if very long. */
#ifndef NVSNOOP_DECODE_EXPORT_EXPORT_TEXT_H
#define NVSNOOP_DECODE_EXPORT_EXPORT_TEXT_H

#include <string.h>
#include "decode/base/text.h"

#define NVS_EXPORT_TEXT 4096u /* bytes of a text before escaping */
#define NVS_EXPORT_TEXT_BYTES (4 * NVS_EXPORT_TEXT + 1)

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
