/* SPDX-License-Identifier: MIT */
/* Error messages, names of gap reasons, and escaping of untrusted strings for output. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "decode/base/text.h"

int nvs_fail(struct nvs_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

const char *nvs_gap_reason_name(uint32_t reason)
{
	static const char *const names[] = {"?",       "unmapped", "fault",    "dropped", "stalled",
					    "no ring", "unbound",  "disarmed", "write",	  "choice"};

	return reason < sizeof(names) / sizeof(*names) ? names[reason] : "?";
}

size_t nvs_utf8(const char *text, size_t room, uint32_t *code)
{
	const uint8_t *s = (const uint8_t *)text;
	uint32_t c = room ? s[0] : 0;
	size_t n = c < 0x80		   ? 1
		   : c >= 0xc2 && c < 0xe0 ? 2
		   : c >= 0xe0 && c < 0xf0 ? 3
		   : c >= 0xf0 && c < 0xf5 ? 4
					   : 0;

	if (!n || n > room)
		return 0;
	if (n > 1)
		c &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	/* Refuse overlong forms and surrogates. */
	if ((n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff)) ||
	    (c >= 0xd800 && c < 0xe000))
		return 0;
	*code = c;
	return n;
}

bool nvs_printable(uint32_t c)
{
	/* Neither control characters nor the marks that change text direction. */
	return c >= 0x20 && (c < 0x7f || c >= 0xa0) && !(c >= 0x200e && c <= 0x200f) &&
	       !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

char *nvs_escape(char *dst, size_t room, const char *src, size_t length)
{
	static const char hex[] = "0123456789abcdef";
	size_t out = 0;

	if (!room)
		return dst;
	/* Almost all text. */
	if (length < room && nvs_is_plain(src, length)) {
		memcpy(dst, src, length);
		dst[length] = 0;
		return dst;
	}
	for (size_t i = 0; i < length;) {
		uint32_t code;
		size_t n;

		if (src[i] >= 0x20 && src[i] < 0x7f && out + 1 < room) {
			dst[out++] = src[i++];
			continue;
		}
		n = nvs_utf8(src + i, length - i, &code);
		n = n && nvs_printable(code) ? n : 0;
		if (out + (n ? n : 4) >= room)
			break;
		if (n) {
			memcpy(dst + out, src + i, n);
		} else {
			uint8_t c = (uint8_t)src[i];

			dst[out] = '\\';
			dst[out + 1] = 'x';
			dst[out + 2] = hex[c >> 4];
			dst[out + 3] = hex[c & 15];
		}
		out += n ? n : 4;
		i += n ? n : 1;
	}
	dst[out] = 0;
	return dst;
}
