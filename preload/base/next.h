/* SPDX-License-Identifier: MIT */
/* Table of the next definitions of the functions that the library hooks. All calls that the library
 * makes on devices go through this table. */
#ifndef NVSNOOP_PRELOAD_BASE_NEXT_H
#define NVSNOOP_PRELOAD_BASE_NEXT_H

#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>

/* The one argument of a function with "..." that follows LAST. */
#define NVS_VARIABLE_ARGUMENT(last)       \
	({                                \
		va_list ap_;              \
		long arg_;                \
		va_start(ap_, last);      \
		arg_ = va_arg(ap_, long); \
		va_end(ap_);              \
		arg_;                     \
	})

/* _dl_find_object() of glibc 2.35 and later: finds the object at an address, in any namespace,
 * without a lock. Layout as in <dlfcn.h>. */
struct nvs_found_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

/* clang-format off */
/* F(type, field, name, arguments). The field is NULL if this libc does not have the function. */
#define NVS_NEXT_FUNCTIONS(F) \
	F(int, open, open, (const char *, int, ...)) \
	F(int, open64, open64, (const char *, int, ...)) \
	F(int, openat, openat, (int, const char *, int, ...)) \
	F(int, openat64, openat64, (int, const char *, int, ...)) \
	F(int, close, close, (int)) \
	F(int, dup, dup, (int)) \
	F(int, dup2, dup2, (int, int)) \
	F(int, dup3, dup3, (int, int, int)) \
	F(int, fcntl, fcntl, (int, int, ...)) \
	F(int, ioctl, ioctl, (int, unsigned long, ...)) \
	F(void *, mmap, mmap, (void *, size_t, int, int, int, off_t)) \
	F(int, munmap, munmap, (void *, size_t)) \
	F(void *, mremap, mremap, (void *, size_t, size_t, int, ...)) \
	F(int, mprotect, mprotect, (void *, size_t, int)) \
	F(int, fstat, fstat, (int, struct stat *)) \
	F(int, sigaction, sigaction, (int, const struct sigaction *, struct sigaction *)) \
	F(sighandler_t, signal, signal, (int, sighandler_t)) \
	F(sighandler_t, sysv_signal, sysv_signal, (int, sighandler_t)) \
	F(sighandler_t, sigset, sigset, (int, sighandler_t)) \
	F(int, sigprocmask, sigprocmask, (int, const sigset_t *, sigset_t *)) \
	F(int, pthread_sigmask, pthread_sigmask, (int, const sigset_t *, sigset_t *)) \
	F(int, pthread_create, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)) \
	F(int, dl_iterate_phdr, dl_iterate_phdr, (int (*)(struct dl_phdr_info *, size_t, void *), void *)) \
	F(int, dlclose, dlclose, (void *)) \
	F(int, find_object, _dl_find_object, (void *, struct nvs_found_object *)) \
	F(int, pipe2, pipe2, (int *, int)) \
	F(int, ppoll, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) \
	F(int, ppoll_chk, __ppoll_chk, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t)) \
	F(int, pselect, pselect, (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)) \
	F(int, epoll_pwait, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *)) \
	F(int, epoll_pwait2, epoll_pwait2, (int, struct epoll_event *, int, const struct timespec *, const sigset_t *)) \
	F(int, setcontext, setcontext, (const ucontext_t *)) \
	F(int, swapcontext, swapcontext, (ucontext_t *, const ucontext_t *)) \
	F(void, makecontext, makecontext, (ucontext_t *, void (*)(void), int, ...)) \
	F(int, sigsuspend, sigsuspend, (const sigset_t *)) \
	F(int, sigtimedwait, sigtimedwait, (const sigset_t *, siginfo_t *, const struct timespec *)) \
	F(int, execve, execve, (const char *, char *const[], char *const[])) \
	F(int, execv, execv, (const char *, char *const[])) \
	F(int, execvp, execvp, (const char *, char *const[])) \
	F(int, execvpe, execvpe, (const char *, char *const[], char *const[])) \
	F(int, fexecve, fexecve, (int, char *const[], char *const[])) \
	F(int, execveat, execveat, (int, const char *, char *const[], char *const[], int)) \
	F(int, posix_spawn, posix_spawn, (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[])) \
	F(int, posix_spawnp, posix_spawnp, (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[])) \
	F(int, open_2, __open_2, (const char *, int)) \
	F(int, open64_2, __open64_2, (const char *, int)) \
	F(int, openat_2, __openat_2, (int, const char *, int)) \
	F(int, openat64_2, __openat64_2, (int, const char *, int)) \
	F(int, close_range, close_range, (unsigned, unsigned, int)) \
	F(void, closefrom, closefrom, (int))
/* clang-format on */

struct nvs_next {
#define NVS_NEXT_FIELD(type, field, name, arguments) type(*field) arguments;
	NVS_NEXT_FUNCTIONS(NVS_NEXT_FIELD)
#undef NVS_NEXT_FIELD
};
/* Works from the first call, also before the constructor and inside the allocator. */
const struct nvs_next *nvs_next(void);

#endif
