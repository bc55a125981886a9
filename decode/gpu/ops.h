/* SPDX-License-Identifier: MIT */
/*
 * Translates methods into operations: what a channel's commands make the GPU do, one struct nvs_op
 * for each action.
 *
 * Use one struct nvs_ops for a trace and one struct nvs_ops_channel for each channel. For each
 * submission, in the order in which the GPU reads them, call nvs_ops_begin; for each GPFIFO entry
 * nvs_ops_entry and, for its segment, nvs_ops_feed in any number of pieces or nvs_ops_skip_segment;
 * then nvs_ops_end, which delivers the submission's operations in order.
 *
 * Any input is read to its end: errors go to sink.fault(), unknown data stays unknown. Memory is
 * bounded. A struct nvs_ops and its channels may be used by one thread at a time. Addresses are GPU
 * addresses in bytes, methods are offsets in bytes.
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

/* Sources of a subchannel's class, later ones take precedence. */
enum nvs_class_source {
	NVS_CLASS_NONE,
	NVS_CLASS_CHIP, /* default of the channel's chip */
	NVS_CLASS_OBJECT, /* an engine object allocated under the channel */
	NVS_CLASS_METHOD, /* SET_OBJECT in the commands */
};

struct nvs_ops;
struct nvs_ops_channel;

struct nvs_ops_sink {
	/*
	 * All callbacks may be NULL; their arguments are valid until they return.
	 *
	 * Called for every run of data words before it takes effect. CLS is the class that the
	 * method belongs to: the host class below 0x100, else the subchannel's, or NULL if that is
	 * unknown.
	 */
	void (*run)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		    const struct nvs_class *cls);
	/* Called for each error in the commands; decoding continues. */
	void (*fault)(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault);
	/* Called at the end of the submission, in order; earlier for parts of very large
	 * submissions. */
	void (*op)(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op);
	void *arg;
};

/* Copies SINK. Returns NULL if memory is short. */
struct nvs_ops *nvs_ops_new(const struct nvs_ops_sink *sink);
void nvs_ops_free(struct nvs_ops *ops); /* with its channels; NULL is allowed */

/* What the caller knows about a channel. */
struct nvs_ops_channel_info {
	uint32_t number; /* the caller's number */
	uint16_t host_class; /* 0: unknown */
	uint16_t defaults[8]; /* default class of each subchannel; 0: unknown */
	void *user; /* for the caller, returned by nvs_ops_channel_info() */
};

/* Copies INFO. Returns NULL if memory is short. */
struct nvs_ops_channel *nvs_ops_channel_new(struct nvs_ops *ops,
					    const struct nvs_ops_channel_info *info);
void nvs_ops_channel_free(struct nvs_ops_channel *c); /* NULL is allowed */
const struct nvs_ops_channel_info *nvs_ops_channel_info(const struct nvs_ops_channel *c);
/* Records that an engine object of class CLS was allocated under the channel. */
void nvs_ops_channel_object(struct nvs_ops_channel *c, uint32_t cls);
/* Sets the channel's host class once it is known. */
void nvs_ops_channel_host(struct nvs_ops_channel *c, uint32_t cls);

/* Begins a submission. TAG is the caller's and is returned in nvs_op.code. ORIGIN must be equal for
 * submissions of one API call and different for all others. */
void nvs_ops_begin(struct nvs_ops_channel *c, uint64_t tag, uint64_t origin);
/* Decodes the next GPFIFO entry into *gp. If gp->dwords is not 0, its segment must follow. */
void nvs_ops_entry(struct nvs_ops_channel *c, uint64_t entry, struct nvs_gp *gp);
/* Processes the next N dwords of the entry's segment. */
void nvs_ops_feed(struct nvs_ops_channel *c, const uint32_t *data, size_t n);
/* The segment, or the rest of it, is not available. */
void nvs_ops_skip_segment(struct nvs_ops_channel *c);
/* Ends the submission: op() is called for each of its operations. */
void nvs_ops_end(struct nvs_ops_channel *c);

/*
 * Returns how many operations all channels have made, including those not yet passed to op(),
 * without CODE. A caller that feeds single words can thus find out which word made which operation.
 */
uint64_t nvs_ops_count(const struct nvs_ops *ops);

/* Returns the current class of a subchannel, or NULL if unknown. *SOURCE, if not NULL, is set to
 * its source. */
const struct nvs_class *nvs_ops_class(const struct nvs_ops_channel *c, uint32_t subch,
				      enum nvs_class_source *source);
/* Returns the channel's host class, or the default if that is unknown. */
const struct nvs_class *nvs_ops_host_class(const struct nvs_ops_channel *c);
/* Reads the last value of a method. Returns false with *VALUE 0 if it was never set. */
bool nvs_ops_method(const struct nvs_ops_channel *c, uint32_t subch, uint32_t method,
		    uint32_t *value);

/* Returns the descriptor of a LAUNCH, or NULL if it is unknown. Valid while op() runs. */
const struct nvs_qmd *nvs_ops_qmd(const struct nvs_ops *ops, const struct nvs_op *op);

/* Copies N bytes of GPU memory as the commands have left it so far. Returns false unless all of
 * them are known: memory_image.h. */
bool nvs_ops_read_memory(const struct nvs_ops *ops, uint64_t address, void *bytes, size_t n);

/* Returns the subchannel of a class kind by the convention of graphics and compute runlists, 8 if
 * none. */
uint32_t nvs_subchannel_of(uint32_t kind);

#endif
