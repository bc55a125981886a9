/* SPDX-License-Identifier: MIT */
/*
 * Direct system calls: they return -errno, leave errno unchanged, bypass hooks (ours and those of
 * other preloaded libraries) and cancellation points, and may be made in a signal handler or in the
 * trap.
 */
#ifndef NVSNOOP_TRAP_LOW_SYS_H
#define NVSNOOP_TRAP_LOW_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include "trap/arch/cpu.h"

/* nvs_syscall() for up to four arguments of any type. */
#define nvs_sys4(number, a, b, c, d) \
	nvs_syscall(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* Sleeps NS nanoseconds, less than a second; a signal ends the sleep. */
static inline void nvs_sleep(long ns)
{
	struct timespec time = {0, ns};

	nvs_sys4(SYS_nanosleep, &time, 0, 0, 0);
}

/* The time of CLOCK in nanoseconds. */
static inline uint64_t nvs_read_clock(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* True if a file of BYTES bytes exceeds the program's RLIMIT_FSIZE. Call it before a file grows:
 * the kernel would send the program a SIGXFSZ. */
static inline bool nvs_sys_over_limit(uint64_t bytes)
{
	struct rlimit limit;

	return !nvs_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) &&
	       limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/*
 * Maps SIZE bytes of zeros that take memory only when touched, even in a program that locks all its
 * mappings (mlockall(MCL_FUTURE)): that does not fault in inaccessible pages, and the mapping is
 * unlocked before it becomes accessible. Returns NULL if there is no memory.
 */
static inline void *nvs_sys_map_sparse(unsigned long size)
{
	long p = nvs_syscall(SYS_mmap, 0, (long)size, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p < 0 && p > -4096)
		return 0;
	nvs_sys4(SYS_munlock, p, size, 0, 0);
	if (nvs_sys4(SYS_mprotect, p, size, PROT_READ | PROT_WRITE, 0)) {
		nvs_sys4(SYS_munmap, p, size, 0, 0);
		return 0;
	}
	return (void *)p;
}

#endif
