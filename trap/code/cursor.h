/* SPDX-License-Identifier: MIT */
/* Reads forward through memory that may not be mapped, in the encodings of .eh_frame. */
#ifndef NVSNOOP_TRAP_CODE_CURSOR_H
#define NVSNOOP_TRAP_CODE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pointer encodings (DW_EH_PE_*). */
#define NVS_PE_OMIT 0xffu
#define NVS_PE_INDIRECT 0x80u
#define NVS_PE_SORTED_TABLE 0x3bu /* datarel | sdata4: the search table of all linkers */

/* Copies BYTES bytes from FROM, which may not be mapped. Returns how many were copied. */
size_t nvs_cfi_copy(void *to, const void *from, size_t bytes);

/* Reads forward from AT up to END, which is excluded. Once bad, it returns zeros. */
struct nvs_cfi_cursor {
	uintptr_t at, end;
	uintptr_t window_at;
	uint32_t have;
	bool bad;
	uint8_t window[64];
};

void nvs_cfi_cursor_set(struct nvs_cfi_cursor *c, uintptr_t at, uintptr_t end);
void nvs_cfi_cursor_skip(struct nvs_cfi_cursor *c, uint64_t n);
uint8_t nvs_get_byte(struct nvs_cfi_cursor *c);
uint64_t nvs_get_bytes(struct nvs_cfi_cursor *c, unsigned n); /* little-endian, at most 8 */
uint64_t nvs_get_uleb(struct nvs_cfi_cursor *c);
int64_t nvs_get_sleb(struct nvs_cfi_cursor *c);
/* Reads a value in the format of ENCODING's lower four bits, relative to nothing. */
uint64_t nvs_get_value(struct nvs_cfi_cursor *c, uint8_t encoding);
/* Reads a pointer; an indirect one is not followed. DATA is the base of datarel pointers. */
uintptr_t nvs_get_pointer(struct nvs_cfi_cursor *c, uint8_t encoding, uintptr_t data);

#endif
