/* SPDX-License-Identifier: MIT */
/*
 * Shared by the engine files: a channel's state, the list of operations, and each file's functions.
 * Layers, lowest first:
 *
 *     {uses, code} <- oplist <- semaphore <- {inline, copyengine, compute} <- macro <- dispatch <-
 * ops
 *
 * AT is always the GPU address of the header that an operation comes from; METHOD is in bytes.
 */
#ifndef NVSNOOP_DECODE_GPU_ENGINE_H
#define NVSNOOP_DECODE_GPU_ENGINE_H

#include "decode/base/copy.h"
#include "decode/gpu/memory_image.h"
#include "decode/gpu/ops.h"
#include "decode/gpu/roles.h"
#include "decode/gpu/sched.h"

#define MAX_OPS 8192u /* held per submission; beyond that the list is delivered in parts */
#define MAX_MACRO_ARGS 8u
#define RECENT 64u /* copies that may still turn out to be code */
#define ACQUIRED 4u
#define RELEASES 4096u
#define NO_OP 0xffffffffu
#define HOST_END 0x100u /* methods below belong to the host class */

/* An inline upload whose data is incomplete. */
struct nvs_inline_transfer {
	bool open;
	bool linear; /* destination has pitch layout, so the image can track it */
	uint32_t op; /* number of its operation; NO_OP after that was delivered */
	uint32_t width, pitch; /* bytes */
	uint64_t address, bytes, received;
};

struct nvs_macro_call {
	bool open;
	uint8_t number;
	uint32_t nargs, args[MAX_MACRO_ARGS];
};

struct nvs_subch {
	const struct nvs_class *cls;
	const struct nvs_roles *roles;
	uint32_t upload; /* first header of the form nvs_inline_upload() takes; 0: none */
	enum nvs_class_source source;
	uint32_t *state; /* NVS_METHODS dwords, then one byte for each: 1 if it was ever set */
	struct nvs_inline_transfer transfer;
	struct nvs_macro_call macro;
};

struct nvs_ops_channel {
	struct nvs_ops *ops;
	struct nvs_ops_channel *next, **link;
	struct nvs_ops_channel_info info;
	const struct nvs_class *host;
	const struct nvs_roles *host_roles;
	bool extended; /* its class has extended bases */
	struct nvs_pb pb;
	struct nvs_pb_sink pb_sink;
	uint64_t tag, origin;
	uint64_t window; /* value of ops->clock at its last cache invalidation */
	struct {
		uint32_t channel;
		uint64_t clock;
	} acquired[ACQUIRED]; /* channels it has recently waited for */
	uint32_t nacquired;
	uint32_t host_state[HOST_END / 4];
	uint64_t host_set; /* one bit for each: 1 if it was ever set */
	struct nvs_subch subch[8];
};

struct nvs_address_ranges {
	struct nvs_address_range {
		uint64_t start, end;
	} * list;
	uint32_t count, room;
};

struct nvs_roles_slot {
	struct nvs_roles_slot *next;
	struct nvs_roles roles;
};

struct nvs_ops {
	struct nvs_ops_sink sink;
	struct nvs_memimage *image;
	struct nvs_sched *sched;
	struct nvs_qmd_layouts *layouts;
	struct nvs_roles_slot *roles;
	struct nvs_ops_channel *channels;
	/* of the current submission */
	struct nvs_op *list;
	uint32_t count, room;
	uint32_t flushes; /* how often the list has been delivered */
	uint64_t handed; /* number of operations delivered so far */
	struct nvs_qmd *qmds;
	uint32_t nqmds, qmd_room;
	struct nvs_address_ranges descriptors; /* that it uploads or triggers */
	struct nvs_address_ranges constants, semaphores; /* that those descriptors refer to */
	struct {
		struct nvs_qmd_upload {
			uint64_t address;
			uint32_t cls;
		} * list;
		uint32_t count, room;
	} uploads; /* descriptors that are decoded only when needed */
	/* across channels */
	uint64_t clock; /* counts copies and invalidations */
	struct nvs_recent_copy {
		uint64_t clock, dst, bytes, tag, origin;
		uint32_t channel;
		uint8_t mode;
	} recent[RECENT];
	struct {
		uint64_t address;
		uint32_t channel;
	} releases[RELEASES];
};

static inline uint32_t nvs_subch_number(const struct nvs_ops_channel *c,
					const struct nvs_subch *sub)
{
	return (uint32_t)(sub - c->subch);
}

/* ---- upload_use.c ---- */

/* A descriptor at ADDRESS is triggered or runs; QMD is NULL if its contents are unknown. */
void nvs_uses_add_qmd(struct nvs_ops *ops, uint64_t address, const struct nvs_qmd *qmd);
/* Data that looks like a descriptor of class CLS was uploaded to ADDRESS. */
void nvs_uses_add_upload(struct nvs_ops *ops, uint64_t address, uint32_t cls);
/* Turns inline copies in the list whose purpose is known into uploads. */
void nvs_uses_apply(struct nvs_ops *ops);
void nvs_uses_free(struct nvs_ops *ops);

/* ---- code.c ---- */

/* Called with each operation just before it is delivered, when its purpose is known. First delivers
 * code operations for the earlier copies that OP identifies as code. */
void nvs_code_track_op(struct nvs_ops_channel *c, const struct nvs_op *op);

/* ---- oplist.c ---- */

bool nvs_ops_make_room(struct nvs_ops_channel *c); /* for one more operation; false if memory is
						    * short */
/* Appends a zeroed operation of subchannel SUBCH. Returns NULL if memory is short. Its number,
 * ops->count - 1, is valid until ops->flushes changes. */
