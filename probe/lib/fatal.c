/* SPDX-License-Identifier: MIT */
/* Fatal errors, and the host clock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "probe/probe.h"

int probe_failure = 1;

void probe_die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("nvsnoop-probe: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	/* _exit() skips the driver's exit handlers, which may hang on a failed channel. */
	_exit(probe_failure);
}

char *probe_vformat(const char *format, va_list ap)
{
	char *text;

	if (vasprintf(&text, format, ap) < 0)
		probe_die("out of memory");
	return text;
}

void *probe_allocate(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		probe_die("out of memory");
	return p;
}

void *probe_grow(void *list, uint32_t count, size_t size)
{
	if (count & (count - 1)) /* full at each power of two */
		return list;
	list = realloc(list, (count ? 2ul * count : 1) * size);
	if (!list)
		probe_die("out of memory");
	return list;
}

char *probe_copy(const char *text, size_t max_bytes)
{
	char *own = strndup(text, max_bytes);

	if (!own)
		probe_die("out of memory");
	return own;
}

char *probe_read_all(FILE *f, size_t most, size_t *length)
{
	size_t room = 1 << 16, n = 0;
	char *text = probe_allocate(room, 1);

	while (!feof(f) && !ferror(f) && n <= most) {
		n += fread(text + n, 1, room - n - 1, f);
		if (n + 1 == room)
			text = realloc(text, room *= 2);
		if (!text)
			probe_die("out of memory");
	}
	text[n] = 0;
	*length = n;
	return text;
}

void probe_check(int error, const char *what)
{
	if (error)
		probe_die("%.*s: %s", (int)strcspn(what, "("), what, probe_error_name(error));
}

uint64_t probe_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
