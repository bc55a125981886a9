/* SPDX-License-Identifier: MIT */
/*
 * Shadows: the program sees a channel's GPFIFO and USERD in ordinary memory, and what it wrote
 * there is carried to the real ones at each doorbell. So no doorbell pays for an uncached read.
 *
 * What lives in those pages, and why nobody misses it:
 *  - GPFIFO entries: written by the program, read by the GPU. They reach the real GPFIFO before
 * GP_PUT does.
 *  - GP_PUT: written by the program, read by the GPU when the doorbell rings, so it is in time
 * here.
 *  - GP_GET and the reference count: written by the GPU, read by whoever likes.
 * nvs_shadow_refresh() brings them over ten times a second; the driver itself keeps account by
 * semaphores and never looks.
 *  - The rest of USERD's page: nothing that is known. nvs_shadow_refresh() watches it, here and in
 * the real page, and a channel where something appears there gets its real pages back. So does one
 * whose pages get another channel's GPFIFO or USERD, before the RM or the program writes there, or
 * whose mapping is cut, moved, protected or made a second time, and one whose GPU has no doorbell
 * page any more that the trap sees, or has one that it does not see: nothing would carry it.
 *
 * On the way back the program's stores to the pages fault for as long as they are copied, and are
 * tried again.
 */
#ifndef NVSNOOP_TRAP_COPY_SHADOW_H
#define NVSNOOP_TRAP_COPY_SHADOW_H

#include "trap/trap.h"

struct nvs_shadow_piece {
	uintptr_t program; /* where the program sees it: ordinary memory now */
	uintptr_t stash; /* the program's own pages, moved aside to be put back */
	size_t bytes; /* 0: no such piece */
	bool home; /* after nvs_shadow_undo(): the program has its own pages again, */
	bool reserved; /* and the stash's place is still ours */
};

/* Lives longer than the view. */
struct nvs_shadow {
	volatile uint64_t *gpfifo; /* the real ones, through a mapping of ours; write-combined */
	volatile uint32_t *userd;
	_Atomic uint64_t
		carried; /* claim up to which all is in the real GPFIFO, and NVS_SHADOW_BUSY */
	struct nvs_shadow_piece pieces[2]; /* GPFIFO, USERD */
	struct nvs_timing *timing; /* trap/copy/gpfifo_timing.h; NULL: none, all the time */
	struct nvs_shadow *next; /* of those that are to be freed */
};

#define NVS_USERD_REFERENCE (0x48 / 4)
#define NVS_USERD_GP_GET (0x88 / 4)
#define NVS_USERD_GP_PUT (0x8c / 4)
#define NVS_USERD_BYTES 512

#define NVS_SHADOW_BUSY (1ull << 63) /* somebody is at the real GPFIFO and PUT */
#define NVS_SHADOW_GONE (~NVS_SHADOW_BUSY) /* later than any claim: nothing is carried any more */

/*
 * What a doorbell has claimed as a batch, [old_put, new_put), goes into the real GPFIFO and
 * then new_put, each behind a fence: the GPU may fetch as soon as it sees PUT. Whoever claimed
 * earlier carries first; under the driver's lock per channel nobody waits. Who was jumped out of
 * after its claim never comes: after a while what it has left is carried as well, and is not
 * carried again should it come after all.
 */
struct nvs_batch;
void nvs_shadow_carry(struct nvs_batch *b);
/*
 * Around a doorbell on CH, from before its claim. Who is there already on this thread has been
 * interrupted by us or was left, and is not waited for.
 */
void nvs_shadow_enter(const struct nvs_channel *ch);
void nvs_shadow_leave(void);

/*
 * Puts the program's own pages back, with everything in them that the program has written by then,
 * rung for or not; its channel may be in use. Doorbells that know the shadow still carry nothing
 * from then on. 0, or -errno: then all is as it was, and may be tried again. With timing, after
 * nvs_timing_settle() alone. UNRUNG: even if something was put and is not rung for yet, which a GPU
 * at work may take before it is copied; else that is -EAGAIN.
 */
int nvs_shadow_undo(struct nvs_shadow *shadow, bool unrung);
/*
 * For a fault that says "no access": true if it may be of a store to pages on their way back, which
 * is to be tried once more.
 */
bool nvs_shadow_moving(void);

#endif
