/* SPDX-License-Identifier: MIT */
/* Writes JSON. */
#include <math.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/cli/json.h"
#include "nvsnoop/decode.h"

/* Escapes the character at TEXT, which is no plain one; returns its bytes. */
static size_t escape_character(char **to, const char *text, size_t length)
{
	uint32_t c = (unsigned char)*text;
	size_t n = nvs_utf8(text, length, &c);

	if (c == '"' || c == '\\')
		*to += sprintf(*to, "\\%c", (int)c);
	else if (n && nvs_printable(c))
		*to = nvs_put_text(*to, text, n);
	else
		*to += sprintf(*to, "\\u%04x", c);
	return n ? n : 1;
}

#define EACH_BYTE(byte) (0x0101010101010101ull * (byte))

/* False if all of eight characters are plain; may be true although they are. */
static bool may_be_special(uint64_t eight)
{
	uint64_t quote = eight ^ EACH_BYTE('"'), slash = eight ^ EACH_BYTE('\\'),
		 del = eight ^ EACH_BYTE(0x7full);

	return (eight | (eight - EACH_BYTE(' ')) | (quote - EACH_BYTE(1)) | (slash - EACH_BYTE(1)) |
		(del - EACH_BYTE(1))) &
	       EACH_BYTE(0x80ull);
}

char *nvs_json_escape(char *to, const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		unsigned char c = (unsigned char)text[i];
		/* Fewer than eight at the end: the last eight, some of them once more. */
		size_t n = length - i < 8 ? length - i : 8, again = 8 - n;
		uint64_t eight;

		if (length >= 8) {
			memcpy(&eight, text + i - again, 8);
			if (!may_be_special(eight)) {
				to = nvs_put_text(to - again, (const char *)&eight, 8);
				i += n;
				continue;
			}
		}
		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
			*to++ = text[i++];
		else
			i += escape_character(&to, text + i, length - i);
	}
	return to;
}

/* At most N bytes that end with a whole character. */
static size_t whole_characters(const char *text, size_t length, size_t n)
{
	if (length <= n)
		return length;
	for (size_t i = n; i > n - 4; i--)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return i;
	return n;
}

void nvs_json_string(FILE *file, const char *text, size_t length)
{
	char piece[NVS_JSON_BYTES * 256];

	fputc('"', file);
	for (size_t n; length; text += n, length -= n) {
		n = whole_characters(text, length, sizeof(piece) / NVS_JSON_BYTES);
		fwrite(piece, 1, (size_t)(nvs_json_escape(piece, text, n) - piece), file);
	}
	fputc('"', file);
}

void nvs_json_break(struct nvs_json *j)
{
	j->line = !j->flat;
}

void nvs_json_key(struct nvs_json *j, const char *name)
{
	if (j->more)
		fputc(',', j->file);
	if (j->line)
		fputc('\n', j->file);
	if (name)
		fprintf(j->file, "\"%s\":", name);
	j->more = true;
	j->line = false;
}

void nvs_json_open(struct nvs_json *j, const char *name, char bracket)
{
	nvs_json_key(j, name);
	fputc(bracket, j->file);
	j->more = false;
}

void nvs_json_close(struct nvs_json *j, char bracket)
{
	j->more = false;
	nvs_json_key(j, NULL);
	fputc(bracket, j->file);
}

void nvs_json_text(struct nvs_json *j, const char *name, const char *text)
{
	nvs_json_key(j, name);
	if (text)
		nvs_json_string(j->file, text, strlen(text));
	else
		fputs("null", j->file);
}

void nvs_json_name(struct nvs_json *j, const char *name, const char *text)
{
	nvs_json_text(j, name, text && *text ? text : NULL);
}

void nvs_json_bool(struct nvs_json *j, const char *name, bool value)
{
	nvs_json_key(j, name);
	fputs(value ? "true" : "false", j->file);
}

void nvs_json_known(struct nvs_json *j, const char *name, bool known, uint64_t value)
{
	nvs_json_key(j, name);
	if (known)
		fprintf(j->file, "%llu", (unsigned long long)value);
	else
		fputs("null", j->file);
}

void nvs_json_number(struct nvs_json *j, const char *name, uint64_t value)
{
	nvs_json_known(j, name, true, value);
}

void nvs_json_real(struct nvs_json *j, const char *name, const char *format, double value)
{
	nvs_json_key(j, name);
	if (isfinite(value))
		fprintf(j->file, format, value);
	else
		fputs("null", j->file);
}
