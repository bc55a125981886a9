/* SPDX-License-Identifier: MIT */
/* The part of trap/arch/cpu.h that is aarch64's. Needs Armv8.1 (atomic instructions). */
#ifndef NVSNOOP_TRAP_ARCH_AARCH64_CPU_ARCH_H
#define NVSNOOP_TRAP_ARCH_AARCH64_CPU_ARCH_H

#include <sys/auxv.h>

#define NVS_TICKS_SOURCE "arch_sys_counter"
#define NVS_PAGE_MAX 65536
#define NVS_ARG_REGS 8u
#define NVS_MACHINE 183 /* EM_AARCH64 */
#define NVS_MACHINE_NAME "aarch64"
#define NVS_MULTIARCH "aarch64-linux-gnu"
#define NVS_RELOC_SLOT 1026 /* R_AARCH64_JUMP_SLOT */
#define NVS_RELOC_GLOBAL 1025 /* R_AARCH64_GLOB_DAT */
#define NVS_RELOC_ADDRESS 257 /* R_AARCH64_ABS64 */
#define NVS_DW_FP 29u
#define NVS_DW_SP 31u
#define NVS_DW_RA 30u
#define NVS_RA_IN_REGISTER true
/* libunwind 1.6 does not know signed return addresses, and its unw_backtrace() ends at a function
 * without a frame that a signal interrupted. */
#define NVS_USES_LIBUNWIND false

static inline long nvs_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static inline long nvs_syscall_off_stack(long number, long a, long b)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x9 __asm__("x9");
	register long x10 __asm__("x10") = 0;

	__asm__ volatile("mov x9, sp\n\t"
			 "mov sp, x10\n\t"
			 "svc #0\n\t"
			 "mov sp, x9"
			 : "+r"(x0), "=&r"(x9)
			 : "r"(x8), "r"(x1), "r"(x10)
			 : "memory");
	return x0;
}

/* What NVIDIA's kernel driver flushes write-combined memory with. By the Arm memory model `dmb
 * oshst` would order the stores; which is needed on Grace has not been tried. */
static inline void nvs_fence_device(void)
{
	__asm__ volatile("dsb st" ::: "memory");
}

static inline void nvs_fence_device_atomic(void)
{
	nvs_fence_device();
}

static inline void nvs_add_local(uint64_t *counter, uint64_t n)
{
	__asm__ volatile(".arch_extension lse\n\tstadd %1, %0" : "+Q"(*counter) : "r"(n));
}

/* The counter may be read early; the barrier keeps it behind the instructions before it. */
static inline uint64_t nvs_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
	return ticks;
}

/* The counter is no memory, so a barrier of loads alone does not order it. */
static inline void nvs_fence_ticks(void)
{
	__asm__ volatile("dsb ld\n\tisb" ::: "memory");
}

static inline bool nvs_ticks_invariant(void)
{
	return true;
}

static inline uint64_t nvs_ticks_of_ms(void)
{
	uint64_t hertz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
	return (hertz & 0xffffffff) / 1000;
}

static inline void nvs_pause(void)
{
	__asm__ volatile("isb" ::: "memory");
}

static inline void nvs_warm_write(const void *at)
{
	__asm__ volatile("prfm pstl1keep, [%0]" : : "r"(at));
}

static inline void nvs_warm_read(const void *at)
{
	__asm__ volatile("prfm pldl1keep, [%0]" : : "r"(at));
}

/* Kernels have pages of 4 or 64 KiB. */
static inline size_t nvs_page_bytes(void)
{
	static size_t bytes;

	if (!bytes)
		bytes = getauxval(AT_PAGESZ);
	return bytes;
}

#endif
