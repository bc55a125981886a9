/* SPDX-License-Identifier: MIT */
/*
 * The GPU's own time of a channel's submissions: entries of ours stand around the program's in the
 * real GPFIFO, which a shadow makes ours. Each names a segment of ours, which releases a semaphore
 * with the GPU's time into memory of ours.
 *
 * What holds:
 *  - No program waits for what it would not wait for without us. A kernel may run until a later
 *    launch or the host lets it go; a release that waits until the engine is idle holds up all
 *    channels of a context meanwhile, so there is none where kernels run. A kernel's end comes from
 *    its own descriptor, in which a release that drivers leave free (the second of three) gets our
 *    address before the GPU is told of it. What the compute engine does by itself, it releases
 *    itself. Copy engines always come to an end: there both releases wait.
 *  - A launch whose descriptor is not in its own segments (a graph's), or of a version that is not
 *    known, has a begin alone.
 *  - The program's entries reach the real GPFIFO unchanged and in order, and nothing of ours stands
 *    within a submission, nor where the stream is in the middle of a method's data.
 *  - An index of the program means another one in the real GPFIFO. of_real[] tells for each real
 *    one how far the program's entries ahead of it reach; by it GP_GET is shown to the program.
 *  - The program may fill its GPFIFO to the last entry, and ours take room beside it. The trap does
 *    not wait for the GPU, which may be waiting for the thread that is here: what finds no room
 *    stays behind, and is brought over by a later doorbell or by nvs_timing_turn(). GP_GET is read
 *    only where what it was known to be leaves no room.
 *  - A slot is used again only after its times were read into the trace.
 *  - What two releases take by themselves is measured now and then, by two more right ahead of a
 *    submission's own: often at first, so that a short program has it, and later by one submission
 *    of a thousand, which follows the GPU's clocks and costs nothing that could be seen.
 *  - Whoever is at the real GPFIFO holds the lock. Who finds it held by what it has interrupted, or
 *    by one after the other, leaves word in `ready`, and goes on. A holder that was jumped out of
 *    its turn, or died in it, is taken for gone when its thread comes by again or is no more, or
 *    when the same turn has lasted as long as a plain shadow waits. What it has done is made good:
 *    entries count from the moment that the real GP_PUT says so.
 */
#ifndef NVSNOOP_TRAP_COPY_GPFIFO_TIMING_H
#define NVSNOOP_TRAP_COPY_GPFIFO_TIMING_H

#include "trap/copy/shadow.h"
#include "trap/copy/stream_state.h"

#define NVS_TIMING_SLOTS 512u /* of a channel */
#define NVS_TIMING_DWORDS 6u /* of a segment of ours */
#define NVS_TIMING_FIRST 16u /* submissions of a channel that have an empty bracket each */
#define NVS_TIMING_EVERY 1024u /* and later one of so many */

/* nvs_timing.launches without a descriptor */
#define NVS_TIMING_NOT_KNOWN 0u
#define NVS_TIMING_ENGINE_ONLY \
	1u /* no grid, and the compute engine has done what it does in order */

/* What the GPU fetches, and where it writes. */
struct nvs_timing_slot {
	uint32_t words[2][NVS_TIMING_DWORDS]; /* begin, end, where it has an entry */
	uint32_t reserved[4];
	struct nvs_timing_stamp {
		uint32_t payload, zero;
		uint64_t ns;
	} stamp[2];
	uint64_t rest[4];
};
_Static_assert(sizeof(struct nvs_timing_slot) == 128, "whole lines");
#define NVS_TIMING_BYTES (NVS_TIMING_SLOTS * sizeof(struct nvs_timing_slot)) /* of a channel */

enum nvs_timing_mode {
	NVS_TIMING_PLAIN, /* indices are the same on both sides; nothing of ours is in the ring */
	NVS_TIMING_ON,
	NVS_TIMING_STOPPED, /* nothing of ours is added any more, and indices differ still */
};

