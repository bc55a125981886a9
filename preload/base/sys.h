/* SPDX-License-Identifier: MIT */
/* Wrappers of the system calls that preload makes without libc (trap/low/sys.h says why). Only for
 * the library's own files and memory; calls on devices go through nvs_next(). */
#ifndef NVSNOOP_PRELOAD_BASE_SYS_H
#define NVSNOOP_PRELOAD_BASE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "trap/low/sys.h"

static inline int nvs_sys_open(const char *path, int flags, int mode)
{
	return nvs_syscall(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}

static inline int nvs_sys_close(int fd)
{
	return nvs_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline long nvs_sys_read(int fd, void *data, size_t size)
{
	return nvs_syscall(SYS_read, fd, (long)data, size, 0, 0, 0);
}

static inline long nvs_sys_write(int fd, const void *data, size_t size)
{
	return nvs_syscall(SYS_write, fd, (long)data, size, 0, 0, 0);
}

/* Reads a small file as text, truncated to SIZE. Returns its length, 0 if it cannot be read. */
static inline size_t nvs_sys_read_file(const char *path, char *text, size_t size)
{
	int fd = nvs_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t used = 0;
	long n = fd < 0 ? 0 : 1;

	while (used < size - 1 && n > 0) {
		n = nvs_sys_read(fd, text + used, size - 1 - used);
		if (n > 0)
			used += (size_t)n;
	}
	if (fd >= 0)
		nvs_sys_close(fd);
	text[used] = '\0';
	return used;
}

static inline long nvs_sys_pwrite(int fd, const void *data, size_t size, uint64_t offset)
{
	return nvs_syscall(SYS_pwrite64, fd, (long)data, size, offset, 0, 0);
}

static inline int nvs_sys_fstat(int fd, struct stat *st)
{
	return nvs_syscall(SYS_fstat, fd, (long)st, 0, 0, 0, 0);
}

static inline int nvs_sys_lstat(const char *path, struct stat *st)
{
	return nvs_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)st, AT_SYMLINK_NOFOLLOW, 0,
			   0);
}

static inline int nvs_sys_stat(const char *path, struct stat *st)
{
	return nvs_syscall(SYS_newfstatat, AT_FDCWD, (long)path, (long)st, 0, 0, 0);
}

