/* SPDX-License-Identifier: MIT */
/* A function's basic blocks: runs of instructions that are entered only at the first. */
#ifndef NVSNOOP_SASS_BLOCKS_H
#define NVSNOOP_SASS_BLOCKS_H

#include "sass/sass.h"

struct nvs_sass_block {
	uint32_t first, last; /* instructions, both included */
	/* from the entry, or from another entry that a symbol or an attribute names */
	bool reached;
};

struct nvs_sass_blocks {
	struct nvs_sass_block *block; /* in code order; they cover all of the code */
	uint32_t n;
	uint32_t instructions;
	/* number of unknown control instructions, including those with targets outside */
	uint32_t unknown;
	uint32_t unknown_at; /* byte offset of the first of these */
	size_t bytes;
};

int nvs_sass_blocks(const struct nvs_cubin *cubin, const struct nvs_cubin_function *function,
		    const struct nvs_sass_memory *memory, struct nvs_sass_blocks *blocks);
void nvs_sass_blocks_free(struct nvs_sass_blocks *blocks, const struct nvs_sass_memory *memory);

#endif