static inline struct nvs_op *nvs_ops_add(struct nvs_ops_channel *c, enum nvs_op_kind kind,
					 uint32_t subch, uint64_t at)
{
	const struct nvs_class *cls = c->subch[subch].cls;
	struct nvs_ops *ops = c->ops;
	struct nvs_op *op;

	if (ops->count == ops->room && !nvs_ops_make_room(c))
		return NULL;
	op = ops->list + ops->count++;
	nvs_clear(op, sizeof(*op));
	op->kind = (uint8_t)kind;
	op->subch = (uint8_t)subch;
	op->cls = cls ? cls->id : 0;
	op->at = at;
	return op;
}
/* Copies QMD for the lifetime of the list. Returns NULL if memory is short. */
struct nvs_qmd *nvs_ops_keep_qmd(struct nvs_ops *ops, const struct nvs_qmd *qmd);
void nvs_ops_flush(struct nvs_ops_channel *c); /* delivers the list */

/* ---- semaphore.c ---- */

/* A release or acquire as a method requests it. */
struct nvs_semaphore {
	uint8_t op, by; /* enum nvs_semaphore_op, nvs_semaphore_by */
	uint8_t reduction; /* for REDUCE: enum nvs_reduction */
	uint32_t flags; /* NVS_OP_* */
	uint64_t address, payload;
};
void nvs_semaphore_add(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
		       const struct nvs_semaphore *s);
/* Translates the reduction numbers of copy engines and the host class: IMIN, IMAX, IXOR, IAND, IOR,
 * IADD, INC, DEC. */
uint8_t nvs_semaphore_reduction(uint32_t number);
/* Methods SET_REPORT_SEMAPHORE_D, REPORT_SEMAPHORE_EXECUTE, and the host class's SEM_EXECUTE and
 * SEMAPHORED. */
void nvs_semaphore_report(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
			  uint64_t at);
void nvs_semaphore_report_execute(struct nvs_ops_channel *c, const struct nvs_subch *sub,
				  uint32_t value, uint64_t at);
void nvs_semaphore_host(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at);
void nvs_semaphore_host_old(struct nvs_ops_channel *c, uint32_t value, uint32_t subch, uint64_t at);

/* ---- inline.c ---- */

void nvs_inline_start(struct nvs_ops_channel *c, struct nvs_subch *sub, uint32_t launch,
		      uint64_t at);
void nvs_inline_data(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *data,
		     uint32_t n);
/*
 * Fast path for an inline upload in the four headers that drivers use; these are the majority of
 * all headers. Returns how many dwords it took, or 0 if the upload has another form or is
 * incomplete and the words must be processed one by one.
 */
size_t nvs_inline_upload(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *w,
			 size_t n, uint64_t header);
/* Called when all bytes of the transfer are there, from data words or a macro. DATA points to them
 * as received, or is NULL. */
void nvs_inline_finish(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *data);
/* Closes a transfer that will get no more data. */
void nvs_inline_close(struct nvs_ops_channel *c, struct nvs_subch *sub);
/* Keeps the bytes of a small copy in OP, once they are in the image. */
static inline void nvs_inline_keep_value(struct nvs_ops_channel *c, struct nvs_op *op)
{
	if (op->copy.bytes && op->copy.bytes <= sizeof(op->copy.value) && op->copy.lines == 1 &&
	    nvs_memimage_read(c->ops->image, op->copy.dst, op->copy.value, op->copy.bytes))
		op->copy.element = (uint8_t)op->copy.bytes;
}
/* Returns the transfer's operation, or NULL if it was delivered. */
struct nvs_op *nvs_inline_op(struct nvs_ops_channel *c, const struct nvs_inline_transfer *t);

/* ---- copyengine.c ---- */

void nvs_copyengine_launch(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t launch,
			   uint64_t at);

/* ---- compute.c ---- */

/* Methods SEND_SIGNALING_PCAS_B and SEND_SIGNALING_PCAS2_B. */
void nvs_compute_pcas(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
		      uint64_t at);
void nvs_compute_pcas2(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
		       uint64_t at);
/* Method LOAD_INLINE_QMD_DATA. */
void nvs_compute_qmd_data(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t method,
			  uint32_t value, uint64_t at);

/* ---- macro.c ---- */

void nvs_macro_start(struct nvs_ops_channel *c, struct nvs_subch *sub, uint32_t method,
		     uint32_t value);
void nvs_macro_arg(struct nvs_subch *sub, uint32_t value);
/* Called when the arguments are complete: adds the operations that the macro performs, as far as
 * known. */
void nvs_macro_close(struct nvs_ops_channel *c, struct nvs_subch *sub);

/* ---- dispatch.c ---- */

/* Sets a subchannel's class, unless a better source has set it. */
void nvs_dispatch_bind(struct nvs_ops_channel *c, uint32_t subch, uint32_t cls,
		       enum nvs_class_source source);
/* Handles one run of data words, as nvs_pb_sink.run; ARG is the channel. */
void nvs_dispatch_run(void *arg, const struct nvs_pb_run *run);
/* Fast path: executes headers of the common forms whose data is complete, which are nearly all.
 * Returns the number of dwords taken. */
size_t nvs_dispatch_fast(struct nvs_ops_channel *c, const uint32_t *data, size_t n);
/* Returns NULL if memory is short. */
const struct nvs_roles *nvs_dispatch_roles(struct nvs_ops *ops, const struct nvs_class *cls);
/* One byte for each method, stored after the values: 1 if it was ever set. */
static inline uint8_t *nvs_dispatch_set_flags(const uint32_t *state)
{
	return (uint8_t *)(uintptr_t)(state + NVS_METHODS);
}

#endif
