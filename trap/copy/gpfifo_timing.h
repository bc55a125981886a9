/* SPDX-License-Identifier: MIT */
/*
 * GPU timestamps around a channel's submissions: our own entries are put around the program's in
 * the real GPFIFO, which a shadow lets us write. Each names a segment of ours that releases a
 * semaphore with the GPU's time into our memory.
 */
#ifndef NVSNOOP_TRAP_COPY_GPFIFO_TIMING_H
#define NVSNOOP_TRAP_COPY_GPFIFO_TIMING_H

#include "trap/copy/shadow.h"
#include "trap/copy/stream_state.h"

/*
 * Invariants:
 *
 *   - No program waits for anything it would not wait for without timing. A kernel may run until a
 *     later launch or the host lets it end; a release that waits for the engine to be idle would
 *     meanwhile block all channels of the context, so it is not used where kernels run. A kernel's
 *     end comes from its own descriptor: a release that drivers leave unused (the second of three)
 *     is set to our address before the GPU sees the descriptor. Work of the compute engine itself
 *     is ended by a release of that engine. The work of copy engines always ends: there both
 *     releases wait.
 *   - A launch whose descriptor is not in its own segments (a graph's), or has an unknown version,
 *     has only a begin.
 *   - The program's entries reach the real GPFIFO unchanged and in order. Our entries are never
 *     within a submission, nor where the stream is in the middle of a method's data.
 *   - An index of the program is another one in the real GPFIFO. of_real[] holds, for each real
 *     index, the index up to which the program's entries are before it; GP_GET is translated with
 *     it for the program.
 *   - The program may fill its GPFIFO to the last entry, and our entries take space in addition.
 *     The trap does not wait for the GPU, which may be waiting for the interrupted thread: entries
 *     without space stay behind and are forwarded by a later doorbell or by nvs_gpfifo_advance().
 *     GP_GET is read only if its last known value leaves no space.
 *   - A slot is reused only after its times were written to the trace.
 *   - What two releases take by themselves is measured now and then, by two more right before a
 *     submission's own: often at first, so that a short program has the figure, later for one
 *     submission of a thousand, which follows changes of the GPU's clocks at a negligible cost.
 *   - A thread that writes to the real GPFIFO holds the lock. A thread that finds the lock held by
 *     work it has interrupted, or by a series of other threads, leaves a request in `ready` and
 *     continues. A holder that jumped out of its turn, or died in it, is considered gone when its
 *     thread comes back or has ended, or when the same turn has lasted as long as a plain shadow
 *     waits. Its work is repaired: entries count once the real GP_PUT includes them.
 *   - Of a sampled channel few submissions are timed. One that is drawn needs the end of the one
 *     before it, since nothing waits for that: so it is drawn while that one is forwarded, and both
 *     are timed.
 */
#define NVS_TIMING_SLOTS 512u /* in each channel */
#define NVS_TIMING_DWORDS 6u /* in a segment of ours */
#define NVS_TIMING_FIRST 16u /* the first submissions of a channel, each with an empty bracket */
#define NVS_TIMING_EVERY 1024u /* later, one submission of so many has one */
#define NVS_TIMING_EVERY_DRAWN 16u /* and of so many timed ones, where few are */

/* Values of nvs_gpfifo_timing.launches other than a descriptor. */
#define NVS_TIMING_NOT_KNOWN 0u
#define NVS_TIMING_ENGINE_ONLY 1u /* no grid, and the compute engine does its work in order */

/* Memory that the GPU fetches, and to which it writes. */
struct nvs_timing_slot {
	uint32_t words[2][NVS_TIMING_DWORDS]; /* segments of begin and end, if it has an entry */
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
	/* indices are the same on both sides; the ring holds none of our entries */
	NVS_TIMING_PLAIN,
	NVS_TIMING_ON,
	NVS_TIMING_STOPPED, /* no more entries of ours are added, but indices still differ */
};

/*
 * Takes the times of a channel as they are read, also of submissions that have no record. KEY: of
 * the open call that launched (trap/buffer/calls.h); 0: none, or the submission has more than one
 * grid. DRAWN: it was drawn, and waited for nothing but the channel's earlier work. Called under
 * preload's lock.
 */
struct nvs_timing_sink {
	void (*take)(struct nvs_timing_sink *sink, const struct nvs_rec_gpu_time *time,
		     uint64_t key, bool drawn);
	void (*free)(struct nvs_timing_sink *sink); /* with the channel's timing */
};

