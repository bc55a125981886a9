/* SPDX-License-Identifier: MIT */
/* Direct system calls: the software GPU's own calls must not pass through the hooks of a library
 * preloaded before it, nor through its own hooks. */
#ifndef SOFTGPU_SYS_H
#define SOFTGPU_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "trap/arch/cpu.h"

/* The kernel's result: a negative number is -errno. */
#define sg_sys nvs_syscall

static inline void *sg_mmap(void *at, size_t n, int prot, int flags, int fd, uint64_t off)
{
	long r = sg_sys(SYS_mmap, (long)at, (long)n, prot, flags, fd, (long)off);

	return r < 0 && r > -4096 ? MAP_FAILED : (void *)r;
}

static inline int sg_munmap(void *at, size_t n)
{
	return (int)sg_sys(SYS_munmap, (long)at, (long)n, 0, 0, 0, 0);
}

static inline int sg_close(int fd)
{
	return (int)sg_sys(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline int sg_memfd(const char *name, uint64_t size)
{
	int fd = (int)sg_sys(SYS_memfd_create, (long)name, 1 /* MFD_CLOEXEC */, 0, 0, 0, 0);

	if (fd >= 0 && size && sg_sys(SYS_ftruncate, fd, (long)size, 0, 0, 0, 0) < 0) {
		sg_close(fd);
		return -1;
	}
	return fd;
}

static inline int sg_fstat(int fd, struct stat *st)
{
	return (int)sg_sys(SYS_fstat, fd, (long)st, 0, 0, 0, 0);
}

static inline void sg_futex_wait(uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000)};

	sg_sys(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, (long)value, ns ? (long)&ts : 0, 0, 0);
}

static inline void sg_futex_wake(uint32_t *word)
{
	sg_sys(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, 0x7fffffff, 0, 0, 0);
}

static inline uint64_t sg_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#endif
