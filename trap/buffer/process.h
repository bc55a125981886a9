/* SPDX-License-Identifier: MIT */
/*
 * What the files of the trap share among themselves. All that changes lies in one mapping that a
 * forked child finds wiped: there the trap is as if it had never been started.
 */
#ifndef NVSNOOP_TRAP_BUFFER_PROCESS_H
#define NVSNOOP_TRAP_BUFFER_PROCESS_H

#include "trap/low/guard.h"
#include "trap/buffer/abandoned.h"
#include "trap/trap.h"

#define NVS_STACK_SLOTS (1u << 16) /* of the table of known stacks */
#define NVS_TRAP_STACK (64u << 10) /* bytes of the trap's own stack in each buffer */

struct nvs_stack_slot {
	_Atomic uint64_t key; /* first half of the hash, never 0; 0: free */
	_Atomic uint64_t check; /* second half */
	_Atomic uint32_t id; /* number + 1; 0: not told in the trace yet */
	uint32_t reserved;
};

struct nvs_process {
	_Atomic uint32_t started;
	struct nvs_trap_options options;
	_Atomic(struct nvs_view *) view;
	_Atomic(struct nvs_module_view *) modules;
	_Atomic uint64_t epoch; /* from 1 */
	_Atomic int64_t record_left; /* submissions still to be recorded */
	_Atomic uint64_t unload_count; /* part of a stack's hash: addresses change meaning */
	/* Up to here one line, that of every doorbell. */
	_Atomic uint32_t bufferless; /* readers of the tables that have no buffer */
	_Atomic uint64_t lost_submissions, lost_bytes; /* by those: no buffer counts them */
	_Atomic uint32_t warming; /* readers of the modules alone, in no trap */
	_Atomic uint32_t nbuffers;
	_Atomic uint32_t noting; /* a thread is noting a store site: patch.c */
	_Atomic uint32_t next_thread;
	_Atomic uint32_t next_stack;
	_Atomic uint64_t
		stalled_beat; /* the heartbeat, plus 1, at which a full buffer was given up */
	_Atomic uint32_t freezing; /* pages of shadows are read-only for a moment: shadow.c */
	_Atomic uint64_t thawed; /* when such a moment last ended */
	uint8_t *twins, *slots_write, *slots_run;
	/* Bit N: buffer N may be free. Who clears it may try to claim that one. */
	_Atomic uint64_t unused[NVS_MAX_BUFFERS / 64];
	struct nvs_buffer buffers[NVS_MAX_BUFFERS];
	struct nvs_stack_slot stacks[NVS_STACK_SLOTS];
};

extern struct nvs_process *nvs_process; /* NULL before nvs_trap_init */

/* Makes it, and remembers the options; nothing is armed yet. 0 or -errno. */
int nvs_process_init(const struct nvs_trap_options *options);

static inline bool nvs_started(void)
{
	return nvs_process && atomic_load_explicit(&nvs_process->started, memory_order_acquire);
}

/* What one thread carries; static TLS, so that touching it allocates nothing. */
struct nvs_trap_tls {
	struct nvs_buffer *buffer;
	uint32_t thread; /* number + 1, 0 none yet */
	uint32_t tid;
	uint32_t borrowed; /* buffers that it has besides its own: in use, or left by a jump */
	bool named; /* its THREAD record is written */
	bool refused; /* it was looked for a buffer in vain among those of all dead threads */
	uint32_t depth; /* traps in flight on this thread */
	uint32_t extra_modules;
	bool stackless; /* the unwinder is not entered here */
	uintptr_t progress; /* the release slot read last, which the GPU writes: asked for ahead; 0
			       none */
	uint32_t rung; /* number of the channel that was rung last, plus 1; 0 none */
	bool stepping; /* a single-step is in flight */
	struct nvs_activity activity; /* of the innermost trap that depth counts */
	const struct nvs_shadow *carrying; /* of the doorbell in flight, or of one that was left */
	bool interrupted; /* such a one was there when this doorbell came */
	uint64_t thawed; /* of the process, at this thread's last look */
	/* Of the stack that was unwound last, from the second frame on, and its number. */
	uint32_t unwound, nframes;
	uint64_t frames[NVS_LIVE_FRAMES];
};
extern __thread struct nvs_trap_tls nvs_tls;

/* buffer.c: the writer is asked to look at the buffers. */
void nvs_writer_wake(void);

/* owner.c: a buffer for one piece of work on this thread, its own or a borrowed one; counted in
 * flight from enter to leave. */