static inline int nvs_sys_mkdir(const char *path, unsigned mode)
{
	return nvs_syscall(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

static inline int nvs_sys_fcntl(int fd, int command, long arg)
{
	return nvs_syscall(SYS_fcntl, fd, command, arg, 0, 0, 0);
}

static inline int nvs_sys_ftruncate(int fd, uint64_t size)
{
	return nvs_syscall(SYS_ftruncate, fd, size, 0, 0, 0, 0);
}

static inline int nvs_sys_flock(int fd, int operation)
{
	return nvs_syscall(SYS_flock, fd, operation, 0, 0, 0, 0);
}

static inline int nvs_sys_unlink(const char *path)
{
	return nvs_syscall(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

/* FLAGS as for renameat2(). A kernel or file system without that call replaces the target. */
static inline int nvs_sys_rename(const char *from, const char *to, unsigned flags)
{
	int err = flags ? nvs_syscall(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to,
				      flags, 0)
			: -EINVAL;

	return err == -EINVAL || err == -ENOSYS
		       ? nvs_syscall(SYS_renameat, AT_FDCWD, (long)from, AT_FDCWD, (long)to, 0, 0)
		       : err;
}

/* Reads a link as text, "" if it cannot be read. */
static inline void nvs_sys_readlink(const char *path, char *out, size_t size)
{
	long n = nvs_syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)out, size - 1, 0, 0);

	out[n > 0 ? n : 0] = '\0';
}

/* Returns the address, or NULL. */
static inline void *nvs_sys_mmap(void *at, size_t size, int prot, int flags, int fd,
				 uint64_t offset)
{
	long ret = nvs_syscall(SYS_mmap, (long)at, size, prot, flags, fd, offset);

	return (unsigned long)ret > -4096ul ? NULL : (void *)ret;
}

static inline int nvs_sys_munmap(void *at, size_t size)
{
	return nvs_syscall(SYS_munmap, (long)at, size, 0, 0, 0, 0);
}

#define NVS_RESERVE_SLACK ((size_t)16 << 20)

/*
 * Reserves address space to be mapped over. Returns NULL if the program would have less than
 * NVS_RESERVE_SLACK left. This is tested by mapping: a sandbox may kill for a call that reads the
 * limit.
 */
static inline void *nvs_sys_reserve(size_t size)
{
	uint8_t *p = nvs_sys_mmap(NULL, size + NVS_RESERVE_SLACK, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p)
		nvs_sys_munmap(p + size, NVS_RESERVE_SLACK);
	return p;
}

static inline int nvs_sys_madvise(void *at, size_t size, int advice)
{
	return nvs_syscall(SYS_madvise, (long)at, size, advice, 0, 0, 0);
}

static inline int nvs_sys_getpid(void)
{
	return nvs_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int nvs_sys_gettid(void)
{
	return nvs_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* The kernel's signal set: 64 bits, signal n at bit n - 1. */
static inline int nvs_sys_sigmask(int how, const uint64_t *set, uint64_t *old)
{
	return nvs_syscall(SYS_rt_sigprocmask, how, (long)set, (long)old, sizeof(uint64_t), 0, 0);
}

/*
 * Blocks the signals that can wait until a critical section has ended. Fault signals, SIGSYS and
 * glibc's signal for setuid() on all threads stay open. SIGSTKFLT is blocked too, which holds back
 * a SIGSEGV sent by a process (preload/signals/sigview.c). Returns the previous mask.
 */
static inline uint64_t nvs_sys_block_async(void)
{
	static const uint64_t own = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) |
				    1ull << (SIGTRAP - 1) | 1ull << (SIGSYS - 1) | 1ull << (33 - 1);
	uint64_t async = ~own, saved = 0;

	nvs_sys_sigmask(SIG_BLOCK, &async, &saved);
	return saved;
}

/* Returns true if 8 bytes at AT can be read, also in a mapping of a device and on threads that
 * block SIGSEGV. The kernel reads the mask at AT before it rejects the unknown HOW with EINVAL. */
static inline bool nvs_sys_readable(const volatile void *at)
{
	return nvs_syscall(SYS_rt_sigprocmask, -1, (long)at, 0, 8, 0, 0) == -EINVAL;
}

/* Sends SIGNAL with INFO, unchanged, to the calling thread. */
static inline int nvs_sys_queue_self(int signal, const siginfo_t *info)
{
	return nvs_syscall(SYS_rt_tgsigqueueinfo, nvs_sys_getpid(), nvs_sys_gettid(), signal,
			   (long)info, 0, 0);
}

/*
 * Sleeps in short naps while *WORD is VALUE, for about a second at most. Another thread changes it
 * within a few system calls, unless it has died in the middle or is the thread we have interrupted.
 * Returns false if it has not changed.
 */
static inline bool nvs_sys_wait_while(_Atomic uint32_t *word, uint32_t value)
{
	for (int i = 0; i < 10000 && atomic_load(word) == value; i++)
		nvs_sleep(100000);
	return atomic_load(word) != value;
}

/* Sleeps while *WORD is VALUE, at most TIMEOUT_MS. Returns 0, -ETIMEDOUT, -EAGAIN or -EINTR. */
static inline int nvs_sys_futex_wait(_Atomic uint32_t *word, uint32_t value, unsigned timeout_ms)
{
	struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000l};

	return nvs_syscall(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&timeout, 0, 0);
}

static inline void nvs_sys_futex_wake(_Atomic uint32_t *word)
{
	nvs_syscall(SYS_futex, (long)word, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
}

/* A lock word: 0 free, 1 held, 2 held with waiters. Only for short critical sections. */
static inline void nvs_sys_lock(_Atomic uint32_t *lock)
{
	uint32_t free = 0;

	if (atomic_compare_exchange_strong(lock, &free, 1))
		return;
	while (atomic_exchange(lock, 2) != 0)
		nvs_sys_futex_wait(lock, 2, 1000);
}

static inline void nvs_sys_unlock(_Atomic uint32_t *lock)
{
	if (atomic_exchange(lock, 0) == 2)
		nvs_sys_futex_wake(lock);
}

#endif
