/* SPDX-License-Identifier: MIT */
/* Known stacks: a stack that was unwound before is recognised by comparing a few words of it,
 * without unwinding. A wrong match is not allowed; a missed match always is. */
#ifndef NVSNOOP_TRAP_STACK_STACKCACHE_H
#define NVSNOOP_TRAP_STACK_STACKCACHE_H

#include <stdint.h>

struct nvs_buffer;

/*
 * Checks of a stack. Unwinding goes from frame to frame by the rules for the code (.eh_frame). Each
 * frame gives one or two words to read: the return address, at a place that follows from the
 * canonical frame address (CFA), and, if the CFA is computed from FP, FP's value in that frame.
 * Each becomes a check, in the order in which an unwinder reads them:
 *
 *   - pc: the store's own address.
 *   - return: the word at SP + slot is this address.
 *   - base: the word at SP + slot (or FP itself, while no frame has saved it), minus SP, is this
 *     number; likewise for the word in which a function that aligns its stack keeps its CFA.
 *   - end: nothing follows. The outermost frame has no return address by its rules, or has the word
 *     0 there, or is code without an entry while FP is 0: three ways in which unwinders end.
 *
 * SP is the stack pointer at the store, so nothing depends on the address or the owner of the
 * stack.
 *
 * Why a match is correct. Let all checks of a known stack hold. By induction over its frames: in
 * frame i the address, the distance of its SP from the store's SP, and the place that holds its
 * FP (FP itself or a slot at a certain distance) are those of the known stack. For frame 0 this
 * is the check of pc. If it is so for frame i, the address selects the same rules. If they compute
 * the CFA from SP, its distance is that of the known stack; if from FP, the check of base at the
 * place of FP shows that FP minus SP is the same, and so the distance is; if from a loaded word,
 * the check of that word shows it. The rules put the return address and the caller's FP at fixed
 * distances from the CFA (or leave FP where it is), so the slot that was checked is the one that
 * an unwinder reads, and it holds the same address: frame i+1 has the same address, its SP is the
 * CFA of frame i, and the place of FP is again the same. At the end the unwinder stops for the
 * same reason. So it yields the same addresses, for which the number stands. If any of this does
 * not hold for a frame (no rules, a signal's frame, an expression, another register, the return
 * address elsewhere), its stack is never learned.
 *
 * Where calls leave the return address in a register (NVS_RA_IN_REGISTER), it may still be there in
 * frame 0, whose CFA may then be SP itself; NVS_CHECK_LR compares it. Signatures of return
 * addresses are removed before they are compared: an unwinder removes them too.
 *
 * By the same argument each word is read only where the checks before it have shown a frame to be,
 * so it is mapped there; if it were not, the load is guarded and the stack is not matched.
 *
 * A stack that the unwinder's buffer cut (NVS_STACKCACHE_CUT) ends without a check of its end: its
 * number stands for the innermost frames, and those are proven.
 *
 * The rules of an address change only with the modules: unloading one drops the whole tree
 * (unload_count). As for the table of stacks itself, an unload is noticed when the loader's counts
 * are next read.
 *
 * Stacks share their common beginnings: the checks form a tree, and the first failed check selects
 * the next branch. So the time of a match depends only on the frames of the matched stack, not on
 * the number of known stacks.
 */

/* Of the 256 frames that an unwinder returns, at most 16 are the trap's: a stack of at least this
 * many frames may be cut. */
#define NVS_STACKCACHE_CUT 240u
#define NVS_STACKCACHE_FRAMES 256u

/*
 * Adds a stack. Called in the trap, by the owner of BUFFER, with the registers of the interrupted
 * store: the unwinder returned pcs[0..n-1], pcs[0] being PC and the others return addresses, and
 * STACK is their number. Cheap if the stack is known already or cannot be learned. Uses the memory
 * that nvs_buffer_add() was given (512 KiB a buffer, touched as used).
 */
void nvs_stackcache_add(struct nvs_buffer *buffer, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			uintptr_t lr, void *const *pcs, uint32_t n, uint32_t stack);

/* Returns the number of the known stack for these registers, or NVS_NONE. By the owner of BUFFER.
 *  */
uint32_t nvs_stackcache_match(struct nvs_buffer *buffer, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			      uintptr_t lr);

/* ---- between stackcache.c and walk.S ---- */

/* Kind of check, in the low bits of a slot. */
enum nvs_stackcache_check {
	NVS_CHECK_WORD, /* the word at SP + slot */
	NVS_CHECK_WORD_LESS_SP,
	NVS_CHECK_FP_LESS_SP,
	NVS_CHECK_FP,
	NVS_CHECK_END, /* value: the stack's number */
	NVS_CHECK_PC,
	NVS_CHECK_LR, /* the return address in its register, where there is one */
};

/* One check. If it holds, the next check is the next node in memory. If it does not, another value
 * for the same word is NEXT bytes further on; 0: there is none. */
struct nvs_stackcache_node {
	uint64_t value;
	int32_t slot; /* multiple of 8, plus enum nvs_stackcache_check */
	uint32_t next;
};

uint32_t nvs_stackcache_walk(const struct nvs_stackcache_node *first, uintptr_t pc, uintptr_t sp,
			     uintptr_t fp, uintptr_t lr);

#endif
