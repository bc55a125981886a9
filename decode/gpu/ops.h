/* SPDX-License-Identifier: MIT */
/*
 * From methods to meaning: what a channel's commands make the GPU do, one struct nvs_op a thing
 * done.
 *
 * One struct nvs_ops a trace, one struct nvs_ops_channel a channel in it. For each submission, in
 * the order in which the GPU reads them: nvs_ops_begin, for each GPFIFO entry nvs_ops_entry and,
 * with its segment, nvs_ops_feed in any number of pieces or nvs_ops_missing, then nvs_ops_end,
 * which hands out the submission's operations in order.
 *
 * Whatever the input, it is read to its end: what is wrong with it goes to sink.fault(), what is
 * not known stays unknown. Memory is bounded. Only one thread at a time may use a struct nvs_ops
 * and its channels. Addresses are the GPU's, in bytes; methods are offsets in bytes.
 */
#ifndef NVSNOOP_DECODE_GPU_OPS_H
#define NVSNOOP_DECODE_GPU_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"
#include "nvsnoop/ops.h"

/* Where the class of a subchannel comes from; a later one of these is the better. */
enum nvs_class_source {
	NVS_CLASS_NONE,
	NVS_CLASS_CHIP, /* what the channel's chip has */
	NVS_CLASS_OBJECT, /* an engine object that was allocated under the channel */
	NVS_CLASS_METHOD, /* SET_OBJECT in the commands */
};

struct nvs_ops;
struct nvs_ops_channel;

struct nvs_ops_sink {
	/*
	 * Each of these may be NULL, and what it is handed is good until it returns.
	 *
	 * Every run of data words, before it takes effect; CLS is what its method belongs to: the
	 * host class below 0x100, else the class of the subchannel, NULL where that is not known.
	 */
	void (*run)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		    const struct nvs_class *cls);
	/* What is wrong with the commands; the reading goes on. */
	void (*fault)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault);
	/* At the submission's end, in order; of one with very many operations, earlier in part. */
	void (*op)(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op);
	void *arg;
};

/* SINK is copied. NULL: no memory. */
struct nvs_ops *nvs_ops_new(const struct nvs_ops_sink *sink);
void nvs_ops_free(struct nvs_ops *ops); /* with its channels; NULL is fine */

/* What is known of a channel beforehand. */
struct nvs_ops_channel_info {
	uint32_t number; /* as the caller counts them */
	uint16_t host_class; /* 0: not known */
	uint16_t defaults[8]; /* class of each subchannel by the chip, 0: not known */
	void *user; /* the caller's, for nvs_ops_channel_info() */
};

/* INFO is copied. NULL: no memory. */
struct nvs_ops_channel *nvs_ops_channel_new(struct nvs_ops *ops,
					    const struct nvs_ops_channel_info *info);
void nvs_ops_channel_free(struct nvs_ops_channel *c); /* NULL is fine */
const struct nvs_ops_channel_info *nvs_ops_channel_info(const struct nvs_ops_channel *c);
/* An engine object of class CLS was allocated under the channel. */
void nvs_ops_channel_object(struct nvs_ops_channel *c, uint32_t cls);
/* The channel's host class is known now. */
void nvs_ops_channel_host(struct nvs_ops_channel *c, uint32_t cls);

/*
 * A submission begins. TAG is the caller's, for nvs_op.code. ORIGIN too: the same for submissions
 * that one call made, another for all else.
 */
void nvs_ops_begin(struct nvs_ops_channel *c, uint64_t tag, uint64_t origin);
/* Its next GPFIFO entry, taken apart in *gp; the segment is wanted next where gp->dwords is not 0.
 */
void nvs_ops_entry(struct nvs_ops_channel *c, uint64_t entry, struct nvs_gp *gp);
/* The next N dwords of the entry's segment. */
void nvs_ops_feed(struct nvs_ops_channel *c, const uint32_t *data, size_t n);
/* The segment, or what is left of it, is not at hand. */
void nvs_ops_missing(struct nvs_ops_channel *c);
/* The submission ends: op() is called for each of its operations. */
void nvs_ops_end(struct nvs_ops_channel *c);

/* Operations so far, of all channels, those among them that op() is yet to be called for, without
 * CODE: who feeds word by word learns which word made each. */
uint64_t nvs_ops_made(const struct nvs_ops *ops);

/* Class of a subchannel as it stands, and in *source (NULL is fine) whence. NULL: not known. */
const struct nvs_class *nvs_ops_class(const struct nvs_ops_channel *c, uint32_t subch,
				      enum nvs_class_source *source);
/* The channel's own, or what stands in for it. */
const struct nvs_class *nvs_ops_host_class(const struct nvs_ops_channel *c);
/* Last value of a method; false: never set, *value is 0. */
bool nvs_ops_method(const struct nvs_ops_channel *c, uint32_t subch, uint32_t method,
		    uint32_t *value);

/* The descriptor of a LAUNCH, while op() runs; NULL: not known. */
const struct nvs_qmd *nvs_ops_qmd(const struct nvs_ops *ops, const struct nvs_op *op);

/* Subchannel of a class by the convention of graphics and compute runlists; 8: none. */
uint32_t nvs_subchannel_of(uint32_t kind);

#endif
