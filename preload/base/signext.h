/* SPDX-License-Identifier: MIT */
/*
 * The functions behind the hooks that matter only to a program that does something with our two
 * signals, and the one word that such a hook tests before it passes on.
 */
#ifndef NVSNOOP_PRELOAD_BASE_SIGNEXT_H
#define NVSNOOP_PRELOAD_BASE_SIGNEXT_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

struct nvs_signext {
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*read_chk)(int, void *, size_t, size_t);
	ssize_t (*readv)(int, const struct iovec *, int);
	int (*signalfd)(int, const sigset_t *, int);
	int (*poll)(struct pollfd *, nfds_t, int);
	int (*poll_chk)(struct pollfd *, nfds_t, int, size_t);
	int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
	int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
			 size_t);
	int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
		       const sigset_t *);
	int (*epoll_wait)(int, struct epoll_event *, int, int);
	int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
	int (*epoll_pwait2)(int, struct epoll_event *, int, const struct timespec *,
			    const sigset_t *);
	int (*sigsuspend)(const sigset_t *);
	int (*pause)(void);
	int (*nanosleep)(const struct timespec *, struct timespec *);
	int (*clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
	int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
	int (*pthread_sigqueue)(pthread_t, int, const union sigval);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execv)(const char *, char *const[]);
	int (*execvp)(const char *, char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[], char *const[]);
};
/* NULL where this libc has none. Valid once no NVS_SIGHOOK_UNKNOWN is in the word below. */
extern struct nvs_signext nvs_signext;

enum {
	NVS_SIGHOOK_UNKNOWN = 1, /* nobody has looked the functions up yet */
	NVS_SIGHOOK_VIEW = 2, /* the program blocks or ignores one of the two, or has */
	NVS_SIGHOOK_FD = 4, /* it has made a signalfd for one of the two */
};
extern _Atomic unsigned nvs_sighooks;

static inline bool nvs_sighook(unsigned bits)
{
	return __builtin_expect(atomic_load_explicit(&nvs_sighooks, memory_order_relaxed) & bits,
				0);
}

/* The table; looks the functions up at the first call, which is our constructor's or earlier. */
const struct nvs_signext *nvs_signext_find(void);

#endif
