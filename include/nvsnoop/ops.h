/* SPDX-License-Identifier: MIT */
/*
 * Operations: what the methods of submissions make the GPU do, one struct nvs_op a thing done.
 * Addresses are the GPU's, virtual unless a flag says else; sizes are in bytes.
 */
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
	NVS_OP_MEMSET, /* a pattern written */
	NVS_OP_UPLOAD, /* bytes the driver needs: descriptors, constants, semaphore values */
	NVS_OP_CODE, /* an earlier copy turned out to be instructions */
	NVS_OP_LAUNCH, /* a grid that runs a program */
	NVS_OP_TRIGGER, /* a descriptor is triggered; the grids that it runs come as launches next
			 */
	NVS_OP_RELEASE, /* a semaphore is written */
	NVS_OP_ACQUIRE, /* a semaphore is waited for */
	NVS_OP_WAIT_IDLE, /* the channel waits until its engine is idle */
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

/* What an upload is for. */
enum nvs_upload_use {
	NVS_USE_DESCRIPTOR, /* a launch descriptor (QMD) */
	NVS_USE_CONSTANTS, /* a constant bank of one */
	NVS_USE_SEMAPHORE, /* a semaphore that one releases */
};

enum nvs_semaphore_op {
	NVS_SEM_EQ, /* acquire: value == payload */
	NVS_SEM_GE, /* acquire: value >= payload, unsigned */
	NVS_SEM_CIRC_GE, /* acquire: (int)(value - payload) >= 0 */
	NVS_SEM_AND, /* acquire: value & payload */
	NVS_SEM_NOR, /* acquire: ~(value | payload) */
	NVS_SEM_SET, /* release: value = payload */
	NVS_SEM_REDUCE, /* release: value = value REDUCTION payload */
};

/* What a reducing release does; MIN and MAX as the method's format says, signed or not. */
enum nvs_reduction {
	NVS_RED_ADD,
	NVS_RED_MIN,
	NVS_RED_MAX,
	NVS_RED_INC, /* up by one; from payload and above to 0 */
	NVS_RED_DEC, /* down by one; from 0 or above payload to payload */
	NVS_RED_AND,
	NVS_RED_OR,
	NVS_RED_XOR,
	NVS_RED_OTHER, /* floating point, reserved */
};

/* Who does a release or acquire. */
enum nvs_semaphore_by {
	NVS_BY_HOST, /* the channel's front end */
	NVS_BY_ENGINE, /* the engine of its subchannel */
	NVS_BY_GRID, /* a grid that has ended */
};

/* nvs_op.flags: of transfers (COPY, MEMSET, UPLOAD) */
#define NVS_OP_INCOMPLETE (1u << 0) /* not all of its bytes came */
#define NVS_OP_BLOCKLINEAR_SRC (1u << 2) /* a texture's layout, else pitch */
#define NVS_OP_BLOCKLINEAR_DST (1u << 3)
#define NVS_OP_PHYSICAL_SRC (1u << 7) /* a physical address, else a virtual one */
#define NVS_OP_PHYSICAL_DST (1u << 8)
#define NVS_OP_TWO_D (1u << 10) /* more than one line: width, lines and the pitches count */
#define NVS_OP_AUXILIARY (1u << 12) /* UPLOAD: of a descriptor that runs no program */
/* of launches */
#define NVS_OP_UNKNOWN (1u << 1) /* its descriptor is not known */
#define NVS_OP_CHAINED (1u << 9) /* set going by another descriptor, not by the trigger itself */
/* of semaphores */
#define NVS_OP_TIMESTAMP (1u << 4) /* release: a GPU timestamp is written 8 bytes behind */
#define NVS_OP_WIDE (1u << 5) /* the payload has 64 bits, else 32 */
#define NVS_OP_WFI (1u << 6) /* Host's release: waits for idle first */
#define NVS_OP_VALUE (1u << 11) /* release: sem.value is known */
/* of CACHE */
#define NVS_OP_INSTRUCTIONS (1u << 13) /* instruction caches are invalidated */

struct nvs_op {
	uint8_t kind; /* enum nvs_op_kind: says which member of the union there is */
	uint8_t subch; /* subchannel, 0 to 7 */
	uint16_t cls; /* class of what does it; 0: not known */
	uint32_t flags; /* NVS_OP_* above */
	uint64_t at; /* address of the header of the method that started it */
	union {
		struct { /* COPY, MEMSET, UPLOAD */
			uint8_t mode; /* enum nvs_copy_mode */
			uint8_t use; /* UPLOAD: enum nvs_upload_use */
			/* Bytes in value. MEMSET: of the pattern; COPY and UPLOAD of 16 bytes or
			 * fewer: what is written, 0 where that is not known */
			uint8_t element;
			uint8_t macro; /* mode MACRO: its number */
			uint32_t lines;
			uint64_t width; /* bytes of a line, those left between others included */
			uint64_t src, dst; /* src 0: none (INLINE, MEMSET) */
			uint64_t bytes; /* written; UINT64_MAX: that many or more */
			uint32_t src_pitch, dst_pitch; /* bytes from line to line */
			uint8_t value[16];
			uint16_t left; /* MEMSET: bytes of value that are not written, a bit each */
		} copy;
		struct { /* CODE: the copy it speaks of */
			uint8_t mode; /* enum nvs_copy_mode */
			uint64_t dst, bytes;
			uint64_t tag; /* of its submission: the number */
		} code;
		struct { /* LAUNCH, TRIGGER */
			uint64_t descriptor; /* its address */
			uint64_t parent; /* LAUNCH, CHAINED: the descriptor that set it going */
			uint32_t depth; /* LAUNCH: grids before it in the trigger's chain */
			uint8_t action; /* TRIGGER: PCAS_ACTION of SEND_SIGNALING_PCAS2_B */
			uint32_t qmd; /* LAUNCH: the library's */
			uint32_t launches; /* TRIGGER: grids that it ran */
		} launch;
		struct { /* RELEASE, ACQUIRE */
			uint8_t op; /* enum nvs_semaphore_op */
			uint8_t by; /* enum nvs_semaphore_by */
			uint8_t reduction; /* REDUCE: enum nvs_reduction */
			uint64_t address, payload;
			uint64_t value; /* RELEASE with NVS_OP_VALUE: what stands there then */
		} sem;
		struct { /* WAIT_IDLE, CACHE */
			uint16_t method; /* offset in class cls, bytes */
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
