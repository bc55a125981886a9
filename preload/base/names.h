/* SPDX-License-Identifier: MIT */
/*
 * Names of traces: patterns, and what a name becomes that is taken.
 */
#ifndef NVSNOOP_PRELOAD_BASE_NAMES_H
#define NVSNOOP_PRELOAD_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct nvs_name_facts {
	uint32_t pid; /* %p */
	const char *program; /* %e */
	const char *host; /* %h */
	const char *(*variable)(const char *name); /* %q{NAME}; NULL: it is not set */
};

/*
 * Writes the name that PATTERN means into NAME. %e and %h are made fit for one part of a path; a
 * variable may hold several. 0, -EINVAL: the pattern is wrong (unknown %, a variable that is not
 * set, an empty name or one that ends in '/'), -ENAMETOOLONG.
 */
int nvs_name_expand(const char *pattern, const struct nvs_name_facts *facts, char *name,
		    size_t size);
/*
 * What NAME becomes at the TRY-th attempt: 0 itself, 1 with the pid before its extension, 2 ...
 * with a number behind that too: trace.zst, trace.PID.zst, trace.PID.1.zst. 0 or -ENAMETOOLONG.
 */
int nvs_name_other(const char *name, uint32_t pid, unsigned try, char *other, size_t size);
/* The part behind the last '/'. */
const char *nvs_name_base(const char *path);
/* TEXT with control characters as '?', for a terminal. */
void nvs_name_printable(const char *text, char *out, size_t size);

#endif
