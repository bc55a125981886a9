/* SPDX-License-Identifier: MIT */
/* Strict checks of JSON, CSV and UTF-8. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "tests/fuzz/strict.h"

#define MAX_DEPTH 16
#define FREE 64 /* beside the depth: keys are not held against the page */
#define MAX_KEYS 128

struct text {
	const uint8_t *p, *begin, *end;
};

static size_t left(const struct text *t)
{
	return (size_t)(t->end - t->p);
}

/* The byte at hand, -1: the end. */
static int peek(const struct text *t)
{
	return t->p < t->end ? *t->p : -1;
}

static bool take(struct text *t, int byte)
{
	if (peek(t) != byte)
		return false;
	t->p++;
	return true;
}

static const char *finish(const struct text *t, const char *wrong, size_t *at)
{
	*at = (size_t)(t->p - t->begin);
	return wrong;
}

static struct text begin(const char *text, size_t size)
{
	const uint8_t *p = (const uint8_t *)text;

	return (struct text){p, p, p + size};
}

/* One character. */
static bool character(struct text *t)
{
	static const struct {
		uint8_t first, last, low, high; /* of the first byte, and of the second */
		uint8_t more; /* bytes behind the first */
	} forms[] = {
		{0x00, 0x7f, 0, 0, 0},	     {0xc2, 0xdf, 0x80, 0xbf, 1},
		{0xe0, 0xe0, 0xa0, 0xbf, 2}, {0xe1, 0xec, 0x80, 0xbf, 2},
		{0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
		{0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3},
		{0xf4, 0xf4, 0x80, 0x8f, 3},
	};
	size_t i = 0, n = sizeof(forms) / sizeof(*forms);

	while (i < n && !(*t->p >= forms[i].first && *t->p <= forms[i].last))
		i++;
	if (i == n || left(t) <= forms[i].more)
		return false;
	for (uint8_t k = 1; k <= forms[i].more; k++)
		if (t->p[k] < (k == 1 ? forms[i].low : 0x80) ||
		    t->p[k] > (k == 1 ? forms[i].high : 0xbf))
			return false;
	t->p += 1 + forms[i].more;
	return true;
}

const char *strict_utf8(const char *text, size_t size, size_t *at)
{
	struct text t = begin(text, size);

	while (t.p < t.end)
		if (!character(&t))
			return finish(&t, "no UTF-8", at);
	return NULL;
}

/* ---- JSON ---- */

static void blanks(struct text *t)
{
	while (peek(t) == ' ' || peek(t) == '\t' || peek(t) == '\n' || peek(t) == '\r')
		t->p++;
}

static bool digits(struct text *t)
{
	const uint8_t *from = t->p;

	while (peek(t) >= '0' && peek(t) <= '9')
		t->p++;
	return t->p > from;
}

static const char *number(struct text *t)
{
	take(t, '-');
	if (!take(t, '0') && !digits(t))
		return "no value";
	if (take(t, '.') && !digits(t))
		return "no digit behind the point";
	if (take(t, 'e') || take(t, 'E')) {
		if (!take(t, '+'))
			take(t, '-');
		if (!digits(t))
			return "no digit in the exponent";
	}
	return NULL;
}

static bool four_digits(struct text *t, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++, t->p++) {
		const char *hex = "0123456789abcdef", *at;
		int c = peek(t);

		at = c > 0 ? strchr(hex, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
		if (!at)
			return false;
		*code = *code << 4 | (uint32_t)(at - hex);
	}
	return true;
}

/* Behind a backslash. */
static const char *escape(struct text *t)
{
	uint32_t code;
	int c = peek(t);

	if (c > 0 && c != 'u' && strchr("\"\\/bfnrt", c)) {
		t->p++;
		return NULL;
	}
	if (!take(t, 'u') || !four_digits(t, &code))
		return "no such escape";
	if (code < 0xd800 || code > 0xdfff)
		return NULL;
	if (code < 0xdc00 && take(t, '\\') && take(t, 'u') && four_digits(t, &code) &&
	    code >= 0xdc00 && code <= 0xdfff)
		return NULL;
	return "half a surrogate pair";
}

static const char *string(struct text *t)
{
	const char *wrong = NULL;

	if (!take(t, '"'))
		return "no string";
	while (!wrong && !take(t, '"')) {
		if (t->p == t->end)
			return "a string without an end";
		if (*t->p < 0x20)
			return "a control character";
		if (take(t, '\\'))
			wrong = escape(t);
		else if (!character(t))
			wrong = "no UTF-8";
	}
	return wrong;
}

static const char *value(struct text *t, int depth);

static const char *array(struct text *t, int depth)
{
	const char *wrong = NULL;

	blanks(t);
	if (take(t, ']'))
		return NULL;
	do {
		wrong = value(t, depth);
	} while (!wrong && take(t, ','));
	return wrong ? wrong : take(t, ']') ? NULL : "no end of the array";
}

/* What stands behind KEY, and is it what docs/schema.md says? Keys of `fields` are NVIDIA's. */
static const char *member(struct text *t, const struct text *key, int depth)
{
	size_t n = (size_t)(key->end - key->begin);
	bool free = depth & FREE;
	const uint8_t *from;
	const char *wrong;

	blanks(t);
	from = t->p;
	wrong = value(t, depth | (n == 8 && !memcmp(key->begin, "\"fields\"", 8) ? FREE : 0));
	if (wrong || free)
		return wrong;
	return strict_key((const char *)key->begin + 1, n - 2, (const char *)from,
			  (size_t)(t->p - from));
}

static const char *object(struct text *t, int depth)
{
	struct text key[MAX_KEYS];
	const char *wrong = NULL;
	size_t n = 0;

	blanks(t);
	if (take(t, '}'))
		return NULL;
	do {
		blanks(t);
		if (n == MAX_KEYS)
			return "more keys than are held";
		key[n].begin = t->p;
		wrong = string(t);
		key[n++].end = t->p;
		for (size_t i = 0; !wrong && i + 1 < n; i++)
			if (key[i].end - key[i].begin == t->p - key[n - 1].begin &&
			    !memcmp(key[i].begin, key[n - 1].begin,
				    (size_t)(t->p - key[n - 1].begin)))
				wrong = "a key twice";
		blanks(t);
		if (!wrong)
			wrong = take(t, ':') ? member(t, key + n - 1, depth) : "no colon";
	} while (!wrong && take(t, ','));
	return wrong ? wrong : take(t, '}') ? NULL : "no end of the object";
}

static bool word(struct text *t, const char *w)
{
	size_t n = strlen(w);

	if (left(t) < n || memcmp(t->p, w, n))
		return false;
	t->p += n;
	return true;
}

static const char *value(struct text *t, int depth)
{
	const char *wrong = NULL;

	if ((depth & ~FREE) == MAX_DEPTH)
		return "too deep";
	blanks(t);
	if (take(t, '{'))
		wrong = object(t, depth + 1);
	else if (take(t, '['))
		wrong = array(t, depth + 1);
	else if (peek(t) == '"')
		wrong = string(t);
	else if (!word(t, "true") && !word(t, "false") && !word(t, "null"))
		wrong = number(t);
	blanks(t);
	return wrong;
}

const char *strict_json(const char *text, size_t size, size_t *at)
{
	struct text t = begin(text, size);
	const char *wrong = value(&t, 0);

	return wrong || t.p < t.end ? finish(&t, wrong ? wrong : "more than one value", at) : NULL;
}

const char *strict_json_lines(const char *text, size_t size, size_t *at)
{
	for (size_t from = 0; from < size;) {
		const char *line = text + from, *end = memchr(line, '\n', size - from), *wrong;

		*at = 0;
		wrong = !end	       ? "a line without an end"
			: *line != '{' ? "no object"
				       : strict_json(line, (size_t)(end - line), at);
		*at += from;
		if (wrong)
			return wrong;
		from = (size_t)(end - text) + 1;
	}
	return NULL;
}

/* ---- CSV ---- */

static const char *field(struct text *t)
{
	bool quoted = take(t, '"');

	while (t->p < t->end) {
		if (quoted && take(t, '"') && peek(t) != '"')
			return peek(t) == ',' || peek(t) == '\r' ? NULL
								 : "text behind a quoted field";
		if (!quoted && (*t->p == ',' || *t->p == '\r'))
			return NULL;
		if (!quoted && *t->p == '"')
			return "a quote in a field that is not quoted";
		if (*t->p < 0x20)
			return "a control character";
		if (!character(t))
			return "no UTF-8";
	}
	return "a record without an end";
}

const char *strict_csv(const char *text, size_t size, size_t *at)
{
	struct text t = begin(text, size);
	size_t columns = 0;

	while (t.p < t.end) {
		const char *wrong;
		size_t n = 0;

		do {
			wrong = field(&t);
			n++;
		} while (!wrong && take(&t, ','));
		if (!wrong && (!take(&t, '\r') || !take(&t, '\n')))
			wrong = "no CR LF";
		if (!wrong && columns && n != columns)
			wrong = "not as many fields as in the first record";
		if (wrong)
			return finish(&t, wrong, at);
		columns = n;
	}
	return NULL;
}
