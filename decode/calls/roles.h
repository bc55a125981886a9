/* SPDX-License-Identifier: MIT */
/*
 * The purpose of an entry point and of its arguments, resolved once when the trace's API record is
 * read, so that calls are handled by numbers. Names and their roles are defined only in
 * api/cuda.api. A trace may contain entry points that are not in the list, other forms (_v3) and
 * more arguments: all forms of a name have the same role, an unknown name has role NONE, and its
 * group, kinds and arguments still apply.
 */
#ifndef NVSNOOP_DECODE_CALLS_ROLES_H
#define NVSNOOP_DECODE_CALLS_ROLES_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/calls.h"

#define NVS_CALL_MAX_ARGS 32

/* The purpose of a call, more specific than its group; cuda.api: "role=graph-clone". */
enum nvs_call_role {
	NVS_CALL_ROLE_NONE,
	/* Allocations: arguments address and size. Calls that gen-table classes as alloc or free
	 * have their stack in the trace. */
	NVS_CALL_ROLE_ALLOC_DEVICE,
	NVS_CALL_ROLE_ALLOC_ASYNC, /* from a pool, stream-ordered */
	NVS_CALL_ROLE_ALLOC_MANAGED,
	NVS_CALL_ROLE_ALLOC_PINNED,
	NVS_CALL_ROLE_ALLOC_REGISTERED, /* pins the program's own memory */
	NVS_CALL_ROLE_ALLOC_ADDRESSES, /* reserves addresses without memory */
	NVS_CALL_ROLE_ALLOC_GRAPH, /* a node that allocates when its graph runs */
	NVS_CALL_ROLE_ALLOC_PHYSICAL, /* memory without addresses: address is a handle */
	NVS_CALL_ROLE_ALLOC_EXTERNAL, /* likewise, memory of another API */
	NVS_CALL_ROLE_ALLOC_IMPORT, /* memory of another process; address is a handle, no size */
	NVS_CALL_ROLE_ALLOC_MULTICAST, /* likewise, a multicast object */
	NVS_CALL_ROLE_ALLOC_IPC, /* address, no size */
	NVS_CALL_ROLE_ALLOC_VIEW, /* an address of external memory */
	NVS_CALL_ROLE_ALLOC_ARRAY, /* address is a handle; Width, Height, Depth, Format, ... */
	NVS_CALL_ROLE_ALLOC_ARRAY_VIEW, /* an array in external memory: address is a handle */
	NVS_CALL_ROLE_ALLOC_PITCH, /* address, pPitch, Height */
	NVS_CALL_ROLE_FREE, /* address */
	NVS_CALL_ROLE_FREE_GRAPH, /* a node that frees when its graph runs: address */
	NVS_CALL_ROLE_FREE_ARRAY, /* the following by handle */
	NVS_CALL_ROLE_FREE_EXTERNAL,
	NVS_CALL_ROLE_FREE_PHYSICAL, /* also imported and multicast ones */
	NVS_CALL_ROLE_RETAIN, /* address is a handle, which must then be freed once more */
	NVS_CALL_ROLE_MAP, /* address, size, handle; keeps memory alive until it is unmapped */
	NVS_CALL_ROLE_UNMAP, /* address, size */
	NVS_CALL_ROLE_ACCESS, /* address: makes its mapping accessible to GPUs */
	NVS_CALL_ROLE_COPY, /* between two pointers to any memory */
	NVS_CALL_ROLE_COPY_ATOA, /* between arrays, device and host memory, as the name says */
	NVS_CALL_ROLE_COPY_ATOD,
	NVS_CALL_ROLE_COPY_ATOH,
	NVS_CALL_ROLE_COPY_DTOA,
	NVS_CALL_ROLE_COPY_DTOD,
	NVS_CALL_ROLE_COPY_DTOH,
	NVS_CALL_ROLE_COPY_HTOA,
	NVS_CALL_ROLE_COPY_HTOD,
	NVS_CALL_ROLE_COPY_BOX, /* 2D and 3D */
	NVS_CALL_ROLE_COPY_BATCH, /* many copies of any kind */
	NVS_CALL_ROLE_FUNCTION_NAME, /* function, name: looks up a handle by name */
	NVS_CALL_ROLE_KERNEL_FUNCTION, /* function, kernel: the function of a library's kernel */
	NVS_CALL_ROLE_GRAPH_CREATE, /* graph */
	NVS_CALL_ROLE_GRAPH_CLONE, /* graph, original */
	NVS_CALL_ROLE_GRAPH_CAPTURE, /* graph: receives what was captured */
	NVS_CALL_ROLE_GRAPH_INSTANTIATE,
	NVS_CALL_ROLE_GRAPH_UPDATE, /* of a whole executable graph */
	NVS_CALL_ROLE_GRAPH_UPLOAD,
	NVS_CALL_ROLE_GRAPH_DESTROY,
	NVS_CALL_ROLE_CONTEXT_SET, /* context */
	NVS_CALL_ROLE_CONTEXT_CREATE, /* context: created and pushed */
	NVS_CALL_ROLE_CONTEXT_PUSH, /* context */
	NVS_CALL_ROLE_CONTEXT_POP,
	NVS_CALL_ROLE_CONTEXT_DESTROY, /* context */
	NVS_CALL_ROLE_PRIMARY_RETAIN, /* context, dev */
	NVS_CALL_ROLE_PRIMARY_RELEASE, /* dev: once for each retain */
	NVS_CALL_ROLE_PRIMARY_RESET, /* dev: regardless of retains */
	NVS_CALL_ROLE_STREAM_CREATE, /* stream, in the current context */
	NVS_CALL_ROLE_GREEN_STREAM_CREATE, /* stream, in the given green context */
	NVS_CALL_ROLE_STREAM_DESTROY,
	NVS_CALL_ROLE_SYNCHRONIZE, /* stream, or the whole context */
	NVS_CALL_ROLE_SYNCHRONIZE_EVENT,
	NVS_CALL_ROLE_QUERY, /* CUDA_ERROR_NOT_READY is not a failure */
	/* Order of work, besides the above. */
	NVS_CALL_ROLE_EVENT_RECORD, /* event, stream */
	NVS_CALL_ROLE_EVENT_WAIT, /* stream, event */
	NVS_CALL_ROLE_CONTEXT_EVENT_RECORD, /* event, of all streams of a context */
	NVS_CALL_ROLE_CONTEXT_EVENT_WAIT, /* all streams of a context wait */
	NVS_CALL_ROLE_EVENT_ELAPSED, /* two events: both are done if it succeeds */
	NVS_CALL_ROLE_EVENT_DESTROY,
	NVS_CALL_ROLE_EVENT_IMPORT, /* an event of another process */
	NVS_CALL_ROLE_VALUE_WRITE, /* a stream writes a word: addr */
	NVS_CALL_ROLE_VALUE_WAIT, /* a stream waits for the value of a word: addr */
	NVS_CALL_ROLE_FOREIGN_WAIT, /* a stream waits for something that the trace does not show */
	NVS_CALL_ROLE_HOST_FUNCTION, /* the host is called when the stream gets there */
	NVS_CALL_ROLES,
};

