/* SPDX-License-Identifier: MIT */
/* Integers, bits and predicates. The uniform datapath has the same operations, at opcodes that are
 * 0x80 higher. */
#include "tests/sass/machine.h"

static bool compare(unsigned how, s64 x, s64 y)
{
	switch (how) {
	case 1:
		return x < y;
	case 2:
		return x == y;
	case 3:
		return x <= y;
	case 4:
		return x > y;
	case 5:
		return x != y;
	case 6:
		return x >= y;
	default:
		return how == 7;
	}
}

static bool combine(unsigned how, bool x, bool y)
{
	return how == 0 ? x && y : how == 1 ? x || y : x != y;
}

/* What an operand is worth that may be taken away: once that a carry comes in, its complement. */
static u32 term(u32 v, bool neg, bool carries, unsigned *one)
{
	if (!neg)
		return v;
	*one += !carries;
	return ~v;
}

static void iadd3(struct step *s, unsigned l)
{
	bool x = bit(s, 74);
	unsigned one = 0;
	u64 sum = (u64)term(src_a(s, l), bit(s, 72), x, &one) +
		  term(src_b(s, l), neg_b(s), x, &one) + term(src_c(s, l), neg_c(s), x, &one);

	sum += one;
	if (x)
		sum += pred(s, 87, l) + pred(s, 77, l);
	set(s, rd(s), l, sum);
	set_pred(s, 81, l, sum >> 32 >= 1);
	set_pred(s, 84, l, sum >> 32 >= 2);
}

static void lea(struct step *s, unsigned l)
{
	unsigned shift = field(s, 75, 5), one = 0;
	u32 a = src_a(s, l), v;
	u64 sum;

	if (bit(s, 80)) {
		u64 high = bit(s, 73) ? (u32)((s32)a >> 31) : src_c(s, l);

		v = shift ? (u32)(a >> (32 - shift)) | high << shift : high;
	} else {
		v = a << shift;
	}
	v = term(v, bit(s, 72), bit(s, 74), &one);
	sum = (u64)v + term(src_b(s, l), neg_b(s), bit(s, 74), &one);
	sum += one;
	if (bit(s, 74))
		sum += pred(s, 87, l);
	set(s, rd(s), l, sum);
	set_pred(s, 81, l, sum >> 32);
}

static u32 lut(unsigned table, u32 a, u32 b, u32 c)
{
	u32 r = 0;

	for (unsigned i = 0; i < 8; i++)
		if (table >> i & 1)
			r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return r;
}

static void lop3(struct step *s, unsigned l)
{
	u32 r = lut(field(s, 72, 8), src_a(s, l), src_b(s, l), src_c(s, l));
	bool p = pred(s, 87, l);

	set(s, rd(s), l, r);
	set_pred(s, 81, l, bit(s, 80) ? r && p : r || p);
}

static void plop3(struct step *s, unsigned l)
{
	u32 a = pred(s, 87, l), b = pred(s, 77, l);
	u32 c = pred_of(s, s->uniform || bit(s, 67), 68, l);

	set_pred(s, 81, l, lut(field(s, 64, 3) | field(s, 72, 5) << 3, -a, -b, -c) & 1);
	set_pred(s, 84, l, lut(field(s, 16, 8), -a, -b, -c) & 1);
}

static void shf(struct step *s, unsigned l)
{
	unsigned type = field(s, 73, 2), width = type >= 2 ? 32 : 64;
	u32 lo = src_a(s, l), hi = src_c(s, l), n = src_b(s, l);
	u64 v = lo | (u64)hi << 32;
	bool negative = (type == 0 || type == 2) && hi >> 31;

	if (bit(s, 75))
		n &= width - 1;
	else if (n > width)
		n = width;
	if (!bit(s, 76))
		v = n < 64 ? v << n : 0;
	else if (negative)
		v = n < 64 ? (u64)((s64)v >> n) : ~0ull;
	else
		v = n < 64 ? v >> n : 0;
	set(s, rd(s), l, bit(s, 80) ? v >> 32 : v);
}

