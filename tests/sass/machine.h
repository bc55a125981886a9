/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the interpreter: a warp's registers, and the fields of an instruction. */
#ifndef TESTS_SASS_MACHINE_H
#define TESTS_SASS_MACHINE_H

#include <string.h>
#include "tests/sass/interp.h"

typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

enum {
	LANES = 32,
	RZ = 255,
	URZ = 63,
	PT = 7,
	LOCAL_BYTES = 2048, /* of a thread */
	SHARED_BYTES = 16384,
	BANKS = 8,
	BANK_BYTES = 4096,
	NAMED = 16, /* barriers of a block, and convergence barriers of a warp */
};

/* Threads of a warp that run together. Parts of one warp never run in the same step. */
struct part {
	u32 mask;
	u32 pc; /* in bytes, of the machine's code */
	enum part_state { RUNS, AT_BSYNC, AT_WARPSYNC, AT_BAR, AT_CLUSTER } state;
	u32 wants; /* the barrier's number, or the mask that WARPSYNC waits for */
	u32 threads; /* BAR: how many it waits for, 0: all */
	u32 yes; /* BAR.RED: lanes whose predicate holds */
	u32 op; /* BAR.RED's operation */
	bool red, collective, arrived;
};

/* Registers by one number each: vector ones, uniform ones, predicates, uniform predicates. What an
 * instruction read and wrote is noted as it does so. */
enum { R_AT = 0, UR_AT = 256, P_AT = 320, UP_AT = 328, PLACES = 336 };

struct uses {
	u64 read[6], written[6];
};

/* hazards.c: what is under way, of a warp. */
struct pipes {
	u64 now; /* cycles as the stalls add them up */
	u64 when[PLACES]; /* written by an instruction of fixed latency, and its opcode */
	u32 op[PLACES];
	u32 loading[PLACES], reading[PLACES]; /* lanes whose register is being written, or read, by
						 one of another */
	unsigned char load_by[PLACES], read_by[PLACES]; /* barriers that tell; NOBODY: none does */
	u64 busy[6]; /* those of which one of both is set */
	struct part *last;
};

struct warp {
	u32 r[256][LANES];
	u32 p[8]; /* a bit a lane */
	u32 ur[64];
	bool up[8];
	u32 conv[NAMED][LANES]; /* masks of the convergence barriers, as each lane knows them */
	struct part part[2 * LANES];
	unsigned parts;
	u32 live, all;
	struct pipes pipes;
	unsigned index; /* in its block */
	u32 bar_result; /* of the last BAR.RED */
	struct block *block;
	u32 met[LANES]; /* WARPSYNC.COLLECTIVE: the parts that met */
	unsigned met_count;
};

struct block {
	struct machine *m;
	unsigned at[3];
	unsigned rank; /* in its cluster */
	struct warp *warp;
	unsigned warps, threads;
	unsigned char shared[SHARED_BYTES];
	unsigned char *local;
};

struct machine {
	const struct interp_launch *launch;
	struct interp_counts *counts;
	unsigned arch; /* 75 .. */
	unsigned char
		*code; /* the kernel's, and behind it that of the functions in other sections */
	size_t code_size;
	u32 *number; /* of each instruction in its section */
	unsigned char bank[BANKS][BANK_BYTES];
	unsigned shared_static, cluster;
	struct block *blocks; /* of one cluster */
	u64 steps;
	char *why;
	size_t why_size;
	bool failed;
};

/* One instruction, and who executes it. */
struct step {
	struct machine *m;
	struct block *b;
	struct warp *w;
	struct part *part;
	u64 lo, hi;
	u32 op, form, pc;
	u32 mask; /* lanes whose predicate holds */
	bool uniform;
	struct uses *uses;
};

