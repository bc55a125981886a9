/* SPDX-License-Identifier: MIT */
/*
 * Branches and reconvergence. A part of a warp is split by a branch that only some of its threads
 * take. Parts are joined only where the code says so: at BSYNC, when all threads that entered by
 * BSSY have arrived or exited; at WARPSYNC, when all threads of its mask have arrived.
 */
#include "tests/sass/machine.h"

enum { STEP = 16 };

/* PC-relative: a count of 4-byte words from the next instruction on, split into 8 bits and the rest
 * on sm_90. */
static s64 relative(const struct step *s)
{
	s64 v;

	if ((s->op & 0x1ff) == 0x145 || s->m->arch < 90) {
		v = (s64)field(s, 34, s->m->arch < 90 && (s->op & 0x1ff) != 0x145 ? 48 : 30);
		v = (s->op & 0x1ff) == 0x145 ? v - (v >> 29 << 30) : v - (v >> 47 << 48);
	} else {
		v = (s64)(field(s, 34, 48) << 8 | field(s, 16, 8));
		v -= v >> 55 << 56;
	}
	return (s64)s->pc + STEP + 4 * v;
}

static struct part *split(struct step *s, u32 mask, u32 pc)
{
	struct part *p = s->w->part + s->w->parts++;

	*p = (struct part){.mask = mask, .pc = pc};
	s->part->mask &= ~mask;
	return p;
}

/* Those of MASK go to PC, the others on; which of both parts goes first is the seed's choice. */
static void jump(struct step *s, u32 mask, u32 pc)
{
	if (mask == s->part->mask) {
		s->part->pc = pc;
		return;
	}
	s->part->pc += STEP;
	if (!mask)
		return;
	struct part *p = split(s, mask, pc);

	/* of nothing that is another once the code has been rewritten */
	if (s->m->launch->seed &&
	    (mask * 2654435761u + s->part->mask * 40503u + s->m->launch->seed) >> 9 & 1) {
		struct part t = *p;

		*p = *s->part;
		*s->part = t;
	}
}

static void go_on(struct step *s)
{
	s->part->pc += STEP;
}

static void leave(struct step *s)
{
	u32 mask = s->mask;

	for (unsigned l = 0; l < LANES; l++)
		if (mask >> l & 1 && !pred(s, 87, l))
			mask &= ~(1u << l);
	s->w->live &= ~mask;
	s->part->mask &= ~mask;
	go_on(s);
}

static void bra(struct step *s)
{
	unsigned how = s->lo >> 32 & 3;
	u32 mask = 0, sync = bit(s, 91) ? ureg(s, field(s, 24, 6)) : ~0u;

	EACH_LANE(s, l)
	mask |= (u32)pred(s, 87, l) << l;
	if (how == 2 && (sync & s->w->live) == s->part->mask) /* .DIV */
		mask = 0;
	if (how == 3 && s->w->live != s->part->mask) /* .CONV */
		mask = 0;
	if (how < 2 && (bit(s, 91) || (field(s, 24, 8) && how == 0)))
		fail_at(s, "BRA by a uniform predicate");
	jump(s, mask, relative(s));
}

/* BRX, CALL and RET by a register: each group of threads with one target is a part. ABSOLUTE: what
 * stands in the instruction is no distance from it. */
static void jump_by_register(struct step *s, u32 r, bool absolute)
{
	s64 base = relative(s) - (absolute ? s->pc + STEP : 0);
	u32 left = s->mask;

	while (left) {
		unsigned first = __builtin_ctz(left);
		s64 to = r == RZ ? base : base + (s64)reg64(s, r, first);
		u32 same = 0;

		for (unsigned l = first; l < LANES; l++)
			if (left >> l & 1 && (r == RZ || reg64(s, r, l) == reg64(s, r, first)))
				same |= 1u << l;
		left &= ~same;
		if (!left && same == s->part->mask) {
			s->part->pc = to;
			return;
		}
		split(s, same, to);
	}
	go_on(s);
}

static void bssy(struct step *s)
{
	for (unsigned l = 0; l < LANES; l++)
		if (s->part->mask >> l & 1)
			s->w->conv[field(s, 16, 4)][l] = s->part->mask;
	go_on(s);
}

