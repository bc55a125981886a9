/* SPDX-License-Identifier: MIT */
/*
 * System calls as they are: they return -errno, leave errno alone, meet no hook (ours or another
 * preloaded library's) and no cancellation point, and may be made in a signal handler or in the
 * trap.
 */
#ifndef NVSNOOP_TRAP_LOW_SYS_H
#define NVSNOOP_TRAP_LOW_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Result or -errno. */
static inline long nvs_sys(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* The same for up to four arguments of any type. */
#define nvs_sys4(number, a, b, c, d) \
	nvs_sys(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/*
 * True: the program may have no file of so many bytes. To be asked before one grows, since the
 * kernel's answer is a SIGXFSZ for the program.
 */
static inline bool nvs_sys_over_limit(uint64_t bytes)
{
	struct rlimit limit;

	return !nvs_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) &&
	       limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/*
 * SIZE bytes of zeros that take room when they are touched, also in a program that locks whatever
 * is mapped (mlockall(MCL_FUTURE)): what cannot be accessed yet is not brought in by that, and is
 * taken off the lock before it can be. NULL: there is no room.
 */
static inline void *nvs_sys_map_sparse(unsigned long size)
{
	long p = nvs_sys(SYS_mmap, 0, (long)size, PROT_NONE,
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
