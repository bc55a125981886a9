/* SPDX-License-Identifier: MIT */
/* Reads method lines: finds the class and the method, then its value and fields. */
#include <stdlib.h>
#include <string.h>
#include "decode/assemble/text.h"

#define HOST_END 0x100u
#define METHOD_END 0x4000u

bool nvs_asm_read_subchannel(struct nvs_asm *s, const struct nvs_token *t)
{
	size_t n = 1;

	if (t->n < 2 || t->p[0] != 's')
		return false;
	while (n < t->n && t->p[n] >= '0' && t->p[n] <= '9')
		n++;
	if (n < t->n)
		return false;
	if (n != 2 || t->p[1] > '7') {
		nvs_asm_error(s, t->column, "subchannels are s0 to s7");
		return false;
	}
	s->subch = (uint8_t)(t->p[1] - '0');
	return true;
}

/* ---- classes ---- */

/* Reads "c8b5", "c8b5:a0b5" of a dump with -v, or "HOPPER_DMA_COPY_A". Returns false if the token
 * is no class. */
static bool read_class(struct nvs_asm *s, const struct nvs_token *t, uint32_t *id)
{
	struct nvs_token first = *t;
	const struct nvs_class *cls;
	char name[NVS_ASM_NAME];
	uint64_t value;

	if (t->n == 9 && t->p[4] == ':')
		first.n = 4;
	if (nvs_token_hex(&first, 4, &value)) {
		*id = (uint32_t)value;
		return true;
	}
	cls = nvs_token_name(t, name) ? nvs_class_by_name(name) : NULL;
	*id = cls ? cls->id : 0;
	return cls && strchr(name, '_');
}

static void state_class(struct nvs_asm *s, const struct nvs_class *cls)
{
	struct nvs_assembly *out = s->out;

	if (cls->kind == NVS_KIND_HOST) {
		if (!s->out->nwords)
			out->host = cls->id;
		s->host = cls;
		return;
	}
	if (s->classes[s->subch] != cls && !out->given[s->subch])
		out->classes[s->subch] = cls->id;
	out->given[s->subch] = true;
	s->classes[s->subch] = cls;
}

/* SET_OBJECT changes the subchannel's class. */
static void bind_class(struct nvs_asm *s, uint8_t subch, uint32_t id)
{
	s->classes[subch] = nvs_class_find(id & 0xffff);
	s->out->given[subch] = true;
}

/* ---- names ---- */

static void offer_methods(struct nvs_nearest *near, const struct nvs_class *cls)
{
	for (int step = 0; cls && step < 8; step++) {
		for (uint32_t i = 0; i < cls->nmethods; i++) {
			const char *name = nvs_class_string(nvs_methods[cls->methods + i].name);

			nvs_nearest_add(near, name, strlen(name));
		}
		cls = nvs_class_find(cls->assume ? cls->assume : cls->fallback);
	}
}

static void report_no_method(struct nvs_asm *s, const struct nvs_asm_line *l, const char *name)
{
	struct nvs_nearest near = {.wanted = name};

	if (l->cls != s->host)
		offer_methods(&near, l->cls);
	offer_methods(&near, s->host);
	if (l->cls)
		nvs_asm_unknown_name(s, &l->name, &near, "%s has no method",
				     nvs_class_string(l->cls->name));
	else
		nvs_asm_unknown_name(
			s, &l->name, &near,
			"s%u has no class here (s4 is the copy engine, s1 compute; write "
			"s3 902d to set one), and the host class has no method",
			l->subch);
}

/* Removes "(3)" from the end of NAME. Returns false after reporting an error. */
static bool take_index(struct nvs_asm *s, const struct nvs_asm_line *l, char *name, uint32_t *index)
{
	char *open = strchr(name, '('), *end;

	*index = UINT32_MAX;
	if (!open)
		return true;
	*index = (uint32_t)strtoul(open + 1, &end, 10);
	*open = 0;
	if (open[1] >= '0' && open[1] <= '9' && !strcmp(end, ")") && *index < METHOD_END)
		return true;
	nvs_asm_error(s, l->name.column, "write an array element as %s(3)", name);
	return false;
}

