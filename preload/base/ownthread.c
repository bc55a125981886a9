/* SPDX-License-Identifier: MIT */
/*
 * Threads of ours inside the program: no handler of its comes to run on them.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include "preload/base/ownthread.h"
#include "preload/base/preload.h"

struct own_start {
	void (*run)(void *);
	void *arg;
	const char *name;
};

static void *begin_own(void *arg)
{
	struct own_start start = *(struct own_start *)arg;

	nvs_free(arg, sizeof(start));
	prctl(PR_SET_NAME, start.name);
	start.run(start.arg);
	atomic_fetch_sub(&nvs_state()->own_threads, 1);
	return NULL;
}

/*
 * Its attributes say what it has blocked: the caller blocks nothing, since it may wait here for the
 * program's allocator, whose holder may wait for an answer to a signal.
 */
static int create_own(struct own_start *start, size_t stack)
{
	/*
	 * All but glibc's two, by which it reaches every thread for setuid() and cancellation, and
	 * the one by which a sandbox asks the program's broker for a system call: blocked, it would
	 * kill.
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

int nvs_own_thread(const char *name, size_t stack, void (*run)(void *), void *arg)
{
	struct own_start *start = nvs_alloc(sizeof(*start));
	int err;

	if (!start)
		return -ENOMEM;
	*start = (struct own_start){run, arg, name};
	atomic_fetch_add(&nvs_state()->own_threads, 1);
	err = create_own(start, stack);
	/* Too small where the program's libraries have much thread-local storage. */
	if (err == EINVAL)
		err = create_own(start, 0);
	if (err) {
		atomic_fetch_sub(&nvs_state()->own_threads, 1);
		nvs_free(start, sizeof(*start));
	}
	return -err;
}
