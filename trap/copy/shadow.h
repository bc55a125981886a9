/* SPDX-License-Identifier: MIT */
/* Shadows: the program sees a channel's GPFIFO and USERD in ordinary memory, and its writes are
 * forwarded to the real ones at each doorbell. So no doorbell pays for an uncached read. */
#ifndef NVSNOOP_TRAP_COPY_SHADOW_H
#define NVSNOOP_TRAP_COPY_SHADOW_H

#include "trap/trap.h"

/*
 * The contents of the shadowed pages:
 *
 *   - GPFIFO entries: written by the program, read by the GPU. They reach the real GPFIFO before
 *     GP_PUT does.
 *   - GP_PUT: written by the program, read by the GPU when the doorbell rings, so forwarding it at
 *     the doorbell is in time.
 *   - GP_GET and the reference count: written by the GPU, read by any thread. nvs_shadow_refresh()
 *     copies them to the shadow ten times a second; the driver tracks progress by semaphores and
 *     does not read them.
 *   - The rest of USERD's page: no known use. nvs_shadow_refresh() watches it in the shadow and in
 *     the real page, and a channel for which something appears there gets its real pages back.
 *
 * A channel also gets its real pages back:
 *
 *   - if its pages become another channel's GPFIFO or USERD, before the RM or the program writes
 *     there;
 *   - if its mapping is cut, moved, protected or mapped a second time;
 *   - if its GPU no longer has a doorbell page that the trap sees, or has one that the trap does
 *     not see: nothing would forward its entries.
 *
 * While the pages are copied back, the program's stores to them fault and are retried.
 */
struct nvs_shadow_piece {
	uintptr_t program; /* address in the program: ordinary memory now */
	uintptr_t stash; /* the program's own pages, moved aside to be restored */
	size_t bytes; /* 0: no such piece */
	bool home; /* after nvs_shadow_remove(): the program has its own pages again, */
	bool reserved; /* and the stash's address range is still reserved by us */
};

/* Outlives the view. */
struct nvs_shadow {
	volatile uint64_t *gpfifo; /* the real ones, through our own mapping; write-combined */
	volatile uint32_t *userd;
	/* claim up to which everything is in the real GPFIFO, and NVS_SHADOW_BUSY */
	_Atomic uint64_t carried;
	struct nvs_shadow_piece pieces[2]; /* GPFIFO, USERD */
	struct nvs_gpfifo_timing *timing; /* trap/copy/gpfifo_timing.h; NULL: never timed */
	struct nvs_shadow *next; /* in the list of shadows to be freed */
};

#define NVS_USERD_REFERENCE (0x48 / 4)
#define NVS_USERD_GP_GET (0x88 / 4)
#define NVS_USERD_GP_PUT (0x8c / 4)
#define NVS_USERD_BYTES 512

#define NVS_SHADOW_BUSY (1ull << 63) /* a thread is writing to the real GPFIFO and PUT */
#define NVS_SHADOW_GONE                                                           \
	(~NVS_SHADOW_BUSY) /* later than any claim: nothing is forwarded any more \
			    */

/*
 * Writes the entries that a doorbell has claimed as a batch, [old_put, new_put), to the real
 * GPFIFO, then new_put, each followed by a fence: the GPU may fetch as soon as it sees PUT. Earlier
 * claims are forwarded first; under the driver's lock for each channel no thread waits. A thread
 * that jumped out after its claim never forwards it: after a while its entries are forwarded too,
 * and not again if the thread comes after all.
 */
struct nvs_batch;
void nvs_shadow_forward(struct nvs_batch *b);
/* Called around a doorbell on CH, from before its claim. A doorbell already in progress on this
 * thread was interrupted by this one or was left by a jump, and is not waited for. */
void nvs_shadow_enter(const struct nvs_channel *ch);
void nvs_shadow_leave(void);

/*
 * Restores the program's own pages, with everything that the program has written to the shadow by
 * then, whether a doorbell was rung for it or not; the channel may be in use. Doorbells that still
 * know the shadow forward nothing from then on. Returns 0, or -errno if nothing was changed and it
 * may be retried. With timing, call it only after nvs_gpfifo_realign(). UNRUNG: restore even if
 * entries were put for which no doorbell was rung yet, and which a busy GPU may take before they
 * are copied; otherwise -EAGAIN is returned in that case.
 */
int nvs_shadow_remove(struct nvs_shadow *shadow, bool unrung);
/* For a fault with "no access": returns true if it may be of a store to pages that are being
 * restored; the store is to be retried. */
bool nvs_shadow_should_retry(void);

#endif
