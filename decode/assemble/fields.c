/* SPDX-License-Identifier: MIT */
/* Makes a method's data word from its value and fields. */
#include <string.h>
#include "decode/assemble/text.h"

/* Reduces VALUE to the half of an address that the method takes. Returns false after reporting an
 * error. */
static bool take_address_half(struct nvs_asm *s, const struct nvs_asm_line *l,
			      const struct nvs_token *t, const struct nvs_asm_value *value,
			      uint32_t *word)
{
	*word = (uint32_t)value->v;
	if (!value->address && value->v <= UINT32_MAX)
		return true;
	switch (l->method ? nvs_words_half(l->cls, l->offset) : NVS_HALF_NONE) {
	case NVS_HALF_UPPER:
		*word = (uint32_t)(value->v >> 32);
		return true;
	case NVS_HALF_LOWER:
		return true;
	case NVS_HALF_SHIFTED:
		*word = (uint32_t)(value->v >> 8);
		if (value->v % 256 == 0 && value->v >> 40 == 0)
			return true;
		nvs_asm_error(s, t->column, "the address must be a multiple of 256 below 2^40");
		return false;
	case NVS_HALF_NONE:
		break;
	}
	nvs_asm_error(s, t->column,
		      value->address ? "an address has 64 bits, but this method does not take half "
				       "of one; append .lo or .hi"
				     : "0x%llx has more than 32 bits",
		      (unsigned long long)value->v);
	return false;
}

void nvs_asm_read_whole(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t)
{
	struct nvs_asm_value value;
	uint32_t word;

	if (!nvs_asm_value(s, t, &value) || !take_address_half(s, l, t, &value, &word))
		return;
	if (l->has_value && word != l->value)
		nvs_asm_error(s, t->column, "0x%x contradicts the earlier 0x%x", word, l->value);
	if (!l->has_value)
		l->value_at = *t;
	l->has_value = true;
	l->value = word;
}

static const struct nvs_field *find_field(struct nvs_asm *s, const struct nvs_asm_line *l,
					  const struct nvs_token *t)
{
	const struct nvs_field *f = NULL;
	char name[NVS_ASM_NAME];
	struct nvs_nearest near = {.wanted = name};

	if (!l->method) {
		nvs_asm_error(s, t->column, "a method without a name has no fields");
		return NULL;
	}
	if (nvs_token_name(t, name))
		f = nvs_field_by_name(l->method, name);
	else
		*name = 0;
	if (f)
		return f;
	for (uint32_t i = 0; i < l->method->nfields; i++) {
		const struct nvs_field *known = &nvs_fields[l->method->fields + i];

		nvs_nearest_add(&near, nvs_class_string(known->name), known->length);
	}
	nvs_asm_unknown_name(s, t, &near, "%s has no field", nvs_class_string(l->method->name));
	return NULL;
}

/* Finds a value by its name; where a class is bound, also a class by its name. */
static bool find_value(struct nvs_asm *s, const struct nvs_asm_line *l, const struct nvs_field *f,
		       const struct nvs_token *t, uint32_t *value)
{
	char name[NVS_ASM_NAME];
	struct nvs_nearest near = {.wanted = name};
	const struct nvs_class *cls;

	if (!nvs_token_name(t, name))
		*name = 0;
	for (uint32_t i = 0; i < f->nvalues; i++) {
		const struct nvs_enum *v = &nvs_values[f->values + i];

		if (!strcmp(nvs_class_string(v->name), name)) {
			*value = v->value;
			return true;
		}
		nvs_nearest_add(&near, nvs_class_string(v->name), v->length);
	}
	cls = l->offset ? NULL : nvs_class_by_name(name);
	if (cls) {
		*value = cls->id;
		return true;
	}
	nvs_asm_unknown_name(s, t, &near, "%s has no value", nvs_class_string(f->name));
	return false;
}

/* A token is a number if it begins with $, or with a digit and is not the name of a value. */
static bool is_number(const struct nvs_field *f, const struct nvs_token *t)
{
	if (*t->p == '$')
		return true;
	if (*t->p < '0' || *t->p > '9')
		return false;
	for (uint32_t i = 0; i < f->nvalues; i++)
		if (nvs_token_is(t, nvs_class_string(nvs_values[f->values + i].name)))
			return false;
	return true;
}

static bool read_field_value(struct nvs_asm *s, const struct nvs_asm_line *l,
			     const struct nvs_field *f, const struct nvs_token *t, uint32_t *value)
{
	uint32_t mask = 0xffffffffu >> (31 - (f->hi - f->lo)), word;
	struct nvs_asm_value number;

	if (!t->n) {
		nvs_asm_error(s, t->column, "%s= needs a value", nvs_class_string(f->name));
		return false;
	}
	if (!is_number(f, t))
		return find_value(s, l, f, t, value);
	if (!nvs_asm_value(s, t, &number))
		return false;
	/* A field that holds part of an address takes the bits at its position. */
	if (number.address) {
		if (!take_address_half(s, l, t, &number, &word))
			return false;
		*value = word >> f->lo & mask;
		if (*value << f->lo == word)
			return true;
		nvs_asm_error(s, t->column,
			      "%s holds bits %u to %u of an address, but others are set",
			      nvs_class_string(f->name), f->hi, f->lo);
		return false;
	}
	*value = (uint32_t)number.v;
	if (number.v <= mask)
		return true;
	nvs_asm_error(s, t->column, "0x%llx does not fit %s, which has %u bits",
		      (unsigned long long)number.v, nvs_class_string(f->name), f->hi - f->lo + 1u);
	return false;
}

void nvs_asm_read_field(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t,
			size_t equals)
{
	struct nvs_token name = {t->p, equals, t->column};
	struct nvs_token rest = {t->p + equals + 1, t->n - equals - 1,
				 t->column + (uint32_t)equals + 1};
	const struct nvs_field *f = find_field(s, l, &name);
	uint32_t value, mask;

	if (!f || !read_field_value(s, l, f, &rest, &value))
		return;
	mask = 0xffffffffu >> (31 - (f->hi - f->lo)) << f->lo;
	value <<= f->lo;
	if ((l->fields ^ value) & mask & l->known)
		nvs_asm_error(s, t->column, "%s contradicts bits set by an earlier field",
			      nvs_class_string(f->name));
	l->fields |= value;
	l->known |= mask;
	l->has_fields = true;
}

void nvs_asm_read_bits(struct nvs_asm *s, struct nvs_asm_line *l, const struct nvs_token *t)
{
	struct nvs_token number = {t->p + 1, t->n - 1, t->column + 1};
	uint32_t bits;

	if (!nvs_asm_read_number(s, &number, UINT32_MAX, &bits))
		return;
	l->fields |= bits;
	l->known |= bits;
	l->has_fields = true;
}
