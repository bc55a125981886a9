/* SPDX-License-Identifier: MIT */
/* Lines are found again by a hash table over the folded text. */
#include "decode/export/html/fold.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/base/hash.h"

#define LINES 4096u /* that can be found again */
#define SLOTS (2 * LINES)
#define SHORTEST \
	4u /* bytes of a line that a character replaces, at most as long with its newline */
#define DIGITS 13 /* of an address at most: a number that is exact in JavaScript */
#define STEP 0x10000u

struct fold {
	char *to, *end;
	uint64_t address; /* of the last line that has one */
	uint32_t n;
	bool in_characters; /* the last line consists of characters */
	struct {
		uint32_t at, n;
	} lines[LINES];
	uint16_t slots[SLOTS]; /* number of a line from 1 on; 0: free */
};

/* Reads the address of "    202800010: INC ...", or "    202800010... INC ...". Returns what
 * follows it; NULL for another line. */
static const char *parse_address(const char *line, const char *end, uint64_t *address)
{
	const char *p = line + 4;

	*address = 0;
	if (end - line < 6 || memcmp(line, "    ", 4) || *p == '0')
		return NULL;
	for (; p < line + 4 + DIGITS && p < end; p++) {
		if (*p >= '0' && *p <= '9')
			*address = *address << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*address = *address << 4 | (uint64_t)(*p - 'a' + 10);
		else
			break;
	}
	return p > line + 4 && p < end && (*p == ':' || *p == '.') ? p : NULL;
}

/* Writes a line, with its address as a difference if that is not longer. Returns its length. */
static size_t put_line(struct fold *f, const char *line, const char *end)
{
	char step[NVS_DIGITS];
	uint64_t address;
	const char *rest = parse_address(line, end, &address);
	size_t n;

	if (rest) {
		uint64_t by = address - f->address;

		f->address = address;
		n = (size_t)(nvs_put_hex(step, by) - step);
		if (by < STEP && n + 1 <= (size_t)(rest - line - 4)) {
			memcpy(f->end, "    +", 5);
			memcpy(f->end + 5, step, n);
			memcpy(f->end + 5 + n, rest, (size_t)(end - rest));
			return 5 + n + (size_t)(end - rest);
		}
	}
	n = (size_t)(end - line);
	memcpy(f->end, line, n);
	return n;
}

static uint16_t *find_slot(struct fold *f, const char *line, size_t n)
{
	uint32_t i = (uint32_t)nvs_hash64(line, n) % SLOTS;

	for (; f->slots[i]; i = (i + 1) % SLOTS) {
		uint32_t k = f->slots[i] - 1u;

		if (f->lines[k].n == n && !memcmp(f->to + f->lines[k].at, line, n))
			break;
	}
	return f->slots + i;
}

/* As UTF-8. */
static char *put_character(char *p, uint32_t c)
{
	if (c < 0x80) {
		*p++ = (char)c;
	} else if (c < 0x800) {
		*p++ = (char)(0xc0 | c >> 6);
		*p++ = (char)(0x80 | (c & 0x3f));
	} else {
		*p++ = (char)(0xe0 | c >> 12);
		*p++ = (char)(0x80 | (c >> 6 & 0x3f));
		*p++ = (char)(0x80 | (c & 0x3f));
	}
	return p;
}

/* The line has been written, N bytes at f->end, or one further on: after a newline for it. */
static void fold_line(struct fold *f, const char *line, const char *end)
{
	size_t n, newline = f->in_characters;
	uint16_t *slot = NULL;

	f->end += newline;
	n = put_line(f, line, end);
	if (*line == ' ' && n >= SHORTEST)
		slot = find_slot(f, f->end, n);
	if (slot && *slot) {
		f->end = put_character(f->end - newline, NVS_FOLD_FIRST + *slot - 1u);
		f->in_characters = true;
		return;
	}
	if (newline)
		f->end[-1] = '\n';
	f->in_characters = false;
	if (*line == ' ' && f->n < LINES) {
		f->lines[f->n].at = (uint32_t)(f->end - f->to);
		f->lines[f->n++].n = (uint32_t)n;
		if (slot)
			*slot = (uint16_t)f->n;
	}
	f->end += n;
}

size_t nvs_html_fold(char *to, const char *text, size_t n)
{
	struct fold f;

	f.to = f.end = to;
	f.address = 0;
	f.n = 0;
	f.in_characters = false;
	memset(f.slots, 0, sizeof(f.slots));
	for (const char *end; n; n -= (size_t)(end - text), text = end) {
		end = (const char *)memchr(text, '\n', n) + 1;
		fold_line(&f, text, end);
	}
	if (f.in_characters)
		*f.end++ = '\n';
	return (size_t)(f.end - to);
}
