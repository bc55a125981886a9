/* SPDX-License-Identifier: MIT */
/*
 * What the engines share: a channel's state, the list of operations, and what each file offers to
 * those above it.
 *
 *     {uses, code} <- oplist <- semaphore <- {inline, copyengine, compute} <- macro <- dispatch <-
 * ops
 *
 * AT is everywhere the GPU address of the header that an operation comes from, METHOD in bytes.
 */
#ifndef NVSNOOP_DECODE_GPU_ENGINE_H
#define NVSNOOP_DECODE_GPU_ENGINE_H

#include "decode/base/copy.h"
#include "decode/gpu/memory_image.h"
#include "decode/gpu/ops.h"
#include "decode/gpu/roles.h"
#include "decode/gpu/sched.h"

#define MAX_OPS 8192u /* held of one submission; more are handed out before its end */
#define MAX_MACRO_ARGS 8u
#define RECENT 64u /* copies that may yet turn out to be code */
#define ACQUIRED 4u
#define RELEASES 4096u
#define NO_OP 0xffffffffu
#define HOST_END 0x100u /* methods below are Host's own */

/* An inline upload whose bytes are still coming. */
struct nvs_transfer {
	bool open;
	bool linear; /* goes to pitch memory: the image can follow */
	uint32_t op; /* its operation, NO_OP once that was handed out */
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
	uint32_t upload; /* its header that begins an inline upload; 0: none does */
	enum nvs_class_source source;
	uint32_t *state; /* NVS_METHODS dwords, then a byte for each: was it set? */
	struct nvs_transfer transfer;
	struct nvs_macro_call macro;
};

struct nvs_ops_channel {
	struct nvs_ops *ops;
	struct nvs_ops_channel *next, **link;
	struct nvs_ops_channel_info info;
	const struct nvs_class *host;
	const struct nvs_roles *host_roles;
	bool extended; /* its class knows extended bases */
	struct nvs_pb pb;
	struct nvs_pb_sink pb_sink;
	uint64_t tag, origin;
	uint64_t window; /* ops clock at its last cache invalidation */
	struct {
		uint32_t channel;
		uint64_t clock;
	} acquired[ACQUIRED]; /* channels it has waited for lately */
	uint32_t nacquired;
	uint32_t host_state[HOST_END / 4];
	uint64_t host_set; /* a bit for each of them: was it set? */
	struct nvs_subch subch[8];
};

