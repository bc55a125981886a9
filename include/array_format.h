/* SPDX-License-Identifier: MIT */
/* CUarray_format */
#ifndef NVSNOOP_ARRAY_FORMAT_H
#define NVSNOOP_ARRAY_FORMAT_H

#include <stdint.h>

/* Returns the bytes of an element; 0 if unknown, as of packed formats. */
static inline uint64_t nvs_array_format_bytes(uint64_t format)
{
	switch (format) {
	case 0x01: /* UNSIGNED_INT8 */
	case 0x08: /* SIGNED_INT8 */
		return 1;
	case 0x02: /* 16 bits */
	case 0x09:
	case 0x10: /* HALF */
		return 2;
	case 0x03: /* 32 bits */
	case 0x0a:
	case 0x20: /* FLOAT */
		return 4;
	default:
		return 0;
	}
}

#endif
