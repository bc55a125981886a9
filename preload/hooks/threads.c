/* SPDX-License-Identifier: MIT */
/* pthread_create(): the program's threads start with the inherited view of their signal mask and a
 * warm unwinder. The library's threads (base/ownthread.c) do not use it. */
#include <errno.h>
#include <stdlib.h>
#include "preload/base/ownthread.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/hooks/export.h"
#include "preload/signals/hooked.h"
#include "preload/signals/signals.h"

struct start {
	void *(*run)(void *);
	void *arg;
	uint64_t view; /* what it is to know of its signal mask */
	bool warm;
};

/* Bytes of libunwind's thread-local memory, and of the loader's list of it. */
#define UNWINDER_ROOM 4096

/* Nothing may end the thread in the middle of this. */
static void warm_unwinder(void)
{
	uint64_t saved = nvs_sys_block_async();
	void *volatile room;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	/* If the loader finds no memory for a library's TLS block it aborts the program. */
	room = malloc(UNWINDER_ROOM);
	free(room);
	if (room)
		nvs_callsite_warm();
	else
		nvs_callsite_disable();
	pthread_setcancelstate(state, NULL);
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
}

/* First function of a thread of the program. Ends in a tail call, so that its stacks have no frame
 * of the library. */
static void *begin_thread(void *arg)
{
	struct start start = *(struct start *)arg;
	int err = errno;

	nvs_free(arg, sizeof(start));
	nvs_sigview_begin_thread(start.view);
	if (start.warm) {
		warm_unwinder();
		/* Signals that arrived meanwhile were deferred, as in any trap. */
		nvs_sigview_send_deferred();
	}
	errno = err;
	return start.run(start.arg);
}

/* Defined in a program with ThreadSanitizer. Its allocator, from which the unwinder's caches come,
 * works only after its own thread start has run. */
extern void __tsan_init(void) __attribute__((weak));

/* The mask is set by the attributes or inherited. */
static uint64_t view_of_new(const pthread_attr_t *attr)
{
	sigset_t set;

	return attr && pthread_attr_getsigmask_np(attr, &set) == 0 ? NVS_SIGVIEW_MASKED
								   : nvs_sigview_inherited();
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	struct start *start = NULL;
	uint64_t view;
	bool warm;
	int ret;

	warm = nvs_session_is_active() && !__tsan_init;
	view = nvs_options()->disabled ? 0 : view_of_new(attr);
	if (warm || view)
		start = nvs_alloc(sizeof(*start));
	if (!start)
		return nvs_next()->pthread_create(thread, attr, run, arg);
	*start = (struct start){run, arg, view, warm};
	if (nvs_session_is_active())
		nvs_poll_thread_wake();
	ret = nvs_next()->pthread_create(thread, attr, begin_thread, start);
	if (ret)
		nvs_free(start, sizeof(*start));
	return ret;
}
