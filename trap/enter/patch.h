/* SPDX-License-Identifier: MIT */
/*
 * Patched store sites: where a doorbell store is known and understood, it is reached by a jump
 * instead of a fault. The protected page stays: whatever does not come this way still traps.
 */
#ifndef NVSNOOP_TRAP_ENTER_PATCH_H
#define NVSNOOP_TRAP_ENTER_PATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "trap/code/insn.h"
#include "trap/code/store_site.h"

#define NVS_MAX_SITES 16

enum nvs_patch_state {
	NVS_PATCH_FREE,
	NVS_PATCH_CLAIMED, /* being filled in */
	NVS_PATCH_SEEN, /* trapped; waits for nvs_patch_work, or for the module that it is in */
	NVS_PATCH_WRITING, /* its first byte is a stop, in a forked child for good */
	NVS_PATCH_DONE,
	NVS_PATCH_REFUSED, /* stays a trap; refusal says why */
};

/* Registers as the trampoline pushes them. */
struct nvs_fast_regs {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
	uint64_t flags;
	uint8_t red_zone[128];
	/* here is RSP of the interrupted code */
};

struct nvs_patch_site {
	_Atomic uint32_t state; /* enum nvs_patch_state */
	uint32_t refusal; /* enum nvs_site_refusal */
	uintptr_t address;
	uintptr_t trampoline; /* 0: nothing has been written at the site yet */
	uintptr_t original; /* where its own bytes run in the trampoline */
	uintptr_t hop; /* struct nvs_site; 0: none */
	uint8_t bytes[NVS_INSN_MAX]; /* as they were */
	uint8_t length;
	uint8_t base, source; /* enum nvs_reg */
	int32_t disp;
	uint64_t changes; /* of the list of modules, when it was looked at last */
};

/* From the trap: a doorbell store at ADDRESS was emulated; remembered for nvs_patch_work. */
void nvs_patch_seen(uintptr_t address, const uint8_t *bytes, const struct nvs_insn *insn);
/*
 * If RIP lies in a trampoline's copy of a store, or at a site whose bytes are changed: the site.
 * Its address and its bytes are what the trap has to go by.
 */
const struct nvs_patch_site *nvs_patch_site_of(uintptr_t rip);
/*
 * Patches what the trap has seen, on a thread that may take its time. TEXT_OF fills in the
 * executable mapping that holds an address; false: no module there.
 */
/* True: nvs_patch_work() would find something to do. */
bool nvs_patch_pending(void);
typedef bool (*nvs_text_fn)(uintptr_t address, struct nvs_site_text *text);
void nvs_patch_work(nvs_text_fn text_of);
/* All NVS_MAX_SITES of them, for what the trace tells about sites. */
const struct nvs_patch_site *nvs_patch_sites(void);
/* What the trampoline calls: true, the store is done. */
bool nvs_fast_doorbell(const struct nvs_patch_site *site, struct nvs_fast_regs *regs);
/* True where RIP lies on the way that a patched site takes: its cave, its hop, its trampoline. */
bool nvs_patch_is_way(uintptr_t rip);
/* True in the code that stands at the beginning and the end of nvs_fast_doorbell(). */
bool nvs_fast_is_code(uintptr_t rip);
/*
 * A fault at RIP that no access to memory explains. If a stop stands there, or did, since a site is
 * being written: where the thread has to go on, without waiting for anybody. 0: it is not ours.
 */
uintptr_t nvs_patch_stopped(uintptr_t rip);

#endif
