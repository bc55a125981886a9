/* SPDX-License-Identifier: MIT */
/*
 * What differs between processors in single instructions and in numbers. A processor defines it in
 * cpu_arch.h of its own folder, which the build selects (ARCH). Everything is inline and may be
 * used in the trap.
 */
#ifndef NVSNOOP_TRAP_ARCH_CPU_H
#define NVSNOOP_TRAP_ARCH_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- system calls ---- */

/* Returns the result or -errno. Leaves errno unchanged. */
static inline long nvs_syscall(long number, long a, long b, long c, long d, long e, long f);
/* The same, with a stack pointer that is on no stack while the kernel runs; for sigaltstack(). */
static inline long nvs_syscall_off_stack(long number, long a, long b);

/* ---- memory order, in addition to that of C11 ---- */

/* Makes all stores before it, also those to write-combined memory, visible to the GPU before any
 * store after it. */
static inline void nvs_fence_device(void);
/* The same where an atomic read-modify-write follows before the next store that the GPU sees:
 * nothing on a processor where that alone has this effect. */
static inline void nvs_fence_device_atomic(void);
/* Adds N to *COUNTER, which no other thread writes, in one instruction: a signal handler of this
 * thread cannot tear it. */
static inline void nvs_add_local(uint64_t *counter, uint64_t n);

/* ---- time ---- */

/* A counter that runs at one rate on all cores, if nvs_ticks_invariant() returns true and the
 * kernel's clock source is NVS_TICKS_SOURCE. */
static inline uint64_t nvs_ticks(void);
/* Neither a reading of nvs_ticks() nor a load of a device's register moves to the other side of
 * this. */
static inline void nvs_fence_ticks(void);
static inline bool nvs_ticks_invariant(void);
/* About the ticks of a millisecond, at least half as many. */
static inline uint64_t nvs_ticks_of_ms(void);

/* ---- hints ---- */

/* Call it in a loop that waits for another thread. */
static inline void nvs_pause(void);
/* Prefetch the cache line at AT; an address that is not mapped does no harm. */
static inline void nvs_warm_write(const void *at);
static inline void nvs_warm_read(const void *at);

/* ---- numbers ---- */

/* Bytes of a page of memory: a power of two, at most NVS_PAGE_MAX. */
static inline size_t nvs_page_bytes(void);

/*
 * NVS_PAGE_MAX        bytes of the largest page
 * NVS_TICKS_SOURCE    the clock source whose rate that of nvs_ticks() is, as sysfs has it
 * NVS_ARG_REGS        arguments of a C function that are in registers
 * NVS_MACHINE         e_machine of an ELF file,
 * NVS_MACHINE_NAME    and what such a program is called
 * NVS_MULTIARCH       Debian's name for folders of its libraries
 * NVS_RELOC_SLOT      relocation types: a slot of the procedure linkage table,
 * NVS_RELOC_GLOBAL    a slot for a symbol's address,
 * NVS_RELOC_ADDRESS   a symbol's address plus an addend
 * NVS_DW_FP           DWARF register numbers: frame pointer,
 * NVS_DW_SP           stack pointer,
 * NVS_DW_RA           return address
 * NVS_RA_IN_REGISTER  true: a call leaves its return address in a register, not on the stack
 * NVS_USES_LIBUNWIND  true: libunwind unwinds all code of this processor, and faster than glibc
 */
#include "cpu_arch.h"

static inline uint64_t nvs_page_offset(uint64_t address)
{
	return address & (nvs_page_bytes() - 1);
}

static inline uint64_t nvs_page_of(uint64_t address)
{
	return address & ~(uint64_t)(nvs_page_bytes() - 1);
}

/* Rounds up to whole pages. */
static inline uint64_t nvs_page_up(uint64_t bytes)
{
	return nvs_page_of(bytes + nvs_page_bytes() - 1);
}

#endif
