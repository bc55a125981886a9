/* SPDX-License-Identifier: MIT */
/* Runs a kernel's grid: one cluster of blocks at a time, its warps and their parts in turn. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/sass/machine.h"

enum { TURN = 4096, LIMIT = 200000000 };

void fail(struct machine *m, const char *fmt, ...)
{
	va_list args;

	if (m->failed)
		return;
	m->failed = true;
	va_start(args, fmt);
	vsnprintf(m->why, m->why_size, fmt, args);
	va_end(args);
}

void fail_at(struct step *s, const char *what)
{
	fail(s->m,
	     "%s at %#x of %s: %s not known to the interpreter (opcode %03x, words %016llx "
	     "%016llx)",
	     "instruction", s->pc, s->m->launch->kernel, what, s->op, (unsigned long long)s->lo,
	     (unsigned long long)s->hi);
}

/* ---- sources: forms 2, 3 and 7 put the third where the second stands otherwise, and the other way
 * round ---- */

static u64 slot32(const struct step *s, unsigned lane, bool wide)
{
	u32 r;

	switch (s->form) {
	case 2:
	case 4:
		return wide ? (s->lo >> 32) << 32 : s->lo >> 32;
	case 3:
	case 5:
		if (bit(s, 91))
			fail(s->m, "%#x: a constant by a uniform register is not known", s->pc);
		return constant(s, field(s, 54, 5), field(s, 38, 16), wide ? 8 : 4);
	case 6:
	case 7:
		r = field(s, 32, 6);
		return wide ? ureg64(s, r) : ureg(s, r);
	}
	r = reg_at(s, 32);
	return wide ? reg64(s, r, lane) : reg(s, r, lane);
}

static u64 slot64(const struct step *s, unsigned lane, bool wide)
{
	u32 r = reg_at(s, 64);

	return wide ? reg64(s, r, lane) : reg(s, r, lane);
}

static bool swapped(const struct step *s)
{
	return s->form == 2 || s->form == 3 || s->form == 7;
}

u32 src_a(const struct step *s, unsigned lane)
{
	return reg(s, reg_at(s, 24), lane);
}

u32 src_b(const struct step *s, unsigned lane)
{
	return swapped(s) ? slot64(s, lane, false) : slot32(s, lane, false);
}

u32 src_c(const struct step *s, unsigned lane)
{
	return swapped(s) ? slot32(s, lane, false) : slot64(s, lane, false);
}

u64 src_b64(const struct step *s, unsigned lane)
{
	return swapped(s) ? slot64(s, lane, true) : slot32(s, lane, true);
}

/* The third of IMAD.WIDE, an integer: an immediate of it is not a number's high half. */
u64 src_c64(const struct step *s, unsigned lane)
{
	if (s->form == 2 && (s->op & 0x1ff) == 0x025)
		return s->lo >> 32;
	return swapped(s) ? slot32(s, lane, true) : slot64(s, lane, true);
}

static bool sign_of(const struct step *s, bool third, unsigned at32, unsigned at64)
{
	if (third != swapped(s))
		return bit(s, at64);
	return s->form != 2 && s->form != 4 && bit(s, at32);
}

bool neg_b(const struct step *s)
{
	return sign_of(s, false, 63, 75);
}

bool neg_c(const struct step *s)
{
	return sign_of(s, true, 63, 75);
}

bool abs_b(const struct step *s)
{
	return sign_of(s, false, 62, 74);
}

bool abs_c(const struct step *s)
{
	return sign_of(s, true, 62, 74);
}

/* ---- one instruction ---- */

static bool counted(const struct interp_launch *launch, unsigned number)
{
	return !launch->to || (number >= launch->from && number < launch->to);
}

static void step(struct step *s)
{
	if (step_control(s))
		return;
	if (s->uniform)
		s->mask = s->mask ? 1 : 0;
	if (s->mask && !step_warp(s) && !step_memory(s) && !step_integer(s) && !step_float(s))
		fail_at(s, "an opcode");
	s->part->pc += 16;
}

static void execute(struct warp *w, struct part *part)
{
	struct uses uses = {0};
	struct step s = {.uses = &uses,
			 .m = w->block->m,
			 .b = w->block,
			 .w = w,
			 .part = part,
			 .pc = part->pc};
	struct interp_counts *n = s.m->counts;
	u32 op9, guard;

	if (part->pc % 16 || part->pc + 16 > s.m->code_size) {
		fail(s.m, "a branch went to %#x, which is not in %s", part->pc,
		     s.m->launch->kernel);
		return;
	}
	memcpy(&s.lo, s.m->code + part->pc, 8);
	memcpy(&s.hi, s.m->code + part->pc + 8, 8);
	s.op = s.lo & 0xfff;
	s.form = s.op >> 9;
	op9 = s.op & 0x1ff;
	s.uniform = op9 >= 0x80 && op9 < 0xc0 && op9 != 0x086;
	guard = field(&s, 12, 3);
	if (s.uniform || op9 == 0x086)
		s.mask = s.w->up[guard] != bit(&s, 15) ? part->mask : 0;
	else
		s.mask = part->mask & (bit(&s, 15) ? ~w->p[guard] : w->p[guard]);
	if (counted(s.m->launch, s.m->number[part->pc / 16])) {
		n->warp++;
		n->thread += __builtin_popcount(part->mask);
		n->pred_on += __builtin_popcount(s.mask);
		n->warp_on += s.mask != 0;
	}
	s.m->steps++;
	if (s.mask && guard != PT)
		note(uses.read, (s.uniform ? UP_AT : P_AT) + guard);
	step(&s);
	check_hazards(&s);
}

