/* SPDX-License-Identifier: MIT */
/* What the files of ops share: ops.c (channels and dispatch), opsdo.c (what triggers do), opsend.c
 * (the end of a submission). */
#ifndef NVSNOOP_DECODE_GPU_OPS_INTERNAL_H
#define NVSNOOP_DECODE_GPU_OPS_INTERNAL_H

#include "decode/gpu/image.h"
#include "decode/gpu/ops.h"
#include "decode/gpu/roles.h"
#include "decode/gpu/sched.h"

#define MAX_OPS 8192u /* held of one submission; more are handed out before its end */
#define MAX_MACRO_ARGS 8u
#define RECENT 64u /* copies that may yet turn out to be code */
#define ACQUIRED 4u
#define RELEASES 4096u
#define NO_OP 0xffffffffu

/* An inline upload whose bytes are still coming. */
struct transfer {
	bool open;
	bool linear; /* goes to pitch memory: the image can follow */
	uint32_t op; /* its operation, NO_OP once that was handed out */
	uint32_t width, pitch;
	uint64_t address, bytes, received;
};

struct macro_call {
	bool open;
	uint8_t number;
	uint32_t nargs, args[MAX_MACRO_ARGS];
};

struct subch {
	const struct nvs_class *cls;
	const struct nvs_roles *roles;
	enum nvs_class_source source;
	uint32_t *state; /* NVS_METHODS dwords, then a byte for each: was it set? */
	struct transfer transfer;
	struct macro_call macro;
};

struct acquired {
	uint32_t channel;
	uint64_t clock;
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
	uint64_t tag;
	uint64_t window; /* ops clock at its last cache invalidation */
	struct acquired acquired[ACQUIRED]; /* channels it has waited for lately */
	uint32_t nacquired;
	uint32_t host_state[0x40];
	uint64_t host_set;
	struct subch subch[8];
};

struct recent {
	uint64_t clock, dst, bytes, tag;
	uint32_t channel;
	uint8_t mode;
};

struct range {
	uint64_t start, end;
};

struct ranges {
	struct range *list;
	uint32_t count, room;
};

/* Descriptors uploaded by a submission, looked into only if that is needed. */
struct uploads {
	struct {
		uint64_t address;
		uint32_t cls;
	} * list;
	uint32_t count, room;
};

struct roles_slot {
	struct roles_slot *next;
	struct nvs_roles roles;
};

struct nvs_ops {
	struct nvs_ops_sink sink;
	struct nvs_memimage *image;
	struct nvs_sked *sked;
	struct nvs_qmd_layouts *layouts;
	struct roles_slot *roles;
	struct nvs_ops_channel *channels;
	/* of the submission in progress */
	struct nvs_op *list;
	uint32_t count, room;
	struct nvs_qmd *qmds;
	uint32_t nqmds, qmd_room;
	struct ranges descriptors, constants,
		semaphores; /* what it triggers, and what that speaks of */
	struct uploads uploads;
	uint32_t flushes; /* times the list was handed out so far */
	/* across channels */
	uint64_t clock; /* counts copies and invalidations */
	struct recent recent[RECENT];
	struct {
		uint64_t address;
		uint32_t channel;
	} releases[RELEASES];
};

/* ops.c */
/* A new operation of SUB's at the end of the list, zeroed; NULL: no memory. Its number is
 * ops->count - 1. */
struct nvs_op *nvs_ops_add(struct nvs_ops_channel *c, enum nvs_op_kind kind, uint32_t subch,
			   uint64_t at);

/* opsdo.c */
void nvs_ops_engine(struct nvs_ops_channel *c, struct subch *sub, enum nvs_role role,
		    uint32_t method, uint32_t value, uint64_t at);
void nvs_ops_host(struct nvs_ops_channel *c, enum nvs_role role, uint32_t method, uint32_t value,
		  uint32_t subch, uint64_t at);
/* By the engine. FLAGS are NVS_OP_*; REDUCTION: enum nvs_reduction or SET_PAYLOAD. */
#define SET_PAYLOAD (-1)
struct nvs_op *nvs_ops_release(struct nvs_ops_channel *c, uint32_t subch, uint64_t at,
			       uint64_t address, uint64_t payload, uint32_t flags, int reduction);

/* inline.c: uploads and macros */
void nvs_ops_inline_start(struct nvs_ops_channel *c, struct subch *sub, uint32_t launch,
			  uint64_t at);
void nvs_ops_inline_data(struct nvs_ops_channel *c, struct subch *sub, const uint32_t *data,
			 uint32_t n);
/* A whole upload to pitch memory, of one line and without a release, at once. */
void nvs_ops_inline_whole(struct nvs_ops_channel *c, struct subch *sub, uint64_t address,
			  uint32_t bytes, const uint32_t *data, uint64_t at);
/* A transfer that is still open will get no more. */
void nvs_ops_inline_close(struct nvs_ops_channel *c, struct subch *sub);
void nvs_ops_qmd_data(struct nvs_ops_channel *c, struct subch *sub, uint32_t method, uint32_t value,
		      uint64_t at);
void nvs_ops_macro_start(struct nvs_ops_channel *c, struct subch *sub, uint32_t method,
			 uint32_t value);
void nvs_ops_macro_arg(struct subch *sub, uint32_t value);
/* The call's arguments are complete: says what it did, as far as that can be told. */
void nvs_ops_macro_close(struct nvs_ops_channel *c, struct subch *sub);

/* opsend.c */
void nvs_ops_flush(struct nvs_ops_channel *c); /* hands out what there is */
/* A descriptor at ADDRESS is triggered or run (QMD may be NULL), or uploaded for class CLS. */
void nvs_ops_note_qmd(struct nvs_ops *ops, uint64_t address, const struct nvs_qmd *qmd);
void nvs_ops_note_upload(struct nvs_ops *ops, uint64_t address, uint32_t cls);
void nvs_ops_note_copy(struct nvs_ops_channel *c, uint8_t mode, uint64_t dst, uint64_t bytes);
void nvs_ops_note_release(struct nvs_ops_channel *c, uint64_t address);
void nvs_ops_note_acquire(struct nvs_ops_channel *c, uint64_t address);
void nvs_ops_note_invalidate(struct nvs_ops_channel *c, uint32_t subch, bool instructions,
			     uint64_t at);
void nvs_ops_free_notes(struct nvs_ops *ops);

#endif
