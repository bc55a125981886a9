/* SPDX-License-Identifier: MIT */
/* What the parts of the rewriter show each other. */
#ifndef NVSNOOP_SASS_REWRITE_REWRITE_H
#define NVSNOOP_SASS_REWRITE_REWRITE_H

#include <errno.h>
#include <string.h>

#include "sass/count.h"

/* ---- an instruction's 128 bits ---- */

typedef unsigned __int128 nvs_word;

static inline uint64_t nvs_get(nvs_word w, unsigned at, unsigned n)
{
	return (uint64_t)(w >> at) & (n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX);
}

static inline nvs_word nvs_put(nvs_word w, unsigned at, unsigned n, uint64_t value)
{
	uint64_t mask = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

	return (w & ~((nvs_word)mask << at)) | (nvs_word)(value & mask) << at;
}

static inline unsigned nvs_op(nvs_word w)
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
	return nvs_op(w) >= 0x140 && nvs_op(w) <= 0x15f;
}

/* RET: to the address that the register holds, with nothing added. */
static inline bool nvs_is_absolute(nvs_word w)
{
	return nvs_get(w, 85, 1);
}

static inline bool nvs_is_brx(nvs_word w)
{
	return nvs_op(w) == NVS_OP_BRX || nvs_op(w) == NVS_OP_BRXU;
}

/* Fields that all instructions have; guard 7: always, 8 and more: negated. */
static inline unsigned nvs_guard(nvs_word w)
{
	return (unsigned)nvs_get(w, 12, 4);
}

#define NVS_ALWAYS 7u
#define NVS_NO_BARRIER 7u
#define NVS_RZ 255u
#define NVS_URZ 63u

static inline nvs_word nvs_guarded(nvs_word w, unsigned guard)
{
	return nvs_put(w, 12, 4, guard);
}

static inline nvs_word nvs_waiting(nvs_word w, unsigned mask)
{
	return nvs_put(w, 116, 6, mask);
}

static inline nvs_word nvs_unreused(nvs_word w)
{
	return nvs_put(w, 122, 4, 0);
}

/* ---- words.c: instructions of our own ---- */

enum nvs_count_word {
	NVS_W_NOP,
	NVS_W_BRA,
	NVS_W_EXIT,
	NVS_W_ADD, /* VIADD or IADD3 with an immediate */
	NVS_W_UADD, /* UIADD3 with an immediate */
	NVS_W_MOV, /* of an immediate */
	NVS_W_MOVU, /* of a uniform register */
	NVS_W_UMOV, /* of a uniform register */
	NVS_W_AND, /* LOP3 with an immediate */
	NVS_W_TESTU, /* LOP3 into a predicate, with a uniform register */
	NVS_W_SHR, /* SHF.R.U32.HI */
	NVS_W_S2R,
	NVS_W_WIDE, /* IMAD.WIDE.U32 with an immediate */
	NVS_W_UWIDE, /* UIMAD.WIDE.U32 with an immediate */
	NVS_W_REDUX, /* from sm_80 on */
	NVS_W_ELECT, /* from sm_90 on */
	NVS_W_R2UR,
	NVS_W_DESCRIPTOR, /* ULDC.64; from sm_80 on */
	NVS_W_RED, /* RED.ADD.64 */
	NVS_W_VOTEU,
	NVS_W_UPOPC,
	NVS_W_N,
};

static inline nvs_word nvs_word_of(const struct nvs_count_words *words, enum nvs_count_word i)
{
	return (nvs_word)words->word[i][1] << 64 | words->word[i][0];
}

static inline bool nvs_word_there(const struct nvs_count_words *words, enum nvs_count_word i)
{
	return words->word[i][0] != 0;
}

/* Control fields as ptxas sets them: stall, and nothing waited for or promised but what is put
 * later. */
nvs_word nvs_plain(nvs_word w, unsigned stall);

/* PC-relative fields, of BRA, BRX, CALL.REL, RET.REL, WARPSYNC.COLLECTIVE and BSSY: bytes from the
 * function's beginning. */
int64_t nvs_relative(const struct nvs_count_words *words, nvs_word w, int64_t at);
nvs_word nvs_relative_put(const struct nvs_count_words *words, nvs_word w, int64_t at,
			  int64_t target);

