/* SPDX-License-Identifier: MIT */
/*
 * The parameters of launches, as bytes.
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
 *			...
 *	}
 *
 * Zeroed at the beginning. Memory is bounded: when it is short, new uploads are not noted, and the
 * parameters of their launches are unknown.
 */
#ifndef NVSNOOP_DECODE_CALLS_LAUNCH_PARAMETERS_H
#define NVSNOOP_DECODE_CALLS_LAUNCH_PARAMETERS_H

#include "decode/base/keyed_rows.h"
#include "decode/base/numbers.h"
#include "decode/calls/pass.h"

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

/* Offset of the parameters in bank 0 for a compute class (0xcbc0); 0: unknown. */
uint32_t nvs_parameters_base(uint32_t compute_class);

/* The parameters of the latest launch of each thread, for the call that made it: the commands of a
 * call come before its own record. Zeroed at the beginning. */
struct nvs_call_parameters {
	struct nvs_numbers threads;
};

/* OF is that of a launch in the call CALL of THREAD. Returns 0 or -ENOMEM. */
int nvs_call_parameters_note(struct nvs_call_parameters *c, uint32_t thread, uint64_t call,
			     const struct nvs_launch_parameters *of);
/* The parameters of the last launch in CALL: dynamic parallelism launches a kernel of its own
 * before the program's. Returns false if they are unknown. OF is valid until the next note. */
bool nvs_call_parameters_find(const struct nvs_call_parameters *c, const struct nvs_call *call,
			      struct nvs_launch_parameters *of);
void nvs_call_parameters_free(struct nvs_call_parameters *c);

#endif
