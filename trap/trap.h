/* SPDX-License-Identifier: MIT */
/*
 * The trap: all code that runs between the program's store to the doorbell and the completion of
 * that store. The contract, for all code in this module and everything it calls:
 *
 *   1. It runs in a signal handler, or in a patched store site, at any point of a program that is
 *      not ours, on any thread, possibly on several at once. It is async-signal-safe: no malloc, no
 *      stdio, no lock that code outside the trap takes, no lazy binding, errno is preserved, vector
 *      registers are not used.
 *   2. It never waits for something that may itself wait for the interrupted thread. A full buffer
 *      is waited for only while the writer's heartbeat advances.
 *   3. It reads tables only through struct nvs_view, which is published as a whole and freed only
 *      after all traps in flight have left (nvs_view_publish).
 *   4. Copy first, ring after: the store reaches the GPU only when everything it commits has been
 *      copied and committed to the thread buffer, or a gap has been counted.
 *   5. The store always reaches the GPU. A failure is counted and recorded, and the program
 *      continues.
 *   6. The program's state is what the store would have left: registers, flags, signal mask, stack
 *      below the red zone. After a fault the trap runs on its own stack. From a patched site, which
 *      signal handlers may interrupt, it runs on the thread's stack and uses less of it than a
 *      signal frame.
 *   7. A trap may never return: a handler that interrupts it may jump out of it. Everything the
 *      trap holds is then released (trap/buffer/abandoned.h).
 *
 * Enforced: trap/low/poison.h, included by every source file here, makes calls that break rule 1
 * fail to compile; a test checks the undefined symbols of the module's objects.
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
	NVS_LEVEL_NONE, /* nothing: there is no trace now, submissions are only counted */
};

struct nvs_trap_options {
	enum nvs_trap_mode mode;
	enum nvs_level level;
	bool patch; /* store sites that were understood are reached by a jump instead of a fault */
	bool shadow; /* GPFIFO and USERD are shadowed in ordinary memory */
	bool paused; /* nothing is recorded until nvs_trap_record() allows it */
	bool backtrace;
	bool timed; /* doorbells need a time also where there is no trace */
	bool skip_calls; /* calls are not recorded, only counted in the live page */
	bool drop; /* a full buffer drops the record at once instead of waiting */
	bool use_ticks; /* clock: nvs_ticks(), else nanoseconds of CLOCK_MONOTONIC */
};

/* Called once in a process, before the first doorbell is armed: stores the options, creates the
 * stack table and the pages for relocated stores. Returns 0 or -errno. */
int nvs_trap_init(const struct nvs_trap_options *options);

/* Records the next N submissions, then none. NVS_RECORD_ALL: all from now on; 0: none from now on.
 *  */
#define NVS_RECORD_ALL INT64_MAX
void nvs_trap_record(int64_t submissions);
/* Changes what is recorded, while nothing is: after nvs_trap_record(0). A trap in flight may still
 * see the old values until nvs_wait_for_traps() returns. */
void nvs_trap_set_level(enum nvs_level level, bool skip_calls, bool backtrace);

/*
 * Called by the SIGSEGV and SIGTRAP handlers. Returns true if the signal was the trap's and is
 * handled: return from the handler. Returns false if it is the program's; nothing is changed then.
 */
bool nvs_trap_segv(siginfo_t *info, void *ucontext);
bool nvs_trap_sigtrap(siginfo_t *info, void *ucontext);

/* Ticks of the session's clock, the time of every record. */
uint64_t nvs_clock_now(void);

/* True on a thread that is in the trap. dl_iterate_phdr is then answered from the module snapshot.
 *  */
bool nvs_in_trap(void);

/* ---- call sites ---- */

/* The unwinder: unw_backtrace of libunwind, glibc's backtrace, or NULL for none. */
typedef int (*nvs_backtrace_fn)(void **pcs, int max);
/* MAY_FAULT: it reads where it takes a frame to be, mapped or not. A fault then ends it, and the
 * stack with it. */
void nvs_callsite_set(nvs_backtrace_fn fn, bool may_fault);
/* dl_iterate_phdr inside the trap. */
int nvs_modules_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);
/*
 * Takes one backtrace on this thread so that the unwinder's caches and TLS exist. Call it outside
 * the trap, where neither a signal handler nor a cancellation can end it in the middle: the
 * publication of the next module list waits for it.
 */
void nvs_callsite_warm(void);
/* The alternative to nvs_callsite_warm(): stacks of this thread have only their innermost address.
 *  */
void nvs_callsite_disable(void);

#endif
