/* SPDX-License-Identifier: MIT */
/*
 * What each launch passed to its kernel: its parameters by the kernel's own table if the trace has
 * the code, else as words; and the allocation that an address is in, also inside structures.
 *
 *	a = nvs_arguments_new(source);
 *	nvs_arguments_add(a, source);		to the pass for all reports
 *
 * A report that reads in a pass of its own calls the four functions below for what it gets.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_LAUNCH_ARGUMENTS_H
#define NVSNOOP_DECODE_ANALYSIS_LAUNCH_ARGUMENTS_H

#include "decode/analysis/allocations.h"
#include "decode/analysis/parameter_layouts.h"
#include "decode/calls/launch_parameters.h"

#define NVS_ARGUMENTS_TEXT 1024u /* bytes of the text of a launch's parameters */

struct nvs_arguments {
	const struct nvs_source *source;
	const struct nvs_call *call; /* of the current submission; NULL: unknown */
	struct nvs_parameters parameters;
	struct nvs_call_parameters calls;
	struct nvs_memory_ranges ranges;
	struct nvs_allocs allocs;
	struct nvs_parameter_layouts layouts;
	struct nvs_rows programs; /* kernels by program address: nvs_arguments_learn() */
};

/* The parameters of one launch; valid until the next operation. */
struct nvs_launch_arguments {
	struct nvs_launch_parameters of;
	const struct nvs_parameter_layout *layout; /* NULL: unknown, or it does not fit */
	const struct nvs_memory_ranges *ranges;
	uint32_t at, number; /* where to continue */
};

/* A parameter, or a part of one that is larger than 8 bytes. */
struct nvs_launch_argument {
	uint32_t number; /* of the parameter; NVS_NONE: unknown */
	uint32_t at, bytes; /* in the parameters; 1 to 8 */
	bool first; /* of its parameter */
	uint64_t value;
	const struct nvs_memory_range *range; /* in which VALUE is; NULL: none */
	bool nowhere; /* looks like an address, but is in no allocation */
};

struct nvs_arguments *nvs_arguments_new(const struct nvs_source *s); /* NULL if memory is short */
void nvs_arguments_free(struct nvs_arguments *a); /* NULL is allowed */
/* Adds a reader, before that of the report whose begin() runs. Returns 0 or -ENOMEM. */
int nvs_arguments_add(struct nvs_arguments *a, struct nvs_source *s);
/* Reads the trace once for the kernels at each program address, if it has code: for reports that
 * print a launch before its call has returned. Returns 0 or -errno. */
int nvs_arguments_learn(struct nvs_arguments *a, struct nvs_source *s);
/* Callbacks of a reader, whose argument is A. They return 0 or -ENOMEM. */
int nvs_arguments_submission(void *a, const struct nvs_submission *s, const struct nvs_call *call);
int nvs_arguments_op(void *a, const struct nvs_submission *s, const struct nvs_op *op);
int nvs_arguments_call(void *a, const struct nvs_call *call);
int nvs_arguments_record(void *a, const struct nvs_rec *rec);

/* The parameters of OP, a launch, after nvs_arguments_op(). Returns false if they are unknown. */
bool nvs_arguments_of_op(struct nvs_arguments *a, const struct nvs_op *op,
			 struct nvs_launch_arguments *of);
/* The same for a call that launched KERNEL (mangled; NULL or "": unknown). */
bool nvs_arguments_of_call(const struct nvs_arguments *a, const struct nvs_call *call,
			   const char *kernel, struct nvs_launch_arguments *of);
/* Returns true for an address in the part of user space where CUDA places nearly all memory. Linux
 * on x86-64 places mappings downwards from an address up to 1 TiB below the stack, so at 0x7e too.
 */
static inline bool nvs_looks_like_address(uint64_t value)
{
	return value >> 41 == 0x3f && !(value & 3);
}
/* Iterates over the parameters. Returns false at the end. */
bool nvs_arguments_next(struct nvs_launch_arguments *of, struct nvs_launch_argument *one);
/* "0x7f1200000010 (4,096 bytes +0x10), 7, {0x3e8, 0x0}"; "-" if OF is NULL. What does not fit is
 * cut. */
void nvs_arguments_text(const struct nvs_launch_arguments *of, char *text, size_t room);

#endif