static void isetp(struct step *s, unsigned l)
{
	u32 a = src_a(s, l), b = src_b(s, l);
	unsigned how = field(s, 76, 3), with = field(s, 74, 2);
	bool p = pred(s, 87, l), sign = bit(s, 73), r;

	r = sign ? compare(how, (s32)a, (s32)b) : compare(how, a, b);
	/* .EX: the high words, where the low ones' result decides if these are equal */
	if (bit(s, 72) && a == b && how != 2 && how != 5)
		r = pred(s, 68, l);
	else if (bit(s, 72) && how == 2)
		r = r && pred(s, 68, l);
	else if (bit(s, 72) && how == 5)
		r = r || pred(s, 68, l);
	set_pred(s, 81, l, combine(with, r, p));
	set_pred(s, 84, l, combine(with, !r, p));
}

static u64 product(struct step *s, u32 a, u32 b)
{
	return bit(s, 73) ? (u64)((s64)(s32)a * (s32)b) : (u64)a * b;
}

static void imad(struct step *s, unsigned l)
{
	u32 a = src_a(s, l), c = src_c(s, l), b = src_b(s, l), v = a * b;

	/* the sign of the product is the second source's */
	if (neg_b(s) != bit(s, 72))
		v = -v;
	if (bit(s, 74))
		v += (neg_c(s) ? ~c : c) + pred(s, 87, l);
	else
		v += neg_c(s) ? -c : c;
	set(s, rd(s), l, v);
}

static void imad_wide(struct step *s, unsigned l)
{
	u64 c = src_c64(s, l), v = product(s, src_a(s, l), src_b(s, l));
	unsigned __int128 sum;
	bool x = bit(s, 74);

	sum = (unsigned __int128)v + (neg_c(s) ? (x ? ~c : -c) : c) + (x ? pred(s, 87, l) : 0);
	set64(s, rd(s), l, sum);
	set_pred(s, 81, l, sum >> 64);
}

static void imad_hi(struct step *s, unsigned l)
{
	u64 c = src_c64(s, l), v = product(s, src_a(s, l), src_b(s, l));
	unsigned __int128 sum;
	bool x = bit(s, 74);

	sum = (unsigned __int128)v + (neg_c(s) ? -c : c) + (x ? pred(s, 87, l) : 0);
	set(s, rd(s), l, (u64)sum >> 32);
	set_pred(s, 81, l, sum >> 64);
}

static void prmt(struct step *s, unsigned l)
{
	u64 v = src_a(s, l) | (u64)src_c(s, l) << 32;
	u32 how = src_b(s, l), r = 0;

	if (field(s, 72, 3)) {
		fail_at(s, "PRMT with a mode");
		return;
	}
	for (unsigned i = 0; i < 4; i++) {
		unsigned n = how >> (4 * i) & 15, byte = v >> (8 * (n & 7)) & 255;

		r |= (n & 8 ? (byte & 128 ? 255u : 0) : byte) << (8 * i);
	}
	set(s, rd(s), l, r);
}

static u32 flo(struct step *s, u32 v)
{
	u32 r;

	if (bit(s, 73) && v >> 31)
		v = ~v;
	if (!v)
		return ~0u;
	r = 31 - __builtin_clz(v);
	return bit(s, 74) ? 31 - r : r;
}

static u32 reversed(u32 v)
{
	u32 r = 0;

	for (unsigned i = 0; i < 32; i++)
		r |= (v >> i & 1) << (31 - i);
	return r;
}

static u32 inverted_b(struct step *s, unsigned l)
{
	return neg_b(s) ? ~src_b(s, l) : src_b(s, l);
}

static void minmax(struct step *s, unsigned l, u32 a, u32 b, bool sign)
{
	bool less = sign ? (s32)a < (s32)b : a < b;

	set(s, rd(s), l, less == pred(s, 87, l) ? a : b);
}

static void vabsdiff(struct step *s, unsigned l)
{
	s64 a = src_a(s, l), b = src_b(s, l);

	if (bit(s, 73)) {
		a = (s32)a;
		b = (s32)b;
	}
	set(s, rd(s), l, (u32)(a > b ? a - b : b - a) + src_c(s, l));
}

