/* SPDX-License-Identifier: MIT */
/*
 * From methods to meaning: what a channel's methods make the GPU do, one struct nvs_op a thing
 * done.
 *
 * One struct nvs_ops a trace, one struct nvs_ops_channel a channel in it. For each submission:
 * nvs_ops_begin, for each entry nvs_ops_entry and (with its bytes, in any number of pieces)
 * nvs_ops_feed or nvs_ops_missing, then nvs_ops_end, which hands out the submission's operations in
 * order. Memory is bounded; a method's state is kept for every subchannel that is used.
 */
#ifndef NVSNOOP_DECODE_GPU_OPS_H
#define NVSNOOP_DECODE_GPU_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"

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

/* Where the class of a subchannel comes from. */
enum nvs_class_source { NVS_CLASS_NONE, NVS_CLASS_CHIP, NVS_CLASS_OBJECT, NVS_CLASS_METHOD };

struct nvs_ops;
struct nvs_ops_channel;

struct nvs_ops_sink {
	/*
	 * Every run of data words, before it takes effect; CLS is what its method belongs to: the
	 * host class below 0x100, else the class of the subchannel, NULL where that is not known.
	 * May be NULL.
	 */
	void (*run)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		    const struct nvs_class *cls);
	void (*fault)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault);
	/* At the submission's end, in order. Good until it returns. */
	void (*op)(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op);
	void *arg;
};

struct nvs_ops *nvs_ops_new(const struct nvs_ops_sink *sink); /* NULL: no memory */
void nvs_ops_free(struct nvs_ops *ops); /* with its channels; NULL is fine */

/* What is known of a channel beforehand. */
struct nvs_ops_channel_info {
	uint32_t number; /* as the caller counts them */
	uint16_t host_class; /* 0: not known */
	uint16_t defaults[8]; /* class of each subchannel by the chip, 0: not known */
	void *user;
};

struct nvs_ops_channel *nvs_ops_channel_new(struct nvs_ops *ops,
					    const struct nvs_ops_channel_info *info);
void nvs_ops_channel_free(struct nvs_ops_channel *c);
const struct nvs_ops_channel_info *nvs_ops_channel_info(const struct nvs_ops_channel *c);
/* An engine object of class CLS was allocated under the channel. */
void nvs_ops_channel_object(struct nvs_ops_channel *c, uint32_t cls);
/* The channel's host class is known now. */
void nvs_ops_channel_host(struct nvs_ops_channel *c, uint32_t cls);

/* TAG is the caller's, for nvs_op.code. */
void nvs_ops_begin(struct nvs_ops_channel *c, uint64_t tag);
void nvs_ops_entry(struct nvs_ops_channel *c, uint64_t entry, struct nvs_gp *gp);
void nvs_ops_feed(struct nvs_ops_channel *c, const uint32_t *data, size_t n);
void nvs_ops_missing(struct nvs_ops_channel *c);
void nvs_ops_end(struct nvs_ops_channel *c);

/* State as it stands. */
const struct nvs_class *nvs_ops_class(const struct nvs_ops_channel *c, uint32_t subch,
				      enum nvs_class_source *source);
const struct nvs_class *nvs_ops_host_class(const struct nvs_ops_channel *c);
/* Last value of a method (bytes); false: never set. */
bool nvs_ops_method(const struct nvs_ops_channel *c, uint32_t subch, uint32_t method,
		    uint32_t *value);

/* The descriptor of a LAUNCH, while op() runs; NULL: not known. */
const struct nvs_qmd *nvs_ops_qmd(const struct nvs_ops *ops, const struct nvs_op *op);

/* Subchannel of a class by the convention of graphics and compute runlists; 8: none. */
uint32_t nvs_subchannel_of(uint32_t kind);

const char *nvs_op_kind_name(uint32_t kind); /* "copy", ... */
const char *nvs_copy_mode_name(uint32_t mode); /* "engine", "inline", "macro" */
const char *nvs_reduction_name(uint32_t reduction); /* "add", ... */

#endif