/*
 * Arguments that are looked up: NVIDIA's names, and names that roles assign (cuda.api:
 * "address=dptr"); for a batch also the values that cuda.api derives from its arrays (least, most).
 */
#define NVS_ARG_NAMES(X)                   \
	X(address)                         \
	X(size)                            \
	X(graph)                           \
	X(original)                        \
	X(function)                        \
	X(kernel)                          \
	X(context)                         \
	X(stream)                          \
	X(name)                            \
	X(pPitch)                          \
	X(gridDimX)                        \
	X(gridDimY)                        \
	X(gridDimZ)                        \
	X(blockDimX)                       \
	X(blockDimY)                       \
	X(blockDimZ)                       \
	X(sharedMemBytes)                  \
	X(src)                             \
	X(srcHost)                         \
	X(srcDevice)                       \
	X(srcType)                         \
	X(srcMemoryType)                   \
	X(dst)                             \
	X(dstHost)                         \
	X(dstDevice)                       \
	X(dstType)                         \
	X(dstMemoryType)                   \
	X(ByteCount)                       \
	X(WidthInBytes)                    \
	X(Height)                          \
	X(Depth)                           \
	X(width)                           \
	X(height)                          \
	X(depth)                           \
	X(count)                           \
	X(numOps)                          \
	X(handle)                          \
	X(addr)                            \
	X(dev)                             \
	X(Width)                           \
	X(Format)                          \
	X(NumChannels)                     \
	X(numMipmapLevels)                 \
	X(freed)                           \
	X(programmaticStreamSerialization) \
	X(least)                           \
	X(most)

#define NVS_ARG_NUMBER(name) NVS_ARG_##name,
enum nvs_arg_name { NVS_ARG_NAMES(NVS_ARG_NUMBER) NVS_ARG_COUNT };

/* An entry point, from its API record. */
struct nvs_call_api {
	uint32_t number;
	bool passed; /* looked up, but its calls are not observed */
	bool per_thread; /* its default stream is per-thread: _ptsz, _ptds */
	uint8_t group; /* enum nvs_call_group */
	uint8_t role; /* enum nvs_call_role */
	const char *name; /* "" if unknown */
	uint32_t nargs;
	const char *arg[NVS_CALL_MAX_ARGS], *kind[NVS_CALL_MAX_ARGS]; /* spelled as in the trace */
	uint8_t kinds[NVS_CALL_MAX_ARGS]; /* enum nvs_arg_kind */
	uint8_t at[NVS_ARG_COUNT]; /* 1 + index of the argument with this meaning; 0: none */
};

/* Returns true if a call may change memory, contexts or graphs. Most calls do not. */
static inline bool nvs_call_may_allocate(const struct nvs_call *call)
{
	const struct nvs_call_api *api = call->api;

	return (api->role >= NVS_CALL_ROLE_ALLOC_DEVICE && api->role <= NVS_CALL_ROLE_ACCESS) ||
	       (api->role >= NVS_CALL_ROLE_GRAPH_CREATE &&
		api->role <= NVS_CALL_ROLE_STREAM_CREATE) ||
	       api->group == NVS_CALL_GROUP_GRAPH_LAUNCH;
}

/* Resolves the role, group, arguments and kinds from the names. */
void nvs_call_api_resolve(struct nvs_call_api *api, const char *group);
/* Returns the group of this name, or OTHER. */
enum nvs_call_group nvs_call_group_find(const char *name);
/* Returns the length of NAME without suffixes that distinguish forms of an entry point: _v2, _ptsz,
 * _v2_ptds. */
size_t nvs_call_base_length(const char *name, bool *per_thread);

/* ---- generated from api/cuda.api: entry points with a role, sorted by name without suffixes
 * ---- */
struct nvs_call_entry {
	const char *name;
	uint8_t role;
	struct {
		uint8_t meaning; /* enum nvs_arg_name */
		const char *arg; /* NULL: end of the list */
	} as[2];
};
extern const struct nvs_call_entry nvs_call_entries[];
extern const uint32_t nvs_call_nentries;

#endif