static void breaks(struct step *s)
{
	u32 n = field(s, 16, 4);

	for (unsigned l = 0; l < LANES; l++)
		s->w->conv[n][l] &= ~s->mask;
	EACH_LANE(s, l)
	s->w->conv[n][l] = 0;
	go_on(s);
}

static void wait(struct step *s, enum part_state state, u32 wants)
{
	if (s->mask != s->part->mask) {
		if (s->mask)
			fail_at(s, "a barrier whose predicate parts a warp");
		go_on(s);
		return;
	}
	s->part->state = state;
	s->part->wants = wants;
}

static void warpsync(struct step *s)
{
	u32 mask = 0;

	if (s->form == 4) {
		mask = s->lo >> 32 ? s->lo >> 32 : ~0u;
	} else {
		EACH_LANE(s, l)
		mask |= reg(s, field(s, s->m->arch >= 90 ? 24 : 32, 8), l);
	}
	s->part->collective = bit(s, 86);
	wait(s, AT_WARPSYNC, mask);
}

static void end_collective(struct step *s)
{
	struct warp *w = s->w;

	go_on(s);
	for (unsigned i = 1; i < w->met_count; i++)
		if (w->met[i] & s->part->mask)
			split(s, w->met[i] & s->part->mask, s->part->pc);
	w->met_count = 0;
}

static void bar(struct step *s)
{
	unsigned mode = field(s, 77, 3);
	u32 yes = 0;

	/* SYNC, ARV, RED */
	if (s->op != 0xb1d || mode > 2) {
		fail_at(s, "this kind of BAR");
		return;
	}
	EACH_LANE(s, l)
	yes |= (u32)pred(s, 87, l) << l;
	s->part->threads = field(s, 42, 12);
	s->part->yes = yes;
	s->part->red = mode == 2;
	s->part->op = field(s, 74, 2);
	if (mode == 1)
		fail_at(s, "BAR.ARV");
	wait(s, AT_BAR, field(s, 54, 4));
}

static void bmov(struct step *s, bool to_reg)
{
	u32 n = field(s, 24, 8);

	if (n >= NAMED) {
		fail_at(s, "BMOV of this register");
		return;
	}
	EACH_LANE(s, l)
	{
		if (to_reg) {
			set(s, rd(s), l, s->w->conv[n][l]);
			if (bit(s, 84))
				s->w->conv[n][l] = 0;
		} else {
			s->w->conv[n][l] = reg(s, field(s, 32, 8), l);
		}
	}
	go_on(s);
}

static void lepc(struct step *s)
{
	EACH_LANE(s, l)
	set64(s, rd(s), l, s->pc + STEP + (s->form == 1 ? 0 : s->lo >> 32));
	go_on(s);
}

bool step_control(struct step *s)
{
	switch (s->op & 0x1ff) {
	case 0x118: /* NOP, YIELD, NANOSLEEP */
	case 0x146:
	case 0x15d:
		go_on(s);
		return true;
	case 0x1c8: /* USETMAXREG: nobody looks how many there are, and they are had at once */
		s->uniform = true;
		set_pred(s, 81, 0, true);
		go_on(s);
		return true;
	case 0x11d:
		bar(s);
		return true;
	case 0x11b:
		end_collective(s);
		return true;
	case 0x141:
		wait(s, AT_BSYNC, field(s, 16, 4));
		return true;
	case 0x142:
		breaks(s);
		return true;
	case 0x143: /* CALL.ABS, CALL.REL */
	case 0x144:
		jump_by_register(s, s->form == 4 ? RZ : field(s, 24, 8), (s->op & 0x1ff) == 0x143);
		return true;
	case 0x145:
		bssy(s);
		return true;
	case 0x147:
		bra(s);
		return true;
	case 0x148:
		warpsync(s);
		return true;
	case 0x149: /* BRX */
	case 0x150: /* RET.REL */
		jump_by_register(s, field(s, 24, 8), (s->op & 0x1ff) == 0x150 && bit(s, 85));
		return true;
	case 0x14d:
		leave(s);
		return true;
	case 0x14e:
		lepc(s);
		return true;
	case 0x155:
		bmov(s, true);
		return true;
	case 0x156:
		bmov(s, false);
		return true;
	case 0x1c7: /* UCGABAR_ARV, UCGABAR_WAIT */
		if (s->op == 0xdc7)
			wait(s, AT_CLUSTER, 0);
		else
			go_on(s);
		return true;
	}
	return false;
}
