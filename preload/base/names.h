/* SPDX-License-Identifier: MIT */
/* Trace file names: expands the pattern, and picks another name if the first is taken. */
#ifndef NVSNOOP_PRELOAD_BASE_NAMES_H
#define NVSNOOP_PRELOAD_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct nvs_name_fields {
	uint32_t pid; /* %p */
	const char *program; /* %e */
	const char *host; /* %h */
	char *(*variable)(const char *name); /* %q{NAME}; returns NULL if NAME is not set */
};

/*
 * Expands PATTERN into NAME. %e and %h are made safe for one path component; a variable may contain
 * several components. Returns 0, -ENAMETOOLONG, or -EINVAL if the pattern is wrong (unknown %, a
 * variable that is not set, a name that is empty or ends in '/').
 */
int nvs_name_expand(const char *pattern, const struct nvs_name_fields *facts, char *name,
		    size_t size);
/*
 * Writes the TRY-th alternative of NAME: 0 is NAME itself, 1 adds the pid before the extension, 2
 * and more add a number after the pid (trace.zst, trace.PID.zst, trace.PID.1.zst). Returns 0 or
 * -ENAMETOOLONG.
 */
int nvs_name_alternative(const char *name, uint32_t pid, unsigned try, char *other, size_t size);
/* Returns the part after the last '/'. */
const char *nvs_base_name(const char *path);
/* Copies TEXT for printing on a terminal, with control characters replaced by '?'. */
void nvs_name_printable(const char *text, char *out, size_t size);

#endif