struct nvs_timing {
	_Atomic uint32_t lock; /* number of the thread at the real GPFIFO, 0: none */
	_Atomic uint32_t mode; /* enum nvs_timing_mode; changed under the lock */
	_Atomic uint64_t ready; /* claim up to which all may be carried by whoever is there */
	_Atomic uint32_t unseen; /* doorbells are not seen: the program's GP_PUT is looked at */
	_Atomic uint32_t turn; /* goes on with each holder of the lock */
	_Atomic uint32_t seen_turn; /* of one that preload found there, since when */
	_Atomic uint64_t seen;
	uint32_t kind; /* enum nvs_timing_kind: DISPATCH or WORK */
	bool finite; /* what its engine does always comes to an end */
	uint32_t channel, entries;
	const volatile uint64_t *program; /* its GPFIFO */
	/* Under the lock. */
	struct nvs_timing_slot *slots; /* NULL: none yet */
	uint64_t address; /* of the slots, for the GPU */
	uint32_t put, get; /* real ones; get: as it was read last */
	uint32_t from; /* index up to which the program's entries are in the real GPFIFO */
	uint32_t next, payload;
	uint64_t base; /* extended base at put */
	struct nvs_walk walk; /* the program's stream at its last entry handed over */
	uint64_t timed, untimed[NVS_UNTIMED_REASONS]; /* 0: not recorded either */
	uint64_t empties, emptied; /* brackets around nothing; of TIMED at the last one */
	struct nvs_timing_use {
		_Atomic uint32_t state;
		uint32_t payload, kind, stamps;
		uint64_t sequence;
	} uses[NVS_TIMING_SLOTS];
	/* Of ENTRIES each, behind this. */
	uint32_t *of_real;
	uint64_t *ends; /* by the index of a submission's last entry: sequence + 1, 0 none ends
			   there; and whether it may be timed */
	/*
	 * By the same index, what it launches: its only grid's descriptor in a segment, or
	 * NVS_TIMING_*. A submission that stays behind keeps it: until the GPU has been told, the
	 * segments are as the program left them.
	 */
	uint64_t *launches;
};

static inline size_t nvs_timing_size(uint32_t entries)
{
	return sizeof(struct nvs_timing) + entries * (2 * sizeof(uint64_t) + sizeof(uint32_t));
}

/* In memory of nvs_timing_size() that is zero. FINITE: the channel is a copy engine's. */
void nvs_timing_init(struct nvs_timing *t, uint32_t kind, bool finite, uint32_t channel,
		     uint32_t entries, const volatile uint64_t *program, uint64_t claim);

struct nvs_batch;
/* The batch's entries, as nvs_shadow_carry(). */
void nvs_timing_carry(struct nvs_batch *b);

/* ---- for preload, one caller at a time ---- */

/* The register that the GPU is told by, and with what. */
struct nvs_timing_bell {
	volatile uint32_t *doorbell; /* NULL: none is known */
	uint32_t token;
};

/* SLOTS, which the GPU sees at ADDRESS, are the channel's from here on. False: not now. */
bool nvs_timing_arm(struct nvs_shadow *sh, struct nvs_timing_slot *slots, uint64_t address);
/* Brings over what stayed behind, as far as there is room. True: something is left. */
bool nvs_timing_turn(struct nvs_shadow *sh, const struct nvs_timing_bell *bell);
/*
 * Doorbells will not be seen any more. False: what the program puts is brought over by
 * nvs_timing_turn() alone from here on; true: indices are the same, the shadow may end.
 */
bool nvs_timing_blind(struct nvs_shadow *sh, const struct nvs_timing_bell *bell);
/* Its times have not been read yet. */
static inline bool nvs_timing_waits(const struct nvs_timing_use *use)
{
	return atomic_load((_Atomic uint32_t *)&use->state) != 0;
}
/* Reads times that are there into the trace; how many are still to come. */
uint32_t nvs_timing_harvest(struct nvs_timing *t);
/* GP_GET as the program is to see it. False: not now. */
bool nvs_timing_get(struct nvs_shadow *sh, uint32_t *get);
/* GP_PUT as the GPU has it, in the program's count. */
uint32_t nvs_timing_put(struct nvs_shadow *sh);
/* True if all is with the GPU, and it has taken it. */
bool nvs_timing_caught_up(struct nvs_shadow *sh);
/*
 * A step towards indices that are the same on both sides: nothing of ours is added any more, what
 * stayed behind goes over, and when the GPU has taken all, the rest up to the program's index is
 * filled with NOPs. True: done, the slots are not used any more; false: to be tried again.
 */
bool nvs_timing_settle(struct nvs_shadow *sh, const struct nvs_timing_bell *bell);
/* The channel is no more: nothing reaches its GPFIFO. */
void nvs_timing_forget(struct nvs_shadow *sh);
/* For the shadow's end: nobody is at the real GPFIFO, where indices are the same. False: not so. */
bool nvs_timing_hold(struct nvs_shadow *sh);
void nvs_timing_release(struct nvs_shadow *sh);

/* Futex: 1, something stayed behind. */
extern _Atomic uint32_t nvs_timing_behind;

#endif
