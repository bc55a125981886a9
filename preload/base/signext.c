/* SPDX-License-Identifier: MIT */
/*
 * Looks up the functions behind the hooks for signals.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/base/signext.h"

struct nvs_signext nvs_signext;
_Atomic unsigned nvs_sighooks = NVS_SIGHOOK_UNKNOWN;

/* This thread is inside dlsym(), whose allocator may be a stranger that reads and polls. */
static __thread volatile int looking;

static ssize_t raw_read(int fd, void *data, size_t size)
{
	return syscall(SYS_read, fd, data, size);
}

static ssize_t raw_readv(int fd, const struct iovec *iov, int n)
{
	return syscall(SYS_readv, fd, iov, n);
}

static int raw_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return (int)syscall(SYS_poll, fds, n, timeout);
}

static int raw_sleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	return syscall(SYS_clock_nanosleep, clock, flags, time, left) ? errno : 0;
}

static const struct nvs_signext raw = {
	.read = raw_read,
	.readv = raw_readv,
	.poll = raw_poll,
	.clock_nanosleep = raw_sleep,
};

#define FIND_AS(field, name) table.field = (__typeof__(table.field))dlsym(RTLD_NEXT, name)
#define FIND(name) FIND_AS(name, #name)

/* Threads that meet here do the same work and store the same words. */
static void look_up(void)
{
	struct nvs_signext table;
	int err = errno;

	looking = 1;
	FIND(read);
	FIND_AS(read_chk, "__read_chk");
	FIND(readv);
	FIND(signalfd);
	FIND(poll);
	FIND_AS(poll_chk, "__poll_chk");
	FIND(ppoll);
	FIND_AS(ppoll_chk, "__ppoll_chk");
	FIND(select);
	FIND(pselect);
	FIND(epoll_wait);
	FIND(epoll_pwait);
	FIND(epoll_pwait2);
	FIND(sigsuspend);
	FIND(pause);
	FIND(nanosleep);
	FIND(clock_nanosleep);
	FIND(sigtimedwait);
	FIND(pthread_sigqueue);
	FIND(execve);
	FIND(execv);
	FIND(execvp);
	FIND(execvpe);
	FIND(fexecve);
	FIND(execveat);
	FIND(posix_spawn);
	FIND(posix_spawnp);
	looking = 0;
	nvs_signext = table;
	atomic_fetch_and(&nvs_sighooks, ~(unsigned)NVS_SIGHOOK_UNKNOWN);
	errno = err;
}

const struct nvs_signext *nvs_signext_find(void)
{
	if (atomic_load(&nvs_sighooks) & NVS_SIGHOOK_UNKNOWN) {
		if (looking)
			return &raw;
		look_up();
	}
	return &nvs_signext;
}
