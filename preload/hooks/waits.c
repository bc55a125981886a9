/* SPDX-License-Identifier: MIT */
/*
 * The exported functions that wait: for descriptors, for time, for data. All go on where they were
 * interrupted by a signal of ours that the program is not to notice; those with a mask of their own
 * have the program's view share it meanwhile.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "preload/base/preload.h"
#include "preload/hooks/export.h"
#include "preload/signals/hooked.h"
#include "preload/signals/signals.h"

/* One waiting call of the program. */
struct call {
	bool own_mask;
	struct nvs_sigtemp temp;
	sigset_t mask; /* what the kernel is given */
	struct nvs_sigcounts counts;
	int64_t end, left; /* ns; left < 0: no limit */
	struct timespec timeout; /* what is left of it */
};

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t ns_of(const struct timespec *t)
{
	return !t			? -1
	       : t->tv_sec > 1000000000 ? INT64_MAX / 2
					: (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static int64_t ns_of_ms(int ms)
{
	return ms < 0 ? -1 : (int64_t)ms * 1000000;
}

static void begin(struct call *c, const sigset_t *mask, int64_t left)
{
	c->own_mask = mask != NULL;
	c->left = left;
	if (left > 0)
		c->end = now() + left;
	if (mask) {
		c->mask = *mask;
		nvs_sigset_put(&c->mask, nvs_sigview_begin_call(&c->temp, nvs_sigset_word(mask)));
	}
	c->counts = nvs_signals_counts();
}

static const sigset_t *mask_of(const struct call *c)
{
	return c->own_mask ? &c->mask : NULL;
}

static int ms_of(const struct call *c)
{
	return c->left < 0 ? -1 : (int)((c->left + 999999) / 1000000);
}

static const struct timespec *timeout_of(struct call *c)
{
	c->timeout = (struct timespec){c->left / 1000000000, c->left % 1000000000};
	return c->left < 0 ? NULL : &c->timeout;
}

/* True: what ended the call is nothing to the program; the rest of the time is left. */
static bool again(struct call *c, int ret)
{
	if (ret >= 0 || errno != EINTR || !nvs_signals_unnoticed(&c->counts))
		return false;
	if (c->left > 0) {
		c->left = c->end - now();
		c->left = c->left < 0 ? 0 : c->left;
	}
	return true;
}

static int end(struct call *c, int ret)
{
	int err = errno;

	if (c->own_mask)
		nvs_sigview_end_call(&c->temp);
	errno = err;
	return ret;
}

static void on_cancel(void *arg)
{
	struct call *c = arg;

	if (c->own_mask)
		nvs_sigview_keep_call(&c->temp);
}

/* The first time with what the program gave, which it alone knows to be valid. */
#define WAIT(mask, left, first, further)             \
	({                                           \
		struct call c;                       \
		int ret_;                            \
		begin(&c, mask, left);               \
		pthread_cleanup_push(on_cancel, &c); \
		ret_ = first;                        \
		while (again(&c, ret_))              \
			ret_ = further;              \
		pthread_cleanup_pop(0);              \
		end(&c, ret_);                       \
	})

/* Nothing is blocked or ignored that is ours, and none is by MASK. */
static bool plain(const sigset_t *mask)
{
	return !nvs_sighook(NVS_SIGHOOK_VIEW | NVS_SIGHOOK_UNKNOWN) &&
	       !(mask && (sigismember(mask, SIGSEGV) == 1 || sigismember(mask, SIGTRAP) == 1));
}

/* A call with a mask that blocks one of ours: what is sent then has to come to us. */
static const struct nvs_next *prepare(const sigset_t *mask)
{
	if (mask && !plain(mask) && !nvs_options()->disabled && nvs_signals_install() == 0)
		atomic_fetch_or(&nvs_sighooks, NVS_SIGHOOK_VIEW);
	return nvs_next();
}

static bool pass(const sigset_t *mask)
{
	return plain(mask) || nvs_options()->disabled || nvs_in_trap();
}

/* The two that programs live by have one look at a word before they pass on. */
__attribute__((noinline)) static int poll_on(struct pollfd *fds, nfds_t n, int timeout)
{
	if (pass(NULL))
		return nvs_next()->poll(fds, n, timeout);
	return WAIT(NULL, ns_of_ms(timeout), nvs_next()->poll(fds, n, timeout),
		    nvs_next()->poll(fds, n, ms_of(&c)));
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (nvs_sighook(NVS_SIGHOOK_VIEW | NVS_SIGHOOK_UNKNOWN))
		return poll_on(fds, n, timeout);
	return nvs_next()->poll(fds, n, timeout);
}

int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	if (pass(NULL) || room / sizeof(*fds) < n)
		return nvs_next()->poll_chk(fds, n, timeout, room);
	return poll(fds, n, timeout);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	if (pass(mask))
		return nvs_next()->ppoll(fds, n, timeout, mask);
	return WAIT(mask, ns_of(timeout), prepare(mask)->ppoll(fds, n, timeout, mask_of(&c)),
		    nvs_next()->ppoll(fds, n, timeout_of(&c), mask_of(&c)));
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);
EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	if (pass(mask) || room / sizeof(*fds) < n)
		return nvs_next()->ppoll_chk(fds, n, timeout, mask, room);
	return ppoll(fds, n, timeout, mask);
}

