/* SPDX-License-Identifier: MIT */
/* Loads, stores, atomics, constants. Every address is checked. */
#include "tests/sass/machine.h"

static const unsigned width_of[] = {1, 1, 2, 2, 4, 8, 16, 16};

/* Turing's ST has what it stores in C's place, and the offset in all of B's. */
static bool is_turing_st(const struct step *s)
{
	return s->op == 0x385;
}

static s64 offset24(struct step *s)
{
	s64 v = field(s, 40, 24);

	return is_turing_st(s) ? (s32)field(s, 32, 32) : v - (v >> 23 << 24);
}

/* Where SIZE bytes of global memory are, or NULL. */
static unsigned char *global(struct step *s, u64 at, unsigned size)
{
	const struct interp_launch *launch = s->m->launch;

	if (launch->reach && at % size == 0) {
		unsigned char *p = launch->reach(launch->arg, at, size);

		if (p)
			return p;
	}
	for (unsigned i = 0; i < launch->region_count; i++) {
		u64 from = (u64)(uintptr_t)launch->regions[i].at;

		if (at >= from && at - from <= launch->regions[i].size &&
		    launch->regions[i].size - (at - from) >= size && at % size == 0)
			return (unsigned char *)(uintptr_t)at;
	}
	fail(s->m, "%#x: address %#llx is in no region that %s may touch, or not aligned to %u",
	     s->pc, (unsigned long long)at, s->m->launch->kernel, size);
	return NULL;
}

static unsigned char *shared(struct step *s, u32 at, unsigned size)
{
	u32 base = s->m->arch >= 90 ? 1024 : 0,
	    end = base + s->m->shared_static + s->m->launch->shared;

	if (s->m->arch >= 90 && at >> 24 == s->b->rank)
		at &= 0xffffff;
	if (at < base || at + size > end || at % size) {
		fail(s->m, "%#x: shared address %#x is not within %#x..%#x, or not aligned to %u",
		     s->pc, at, base, end, size);
		return NULL;
	}
	return s->b->shared + at;
}

static unsigned char *local(struct step *s, u32 at, unsigned size, unsigned lane)
{
	if (at > LOCAL_BYTES - size || at % size) {
		fail(s->m, "%#x: local address %#x is out of bounds", s->pc, at);
		return NULL;
	}
	return s->b->local + ((size_t)s->w->index * LANES + lane) * LOCAL_BYTES + at;
}

/* UR_AT: where the number of the uniform register stands that is the descriptor, or is added. */
static u64 global_address(struct step *s, unsigned lane, unsigned ur_at)
{
	u32 r = field(s, 24, 8);
	bool wide = bit(s, 72), desc = bit(s, 91) && bit(s, 90);

	if (ur_at && bit(s, 91) && !desc)
		return reg(s, r, lane) + ureg64(s, field(s, ur_at, 6)) + offset24(s);
	return (wide ? reg64(s, r, lane) : reg(s, r, lane)) + offset24(s);
}

static u32 near_address(struct step *s, unsigned lane, unsigned ur_at)
{
	u32 at = reg(s, field(s, 24, 8), lane);

	/* [R.X4] and its kin */
	at <<= field(s, 78, 2) ? field(s, 78, 2) + 1 : 0;
	if (bit(s, 91))
		at += ureg(s, field(s, ur_at, 6));
	return at + offset24(s);
}

static void load(struct step *s, unsigned lane, const unsigned char *p)
{
	unsigned type = field(s, 73, 3), size = width_of[type];
	u32 v[4] = {0}, d = rd(s);

	if (!p)
		return;
	memcpy(v, p, size);
	if (type == 1)
		v[0] = (u32)(s32)(signed char)v[0];
	if (type == 3)
		v[0] = (u32)(s32)(short)v[0];
	for (unsigned i = 0; i < (size + 3) / 4; i++)
		set(s, d == RZ ? RZ : d + i, lane, v[i]);
}

static void store(struct step *s, unsigned lane, unsigned char *p)
{
	unsigned size = width_of[field(s, 73, 3)];
	u32 v[4], d = field(s, is_turing_st(s) ? 64 : 32, 8);

	if (!p)
		return;
	for (unsigned i = 0; i < 4; i++)
		v[i] = d == RZ || i * 4 >= size ? 0 : reg(s, d + i, lane);
	memcpy(p, v, size);
}

enum { ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH, POPC_INC, CAS };

static u64 atomic(struct step *s, unsigned op, unsigned type, u64 was, u64 v)
{
	bool sign = type == 1 || type == 5;
	bool less = sign ? (s64)(type == 1 ? (s64)(s32)was : (s64)was) <
				    (type == 1 ? (s64)(s32)v : (s64)v)
			 : was < v;

	switch (op) {
	case ADD:
		return was + v;
	case MIN:
		return less ? was : v;
	case MAX:
		return less ? v : was;
	case INC:
		return was >= v ? 0 : was + 1;
	case DEC:
		return was == 0 || was > v ? v : was - 1;
	case AND:
		return was & v;
	case OR:
		return was | v;
	case XOR:
		return was ^ v;
	case EXCH:
		return v;
	case POPC_INC:
		return was + 1;
	}
	fail_at(s, "this kind of atomic");
	return 0;
}

