/* SPDX-License-Identifier: MIT */
/* Launch descriptors (QMD): decodes the fields that reports use, whatever their name and position
 * in each version. */
#ifndef NVSNOOP_DECODE_GPU_QMD_H
#define NVSNOOP_DECODE_GPU_QMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/gpu/class.h"

#define NVS_QMD_MAX_BYTES 384u /* versions 4 and 5; earlier ones have 256 */
#define NVS_QMD_BANKS 9
#define NVS_QMD_RELEASES 3
#define NVS_QMD_DEPENDENTS 2

/* Values of the field QMD_TYPE. Older versions have only IS_QUEUE and are mapped to QUEUE or
 * GRID_CTA. */
enum nvs_qmd_type {
	NVS_QMD_QUEUE,
	NVS_QMD_GRID_NULL,
	NVS_QMD_GRID_CTA,
	NVS_QMD_GRID_GPC_CGA,
	NVS_QMD_GRID_GPU_CGA,
	NVS_QMD_GRID_GPU_GPC_CGA,
};

/* Values of the field DEPENDENT_QMD_ACTION. */
enum nvs_qmd_action {
	NVS_QMD_INCREMENT_PUT = 0,
	NVS_QMD_SCHEDULE = 1,
	NVS_QMD_INVALIDATE_COPY_SCHEDULE = 3,
	NVS_QMD_DECREMENT_DEPENDENCE = 4,
};

struct nvs_qmd_bank {
	uint64_t address;
	uint32_t bytes; /* 0: invalid */
};

struct nvs_qmd_release {
	bool enable, reduction, timestamp, wide; /* wide: 64-bit payload */
	uint8_t reduction_op; /* RED_ADD, MIN, MAX, INC, DEC, AND, OR, XOR */
	uint64_t address, payload;
};

struct nvs_qmd_dependent {
	bool enable;
	uint8_t action; /* enum nvs_qmd_action */
	uint64_t address;
};

struct nvs_qmd {
	uint16_t major, minor;
	uint16_t bytes; /* of the whole descriptor */
	uint8_t type; /* enum nvs_qmd_type; GRID_NULL has only the members up to dependence, and
		       * dependents */
	bool require_scheduling; /* REQUIRE_SCHEDULING_PCAS */
	bool self_copy; /* SELF_COPY_ON_COMPLETION */
	bool program_is_offset; /* program is an offset into the class's program region */
	uint32_t dependence; /* DEPENDENCE_COUNTER */
	uint64_t program;
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0: none */
	uint32_t registers; /* per thread */
	uint32_t shared_bytes; /* per block, static and dynamic */
	uint32_t local_bytes; /* per thread */
	uint32_t nbanks;
	struct nvs_qmd_bank banks[NVS_QMD_BANKS];
	struct nvs_qmd_release releases[NVS_QMD_RELEASES];
	struct nvs_qmd_dependent dependents[NVS_QMD_DEPENDENTS];
};

/* Returns true for a grid that runs a program, false for queues and auxiliary grids. */
static inline bool nvs_qmd_is_launch(const struct nvs_qmd *q)
{
	return q->type >= NVS_QMD_GRID_CTA && (q->program || q->program_is_offset) && q->grid[0] &&
	       q->grid[1] && q->grid[2];
}

/* Returns the descriptor's version for compute class CLS, or NULL if it is unknown. */
const struct nvs_qmd_version *nvs_qmd_version_of(const uint32_t *words, size_t nwords,
						 uint32_t cls);
/* Returns bits [lo, hi], at most 64 of them; bits beyond the end read as 0. */
uint64_t nvs_qmd_bits(const uint32_t *words, size_t nwords, uint32_t hi, uint32_t lo);

/* Field positions of each version and class, looked up on first use and cached. */
struct nvs_qmd_layouts;
struct nvs_qmd_layouts *nvs_qmd_layouts_new(void); /* NULL if memory is short */
void nvs_qmd_layouts_free(struct nvs_qmd_layouts *layouts);

/* Returns false and zeroes *qmd if the version is unknown. */
bool nvs_qmd_decode(struct nvs_qmd_layouts *layouts, const uint32_t *words, size_t nwords,
		    uint32_t cls, struct nvs_qmd *qmd);

enum nvs_qmd_guess { NVS_QMD_NO, NVS_QMD_AUXILIARY, NVS_QMD_LAUNCH };

/* Guesses whether the words are a descriptor of class CLS: the version must belong to the class and
 * no unnamed bit may be set. The result distinguishes launches from auxiliary descriptors. */
enum nvs_qmd_guess nvs_qmd_classify(struct nvs_qmd_layouts *layouts, const uint32_t *words,
				    size_t nwords, uint32_t cls);

#endif
