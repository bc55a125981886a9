/* SPDX-License-Identifier: MIT */
/*
 * The only descriptor of the program's that the library writes to: its standard error, as long as
 * that is what it was when the library was loaded.
 */
#ifndef NVSNOOP_PRELOAD_BASE_STDERR_H
#define NVSNOOP_PRELOAD_BASE_STDERR_H

#include <stddef.h>

/*
 * Never waits and never raises a signal: what cannot be written at once is left out. Neither a file
 * that the program has opened under this number since gets anything.
 */
void nvs_stderr_write(const char *text, size_t size);

#endif
