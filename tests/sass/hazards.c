/* SPDX-License-Identifier: MIT */
/*
 * Checks that code waits for what it uses. The GPU does not check: an instruction says itself how
 * long the next one has to wait (stall), which barrier it raises until its result is written or
 * its sources are read, and for which barriers it waits. In this interpreter results are right
 * without any of that; on the GPU they are not.
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/sass/machine.h"

enum { NONE = 7, NOBODY = 1 << 6, APART = 1000 };

static void name_of(u32 place, char *name, size_t size)
{
	if (place < UR_AT)
		snprintf(name, size, "R%u", place);
	else if (place < P_AT)
		snprintf(name, size, "UR%u", place - UR_AT);
	else if (place < UP_AT)
		snprintf(name, size, "P%u", place - P_AT);
	else
		snprintf(name, size, "UP%u", place - UP_AT);
}

static void hazard(struct step *s, u32 place, const char *how)
{
	char name[16];

	name_of(place, name, sizeof(name));
	fail(s->m, "%s at %#x: opcode %03x %s %s", s->m->launch->kernel, s->pc, s->op, how, name);
}

static bool in(const u64 *set, u32 place)
{
	return set[place / 64] >> place % 64 & 1;
}

#define EACH_BUSY(p, i)                               \
	for (u32 word_ = 0; word_ < 6; word_++)       \
		for (u64 left_ = (p)->busy[word_], i; \
		     left_ && (i = word_ * 64 + __builtin_ctzll(left_), true); left_ &= left_ - 1)

static void waited(struct pipes *p, unsigned barriers)
{
	EACH_BUSY(p, i)
	{
		if (p->load_by[i] & barriers)
			p->loading[i] = p->load_by[i] = 0;
		if (p->read_by[i] & barriers)
			p->reading[i] = p->read_by[i] = 0;
		if (!p->load_by[i] && !p->read_by[i])
			p->busy[i / 64] &= ~(1ull << i % 64);
	}
}

/* Those of one kind end in order: who raises a barrier vouches for those before it whose results
 * raise none, and for what those before it read, also where these raise one of their own. */
static void vouched(struct pipes *p, unsigned wb, unsigned rb)
{
	unsigned wrote = wb == NONE ? 0 : 1u << wb, read = rb == NONE ? wrote : 1u << rb;

	EACH_BUSY(p, i)
	{
		if (p->load_by[i] & NOBODY)
			p->load_by[i] |= wrote;
		if (p->read_by[i])
			p->read_by[i] |= read;
	}
}

/* Those whose results come when they come. */
static bool variable(const struct step *s)
{
	u32 op = s->op & 0x1ff;

	return op >= 0x180 || (op >= 0x100 && op < 0x118) || op == 0x119;
}

/*
 * Cycles that have to lie between the instruction that wrote a register and S that reads it: the
 * least that were seen in what nvcc made of the victims, over all paths that they took. Rather too
 * few than too many.
 */
static unsigned least(const struct step *s, u32 by, u32 place)
{
	u32 op = s->op & 0x1ff;
	bool control = op >= 0x140 && op < 0x160;

	if (place < UR_AT) {
		bool wide = by == 0x028 || by == 0x029 || by == 0x02b;

		return wide			    ? (variable(s) ? 6 : 8)
		       : by == 0x037		    ? 16
		       : by == 0x025 || by == 0x002 ? 3
						    : 4;
	}
	if (place < P_AT) {
		bool quick = by == 0x082 || by == 0x086 || by == 0x0b9 || by == 0x0bb;

		if (by == 0x0ca)
			return control ? 13 : 2;
		return quick ? 2 : s->uniform ? 4 : 6;
	}
	if (place < UP_AT && (control || field(s, 12, 3) == place - P_AT))
		return s->m->arch >= 90 ? 13 : 12;
	return 4;
}

static void check(struct step *s, struct pipes *p, u32 place, u32 lanes, bool reads, bool writes)
{
	char how[64];

	if (p->loading[place] & lanes)
		hazard(s, place, "does not wait for what is loaded into");
	if (writes && p->reading[place] & lanes && !variable(s))
		hazard(s, place, "overwrites, while it may still be read,");
	if (reads && p->op[place] &&
	    p->now - p->when[place] < least(s, p->op[place] & 0x1ff, place)) {
		snprintf(how, sizeof(how), "reads, %u cycles behind opcode %03x,",
			 (unsigned)(p->now - p->when[place]), p->op[place] & 0xfff);
		hazard(s, place, how);
	}
}

static void use(struct step *s, struct pipes *p, u32 i, unsigned wb, unsigned rb)
{
	bool reads = in(s->uses->read, i), writes = in(s->uses->written, i);
	u32 lanes = i < UR_AT || (i >= P_AT && i < UP_AT) ? s->part->mask : ~0u;

	check(s, p, i, lanes, reads, writes);
	if (writes && wb == NONE && !variable(s)) {
		p->when[i] = p->now;
		p->op[i] = s->op | 0x1000;
		return;
	}
	if (writes) {
		note(p->busy, i);
		p->loading[i] |= lanes;
		p->load_by[i] |= wb == NONE ? NOBODY : 1u << wb;
		p->op[i] = 0;
	}
	if (reads && i < UR_AT && variable(s)) {
		note(p->busy, i);
		p->reading[i] |= lanes;
		p->read_by[i] |= (rb == NONE ? NOBODY : 1u << rb) | (wb == NONE ? 0 : 1u << wb);
	}
}

void check_hazards(struct step *s)
{
	struct pipes *p = &s->w->pipes;
	unsigned wait = field(s, 116, 6), rb = field(s, 113, 3), wb = field(s, 110, 3),
		 stall = field(s, 105, 4);

	if (p->last != s->part)
		p->now += APART;
	p->last = s->part;
	if ((s->op & 0x1ff) == 0x11a) /* DEPBAR.LE SB, 0 */
		wait |= 1u << field(s, 44, 3);
	if (wait)
		waited(p, wait);
	if (variable(s))
		vouched(p, wb, rb);
	if ((s->op & 0x1ff) == 0x11d) /* BAR: what came before has left its registers */
		waited(p, NOBODY);
	for (u32 word = 0; word < sizeof(s->uses->read) / 8; word++)
		for (u64 left = s->uses->read[word] | s->uses->written[word]; left;
		     left &= left - 1)
			use(s, p, word * 64 + __builtin_ctzll(left), wb, rb);
	p->now += stall ? stall : 1;
}
