/* SPDX-License-Identifier: MIT */
/* Exchange of values between threads of a warp, and special registers of a thread. */
#include "tests/sass/machine.h"

static u32 special(struct step *s, unsigned id, unsigned lane)
{
	const struct interp_launch *a = s->m->launch;
	unsigned t = s->w->index * LANES + lane;

	switch (id) {
	case 0x00: /* LANEID */
		return lane;
	case 0x03: /* VIRTID: the warp's number among those of its SM in bits 8..14 */
		return s->w->index << 8;
	case 0x20:
		return t % a->block[0] | t / a->block[0] % a->block[1] << 16 |
		       t / (a->block[0] * a->block[1]) << 26;
	case 0x21:
		return t % a->block[0];
	case 0x22:
		return t / a->block[0] % a->block[1];
	case 0x23:
		return t / (a->block[0] * a->block[1]);
	case 0x25:
	case 0x26:
	case 0x27: /* CTAID.X .Y .Z */
		return s->b->at[id - 0x25];
	case 0x38:
		return 1u << lane;
	case 0x39:
		return (1u << lane) - 1;
	case 0x3a:
		return (2u << lane) - 1;
	case 0x3b:
		return -(2u << lane);
	case 0x3c:
		return -(1u << lane);
	case 0x43: /* VIRTUALSMID: blocks lie on three of them */
		return (s->b->at[0] + s->b->at[1]) % 3;
	case 0x88: /* CgaCtaId */
		return s->b->rank;
	case 0xff:
		return 0;
	}
	fail(s->m, "%#x: special register %#x is not known", s->pc, id);
	return 0;
}

static void shfl(struct step *s)
{
	unsigned mode = field(s, 58, 2);
	u32 was[LANES], from = field(s, 24, 8);
	bool lane_imm = s->form == 4 || s->form == 7, c_imm = s->form == 2 || s->form == 7;

	for (unsigned l = 0; l < LANES; l++)
		was[l] = reg(s, from, l);
	EACH_LANE(s, l)
	{
		u32 b = lane_imm ? field(s, 53, 5) : reg(s, field(s, 32, 8), l) & 31;
		u32 c = c_imm ? field(s, 40, 13) : reg(s, field(s, 64, 8), l);
		unsigned seg = c >> 8 & 31, clamp = c & 31, top = (l & seg) | (clamp & ~seg),
			 low = l & seg;
		int j;
		bool in;

		switch (mode) {
		case 0:
			j = low | (b & ~seg);
			in = j <= (int)top;
			break;
		case 1:
			j = (int)l - (int)b;
			in = j >= (int)top;
			break;
		case 2:
			j = l + b;
			in = j <= (int)top;
			break;
		default:
			j = l ^ b;
			in = j <= (int)top;
		}
		set(s, rd(s), l, was[in ? j : (int)l]);
		set_pred(s, 81, l, in);
	}
}

/* The form says whether lane and clamp stand in registers or in the instruction. */
static bool shuffles(struct step *s)
{
	switch (s->op) {
	case 0x389:
	case 0x589:
	case 0x989:
	case 0xf89:
		shfl(s);
		return true;
	}
	return false;
}

static u32 ballot(struct step *s, u32 mask)
{
	u32 p = field(s, 87, 3);

	if (p != PT)
		note(s->uses->read, P_AT + p);
	return mask & (bit(s, 90) ? ~s->w->p[p] : s->w->p[p]);
}

static bool voted(unsigned mode, u32 those, u32 mask)
{
	return mode == 0 ? those == mask : mode == 1 ? those != 0 : those == mask || !those;
}

static void vote(struct step *s)
{
	u32 those = ballot(s, s->mask);

	EACH_LANE(s, l)
	{
		set(s, rd(s), l, those);
		set_pred(s, 81, l, voted(field(s, 72, 2), those, s->mask));
	}
}

static void voteu(struct step *s)
{
	u32 those = ballot(s, s->part->mask);
	u32 p = field(s, 81, 3);

	uset(s, field(s, 16, 6), those);
	if (p != PT)
		s->w->up[p] = voted(field(s, 72, 2), those, s->part->mask);
}

