/* SPDX-License-Identifier: MIT */
/* Calls of the CUDA API in a trace, with their named arguments and what each submitted itself, and
 * the launches and graphs that they refer to. */
#ifndef NVSNOOP_CALLS_H
#define NVSNOOP_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/ops.h"
#include "nvsnoop/trace.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct nvs_trace;
struct nvs_submission;
struct nvs_handles;

/* Counts of operations. */
struct nvs_tally {
	uint64_t launches; /* grids that ran a program */
	uint64_t triggers; /* triggers of launch descriptors, whatever those ran */
	uint64_t unknown_launches; /* those of `launches` whose descriptor is not in the trace */
	uint64_t copies[NVS_COPY_MODES], copied[NVS_COPY_MODES]; /* copied: bytes */
	uint64_t memsets, memset_bytes;
	uint64_t uploads, upload_bytes; /* descriptors, constants, semaphore values */
	uint64_t codes, code_bytes; /* copies of instructions, not included in copies */
	uint64_t releases, acquires;
	uint64_t waits, caches;
	/* submissions whose segments were not recorded; if there are any, the figures above are
	 * incomplete */
	uint64_t unseen;
};

/* Group of an entry point: "launch", "graph-launch", ... */
enum nvs_call_group {
	NVS_CALL_GROUP_OTHER, /* none, or a group of a newer nvsnoop */
	NVS_CALL_GROUP_CAPTURE,
	NVS_CALL_GROUP_CONTEXT,
	NVS_CALL_GROUP_COPY,
	NVS_CALL_GROUP_EVENT,
	NVS_CALL_GROUP_GRAPH,
	NVS_CALL_GROUP_GRAPH_LAUNCH,
	NVS_CALL_GROUP_HOST,
	NVS_CALL_GROUP_LAUNCH,
	NVS_CALL_GROUP_MEMORY,
	NVS_CALL_GROUP_MEMSET,
	NVS_CALL_GROUP_MODULE,
	NVS_CALL_GROUP_RESOLVE,
	NVS_CALL_GROUP_STREAM,
	NVS_CALL_GROUP_SYNC,
};

/* Kinds of arguments, as in the trace; from FUNCTION on they are handles. */
enum nvs_arg_kind {
	NVS_KIND_OTHER, /* a kind of a newer nvsnoop: a plain value */
	NVS_KIND_UNSIGNED, /* u8 u16 u32 u64 */
	NVS_KIND_SIGNED, /* i32 */
	NVS_KIND_POINTER, /* ptr: host address */
	/* devptr: address in the GPU's address space, may be a host address */
	NVS_KIND_DEVICE_POINTER,
	NVS_KIND_STRING, /* str */
	NVS_KIND_FUNCTION,
	NVS_KIND_KERNEL,
	NVS_KIND_MODULE,
	NVS_KIND_LIBRARY,
	NVS_KIND_STREAM,
	NVS_KIND_EVENT,
	NVS_KIND_CONTEXT,
	NVS_KIND_GRAPH,
	NVS_KIND_NODE,
	NVS_KIND_EXEC,
	NVS_KIND_POOL,
};

struct nvs_call_api; /* an entry point */

struct nvs_call {
	const struct nvs_call_api *api; /* never NULL */
	uint32_t thread;
	uint64_t number, begin, end; /* ticks; end 0: the call never returned */
	uint32_t result, depth;
	uint32_t flags; /* NVS_CALL_* */
	uint64_t submissions, entries, bytes; /* its own, not those of calls inside it */
	/* Stack of its first submission. A call without submissions has one if it took long,
	 * allocates or frees. Else NVS_NONE. */
	uint32_t stack;
	bool selected; /* one of its submissions was selected: only nvsnoop-report selects */
	bool uncounted; /* level=counts: its submissions are unknown */
	struct nvs_tally tally;
	uint32_t nargs, absent; /* absent: bit i: args[i] was not recorded */
	/* as recorded, and the bytes of strings: read them with nvs_call_arg() */
	const uint64_t *args;
	const char *strings;
	/* Those of its own submissions that were selected: all, unless nvsnoop-report selects. */
	uint64_t asked_submissions, asked_entries, asked_bytes;
};

const char *nvs_call_api_name(const struct nvs_call *call); /* "cuLaunchKernel"; "" if unknown */
/* The driver API function that made a submission, as reports and exports name it: from its stack if
 * that has one, else the call it happened in, which may be NULL; else a place in the driver, or
 * "[unknown]". Call it when the stack is known: see nvs_trace_callsite(). */
const char *nvs_submission_api(struct nvs_trace *trace, const struct nvs_submission *s,
			       const struct nvs_call *call);
enum nvs_call_group nvs_call_group(const struct nvs_call *call);
const char *nvs_call_group_name(enum nvs_call_group group); /* "graph-launch"; "" for OTHER */

