/* SPDX-License-Identifier: MIT */
/*
 * The trap: everything that runs between a doorbell store and its completion.
 *
 * The contract, for all code in this room and whatever it calls:
 *   1. It runs in a signal handler (or, later, in a patched store site) at any point of a program
 *      that is not ours, on any thread, possibly on many at once. It is async-signal-safe: no
 *      malloc, no stdio, no locks that anybody outside the trap takes, no lazy binding, no errno
 *      left changed, no vector registers assumed.
 *   2. It never waits for something that may itself wait for the interrupted thread. A full buffer
 *      is waited for only while the writer's heartbeat advances.
 *   3. It reads tables only through struct nvs_view, which is published whole and goes away only
 *      after all traps in flight have left (nvs_view_publish).
 *   4. Copy first, ring after: the store reaches the GPU only when everything it commits has been
 *      copied and committed to the ring buffer, or a gap has been counted.
 *   5. The store always reaches the GPU. Whatever fails is counted, recorded, and the program goes
 * on.
 *   6. The program's state is left as the store would have left it: registers, flags, signal mask,
 *      stack below the red zone. After a fault the work is done on a stack of our own; a patched
 * site's, which signal handlers may interrupt, on the thread's, in less room than a signal's frame
 * takes.
 *   7. A trap may be left for ever: a handler that interrupts it jumps out of it. Whatever a trap
 * holds is given back then (trap/buffer/abandoned.h).
 *
 * Enforced: trap/low/poison.h, included by every file here, makes calls that break rule 1 fail to
 * compile; a test checks the undefined symbols of the room's objects.
 */
#ifndef NVSNOOP_TRAP_TRAP_H
#define NVSNOOP_TRAP_TRAP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trap/buffer.h"
#include "trap/view.h"

/* ---- options and start ---- */

enum nvs_trap_mode { NVS_TRAP_EMULATE, NVS_TRAP_STEP };

/* How much of a submission is recorded. */
enum nvs_level {
	NVS_LEVEL_FULL,
	NVS_LEVEL_HEADERS, /* entries and sizes, no segments */
	NVS_LEVEL_NONE, /* nothing: there is no trace, and it is only counted */
};

struct nvs_trap_options {
	enum nvs_trap_mode mode;
	enum nvs_level level;
	bool patch; /* understood store sites are reached by a jump instead of a fault */
	bool shadow; /* GPFIFO and USERD in ordinary memory */
	bool paused; /* nothing is recorded until nvs_trap_record() says so */
	bool backtrace;
	bool drop; /* a full buffer drops at once instead of waiting */
	bool use_tsc; /* clock: TSC ticks, else nanoseconds of CLOCK_MONOTONIC */
};

/*
 * Once for a process, before the first doorbell is armed: remembers the options, makes the stack
 * table and the pages for relocated stores. 0 or -errno.
 */
int nvs_trap_init(const struct nvs_trap_options *options);

/*
 * Records the next N submissions, then none; NVS_RECORD_ALL: from now on all; 0: none from now on.
 */
#define NVS_RECORD_ALL INT64_MAX
void nvs_trap_record(int64_t submissions);

/*
 * From the SIGSEGV and SIGTRAP handlers. True: it was ours and is done, return from the handler.
 * False: it is the program's, untouched.
 */
bool nvs_trap_segv(siginfo_t *info, void *ucontext);
bool nvs_trap_sigtrap(siginfo_t *info, void *ucontext);

/* Ticks of the session's clock, for every record. */
uint64_t nvs_now(void);

/*
 * True on a thread that is in the trap: dl_iterate_phdr is answered from the module snapshot then.
 */
bool nvs_in_trap(void);

/* ---- call sites ---- */

/* The unwinder: unw_backtrace of libunwind, glibc's backtrace, or NULL for none. */
typedef int (*nvs_backtrace_fn)(void **pcs, int max);
void nvs_callsite_set(nvs_backtrace_fn fn);
/* dl_iterate_phdr inside the trap. */
int nvs_modules_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);
/*
 * Takes one backtrace on this thread so that its caches and TLS exist; call outside the trap, where
 * neither a signal handler nor a cancellation can end it in the middle: the next list of modules
 * waits for it.
 */
void nvs_callsite_warm(void);
/* Instead: this thread's stacks are their innermost address alone. */
void nvs_callsite_none(void);

#endif
