/* SPDX-License-Identifier: MIT */
/*
 * Calls of the CUDA API as a trace tells them, each with its arguments by name and what it
 * submitted itself; and the launches and graphs that they speak of.
 */
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
struct nvs_handles;

/* Counts of operations. */
struct nvs_tally {
	uint64_t launches; /* grids that ran a program */
	uint64_t triggers; /* of launch descriptors, whatever they ran */
	uint64_t unknown_launches; /* of launches: descriptor not in the trace */
	uint64_t copies[NVS_COPY_MODES], copied[NVS_COPY_MODES]; /* and bytes */
	uint64_t memsets, memset_bytes;
	uint64_t uploads, upload_bytes; /* descriptors, constants, semaphore values */
	uint64_t codes, code_bytes; /* copies of instructions; not among copies */
	uint64_t releases, acquires;
	uint64_t waits, caches;
	uint64_t unseen; /* submissions whose segments were not recorded: then nothing above is
			    known */
};

/* What an entry point is about: "launch", "graph-launch", ... */
enum nvs_call_group {
	NVS_CALL_GROUP_OTHER, /* none, or one that only a newer nvsnoop knows */
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

/* Kinds of arguments, as the trace tells them; handles from FUNCTION on. */
enum nvs_arg_kind {
	NVS_KIND_OTHER, /* one that only a newer nvsnoop knows: a value */
	NVS_KIND_UNSIGNED, /* u8 u16 u32 u64 */
	NVS_KIND_SIGNED, /* i32 */
	NVS_KIND_POINTER, /* ptr: of the host */
	NVS_KIND_DEVICE_POINTER, /* devptr: of the GPU's address space, which may be the host's */
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

struct nvs_call_api; /* an entry point, as the trace tells of it */

struct nvs_call {
	const struct nvs_call_api *api; /* never NULL */
	uint32_t thread;
	uint64_t number, begin, end; /* ticks; end 0: it never returned */
	uint32_t result, depth;
	uint32_t flags; /* NVS_CALL_* */
	uint64_t submissions, entries, bytes; /* its own, not those of calls inside it */
	/* Of its first submission; of one that submitted nothing, if it took long, allocates or
	 * frees; else NVS_NONE */
	uint32_t stack;
	bool selected; /* one of its submissions was asked for: nvsnoop-report alone asks */
	bool uncounted; /* level=counts: what it submitted is not known */
	struct nvs_tally tally;
	uint32_t nargs, absent; /* absent: bit i: args[i] was not kept */
	const uint64_t *args; /* as recorded, and what strings hold: nvs_call_arg() reads them */
	const char *strings;
	/* Those of its own that were asked for: all, unless nvsnoop-report selects. */
	uint64_t asked_submissions, asked_entries, asked_bytes;
};

const char *nvs_call_api_name(const struct nvs_call *call); /* "cuLaunchKernel"; "" not known */
enum nvs_call_group nvs_call_group(const struct nvs_call *call);
const char *nvs_call_group_name(enum nvs_call_group group); /* "graph-launch"; "" for OTHER */

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
/* Grid in blocks and block in threads. False: the call does not tell, as the old launches that take
 * them from the function. */
bool nvs_call_shape(const struct nvs_call *call, uint32_t grid[3], uint32_t block[3]);

/* One as text: "0x7f..", "12", "\"name\"", "?"; DST is returned. */
char *nvs_call_print(const struct nvs_call *call, uint32_t index, char *dst, size_t room);

/* "CUDA_ERROR_INVALID_VALUE"; NULL: not a known one. */
const char *nvs_call_error(uint32_t result);
/* Has a result, and one that is no success. A query's "not ready" is none. */
bool nvs_call_failed(const struct nvs_call *call);
/* Has it returned with success, and done something itself, not only become part of a graph? */
static inline bool nvs_call_ran(const struct nvs_call *call)
{
	return call->end && !call->result &&
	       !(call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED | NVS_CALL_CAPTURED));
}

/* Bytes that a copy is asked to move; of a batch those that its commands moved, where it does not
 * tell. *N: how many copies, more than one for a batch. false: not known. */
bool nvs_call_copied(const struct nvs_call *call, uint64_t *bytes, uint64_t *n);
/* Ticks to nanoseconds. */
uint64_t nvs_call_ns(const struct nvs_trace *trace, uint64_t begin, uint64_t end);

/* A call that launches a kernel. Whether it did is for call->end, result and flags to say. */
struct nvs_launch {
	const struct nvs_call *call;
	uint64_t function; /* CUfunction or CUkernel */
	const char *kernel; /* mangled; "" where not known */
	bool has_shape; /* old entry points take it from the function */
	bool has_attributes; /* registers to max_threads are known */
	uint32_t grid[3], block[3];
	uint32_t dynamic; /* shared memory asked for, bytes of a block */
	uint32_t registers; /* a thread */
	uint32_t shared; /* static, bytes of a block */
	uint32_t local; /* bytes of a thread */
	uint32_t max_threads; /* of a block */
};

enum nvs_graph_origin { NVS_GRAPH_FROM_UNKNOWN, NVS_GRAPH_FROM_CAPTURE, NVS_GRAPH_FROM_NODES };

/* nvs_graph.event, beside enum nvs_graph_event */
#define NVS_GRAPH_LAUNCHED 256u

/* Of a graph's nodes, by their index: TO waits for FROM. */
struct nvs_graph_link {
	uint32_t from, to;
	uint32_t type; /* CUgraphDependencyType: 0 all of it, 1 programmatic */
};

/* An executable graph, as it is after the event. */
struct nvs_graph {
	uint32_t event; /* enum nvs_graph_event, or NVS_GRAPH_LAUNCHED */
	uint32_t number; /* of executable graphs in this trace, from 0 */
	uint64_t exec; /* CUgraphExec */
	uint64_t graph; /* CUgraph it was made of, 0: not known */
	uint32_t origin; /* enum nvs_graph_origin */
	uint32_t nnodes;
	const struct nvs_graph_node *nodes;
	bool partial; /* nodes are missing, or not as they were last */
	const struct nvs_call *call; /* the launch; NULL for other events */
	struct nvs_handles *handles; /* for nvs_graph_kernel() */
	bool edges_known; /* false: there may be others than these */
	uint32_t nedges;
	const struct nvs_graph_link *edges; /* between nodes that are inside the same one */
};

/* Mangled name of a kernel node's function; "" where it is not known, or the node is none. */
const char *nvs_graph_kernel(const struct nvs_graph *graph, uint32_t node);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
