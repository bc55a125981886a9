/* SPDX-License-Identifier: MIT */
/*
 * A channel that is ours to submit to: entries into its GPFIFO, GP_PUT into USERD, the token into
 * the doorbell. No other code may submit to it meanwhile, since it would have its own copy of
 * GP_PUT.
 */
#ifndef NVSNOOP_SUBMIT_RING_H
#define NVSNOOP_SUBMIT_RING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An entry holds address bits 39:0. Since HOPPER_CHANNEL_GPFIFO_A a control entry sets the upper
 * bits for all segments after it; it is reset to 0, which is the state in which the driver leaves
 * it.
 */
#define NVS_SEGMENT_DWORDS_MAX ((1u << 21) - 1)
#define NVS_EXTENDED_BASE_CLASS 0xc86f /* HOPPER_CHANNEL_GPFIFO_A, the first class that has it */
#define NVS_NO_GET_CLASS 0xc96f /* BLACKWELL_CHANNEL_GPFIFO_A, the first class without GP_GET */

struct nvs_ring {
	volatile uint64_t *gpfifo;
	volatile uint32_t *userd; /* GP_GET at 0x88 (not on Blackwell), GP_PUT at 0x8c */
	volatile uint32_t *doorbell; /* the register itself */
	uint32_t entries; /* a power of two */
	uint32_t token;
	uint32_t object_class;
	uint32_t put; /* our own copy; nvs_ring_open() initialises it */
	uint32_t done; /* put of the last nvs_ring_mark_idle() */
};

struct nvs_ring_segment { /* words that the GPU can fetch */
	uint64_t address; /* GPU virtual, a multiple of 4 */
	uint32_t dwords;
	uint64_t bits; /* of its entry: NVS_PIECE_* */
};
#define NVS_PIECE_CONDITIONAL 1ull /* FETCH */
#define NVS_PIECE_SUBROUTINE (1ull << 41) /* LEVEL */
#define NVS_PIECE_SYNC (1ull << 63) /* SYNC: fetched when everything before it is done */

/* Initialises put. The ring must be idle. */
void nvs_ring_open(struct nvs_ring *ring);
/* Says that the GPU has executed everything submitted. Without GP_GET only this makes space. */
void nvs_ring_mark_idle(struct nvs_ring *ring);
/*
 * Submits N pieces with one GP_PUT and one doorbell. Their contents must have been written before.
 * Returns 0, -ERANGE if an address is out of reach, -E2BIG if a piece or the sum of them is too
 * long for the ring, -EBUSY if the GPU has not taken earlier entries within a second. On errors
 * nothing is submitted.
 */
int nvs_ring_submit(struct nvs_ring *ring, const struct nvs_ring_segment *pieces, uint32_t n);

#endif
