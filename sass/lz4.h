/* SPDX-License-Identifier: MIT */
/* Decompresses LZ4's block format. */
#ifndef NVSNOOP_SASS_LZ4_H
#define NVSNOOP_SASS_LZ4_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0, or -EBADMSG if IN does not decompress to exactly ROOM bytes. */
int nvs_lz4_unpack(const uint8_t *in, size_t size, uint8_t *out, size_t room);

#endif
