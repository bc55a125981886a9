/* SPDX-License-Identifier: MIT */
/* Formats methods and their fields as text. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/gpu/method_format.h"

char *nvs_line_grow(struct nvs_line_buffer *l, size_t n)
{
	size_t room = 2 * l->room + n + 1024;
	char *text = realloc(l->text, room);

	if (!text)
		return NULL;
	l->text = text;
	l->room = room;
	return text + l->length;
}

/* Flags and width of a conversion. */
struct conversion {
	bool left, zero;
	size_t width;
	int longs;
};

static inline const char *read_conversion(const char *format, struct conversion *c)
{
	*c = (struct conversion){.left = false};
	for (; *format == '-' || *format == '0'; format++)
		*(*format == '-' ? &c->left : &c->zero) = true;
	for (; *format >= '0' && *format <= '9'; format++)
		c->width = 10 * c->width + (size_t)(*format - '0');
	for (; *format == 'l'; format++)
		c->longs++;
	return format;
}

static inline char *put_padded(char *p, const char *end, const struct conversion *c,
			       const char *text, size_t n)
{
	size_t pad = c->width > n ? c->width - n : 0;

	if ((size_t)(end - p) < n + pad)
		return NULL;
	if (!pad)
		return nvs_put_text(p, text, n);
	if (!c->left)
		memset(p, c->zero ? '0' : ' ', pad);
	memcpy(p + (c->left ? 0 : pad), text, n);
	if (c->left)
		memset(p + n, ' ', pad);
	return p + n + pad;
}

/* What vsnprintf() writes, for the conversions that most lines have. Returns the end of the text,
 * or NULL if there is another conversion or too little room. */
static char *put_simple(char *p, const char *end, const char *format, va_list *ap)
{
	for (; p; format++) {
		char digits[NVS_DIGITS], *to = digits, *start;
		struct conversion c;
		uint64_t number;

		for (; *format && *format != '%' && p < end; format++)
			*p++ = *format;
		if (!*format)
			return p;
		if (p == end)
			return NULL;
		format = read_conversion(format + 1, &c);
		if (*format == 's') {
			const char *text = va_arg(*ap, const char *);

			p = text ? put_padded(p, end, &c, text, strlen(text)) : NULL;
		} else if (*format == 'u' || *format == 'x') {
			number = c.longs ? va_arg(*ap, unsigned long) : va_arg(*ap, unsigned);
			start = p;
			/* Most numbers can be written where they belong. */
			if (!c.width && end - p >= NVS_DIGITS)
				to = p;
			p = *format == 'u' ? nvs_put_dec(to, number) : nvs_put_hex(to, number);
			if (to == digits)
				p = put_padded(start, end, &c, digits, (size_t)(p - digits));
		} else {
			p = NULL;
		}
	}
	return p;
}

void nvs_line_put(struct nvs_line_buffer *l, const char *format, ...)
{
	char *p = nvs_line_reserve(l, 256), *end;
	va_list ap;
	int n;

	if (!p)
		return;
	va_start(ap, format);
	end = put_simple(p, l->text + l->room - 1, format, &ap);
	va_end(ap);
	if (end) {
		*end = '\0';
		l->length = (size_t)(end - l->text);
		return;
	}
	va_start(ap, format);
	n = vsnprintf(p, l->room - l->length, format, ap);
	va_end(ap);
	if (n > 0)
		l->length += (size_t)n < l->room - l->length ? (size_t)n : l->room - l->length - 1;
}

void nvs_line_start(struct nvs_line_buffer *l)
{
	l->length = 0;
	if (nvs_line_reserve(l, 1))
		*l->text = '\0';
}

void nvs_line_free(struct nvs_line_buffer *l)
{
	free(l->text);
	memset(l, 0, sizeof(*l));
}

void nvs_format_method(struct nvs_line_buffer *l, const struct nvs_method_at *at, uint32_t offset)
{
	if (!at->method)
		nvs_line_put(l, "0x%04x?", offset);
	else if (at->method->stride)
		nvs_line_put(l, "%s(%u)", nvs_class_string(at->method->name), at->index);
	else
		nvs_line_put(l, "%s", nvs_class_string(at->method->name));
	if (at->assumed)
		nvs_line_put(l, "~");
}

static bool is_number(const struct nvs_method *m)
{
	const struct nvs_field *f = nvs_fields + m->fields;

	return m->nfields == 1 && f->hi == 31 && !f->lo && !f->nvalues;
}

static char *put_field(char *p, const struct nvs_field *f, uint32_t value)
{
	const struct nvs_enum *v = nvs_value_find(f, value);

	*p++ = ' ';
	p = nvs_put_text(p, nvs_class_string(f->name), f->length);
	*p++ = '=';
	return v ? nvs_put_text(p, nvs_class_string(v->name), v->length)
		 : nvs_put_hex(nvs_put_text(p, "0x", 2), value);
}

