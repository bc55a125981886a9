/* SPDX-License-Identifier: MIT */
/*
 * Models the GPU's scheduling of launch descriptors: which triggers start a grid, which only arm a
 * descriptor, and which descriptors the end of a grid starts.
 *
 * The rules are inferred from command streams of real drivers and from the fields' names:
 *   - A trigger with COPY copies DEPENDENCE_COUNTER and REQUIRE_SCHEDULING_PCAS into the
 * descriptor's working state. If either is set it only arms the descriptor; otherwise the grid
 * runs.
 *   - SCHEDULE runs an armed descriptor whose counter is 0. DECREMENT_DEPENDENCE decrements the
 *     counter and runs the descriptor at 0.
 *   - When a grid ends, DEPENDENT_QMD_ACTION is applied to each dependent descriptor; with
 *     SELF_COPY_ON_COMPLETION the descriptor is armed again with its initial state.
 * A trigger's consequences are followed at once, as if the GPU took no time.
 */
#ifndef NVSNOOP_DECODE_GPU_SCHED_H
#define NVSNOOP_DECODE_GPU_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/gpu/memory_image.h"
#include "decode/gpu/qmd.h"

/* Values of PCAS_ACTION of SEND_SIGNALING_PCAS2_B. */
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

/* One descriptor run, auxiliary descriptors included. */
struct nvs_sched_run {
	uint64_t address; /* of the descriptor */
	uint64_t parent; /* descriptor whose end started it; 0: the trigger itself */
	const struct nvs_qmd *qmd; /* NULL: its contents or their version are unknown */
	uint32_t depth; /* number of grids before it in this trigger's chain */
};

struct nvs_sched_sink {
	void (*run)(void *arg, const struct nvs_sched_run *run);
	/* A descriptor would start itself again: the chain is cut there. */
	void (*loop)(void *arg, uint64_t address);
	void *arg;
};

/* The caller keeps both. Returns NULL if memory is short. */
struct nvs_sched *nvs_sched_new(struct nvs_memimage *image, struct nvs_qmd_layouts *layouts);
void nvs_sched_free(struct nvs_sched *sked);

/*
 * Raises the limit on descriptors run, as DWORDS more of commands were read. One trigger may start
 * any number of descriptors; those above the limit are cut off, and nvs_budget_exceeded() is true
 * afterwards.
 */
void nvs_sched_allow(struct nvs_sched *sked, uint64_t dwords);
/* Handles a trigger of the descriptor at ADDRESS by a channel whose compute class is CLS. */
void nvs_sched_trigger(struct nvs_sched *sked, uint64_t address, enum nvs_pcas action, uint32_t cls,
		       const struct nvs_sched_sink *sink);
/* Reads the descriptor at ADDRESS from the image. Returns false if it is unknown. */
bool nvs_sched_read(struct nvs_sched *sked, uint64_t address, uint32_t cls, struct nvs_qmd *qmd);

#endif
