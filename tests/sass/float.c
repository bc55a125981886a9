/* SPDX-License-Identifier: MIT */
/*
 * Floating-point operations and conversions. Operations that IEEE 754 defines are exact. MUFU
 * returns the nearest number instead of the GPU's approximation; results computed from it
 * (division, square root) are the same.
 */
#include <fenv.h>
#include <math.h>
#include "tests/sass/machine.h"

enum { NAN32 = 0x7fffffff };

static float f32(u32 v)
{
	float f;

	memcpy(&f, &v, 4);
	return f;
}

static u32 bits32(float f)
{
	u32 v;

	memcpy(&v, &f, 4);
	return isnan(f) ? (u32)NAN32 : v;
}

static double f64(u64 v)
{
	double d;

	memcpy(&d, &v, 8);
	return d;
}

static u64 bits64(double d)
{
	u64 v;

	memcpy(&v, &d, 8);
	return isnan(d) ? 0xfff8000000000000ull : v;
}

static u32 flushed(u32 v, bool ftz)
{
	return ftz && !(v & 0x7f800000) ? v & 0x80000000 : v;
}

static u32 sign32(u32 v, bool absolute, bool neg)
{
	if (absolute)
		v &= 0x7fffffff;
	return neg ? v ^ 0x80000000 : v;
}

static u64 sign64(u64 v, bool absolute, bool neg)
{
	if (absolute)
		v &= ~(1ull << 63);
	return neg ? v ^ 1ull << 63 : v;
}

static float a32(struct step *s, unsigned l, bool ftz)
{
	return f32(flushed(sign32(src_a(s, l), bit(s, 73), bit(s, 72)), ftz));
}

static float b32(struct step *s, unsigned l, bool ftz)
{
	return f32(flushed(sign32(src_b(s, l), abs_b(s), neg_b(s)), ftz));
}

static float c32(struct step *s, unsigned l, bool ftz)
{
	return f32(flushed(sign32(src_c(s, l), abs_c(s), neg_c(s)), ftz));
}

static void round_as(unsigned how)
{
	static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

	fesetround(modes[how & 3]);
}

static void put32(struct step *s, unsigned l, float f, bool ftz)
{
	u32 v = flushed(bits32(f), ftz);

	if (bit(s, 77)) /* .SAT */
		v = isnan(f) || f < 0 ? 0 : f > 1 ? 0x3f800000 : v;
	set(s, rd(s), l, v);
}

static bool ordered(unsigned how, double x, double y)
{
	bool un = isnan(x) || isnan(y);

	if (how == 7 || how == 8)
		return un == (how == 8);
	if (un)
		return how & 8;
	return (how & 1 && x < y) || (how & 2 && x == y) || (how & 4 && x > y);
}

static void setp(struct step *s, unsigned l, double x, double y)
{
	bool r = ordered(field(s, 76, 4), x, y), p = pred(s, 87, l);
	unsigned with = field(s, 74, 2);

	set_pred(s, 81, l, with == 0 ? r && p : with == 1 ? r || p : r != p);
	set_pred(s, 84, l, with == 0 ? !r && p : with == 1 ? !r || p : !r != p);
}

static void minmax(struct step *s, unsigned l)
{
	float a = a32(s, l, bit(s, 80)), b = b32(s, l, bit(s, 80)), r;

	if (isnan(a) || isnan(b))
		r = isnan(a) ? b : a;
	else if (a == b)
		r = signbit(a) == pred(s, 87, l) ? a : b;
	else
		r = (a < b) == pred(s, 87, l) ? a : b;
	set(s, rd(s), l, bits32(r));
}

/* FADD's second source stands where others have the second, DADD's where they have the third. */
static float second32(struct step *s, unsigned l, bool ftz)
{
	return s->form == 1 || s->form >= 4 ? b32(s, l, ftz) : c32(s, l, ftz);
}

static double a64(struct step *s, unsigned l)
{
	return f64(sign64(reg64(s, field(s, 24, 8), l), bit(s, 73), bit(s, 72)));
}

static double b64(struct step *s, unsigned l)
{
	return f64(sign64(src_b64(s, l), abs_b(s), neg_b(s)));
}

static double c64(struct step *s, unsigned l)
{
	return f64(sign64(src_c64(s, l), abs_c(s), neg_c(s)));
}

static void mufu(struct step *s, unsigned l)
{
	u32 v = sign32(src_b(s, l), abs_b(s), neg_b(s));
	float x = f32(flushed(v, true)), r;

	fesetround(FE_TONEAREST);
	switch (field(s, 74, 4)) {
	case 2:
		r = exp2f(x);
		break;
	case 3:
		r = log2f(x);
		break;
	case 4:
		r = 1 / f32(v);
		break;
	case 5:
		r = (float)(1 / sqrt((double)f32(v)));
		break;
	case 6:
		set(s, rd(s), l, bits64(1 / f64((u64)v << 32)) >> 32);
		return;
	case 7:
		set(s, rd(s), l, bits64(1 / sqrt(f64((u64)v << 32))) >> 32);
		return;
	case 8:
		r = sqrtf(x);
		break;
	default:
		fail_at(s, "MUFU's function");
		return;
	}
	set(s, rd(s), l, bits32(r));
}

static int exponent(u32 v)
{
	return v >> 23 & 255;
}

/* Whether a quotient needs the slow way: exponents at the ends, or far from each other. */
static void fchk(struct step *s, unsigned l)
{
	int a = exponent(src_a(s, l)), b = exponent(src_b(s, l));

	set_pred(s, 81, l,
		 a == 255 || b == 255 || b <= 1 || b >= 253 || a <= 24 || a - b >= 126 ||
			 a - b <= -126);
}

