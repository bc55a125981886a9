/* SPDX-License-Identifier: MIT */
/* Keys of JSON and their types, from docs/schema.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fuzz/strict.h"

#define MAX_KEYS 512

static struct {
	char key[48], type[16];
	size_t length;
} keys[MAX_KEYS];
static size_t nkeys;

/* "| `a`, `b` | number | what they are |" */
static void take_line(const char *line)
{
	const char *end = strstr(line, "` | "), *p = strchr(line, '`');
	char type[16];

	if (!end || sscanf(end + 4, "%15[a-z] |", type) != 1)
		return;
	for (; p && p <= end && nkeys < MAX_KEYS; p = strchr(p + 1, '`')) {
		if (sscanf(p, "`%47[a-z0-9_]`", keys[nkeys].key) != 1)
			continue;
		keys[nkeys].length = strlen(keys[nkeys].key);
		strcpy(keys[nkeys++].type, type);
		p = strchr(p + 1, '`');
	}
}

int strict_keys(const char *page)
{
	FILE *f = fopen(page, "r");
	char line[4096];
	int of_keys = 0;

	nkeys = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "| key | type |", 14))
			of_keys = 1;
		else if (*line != '|')
			of_keys = 0;
		else if (of_keys)
			take_line(line);
	}
	if (f)
		fclose(f);
	return nkeys ? 0 : -1;
}

static int all_of(const char *set, const char *value, size_t n)
{
	while (n && value[n - 1] && strchr(set, value[n - 1]))
		n--;
	return !n;
}

static int is_of(const char *key, const char *type, const char *value, size_t n)
{
	const char *unit = strrchr(key, '_');

	switch (*type) {
	case 'n':
		/* Clocks of strangers run backwards. */
		if (unit && !strcmp(unit, "_ns") && *value == '-')
			return n > 1 && all_of("0123456789", value + 1, n - 1);
		return all_of("0123456789", value, n);
	case 'r':
		return all_of("-+0123456789.e", value, n);
	case 't':
		return *value == '"' && n > 2;
	case 'b':
		return *value == 't' || *value == 'f';
	default:
		return *value == (*type == 'l' ? '[' : '{');
	}
}

const char *strict_key(const char *key, size_t length, const char *value, size_t n)
{
	for (size_t i = 0; i < nkeys; i++)
		if (keys[i].length == length && !memcmp(keys[i].key, key, length))
			return *value == 'n' || is_of(keys[i].key, keys[i].type, value, n)
				       ? NULL
				       : "not of the type that docs/schema.md has for the key";
	/* Around the rows of a table. */
	if (!nkeys || (length == 4 && !memcmp(key, "rows", 4)) ||
	    (length == 6 && !memcmp(key, "report", 6)))
		return NULL;
	return "a key that is not in docs/schema.md";
}
