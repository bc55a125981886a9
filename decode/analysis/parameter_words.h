/* SPDX-License-Identifier: MIT */
/* What the words of a launch's parameters mean: the allocations to which they point, and where each
 * parameter is according to the kernel's cubin. */
#ifndef NVSNOOP_DECODE_ANALYSIS_PARAMETER_WORDS_H
#define NVSNOOP_DECODE_ANALYSIS_PARAMETER_WORDS_H

#include "decode/analysis/memory_ranges.h"
#include "decode/calls/launch_parameters.h"
#include "sass/sass.h"

/* A word of parameters that points into a live allocation. */
struct nvs_parameter_word {
	uint32_t at; /* offset in the parameters, a multiple of 4 */
	uint64_t value;
	const struct nvs_memory_range *range; /* has its call site */
	uint64_t offset; /* in RANGE */
	uint32_t next; /* where to continue */
};

/* Finds the next word of 8 bytes that points into a live allocation. *W is zeroed before the first
 * call. Returns false at the end. */
bool nvs_parameters_next(const struct nvs_launch_parameters *of,
			 const struct nvs_memory_ranges *ranges, struct nvs_parameter_word *w);
/* Where the parameters of a kernel are, according to its cubin: needs code=on. */
struct nvs_kernel_parameter {
	uint32_t number, offset, size; /* bytes */
};

/* Iterates over the parameters of FUNCTION, in the order of .nv.info, which is from last to first.
 */
struct nvs_parameter_reader {
	struct nvs_cubin_section info;
	size_t at;
	bool known;
};

void nvs_kernel_parameters_begin(struct nvs_parameter_reader *r, const struct nvs_cubin *cubin,
				 const struct nvs_cubin_function *function);
bool nvs_kernel_parameters_next(struct nvs_parameter_reader *r,
				struct nvs_kernel_parameter *parameter);

#endif
