/* SPDX-License-Identifier: MIT */
/* Parses the values of options: numbers, sizes, times and words. */
#include <stdio.h>
#include <string.h>
#include "decode/cli/units.h"
#include "include/distance.h"

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

bool nvs_read_number(const char **text, uint64_t max, uint64_t *value)
{
	int base = (*text)[0] == '0' && (*text)[1] == 'x' ? 16 : 10;
	const char *p = base == 16 ? *text + 2 : *text, *first = p;

	for (*value = 0; digit_of(*p) < base; p++)
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit_of(*p), value) || *value > max)
			return false;
	*text = p;
	return p > first;
}

bool nvs_read_decimal(const char **text, uint64_t unit, uint64_t max, uint64_t *value)
{
	const char *p = *text;

	for (*value = 0; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*p - '0'), value))
			return false;
	if (p == *text || __builtin_mul_overflow(*value, unit, value))
		return false;
	if (unit > 1 && p[0] == '.' && digit_of(p[1]) < 10)
		for (p++; *p >= '0' && *p <= '9'; p++) {
			unit /= 10;
			if (__builtin_add_overflow(*value, unit * (uint64_t)(*p - '0'), value))
				return false;
		}
	*text = p;
	return *value <= max;
}

bool nvs_read_size(const char **text, uint64_t max, uint64_t *bytes)
{
	static const char units[] = "kKmMgGtT";
	const char *unit;
	uint64_t shift;

	if (!nvs_read_number(text, max, bytes))
		return false;
	unit = **text ? strchr(units, **text) : NULL;
	if (!unit)
		return true;
	++*text;
	shift = (uint64_t)(unit - units) / 2 * 10 + 10;
	if (*bytes > max >> shift)
		return false;
	*bytes <<= shift;
	return true;
}

int nvs_word_index(const char *words, const char *text)
{
	size_t length = strlen(text), n;

	for (int i = 0;; i++, words += n + 1) {
		n = strcspn(words, "|");
		if (n == length && !strncmp(words, text, n))
			return i;
		if (!words[n])
			return -1;
	}
}

/* Half of the letters may be wrong. */
static uint32_t most_wrong(size_t length)
{
	return (uint32_t)length / 2 + 1;
}

const char *nvs_option_nearest(const struct nvs_option *o, const char *word, size_t length)
{
	uint32_t least = most_wrong(length);
	const char *nearest = NULL;

	for (; o->name || o->help; o++) {
		uint32_t d = o->name ? nvs_edit_distance(word, length, o->name, strlen(o->name))
				     : least;

		nearest = d < least ? o->name : nearest;
		least = d < least ? d : least;
	}
	return nearest;
}

size_t nvs_word_nearest(const char *words, const char *text, const char **word)
{
	uint32_t least = most_wrong(strlen(text)), d;
	size_t found = 0, n;

	for (; *words; words += n + (words[n] == '|')) {
		n = strcspn(words, "|");
		d = nvs_edit_distance(text, strlen(text), words, n);
		if (d >= least)
			continue;
		least = d;
		*word = words;
		found = n;
	}
	return found;
}

static void store_number(const struct nvs_option *o, void *field, uint64_t value)
{
	if (o->size == sizeof(bool))
		*(bool *)field = value != 0;
	else if (o->size == sizeof(uint32_t))
		*(uint32_t *)field = (uint32_t)value;
	else
		*(uint64_t *)field = value;
}

static bool store_text(const struct nvs_option *o, void *field, const char *text)
{
	size_t n = strlen(text);

	if (o->kind == NVS_OPTION_TEXT) {
		*(const char **)field = text;
		return n >= o->min;
	}
	if (!n || n >= o->size)
		return false;
	memcpy(field, text, n + 1);
	return true;
}

/* Reads the number that TEXT stands for, of an option that is no text. */
static bool read_value(const struct nvs_option *o, const char *text, uint64_t *value)
{
	int word;

	switch (o->kind) {
	case NVS_OPTION_NUMBER:
		return nvs_read_number(&text, o->max, value) && !*text && *value >= o->min;
	case NVS_OPTION_SIZE:
		return nvs_read_size(&text, o->max, value) && !*text && *value >= o->min;
	case NVS_OPTION_SECONDS:
		return nvs_read_decimal(&text, NVS_NS, o->max, value) && !*text && *value >= o->min;
	case NVS_OPTION_WORD:
		word = nvs_word_index(o->argument, text);
		break;
	default:
		word = nvs_word_index("off|on", text);
	}
	*value = (uint64_t)word;
	return word >= 0;
}

int nvs_option_store(const struct nvs_option *o, void *target, const char *text)
{
	char *field = (char *)target + o->offset;
	uint64_t value = o->min;

	if (o->set)
		return o->set(o, target, text);
	if (!text && o->argument)
		return NVS_OPTION_WRONG;
	if (o->kind == NVS_OPTION_TEXT || o->kind == NVS_OPTION_COPY)
		return store_text(o, field, text) ? 0 : NVS_OPTION_WRONG;
	if (text && !read_value(o, text, &value))
		return NVS_OPTION_WRONG;
	store_number(o, field, value);
	return 0;
}

void nvs_option_rule(const struct nvs_option *o, char *rule, size_t size)
{
	if (!o->rule && !o->set && o->kind == NVS_OPTION_NUMBER && o->max < UINT64_MAX)
		snprintf(rule, size, "a number from %llu to %llu", (unsigned long long)o->min,
			 (unsigned long long)o->max);
	else
		snprintf(rule, size, "%s", o->rule ?: o->argument ?: "on or off");
}
