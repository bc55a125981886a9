/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the rewriter. */
#ifndef NVSNOOP_SASS_REWRITE_REWRITE_H
#define NVSNOOP_SASS_REWRITE_REWRITE_H

#include <errno.h>
#include <string.h>

#include "sass/count.h"
#include "sass/elf.h"

/* ---- an instruction's 128 bits ---- */

typedef unsigned __int128 nvs_word;

static inline uint64_t nvs_word_get(nvs_word w, unsigned at, unsigned n)
{
	return (uint64_t)(w >> at) & (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX);
}

static inline nvs_word nvs_word_put(nvs_word w, unsigned at, unsigned n, uint64_t value)
{
	uint64_t mask = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

	return (w & ~((nvs_word)mask << at)) | (nvs_word)(value & mask) << at;
}

static inline unsigned nvs_word_opcode(nvs_word w)
{
	return (unsigned)w & 0x1ff;
}

enum {
	NVS_OP_BAR = 0x01d,
	NVS_OP_BSYNC = 0x141,
	NVS_OP_BREAK = 0x142,
	NVS_OP_CALL_ABS = 0x143,
	NVS_OP_CALL = 0x144,
	NVS_OP_BSSY = 0x145,
	NVS_OP_YIELD = 0x146,
	NVS_OP_BRA = 0x147,
	NVS_OP_WARPSYNC = 0x148,
	NVS_OP_BRX = 0x149,
	NVS_OP_EXIT = 0x14d,
	NVS_OP_LEPC = 0x14e,
	NVS_OP_RTT = 0x14f,
	NVS_OP_RET = 0x150,
	NVS_OP_BMOV_TO = 0x155,
	NVS_OP_BMOV_FROM = 0x156,
	NVS_OP_BRXU = 0x158,
	NVS_OP_KILL = 0x15b,
	NVS_OP_BPT = 0x15c,
	NVS_OP_SETMAXREG = 0x1c8,
};

static inline bool nvs_is_control(nvs_word w)
{
	return nvs_word_opcode(w) >= 0x140 && nvs_word_opcode(w) <= 0x15f;
}

/* RET jumps to the address in the register, without adding a base. */
static inline bool nvs_is_absolute(nvs_word w)
{
	return nvs_word_get(w, 85, 1);
}

static inline bool nvs_is_brx(nvs_word w)
{
	return nvs_word_opcode(w) == NVS_OP_BRX || nvs_word_opcode(w) == NVS_OP_BRXU;
}

/* Guard field; 7: always, 8 and more: negated predicate. */
static inline unsigned nvs_word_guard(nvs_word w)
{
	return (unsigned)nvs_word_get(w, 12, 4);
}

#define NVS_ALWAYS 7u
#define NVS_NO_BARRIER 7u
#define NVS_RZ 255u
#define NVS_URZ 63u

static inline nvs_word nvs_word_with_guard(nvs_word w, unsigned guard)
{
	return nvs_word_put(w, 12, 4, guard);
}

static inline nvs_word nvs_word_with_wait(nvs_word w, unsigned mask)
{
	return nvs_word_put(w, 116, 6, mask);
}

static inline nvs_word nvs_word_no_reuse(nvs_word w)
{
	return nvs_word_put(w, 122, 4, 0);
}

/* ---- words.c: our own instructions ---- */

enum nvs_count_word {
	NVS_W_NOP,
	NVS_W_BRA,
	NVS_W_EXIT,
	NVS_W_ADD, /* VIADD or IADD3 with an immediate */
	NVS_W_UADD, /* UIADD3 with an immediate */
	NVS_W_MOV, /* MOV with an immediate */
	NVS_W_MOVU, /* MOV from a uniform register */
	NVS_W_UMOV, /* UMOV from a uniform register */
	NVS_W_AND, /* LOP3 with an immediate */
	NVS_W_TESTU, /* LOP3 into a predicate, with a uniform register */
	NVS_W_SHR, /* SHF.R.U32.HI */
	NVS_W_S2R,
	NVS_W_WIDE, /* IMAD.WIDE.U32 with an immediate */
	NVS_W_UWIDE, /* UIMAD.WIDE.U32 with an immediate */
	NVS_W_REDUX, /* since sm_80 */
	NVS_W_ELECT, /* since sm_90 */
	NVS_W_R2UR,
	NVS_W_DESCRIPTOR, /* ULDC.64; since sm_80 */
	NVS_W_RED, /* RED.ADD.64 */
	NVS_W_VOTEU,
	NVS_W_UPOPC,
	NVS_W_N,
};

static inline nvs_word nvs_word_of(const struct nvs_count_words *words, enum nvs_count_word i)
{
	return (nvs_word)words->word[i][1] << 64 | words->word[i][0];
}

static inline bool nvs_word_is_known(const struct nvs_count_words *words, enum nvs_count_word i)
{
	return words->word[i][0] != 0;
}