/* ---- meeting points ---- */

static u32 waiting(struct warp *w, enum part_state state, u32 wants, u32 pc)
{
	u32 mask = 0;

	for (unsigned i = 0; i < w->parts; i++)
		if (w->part[i].state == state && w->part[i].wants == wants &&
		    (pc == ~0u || w->part[i].pc == pc))
			mask |= w->part[i].mask;
	return mask;
}

/* Those of MASK that wait alike become one part, behind the instruction. */
static void join(struct warp *w, enum part_state state, u32 wants, u32 pc, u32 mask, bool note)
{
	struct part *into = NULL;

	w->met_count = note ? 0 : w->met_count;
	for (unsigned i = 0; i < w->parts; i++) {
		struct part *p = &w->part[i];

		if (p->state != state || p->wants != wants || p->pc != pc || !(p->mask & mask))
			continue;
		if (note)
			w->met[w->met_count++] = p->mask;
		if (!into) {
			into = p;
			continue;
		}
		into->mask |= p->mask;
		p->mask = 0;
	}
	into->state = RUNS;
	into->pc += 16;
}

static bool release_bsync(struct warp *w, struct part *p)
{
	u32 want = 0, there = waiting(w, AT_BSYNC, p->wants, p->pc);

	for (unsigned l = 0; l < LANES; l++)
		if (p->mask >> l & 1)
			want |= w->conv[p->wants][l];
	want = (want & w->live) | p->mask;
	if (want & ~there)
		return false;
	join(w, AT_BSYNC, p->wants, p->pc, want, false);
	return true;
}

static bool release_warpsync(struct warp *w, struct part *p)
{
	u32 there = waiting(w, AT_WARPSYNC, p->wants, ~0u);

	if (p->wants & w->live & ~there)
		return false;
	join(w, AT_WARPSYNC, p->wants, p->pc, ~0u, p->collective);
	return true;
}

static bool tidy(struct warp *w)
{
	bool any = false;

	for (unsigned i = 0; i < w->parts; i++) {
		while (i < w->parts && !w->part[i].mask)
			w->part[i] = w->part[--w->parts];
	}
	for (unsigned i = 0; i < w->parts; i++) {
		if (w->part[i].mask && w->part[i].state == AT_BSYNC)
			any |= release_bsync(w, &w->part[i]);
		else if (w->part[i].mask && w->part[i].state == AT_WARPSYNC)
			any |= release_warpsync(w, &w->part[i]);
	}
	return any;
}

#define EACH_PART(b, w, p)                                                \
	for (struct warp *w = (b)->warp; w < (b)->warp + (b)->warps; w++) \
		for (struct part *p = w->part; p < w->part + w->parts; p++)

static unsigned living(struct block *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->warps; i++)
		n += __builtin_popcount(b->warp[i].live);
	return n;
}

static bool release_bar(struct block *b, u32 id)
{
	unsigned there = 0, wanted = 0, yes = 0, op = 0;
	bool red = false;

	EACH_PART(b, w, p)
	{
		if (!p->mask || p->state != AT_BAR || p->wants != id)
			continue;
		there += __builtin_popcount(p->mask);
		yes += __builtin_popcount(p->yes & p->mask);
		wanted = p->threads;
		red |= p->red;
		op = p->op;
	}
	if (!there || there < (wanted ? wanted : living(b)))
		return false;
	EACH_PART(b, w, p)
	{
		if (!p->mask || p->state != AT_BAR || p->wants != id)
			continue;
		if (red)
			w->bar_result = op == 0	  ? yes
					: op == 1 ? -(u32)(yes == there)
						  : -(u32)(yes > 0);
		p->state = RUNS;
		p->pc += 16;
	}
	return true;
}

static bool release_cluster(struct machine *m)
{
	unsigned there = 0, all = 0;

	for (unsigned i = 0; i < m->cluster; i++) {
		all += living(&m->blocks[i]);
		EACH_PART(&m->blocks[i], w, p)
		if (p->state == AT_CLUSTER)
			there += __builtin_popcount(p->mask);
	}
	if (!there || there < all)
		return false;
	for (unsigned i = 0; i < m->cluster; i++)
		EACH_PART(&m->blocks[i], w, p)
	if (p->state == AT_CLUSTER) {
		p->state = RUNS;
		p->pc += 16;
	}
	return true;
}

