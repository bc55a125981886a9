/* SPDX-License-Identifier: MIT */
/* Builds pages of text, escapes untrusted strings for the terminal, formats numbers in few columns.
 *  */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "nvsnoop/decode.h"
#include "live/top/text_page.h"

void nvs_text_page_clear(struct nvs_text_page *s)
{
	s->used = 0;
	s->npieces = s->nlines = s->at = 0;
	s->failed = false;
}

void nvs_text_page_free(struct nvs_text_page *s)
{
	free(s->text);
	free(s->pieces);
	free(s->lines);
	memset(s, 0, sizeof(*s));
}

/* Makes room for one more element of SIZE bytes. */
static bool reserve_element(struct nvs_text_page *s, void *list, uint32_t n, uint32_t *has,
			    size_t size)
{
	void **at = list, *more;

	if (n < *has)
		return true;
	more = realloc(*at, (*has ? 2ul * *has : 64ul) * size);
	if (!more) {
		s->failed = true;
		return false;
	}
	*at = more;
	*has = *has ? 2 * *has : 64;
	return true;
}

static bool reserve_text(struct nvs_text_page *s, size_t length)
{
	size_t wanted = s->room ? s->room : 4096;
	char *more;

	while (wanted < s->used + length)
		wanted *= 2;
	if (wanted == s->room)
		return true;
	more = realloc(s->text, wanted);
	if (!more) {
		s->failed = true;
		return false;
	}
	s->text = more;
	s->room = wanted;
	return true;
}

static struct nvs_text_line *current_line(struct nvs_text_page *s)
{
	if (!reserve_element(s, &s->lines, s->nlines, &s->lines_room, sizeof(*s->lines)))
		return NULL;
	if (!s->at)
		s->lines[s->nlines] = (struct nvs_text_line){.first = s->npieces};
	return s->lines + s->nlines;
}

static void add_piece(struct nvs_text_page *s, enum nvs_top_style style, const char *text,
		      uint32_t columns)
{
	struct nvs_text_line *line = columns ? current_line(s) : NULL;
	size_t length = strlen(text) + 1;

	if (!line || !reserve_text(s, length) ||
	    !reserve_element(s, &s->pieces, s->npieces, &s->pieces_room, sizeof(*s->pieces)))
		return;
	memcpy(s->text + s->used, text, length);
	s->pieces[s->npieces++] = (struct nvs_text_piece){
		.text = s->used, .columns = columns, .style = (uint8_t)style};
	s->used += length;
	line->n++;
	s->at += columns;
}

void nvs_text_page_printf(struct nvs_text_page *s, enum nvs_top_style style, const char *format,
			  ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	nvs_text_page_add_escaped(s, style, text, UINT32_MAX, 0);
}

void nvs_text_page_pad(struct nvs_text_page *s, enum nvs_top_style style, uint32_t column)
{
	static const char blanks[] = "                                ";

	while (s->at < column && !s->failed) {
		uint32_t n = column - s->at < sizeof(blanks) - 1 ? column - s->at
								 : (uint32_t)sizeof(blanks) - 1;

		add_piece(s, style, blanks + sizeof(blanks) - 1 - n, n);
	}
}

void nvs_text_page_add_escaped(struct nvs_text_page *s, enum nvs_top_style style, const char *text,
			       uint32_t columns, int width)
{
	char fit[2048];
	uint32_t takes = nvs_escape_to_columns(fit, sizeof(fit), text, columns, s->utf8),
		 before = s->at;

	if (width < 0 && takes < (uint32_t)-width)
		nvs_text_page_pad(s, style, before + (uint32_t)-width - takes);
	add_piece(s, style, fit, takes);
	if (width > 0)
		nvs_text_page_pad(s, style, before + (uint32_t)width);
}

void nvs_text_page_end_line(struct nvs_text_page *s)
{
	if (!current_line(s))
		return;
	s->nlines++;
	s->at = 0;
}

void nvs_text_page_print(const struct nvs_text_page *s, FILE *file)
{
	for (uint32_t i = 0; i < s->nlines; i++) {
		const struct nvs_text_line *line = s->lines + i;
		size_t blanks = 0;

		for (uint32_t k = 0; k < line->n; k++) {
			const char *text = s->text + s->pieces[line->first + k].text;
			size_t length = strlen(text), end = length;

			while (end && text[end - 1] == ' ')
				end--;
			if (end) {
				fprintf(file, "%*s%.*s", (int)blanks, "", (int)end, text);
				blanks = 0;
			}
			blanks += length - end;
		}
		fputc('\n', file);
	}
}