static inline u64 field(const struct step *s, unsigned at, unsigned bits)
{
	u64 v = at >= 64 ? s->hi >> (at - 64) : at == 0 ? s->lo : s->lo >> at | s->hi << (64 - at);

	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static inline bool bit(const struct step *s, unsigned at)
{
	return field(s, at, 1);
}

static inline void note(u64 *set, u32 place)
{
	set[place / 64] |= 1ull << place % 64;
}

static inline u32 ureg(const struct step *s, u32 r)
{
	if (r != URZ)
		note(s->uses->read, UR_AT + r);
	return r == URZ ? 0 : s->w->ur[r];
}

static inline u64 ureg64(const struct step *s, u32 r)
{
	return r == URZ ? 0 : ureg(s, r) | (u64)ureg(s, r + 1) << 32;
}

static inline void uset(struct step *s, u32 r, u32 v)
{
	if (r == URZ)
		return;
	note(s->uses->written, UR_AT + r);
	s->w->ur[r] = v;
}

/* Registers and predicates of the half that the instruction works on: the threads' own or the
 * warp's (uniform) ones. A uniform instruction is executed for lane 0 alone. */
static inline u32 zero_of(const struct step *s)
{
	return s->uniform ? URZ : RZ;
}

static inline u32 reg_at(const struct step *s, unsigned at)
{
	return field(s, at, s->uniform ? 6 : 8);
}

static inline u32 rd(const struct step *s)
{
	return reg_at(s, 16);
}

static inline u32 reg(const struct step *s, u32 r, unsigned lane)
{
	if (r == zero_of(s))
		return 0;
	note(s->uses->read, s->uniform ? UR_AT + r : r);
	return s->uniform ? s->w->ur[r] : s->w->r[r][lane];
}

static inline u64 reg64(const struct step *s, u32 r, unsigned lane)
{
	return r == zero_of(s) ? 0 : reg(s, r, lane) | (u64)reg(s, r + 1, lane) << 32;
}

static inline void set(struct step *s, u32 r, unsigned lane, u32 v)
{
	if (r == zero_of(s))
		return;
	note(s->uses->written, s->uniform ? UR_AT + r : r);
	if (s->uniform)
		s->w->ur[r] = v;
	else
		s->w->r[r][lane] = v;
}

static inline void set64(struct step *s, u32 r, unsigned lane, u64 v)
{
	if (r == zero_of(s))
		return;
	set(s, r, lane, v);
	set(s, r + 1, lane, v >> 32);
}

/* The predicate whose number and negation stand in four bits from AT on; UNIFORM: the warp's. */
static inline bool pred_of(const struct step *s, bool uniform, unsigned at, unsigned lane)
{
	u32 p = field(s, at, 3);

	if (p != PT)
		note(s->uses->read, (uniform ? UP_AT : P_AT) + p);
	return (uniform ? s->w->up[p] : s->w->p[p] >> lane & 1) != bit(s, at + 3);
}

static inline bool pred(const struct step *s, unsigned at, unsigned lane)
{
	return pred_of(s, s->uniform, at, lane);
}

static inline void set_pred(struct step *s, unsigned at, unsigned lane, bool v)
{
	u32 p = field(s, at, 3);

	if (p == PT)
		return;
	note(s->uses->written, (s->uniform ? UP_AT : P_AT) + p);
	if (s->uniform)
		s->w->up[p] = v;
	else
		s->w->p[p] = (s->w->p[p] & ~(1u << lane)) | (u32)v << lane;
}

#define EACH_LANE(s, l)                      \
	for (unsigned l = 0; l < LANES; l++) \
		if (!((s)->mask >> l & 1)) { \
		} else

/* Sources, by where the form of the opcode puts them: A, B, C without their signs. */
u32 src_a(const struct step *s, unsigned lane);
u32 src_b(const struct step *s, unsigned lane);
u32 src_c(const struct step *s, unsigned lane);
u64 src_b64(const struct step *s, unsigned lane);
u64 src_c64(const struct step *s, unsigned lane);
bool neg_b(const struct step *s);
bool neg_c(const struct step *s);
bool abs_b(const struct step *s);
bool abs_c(const struct step *s);
u64 constant(const struct step *s, unsigned bank, u32 at, unsigned bytes);

/* load.c: finds the kernel that is to be launched, its constants, and what it may call. */
void load_kernel(struct machine *m);
void unload_kernel(struct machine *m);

void fail(struct machine *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fail_at(struct step *s, const char *what);

/* Whether what the instruction read and wrote was there by then, by its own control fields and
 * those before it. */
void check_hazards(struct step *s);

/* Each executes the instructions of its kind; false: none of them. */
bool step_integer(struct step *s);
bool step_float(struct step *s);
bool step_memory(struct step *s);
bool step_warp(struct step *s);
/* Branches, barriers: says what becomes of the part. */
bool step_control(struct step *s);

#endif
