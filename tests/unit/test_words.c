/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/*
 * Methods as text: every method of every class with selected values, compared with a
 * straightforward implementation; numbers compared with printf; and no line is longer than its
 * announced length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/gpu/method_format.h"
#include "tests/unit/expect.h"

#define ROOM 8192

static void numbers(void)
{
	char ours[64], theirs[64];
	uint64_t value = 1;
	bool same = true;

	for (int i = 0; i < 4096; i++) {
		/* All lengths, both ends of each. */
		uint64_t v = i < 128 ? (1ull << i / 2) - (i & 1) : value >> (value & 63);

		value = value * 6364136223846793005ull + 1442695040888963407ull;
		*nvs_put_hex(ours, v) = '\0';
		snprintf(theirs, sizeof(theirs), "%llx", (unsigned long long)v);
		same &= !strcmp(ours, theirs);
		*nvs_put_dec(ours, v) = '\0';
		snprintf(theirs, sizeof(theirs), "%llu", (unsigned long long)v);
		same &= !strcmp(ours, theirs);
		*nvs_put_hex8(ours, (uint32_t)v) = '\0';
		snprintf(theirs, sizeof(theirs), "%08x", (uint32_t)v);
		same &= !strcmp(ours, theirs);
	}
	EXPECT(same);
}

static bool tells_zero(const char *field)
{
	return strstr(field, "OPERATION") || strstr(field, "LAYOUT") || strstr(field, "STRUCT") ||
	       strstr(field, "ACTION");
}

static void plainly(char *to, const struct nvs_method *m, uint32_t value, bool zeros)
{
	uint32_t named = 0;

	*to = '\0';
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct nvs_field *f = &nvs_fields[m->fields + i];
		uint32_t v = nvs_field_get(f, value);
		const char *name = NULL;

		if (m->nfields == 1 && f->hi == 31 && !f->lo && !f->nvalues) {
			sprintf(to, " 0x%x", value);
			return;
		}
		for (uint32_t k = f->nvalues; k-- > 0;) {
			if (nvs_values[f->values + k].value == v)
				name = nvs_str(nvs_values[f->values + k].name);
		}
		for (uint32_t bit = f->lo; bit <= f->hi; bit++)
			named |= 1u << bit;
		if (!v && m->nfields > 1 && !zeros && !(name && tells_zero(nvs_str(f->name))))
			continue;
		to += name ? sprintf(to, " %s=%s", nvs_str(f->name), name)
			   : sprintf(to, " %s=0x%x", nvs_str(f->name), v);
	}
	if (value & ~named)
		sprintf(to, " +0x%x", value & ~named);
}

/* 0, all, each bit, and each of the values that have names. */
static uint32_t telling(const struct nvs_method *m, uint32_t n, bool *end)
{
	*end = false;
	if (n < 2)
		return n ? 0xffffffff : 0;
	n -= 2;
	if (n < 32)
		return 1u << n;
	n -= 32;
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct nvs_field *f = &nvs_fields[m->fields + i];

		if (n < f->nvalues)
			return nvs_values[f->values + n].value << f->lo;
		n -= f->nvalues;
	}
	*end = true;
	return 0;
}

static void check_method(const struct nvs_method *m, uint32_t *different, uint32_t *longer)
{
	static char ours[ROOM], theirs[ROOM];
	bool end = false;

	for (uint32_t n = 0; !end; n++) {
		uint32_t value = telling(m, n, &end);

		for (int zeros = 0; zeros < 2; zeros++) {
			*nvs_words_put_fields(ours, m, value, zeros) = '\0';
			plainly(theirs, m, value, zeros);
			*different += strcmp(ours, theirs) != 0;
			*longer += strlen(ours) + NVS_DIGITS > nvs_words_most(m);
		}
	}
}

static void methods(void)
{
	uint32_t different = 0, longer = 0, checked = 0, origins = 0;

	for (uint32_t c = 0; c < nvs_nclasses; c++) {
		for (uint32_t i = 0; i < nvs_classes[c].nmethods; i++) {
			const struct nvs_method *m = &nvs_methods[nvs_classes[c].methods + i];
			const struct nvs_class *from = nvs_class_find(m->cls);

			check_method(m, &different, &longer);
			checked++;
			origins += from && nvs_method_by_name(from, nvs_str(m->name)) &&
				   from->kind == nvs_classes[c].kind;
		}
	}
	EXPECT(checked > 5000);
	EXPECT_EQ(different, 0);
	EXPECT_EQ(longer, 0);
	EXPECT_EQ(origins, checked);
}

static void lengths(void)
{
	struct nvs_line l = {0};
	uint64_t sum = 0;
	char *p;

	for (uint32_t n = 1; n < 200000; n += n / 2 + 1) {
		p = nvs_line_room(&l, n);
		if (!p)
			break;
		memset(p, 'x', n);
		l.length += n;
		sum += n;
	}
	nvs_line_put(&l, "%s", "end");
	EXPECT_EQ(l.length, sum + 3);
	EXPECT_STR(l.text + sum, "end");
	nvs_line_free(&l);
}

int main(void)
{
	numbers();
	methods();
	lengths();
	return expect_done();
}
