/* SPDX-License-Identifier: MIT */
/* The exported functions that wait with a signal mask. */
#include <errno.h>
#include "preload/base/next.h"
#include "preload/hooks/export.h"
#include "preload/signals/hooked.h"

/* Makes CALL with the mask GIVEN in place of MASK. */
#define WAIT(mask, call)                                                            \
	({                                                                          \
		sigset_t room_;                                                     \
		const sigset_t *given = nvs_signals_call_mask(mask, &room_);        \
		int ret_;                                                           \
		do                                                                  \
			ret_ = nvs_next()->call;                                    \
		while (ret_ < 0 && errno == EINTR && nvs_signals_call_again(mask)); \
		ret_;                                                               \
	})

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	return WAIT(mask, ppoll(fds, n, timeout, given));
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);
EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	return WAIT(mask, ppoll_chk(fds, n, timeout, given, room));
}

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
		   const sigset_t *mask)
{
	return WAIT(mask, pselect(n, in, out, except, timeout, given));
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout, const sigset_t *mask)
{
	return WAIT(mask, epoll_pwait(fd, events, n, timeout, given));
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
	return WAIT(mask, epoll_pwait2(fd, events, n, timeout, given));
}

EXPORT int sigsuspend(const sigset_t *mask)
{
	return WAIT(mask, sigsuspend(given));
}
