/* SPDX-License-Identifier: MIT */
/* Methods and their fields in words. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/words.h"

void nvs_line_put(struct nvs_line *l, const char *format, ...)
{
	va_list ap;
	int n;

	if (l->room - l->length < 256) {
		char *text = realloc(l->text, l->room + 1024);

		if (!text)
			return;
		l->text = text;
		l->room += 1024;
	}
	va_start(ap, format);
	n = vsnprintf(l->text + l->length, l->room - l->length, format, ap);
	va_end(ap);
	if (n > 0)
		l->length += (size_t)n < l->room - l->length ? (size_t)n : l->room - l->length - 1;
}

void nvs_line_start(struct nvs_line *l)
{
	l->length = 0;
	nvs_line_put(l, "%s", "");
}

void nvs_line_free(struct nvs_line *l)
{
	free(l->text);
	memset(l, 0, sizeof(*l));
}

void nvs_words_method(struct nvs_line *l, const struct nvs_method_at *at, uint32_t offset)
{
	if (!at->method)
		nvs_line_put(l, "0x%04x?", offset);
	else if (at->method->stride)
		nvs_line_put(l, "%s(%u)", nvs_str(at->method->name), at->index);
	else
		nvs_line_put(l, "%s", nvs_str(at->method->name));
	if (at->assumed)
		nvs_line_put(l, "~");
}

/* 0 is worth a word in fields that choose between things; in others it means off or the usual. */
static bool tells_at_zero(const char *field)
{
	static const char *const parts[] = {"OPERATION", "LAYOUT", "STRUCT", "ACTION"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(field, parts[i]))
			return true;
	}
	return false;
}

void nvs_words_fields(struct nvs_line *l, const struct nvs_method *m, uint32_t value)
{
	uint32_t named = 0;

	if (m->nfields == 1 && nvs_fields[m->fields].hi == 31 && !nvs_fields[m->fields].lo &&
	    !nvs_fields[m->fields].nvalues) {
		nvs_line_put(l, " 0x%x", value);
		return;
	}
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct nvs_field *f = &nvs_fields[m->fields + i];
		uint32_t v = nvs_field_get(f, value);
		const char *name = nvs_value_name(f, v);

		named |= (0xffffffffu >> (31 - (f->hi - f->lo))) << f->lo;
		if (!v && m->nfields > 1 && !(name && tells_at_zero(nvs_str(f->name))))
			continue;
		if (name)
			nvs_line_put(l, " %s=%s", nvs_str(f->name), name);
		else
			nvs_line_put(l, " %s=0x%x", nvs_str(f->name), v);
	}
	if (value & ~named)
		nvs_line_put(l, " +0x%x", value & ~named);
}

/* ---- addresses ---- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static bool has_half(const struct nvs_method *m, const char *half, const char *short_half)
{
	if (ends_with(nvs_str(m->name), half) || ends_with(nvs_str(m->name), short_half))
		return true;
	for (uint32_t i = 0; i < m->nfields; i++) {
		const char *name = nvs_str(nvs_fields[m->fields + i].name);

		if (strstr(name, half) && !strstr(name, "PAYLOAD"))
			return true;
	}
	return false;
}

bool nvs_words_address(const struct nvs_class *cls, const struct nvs_method_at *at, uint32_t offset,
		       uint32_t value, uint32_t other, uint64_t *address)
{
	struct nvs_method_at before;
	const char *name = nvs_str(at->method->name);

	if (!strcmp(name, "SEND_PCAS_A")) {
		*address = (uint64_t)value << 8;
		return true;
	}
	if (offset < 4 || strstr(name, "PAYLOAD") || !nvs_method_find(cls, offset - 4, &before) ||
	    strstr(nvs_str(before.method->name), "PAYLOAD"))
		return false;
	if (has_half(before.method, "UPPER", "_UPPER") &&
	    (has_half(at->method, "LOWER", "_LOWER") || !strcmp(name, "OFFSET_OUT"))) {
		*address = (uint64_t)(other & 0x1ffffff) << 32 | value;
		return !strstr(name, "QMD");
	}
	if (ends_with(nvs_str(before.method->name), "ADDR_LO") && ends_with(name, "ADDR_HI")) {
		*address = (uint64_t)(value & 0x1ffffff) << 32 | (other & ~3u);
		return true;
	}
	return false;
}
