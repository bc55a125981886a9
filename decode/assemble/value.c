/* SPDX-License-Identifier: MIT */
/* Reads values: numbers, buffer addresses, and sums and products of them. */
#include <stdio.h>
#include <string.h>
#include "decode/assemble/text.h"

static int digit_value(char c, uint32_t base)
{
	int v = c >= '0' && c <= '9'			 ? c - '0'
		: (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							 : 99;

	return v < (int)base ? v : -1;
}

bool nvs_token_hex(const struct nvs_token *t, size_t n, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < t->n; i++) {
		if (digit_value(t->p[i], 16) < 0)
			return false;
		*value = *value << 4 | (uint32_t)digit_value(t->p[i], 16);
	}
	return t->n == n;
}

/* The unread part of a value's token. */
struct rest {
	const struct nvs_token *whole;
	const char *p, *end;
};

/* Returns how many hexadecimal digits follow. */
static size_t count_digits(const struct rest *r)
{
	size_t n = 0;

	while (r->p + n < r->end && digit_value(r->p[n], 16) >= 0)
		n++;
	return n;
}

static bool all_decimal(const struct rest *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (digit_value(r->p[i], 10) < 0)
			return false;
	return true;
}

/* "10000000" may be decimal or hexadecimal; the message shows both. */
static void report_ambiguous(struct nvs_asm *s, const struct rest *r)
{
	uint32_t hex = 0, decimal = 0;

	for (int i = 0; i < 8; i++) {
		hex = 16 * hex + (unsigned)digit_value(r->p[i], 16);
		decimal = 10 * decimal + (unsigned)digit_value(r->p[i], 10);
	}
	nvs_asm_error(s, r->whole->column + (uint32_t)(r->p - r->whole->p),
		      "%.8s is ambiguous, hexadecimal or decimal: write 0x%x or 0x%x", r->p, hex,
		      decimal);
}

static bool read_number(struct nvs_asm *s, struct rest *r, struct nvs_asm_value *v)
{
	bool prefix = r->end - r->p > 2 && r->p[0] == '0' && (r->p[1] | 0x20) == 'x';
	bool eight = !prefix && count_digits(r) == 8 && s->eight != NVS_ASM_EIGHT_DECIMAL;
	uint32_t base = prefix || eight ? 16 : 10;
	const char *start = r->p += prefix ? 2 : 0;

	if (eight && s->eight == NVS_ASM_EIGHT_REFUSED && all_decimal(r, 8)) {
		report_ambiguous(s, r);
		return false;
	}

	*v = (struct nvs_asm_value){0};
	for (; r->p < r->end && digit_value(*r->p, base) >= 0; r->p++) {
		if (__builtin_mul_overflow(v->v, base, &v->v) ||
		    __builtin_add_overflow(v->v, (uint64_t)digit_value(*r->p, base), &v->v)) {
			nvs_asm_error(s, r->whole->column, "the number has more than 64 bits");
			return false;
		}
	}
	if (r->p > start)
		return true;
	nvs_asm_error(s, r->whole->column, "a number or an address was expected");
	return false;
}

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool take_half(struct nvs_asm *s, struct rest *r, struct nvs_asm_value *v)
{
	bool hi = r->end - r->p >= 3 && !memcmp(r->p, ".hi", 3);

	if (!hi && (r->end - r->p < 3 || memcmp(r->p, ".lo", 3))) {
		nvs_asm_error(s, r->whole->column + (uint32_t)(r->p - r->whole->p),
			      "only .hi (bits 63:32) or .lo (bits 31:0) may follow");
		return false;
	}
	*v = (struct nvs_asm_value){.v = hi ? v->v >> 32 : v->v & 0xffffffff};
	r->p += 3;
	return true;
}

static void report_no_symbol(struct nvs_asm *s, const struct nvs_token *name)
{
	char text[128] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < s->in->nsymbols && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s$%s", i ? ", " : "",
				      s->in->symbols[i].name);
	if (nvs_token_is(name, "i"))
		nvs_asm_error(s, name->column,
			      "$i is the pass of a repetition, and no repetition is open here");
	else
		nvs_asm_error(s, name->column, "no such buffer; the known ones are %s", text);
}