static bool apply_index(struct nvs_asm *s, struct nvs_asm_line *l, uint32_t index)
{
	const struct nvs_method *m = l->method;
	const char *name = nvs_class_string(m->name);

	if (index == UINT32_MAX)
		index = 0;
	else if (!m->stride)
		nvs_asm_error(s, l->name.column, "%s is not an array", name);
	else if (!m->bound && index >= m->count)
		nvs_asm_error(s, l->name.column, "%s ends at (%u)", name, m->count - 1);
	l->offset = (m->offset + index * m->stride) & (METHOD_END - 4);
	return !s->bad;
}

static bool find_host_method(const struct nvs_asm *s, const char *name, const struct nvs_method **m)
{
	*m = nvs_method_by_name(s->host, name);
	if (*m && (*m)->offset >= HOST_END)
		*m = NULL;
	return *m;
}

/* Finds a method by its name only. The host class's methods are valid on every subchannel. */
static bool find_by_name(struct nvs_asm *s, struct nvs_asm_line *l, bool stated)
{
	char name[NVS_ASM_NAME];
	uint32_t index;

	if (!nvs_token_name(&l->name, name)) {
		nvs_asm_error(s, l->name.column, "this is longer than any method name");
		return false;
	}
	if (*name && name[strlen(name) - 1] == '~')
		name[strlen(name) - 1] = 0;
	if (!take_index(s, l, name, &index))
		return false;
	if (stated)
		l->method = nvs_method_by_name(l->cls, name);
	if (!l->method && find_host_method(s, name, &l->method))
		l->cls = s->host;
	if (!l->method)
		l->method = nvs_method_by_name(l->cls, name);
	if (!l->method) {
		report_no_method(s, l, name);
		return false;
	}
	return apply_index(s, l, index);
}

/* "0x0240?", as --dump prints a method without a name. */
static bool read_nameless(const struct nvs_token *t, uint32_t *offset)
{
	struct nvs_token digits = {t->p + 2, t->n - 3, t->column};
	uint64_t value;

	if (t->n != 7 || memcmp(t->p, "0x", 2) || t->p[6] != '?' ||
	    !nvs_token_hex(&digits, 4, &value) || value >= METHOD_END || value % 4)
		return false;
	*offset = (uint32_t)value;
	return true;
}

/* Finds a method by the offset before its name; the name must be that method's. */
static bool find_by_offset(struct nvs_asm *s, struct nvs_asm_line *l, uint32_t offset)
{
	struct nvs_method_at at;
	struct nvs_line_buffer words = {0};
	bool same;

	nvs_method_find(l->cls, offset, &at);
	nvs_format_method(&words, &at, offset);
	same = words.text && words.length == l->name.n &&
	       !memcmp(words.text, l->name.p, words.length);
	if (words.text && !same)
		nvs_asm_error(s, l->name.column, "method %04x of this class is %s", offset,
			      words.text);
	s->no_memory |= !words.text;
	nvs_line_free(&words);
	l->method = at.method;
	l->offset = offset;
	return same;
}

static bool find_method(struct nvs_asm *s, struct nvs_asm_line *l, bool stated, bool has_offset,
			uint32_t offset)
{
	uint32_t number;

	if (has_offset)
		return find_by_offset(s, l, offset);
	if (read_nameless(&l->name, &number)) {
		struct nvs_method_at at;

		nvs_method_find(number < HOST_END ? s->host : l->cls, number, &at);
		l->method = at.method;
		l->offset = number;
		return true;
	}
	return find_by_name(s, l, stated);
}

uint32_t nvs_asm_read_offset(struct nvs_asm *s, const struct nvs_token *t)
{
	struct nvs_asm_line l = {.subch = s->subch, .cls = s->classes[s->subch], .name = *t};
	uint64_t value;

	if (nvs_token_hex(t, 4, &value)) {
		if (value < METHOD_END && value % 4 == 0)
			return (uint32_t)value;
		nvs_asm_error(s, t->column, "a method offset is a multiple of 4 below %04x",
			      METHOD_END);
		return UINT32_MAX;
	}
	return find_method(s, &l, false, false, 0) ? l.offset : UINT32_MAX;
}

