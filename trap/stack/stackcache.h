/* SPDX-License-Identifier: MIT */
/*
 * Known stacks: a stack that was unwound before is recognised by comparing a few words of it,
 * without unwinding. A wrong match is not allowed; not to know a stack always is.
 *
 * What is kept of a stack. Unwinding goes from frame to frame by what the code says about itself
 * (.eh_frame). For each frame that gives one or two words to read: the return address, at a place
 * that follows from the canonical frame address (CFA), and where the CFA is reckoned from RBP,
 * RBP's value in that frame. Each becomes a check, in the order in which an unwinder comes by them:
 *
 *   rip         the store's own address
 *   return      the word at RSP + slot is this address
 *   base        the word at RSP + slot (or RBP itself, while no frame has saved it), less RSP, is
 * this number; likewise for the word in which a function that aligns its stack keeps its CFA end
 * nothing follows: the outermost frame has no return address by what its code says, or has the word
 * 0 there, or is code without an entry, RBP being 0: three ways in which unwinders end
 *
 * RSP is the stack pointer at the store, so nothing depends on where the stack lies, or whose it
 * is.
 *
 * Why a match is a match. Let all checks of a known stack hold. By induction over its frames: in
 * frame i the address, the distance of its RSP from the store's RSP, and the place that holds its
 * RBP (RBP itself or a slot at a certain distance) are those of the known stack. For frame 0 this
 * is the check of rip. If it is so for frame i, the address selects the same rules. If they reckon
 * the CFA from RSP its distance is that of the known stack; if from RBP, the check of base at the
 * place of RBP says that RBP less RSP is the same, and so the distance is; if from a loaded word,
 * the check of that word says so. The rules put the return address and the caller's RBP at fixed
 * distances from the CFA (or leave RBP where it is), so the slot that was checked is the very one
 * that an unwinder reads, and it holds the same address: frame i+1 has the same address, its RSP is
 * the CFA of frame i, and the place of RBP is again the same. At the end the unwinder stops for the
 * same reason. So it yields the same addresses, which is what the number stands for. A frame for
 * which any of this cannot be said (no rules, a signal's frame, an expression, another register,
 * return address elsewhere) makes its stack unknown for ever.
 *
 * The same argument says that each word is read only where the checks before it have shown a frame
 * to be, so there it is mapped; were it not, the load is guarded and the stack is not known.
 *
 * A stack that the unwinder's buffer cut (NVS_STACKCACHE_CUT) ends without a check of its end: its
 * number stands for those innermost frames, and they are what is proven.
 *
 * The rules of an address change only with the modules: unloading one drops everything
 * (unload_count). As for the table of stacks itself, that is noticed when the loader's counts are
 * looked at next.
 *
 * Stacks share their common beginnings: the checks form a tree, the first one missed selects the
 * next branch. So the time of a match is that of its own frames, however many stacks are known.
 */
#ifndef NVSNOOP_TRAP_STACK_STACKCACHE_H
#define NVSNOOP_TRAP_STACK_STACKCACHE_H

#include <stdint.h>

struct nvs_buffer;

/* Of the 256 frames that an unwinder is asked for, at most 16 are ours: from here on a stack may be
 * cut. */
#define NVS_STACKCACHE_CUT 240u
#define NVS_STACKCACHE_FRAMES 256u

/*
 * In the trap, by the owner of BUFFER, with the registers of the interrupted store: the unwinder
 * gave pcs[0..n-1], pcs[0] being RIP and the others return addresses, and STACK is their number.
 * Cheap where it is known already or cannot be learned. Takes memory of its own from the kernel
 * once a buffer (512 KiB, touched as used).
 */
void nvs_stackcache_learn(struct nvs_buffer *buffer, uintptr_t rip, uintptr_t rsp, uintptr_t rbp,
			  void *const *pcs, uint32_t n, uint32_t stack);

/*
 * The number of the known stack that leads to these registers, or NVS_NONE. By the owner of BUFFER.
 */
uint32_t nvs_stackcache_match(struct nvs_buffer *buffer, uintptr_t rip, uintptr_t rsp,
			      uintptr_t rbp);

/* ---- between stackcache.c and walk.S ---- */

/* In the low bits of a slot. */
enum nvs_stackcache_check {
	NVS_CHECK_WORD, /* the word at RSP + slot */
	NVS_CHECK_WORD_LESS_RSP,
	NVS_CHECK_RBP_LESS_RSP,
	NVS_CHECK_RBP,
	NVS_CHECK_END, /* value: the stack's number */
	NVS_CHECK_RIP,
};

/*
 * One check. What is to be checked where it holds is the next node in memory; where it does not,
 * NEXT bytes on stands another value for the same word, 0: there is none.
 */
struct nvs_stackcache_node {
	uint64_t value;
	int32_t slot; /* multiple of 8, plus enum nvs_stackcache_check */
	uint32_t next;
};

uint32_t nvs_stackcache_walk(const struct nvs_stackcache_node *first, uintptr_t rip, uintptr_t rsp,
			     uintptr_t rbp);

#endif
