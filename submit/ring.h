/* SPDX-License-Identifier: MIT */
/*
 * A channel that is ours to submit to: entries into its GPFIFO, GP_PUT into USERD, the token to the
 * doorbell. Nobody else may submit to it meanwhile: whoever does keeps a GP_PUT of his own.
 *
 * An entry holds address bits 39:0. From HOPPER_CHANNEL_GPFIFO_A on a control entry sets the bits
 * above for all segments behind it; it is put back to 0, which the driver leaves it at.
 */
#ifndef NVSNOOP_SUBMIT_RING_H
#define NVSNOOP_SUBMIT_RING_H

#include <stdbool.h>
#include <stdint.h>

#define NVS_SEGMENT_DWORDS_MAX ((1u << 21) - 1)
#define NVS_EXTENDED_BASE_CLASS 0xc86f /* HOPPER_CHANNEL_GPFIFO_A, the first that has it */

struct nvs_ring {
	volatile uint64_t *gpfifo;
	volatile uint32_t *userd; /* GP_GET at 0x88, GP_PUT at 0x8c */
	volatile uint32_t *doorbell; /* the register itself */
	uint32_t entries; /* a power of two */
	uint32_t token;
	uint32_t object_class;
	uint32_t put; /* ours; nvs_ring_open() reads it */
};

struct nvs_piece { /* words that the GPU can fetch */
	uint64_t address; /* GPU virtual, a multiple of 4 */
	uint32_t dwords;
	uint64_t bits; /* of its entry: NVS_PIECE_* */
};
#define NVS_PIECE_CONDITIONAL 1ull /* FETCH */
#define NVS_PIECE_SUBROUTINE (1ull << 41) /* LEVEL */
#define NVS_PIECE_SYNC (1ull << 63) /* SYNC: fetched when what is before it is done */

/* The class of the channel lets it reach ADDRESS. */
bool nvs_ring_reaches(const struct nvs_ring *ring, uint64_t address);
/* The ring must be idle. */
void nvs_ring_open(struct nvs_ring *ring);
/*
 * N pieces under one GP_PUT and one doorbell. What they hold must have been written. 0, or -ERANGE:
 * an address out of reach; -E2BIG: a piece, or all of them, too long for the ring; -EBUSY: the GPU
 * has not taken earlier entries within a second, and nothing was submitted.
 */
int nvs_ring_submit(struct nvs_ring *ring, const struct nvs_piece *pieces, uint32_t n);

#endif