struct nvs_ranges {
	struct nvs_range {
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
	/* of the submission in progress */
	struct nvs_op *list;
	uint32_t count, room;
	uint32_t flushes; /* times the list was handed out so far */
	uint64_t handed; /* operations in all of these */
	struct nvs_qmd *qmds;
	uint32_t nqmds, qmd_room;
	struct nvs_ranges descriptors; /* that it uploads or triggers, */
	struct nvs_ranges constants, semaphores; /* and what those speak of */
	struct {
		struct nvs_upload {
			uint64_t address;
			uint32_t cls;
		} * list;
		uint32_t count, room;
	} uploads; /* descriptors that are looked into only if that is needed */
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

/* ---- uses.c ---- */

/* A descriptor at ADDRESS is triggered or run; QMD NULL: not known. */
void nvs_uses_qmd(struct nvs_ops *ops, uint64_t address, const struct nvs_qmd *qmd);
/* What looks like a descriptor of class CLS was uploaded there. */
void nvs_uses_upload(struct nvs_ops *ops, uint64_t address, uint32_t cls);
/* Makes uploads of the inline copies in the list whose use is known. */
void nvs_uses_tell(struct nvs_ops *ops);
void nvs_uses_forget(struct nvs_ops *ops); /* the submission ends */
void nvs_uses_free(struct nvs_ops *ops);

/* ---- code.c ---- */

/*
 * OP is handed out next, and what it is for is known. Hands out before it which earlier copies it
 * shows to be code.
 */
void nvs_code_op(struct nvs_ops_channel *c, const struct nvs_op *op);

/* ---- oplist.c ---- */

bool nvs_ops_make_room(struct nvs_ops_channel *c); /* for one more; false: no memory */
/*
 * A new operation of subchannel SUBCH at the end of the list, zeroed; NULL: no memory. Its number
 * is ops->count - 1, and good until ops->flushes changes.
 */
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
/* A copy of QMD that is kept as long as the list; NULL: no memory. */
struct nvs_qmd *nvs_ops_keep_qmd(struct nvs_ops *ops, const struct nvs_qmd *qmd);
void nvs_ops_flush(struct nvs_ops_channel *c); /* hands out what there is */

/* ---- semaphore.c ---- */

/* A release or acquire as a method asks for it. */
struct nvs_semaphore {
	uint8_t op, by; /* enum nvs_semaphore_op, nvs_semaphore_by */
	uint8_t reduction; /* REDUCE: enum nvs_reduction */
	uint32_t flags; /* NVS_OP_* */
	uint64_t address, payload;
};
void nvs_semaphore_add(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
		       const struct nvs_semaphore *s);
/* Numbers of copy engines and of Host: IMIN, IMAX, IXOR, IAND, IOR, IADD, INC, DEC. */
uint8_t nvs_semaphore_reduction(uint32_t number);
/* SET_REPORT_SEMAPHORE_D, REPORT_SEMAPHORE_EXECUTE; Host's SEM_EXECUTE, SEMAPHORED. */
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
 * An inline upload in the four headers in which drivers write it: they are most of all headers, so
 * they are taken together. How many dwords that were; 0: it is not written so, or there is more to
 * it, and the words have to be taken one by one.
 */
size_t nvs_inline_upload(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *w,
			 size_t n, uint64_t header);
/* All bytes of the transfer have come, or a macro has brought them; DATA as they came, or NULL. */
void nvs_inline_finish(struct nvs_ops_channel *c, struct nvs_subch *sub, const uint32_t *data);
/* A transfer that is still open will get no more. */
void nvs_inline_close(struct nvs_ops_channel *c, struct nvs_subch *sub);
/* OP is a copy whose bytes are in the image by now: few are kept in OP. */
static inline void nvs_inline_value(struct nvs_ops_channel *c, struct nvs_op *op)
{
	if (op->copy.bytes && op->copy.bytes <= sizeof(op->copy.value) && op->copy.lines == 1 &&
	    nvs_memimage_read(c->ops->image, op->copy.dst, op->copy.value, op->copy.bytes))
		op->copy.element = (uint8_t)op->copy.bytes;
}
/* The transfer's operation; NULL: it was handed out. */
struct nvs_op *nvs_inline_op(struct nvs_ops_channel *c, const struct nvs_transfer *t);

/* ---- copyengine.c ---- */

void nvs_copyengine_launch(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t launch,
			   uint64_t at);

/* ---- compute.c ---- */

/* SEND_SIGNALING_PCAS_B and PCAS2_B */
void nvs_compute_pcas(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
		      uint64_t at);
void nvs_compute_pcas2(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t value,
		       uint64_t at);
/* LOAD_INLINE_QMD_DATA */
void nvs_compute_qmd_data(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t method,
			  uint32_t value, uint64_t at);

/* ---- macro.c ---- */

void nvs_macro_start(struct nvs_ops_channel *c, struct nvs_subch *sub, uint32_t method,
		     uint32_t value);
void nvs_macro_arg(struct nvs_subch *sub, uint32_t value);
/* The call's arguments are complete: says what it did, as far as that can be told. */
void nvs_macro_close(struct nvs_ops_channel *c, struct nvs_subch *sub);

/* ---- dispatch.c ---- */

/* A class for a subchannel, unless a better source has given one. */
void nvs_dispatch_bind(struct nvs_ops_channel *c, uint32_t subch, uint32_t cls,
		       enum nvs_class_source source);
/* Every run, as struct nvs_pb_sink has it; ARG is the channel. */
void nvs_dispatch_run(void *arg, const struct nvs_pb_run *run);
/*
 * Takes headers of the usual forms to an engine, as long as all their data is here: nearly all are
 * such. How many dwords that were.
 */
size_t nvs_dispatch_plain(struct nvs_ops_channel *c, const uint32_t *data, size_t n);
/* NULL: no memory. */
const struct nvs_roles *nvs_dispatch_roles(struct nvs_ops *ops, const struct nvs_class *cls);
/* A byte for each method, behind the values: was it ever set? */
static inline uint8_t *nvs_dispatch_set(const uint32_t *state)
{
	return (uint8_t *)(uintptr_t)(state + NVS_METHODS);
}

#endif