struct nvs_gpfifo_timing {
	struct nvs_timing_sink *sink; /* NULL: times are only recorded */
	_Atomic uint32_t lock; /* tid of the thread at the real GPFIFO, 0: none */
	_Atomic uint32_t mode; /* enum nvs_timing_mode; changed under the lock */
	_Atomic uint64_t ready; /* claim up to which the lock's holder may forward everything */
	_Atomic uint32_t unseen; /* doorbells are not seen: the program's GP_PUT is polled */
	_Atomic uint32_t turn; /* incremented by each holder of the lock */
	_Atomic uint32_t seen_turn; /* turn that preload found there last, and since when */
	_Atomic uint64_t seen;
	uint32_t kind; /* enum nvs_timing_kind: DISPATCH or WORK */
	bool finite; /* the work of its engine always ends */
	uint32_t channel, entries;
	const volatile uint64_t *program; /* the program's GPFIFO */
	/* Protected by the lock: */
	struct nvs_timing_slot *slots; /* NULL: none yet */
	uint64_t address; /* GPU address of the slots */
	uint32_t put, get; /* indices in the real GPFIFO; get: as last read */
	uint32_t from; /* index up to which the program's entries are in the real GPFIFO */
	uint32_t next, payload;
	uint64_t base; /* extended base at put */
	struct nvs_stream_state walk; /* the program's stream, at its last forwarded entry */
	struct nvs_stream_shape shapes[NVS_STREAM_SHAPES]; /* of its segments */
	uint64_t timed, untimed[NVS_UNTIMED_REASONS]; /* element 0: not recorded either */
	uint64_t empties, emptied; /* empty brackets; value of `timed` at the last one */
	struct nvs_timing_sample {
		bool on;
		uint32_t every; /* 0: by the time between submissions */
		uint32_t pace; /* ticks between two that are drawn, if every is 0 */
		uint32_t gap; /* mean of the last gaps, in ticks, each at most pace */
		uint32_t drawn; /* what the next submission stands for; 0: it is not drawn */
		uint64_t last; /* time of the last submission */
		uint64_t random; /* state of the generator; not 0 */
	} sample;
	struct nvs_timing_use {
		_Atomic uint32_t state;
		uint32_t payload, kind, stamps;
		uint64_t sequence, every, key;
		bool skipped; /* the submission has no record */
	} uses[NVS_TIMING_SLOTS];
	/* Arrays of ENTRIES elements, after this structure. */
	uint32_t *of_real;
	/* at the index of a submission's last entry: sequence + 1, whether it may be timed, and
	 * what it stands for if it was drawn; else 0 */
	uint64_t *ends;
	/*
	 * At the same index, what the submission launches: its only grid's descriptor in a segment,
	 * or NVS_TIMING_*. A submission that stays behind keeps it: until the GPU sees them, the
	 * segments are as the program left them.
	 */
	uint64_t *launches;
	uint64_t *keys; /* at the same index, for the sink */
};

static inline size_t nvs_gpfifo_timing_size(uint32_t entries)
{
	return sizeof(struct nvs_gpfifo_timing) +
	       entries * (3 * sizeof(uint64_t) + sizeof(uint32_t));
}

/* Initialises zeroed memory of nvs_gpfifo_timing_size() bytes. FINITE: the channel is of a copy
 * engine. */
void nvs_gpfifo_timing_init(struct nvs_gpfifo_timing *t, uint32_t kind, bool finite,
			    uint32_t channel, uint32_t entries, const volatile uint64_t *program,
			    uint64_t claim);
/* Times one of EVERY submissions, drawn at random; 0: so many that two drawn ones are PACE ticks
 * apart on average. SEED: with the channel's number, what is drawn follows from it. */
void nvs_gpfifo_timing_sample(struct nvs_gpfifo_timing *t, uint32_t every, uint32_t pace,
			      uint64_t seed);

struct nvs_batch;
/* Forwards the batch's entries, as nvs_shadow_forward() does. */
void nvs_gpfifo_forward(struct nvs_batch *b);

/* ---- for preload, one caller at a time ---- */

/* The doorbell register, and the token to store there. */
struct nvs_timing_bell {
	volatile uint32_t *doorbell; /* NULL: unknown */
	uint32_t token;
};

/* Makes SLOTS, which the GPU sees at ADDRESS, the channel's slots. Returns false if it is not
 * possible now. */
bool nvs_gpfifo_timing_enable(struct nvs_shadow *sh, struct nvs_timing_slot *slots,
			      uint64_t address);
/* Forwards the entries that stayed behind, as far as there is space. Returns true if some are left.
 *  */
bool nvs_gpfifo_advance(struct nvs_shadow *sh, const struct nvs_timing_bell *bell);
/*
 * Doorbells will no longer be seen. Returns true if indices are the same and the shadow may be
 * removed. Returns false if from now on only nvs_gpfifo_advance() forwards the program's entries.
 */
bool nvs_gpfifo_untrack(struct nvs_shadow *sh, const struct nvs_timing_bell *bell);
/* True if the slot's times have not been read yet. */
static inline bool nvs_timing_is_unread(const struct nvs_timing_use *use)
{
	return atomic_load((_Atomic uint32_t *)&use->state) != 0;
}
/* Writes the times that are there to the trace. Returns how many are outstanding. */
uint32_t nvs_gpu_times_collect(struct nvs_gpfifo_timing *t);
/* Reads GP_GET as the program is to see it. Returns false if it is not possible now. */
bool nvs_gpfifo_translate_get(struct nvs_shadow *sh, uint32_t *get);
/* GP_PUT as the GPU has it, as the program's index. */
uint32_t nvs_gpfifo_translate_put(struct nvs_shadow *sh);
/* True if everything was forwarded and the GPU has taken it. */
bool nvs_gpfifo_is_drained(struct nvs_shadow *sh);
/*
 * A step towards equal indices on both sides: no more entries of ours are added, entries that
 * stayed behind are forwarded, and when the GPU has taken all, the ring is filled with NOPs up to
 * the program's index. Returns true when done: the slots are no longer used. Returns false to be
 * called again.
 */
bool nvs_gpfifo_realign(struct nvs_shadow *sh, const struct nvs_timing_bell *bell);
/* The channel has been freed: nothing reaches its GPFIFO. */
void nvs_gpfifo_drop(struct nvs_shadow *sh);
/* Locks the real GPFIFO, for the shadow's removal, if indices are the same on both sides. Returns
 * false if they are not. */
bool nvs_gpfifo_lock(struct nvs_shadow *sh);
void nvs_gpfifo_unlock(struct nvs_shadow *sh);

/* Futex: 1 if entries stayed behind. */
extern _Atomic uint32_t nvs_gpfifo_pending;

#endif
