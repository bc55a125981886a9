/* SPDX-License-Identifier: MIT */
/* Operations: what the methods of submissions make the GPU do, one struct nvs_op a thing done. */
#ifndef NVSNOOP_OPS_H
#define NVSNOOP_OPS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
/* Structures without a name, which ISO C++ does not know. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

enum nvs_op_kind {
	NVS_OP_COPY, /* bytes moved for the program's sake */
	NVS_OP_MEMSET,
	NVS_OP_UPLOAD, /* bytes the driver needs: descriptors, constants, semaphore values */
	NVS_OP_CODE, /* an earlier copy turned out to be instructions */
	NVS_OP_LAUNCH, /* a grid that runs a program */
	NVS_OP_TRIGGER, /* a launch descriptor is triggered; the grids it runs come as launches
			   behind it */
	NVS_OP_RELEASE,
	NVS_OP_ACQUIRE,
	NVS_OP_WAIT_IDLE,
	NVS_OP_CACHE, /* caches invalidated or flushed, memory barriers */
	NVS_OP_KINDS,
};

/* How bytes move. */
enum nvs_copy_mode {
	NVS_COPY_ENGINE, /* by a copy engine */
	NVS_COPY_INLINE, /* they stand in the pushbuffer */
	NVS_COPY_MACRO, /* fetched or made by a macro of the front end */
	NVS_COPY_MODES,
};

enum nvs_upload_use { NVS_USE_DESCRIPTOR, NVS_USE_CONSTANTS, NVS_USE_SEMAPHORE };

enum nvs_semaphore_op {
	NVS_SEM_EQ, /* acquire: value == payload */
	NVS_SEM_GE, /* acquire: value >= payload, unsigned */
	NVS_SEM_CIRC_GE, /* acquire: (int)(value - payload) >= 0 */
	NVS_SEM_AND, /* acquire: value & payload */
	NVS_SEM_NOR, /* acquire: ~(value | payload) */
	NVS_SEM_SET, /* release: value = payload */
	NVS_SEM_REDUCE, /* release: value = value OP payload */
};

/* What a reducing release does; MIN and MAX as the method's format says, signed or not. */
enum nvs_reduction {
	NVS_RED_ADD,
	NVS_RED_MIN,
	NVS_RED_MAX,
	NVS_RED_INC,
	NVS_RED_DEC,
	NVS_RED_AND,
	NVS_RED_OR,
	NVS_RED_XOR,
	NVS_RED_OTHER, /* floating point, reserved */
};

/* Who does a release or acquire. */
enum nvs_semaphore_by { NVS_BY_HOST, NVS_BY_ENGINE, NVS_BY_GRID };

/* nvs_op.flags */
#define NVS_OP_INCOMPLETE (1u << 0) /* a transfer whose bytes did not all come */
#define NVS_OP_UNKNOWN (1u << 1) /* a launch whose descriptor is not known */
#define NVS_OP_BLOCKLINEAR_SRC (1u << 2)
#define NVS_OP_BLOCKLINEAR_DST (1u << 3)
#define NVS_OP_TIMESTAMP (1u << 4) /* release: a GPU timestamp is written behind the payload */
#define NVS_OP_WIDE (1u << 5) /* 64-bit payload */
#define NVS_OP_WFI (1u << 6) /* host release: waits for idle first */
#define NVS_OP_PHYSICAL_SRC (1u << 7)
#define NVS_OP_PHYSICAL_DST (1u << 8)
/* Launch: set going by another descriptor, not by the trigger itself */
#define NVS_OP_CHAINED (1u << 9)
#define NVS_OP_VALUE (1u << 11) /* release: sem.value is known */
#define NVS_OP_AUXILIARY (1u << 12) /* upload: of a descriptor that runs no program */
#define NVS_OP_TWO_D (1u << 10) /* more than one line: width, lines and the pitches count */

struct nvs_op {
	uint8_t kind; /* enum nvs_op_kind */
	uint8_t subch;
	uint16_t cls; /* class of the engine that does it */
	uint32_t flags; /* NVS_OP_* above */
	uint64_t at; /* GPU address of the header of the method that started it */
	union {
		struct { /* COPY, MEMSET, UPLOAD */
			uint8_t mode, use; /* enum nvs_copy_mode, nvs_upload_use */
			uint8_t element; /* MEMSET: bytes of the pattern in value */
			uint8_t macro; /* of mode MACRO */
			uint32_t lines;
			uint64_t width; /* bytes of a line, those left between others included */
			uint64_t src, dst; /* src 0: none (INLINE, MEMSET) */
			uint64_t bytes; /* written; UINT64_MAX: that many or more */
			uint32_t src_pitch, dst_pitch;
			uint8_t value[16];
			uint16_t left; /* MEMSET: bytes of value that are not written, a bit each */
		} copy;
		struct { /* CODE: the copy it speaks of */
			uint8_t mode;
			uint64_t dst, bytes;
			uint64_t tag; /* of its submission */
		} code;
		struct { /* LAUNCH, TRIGGER */
			uint64_t descriptor, parent;
			uint32_t depth; /* LAUNCH: grids before it in the chain */
			uint8_t action; /* TRIGGER: enum nvs_pcas */
			uint32_t qmd; /* LAUNCH: index for nvs_ops_qmd() */
			uint32_t launches; /* TRIGGER: grids it ran */
		} launch;
		struct { /* RELEASE, ACQUIRE */
			uint8_t op, by; /* enum nvs_semaphore_op, nvs_semaphore_by */
			uint8_t reduction; /* REDUCE: enum nvs_reduction */
			uint64_t address, payload;
			uint64_t value; /* RELEASE: what stands there then; with NVS_OP_VALUE */
		} sem;
		struct { /* WAIT_IDLE, CACHE */
			uint16_t method; /* bytes */
			uint32_t value;
		} method;
	};
};

/* A grid as its launch descriptor has it. */
struct nvs_grid {
	uint64_t program; /* GPU address, or offset in the class's program region */
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0: none */
	uint32_t registers; /* a thread */
	uint32_t shared_bytes; /* a block, static and dynamic */
	uint32_t local_bytes; /* a thread */
};

const char *nvs_op_kind_name(uint32_t kind); /* "copy", ... */
const char *nvs_copy_mode_name(uint32_t mode); /* "engine", "inline", "macro" */
const char *nvs_reduction_name(uint32_t reduction); /* "add", ... */

#pragma GCC diagnostic pop
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