/* Sets the control fields as ptxas does: the stall, no waits and no barriers; those are set later.
 *  */
nvs_word nvs_word_set_stall(nvs_word w, unsigned stall);

/* PC-relative targets of BRA, BRX, CALL.REL, RET.REL, WARPSYNC.COLLECTIVE and BSSY: byte offsets
 * from the beginning of the function. */
int64_t nvs_word_target(const struct nvs_count_words *words, nvs_word w, int64_t at);
nvs_word nvs_word_set_target(const struct nvs_count_words *words, nvs_word w, int64_t at,
			     int64_t target);

/* ---- memory that is freed all at once ---- */

struct nvs_rewrite_arena {
	const struct nvs_sass_memory *memory;
	struct nvs_arena_piece *last;
};

/* Returns zeroed memory, or NULL. */
void *nvs_arena_get(struct nvs_rewrite_arena *arena, size_t n, size_t size);
void nvs_arena_free(struct nvs_rewrite_arena *arena);

/* ---- image.c: the cubin while it grows ---- */

struct nvs_rebuilt {
	uint8_t *data; /* a copy of the cubin whose values are changed in place */
	size_t size;
	struct nvs_cubin cubin; /* of that copy */
	const uint8_t **text; /* new bytes of each section; NULL: unchanged */
	size_t *text_size;
};

int nvs_rebuild_open(struct nvs_rebuilt *r, const void *cubin, size_t size,
		     struct nvs_rewrite_arena *arena);
/* Lays the sections out again in their order, each after the gap that preceded it before. */
int nvs_rebuild_cubin(struct nvs_rebuilt *r, struct nvs_rewrite_arena *arena,
		      const struct nvs_sass_memory *memory, uint8_t **out, size_t *out_size,
		      size_t *out_bytes);

static inline void nvs_store_u32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* ---- function.c: the code of a kernel or of a device function ---- */

struct nvs_block_span {
	uint32_t first, last; /* instructions, both included */
	/* instructions it counts: may be more than its own, or 0, after sums were moved */
	uint64_t weight;
	bool fixed; /* entered in ways that are not in the edges */
};

enum {
	NVS_SEEN = 1 << 0, /* can be reached */
	NVS_LEAD = 1 << 1, /* a block begins here */
	NVS_NAMED = 1 << 2, /* named in a list of .nv.info */
	NVS_RELOCATED = 1 << 3, /* changed by the loader */
	NVS_FALLS = 1 << 4, /* execution may continue with the next instruction */
	NVS_ENDS = 1 << 5, /* a block ends after it */
	NVS_OUT = 1 << 6, /* a call out of the function */
};

#define NVS_NOWHERE UINT32_MAX

struct nvs_flow_edge {
	uint32_t to, from, next; /* index of the next edge with the same TO */
};

struct nvs_function {
	struct nvs_rebuilt *r;
	struct nvs_rewrite_arena *arena;
	const struct nvs_count_words *words;
	const struct nvs_count_options *options;
	const struct nvs_cubin_function *f; /* the kernel or device function */
	/* address of the kernel's counters; 0: it does not count, or is a device function */
	uint64_t counters;
	/* of device functions only the reason why they cannot be rewritten */
	struct nvs_instrumented_kernel *report;
	nvs_word *code;
	uint32_t n; /* instructions */
	enum nvs_sass_form form;
	uint16_t *flags; /* NVS_SEEN etc. of each instruction */
	uint32_t *target; /* index of the branch target of each instruction; NVS_NOWHERE: none */
	/* index of the first edge to each instruction, not counting fall-through; NVS_NOWHERE:
	 * none */
	uint32_t *edges_to;
	struct nvs_flow_edge *edge;
	uint32_t edges;
	struct nvs_block_span *span;
	uint32_t spans;
	uint32_t *home; /* span of each instruction */
	struct nvs_cubin_section text, info,
		tables; /* .text, .nv.info.NAME, .nv.constant2.NAME; index 0: none */
	bool returns; /* a RET is reachable */
	bool exits; /* an EXIT is reachable */
	bool calls_pointer; /* calls functions in its own section by register */
	bool pointed_into; /* an address within its code (symbol plus offset) is taken */
	bool loops; /* an instruction may be executed more than once */
	uint32_t max_registers; /* minimum of setmaxnreg; 0: none */
	/* results of place.c: the code, and the new positions of the old instructions */
	nvs_word *out;
	uint32_t outs, room;
	/* target for branches to it, position of itself (bytes / 16) */
	uint32_t *new_label, *new_own;
	uint32_t *new_named; /* position for lists that name it */
	uint8_t *live; /* live predicates before each instruction; NVS_COUNT_ELECTED only */
};