struct nvs_buffer *nvs_buffer_enter(void);
/* The same for work that ACTIVITY describes; ALTERNATE as for nvs_activity_abandoned(). */
struct nvs_buffer *nvs_buffer_enter_at(const struct nvs_activity *activity,
				       const stack_t *alternate);
/* True if BUFFER is busy, and not with something that the thread at SP has left; what it had begun
 * there is dropped. */
bool nvs_buffer_in_use(struct nvs_buffer *buffer, uintptr_t sp, const stack_t *alternate);
void nvs_buffer_leave(struct nvs_buffer *buffer);
/* BUFFER, which was entered, stays this thread's own where it has no other. */
void nvs_buffer_keep(struct nvs_buffer *buffer);

#define NVS_WARM_BYTES 2560u /* a launch and its call */

/*
 * Asks for the lines that the next records will be written into. The writer has read them last, on
 * another core: a store there would wait, and the fence before the doorbell for it.
 */
static inline void nvs_buffer_warm(struct nvs_buffer *buffer)
{
	uint64_t head = buffer->shared->head, at = buffer->warm > head ? buffer->warm : head;

	if (head + NVS_WARM_BYTES - at < NVS_WARM_BYTES / 8)
		return;
	for (; at < head + NVS_WARM_BYTES; at += 64)
		asm volatile("prefetchw %0" : : "m"(buffer->data[at & (buffer->bytes - 1)]));
	buffer->warm = at;
}

/* The GPU has written the slot since: by the time it is read its line is here. An address that is
 * gone does no harm. */
static inline void nvs_progress_warm(void)
{
	/* Where there is none, the processor would walk the page tables for nothing. */
	if (nvs_tls.progress)
		asm volatile("prefetcht0 (%0)" : : "r"(nvs_tls.progress));
}

/* capture.c: everything a doorbell commits, into BUFFER. */
struct nvs_doorbell_event {
	const struct nvs_doorbell *doorbell;
	uint32_t token;
	uint32_t stack;
	uint64_t time;
};
void nvs_capture(struct nvs_buffer *buffer, const struct nvs_view *view,
		 const struct nvs_doorbell_event *event);
/* The same where no buffer can be had: the channel's entries are taken over and counted as lost. */
void nvs_capture_lost(const struct nvs_view *view, const struct nvs_doorbell_event *event);

/* callsite.c: number of the stack that leads to the interrupted registers, NVS_NONE if none is
 * taken. */
uint32_t nvs_callsite_take(struct nvs_buffer *buffer, uintptr_t rip, uintptr_t rsp, uintptr_t rbp,
			   uint64_t time);

/*
 * Of a call that has returned from ENTRY, whose registers were RSP and RBP when it began and whose
 * frames outside are all still there: the stack as it was then. Outside of the trap, within BUFFER,
 * with depth and activity as in a trap, and where neither a signal handler nor a cancellation can
 * end it in the middle.
 */
uint32_t nvs_callsite_of_call(struct nvs_buffer *buffer, uintptr_t entry, uintptr_t rsp,
			      uintptr_t rbp, uint64_t time);

/* Number of the stack whose addresses are PCS[0] to PCS[N - 1], told within BUFFER if it is new. */
uint32_t nvs_callsite_number(struct nvs_buffer *buffer, void **pcs, uint32_t n, uint64_t time);

/* False while a trigger lets nothing be recorded. */
static inline bool nvs_recording(void)
{
	return atomic_load_explicit(&nvs_process->record_left, memory_order_relaxed) != 0;
}

/* What comes after the writer's end is not in the trace that the totals are about. */
static inline void nvs_count(struct nvs_buffer *buffer, enum nvs_counter counter, uint64_t n)
{
	uint64_t *c = &buffer->counters[counter];

	if (!buffer->late)
		__atomic_store_n(c, __atomic_load_n(c, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/* By the slot's owner, and whole also where a handler of its thread interrupts it. */
static inline void nvs_live_add(uint64_t *counter, uint64_t n)
{
	asm volatile("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
}

static inline uint32_t nvs_live_generation(const struct nvs_live_slot *slot)
{
	return __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE);
}

/*
 * SLOT has no owner any more. By its next one, or by who has seen that the last is gone, and has
 * read GENERATION before: the slot may have another owner by now.
 */
static inline void nvs_live_disown(struct nvs_live_slot *slot, uint32_t generation)
{
	if (generation & 1)
		__atomic_compare_exchange_n(&slot->generation, &generation, generation + 1, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

#endif
