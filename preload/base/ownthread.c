/* SPDX-License-Identifier: MIT */
/* Threads that the library starts inside the program. They block signals, so that no handler of the
 * program runs on them. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include "preload/base/ownthread.h"
#include "preload/base/preload.h"

#define BEGIN_MS 1000 /* maximum wait for a new thread to start */
#define BEGIN_STEP_MS 10
#define MAX_CORES 8192

enum { COMING, HERE, LEFT };

struct own_start {
	void (*run)(void *);
	void *arg;
	const char *name;
	_Atomic uint32_t begun; /* futex; the second of the two threads that change it frees this */
};

/* The process's CPU affinity and priority at load. */
static struct {
	uint64_t cores[MAX_CORES / 64];
	long bytes; /* size of the mask that the kernel returned; <= 0: unknown */
	int priority;
} at_load;

void nvs_own_threads_prepare(void)
{
	at_load.bytes = nvs_syscall(SYS_sched_getaffinity, 0, sizeof(at_load.cores),
				    (long)at_load.cores, 0, 0, 0);
	/* the system call returns 20 - nice */
	at_load.priority = 20 - nvs_syscall(SYS_getpriority, PRIO_PROCESS, 0, 0, 0, 0, 0);
}

/*
 * A thread inherits the schedule of its creator, which may be a real-time thread bound to one core;
 * the library's thread would take that core from it. A setting that the kernel refuses stays as
 * inherited.
 */
static void reset_schedule(void)
{
	struct sched_param plain = {.sched_priority = 0};

	if (at_load.bytes <= 0)
		return;
	nvs_syscall(SYS_sched_setaffinity, 0, at_load.bytes, (long)at_load.cores, 0, 0, 0);
	nvs_syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&plain, 0, 0, 0);
	nvs_syscall(SYS_setpriority, PRIO_PROCESS, 0, at_load.priority, 0, 0, 0);
}

static void let_go(struct own_start *start, uint32_t now)
{
	if (atomic_exchange(&start->begun, now) != COMING)
		nvs_free(start, sizeof(*start));
}

static void *begin_own(void *arg)
{
	struct own_start *start = arg;
	void (*run)(void *) = start->run;
	void *with = start->arg;

	reset_schedule();
	prctl(PR_SET_NAME, start->name);
	/* START may be freed after this; a spurious wake is harmless. */
	let_go(start, HERE);
	nvs_sys_futex_wake(&start->begun);
	run(with);
	atomic_fetch_sub(&nvs_state()->own_threads, 1);
	return NULL;
}

/* The signal mask is set through the attributes. The caller blocks nothing: pthread_create() may
 * wait for the program's allocator, whose holder may wait for a reply to a signal. */
static int create_own(struct own_start *start, size_t stack)
{
	/*
	 * All but glibc's two internal signals (setuid() on all threads, cancellation) and SIGSYS,
	 * by which a sandbox forwards system calls to the program's broker: blocked, it would kill.
	 */
	uint64_t all = ~(3ull << 31 | 1ull << (SIGSYS - 1));
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t mask;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	sigemptyset(&mask);
	memcpy(&mask, &all, sizeof(all));
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	err = pthread_attr_setsigmask_np(&attr, &mask);
	if (!err)
		err = nvs_next()->pthread_create(&thread, &attr, begin_own, start);
	pthread_attr_destroy(&attr);
	return err;
}

/* Waits until the thread has made its first system calls, including the C library's. A sandbox may
 * not allow them, and this way the program cannot install one in between. */
static void wait_for_begin(struct own_start *start)
{
	for (int ms = 0; ms < BEGIN_MS && atomic_load(&start->begun) == COMING; ms += BEGIN_STEP_MS)
		nvs_sys_futex_wait(&start->begun, COMING, BEGIN_STEP_MS);
	let_go(start, LEFT);
}

int nvs_own_thread_start(const char *name, size_t stack, void (*run)(void *), void *arg)
{
	struct own_start *start = nvs_alloc(sizeof(*start));
	int err;

	if (!start)
		return -ENOMEM;
	*start = (struct own_start){.run = run, .arg = arg, .name = name};
	atomic_fetch_add(&nvs_state()->own_threads, 1);
	err = create_own(start, stack);
	/* The stack is too small if the program's libraries have much thread-local storage. */
	if (err == EINVAL)
		err = create_own(start, 0);
	if (err) {
		atomic_fetch_sub(&nvs_state()->own_threads, 1);
		nvs_free(start, sizeof(*start));
		return -err;
	}
	wait_for_begin(start);
	return 0;
}
