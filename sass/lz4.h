/* SPDX-License-Identifier: MIT */
/* LZ4's block format, unpacked. */
#ifndef NVSNOOP_SASS_LZ4_H
#define NVSNOOP_SASS_LZ4_H

#include <stddef.h>
#include <stdint.h>

/* 0, or -EBADMSG where IN does not make ROOM bytes to the unit. */
int nvs_lz4_unpack(const uint8_t *in, size_t size, uint8_t *out, size_t room);

#endif