/* "[9]": data follows, on separate lines. */
static void announce_data(struct nvs_asm *s, const struct nvs_asm_line *l,
			  const struct nvs_token *t)
{
	struct nvs_token more = nvs_asm_next_token(s);
	uint32_t count;

	if (!nvs_asm_read_count(s, t, &count))
		return;
	if (l->has_value || l->has_fields || more.n) {
		nvs_asm_error(s, t->column, "the words after %.*s go on separate lines", (int)t->n,
			      t->p);
		return;
	}
	/* The data lines get a new header, unless the text has one for them. */
	if (s->header.made)
		nvs_asm_close_header(s);
	s->data = (struct nvs_asm_data){
		.open = true,
		.counted = count != UINT32_MAX,
		.subch = l->subch,
		.method = (uint16_t)l->offset,
		.left = count,
		.at = {s->at.line, t->column},
	};
}

static void emit_value(struct nvs_asm *s, struct nvs_asm_line *l)
{
	uint32_t word = l->has_value ? l->value : l->fields;

	if (l->has_value && l->has_fields && l->value != l->fields) {
		nvs_asm_error(s, l->value_at.column,
			      "%08x contradicts the fields, which make %08x; remove one of them",
			      l->value, l->fields);
		return;
	}
	nvs_asm_data(s, l->subch, l->offset, word, NVS_PB_INC, l->name.column);
	if (!l->offset)
		bind_class(s, l->subch, word);
}

static void read_operands(struct nvs_asm *s, struct nvs_asm_line *l)
{
	for (struct nvs_token t = nvs_asm_next_token(s); t.n && !s->bad;
	     t = nvs_asm_next_token(s)) {
		const char *equals = memchr(t.p, '=', t.n);

		if (*t.p == '[') {
			announce_data(s, l, &t);
			return;
		}
		if (equals)
			nvs_asm_read_field(s, l, &t, (size_t)(equals - t.p));
		else if (*t.p == '+')
			nvs_asm_read_bits(s, l, &t);
		else
			nvs_asm_read_whole(s, l, &t);
	}
	if (!s->bad)
		emit_value(s, l);
}

void nvs_asm_read_method(struct nvs_asm *s)
{
	struct nvs_token t = nvs_asm_next_token(s);
	bool named = nvs_asm_read_subchannel(s, &t), stated = false, has_offset = false;
	struct nvs_asm_line l = {0};
	uint64_t offset = 0;
	uint32_t id = 0, at = 0, number;

	if (named)
		t = nvs_asm_next_token(s);
	l.subch = s->subch;
	l.cls = s->classes[s->subch];
	if (named && t.n && read_class(s, &t, &id)) {
		stated = true;
		at = t.column;
		l.cls = nvs_class_find(id);
		if (l.cls)
			state_class(s, l.cls);
		t = nvs_asm_next_token(s);
		has_offset = nvs_token_hex(&t, 4, &offset);
		if (has_offset)
			t = nvs_asm_next_token(s);
	}
	l.name = t;
	/* As --dump prints it: offset, name, and a word of eight digits. */
	s->eight = has_offset ? NVS_ASM_EIGHT_HEX : NVS_ASM_EIGHT_REFUSED;
	if (!t.n && has_offset)
		nvs_asm_error(s, t.column, "the method's name is missing");
	else if (stated && !l.cls && !has_offset && !read_nameless(&t, &number))
		nvs_asm_error(s, at, "class %04x is not known; nvsnoop-report --classes lists them",
			      id);
	else if (!t.n && !named)
		nvs_asm_error(s, t.column, "a method was expected");
	if (t.n && find_method(s, &l, stated, has_offset, (uint32_t)offset))
		read_operands(s, &l);
}