/* It tells the time that is left by itself. */
EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	if (pass(NULL))
		return nvs_next()->select(n, in, out, except, timeout);
	return WAIT(NULL, -1, nvs_next()->select(n, in, out, except, timeout),
		    nvs_next()->select(n, in, out, except, timeout));
}

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
		   const sigset_t *mask)
{
	if (pass(mask))
		return nvs_next()->pselect(n, in, out, except, timeout, mask);
	return WAIT(mask, ns_of(timeout),
		    prepare(mask)->pselect(n, in, out, except, timeout, mask_of(&c)),
		    nvs_next()->pselect(n, in, out, except, timeout_of(&c), mask_of(&c)));
}

__attribute__((noinline)) static int epoll_wait_on(int fd, struct epoll_event *events, int n,
						   int timeout)
{
	if (pass(NULL))
		return nvs_next()->epoll_wait(fd, events, n, timeout);
	return WAIT(NULL, ns_of_ms(timeout), nvs_next()->epoll_wait(fd, events, n, timeout),
		    nvs_next()->epoll_wait(fd, events, n, ms_of(&c)));
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	if (nvs_sighook(NVS_SIGHOOK_VIEW | NVS_SIGHOOK_UNKNOWN))
		return epoll_wait_on(fd, events, n, timeout);
	return nvs_next()->epoll_wait(fd, events, n, timeout);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout, const sigset_t *mask)
{
	if (pass(mask))
		return nvs_next()->epoll_pwait(fd, events, n, timeout, mask);
	return WAIT(mask, ns_of_ms(timeout),
		    prepare(mask)->epoll_pwait(fd, events, n, timeout, mask_of(&c)),
		    nvs_next()->epoll_pwait(fd, events, n, ms_of(&c), mask_of(&c)));
}

int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
		 const sigset_t *mask);
EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
			const sigset_t *mask)
{
	if (!nvs_next()->epoll_pwait2) {
		errno = ENOSYS;
		return -1;
	}
	if (pass(mask))
		return nvs_next()->epoll_pwait2(fd, events, n, timeout, mask);
	return WAIT(mask, ns_of(timeout),
		    prepare(mask)->epoll_pwait2(fd, events, n, timeout, mask_of(&c)),
		    nvs_next()->epoll_pwait2(fd, events, n, timeout_of(&c), mask_of(&c)));
}

/* Ends only by a handler of the program's. */
EXPORT int sigsuspend(const sigset_t *mask)
{
	if (pass(mask))
		return nvs_next()->sigsuspend(mask);
	return WAIT(mask, -1, prepare(mask)->sigsuspend(mask_of(&c)),
		    nvs_next()->sigsuspend(mask_of(&c)));
}

/* ---- sleep ---- */

EXPORT int pause(void)
{
	struct nvs_sigcounts before = nvs_signals_counts();

	if (plain(NULL))
		return nvs_next()->pause();
	do
		nvs_next()->pause();
	while (nvs_signals_unnoticed(&before));
	return -1;
}

/* The error, as clock_nanosleep() gives it. */
static int sleep_on(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	struct nvs_sigcounts before = nvs_signals_counts();
	struct timespec rest;
	int err;

	do {
		err = nvs_next()->clock_nanosleep(clock, flags, time, &rest);
		if (err == EINTR && !(flags & TIMER_ABSTIME))
			time = &rest;
	} while (err == EINTR && nvs_signals_unnoticed(&before));
	if (err == EINTR && left && !(flags & TIMER_ABSTIME))
		*left = rest;
	return err;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *left)
{
	if (plain(NULL))
		return nvs_next()->clock_nanosleep(clock, flags, time, left);
	return sleep_on(clock, flags, time, left);
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	int err;

	if (plain(NULL))
		return nvs_next()->nanosleep(time, left);
	err = sleep_on(CLOCK_REALTIME, 0, time, left);
	if (!err)
		return 0;
	errno = err;
	return -1;
}

EXPORT int usleep(useconds_t us)
{
	struct timespec time = {us / 1000000, (long)(us % 1000000) * 1000};

	return nanosleep(&time, NULL);
}

/* Whole seconds that are left, cut off as by the C library. */
EXPORT unsigned sleep(unsigned seconds)
{
	struct timespec time = {seconds, 0};
	int err = errno;

	if (nanosleep(&time, &time))
		return (unsigned)time.tv_sec;
	errno = err;
	return 0;
}

/* ---- read ---- */

EXPORT ssize_t read(int fd, void *data, size_t size)
{
	if (nvs_sighook(NVS_SIGHOOK_UNKNOWN | NVS_SIGHOOK_FD))
		return nvs_signals_read(fd, data, size);
	return nvs_next()->read(fd, data, size);
}

ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
EXPORT ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
	if (nvs_sighook(NVS_SIGHOOK_FD) && size <= room)
		return nvs_signals_read(fd, data, size);
	return nvs_next()->read_chk(fd, data, size, room);
}

EXPORT ssize_t readv(int fd, const struct iovec *iov, int n)
{
	if (nvs_sighook(NVS_SIGHOOK_FD))
		return nvs_signals_readv(fd, iov, n);
	return nvs_next()->readv(fd, iov, n);
}