/* ---- memory that is given back at once ---- */

struct nvs_arena {
	const struct nvs_sass_memory *memory;
	struct nvs_arena_piece *last;
};

/* Zeros, or NULL. */
void *nvs_arena_get(struct nvs_arena *arena, size_t n, size_t size);
void nvs_arena_free(struct nvs_arena *arena);

/* ---- image.c: the cubin as it grows ---- */

struct nvs_rebuilt {
	uint8_t *data; /* a copy of the cubin, in which values are changed in place */
	size_t size;
	struct nvs_cubin cubin; /* of that copy */
	const uint8_t **text; /* a section's new bytes; NULL: as it is */
	size_t *text_size;
};

int nvs_rebuild_open(struct nvs_rebuilt *r, const void *cubin, size_t size,
		     struct nvs_arena *arena);
/* Lays the sections out again, in the order in which they lie, each behind the gap that it had. */
int nvs_rebuild(struct nvs_rebuilt *r, struct nvs_arena *arena,
		const struct nvs_sass_memory *memory, uint8_t **out, size_t *out_size,
		size_t *out_bytes);

static inline uint32_t nvs_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void nvs_put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* ---- function.c: the code of one kernel, or of one function that kernels call ---- */

struct nvs_span {
	uint32_t first, last; /* instructions, both included */
	uint64_t weight; /* what it counts: more than its own or nothing once sums were moved */
	bool fixed; /* entered in ways that no edge shows */
};

enum {
	NVS_SEEN = 1 << 0, /* can be reached */
	NVS_LEAD = 1 << 1, /* a block begins here */
	NVS_NAMED = 1 << 2, /* a list of .nv.info names it */
	NVS_RELOCATED = 1 << 3, /* the loader changes it */
	NVS_FALLS = 1 << 4, /* the next one may follow it */
	NVS_ENDS = 1 << 5, /* a block ends behind it */
	NVS_OUT = 1 << 6, /* a call out of the function */
};

#define NVS_NOWHERE UINT32_MAX

struct nvs_edge {
	uint32_t to, from, next; /* next of the same TO */
};

struct nvs_function {
	struct nvs_rebuilt *r;
	struct nvs_arena *arena;
	const struct nvs_count_words *words;
	const struct nvs_count_options *options;
	const struct nvs_cubin_function *f; /* the kernel, or the function that kernels call */
	uint64_t counters; /* of the kernel; 0: it does not count, or is none */
	struct nvs_counted_kernel *report; /* of functions only why they cannot be rewritten */
	nvs_word *code;
	uint32_t n; /* instructions */
	enum nvs_sass_form form;
	uint16_t *flags; /* NVS_SEEN ... of each */
	uint32_t *target; /* instruction that it branches to; NVS_NOWHERE */
	uint32_t *edges_to; /* index of the first edge to it, but falling; NVS_NOWHERE */
	struct nvs_edge *edge;
	uint32_t edges;
	struct nvs_span *span;
	uint32_t spans;
	uint32_t *home; /* span of each instruction */
	struct nvs_cubin_section text, info,
		tables; /* .text, .nv.info.NAME, .nv.constant2.NAME; index 0: none */
	bool returns; /* a RET can be reached */
	bool exits; /* an EXIT can be reached */
	bool calls_pointer; /* to functions of its own, by register */
	bool pointed_into; /* its address plus something is handed out */
	bool loops; /* an instruction may be executed again */
	uint32_t max_registers; /* least of setmaxnreg; 0: none */
	/* what place.c made: the code, and where each old instruction stands in it */
	nvs_word *out;
	uint32_t outs, room;
	uint32_t *new_label, *new_own; /* of a branch to it, of itself (bytes / 16) */
	uint32_t *new_named; /* of the lists that name it */
	uint8_t *live; /* predicates live before each instruction; NVS_COUNT_ELECTED only */
};

int nvs_refuse(struct nvs_function *fn, const char *why, uint32_t at);
/* 0; -ENOTSUP with the report's reason; -ENOMEM. */
int nvs_function_open(struct nvs_function *fn);
int nvs_function_merge(struct nvs_function *fn);

/* Whether instruction I counts with its block, or by its own predicate. */
bool nvs_counts_with_block(const struct nvs_function *fn, uint32_t i);
bool nvs_counts_by_guard(const struct nvs_function *fn, uint32_t i);

