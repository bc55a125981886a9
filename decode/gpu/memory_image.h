/* SPDX-License-Identifier: MIT */
/*
 * An image of the GPU memory that the commands themselves wrote: inline uploads, fills, and copies
 * of known bytes. Kernel and CPU writes are not seen, so a byte may be out of date; one never
 * written is unknown.
 *
 * The image is bounded: the least recently used 4 KiB pages are dropped. Pages with launch
 * descriptors have a separate bound, so that bulk data does not displace old graphs, and none while
 * the memory budget has room. Bytes of a fill or copy beyond the allowance become unknown.
 */
#ifndef NVSNOOP_DECODE_GPU_MEMORY_IMAGE_H
#define NVSNOOP_DECODE_GPU_MEMORY_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_memimage;

/* PAGES is the limit for data; descriptors may always use as many again. Returns NULL if memory is
 * short. */
struct nvs_memimage *nvs_memimage_new(uint32_t pages);
void nvs_memimage_free(struct nvs_memimage *image); /* NULL is allowed */

/* Raises the allowance for fills and copies by N bytes. */
void nvs_memimage_allow(struct nvs_memimage *image, uint64_t n);
void nvs_memimage_write(struct nvs_memimage *image, uint64_t address, const void *bytes, size_t n);
/* Marks the pages of this range as holding descriptors: they are dropped last. */
void nvs_memimage_mark_kept(struct nvs_memimage *image, uint64_t address, size_t n);
/* Makes the bytes of this range unknown. */
void nvs_memimage_invalidate(struct nvs_memimage *image, uint64_t address, uint64_t n);
/* Writes N bytes of the repeated pattern ELEMENT of SIZE bytes, from its first byte on. */
void nvs_memimage_fill(struct nvs_memimage *image, uint64_t address, const void *element,
		       size_t size, uint64_t n);
/* Copies known bytes to DST; unknown bytes make their destination unknown. */
void nvs_memimage_copy(struct nvs_memimage *image, uint64_t dst, uint64_t src, uint64_t n);
/* Returns a pointer to the N bytes, valid until the next write to the image. Returns NULL if some
 * are unknown or they span pages; nvs_memimage_read() may still succeed in the latter case. */
const void *nvs_memimage_peek(struct nvs_memimage *image, uint64_t address, size_t n);
/* Copies the N bytes to BYTES. Returns false unless all are known. */
bool nvs_memimage_read(struct nvs_memimage *image, uint64_t address, void *bytes, size_t n);

#endif
