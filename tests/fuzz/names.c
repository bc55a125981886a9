/* SPDX-License-Identifier: MIT */
/* FUZZ: preload/base/names.o */
/* Patterns of file names. Program and host are one part of a path each, whatever they hold. The
 * input: pattern, program, host and a variable's value, a line each. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "preload/base/names.h"
#include "tests/fuzz/fuzz.h"

static char *value;

static char *variable(const char *name)
{
	return *name == 'N' ? NULL : value;
}

static size_t slashes(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '/';
	return n;
}

static void check(const char *pattern, const struct nvs_name_fields *facts, size_t room)
{
	char *name = malloc(room), *other = malloc(room);

	if (!name || !other)
		abort();
	if (!nvs_name_expand(pattern, facts, name, room)) {
		FUZZ_HOLDS(*name && strlen(name) < room && name[strlen(name) - 1] != '/');
		if (!strstr(pattern, "%q"))
			FUZZ_HOLDS(slashes(name) == slashes(pattern));
		FUZZ_HOLDS(!strchr(nvs_base_name(name), '/'));
		for (unsigned i = 0; i < 4; i++)
			if (!nvs_name_alternative(name, facts->pid, i, other, room))
				FUZZ_HOLDS(slashes(other) == slashes(name) &&
					   (i || !strcmp(other, name)));
		nvs_name_printable(name, other, room);
		for (const char *p = other; *p; p++)
			FUZZ_HOLDS((unsigned char)*p >= ' ' && *p != 0x7f);
	}
	free(name);
	free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text;
	const char *pattern = strsep(&rest, "\n"), *program = strsep(&rest, "\n"),
		   *host = strsep(&rest, "\n");
	struct nvs_name_fields facts = {.pid = (uint32_t)size,
					.program = program ? program : "",
					.host = host ? host : "",
					.variable = variable};

	if (!text)
		abort();
	value = rest;
	check(pattern, &facts, PATH_MAX);
	check(pattern, &facts, 16);
	check(pattern, &facts, 1);
	free(text);
	return 0;
}
