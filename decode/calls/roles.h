/* SPDX-License-Identifier: MIT */
/*
 * What an entry point does and which of its arguments is what: found once, when the trace tells of
 * it, so that a call is looked at by numbers. Names and their roles stand in api/cuda.api and
 * nowhere else. A trace may tell of entry points that the list lacks, of other forms of those that
 * it holds (_v3), and of more arguments: forms of one name do the same, an unknown name has role
 * NONE, and what its group, kinds and arguments say holds for it as well.
 */
#ifndef NVSNOOP_DECODE_CALLS_ROLES_H
#define NVSNOOP_DECODE_CALLS_ROLES_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/calls.h"

#define NVS_CALL_MAX_ARGS 32

/* What reports want to know of a call beyond its group; cuda.api: "role=graph-clone". */
enum nvs_call_role {
	NVS_CALL_ROLE_NONE,
	/* address, size. What gen-table calls alloc- and free has its stack in the trace. */
	NVS_CALL_ROLE_ALLOC_DEVICE,
	NVS_CALL_ROLE_ALLOC_ASYNC, /* of a pool, in the order of a stream */
	NVS_CALL_ROLE_ALLOC_MANAGED,
	NVS_CALL_ROLE_ALLOC_PINNED,
	NVS_CALL_ROLE_ALLOC_REGISTERED, /* memory of the program's is pinned */
	NVS_CALL_ROLE_ALLOC_ADDRESSES, /* a reservation of addresses, without memory */
	NVS_CALL_ROLE_ALLOC_GRAPH, /* a node that allocates when its graph runs */
	NVS_CALL_ROLE_ALLOC_PHYSICAL, /* memory without addresses: address is a handle */
	NVS_CALL_ROLE_ALLOC_EXTERNAL, /* likewise, memory of another API */
	NVS_CALL_ROLE_ALLOC_IMPORT, /* address: a handle, of another process' memory; no size */
	NVS_CALL_ROLE_ALLOC_MULTICAST, /* likewise, of a multicast object */
	NVS_CALL_ROLE_ALLOC_IPC, /* address, no size */
	NVS_CALL_ROLE_ALLOC_VIEW, /* an address of external memory */
	NVS_CALL_ROLE_ALLOC_ARRAY, /* address: a handle; Width, Height, Depth, Format, ... */
	NVS_CALL_ROLE_ALLOC_ARRAY_VIEW, /* an array in external memory: a handle */
	NVS_CALL_ROLE_ALLOC_PITCH, /* address, pPitch, Height */
	NVS_CALL_ROLE_FREE, /* address */
	NVS_CALL_ROLE_FREE_GRAPH, /* a node that frees when its graph runs: address */
	NVS_CALL_ROLE_FREE_ARRAY, /* these by handle */
	NVS_CALL_ROLE_FREE_EXTERNAL,
	NVS_CALL_ROLE_FREE_PHYSICAL, /* and of imported and multicast ones */
	NVS_CALL_ROLE_RETAIN, /* address: a handle that is to be freed once more */
	NVS_CALL_ROLE_MAP, /* address, size, handle: while it is mapped, memory stays */
	NVS_CALL_ROLE_UNMAP, /* address, size */
	NVS_CALL_ROLE_ACCESS, /* address: from now on GPUs reach what is mapped there */
	NVS_CALL_ROLE_COPY, /* from pointer to pointer, wherever they point */
	NVS_CALL_ROLE_COPY_ATOA, /* arrays, device and host memory, as the name says */
	NVS_CALL_ROLE_COPY_ATOD,
	NVS_CALL_ROLE_COPY_ATOH,
	NVS_CALL_ROLE_COPY_DTOA,
	NVS_CALL_ROLE_COPY_DTOD,
	NVS_CALL_ROLE_COPY_DTOH,
	NVS_CALL_ROLE_COPY_HTOA,
	NVS_CALL_ROLE_COPY_HTOD,
	NVS_CALL_ROLE_COPY_BOX, /* 2D and 3D */
	NVS_CALL_ROLE_COPY_BATCH, /* many copies of any kind */
	NVS_CALL_ROLE_FUNCTION_NAME, /* function, name: a handle for a name */
	NVS_CALL_ROLE_KERNEL_FUNCTION, /* function, kernel: a function for a library's kernel */
	NVS_CALL_ROLE_GRAPH_CREATE, /* graph */
	NVS_CALL_ROLE_GRAPH_CLONE, /* graph, original */
	NVS_CALL_ROLE_GRAPH_CAPTURE, /* graph, which holds what was captured */
	NVS_CALL_ROLE_GRAPH_INSTANTIATE,
	NVS_CALL_ROLE_GRAPH_UPDATE, /* of an executable graph as a whole */
	NVS_CALL_ROLE_GRAPH_UPLOAD,
	NVS_CALL_ROLE_GRAPH_DESTROY,
	NVS_CALL_ROLE_CONTEXT_SET, /* context */
	NVS_CALL_ROLE_CONTEXT_CREATE, /* context, which is pushed */
	NVS_CALL_ROLE_CONTEXT_PUSH, /* context */
	NVS_CALL_ROLE_CONTEXT_POP,
	NVS_CALL_ROLE_CONTEXT_DESTROY, /* context */
	NVS_CALL_ROLE_PRIMARY_RETAIN, /* context, dev */
	NVS_CALL_ROLE_PRIMARY_RELEASE, /* dev: once for each retain */
	NVS_CALL_ROLE_PRIMARY_RESET, /* dev: whoever retains it */
	NVS_CALL_ROLE_STREAM_CREATE, /* stream, of the current context */
	NVS_CALL_ROLE_GREEN_STREAM_CREATE, /* stream, of the green context that is given */
	NVS_CALL_ROLE_STREAM_DESTROY,
	NVS_CALL_ROLE_SYNCHRONIZE, /* stream, or all of the context */
	NVS_CALL_ROLE_SYNCHRONIZE_EVENT,
	NVS_CALL_ROLE_QUERY, /* CUDA_ERROR_NOT_READY is an answer */
	NVS_CALL_ROLES,
};

