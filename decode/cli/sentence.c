/* SPDX-License-Identifier: MIT */
/* Numbers, units, wrapped lines and shell quoting for text output. See sentence.h. */
#include <stdlib.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/cli/sentence.h"
#include "nvsnoop/decode.h"

#define WIDTH 80 /* of a line, on narrower terminals theirs */
#define LEAST_WIDTH 30

/* Characters without a meaning to the shell. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%^"

static bool signs_utf8 = true;

void nvs_use_utf8_signs(bool utf8)
{
	signs_utf8 = utf8;
}

const char *nvs_locale_sign(const char *utf8, const char *ascii)
{
	return signs_utf8 ? utf8 : ascii;
}

char *nvs_format_grouped(char text[32], uint64_t n)
{
	snprintf(text, 32, "%llu", (unsigned long long)n);
	nvs_group_digits(text, 32);
	return text;
}

const char *nvs_format_count(char *part, uint64_t n, const char *one, const char *many)
{
	char text[32];

	snprintf(part, NVS_PART_BYTES, "%s" NVS_TIED "%s", nvs_format_grouped(text, n),
		 n == 1 ? one : many);
	return part;
}

/* X in the first unit in which it is below 1000, or in the last one. */
static void format_scaled(char *part, double x, const char *const *units, int n, int digits)
{
	double limit = digits > 2 ? 999.5 : 995;
	char text[32];
	int unit = 0, places;

	for (; unit + 1 < n && x >= limit; unit++)
		x /= 1000;
	if (x >= 1000) {
		snprintf(part, NVS_PART_BYTES, "%s" NVS_TIED "%s",
			 nvs_format_grouped(text, (uint64_t)(x + 0.5)), units[unit]);
		return;
	}
	if (digits == 2 && x >= 100) /* 995 is printed as 990 or 1000 */
		x = (double)(unsigned)(x / 10 + 0.5) * 10;
	places = digits - (x >= 99.95 ? 3 : x >= 9.995 ? 2 : 1);
	snprintf(part, NVS_PART_BYTES, "%.*f" NVS_TIED "%s", places > 0 ? places : 0, x,
		 units[unit]);
}

const char *nvs_format_bytes(char *part, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};

	if (bytes < 1000)
		return nvs_format_count(part, bytes, "byte", "bytes");
	format_scaled(part, (double)bytes / 1000, units, 4, 3);
	return part;
}

const char *nvs_format_duration(char *part, double ns, int digits)
{
	const char *const units[] = {nvs_locale_sign("\u00b5s", "us"), "ms", "s"};

	if (ns < 999.5)
		snprintf(part, NVS_PART_BYTES, "%.0f" NVS_TIED "ns", ns);
	else
		format_scaled(part, ns / 1000, units, 3, digits);
	return part;
}

const char *nvs_format_percent(char *part, double part_of, double whole)
{
	double share = whole > 0 ? 100 * part_of / whole : 0;

	snprintf(part, NVS_PART_BYTES,
		 share && share < 0.95 ? "%.1f" NVS_TIED "%%" : "%.0f" NVS_TIED "%%", share);
	return part;
}

const char *nvs_format_text(char *dst, const char *text, size_t width)
{
	size_t length = strlen(text), n = 0, at = 0;
	const char *more;

	while (at < length && n < width) {
		for (at++, n++; at < length && ((unsigned char)text[at] & 0xc0) == 0x80;)
			at++;
	}
	at = at < NVS_TEXT_BYTES / 4 ? at : NVS_TEXT_BYTES / 4 - 1;
	more = at < length ? nvs_locale_sign("\u2026", "...") : "";
	nvs_escape(dst, NVS_TEXT_BYTES - strlen(more), text, at);
	return strcat(dst, more);
}

/* Quoted as $'...', for control characters and bytes that are not UTF-8. */
static void print_escaped_word(FILE *f, const char *text)
{
	fputs("$'", f);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 32 || c >= 127)
			fprintf(f, "\\%03o", c);
		else
			fprintf(f, c == '\'' || c == '\\' ? "\\%c" : "%c", c);
	}
	fputc('\'', f);
}

static bool is_text(const char *text)
{
	size_t left = strlen(text), n;
	uint32_t c;

	for (; left; text += n, left -= n) {
		n = nvs_utf8(text, left, &c);
		if (!n || !nvs_printable(c))
			return false;
	}
	return true;
}

static void print_word(FILE *f, const char *before, const char *text)
{
	if (*text && !text[strspn(text, PLAIN)]) {
		fprintf(f, "%s%s", before, text);
		return;
	}
	if (!is_text(text)) {
		print_escaped_word(f, text);
		return;
	}
	fprintf(f, "'%s", before);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", f);
		else
			fputc(*text, f);
	fputc('\'', f);
}

void nvs_print_shell_word(FILE *f, const char *text)
{
	/* Must not look like an option. */
	print_word(f, *text == '-' ? "./" : "", text);
}

void nvs_print_option_value(FILE *f, const char *text)
{
	print_word(f, "", text);
}

static int width_of(const char *text, size_t length)
{
	int n = 0;

	for (size_t i = 0; i < length; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

static void print_tied(FILE *f, const char *text, size_t length)
{
	const char *end = text + length, *tie;

	while ((tie = memmem(text, (size_t)(end - text), NVS_TIED, strlen(NVS_TIED)))) {
		fwrite(text, 1, (size_t)(tie - text), f);
		fputc(' ', f);
		text = tie + strlen(NVS_TIED);
	}
	fwrite(text, 1, (size_t)(end - text), f);
}

void nvs_wrap_text(FILE *f, const char *text, int room, int indent)
{
	int column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");
		int width = width_of(text, length);

		if (column && column + 1 + width > room)
			column = fprintf(f, "\n%*s", indent, "") - 1;
		else if (column)
			column += fprintf(f, " ");
		column += width;
		print_tied(f, text, length);
		text += length + (text[length] == ' ');
	}
	fputc('\n', f);
}

void nvs_print_wrapped(struct nvs_out *out, const char *text, int indent)
{
	bool narrow = out->width >= LEAST_WIDTH && out->width < WIDTH;

	nvs_wrap_text(out->file, text, narrow ? out->width : WIDTH, indent);
}
