/* SPDX-License-Identifier: MIT */
/* Memory objects that the driver allocated from the resource manager: those with allocations of the
 * program in them, and the driver's own. */
#ifndef NVSNOOP_DECODE_ANALYSIS_DRIVER_MEMORY_H
#define NVSNOOP_DECODE_ANALYSIS_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/base/keyed_rows.h"
#include "nvsnoop/decode.h"

enum nvs_rm_memory_kind { NVS_RM_GPU, NVS_RM_SYSTEM, NVS_RM_PLACES };

struct nvs_rm_object {
	uint32_t key[2]; /* client, handle */
	uint32_t gpu;
	uint8_t place;
	bool program; /* an allocation of the program was in it */
	uint64_t size, from, to; /* from, to: ticks; UINT64_MAX: not freed */
};

#define NVS_RM_SUMS 256u /* maximum */

/* Sum over the objects of one GPU, place and owner. */
struct nvs_rm_sum {
	uint32_t gpu;
	uint8_t place;
	bool program;
	uint64_t objects, freed, live, peak, bytes;
};

struct nvs_rm_memory {
	const struct nvs_trace *trace;
	struct nvs_rows objects; /* struct nvs_rm_object; those not freed are found by their key */
	struct nvs_rm_sum *sums; /* set by nvs_rm_memory_end() */
	uint32_t nsums;
};

/* Returns 0 or -ENOMEM. */
int nvs_rm_memory_record(struct nvs_rm_memory *m, const struct nvs_rec *rec);
/* The program got memory at ADDRESS: its object counts as the program's. */
void nvs_rm_memory_note_program(void *m, uint64_t address);
int nvs_rm_memory_end(struct nvs_rm_memory *m);
void nvs_rm_memory_free(struct nvs_rm_memory *m);

#endif
