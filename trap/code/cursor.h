/* SPDX-License-Identifier: MIT */
/*
 * Reads forward through memory that may not be there, in the encodings of .eh_frame.
 */
#ifndef NVSNOOP_TRAP_CODE_CURSOR_H
#define NVSNOOP_TRAP_CODE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Encodings of pointers (DW_EH_PE_*). */
#define NVS_PE_OMIT 0xffu
#define NVS_PE_INDIRECT 0x80u
#define NVS_PE_SORTED_TABLE 0x3bu /* datarel | sdata4: every linker's search table */

/* Of BYTES at FROM, that may not be there: how many were copied. */
size_t nvs_cfi_copy(void *to, const void *from, size_t bytes);

/* Reads forward from AT, never at or behind END. Once bad it yields zeroes. */
struct nvs_cursor {
	uintptr_t at, end;
	uintptr_t window_at;
	uint32_t have;
	bool bad;
	uint8_t window[64];
};

void nvs_cursor_at(struct nvs_cursor *c, uintptr_t at, uintptr_t end);
void nvs_cursor_skip(struct nvs_cursor *c, uint64_t n);
uint8_t nvs_get1(struct nvs_cursor *c);
uint64_t nvs_get_bytes(struct nvs_cursor *c, unsigned n); /* little-endian, at most 8 */
uint64_t nvs_get_uleb(struct nvs_cursor *c);
int64_t nvs_get_sleb(struct nvs_cursor *c);
/* What a pointer's lower four bits of ENCODING say, relative to nothing. */
uint64_t nvs_get_value(struct nvs_cursor *c, uint8_t encoding);
/* The pointer itself, an indirect one not followed; DATA is what datarel is relative to. */
uintptr_t nvs_get_pointer(struct nvs_cursor *c, uint8_t encoding, uintptr_t data);

#endif
