/* SPDX-License-Identifier: MIT */
/* Inside the timing of a channel: slots, and how the end of a submission is had. Under the lock. */
#ifndef NVSNOOP_TRAP_COPY_SLOTS_H
#define NVSNOOP_TRAP_COPY_SLOTS_H

#include "trap/copy/gpfifo_timing.h"

/* How the end of a submission is to be had. */
enum nvs_timing_end {
	NVS_END_UNKNOWN,
	NVS_END_IDLE, /* the engine is idle */
	NVS_END_ENGINE, /* the compute engine has done all but grids, of which there are none */
	NVS_END_GRID, /* its only grid releases it */
	NVS_END_NOTHING, /* of an empty bracket: as its begin */
};

/* The next slot, if its former times are there and go into the trace with it. NULL: not yet. */
struct nvs_timing_use *nvs_timing_take_slot(struct nvs_timing *t, struct nvs_buffer *buffer);
/* All of its words anew: what the GPU has fetched need not have stayed as it was. */
void nvs_timing_use_slot(struct nvs_timing *t, struct nvs_timing_use *use, uint64_t sequence,
			 uint32_t kind, enum nvs_timing_end end);
/* What a submission launches, for nvs_timing.launches. */
uint64_t nvs_timing_launch_of(const struct nvs_walk_launch *l);
/* How the end of a submission with this LAUNCH is had, which the GPU has not been told of. */
enum nvs_timing_end nvs_timing_end_of(const struct nvs_timing *t, uint64_t launch);
/* In its segment: its grid releases the end. False: not so. */
bool nvs_timing_ask_grid(const struct nvs_timing *t, const struct nvs_timing_use *use,
			 uint64_t launch);

#endif
