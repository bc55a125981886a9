/* SPDX-License-Identifier: MIT */
/* State shared by the files of the trap. Everything mutable is in one mapping that is wiped in a
 * forked child: there the trap is in its initial, not started state. */
#ifndef NVSNOOP_TRAP_BUFFER_PROCESS_H
#define NVSNOOP_TRAP_BUFFER_PROCESS_H

#include "trap/arch/cpu.h"
#include "trap/low/guard.h"
#include "trap/buffer/abandoned.h"
#include "trap/trap.h"

#define NVS_STACK_SLOTS (1u << 16) /* in the table of known stacks */
#define NVS_TRAP_STACK (64u << 10) /* bytes of the trap's own stack in each buffer */

struct nvs_stack_slot {
	_Atomic uint64_t key; /* first half of the hash, never 0; 0: free */
	_Atomic uint64_t check; /* second half */
	_Atomic uint32_t id; /* stack number + 1; 0: not recorded in the trace yet */
	uint32_t reserved;
};

struct nvs_trap_state {
	_Atomic uint32_t started;
	struct nvs_trap_options options;
	_Atomic(struct nvs_view *) view;
	_Atomic(struct nvs_module_view *) modules;
	_Atomic uint64_t epoch; /* starts at 1 */
	_Atomic int64_t record_left; /* submissions still to be recorded */
	/* included in a stack's hash, since addresses change their meaning */
	_Atomic uint64_t unload_count;
	/* The fields above are in one cache line, which every doorbell reads. */
	_Atomic uint32_t bufferless; /* number of table readers without a buffer */
	/* of those readers, which have no buffer to count in */
	_Atomic uint64_t lost_submissions, lost_bytes;
	_Atomic uint32_t warming; /* number of module list readers outside the trap */
	_Atomic uint32_t nbuffers;
	_Atomic uint32_t noting; /* a thread is adding a store site: patch.c */
	_Atomic uint32_t next_thread;
	_Atomic uint32_t next_stack;
	/* the heartbeat, plus 1, at which waiting for a full buffer was given up */
	_Atomic uint64_t stalled_beat;
	_Atomic uint32_t freezing; /* shadow pages are temporarily read-only: shadow.c */
	_Atomic uint64_t thawed; /* when that last ended */
	uint8_t *twins, *slots_write, *slots_run;
	/* Bit N: buffer N may be free. The thread that clears it may try to claim that buffer. */
	_Atomic uint64_t unused[NVS_MAX_BUFFERS / 64];
	struct nvs_buffer buffers[NVS_MAX_BUFFERS];
	struct nvs_stack_slot stacks[NVS_STACK_SLOTS];
};

extern struct nvs_trap_state *nvs_process; /* NULL before nvs_trap_init */

/* Creates nvs_process and stores the options; no doorbell is armed yet. Returns 0 or -errno. */
int nvs_trap_state_init(const struct nvs_trap_options *options);

static inline bool nvs_trap_is_started(void)
{
	return nvs_process && atomic_load_explicit(&nvs_process->started, memory_order_acquire);
}

/* State of one thread; in static TLS, so that access never allocates. */
struct nvs_trap_tls {
	struct nvs_buffer *buffer;
	uint32_t thread; /* number + 1, 0: none yet */
	uint32_t tid;
	uint32_t borrowed; /* buffers it holds in addition to its own: in use, or left by a jump */
	bool named; /* its THREAD record has been written */
	bool refused; /* no buffer was found among those of all dead threads */
	uint32_t depth; /* traps in flight on this thread */
	uint32_t extra_modules;
	bool stackless; /* the unwinder is not called on this thread */
	uintptr_t unwinding; /* frame of nvs_unwind_guarded() while it runs; 0: it does not */
	/* the release slot read last, which the GPU writes, for prefetching; 0: none */
	uintptr_t progress;
	uint32_t rung; /* channel number of the last doorbell, plus 1; 0: none */
	bool stepping; /* a single-step is in flight */
	struct nvs_activity activity; /* of the innermost trap that depth counts */
	/* shadow of the doorbell in flight, or of one that was left */
	const struct nvs_shadow *carrying;
	bool interrupted; /* there was one when this doorbell came */
	uint64_t thawed; /* nvs_process->thawed when this thread last read it */
	/* The stack that was unwound last: its number, and its frames from the second on. */
	uint32_t unwound, nframes;
	uint64_t frames[NVS_LIVE_FRAMES];
};
extern __thread struct nvs_trap_tls nvs_tls;

/* buffer.c: asks the writer to drain the buffers. */
void nvs_writer_wake(void);

/* owner.c: a buffer for one piece of work on this thread, its own or a borrowed one. It counts as
 * in flight from enter to leave. */
