/* SPDX-License-Identifier: MIT */
/*
 * Replaces liblzma for the private copy of libunwind (preload/module.mk). The real one would be
 * loaded under a soname that the program's own liblzma may have. libunwind uses it to decompress
 * symbol tables, which we never ask for. All decoding fails.
 */
#include <stdint.h>

#define FORMAT_ERROR 7 /* LZMA_FORMAT_ERROR */

int lzma_stream_footer_decode(void *options, const uint8_t *in);
int lzma_index_buffer_decode(void);
int lzma_stream_buffer_decode(void);
uint64_t lzma_index_size(const void *index);
uint64_t lzma_index_uncompressed_size(const void *index);
void lzma_index_end(void *index, const void *allocator);

int lzma_stream_footer_decode(void *options, const uint8_t *in)
{
	return FORMAT_ERROR;
}

int lzma_index_buffer_decode(void)
{
	return FORMAT_ERROR;
}

int lzma_stream_buffer_decode(void)
{
	return FORMAT_ERROR;
}

uint64_t lzma_index_size(const void *index)
{
	return 0;
}

uint64_t lzma_index_uncompressed_size(const void *index)
{
	return 0;
}

void lzma_index_end(void *index, const void *allocator)
{
}