int nvs_refuse(struct nvs_function *fn, const char *why, uint32_t at);
/* Returns 0, -ENOTSUP with the reason in the report, or -ENOMEM. */
int nvs_function_open(struct nvs_function *fn);
int nvs_function_merge(struct nvs_function *fn);

/* True if instruction I counts by its own predicate, not with its block. */
bool nvs_counts_by_guard(const struct nvs_function *fn, uint32_t i);

/* Iterates over the attributes whose values are instruction offsets, from *AT on. */
bool nvs_offset_list_next(const struct nvs_cubin_section *info, size_t *at,
			  struct nvs_cubin_attribute *a);
/* Returns the N targets, of 4 bytes each, of the BRX at AT. Returns NULL if it is not listed. */
const uint8_t *nvs_branch_targets(const struct nvs_cubin_section *info, uint32_t at, uint32_t *n);
/* Iterates over the relocation sections that change section INDEX; *EACH: bytes of one relocation.
 *  */
bool nvs_next_relocations(const struct nvs_cubin *c, uint32_t index, uint32_t *at,
			  struct nvs_cubin_section *s, uint32_t *each);

/* True if a relocation loads the call's return address into a register: it is adjusted with the
 * other relocations. */
bool nvs_returns_by_relocation(const struct nvs_function *fn, uint32_t call);

/* ---- used.c: registers in use ---- */

struct nvs_used {
	struct nvs_sass_registers any; /* read or written anywhere */
	/* Vector registers that may still be read when their thread ends; those of them for which
	 * no barrier can show that they have been read. */
	uint64_t late[4], untold[4];
	uint32_t sets[6]; /* number of instructions that set each barrier */
	/* the first function with an unknown instruction; NULL: none */
	struct nvs_function *unknown;
	uint32_t unknown_at;
};

/* Returns false if the instruction is unknown. */
bool nvs_insn_registers(const struct nvs_function *fn, uint32_t i, struct nvs_sass_insn_use *use);
/* Adds the registers that FN uses. */
void nvs_used_add(struct nvs_function *fn, struct nvs_used *used);
/*
 * Makes instructions that read registers late set a barrier when they have done so: the end waits
 * for all barriers. The barrier that is set least is used; code that waits for it, also code that
 * waits until few of its setters are left, can only wait longer.
 */
void nvs_used_set_barriers(struct nvs_function *const *fn, uint32_t n, const struct nvs_used *used);

/* ---- registers.c ---- */

struct nvs_count_registers {
	enum nvs_count_home home;
	bool wide; /* 64-bit warp sums, in uw, uw + 1 */
	bool lent; /* the descriptor's pair belongs to the kernel: it is kept in SAVED at the end */
	int descriptor; /* UR pair; -1: none */
	/* UR: warp sum, a scratch register, pair of the thread sum, the constant 1 */
	int uw, ux, ut, one;
	int t, w; /* R: thread sum, warp sum */
	int address, data, saved; /* R pairs used at the end */
	int base; /* UR pair: address of the kernel's counters; -1: it is a constant at all ends */
	int up; /* uniform predicate */
	uint32_t registers; /* new count for .nv.info */
};

/* Chooses registers for N functions that call each other; all use the same. */
int nvs_count_registers_choose(struct nvs_function *const *fn, uint32_t n,
			       struct nvs_count_registers *homes);

/* ---- emit.c: counting code, and the code at the end ---- */

/* Appends to fn->out. GAP: minimum of cycles until it is executed again; P: a free predicate. */
int nvs_emit_word(struct nvs_function *fn, nvs_word w);
int nvs_emit_count(struct nvs_function *fn, const struct nvs_count_registers *h, uint64_t n,
		   unsigned guard, unsigned gap, unsigned wait, int p);
int nvs_emit_start(struct nvs_function *fn, const struct nvs_count_registers *h, uint64_t n, int p);
int nvs_emit_end(struct nvs_function *fn, const struct nvs_count_registers *h);

/* ---- place.c ---- */

/* Generate fn->out; the cubin is not changed. */
int nvs_place_inline(struct nvs_function *fn, const struct nvs_count_registers *h);
int nvs_place_stub(struct nvs_function *fn, const struct nvs_count_registers *h);
/* Adjusts everything in the cubin that names places in the code. */
void nvs_place_adjust_refs(struct nvs_function *fn);

/* ---- group.c: kernels and device functions that call each other ---- */

/* The functions of one group count in the same registers. */
struct nvs_call_groups {
	uint32_t *group; /* group of each section with code, by section index */
	uint32_t *first; /* for each section, index + 1 of the function that begins it; 0: none */
	bool *pointed_into; /* an address within the section's code is taken */
};

int nvs_call_groups_find(struct nvs_rebuilt *r, const struct nvs_cubin_functions *functions,
			 struct nvs_rewrite_arena *arena, struct nvs_call_groups *groups);

#endif
