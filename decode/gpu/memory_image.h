/* SPDX-License-Identifier: MIT */
/*
 * An image of the GPU memory that the command stream itself wrote: what inline uploads, fills and
 * copies of known bytes put there. What kernels and the CPU write is not seen, so a byte may be out
 * of date; a byte never written is unknown.
 *
 * Kept in pages of 4 KiB and bounded: the pages used longest ago are dropped. Pages that hold
 * launch descriptors have a bound of their own, so that bulk data does not push out a graph that
 * was uploaded long ago, and none while the budget for the trace has memory to spare. A few dwords
 * may ask for any number of bytes to be filled or copied: only so many are as were allowed, and the
 * others become unknown.
 */
#ifndef NVSNOOP_DECODE_GPU_MEMORY_IMAGE_H
#define NVSNOOP_DECODE_GPU_MEMORY_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvs_memimage;

/* PAGES for data, and as many again for descriptors in any case. NULL: no memory. */
struct nvs_memimage *nvs_memimage_new(uint32_t pages);
void nvs_memimage_free(struct nvs_memimage *image); /* NULL is fine */

/* N bytes more may be filled and copied. */
void nvs_memimage_allow(struct nvs_memimage *image, uint64_t n);
void nvs_memimage_write(struct nvs_memimage *image, uint64_t address, const void *bytes, size_t n);
/* The pages of this range hold descriptors: they are dropped last. */
void nvs_memimage_keep(struct nvs_memimage *image, uint64_t address, size_t n);
/* What stands there is not known any more. */
void nvs_memimage_forget(struct nvs_memimage *image, uint64_t address, uint64_t n);
/* N bytes of the pattern ELEMENT of SIZE bytes, beginning with its first. */
void nvs_memimage_fill(struct nvs_memimage *image, uint64_t address, const void *element,
		       size_t size, uint64_t n);
/* Known bytes become known at DST, unknown ones unknown. */
void nvs_memimage_copy(struct nvs_memimage *image, uint64_t dst, uint64_t src, uint64_t n);
/*
 * The N bytes where they stand, good until the image is written again; NULL: not all known, or in
 * more than one page (then nvs_memimage_read may still have them).
 */
const void *nvs_memimage_peek(struct nvs_memimage *image, uint64_t address, size_t n);
/* True: all N bytes are known and stand in BYTES. */
bool nvs_memimage_read(struct nvs_memimage *image, uint64_t address, void *bytes, size_t n);

#endif
