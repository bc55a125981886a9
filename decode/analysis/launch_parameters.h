/* SPDX-License-Identifier: MIT */
/*
 * The parameters of launches, as bytes, and the allocations to which their words point.
 *
 * The driver writes a launch's parameters into constant bank 0, after words of its own, by inline
 * uploads. For a direct launch they are in the same submission; for a kernel of a graph they were
 * uploaded once, when the graph was instantiated or changed. The descriptor of the launch has the
 * address of the bank. With level=headers and level=counts nothing is known.
 *
 *	int op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
 *	{
 *		int r = nvs_parameters_op(&p, op);
 *
 *		if (!r && op->kind == NVS_OP_LAUNCH && nvs_parameters_find(&p, pass, op, &of))
 *			for (struct nvs_parameter_word w = {0}; nvs_parameters_next(&of, &ranges,
 *&w);)
 *				...
 *	}
 *
 * Zeroed at the beginning. Memory is bounded: when it is short, new uploads are not noted, and the
 * parameters of their launches are unknown.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_LAUNCH_PARAMETERS_H
#define NVSNOOP_DECODE_ANALYSIS_LAUNCH_PARAMETERS_H

#include "decode/analysis/memory_ranges.h"
#include "decode/base/keyed_rows.h"
#include "decode/calls/pass.h"
#include "sass/sass.h"

#define NVS_MAX_PARAMETERS 32768u /* bytes; CUDA permits 32,764 */

/* The parameters of one launch. */
struct nvs_launch_parameters {
	const uint8_t *bytes; /* valid until the next nvs_parameters_find() */
	uint32_t size;
	uint32_t base; /* offset of the first one in bank 0 */
	uint64_t bank; /* address of the bank */
};

struct nvs_parameters {
	struct nvs_rows
		uploads; /* by address: the size of the latest upload there, and its order */
	uint64_t count; /* uploads so far */
	uint8_t bytes[NVS_MAX_PARAMETERS];
};

/* Call for every operation, in order. Returns 0 or -ENOMEM. */
int nvs_parameters_op(struct nvs_parameters *p, const struct nvs_op *op);
/* Gets the parameters of OP, a launch, while op() or submitted() runs: as uploaded up to the end of
 * the submission. Returns false if they are unknown; a launch without parameters has size 0. */
bool nvs_parameters_find(struct nvs_parameters *p, const struct nvs_pass *pass,
			 const struct nvs_op *op, struct nvs_launch_parameters *of);
void nvs_parameters_free(struct nvs_parameters *p);

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
/* Offset of the parameters in bank 0 for a compute class (0xcbc0); 0: unknown. */
uint32_t nvs_parameters_base(uint32_t compute_class);

/* Where the parameters of a kernel are, according to its cubin: needs code=on. */
struct nvs_kernel_parameter {
	uint32_t number, offset, size; /* bytes */
};

/* The Nth parameter, in the order of .nv.info, which is from last to first. Returns false if there
 * is none. */
bool nvs_kernel_parameter(const struct nvs_cubin *cubin, const struct nvs_cubin_function *function,
			  uint32_t n, struct nvs_kernel_parameter *parameter);

#endif