/* ---- untrusted text ---- */

/* Width of a printable character; -1 if it must be escaped. */
static int columns_of(uint32_t code, bool utf8)
{
	if (code < 0x80)
		return code >= 0x20 && code != 0x7f ? 1 : -1;
	return utf8 && nvs_printable(code) ? wcwidth((wchar_t)code) : -1;
}

/* Writes one character of TEXT, escaped if needed, to TO. Sets BYTES and COLUMNS of the output;
 * returns the input bytes consumed. */
static size_t show_char(char to[8], const char *text, size_t length, bool utf8, size_t *bytes,
			uint32_t *columns)
{
	uint32_t code;
	size_t n = nvs_utf8(text, length, &code);
	int width = n ? columns_of(code, utf8) : -1;

	if (width > 0) {
		memcpy(to, text, n);
		*bytes = n;
		*columns = (uint32_t)width;
		return n;
	}
	snprintf(to, 8, "\\x%02x", (unsigned char)*text);
	*bytes = *columns = 4;
	return 1;
}

uint32_t nvs_escape_to_columns(char *to, size_t size, const char *text, uint32_t columns, bool utf8)
{
	size_t out = 0, bytes, left = strlen(text);
	uint32_t at = 0, takes, cut_at = 0;
	size_t cut = 0; /* after the last character that leaves room for the ~ */

	for (; left;) {
		char shown[8];
		size_t n = show_char(shown, text, left, utf8, &bytes, &takes);

		if (out + bytes + 2 > size || takes > columns - at) {
			if (!columns)
				break;
			to[cut] = '~';
			to[cut + 1] = 0;
			return cut_at + 1;
		}
		memcpy(to + out, shown, bytes);
		out += bytes;
		at += takes;
		if (at < columns && out + 2 <= size) {
			cut = out;
			cut_at = at;
		}
		text += n;
		left -= n;
	}
	to[out] = 0;
	return at;
}

/* ---- figures ---- */

/* Three digits, with decimals if they fit. */
static const char *format_scaled(char to[NVS_FIGURE], double n, const char *unit)
{
	int decimals = n < 9.995 ? 2 : n < 99.95 ? 1 : 0;

	snprintf(to, NVS_FIGURE, "%.*f%s", decimals, n, unit);
	return to;
}

static const char *format_si(char to[NVS_FIGURE], double n)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
	size_t i = 0;

	for (; n >= 999.5 && i + 1 < sizeof(units) / sizeof(*units); i++)
		n /= 1000;
	return format_scaled(to, n < 9999 ? n : 9999, units[i]);
}

const char *nvs_figure_count(char to[NVS_FIGURE], double n)
{
	if (n < 999.5) {
		snprintf(to, NVS_FIGURE, "%.0f", n > 0 && n < 1 ? 1 : n);
		return to;
	}
	return format_si(to, n);
}

const char *nvs_figure_plain(char to[NVS_FIGURE], double n)
{
	if (n <= 0)
		return "0";
	if (n < 0.005)
		return "<0.01";
	return format_si(to, n);
}

const char *nvs_figure_time(char to[NVS_FIGURE], uint64_t ns)
{
	uint64_t s = ns / 1000000000;

	if (ns < 1000)
		snprintf(to, NVS_FIGURE, "%uns", (unsigned)ns);
	else if (ns < 1000000)
		snprintf(to, NVS_FIGURE, "%uus", (unsigned)(ns / 1000));
	else if (s < 1)
		snprintf(to, NVS_FIGURE, "%ums", (unsigned)(ns / 1000000));
	else if (s < 100)
		snprintf(to, NVS_FIGURE, "%u.%us", (unsigned)s, (unsigned)(ns / 100000000 % 10));
	else if (s < 100 * 60)
		snprintf(to, NVS_FIGURE, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 100 * 3600)
		snprintf(to, NVS_FIGURE, "%uh%02um", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else
		snprintf(to, NVS_FIGURE, "%ud%02uh", (unsigned)(s / 86400 % 10000),
			 (unsigned)(s / 3600 % 24));
	return to;
}