/* One argument of a call, or a field of a structure that an argument points to. */
struct nvs_arg {
	const char *name; /* as cuda.h spells it: "gridDimX" */
	const char *kind_name; /* as the trace spells it: "u32" */
	enum nvs_arg_kind kind;
	bool absent; /* not recorded, or not readable: the following fields are 0 */
	/* Number, pointer or handle; a SIGNED one as int64_t; for a STRING its full length. */
	uint64_t value;
	/* STRING: LENGTH bytes of it, not terminated; NULL: the program passed NULL. If LENGTH is
	 * less than VALUE, the rest was not recorded. */
	const char *string;
	uint32_t length;
};

/* The argument at INDEX, less than call->nargs. */
struct nvs_arg nvs_call_arg_at(const struct nvs_call *call, uint32_t index);
/* Gets the argument called NAME. Returns false if there is none; ARG is then unchanged. */
bool nvs_call_arg(const struct nvs_call *call, const char *name, struct nvs_arg *arg);
/* Gets the grid in blocks and the block in threads. Returns false if they are not among the
 * arguments, as with the old launches that take them from the function. */
bool nvs_call_shape(const struct nvs_call *call, uint32_t grid[3], uint32_t block[3]);

/* Formats one argument: "0x7f..", "12", "\"name\"", "?". Returns DST. */
char *nvs_call_print(const struct nvs_call *call, uint32_t index, char *dst, size_t room);

/* "CUDA_ERROR_INVALID_VALUE"; NULL if unknown */
const char *nvs_call_error(uint32_t result);
/* True if the call returned an error. A query's "not ready" is not an error. */
bool nvs_call_failed(const struct nvs_call *call);
/* True if the call returned with success and did its work, rather than adding it to a graph. */
static inline bool nvs_call_ran(const struct nvs_call *call)
{
	return call->end && !call->result &&
	       !(call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED | NVS_CALL_CAPTURED));
}

/* Gets the bytes that a copy is to move; for a batch without that argument, those that its commands
 * moved. *N: number of copies, more than one for a batch. Returns false if unknown. */
bool nvs_call_copied(const struct nvs_call *call, uint64_t *bytes, uint64_t *n);
/* Nanoseconds from BEGIN to END, in ticks. */
uint64_t nvs_call_ns(const struct nvs_trace *trace, uint64_t begin, uint64_t end);

/* A call that launches a kernel. See call->end, result and flags for whether it succeeded. */
struct nvs_launch {
	const struct nvs_call *call;
	uint64_t function; /* CUfunction or CUkernel */
	const char *kernel; /* mangled; "" if unknown */
	bool has_shape; /* false: an old entry point that takes it from the function */
	bool has_attributes; /* registers to max_threads are known */
	uint32_t grid[3], block[3];
	uint32_t dynamic; /* dynamic shared memory, bytes per block */
	uint32_t registers; /* per thread */
	uint32_t shared; /* static, bytes per block */
	uint32_t local; /* bytes per thread */
	uint32_t max_threads; /* per block */
	uint32_t parameter_bytes;
	/* As in constant bank 0, without the driver's own words; NULL: unknown, or not asked for
	 * (NVS_READ_PARAMETERS) */
	const void *parameters;
};

enum nvs_graph_origin { NVS_GRAPH_FROM_UNKNOWN, NVS_GRAPH_FROM_CAPTURE, NVS_GRAPH_FROM_NODES };

/* a value of nvs_graph.event, in addition to enum nvs_graph_event */
#define NVS_GRAPH_LAUNCHED 256u

/* An edge between two nodes of a graph, by index: TO waits for FROM. */
struct nvs_graph_link {
	uint32_t from, to;
	uint32_t type; /* CUgraphDependencyType: 0 full, 1 programmatic */
};

/* An executable graph, in its state after the event. */
struct nvs_graph {
	uint32_t event; /* enum nvs_graph_event, or NVS_GRAPH_LAUNCHED */
	uint32_t number; /* number of the executable graph in this trace, from 0 */
	uint64_t exec; /* CUgraphExec */
	uint64_t graph; /* the CUgraph it was instantiated from, 0: unknown */
	uint32_t origin; /* enum nvs_graph_origin */
	uint32_t nnodes;
	const struct nvs_graph_node *nodes;
	bool partial; /* nodes are missing, or their latest state is unknown */
	const struct nvs_call *call; /* the launch; NULL for other events */
	struct nvs_handles *handles; /* for nvs_graph_kernel() */
	bool edges_known; /* false: there may be others */
	uint32_t nedges;
	/* both nodes are in the same graph, child graph or body */
	const struct nvs_graph_link *edges;
};

/* Mangled name of a kernel node's function; "" if unknown, or if it is not a kernel node. */
const char *nvs_graph_kernel(const struct nvs_graph *graph, uint32_t node);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
