/* SPDX-License-Identifier: MIT */
/* Trace file names: expands the pattern, and picks another name if the first is taken. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/names.h"

struct name_writer {
	char *out;
	size_t size, used;
	bool full;
};

static void put_char(struct name_writer *w, char c)
{
	if (w->used + 1 >= w->size)
		w->full = true;
	else
		w->out[w->used++] = c;
}

static void put_text(struct name_writer *w, const char *text)
{
	while (*text)
		put_char(w, *text++);
}

/* Appends TEXT as one path component. TEXT comes from outside (program or host name). */
static void put_part(struct name_writer *w, const char *text)
{
	if (!text || !*text || !strcmp(text, ".") || !strcmp(text, ".."))
		text = "unknown";
	for (; *text; text++)
		put_char(w,
			 *text == '/' || (unsigned char)*text < ' ' || *text == 127 ? '_' : *text);
}

/* P is at the '{' of %q{NAME}. Returns the position after the '}', or NULL on error. */
static const char *put_variable(struct name_writer *w, const char *p,
				const struct nvs_name_fields *facts)
{
	const char *end = *p == '{' ? strchr(p, '}') : NULL;
	const char *value;
	char name[256];
	size_t n;

	if (!end || end == p + 1 || (n = (size_t)(end - p - 1)) >= sizeof(name))
		return NULL;
	memcpy(name, p + 1, n);
	name[n] = '\0';
	value = facts->variable(name);
	if (!value)
		return NULL;
	put_text(w, value);
	return end + 1;
}

/* P is after a '%'. Returns the position after the conversion, or NULL on error. */
static const char *put_field(struct name_writer *w, const char *p,
			     const struct nvs_name_fields *facts)
{
	char number[16];

	switch (*p) {
	case '%':
		put_char(w, '%');
		break;
	case 'p':
		snprintf(number, sizeof(number), "%u", facts->pid);
		put_text(w, number);
		break;
	case 'e':
		put_part(w, facts->program);
		break;
	case 'h':
		put_part(w, facts->host);
		break;
	case 'q':
		return put_variable(w, p + 1, facts);
	default:
		return NULL;
	}
	return p + 1;
}

int nvs_name_expand(const char *pattern, const struct nvs_name_fields *facts, char *name,
		    size_t size)
{
	struct name_writer w = {.out = name, .size = size};
	const char *p = pattern;

	while (p && *p) {
		if (*p != '%')
			put_char(&w, *p++);
		else
			p = put_field(&w, p + 1, facts);
	}
	if (!p)
		return -EINVAL;
	if (w.full)
		return -ENAMETOOLONG;
	name[w.used] = '\0';
	return w.used && name[w.used - 1] != '/' ? 0 : -EINVAL;
}

const char *nvs_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int nvs_name_alternative(const char *name, uint32_t pid, unsigned try, char *other, size_t size)
{
	const char *base = nvs_base_name(name), *dot = strrchr(base, '.');
	char middle[32] = "";
	int stem, n;

	if (!dot || dot == base)
		dot = base + strlen(base);
	stem = (int)(dot - name);
	if (try == 1)
		snprintf(middle, sizeof(middle), ".%u", pid);
	else if (try > 1)
		snprintf(middle, sizeof(middle), ".%u.%u", pid, try - 1);
	n = snprintf(other, size, "%.*s%s%s", stem, name, middle, dot);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

void nvs_name_printable(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++)
		out[n++] = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
	if (size)
		out[n] = '\0';
}
