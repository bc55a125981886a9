/* SPDX-License-Identifier: MIT */
/* The ways and sizes that the dma study measures. */
#include <stdlib.h>
#include <string.h>
#include "probe/studies/dma.h"
#include "submit/commands.h"

static int compare_by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sorts and removes duplicates. Returns the new length. */
static uint32_t sort_unique(uint32_t *sizes, uint32_t n)
{
	uint32_t out = 0;

	qsort(sizes, n, sizeof(*sizes), compare_by_size);
	for (uint32_t i = 0; i < n; i++)
		if (!out || sizes[out - 1] != sizes[i])
			sizes[out++] = sizes[i];
	return out;
}

uint32_t dma_plan_sizes(const struct probe_options *o, bool copy, uint32_t *sizes)
{
	uint32_t n = 0;

	if (o->nsizes) {
		memcpy(sizes, o->sizes, o->nsizes * sizeof(*sizes));
		return sort_unique(sizes, o->nsizes);
	}
	for (uint32_t size = 4; size && size <= (copy ? 1u << 30 : 1u << 14); size *= 2)
		sizes[n++] = size;
	if (!copy) {
		for (uint32_t k = 1; k <= 31; k++)
			sizes[n++] = k << 10;
		sizes[n++] = 32764; /* maximum of one header */
		sizes[n++] = 32768;
		sizes[n++] = 65536;
		sizes[n++] = 1 << 20;
	}
	return sort_unique(sizes, n);
}

#define INLINE_PLAIN 0x41u /* PITCH, FLUSH_DISABLE, SYSMEMBAR_DISABLE: the driver's */
#define INLINE_FLUSH 0x11u /* PITCH, FLUSH_ONLY */
#define COPY_PLAIN (NVS_COPY_NON_PIPELINED | NVS_COPY_PITCH) /* the driver's */

const struct dma_way dma_main_ways[DMA_MAIN] = {
	{.mode = "inline", .launch = INLINE_PLAIN},
	{.mode = "inline", .launch = INLINE_PLAIN, .to_host = true},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COPY_HTOD, TO_DEVICE},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COPY_DTOH, TO_HOST},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COMPUTE, WITHIN_DEVICE},
	/* Peer copies use the engines that write to the host and read from it. */
	{true, "non-pipelined", COPY_PLAIN, PROBE_COPY_DTOH, TO_PEER},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COPY_HTOD, FROM_PEER},
};

const struct dma_way dma_variants[DMA_VARIANTS] = {
	{true, "pipelined", NVS_COPY_PIPELINED | NVS_COPY_PITCH, PROBE_COPY_HTOD, TO_DEVICE},
	{true, "pipelined", NVS_COPY_PIPELINED | NVS_COPY_PITCH, PROBE_COPY_DTOH, TO_HOST},
	{true, "pipelined", NVS_COPY_PIPELINED | NVS_COPY_PITCH, PROBE_COMPUTE, WITHIN_DEVICE},
	{true, "pipelined", NVS_COPY_PIPELINED | NVS_COPY_PITCH, PROBE_COPY_DTOH, TO_PEER},
	{true, "pipelined", NVS_COPY_PIPELINED | NVS_COPY_PITCH, PROBE_COPY_HTOD, FROM_PEER},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COMPUTE, TO_DEVICE},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COMPUTE, TO_HOST},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COMPUTE, TO_PEER},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COMPUTE, FROM_PEER},
	{true, "flush each", COPY_PLAIN | NVS_COPY_FLUSH, PROBE_COPY_HTOD, TO_DEVICE},
	{true, "flush each", COPY_PLAIN | NVS_COPY_FLUSH, PROBE_COPY_DTOH, TO_HOST},
	{.mode = "flush each", .launch = INLINE_FLUSH},
	{.mode = "inline", .launch = INLINE_PLAIN, .commands = PROBE_DEVICE},
	{true, "non-pipelined", COPY_PLAIN, PROBE_COPY_HTOD, TO_DEVICE, .commands = PROBE_DEVICE},
	{.mode = "single", .launch = INLINE_PLAIN, .single = true},
	{true, "single", COPY_PLAIN, PROBE_COPY_HTOD, TO_DEVICE, .single = true},
	{true, "single", COPY_PLAIN, PROBE_COPY_DTOH, TO_HOST, .single = true},
};

const uint32_t dma_variant_sizes[DMA_VARIANT_SIZES] = {4,      512,	4096,	  32768,
						       262144, 2097152, 16777216, 134217728};
