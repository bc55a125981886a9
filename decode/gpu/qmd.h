/* SPDX-License-Identifier: MIT */
/*
 * Launch descriptors (QMD): the few things in them that reports speak of, whatever the version
 * calls them and wherever it keeps them.
 */
#ifndef NVSNOOP_DECODE_GPU_QMD_H
#define NVSNOOP_DECODE_GPU_QMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/gpu/class.h"

#define NVS_QMD_MAX_BYTES 384u /* versions 4 and 5; 256 before */
#define NVS_QMD_BANKS 9
#define NVS_QMD_RELEASES 3
#define NVS_QMD_DEPENDENTS 2

/*
 * As in the field QMD_TYPE; older versions have IS_QUEUE alone and are told as QUEUE or GRID_CTA.
 */
enum nvs_qmd_type {
	NVS_QMD_QUEUE,
	NVS_QMD_GRID_NULL,
	NVS_QMD_GRID_CTA,
	NVS_QMD_GRID_GPC_CGA,
	NVS_QMD_GRID_GPU_CGA,
	NVS_QMD_GRID_GPU_GPC_CGA,
};

/* As in the field DEPENDENT_QMD_ACTION. */
enum nvs_qmd_action {
	NVS_QMD_INCREMENT_PUT = 0,
	NVS_QMD_SCHEDULE = 1,
	NVS_QMD_INVALIDATE_COPY_SCHEDULE = 3,
	NVS_QMD_DECREMENT_DEPENDENCE = 4,
};

struct nvs_qmd_bank {
	uint64_t address;
	uint32_t bytes; /* 0: not valid */
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
	uint8_t type; /* enum nvs_qmd_type; GRID_NULL: only what follows up to dependence, and the
			 links */
	bool require_scheduling; /* REQUIRE_SCHEDULING_PCAS */
	bool self_copy; /* SELF_COPY_ON_COMPLETION */
	bool program_is_offset; /* program is an offset to the class's program region */
	uint32_t dependence; /* DEPENDENCE_COUNTER */
	uint64_t program;
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0: none */
	uint32_t registers; /* a thread */
	uint32_t shared_bytes; /* a block, static and dynamic */
	uint32_t local_bytes; /* a thread */
	uint32_t nbanks;
	struct nvs_qmd_bank banks[NVS_QMD_BANKS];
	struct nvs_qmd_release releases[NVS_QMD_RELEASES];
	struct nvs_qmd_dependent dependents[NVS_QMD_DEPENDENTS];
};

/* A grid that runs a program, as opposed to queues and auxiliary grids. */
static inline bool nvs_qmd_is_launch(const struct nvs_qmd *q)
{
	return q->type >= NVS_QMD_GRID_CTA && (q->program || q->program_is_offset) && q->grid[0] &&
	       q->grid[1] && q->grid[2];
}

/* "GRID_CTA", ... */
const char *nvs_qmd_type_name(uint32_t type);

/*
 * Version that the descriptor says it has, as compute class CLS keeps it. NULL: none that is known.
 */
const struct nvs_qmd_version *nvs_qmd_version_of(const uint32_t *words, size_t nwords,
						 uint32_t cls);
/* Bits [lo, hi], at most 64 of them; bits beyond the end read as 0. */
uint64_t nvs_qmd_bits(const uint32_t *words, size_t nwords, uint32_t hi, uint32_t lo);

/*
 * Where a version keeps things; looked up once a version and class, and kept for those met so far.
 */
struct nvs_qmd_layouts;
struct nvs_qmd_layouts *nvs_qmd_layouts_new(void); /* NULL: no memory */
void nvs_qmd_layouts_free(struct nvs_qmd_layouts *layouts);

/* False: no version of it is known, *qmd is zeroed. */
bool nvs_qmd_decode(struct nvs_qmd_layouts *layouts, const uint32_t *words, size_t nwords,
		    uint32_t cls, struct nvs_qmd *qmd);

enum nvs_qmd_look { NVS_QMD_NO, NVS_QMD_AUXILIARY, NVS_QMD_LAUNCH };

/*
 * Could these be a descriptor of class CLS? Yes where the version is one of that class and no bit
 * without a name is set: then one that runs a program, or an auxiliary one.
 */
enum nvs_qmd_look nvs_qmd_plausible(struct nvs_qmd_layouts *layouts, const uint32_t *words,
				    size_t nwords, uint32_t cls);

#endif
