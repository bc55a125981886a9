/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/maps, whose lines are "start-end perms offset dev inode   path". */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/base/proc_maps.h"

static const char *parse_hex(const char *p, uint64_t *value)
{
	for (*value = 0;; p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*value = *value << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

static bool parse_line(const char *p, struct nvs_maps_line *l)
{
	p = parse_hex(p, &l->start);
	if (*p != '-')
		return false;
	p = parse_hex(p + 1, &l->end);
	if (*p != ' ' || !p[1] || !p[2])
		return false;
	l->writable = p[2] == 'w';
	for (int field = 0; field < 4; field++) {
		p += strspn(p, " ");
		p += strcspn(p, " ");
	}
	p += strspn(p, " ");
	l->path = p;
	return true;
}

/* Calls EACH for the whole lines in TEXT. Returns the number of bytes that they take. */
static size_t take_lines(char *text, void (*each)(void *arg, const struct nvs_maps_line *line),
			 void *arg)
{
	struct nvs_maps_line l;
	char *line = text, *end;

	while ((end = strchr(line, '\n'))) {
		*end = 0;
		if (parse_line(line, &l))
			each(arg, &l);
		line = end + 1;
	}
	return (size_t)(line - text);
}

bool nvs_maps_read(void (*each)(void *arg, const struct nvs_maps_line *line), void *arg)
{
	char text[8192];
	size_t have = 0, taken;
	int err = errno,
	    fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = syscall(SYS_read, fd, text + have, sizeof(text) - 1 - have)) > 0) {
		have += (size_t)n;
		text[have] = 0;
		taken = take_lines(text, each, arg);
		have -= taken;
		memmove(text, text + taken, have);
		if (have == sizeof(text) - 1)
			have = 0;
	}
	syscall(SYS_close, fd);
	errno = err;
	return true;
}