static void match(struct step *s)
{
	bool any = bit(s, 79);
	u32 first = 0, same = 0;
	bool seen = false, all = true;
	u32 r = field(s, 24, 8);

	if (bit(s, 73)) {
		fail_at(s, "MATCH of 64 bits");
		return;
	}
	EACH_LANE(s, l)
	{
		if (seen && reg(s, r, l) != first)
			all = false;
		if (!seen)
			first = reg(s, r, l);
		seen = true;
	}
	u32 v[LANES] = {0};

	EACH_LANE(s, l)
	{
		same = 0;
		EACH_LANE(s, k)
		same |= (u32)(reg(s, r, k) == reg(s, r, l)) << k;
		v[l] = any ? same : all ? s->mask : 0;
	}
	EACH_LANE(s, l)
	{
		set(s, rd(s), l, v[l]);
		if (!any)
			set_pred(s, 81, l, all);
	}
}

static void redux(struct step *s)
{
	unsigned op = field(s, 78, 3), r = field(s, 24, 8);
	bool seen = false, sign = bit(s, 73);
	u32 sum = 0;

	EACH_LANE(s, l)
	{
		u32 v = reg(s, r, l);
		bool less = sign ? (s32)v < (s32)sum : v < sum;

		if (!seen)
			sum = v;
		else if (op == 3)
			sum += v;
		else if (op == 0)
			sum &= v;
		else if (op == 1)
			sum |= v;
		else if (op == 2)
			sum ^= v;
		else if (op == 4)
			sum = less ? v : sum;
		else if (op == 5)
			sum = less ? sum : v;
		else
			fail_at(s, "REDUX's operation");
		seen = true;
	}
	uset(s, field(s, 16, 6), sum);
}

/* One of those whose second predicate holds: the lowest. */
static void elect(struct step *s)
{
	u32 those = ballot(s, s->mask), lowest = those & -those;

	EACH_LANE(s, l)
	set_pred(s, 81, l, lowest >> l & 1);
	uset(s, field(s, 16, 6), those ? __builtin_ctz(those) : 0);
}

/* C += A (8 x 16 bytes, by rows) times B (16 x 8 bytes, by columns) */
static void imma(struct step *s)
{
	u32 a = field(s, 24, 8), b = field(s, 32, 8), c = field(s, 64, 8), out[LANES][2];

	if ((s->hi & 0xffffff00) != 0x00005400 || s->mask != ~0u) {
		fail_at(s, "this kind of IMMA");
		return;
	}
	for (unsigned l = 0; l < LANES; l++) {
		for (unsigned j = 0; j < 2; j++) {
			unsigned row = l / 4, col = l % 4 * 2 + j;
			u32 sum = reg(s, c == RZ ? RZ : c + j, l);

			for (unsigned k = 0; k < 16; k++) {
				signed char x = reg(s, a, row * 4 + k / 4) >> 8 * (k % 4);
				signed char y = reg(s, b, col * 4 + k / 4) >> 8 * (k % 4);

				sum += (s32)x * y;
			}
			out[l][j] = sum;
		}
	}
	for (unsigned l = 0; l < LANES; l++) {
		set(s, rd(s), l, out[l][0]);
		set(s, rd(s) + 1, l, out[l][1]);
	}
}

static unsigned lowest(struct step *s)
{
	return s->mask ? __builtin_ctz(s->mask) : 0;
}

bool step_warp(struct step *s)
{
	switch (s->op & 0x1ff) {
	case 0x006:
		vote(s);
		return true;
	case 0x086:
		voteu(s);
		return true;
	case 0x02f:
		elect(s);
		return true;
	case 0x037:
		imma(s);
		return true;
	case 0x189:
		return shuffles(s);
	case 0x1a1:
		match(s);
		return true;
	case 0x1c4:
		redux(s);
		return true;
	case 0x0ca:
	case 0x1c2: /* R2UR */
		uset(s, field(s, 16, 6), reg(s, field(s, 24, 8), lowest(s)));
		return true;
	case 0x1c3: /* S2UR */
		uset(s, field(s, 16, 6), special(s, field(s, 72, 8), lowest(s)));
		return true;
	case 0x119: /* S2R */
		EACH_LANE(s, l)
		set(s, rd(s), l, special(s, field(s, 72, 8), l));
		return true;
	case 0x005: /* CS2R */
		EACH_LANE(s, l)
		if (bit(s, 80))
			set64(s, rd(s), l, special(s, field(s, 72, 8), l));
		else
			set(s, rd(s), l, special(s, field(s, 72, 8), l));
		return true;
	case 0x11c: /* B2R.RESULT */
		EACH_LANE(s, l)
		{
			set(s, rd(s), l, s->w->bar_result);
			set_pred(s, 81, l, s->w->bar_result);
		}
		return true;
	}
	return false;
}