/* Attributes whose values are offsets of instructions, one after the other from *AT on. */
bool nvs_list_next(const struct nvs_cubin_section *info, size_t *at, struct nvs_cubin_attribute *a);
/* Targets of the BRX at AT, N of 4 bytes; NULL: not listed. */
const uint8_t *nvs_targets(const struct nvs_cubin_section *info, uint32_t at, uint32_t *n);
/* Sections of relocations that change section INDEX; EACH: bytes of one. */
bool nvs_relocations(const struct nvs_cubin *c, uint32_t index, uint32_t *at,
		     struct nvs_cubin_section *s, uint32_t *each);

/* Whether a relocation puts the address behind the call into a register: it is mended with the
 * others. */
bool nvs_returns_by_relocation(const struct nvs_function *fn, uint32_t call);

/* ---- used.c: registers that are not free ---- */

struct nvs_used {
	struct nvs_sass_registers any; /* read or written anywhere */
	/* Vector registers that may be read when their thread is at its end; those of them of which
	 * no barrier can tell when they have been. */
	uint64_t late[4], untold[4];
	uint32_t sets[6]; /* instructions that set each barrier */
	struct nvs_function *unknown; /* that has an instruction which is not known; NULL: none */
	uint32_t unknown_at;
};

/* False: nothing is known of it. */
bool nvs_use(const struct nvs_function *fn, uint32_t i, struct nvs_sass_insn_use *use);
/* Adds what FN uses. */
void nvs_used_look(struct nvs_function *fn, struct nvs_used *used);
/*
 * Has what reads registers late tell by a barrier when it has: the end waits for all of them. The
 * barrier is the one that is set least; who waits for it waits longer at most, also who waits until
 * few of those that set it are left.
 */
void nvs_used_tell(struct nvs_function *const *fn, uint32_t n, const struct nvs_used *used);

/* ---- registers.c ---- */

struct nvs_homes {
	enum nvs_count_home home;
	bool wide; /* of 64 bits: warps in uw, uw + 1 */
	bool lent; /* the descriptor's pair is the kernel's own: kept in SAVED at the end */
	int descriptor; /* UR pair; -1: none */
	int uw, ux, ut, one; /* UR: warps, a spare one, threads' pair, the figure 1 */
	int t, w; /* R: threads, warps */
	int address, data, saved; /* R pairs for the end */
	int base; /* UR pair: where the kernel's counters are; -1: all ends know it */
	int up; /* uniform predicate */
	uint32_t registers; /* count as it stands in .nv.info, new */
};

/* One for the N functions that call each other. */
int nvs_homes_choose(struct nvs_function *const *fn, uint32_t n, struct nvs_homes *homes);

/* ---- emit.c: counting and its end ---- */

/* Appends to fn->out. GAP: cycles until it is executed again at the earliest; P: a free predicate.
 */
int nvs_emit(struct nvs_function *fn, nvs_word w);
int nvs_emit_count(struct nvs_function *fn, const struct nvs_homes *h, uint64_t n, unsigned guard,
		   unsigned gap, unsigned wait, int p);
int nvs_emit_start(struct nvs_function *fn, const struct nvs_homes *h, uint64_t n, int p);
int nvs_emit_end(struct nvs_function *fn, const struct nvs_homes *h);

/* ---- place.c ---- */

/* Make fn->out; the cubin stays as it is. */
int nvs_place_inline(struct nvs_function *fn, const struct nvs_homes *h);
int nvs_place_stub(struct nvs_function *fn, const struct nvs_homes *h);
/* Mends what names places in the code, in the cubin. */
void nvs_place_mend(struct nvs_function *fn);

/* ---- group.c: kernels and functions that call each other ---- */

/* Functions of one group count in the same registers. */
struct nvs_groups {
	uint32_t *group; /* of each section with code, by its number */
	uint32_t *first; /* of each section, the function that begins it, and one; 0: none */
	bool *pointed_into; /* an address within the section's code is handed out */
};

int nvs_groups_find(struct nvs_rebuilt *r, const struct nvs_cubin_functions *functions,
		    struct nvs_arena *arena, struct nvs_groups *groups);

#endif