struct nvs_buffer *nvs_buffer_enter(void);
/* The same for the work that ACTIVITY describes; ALTERNATE as in nvs_activity_abandoned(). */
struct nvs_buffer *nvs_buffer_enter_at(const struct nvs_activity *activity,
				       const stack_t *alternate);
/* True if BUFFER is busy, unless with work that the thread, now at stack pointer SP, has jumped out
 * of; such an incomplete record is dropped. */
bool nvs_buffer_in_use(struct nvs_buffer *buffer, uintptr_t sp, const stack_t *alternate);
void nvs_buffer_leave(struct nvs_buffer *buffer);
/* Makes BUFFER, which was entered, this thread's own if it has none. */
void nvs_buffer_make_own(struct nvs_buffer *buffer);

#define NVS_WARM_BYTES 2560u /* bytes of a launch and its call */

/*
 * Prefetches the cache lines that the next records will be written to. The writer read them last,
 * on another core: a store would wait for them, and the fence before the doorbell would wait for
 * the store.
 */
static inline void nvs_buffer_warm(struct nvs_buffer *buffer)
{
	uint64_t head = buffer->shared->head, at = buffer->warm > head ? buffer->warm : head;

	if (head + NVS_WARM_BYTES - at < NVS_WARM_BYTES / 8)
		return;
	for (; at < head + NVS_WARM_BYTES; at += 64)
		nvs_warm_write(&buffer->data[at & (buffer->bytes - 1)]);
	buffer->warm = at;
}

/* Prefetches the release slot, which the GPU has written since it was last read. An address that is
 * no longer mapped does no harm. */
static inline void nvs_progress_warm(void)
{
	/* Without an address, the processor would walk the page tables for nothing. */
	if (nvs_tls.progress)
		nvs_warm_read((const void *)nvs_tls.progress);
}

/* capture.c: records everything that a doorbell commits, in BUFFER. */
struct nvs_doorbell_event {
	const struct nvs_doorbell *doorbell;
	uint32_t token;
	uint32_t stack;
	uint64_t time;
};
void nvs_capture_doorbell(struct nvs_buffer *buffer, const struct nvs_view *view,
			  const struct nvs_doorbell_event *event);
/* The same without a buffer: the channel's entries are claimed and counted as lost. */
void nvs_capture_lost(const struct nvs_view *view, const struct nvs_doorbell_event *event);

/* callsite.c: returns the number of the stack that leads to the interrupted registers, NVS_NONE if
 * none is taken. */
uint32_t nvs_callsite_take(struct nvs_buffer *buffer, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			   uintptr_t lr, uint64_t time);

/*
 * Returns the number of the stack as it was when a call began. The call has returned from ENTRY,
 * SP, FP and LR were its registers at the beginning, and all its outer frames must still exist.
 * Call it outside the trap, with BUFFER entered, with depth and activity set as in a trap, and
 * where neither a signal handler nor a cancellation can end it in the middle.
 */
uint32_t nvs_callsite_take_call(struct nvs_buffer *buffer, uintptr_t entry, uintptr_t sp,
				uintptr_t fp, uintptr_t lr, uint64_t time);

/* Number of the stack with the addresses PCS[0..N-1]; a new one is recorded in BUFFER. */
uint32_t nvs_callsite_number(struct nvs_buffer *buffer, void **pcs, uint32_t n, uint64_t time);

static inline enum nvs_level nvs_level(void)
{
	return __atomic_load_n(&nvs_process->options.level, __ATOMIC_RELAXED);
}

/* Without a trace only the live page's counters of calls matter. */
static inline bool nvs_records_calls(void)
{
	return !__atomic_load_n(&nvs_process->options.skip_calls, __ATOMIC_RELAXED);
}

static inline bool nvs_takes_stacks(void)
{
	return __atomic_load_n(&nvs_process->options.backtrace, __ATOMIC_RELAXED);
}

/* False while recording is off. */
static inline bool nvs_is_recording(void)
{
	return atomic_load_explicit(&nvs_process->record_left, memory_order_relaxed) != 0;
}

/* Counts nothing after the writer's end: the totals are about the trace, which ends there. */
static inline void nvs_count(struct nvs_buffer *buffer, enum nvs_counter counter, uint64_t n)
{
	uint64_t *c = &buffer->counters[counter];

	if (!buffer->late)
		__atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/* Called by the slot's owner only. */
static inline void nvs_live_add(uint64_t *counter, uint64_t n)
{
	nvs_add_local(counter, n);
}

static inline uint32_t nvs_live_generation(const struct nvs_live_slot *slot)
{
	return __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE);
}

/* Marks SLOT as free. Called by its next owner, or by a thread that has seen that the last owner
 * ended and had read GENERATION before: the slot may have a new owner by now. */
static inline void nvs_live_free_slot(struct nvs_live_slot *slot, uint32_t generation)
{
	if (generation & 1)
		__atomic_compare_exchange_n(&slot->generation, &generation, generation + 1, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

#endif