char *nvs_put_fields(char *p, const struct nvs_method *m, uint32_t value, bool zeros)
{
	const struct nvs_field *f = nvs_fields + m->fields, *end = f + m->nfields;
	uint32_t left = value;

	if (is_number(m))
		return nvs_put_hex(nvs_put_text(p, " 0x", 3), value);
	zeros |= m->nfields == 1;
	for (; f < end; f++) {
		uint32_t mask = 0xffffffffu >> (31 - (f->hi - f->lo)), v = value >> f->lo & mask;

		left &= ~(mask << f->lo);
		if (v || zeros || f->flags & NVS_FIELD_SHOW_ZERO)
			p = put_field(p, f, v);
	}
	return left ? nvs_put_hex(nvs_put_text(p, " +0x", 4), left) : p;
}

size_t nvs_words_max_bytes(const struct nvs_method *m)
{
	const struct nvs_field *f = nvs_fields + m->fields, *end = f + m->nfields;
	size_t most = 2 * NVS_DIGITS;

	for (; f < end; f++) {
		size_t longest = NVS_DIGITS;

		for (uint32_t i = 0; i < f->nvalues; i++) {
			if (nvs_values[f->values + i].length > longest)
				longest = nvs_values[f->values + i].length;
		}
		most += 2u + f->length + longest;
	}
	return most;
}

void nvs_format_fields(struct nvs_line_buffer *l, const struct nvs_method *m, uint32_t value,
		       bool zeros)
{
	char *p = nvs_line_reserve(l, nvs_words_max_bytes(m) + 1);

	if (!p)
		return;
	p = nvs_put_fields(p, m, value, zeros);
	*p = '\0';
	l->length = (size_t)(p - l->text);
}

/* ---- addresses ---- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static bool has_half(const struct nvs_method *m, const char *half, const char *short_half)
{
	if (ends_with(nvs_class_string(m->name), half) ||
	    ends_with(nvs_class_string(m->name), short_half))
		return true;
	for (uint32_t i = 0; i < m->nfields; i++) {
		const char *name = nvs_class_string(nvs_fields[m->fields + i].name);

		if (strstr(name, half) && !strstr(name, "PAYLOAD"))
			return true;
	}
	return false;
}

enum nvs_words_address nvs_words_address(const struct nvs_class *cls,
					 const struct nvs_method_at *at, uint32_t offset)
{
	struct nvs_method_at before;
	const char *name = nvs_class_string(at->method->name);

	if (!strcmp(name, "SEND_PCAS_A"))
		return NVS_ADDRESS_SHIFTED;
	if (offset < 4 || strstr(name, "PAYLOAD") || !nvs_method_find(cls, offset - 4, &before) ||
	    strstr(nvs_class_string(before.method->name), "PAYLOAD"))
		return NVS_ADDRESS_NONE;
	if (has_half(before.method, "UPPER", "_UPPER") &&
	    (has_half(at->method, "LOWER", "_LOWER") || !strcmp(name, "OFFSET_OUT")))
		return strstr(name, "QMD") ? NVS_ADDRESS_NONE : NVS_ADDRESS_LOW;
	if (ends_with(nvs_class_string(before.method->name), "ADDR_LO") &&
	    ends_with(name, "ADDR_HI"))
		return NVS_ADDRESS_HIGH;
	return NVS_ADDRESS_NONE;
}

enum nvs_words_half nvs_words_half(const struct nvs_class *cls, uint32_t offset)
{
	static const enum nvs_words_half second[] = {
		[NVS_ADDRESS_SHIFTED] = NVS_HALF_SHIFTED,
		[NVS_ADDRESS_LOW] = NVS_HALF_LOWER,
		[NVS_ADDRESS_HIGH] = NVS_HALF_UPPER,
	};
	static const enum nvs_words_half first[] = {
		[NVS_ADDRESS_LOW] = NVS_HALF_UPPER,
		[NVS_ADDRESS_HIGH] = NVS_HALF_LOWER,
		[NVS_ADDRESS_SHIFTED] = NVS_HALF_NONE,
	};
	struct nvs_method_at at;
	enum nvs_words_address kind;

	if (!nvs_method_find(cls, offset, &at))
		return NVS_HALF_NONE;
	kind = nvs_words_address(cls, &at, offset);
	if (kind)
		return second[kind];
	if (!nvs_method_find(cls, offset + 4, &at))
		return NVS_HALF_NONE;
	return first[nvs_words_address(cls, &at, offset + 4)];
}

uint64_t nvs_words_address_of(enum nvs_words_address kind, uint32_t value, uint32_t other)
{
	switch (kind) {
	case NVS_ADDRESS_SHIFTED:
		return (uint64_t)value << 8;
	case NVS_ADDRESS_LOW:
		return (uint64_t)(other & 0x1ffffff) << 32 | value;
	case NVS_ADDRESS_HIGH:
		return (uint64_t)(value & 0x1ffffff) << 32 | (other & ~3u);
	case NVS_ADDRESS_NONE:
		break;
	}
	return 0;
}
