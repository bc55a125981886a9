/* SPDX-License-Identifier: MIT */
/*
 * The next definitions (dlsym RTLD_NEXT) of the functions that the library hooks. They are looked
 * up at first use, which may be before the constructor has run and inside the allocator: dlsym()
 * may allocate, and the allocator may map memory through our hooks. While a thread is in dlsym(),
 * its calls use raw system calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/base/preload.h"

#define RAW(type, name, parameters, ...)                 \
	static type raw_##name parameters                \
	{                                                \
		return (type)syscall(SYS_##__VA_ARGS__); \
	}

RAW(int, open, (const char *path, int flags, ...), openat, AT_FDCWD, path, flags,
    NVS_VARIABLE_ARGUMENT(flags))
RAW(int, openat, (int dir, const char *path, int flags, ...), openat, dir, path, flags,
    NVS_VARIABLE_ARGUMENT(flags))
RAW(int, close, (int fd), close, fd)
RAW(int, dup, (int fd), dup, fd)
RAW(int, dup3, (int old, int new, int flags), dup3, old, new, flags)
RAW(int, fcntl, (int fd, int cmd, ...), fcntl, fd, cmd, NVS_VARIABLE_ARGUMENT(cmd))
RAW(int, ioctl, (int fd, unsigned long request, ...), ioctl, fd, request,
    NVS_VARIABLE_ARGUMENT(request))
RAW(void *, mmap, (void *at, size_t size, int prot, int flags, int fd, off_t offset), mmap, at,
    size, prot, flags, fd, offset)
RAW(int, munmap, (void *at, size_t size), munmap, at, size)
RAW(void *, mremap, (void *old, size_t old_size, size_t size, int flags, ...), mremap, old,
    old_size, size, flags, NVS_VARIABLE_ARGUMENT(flags))
RAW(int, mprotect, (void *at, size_t size, int prot), mprotect, at, size, prot)
RAW(int, fstat, (int fd, struct stat *st), fstat, fd, st)
RAW(int, pipe2, (int *fds, int flags), pipe2, fds, flags)

/* dup3() rejects two equal descriptors; dup2() returns the one, if it is open. */
static int raw_dup2(int old, int new)
{
	if (old != new)
		return raw_dup3(old, new, 0);
	return syscall(SYS_fcntl, old, F_GETFD) < 0 ? -1 : new;
}

static int raw_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	if (old)
		sigemptyset(old);
	return (int)syscall(SYS_rt_sigprocmask, how, set, old, 8);
}

static int raw_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int err = errno, ret = raw_sigprocmask(how, set, old) ? errno : 0;

	errno = err;
	return ret;
}

/* Nothing that dlsym() calls needs these four. */
static int raw_sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	errno = ENOSYS;
	return -1;
}

static int raw_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			      void *arg)
{
	return EAGAIN;
}

static int raw_dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	return 0;
}

static int raw_dlclose(void *handle)
{
	return -1;
}

static const struct nvs_next raw = {
	.open = raw_open,
	.open64 = raw_open,
	.openat = raw_openat,
	.openat64 = raw_openat,
	.close = raw_close,
	.dup = raw_dup,
	.dup2 = raw_dup2,
	.dup3 = raw_dup3,
	.fcntl = raw_fcntl,
	.ioctl = raw_ioctl,
	.mmap = raw_mmap,
	.munmap = raw_munmap,
	.mremap = raw_mremap,
	.mprotect = raw_mprotect,
	.fstat = raw_fstat,
	.sigaction = raw_sigaction,
	.sigprocmask = raw_sigprocmask,
	.pthread_sigmask = raw_pthread_sigmask,
	.pthread_create = raw_pthread_create,
	.dl_iterate_phdr = raw_dl_iterate_phdr,
	.dlclose = raw_dlclose,
	.pipe2 = raw_pipe2,
};

static struct nvs_next found;
static _Atomic int ready;
/* This thread is in dlsym(). Volatile because dlsym() is declared never to call back into this
 * file, so the compiler would drop the store. */
static __thread volatile int looking;

/* A function that this libc lacks (fstat before 2.33, for example) keeps the raw entry. */
#define FIND(type, field, name, arguments)                                  \
	do {                                                                \
		void *p_ = dlsym(RTLD_NEXT, #name);                         \
		table.field = p_ ? (__typeof__(table.field))p_ : raw.field; \
	} while (0);

/* Concurrent callers do the same work and store the same values. */
static void look_up(void)
{
	struct nvs_next table;
	int err = errno;

	looking = 1;
	NVS_NEXT_FUNCTIONS(FIND)
	looking = 0;
	found = table;
	atomic_store_explicit(&ready, 1, memory_order_release);
	errno = err;
}

const struct nvs_next *nvs_next(void)
{
	if (atomic_load_explicit(&ready, memory_order_acquire))
		return &found;
	if (looking)
		return &raw;
	look_up();
	return &found;
}