/* ATOM, ATOMS, RED: 32 or 64 bits of integers. D: the register of the old value. */
static void atom(struct step *s, unsigned lane, unsigned char *p, u32 d, int op)
{
	unsigned type = field(s, 73, 3), size = type == 2 || type == 5 ? 8 : 4;
	u32 r = field(s, 32, 8), swap = field(s, 64, 8);
	u64 was = 0, v, now;

	if (!p)
		return;
	if (type != 0 && type != 1 && type != 2 && type != 5) {
		fail_at(s, "an atomic of this type");
		return;
	}
	memcpy(&was, p, size);
	v = op == POPC_INC ? 0 : size == 8 ? reg64(s, r, lane) : reg(s, r, lane);
	if (op == CAS)
		now = was == v ? size == 8 ? reg64(s, swap, lane) : reg(s, swap, lane) : was;
	else
		now = atomic(s, op, type, was, v);
	memcpy(p, &now, size);
	if (size == 8)
		set64(s, d, lane, was);
	else
		set(s, d, lane, was);
}

static unsigned atomic_size(struct step *s)
{
	unsigned type = field(s, 73, 3);

	return type == 2 || type == 5 ? 8 : 4;
}

u64 constant(const struct step *s, unsigned bank, u32 at, unsigned bytes)
{
	u64 v = 0;

	if (bank >= BANKS || at + bytes > BANK_BYTES)
		fail(s->m, "%#x: c[%#x][%#x] is not there", s->pc, bank, at);
	else
		memcpy(&v, s->m->bank[bank] + at, bytes);
	return v;
}

static void ldc(struct step *s, unsigned lane)
{
	unsigned type = field(s, 73, 3), size = width_of[type];
	u32 at = (u32)field(s, 38, 16) + reg(s, reg_at(s, 24), lane);
	u64 v;

	if (size > 8 || type == 1 || type == 3) {
		fail_at(s, "LDC of this width");
		return;
	}
	v = constant(s, field(s, 54, 5), at, size);
	if (size == 8)
		set64(s, rd(s), lane, v);
	else
		set(s, rd(s), lane, v);
}

static void ldgsts(struct step *s, unsigned lane)
{
	unsigned size = width_of[field(s, 73, 3)];
	u32 to = reg(s, field(s, 16, 8), lane);
	unsigned char *p, *q;

	if (field(s, 40, 24)) {
		fail_at(s, "LDGSTS with an offset");
		return;
	}
	p = global(s, reg64(s, field(s, 24, 8), lane), size);
	q = p ? shared(s, to, size) : NULL;
	if (q)
		memcpy(q, p, size);
}

static bool one(struct step *s, unsigned l)
{
	unsigned size = width_of[field(s, 73, 3)];

	switch (s->op & 0x1ff) {
	case 0x180: /* LD and LDG: nothing but global memory has a generic address here */
	case 0x181:
		load(s, l, global(s, global_address(s, l, 32), size));
		return true;
	case 0x185:
	case 0x186: /* ST, STG */
		store(s, l, global(s, global_address(s, l, 64), size));
		return true;
	case 0x183:
		load(s, l, local(s, reg(s, field(s, 24, 8), l) + offset24(s), size, l));
		return true;
	case 0x187:
		store(s, l, local(s, reg(s, field(s, 24, 8), l) + offset24(s), size, l));
		return true;
	case 0x184:
		load(s, l, shared(s, near_address(s, l, 32), size));
		return true;
	case 0x188:
		store(s, l, shared(s, near_address(s, l, 64), size));
		return true;
	case 0x182:
		ldc(s, l);
		return true;
	case 0x1a8: /* ATOMG */
		atom(s, l, global(s, global_address(s, l, 0), atomic_size(s)), rd(s),
		     field(s, 87, 4));
		return true;
	case 0x1a9:
		atom(s, l, global(s, global_address(s, l, 0), atomic_size(s)), rd(s), CAS);
		return true;
	case 0x18e: /* RED */
		atom(s, l, global(s, global_address(s, l, 64), atomic_size(s)), RZ,
		     field(s, 87, 3));
		return true;
	case 0x18c: /* ATOMS, and ATOMS.POPC.INC, which has a form of its own */
		atom(s, l, shared(s, near_address(s, l, 64), atomic_size(s)), rd(s),
		     s->op == 0xf8c ? POPC_INC : (int)field(s, 87, 4));
		return true;
	case 0x18d:
		atom(s, l, shared(s, near_address(s, l, 0), atomic_size(s)), rd(s), CAS);
		return true;
	case 0x1ae:
		ldgsts(s, l);
		return true;
	case 0x18f: /* CCTL, MEMBAR, ERRBAR, CGAERRBAR, LDGDEPBAR, DEPBAR: memory is in order here
		     */
	case 0x192:
	case 0x1ab:
	case 0x1af:
	case 0x11a:
		return true;
	}
	return false;
}

bool step_memory(struct step *s)
{
	u32 op = s->op & 0x1ff;

	if (op == 0x0b9 || op == 0x0bb) {
		/* ULDC, with a uniform register as its index in one form */
		u32 at = (u32)field(s, 38, 16) + (op == 0x0bb ? ureg(s, field(s, 24, 6)) : 0);
		unsigned size = width_of[field(s, 73, 3)];
		u64 v = constant(s, field(s, 54, 5), at, size > 8 ? 8 : size);

		if (size > 8)
			fail_at(s, "ULDC of this width");
		else if (size == 8)
			set64(s, rd(s), 0, v);
		else
			set(s, rd(s), 0, v);
		return true;
	}
	if (s->uniform)
		return false;
	EACH_LANE(s, l)
	{
		if (!one(s, l))
			return false;
		if (s->m->failed)
			return true;
	}
	return true;
}
