/* SPDX-License-Identifier: MIT */
/* Writes to the program's standard error, the only descriptor of the program that the library
 * writes to. It does so only while descriptor 2 is the same file as at load. */
#ifndef NVSNOOP_PRELOAD_BASE_STDERR_H
#define NVSNOOP_PRELOAD_BASE_STDERR_H

#include <stddef.h>

/* Writes TEXT without blocking and without raising a signal; text that cannot be written at once is
 * dropped. Writes nothing if descriptor 2 is another file than at load. */
void nvs_stderr_write(const char *text, size_t size);

#endif