/* To an integer of 32 or 64 bits, within its limits. */
static u64 to_integer(struct step *s, double d, bool sign, bool wide)
{
	double top = ldexp(1, (wide ? 64 : 32) - sign), bottom = sign ? -top : 0;

	round_as(field(s, 78, 2));
	d = rint(d);
	fesetround(FE_TONEAREST);
	if (isnan(d))
		return wide ? 1ull << 63 : sign ? 0 : 0;
	if (d >= top)
		return wide ? sign ? ~0ull >> 1 : ~0ull : sign ? 0x7fffffff : 0xffffffff;
	if (d < bottom)
		return wide ? sign ? 1ull << 63 : 0 : sign ? 0x80000000 : 0;
	return sign ? (u64)(s64)d : (u64)d;
}

static double source_float(struct step *s, unsigned l)
{
	switch (field(s, 84, 2)) {
	case 2:
		return f32(flushed(sign32(src_b(s, l), abs_b(s), neg_b(s)), bit(s, 80)));
	case 3:
		return b64(s, l);
	}
	fail_at(s, "this width of source");
	return 0;
}

static void f2i(struct step *s, unsigned l)
{
	unsigned width = field(s, 75, 2);
	u64 v = to_integer(s, source_float(s, l), bit(s, 72), width == 3);

	if (width == 3)
		set64(s, rd(s), l, v);
	else if (width == 2)
		set(s, rd(s), l, v);
	else
		fail_at(s, "F2I to this width");
}

static void i2f(struct step *s, unsigned l)
{
	unsigned to = field(s, 75, 2), from = field(s, 84, 2);
	bool sign = bit(s, 74);
	u64 v = from == 3 ? src_b64(s, l) : src_b(s, l);
	volatile float f;
	volatile double d;

	if (from < 2 || to < 2) {
		fail_at(s, "I2F of this width");
		return;
	}
	if (sign && from == 2)
		v = (u64)(s64)(s32)v;
	round_as(field(s, 78, 2));
	if (to == 2) {
		f = sign ? (float)(s64)v : (float)v;
		set(s, rd(s), l, bits32(f));
	} else {
		d = sign ? (double)(s64)v : (double)v;
		set64(s, rd(s), l, bits64(d));
	}
	fesetround(FE_TONEAREST);
}

static bool one(struct step *s, unsigned l, u32 op)
{
	bool ftz = bit(s, 80), known = true;
	unsigned how = field(s, 78, 2);
	volatile float r;
	volatile double d;

	/* what is not the usual direction is rare, and slow to set */
	if (how)
		round_as(how);
	switch (op) {
	case 0x020: /* FMUL */
		if (field(s, 84, 3) != 4 && field(s, 84, 3) != 0)
			fail_at(s, "FMUL with a scale");
		r = a32(s, l, ftz) * b32(s, l, ftz);
		put32(s, l, r, ftz);
		break;
	case 0x021: /* FADD */
		r = a32(s, l, ftz) + second32(s, l, ftz);
		put32(s, l, r, ftz);
		break;
	case 0x023: /* FFMA */
		r = fmaf(a32(s, l, ftz), b32(s, l, ftz), c32(s, l, ftz));
		put32(s, l, r, ftz);
		break;
	case 0x028: /* DMUL */
		d = a64(s, l) * b64(s, l);
		set64(s, rd(s), l, bits64(d));
		break;
	case 0x029: /* DADD */
		d = a64(s, l) + c64(s, l);
		set64(s, rd(s), l, bits64(d));
		break;
	case 0x02b: /* DFMA */
		d = fma(a64(s, l), b64(s, l), c64(s, l));
		set64(s, rd(s), l, bits64(d));
		break;
	default:
		known = false;
	}
	if (how)
		fesetround(FE_TONEAREST);
	return known;
}

static bool other(struct step *s, unsigned l, u32 op)
{
	bool ftz = bit(s, 80);

	switch (op) {
	case 0x008: /* FSEL */
		set(s, rd(s), l,
		    pred(s, 87, l) ? sign32(src_a(s, l), bit(s, 73), bit(s, 72))
				   : sign32(src_b(s, l), abs_b(s), neg_b(s)));
		return true;
	case 0x009:
		minmax(s, l);
		return true;
	case 0x00b:
		setp(s, l, a32(s, l, ftz), b32(s, l, ftz));
		return true;
	case 0x02a:
		setp(s, l, a64(s, l), b64(s, l));
		return true;
	case 0x031:
	case 0x035: /* HFMA2: nvcc moves constants by it */
		if (field(s, 24, 8) != RZ || (s->form != 2 && s->form != 1) ||
		    field(s, s->form == 2 ? 64 : 32, 8) != RZ)
			fail_at(s, "HFMA2 that is more than a move");
		set(s, rd(s), l, src_c(s, l));
		return true;
	case 0x045: /* I2FP */
	case 0x106:
	case 0x112:
		i2f(s, l);
		return true;
	case 0x102:
		fchk(s, l);
		return true;
	case 0x105:
	case 0x111:
		f2i(s, l);
		return true;
	case 0x107: /* FRND */
		if (field(s, 75, 2) != 2 || field(s, 84, 2) != 2)
			fail_at(s, "FRND of this width");
		round_as(field(s, 78, 2));
		set(s, rd(s), l, bits32(rintf((float)source_float(s, l))));
		fesetround(FE_TONEAREST);
		return true;
	case 0x108:
		mufu(s, l);
		return true;
	}
	return false;
}

bool step_float(struct step *s)
{
	u32 op = s->op & 0x1ff;

	if (s->uniform)
		return false;
	EACH_LANE(s, l)
	if (!one(s, l, op) && !other(s, l, op))
		return false;
	return true;
}
