/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: no errno, no cancellation point, no binding. For the trap.
 */
#ifndef NVSNOOP_TRAP_SYS_H
#define NVSNOOP_TRAP_SYS_H

#include <sys/syscall.h>

/* Result or -errno. */
static inline long nvs_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long ret;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return ret;
}

#define nvs_sys(nr, a, b, c, d) nvs_sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#endif