/* ---- blocks ---- */

static bool run_warp(struct warp *w)
{
	bool any = false;

	for (unsigned i = 0; i < w->parts; i++) {
		struct part *p = &w->part[i];

		for (unsigned n = 0;
		     n < TURN && p->mask && p->state == RUNS && !w->block->m->failed; n++) {
			execute(w, p);
			any = true;
			if (w->parts > LANES)
				tidy(w), p = &w->part[i < w->parts ? i : 0];
		}
	}
	return tidy(w) || any;
}

static bool run_block(struct block *b)
{
	bool any = false;

	for (unsigned i = 0; i < b->warps; i++)
		any |= run_warp(&b->warp[i]);
	for (u32 id = 0; id < NAMED; id++)
		any |= release_bar(b, id);
	return any;
}

static void describe(struct machine *m)
{
	for (unsigned i = 0; i < m->cluster; i++)
		EACH_PART(&m->blocks[i], w, p)
	fail(m, "%s waits for ever: threads %08x of warp %u at %#x", m->launch->kernel, p->mask,
	     w->index, p->pc);
}

static void run_cluster(struct machine *m)
{
	bool any = true, live = true;

	while (live && !m->failed) {
		any = live = false;
		for (unsigned i = 0; i < m->cluster; i++) {
			any |= run_block(&m->blocks[i]);
			live |= living(&m->blocks[i]) > 0;
		}
		any |= release_cluster(m);
		if (live && !any)
			describe(m);
		if (m->steps > LIMIT)
			fail(m, "%s does not come to an end", m->launch->kernel);
	}
}

static void begin(struct machine *m, struct block *b, unsigned x, unsigned y, unsigned z,
		  unsigned rank)
{
	const struct interp_launch *a = m->launch;
	unsigned threads = a->block[0] * a->block[1] * a->block[2];

	b->m = m;
	b->at[0] = x;
	b->at[1] = y;
	b->at[2] = z;
	b->rank = rank;
	b->threads = threads;
	b->warps = (threads + LANES - 1) / LANES;
	memset(b->shared, 0xa5, sizeof(b->shared));
	memset(b->warp, 0xa5, b->warps * sizeof(*b->warp));
	memset(b->local, 0xa5, (size_t)b->warps * LANES * LOCAL_BYTES);
	for (unsigned i = 0; i < b->warps; i++) {
		struct warp *w = &b->warp[i];
		unsigned left = threads - i * LANES;

		w->index = i;
		w->block = b;
		w->parts = 1;
		w->met_count = 0;
		w->p[PT] = ~0u;
		w->up[PT] = true;
		for (unsigned p = 0; p < PT; p++)
			w->up[p] = false;
		w->live = w->all = left >= LANES ? ~0u : (1u << left) - 1;
		w->part[0] = (struct part){.mask = w->live};
		memset(w->conv, 0, sizeof(w->conv));
		memset(&w->pipes, 0, sizeof(w->pipes));
	}
}

static void run_grid(struct machine *m)
{
	const struct interp_launch *a = m->launch;

	for (unsigned z = 0; z < a->grid[2]; z++)
		for (unsigned y = 0; y < a->grid[1]; y++)
			for (unsigned x = 0; x < a->grid[0] && !m->failed; x += m->cluster) {
				for (unsigned i = 0; i < m->cluster; i++)
					begin(m, &m->blocks[i], x + i, y, z, i);
				run_cluster(m);
			}
}

static void run(struct machine *m)
{
	const struct interp_launch *a = m->launch;
	unsigned threads = a->block[0] * a->block[1] * a->block[2],
		 warps = (threads + LANES - 1) / LANES;

	if (threads > 1024 || m->shared_static + a->shared + 1024 > SHARED_BYTES ||
	    a->grid[0] % m->cluster) {
		fail(m, "this launch of %s is too large for the interpreter", a->kernel);
		return;
	}
	m->blocks = calloc(m->cluster, sizeof(*m->blocks));
	for (unsigned i = 0; i < m->cluster; i++) {
		m->blocks[i].warp = malloc(warps * sizeof(struct warp));
		m->blocks[i].local = malloc((size_t)warps * LANES * LOCAL_BYTES);
	}
	run_grid(m);
	for (unsigned i = 0; i < m->cluster; i++) {
		free(m->blocks[i].warp);
		free(m->blocks[i].local);
	}
	free(m->blocks);
}

int interp_run(const struct interp_launch *launch, struct interp_counts *counts, char *why,
	       size_t why_size)
{
	struct machine *m = calloc(1, sizeof(*m));
	bool failed;

	m->launch = launch;
	m->counts = counts;
	m->why = why;
	m->why_size = why_size;
	load_kernel(m);
	if (!m->failed)
		run(m);
	failed = m->failed;
	unload_kernel(m);
	free(m);
	return failed ? -1 : 0;
}