/*
 * Arguments that are asked for: NVIDIA's names, and those that roles give (cuda.api:
 * "address=dptr"); of a batch also what cuda.api makes of its arrays (least, most).
 */
#define NVS_ARG_NAMES(X)   \
	X(address)         \
	X(size)            \
	X(graph)           \
	X(original)        \
	X(function)        \
	X(kernel)          \
	X(context)         \
	X(stream)          \
	X(name)            \
	X(pPitch)          \
	X(gridDimX)        \
	X(gridDimY)        \
	X(gridDimZ)        \
	X(blockDimX)       \
	X(blockDimY)       \
	X(blockDimZ)       \
	X(sharedMemBytes)  \
	X(src)             \
	X(srcHost)         \
	X(srcDevice)       \
	X(srcType)         \
	X(srcMemoryType)   \
	X(dst)             \
	X(dstHost)         \
	X(dstDevice)       \
	X(dstType)         \
	X(dstMemoryType)   \
	X(ByteCount)       \
	X(WidthInBytes)    \
	X(Height)          \
	X(Depth)           \
	X(width)           \
	X(height)          \
	X(depth)           \
	X(count)           \
	X(numOps)          \
	X(handle)          \
	X(addr)            \
	X(dev)             \
	X(Width)           \
	X(Format)          \
	X(NumChannels)     \
	X(numMipmapLevels) \
	X(freed)           \
	X(least)           \
	X(most)

#define NVS_ARG_NUMBER(name) NVS_ARG_##name,
enum nvs_arg_name { NVS_ARG_NAMES(NVS_ARG_NUMBER) NVS_ARG_COUNT };

/* An entry point, as a trace tells of it. */
struct nvs_call_api {
	uint32_t number;
	bool passed; /* looked up, its calls are not observed */
	bool per_thread; /* its default stream is the thread's: _ptsz, _ptds */
	uint8_t group; /* enum nvs_call_group */
	uint8_t role; /* enum nvs_call_role */
	const char *name; /* "" where not known */
	uint32_t nargs;
	const char *arg[NVS_CALL_MAX_ARGS], *kind[NVS_CALL_MAX_ARGS]; /* as the trace spells them */
	uint8_t kinds[NVS_CALL_MAX_ARGS]; /* enum nvs_arg_kind */
	uint8_t at[NVS_ARG_COUNT]; /* 1 + which argument it is, 0: it has none */
};

/* Fills in what follows of its name, the name of its group, and those of arguments and kinds. */
void nvs_call_api_resolve(struct nvs_call_api *api, const char *group);
/* The number of a group of this name; OTHER: no such. */
enum nvs_call_group nvs_call_group_of(const char *name);
/* Of NAME without what tells the forms of one entry point apart: _v2, _ptsz, _v2_ptds. */
size_t nvs_call_base_length(const char *name, bool *per_thread);

/* ---- made of api/cuda.api: by name without its form, those that have a role ---- */
struct nvs_call_entry {
	const char *name;
	uint8_t role;
	struct {
		uint8_t meaning; /* enum nvs_arg_name */
		const char *arg; /* NULL: no more */
	} as[2];
};
extern const struct nvs_call_entry nvs_call_entries[];
extern const uint32_t nvs_call_nentries;

#endif
