/* SPDX-License-Identifier: MIT */
/* Patched store sites: a doorbell store that is known and understood is reached by a jump instead
 * of a fault. The page stays protected: other stores to it still trap. */
#ifndef NVSNOOP_TRAP_ENTER_PATCH_H
#define NVSNOOP_TRAP_ENTER_PATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "trap/arch/site.h"

#define NVS_MAX_SITES 16

enum nvs_patch_state {
	NVS_PATCH_FREE,
	NVS_PATCH_CLAIMED, /* being filled in */
	NVS_PATCH_SEEN, /* trapped; waits for nvs_patch_pending_sites, or for its module to be
			   listed */
	NVS_PATCH_WRITING, /* its first byte is a stop; permanent in a forked child */
	NVS_PATCH_DONE,
	NVS_PATCH_REFUSED, /* the site keeps trapping; refusal says why */
};

struct nvs_patch_site {
	_Atomic uint32_t state; /* enum nvs_patch_state */
	uint32_t refusal; /* enum nvs_site_refusal */
	uintptr_t address;
	uintptr_t trampoline; /* 0: the site has not been written yet */
	uintptr_t original; /* address of the copy of its own bytes in the trampoline */
	uintptr_t hop; /* see struct nvs_site; 0: none */
	uint8_t bytes[NVS_INSN_MAX]; /* the original bytes */
	uint8_t length;
	struct nvs_site_form form;
	uint64_t changes; /* of the module list, when the site was last checked */
};

/* Called by the trap when it has emulated a doorbell store at ADDRESS: notes it for
 * nvs_patch_pending_sites. */
void nvs_patch_note(uintptr_t address, const uint8_t *bytes, const struct nvs_insn *insn);
/* Returns the site if PC is in a trampoline's copy of a store, or at a site whose bytes have been
 * changed. The trap uses the site's address and bytes instead of those at PC. */
const struct nvs_patch_site *nvs_patch_site_of(uintptr_t pc);
/* True if nvs_patch_pending_sites() has work to do. */
bool nvs_patch_pending(void);
/* Fills in the executable mapping that holds an address. Returns false if no module is there. */
typedef bool (*nvs_text_fn)(uintptr_t address, struct nvs_site_text *text);
/* Patches the sites that the trap has noted, on a thread of the library that may take its time. */
void nvs_patch_pending_sites(nvs_text_fn text_of);
/* All NVS_MAX_SITES sites, for the trace's CHECK records. */
const struct nvs_patch_site *nvs_patch_sites(void);
/* Called by the trampoline. Returns true if the store has been performed. */
bool nvs_fast_doorbell(const struct nvs_patch_site *site, struct nvs_fast_regs *regs);
/* True if PC is on the path of a patched site: in its cave, its hop or its trampoline. */
bool nvs_patch_is_on_path(uintptr_t pc);
/* True in the code at the beginning and the end of nvs_fast_doorbell(). */
bool nvs_fast_is_code(uintptr_t pc);
/*
 * Handles a fault at PC that no memory access explains. Returns where the thread has to continue
 * if there is a stop at PC, or was one while the site was being written; it never waits. Returns 0
 * if the fault is not the trap's.
 */
uintptr_t nvs_patch_resume_at(uintptr_t pc);

#endif
