/* SPDX-License-Identifier: MIT */
/* Used by the timing of a channel, under its lock: timestamp slots and the end of a submission. */
#ifndef NVSNOOP_TRAP_COPY_SLOTS_H
#define NVSNOOP_TRAP_COPY_SLOTS_H

#include "trap/copy/gpfifo_timing.h"

/* How the end of a submission is measured. */
enum nvs_timing_end {
	NVS_END_UNKNOWN,
	NVS_END_IDLE, /* the engine is idle */
	/* the compute engine has done everything except grids, of which there are none */
	NVS_END_ENGINE,
	NVS_END_GRID, /* its only grid releases the semaphore */
	NVS_END_NOTHING, /* an empty bracket: measured like its begin */
};

/* sampling.c: draws for the submission after the one at NOW, in ticks. Returns what the present one
 * stands for; 0: it is not drawn. */
uint32_t nvs_sample_draw(struct nvs_timing_sample *sample, uint64_t now);

/* Returns the next slot, after its previous times have been written to the trace. Returns NULL if
 * they are not there yet. */
struct nvs_timing_use *nvs_timing_claim_slot(struct nvs_gpfifo_timing *t,
					     struct nvs_buffer *buffer);
/* Writes all words of the slot: the GPU may have changed those it fetched before. */
void nvs_timing_write_slot(struct nvs_gpfifo_timing *t, struct nvs_timing_use *use,
			   uint64_t sequence, uint32_t kind, enum nvs_timing_end end);
/* Returns what a submission launches, for nvs_gpfifo_timing.launches. */
uint64_t nvs_timing_launch_of(const struct nvs_stream_launch *l);
/* Returns how to measure the end of a submission with this LAUNCH, which the GPU has not seen yet.
 *  */
enum nvs_timing_end nvs_timing_end_of(const struct nvs_gpfifo_timing *t, uint64_t launch);
/* Changes the descriptor in its segment so that its grid releases the end. Returns false if that
 * fails. */
bool nvs_timing_set_grid_release(const struct nvs_gpfifo_timing *t,
				 const struct nvs_timing_use *use, uint64_t launch);

#endif
