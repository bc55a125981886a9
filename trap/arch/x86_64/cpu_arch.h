/* SPDX-License-Identifier: MIT */
/* The part of trap/arch/cpu.h that is x86-64's. */
#ifndef NVSNOOP_TRAP_ARCH_X86_64_CPU_ARCH_H
#define NVSNOOP_TRAP_ARCH_X86_64_CPU_ARCH_H

#include <cpuid.h>

#define NVS_TICKS_SOURCE "tsc"
#define NVS_PAGE_MAX 4096
#define NVS_ARG_REGS 6u
#define NVS_MACHINE 62 /* EM_X86_64 */
#define NVS_MACHINE_NAME "x86-64"
#define NVS_MULTIARCH "x86_64-linux-gnu"
#define NVS_RELOC_SLOT 7 /* R_X86_64_JUMP_SLOT */
#define NVS_RELOC_GLOBAL 6 /* R_X86_64_GLOB_DAT */
#define NVS_RELOC_ADDRESS 1 /* R_X86_64_64 */
#define NVS_DW_FP 6u /* RBP */
#define NVS_DW_SP 7u
#define NVS_DW_RA 16u
#define NVS_RA_IN_REGISTER false
#define NVS_USES_LIBUNWIND true

static inline long nvs_syscall(long number, long a, long b, long c, long d, long e, long f)
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

static inline long nvs_syscall_off_stack(long number, long a, long b)
{
	long ret = number;

	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "xor %%esp, %%esp\n\t"
			 "syscall\n\t"
			 "mov %%r12, %%rsp"
			 : "+a"(ret)
			 : "D"(a), "S"(b)
			 : "rcx", "r11", "r12", "memory");
	return ret;
}

static inline void nvs_fence_device(void)
{
	__asm__ volatile("sfence" ::: "memory");
}

/* Locked instructions order even write-combined stores. */
static inline void nvs_fence_device_atomic(void)
{
	__asm__ volatile("" ::: "memory");
}

static inline void nvs_add_local(uint64_t *counter, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(n) : "cc");
}

static inline uint64_t nvs_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* No instruction: readings were tested on GPUs without one. lfence would be the strict form. */
static inline void nvs_fence_ticks(void)
{
	__asm__ volatile("" ::: "memory");
}

static inline bool nvs_ticks_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* Processors have 2 to 4 GHz. */
static inline uint64_t nvs_ticks_of_ms(void)
{
	return 1u << 21;
}

static inline void nvs_pause(void)
{
	__builtin_ia32_pause();
}

static inline void nvs_warm_write(const void *at)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const uint8_t *)at));
}

static inline void nvs_warm_read(const void *at)
{
	__asm__ volatile("prefetcht0 (%0)" : : "r"(at));
}

static inline size_t nvs_page_bytes(void)
{
	return 4096;
}

#endif
