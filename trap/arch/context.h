/* SPDX-License-Identifier: MIT */
/* The registers of an interrupted thread. Each processor's folder defines these in context_arch.h.
 */
#ifndef NVSNOOP_TRAP_ARCH_CONTEXT_H
#define NVSNOOP_TRAP_ARCH_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

static inline uintptr_t nvs_context_pc(const mcontext_t *m);
static inline void nvs_context_set_pc(mcontext_t *m, uintptr_t pc);
static inline uintptr_t nvs_context_sp(const mcontext_t *m);
static inline void nvs_context_set_sp(mcontext_t *m, uintptr_t sp);
static inline uintptr_t nvs_context_fp(const mcontext_t *m); /* frame pointer */
/* The register that holds the return address in functions that call no others; 0: there is none. */
static inline uintptr_t nvs_context_lr(const mcontext_t *m);
/* True if the program single-steps itself. */
static inline bool nvs_context_steps(const mcontext_t *m);
/* A return address as the call left it: without its signature, where processors sign them, and
 * without what unwinders subtract from it. */
static inline uintptr_t nvs_strip_return(uintptr_t address);
/* The return address of a function that has just been entered with SP and LR. */
static inline uintptr_t nvs_return_address(uintptr_t sp, uintptr_t lr);

#include "context_arch.h"

#endif