/* "$src", "$i" */
static bool read_symbol(struct nvs_asm *s, struct rest *r, struct nvs_asm_value *v)
{
	struct nvs_token name = {.p = ++r->p,
				 .column = r->whole->column + (uint32_t)(r->p - 1 - r->whole->p)};

	while (r->p < r->end && is_letter(*r->p))
		r->p++;
	name.n = (size_t)(r->p - name.p);
	if (nvs_token_is(&name, "i") && s->deep) {
		*v = (struct nvs_asm_value){.v = s->repeat[s->deep - 1].pass};
		return true;
	}
	for (uint32_t i = 0; i < s->in->nsymbols; i++) {
		const struct nvs_asm_symbol *known = &s->in->symbols[i];

		if (nvs_token_is(&name, known->name)) {
			*v = (struct nvs_asm_value){.v = known->address, .address = true};
			return true;
		}
	}
	report_no_symbol(s, &name);
	return false;
}

static bool read_term(struct nvs_asm *s, struct rest *r, struct nvs_asm_value *v)
{
	if (r->p < r->end && *r->p == '$') {
		if (!read_symbol(s, r, v))
			return false;
	} else if (!read_number(s, r, v)) {
		return false;
	}
	return true;
}

static bool read_product(struct nvs_asm *s, struct rest *r, struct nvs_asm_value *v)
{
	struct nvs_asm_value by;

	if (!read_term(s, r, v))
		return false;
	while (r->p < r->end && *r->p == '*') {
		r->p++;
		if (!read_term(s, r, &by))
			return false;
		v->v *= by.v;
		v->address |= by.address;
	}
	return true;
}

bool nvs_asm_value(struct nvs_asm *s, const struct nvs_token *t, struct nvs_asm_value *v)
{
	struct rest r = {t, t->p, t->p + t->n};
	struct nvs_asm_value more;

	if (!read_product(s, &r, v))
		return false;
	while (r.p < r.end && (*r.p == '+' || *r.p == '-')) {
		bool minus = *r.p++ == '-';

		if (!read_product(s, &r, &more))
			return false;
		v->v = minus ? v->v - more.v : v->v + more.v;
		v->address |= more.address;
	}
	/* Applies to the whole: $src+16.hi is the upper half of the sum. */
	if (r.p < r.end && *r.p == '.' && !take_half(s, &r, v))
		return false;
	if (r.p == r.end)
		return true;
	nvs_asm_error(s, t->column + (uint32_t)(r.p - t->p),
		      "unexpected text after a number or an address");
	return false;
}

bool nvs_asm_read_number(struct nvs_asm *s, const struct nvs_token *t, uint32_t most, uint32_t *v)
{
	struct nvs_asm_value value;

	if (!nvs_asm_value(s, t, &value))
		return false;
	*v = (uint32_t)value.v;
	if (!value.address && value.v <= most)
		return true;
	if (value.address)
		nvs_asm_error(s, t->column,
			      "an address has 64 bits; append .lo or .hi to use half of it");
	else
		nvs_asm_error(s, t->column, "0x%llx is more than the maximum, 0x%x",
			      (unsigned long long)value.v, most);
	return false;
}

bool nvs_asm_read_decimal(struct nvs_asm *s, const struct nvs_token *t, uint32_t *n)
{
	uint8_t eight = s->eight;
	bool good;

	s->eight = NVS_ASM_EIGHT_DECIMAL;
	good = nvs_asm_read_number(s, t, NVS_ASM_MAX_WORDS, n);
	s->eight = eight;
	return good;
}

bool nvs_asm_read_count(struct nvs_asm *s, const struct nvs_token *t, uint32_t *count)
{
	struct nvs_token inner = {t->p + 1, t->n - 2, t->column + 1};

	if (t->n >= 2 && t->p[0] == '[' && t->p[t->n - 1] == ']') {
		*count = UINT32_MAX;
		return !inner.n || nvs_asm_read_decimal(s, &inner, count);
	}
	nvs_asm_error(s, t->column, "write a word count as [9], or [] to have the words counted");
	return false;
}
