/* SPDX-License-Identifier: MIT */
/*
 * Arguments and results of calls. What an argument is follows from what the trace says of its entry
 * point: records of a newer nvsnoop may hold more of them, and kinds that are not known here
 * (NVS_KIND_OTHER, of which the value is still right). A call that never returned has none.
 */
#ifndef NVSNOOP_DECODE_CALLS_ARGS_H
#define NVSNOOP_DECODE_CALLS_ARGS_H

#include <stddef.h>
#include "decode/calls/calls.h"

/* One argument of a call, or a field of what it points to. */
struct nvs_arg {
	const char *name; /* as cuda.h spells it: "gridDimX" */
	const char *kind_name; /* as the trace spells it: "u32" */
	enum nvs_arg_kind kind;
	bool absent; /* not kept, or not readable: what follows is 0 */
	/* Number, pointer or handle; of SIGNED ones as an int64_t; of strings the whole length. */
	uint64_t value;
	/* STRING: LENGTH bytes of it, without an end; NULL: the program gave NULL. LENGTH less than
	 * VALUE: the rest was not kept. */
	const char *string;
	uint32_t length;
};

/* The argument at INDEX, less than call->nargs. */
struct nvs_arg nvs_call_arg_at(const struct nvs_call *call, uint32_t index);
/* The argument called NAME. False: the call has none of that name; ARG is unchanged. */
bool nvs_call_arg(const struct nvs_call *call, const char *name, struct nvs_arg *arg);
/* The same for those that reports ask for, as recorded. False: it has none, or it was not kept. */
bool nvs_call_value(const struct nvs_call *call, enum nvs_arg_name name, uint64_t *value);
/* The first argument of KIND that was kept. */
bool nvs_call_kind(const struct nvs_call *call, enum nvs_arg_kind kind, uint64_t *value);
/* Grid in blocks and block in threads. False: the call does not tell, as the old launches that take
 * them from the function. */
bool nvs_call_shape(const struct nvs_call *call, uint32_t grid[3], uint32_t block[3]);

/* One as text: "0x7f..", "12", "\"name\"", "?"; DST is returned. */
char *nvs_call_print(const struct nvs_call *call, uint32_t index, char *dst, size_t room);

/* "CUDA_ERROR_INVALID_VALUE"; NULL: not a known one. */
const char *nvs_call_error(uint32_t result);
/* Has a result, and one that is no success. A query's "not ready" is none. */
bool nvs_call_failed(const struct nvs_call *call);
/* Bytes that a copy is asked to move; of a batch those that its commands moved, where it does not
 * tell. *N: how many copies, more than one for a batch. false: not known. */
bool nvs_call_copied(const struct nvs_call *call, uint64_t *bytes, uint64_t *n);

#endif
