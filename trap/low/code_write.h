/* SPDX-License-Identifier: MIT */
/* Writes code of the program that other threads may be running. Not for the trap itself. */
#ifndef NVSNOOP_TRAP_LOW_CODE_WRITE_H
#define NVSNOOP_TRAP_LOW_CODE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes N bytes of code through /proc/self/mem, MEM: the kernel writes a private copy of the page
 * and its protection never changes. If that is refused (MEM < 0), the page is made writable for a
 * moment; it stays executable.
 */
bool nvs_code_write(long mem, uintptr_t to, const uint8_t *bytes, size_t n);
/* Waits until no core runs code as it was before the last write. Returns false if the kernel
 * refuses; call nvs_code_sync_register() before. */
bool nvs_code_sync(void);
bool nvs_code_sync_register(void);

#endif
