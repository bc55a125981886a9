/* SPDX-License-Identifier: MIT */
/* Messages, names of numbers, and making strings from strangers fit to be printed. */
#include <stdarg.h>
#include <stdio.h>
#include "decode/internal.h"

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

/* Length of the well-formed UTF-8 sequence at S, 0: it is none, or a control character. */
static size_t utf8_length(const uint8_t *s, size_t room)
{
	uint32_t c = s[0];
	size_t n = c < 0x80		   ? 1
		   : c >= 0xc2 && c < 0xe0 ? 2
		   : c >= 0xe0 && c < 0xf0 ? 3
		   : c >= 0xf0 && c < 0xf5 ? 4
					   : 0;

	if (n == 1)
		return c >= 0x20 && c != 0x7f;
	if (!n || n > room)
		return 0;
	c &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	/* C1 controls, overlong forms, surrogates, and the marks that turn the direction of text.
	 */
	if (c < 0xa0 || (n == 3 && c < 0x800) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	if ((c >= 0xd800 && c < 0xe000) || (c >= 0x200e && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

char *nvs_escape(char *dst, size_t room, const char *src, size_t length)
{
	static const char hex[] = "0123456789abcdef";
	size_t out = 0;

	if (!room)
		return dst;
	for (size_t i = 0; i < length;) {
		size_t n = utf8_length((const uint8_t *)src + i, length - i);

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
