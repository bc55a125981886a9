/* SPDX-License-Identifier: MIT */
/*
 * What the GPU's scheduler does with launch descriptors: which triggers run a grid at once, which
 * only arm a descriptor, and which further descriptors a grid that has ended sets going.
 *
 * The rules, as the command streams of real drivers show them and the fields' names say:
 *   - A trigger with COPY takes DEPENDENCE_COUNTER and REQUIRE_SCHEDULING_PCAS over into the
 * descriptor's working state. Where either is set it only arms the descriptor; else the grid runs.
 *   - SCHEDULE runs an armed descriptor whose counter is 0. DECREMENT_DEPENDENCE counts down, and
 * runs it at 0.
 *   - When a grid has ended, DEPENDENT_QMD_ACTION is done to each dependent descriptor; with
 *     SELF_COPY_ON_COMPLETION the descriptor is armed again as at first.
 * A trigger's consequences are followed at once, as if the GPU took no time.
 */
#ifndef NVSNOOP_DECODE_GPU_SCHED_H
#define NVSNOOP_DECODE_GPU_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/gpu/memory_image.h"
#include "decode/gpu/qmd.h"

/* PCAS_ACTION of SEND_SIGNALING_PCAS2_B. */
enum nvs_pcas {
	NVS_PCAS_NOP = 0,
	NVS_PCAS_INVALIDATE = 1,
	NVS_PCAS_SCHEDULE = 2,
	NVS_PCAS_INVALIDATE_COPY_SCHEDULE = 3,
	NVS_PCAS_INCREMENT_PUT = 6,
	NVS_PCAS_DECREMENT_DEPENDENCE = 7,
	NVS_PCAS_PREFETCH = 8,
	NVS_PCAS_PREFETCH_SCHEDULE = 9,
	NVS_PCAS_INVALIDATE_PREFETCH_COPY_SCHEDULE = 10,
	NVS_PCAS_COPY_FORCE_REQUIRE_SCHEDULING = 11,
	NVS_PCAS_INCREMENT_DEPENDENCE = 12,
};

struct nvs_sched;

/* A descriptor that runs, auxiliary ones included. */
struct nvs_sched_run {
	uint64_t address; /* of the descriptor */
	uint64_t parent; /* descriptor whose end set it going; 0: the trigger itself */
	const struct nvs_qmd *qmd; /* NULL: its bytes, or their version, are not known */
	uint32_t depth; /* grids before it in this trigger's chain */
};

struct nvs_sched_sink {
	void (*run)(void *arg, const struct nvs_sched_run *run);
	/* A descriptor sets itself going again: the chain is cut there. */
	void (*loop)(void *arg, uint64_t address);
	void *arg;
};

/* Both stay the caller's. NULL: no memory. */
struct nvs_sched *nvs_sched_new(struct nvs_memimage *image, struct nvs_qmd_layouts *layouts);
void nvs_sched_free(struct nvs_sched *sked);

/*
 * DWORDS more of commands were read. A trigger is one of them, and may set any number of
 * descriptors going: more than there is room for by the size of all are cut off, which
 * nvs_budget_short() tells.
 */
void nvs_sched_allow(struct nvs_sched *sked, uint64_t dwords);
/* A trigger for the descriptor at ADDRESS, by a channel whose compute class is CLS. */
void nvs_sched_trigger(struct nvs_sched *sked, uint64_t address, enum nvs_pcas action, uint32_t cls,
		       const struct nvs_sched_sink *sink);
/* The descriptor at ADDRESS out of the image. False: unknown. */
bool nvs_sched_read(struct nvs_sched *sked, uint64_t address, uint32_t cls, struct nvs_qmd *qmd);

#endif