static void mov(struct step *s, unsigned l)
{
	unsigned bytes = s->uniform ? 15 : field(s, 72, 4);

	if (bytes != 15)
		fail_at(s, "MOV with a mask");
	set(s, rd(s), l, src_b(s, l));
}

/* P2R and R2P: predicates as the bits of a byte of a register. */
static void p2r(struct step *s, unsigned l)
{
	u32 v = 0, mask = src_b(s, l), byte = field(s, 76, 2), a = src_a(s, l);

	for (unsigned p = 0; p < 7; p++)
		note(s->uses->read, (s->uniform ? UP_AT : P_AT) + p);
	for (unsigned p = 0; p < 7; p++)
		v |= (u32)(s->uniform ? s->w->up[p] : s->w->p[p] >> l & 1) << p;
	set(s, rd(s), l, (a & ~(mask << 8 * byte)) | (v & mask) << 8 * byte);
}

static void r2p(struct step *s, unsigned l)
{
	u32 v = src_a(s, l) >> 8 * field(s, 76, 2), mask = src_b(s, l);

	for (unsigned p = 0; p < 7; p++) {
		if (!(mask >> p & 1))
			continue;
		note(s->uses->written, (s->uniform ? UP_AT : P_AT) + p);
		if (s->uniform)
			s->w->up[p] = v >> p & 1;
		else
			s->w->p[p] = (s->w->p[p] & ~(1u << l)) | (v >> p & 1) << l;
	}
}

static bool one(struct step *s, unsigned l, u32 op)
{
	u32 v;

	switch (op) {
	case 0x002:
		mov(s, l);
		return true;
	case 0x003:
		p2r(s, l);
		return true;
	case 0x004:
		r2p(s, l);
		return true;
	case 0x007: /* SEL */
		set(s, rd(s), l, pred(s, 87, l) ? src_a(s, l) : src_b(s, l));
		return true;
	case 0x00c:
		isetp(s, l);
		return true;
	case 0x010:
		iadd3(s, l);
		return true;
	case 0x011:
		lea(s, l);
		return true;
	case 0x012:
		lop3(s, l);
		return true;
	case 0x013: /* IABS */
		v = src_b(s, l);
		set(s, rd(s), l, (s32)v < 0 ? -v : v);
		return true;
	case 0x016:
		prmt(s, l);
		return true;
	case 0x014: /* VABSDIFF */
		vabsdiff(s, l);
		return true;
	case 0x017: /* IMNMX */
		minmax(s, l, src_a(s, l), src_b(s, l), bit(s, 73));
		return true;
	case 0x046: /* VIADDMNMX */
		v = src_b(s, l);
		minmax(s, l, src_a(s, l) + (neg_b(s) ? -v : v), src_c(s, l), bit(s, 72));
		return true;
	case 0x048: /* VIMNMX */
		minmax(s, l, src_a(s, l), src_b(s, l), bit(s, 72));
		return true;
	case 0x019:
		shf(s, l);
		return true;
	case 0x01c:
		plop3(s, l);
		return true;
	case 0x024:
		imad(s, l);
		return true;
	case 0x025:
		imad_wide(s, l);
		return true;
	case 0x027:
		imad_hi(s, l);
		return true;
	case 0x036: /* VIADD */
		v = src_b(s, l);
		set(s, rd(s), l, (bit(s, 72) ? -src_a(s, l) : src_a(s, l)) + (neg_b(s) ? -v : v));
		return true;
	case 0x100:
		set(s, rd(s), l, flo(s, inverted_b(s, l)));
		return true;
	case 0x101: /* BREV */
		set(s, rd(s), l, reversed(inverted_b(s, l)));
		return true;
	case 0x109: /* POPC */
		set(s, rd(s), l, __builtin_popcount(inverted_b(s, l)));
		return true;
	}
	return false;
}

bool step_integer(struct step *s)
{
	u32 op = s->op & 0x1ff;

	if (s->uniform) {
		op = op == 0x0bd ? 0x100 : op == 0x0be ? 0x101 : op == 0x0bf ? 0x109 : op - 0x80;
		return one(s, 0, op);
	}
	EACH_LANE(s, l)
	if (!one(s, l, op))
		return false;
	return true;
}
