/* SPDX-License-Identifier: MIT */
/*
 * Emits the counting code, and the code that adds a thread's sums to memory where it ends. Fixed
 * latencies are covered by stalls; for the others, barriers 0 to 2 are waited for, which the
 * kernel's own instructions no longer use by then.
 */
#include "sass/rewrite/rewrite.h"

#define ALL 0xffffffffu
#define LATENCY 6u /* of an add, until the next one to the same register */
#define LATENCY_WIDE 10u
#define LATENCY_PREDICATE 13u

enum { SR_VIRTID = 0x03, SR_LTMASK = 0x39, SR_VIRTUALSMID = 0x43 };

int nvs_emit_word(struct nvs_function *fn, nvs_word w)
{
	if (fn->outs == fn->room) {
		uint32_t room = fn->room ? 2 * fn->room : 256;
		nvs_word *out = nvs_arena_get(fn->arena, room, sizeof(*out));

		if (!out)
			return -ENOMEM;
		if (fn->outs)
			memcpy(out, fn->out, fn->outs * sizeof(*out));
		fn->out = out;
		fn->room = room;
	}
	fn->out[fn->outs++] = w;
	return 0;
}

/* A piece of code being emitted. */
struct code_piece {
	struct nvs_function *fn;
	unsigned guard, wait; /* of the next instruction */
	int err;
};

static void emit_word(struct code_piece *p, nvs_word w, unsigned stall)
{
	w = nvs_word_with_wait(nvs_word_set_stall(w, stall), p->wait);
	if (!p->err)
		p->err = nvs_emit_word(p->fn, nvs_word_with_guard(w, p->guard));
	p->guard = NVS_ALWAYS;
	p->wait = 0;
}

static struct code_piece *with_guard(struct code_piece *p, unsigned guard)
{
	p->guard = guard;
	return p;
}

static struct code_piece *with_wait(struct code_piece *p, unsigned barriers)
{
	p->wait |= barriers;
	return p;
}

static nvs_word word_with_dest(const struct code_piece *p, enum nvs_count_word i, int d)
{
	return nvs_word_put(nvs_word_of(p->fn->words, i), 16, 8, (unsigned)d);
}

/* D = A op IMMEDIATE, with C */
static nvs_word word_immediate(const struct code_piece *p, enum nvs_count_word i, int d, int a,
			       uint32_t value)
{
	return nvs_word_put(nvs_word_put(word_with_dest(p, i, d), 24, 8, (unsigned)a), 32, 32,
			    value);
}

static nvs_word with_c(nvs_word w, int c)
{
	return nvs_word_put(w, 64, 8, (unsigned)c);
}

static void emit_add(struct code_piece *p, int d, uint32_t n, unsigned stall)
{
	emit_word(p, word_immediate(p, NVS_W_ADD, d, d, n), stall);
}

static void emit_uset(struct code_piece *p, int d, uint32_t value, unsigned stall)
{
	emit_word(p, word_immediate(p, NVS_W_UADD, d, NVS_URZ, value), stall);
}

static void emit_set(struct code_piece *p, int d, uint32_t value, unsigned stall)
{
	emit_word(p, nvs_word_put(word_with_dest(p, NVS_W_MOV, d), 32, 32, value), stall);
}

static void emit_copy(struct code_piece *p, int d, int a, unsigned stall)
{
	emit_word(p, word_immediate(p, NVS_W_AND, d, a, ALL), stall);
}

static void emit_copy_uniform(struct code_piece *p, int d, int u, unsigned stall)
{
	emit_word(p, nvs_word_put(word_with_dest(p, NVS_W_MOVU, d), 32, 8, (unsigned)u), stall);
}

static void emit_wide(struct code_piece *p, int d, int a, uint32_t n, int c, unsigned stall)
{
	emit_word(p, with_c(word_immediate(p, NVS_W_WIDE, d, a, n), c), stall);
}

static void emit_uwide(struct code_piece *p, int d, int a, uint32_t n, int c, unsigned stall)
{
	emit_word(p, with_c(word_immediate(p, NVS_W_UWIDE, d, a, n), c), stall);
}

/* Sets predicate P if any bit of A is set. */
static void emit_test(struct code_piece *p, int predicate, int a, unsigned stall)
{
	emit_word(p,
		  nvs_word_put(word_immediate(p, NVS_W_AND, NVS_RZ, a, ALL), 81, 3,
			       (unsigned)predicate),
		  stall);
}

static void emit_s2r(struct code_piece *p, int d, unsigned what, unsigned barrier)
{
	nvs_word w = nvs_word_put(word_with_dest(p, NVS_W_S2R, d), 72, 8, what);

	w = nvs_word_put(nvs_word_with_wait(nvs_word_set_stall(w, 1), p->wait), 110, 3, barrier);
	p->wait = 0;
	if (!p->err)
		p->err = nvs_emit_word(p->fn, w);
}

static void emit_reduce(struct code_piece *p, int u, int r, unsigned barrier)
{
	nvs_word w = nvs_word_put(word_with_dest(p, NVS_W_REDUX, u), 24, 8, (unsigned)r);

	if (!p->err)
		p->err = nvs_emit_word(p->fn,
				       nvs_word_put(nvs_word_set_stall(w, 2), 110, 3, barrier));
}

static void emit_red(struct code_piece *p, const struct nvs_count_registers *h, unsigned offset,
		     unsigned barrier)
{
	nvs_word w = nvs_word_of(p->fn->words, NVS_W_RED);

	w = nvs_word_put(nvs_word_put(nvs_word_put(w, 24, 8, (unsigned)h->address), 32, 8,
				      (unsigned)h->data),
			 40, 24, offset);
	if (h->descriptor >= 0)
		w = nvs_word_put(w, 64, 6, (unsigned)h->descriptor);
	w = nvs_word_put(nvs_word_with_wait(nvs_word_with_guard(nvs_word_set_stall(w, 2), p->guard),
					    p->wait),
			 113, 3, barrier);
	p->guard = NVS_ALWAYS;
	p->wait = 0;
	if (!p->err)
		p->err = nvs_emit_word(p->fn, w);
}

/* Puts the threads for which GUARD holds into UX, and whether there are any into UP. */
static void emit_vote(struct code_piece *p, int u, unsigned guard, int up, unsigned stall)
{
	nvs_word w = nvs_word_put(word_with_dest(p, NVS_W_VOTEU, u), 87, 4, guard);

	emit_word(p, nvs_word_put(w, 81, 3, up < 0 ? 7 : (unsigned)up), stall);
}

static void emit_elect(struct code_piece *p, int predicate, unsigned stall)
{
	emit_word(p,
		  nvs_word_put(nvs_word_of(p->fn->words, NVS_W_ELECT), 81, 3, (unsigned)predicate),
		  stall);
}

static void add_warp(struct code_piece *p, const struct nvs_count_registers *h, uint32_t n,
		     unsigned guard, unsigned stall)
{
	p->guard = guard;
	if (h->one >= 0)
		emit_uwide(p, h->uw, h->one, n, h->uw, stall);
	else
		emit_word(p, word_immediate(p, NVS_W_UADD, h->uw, h->uw, n), stall);
}

/* Stall that, with the CYCLES until the register is used again, covers the latency. */
static unsigned missing_stall(const struct nvs_count_registers *h, unsigned cycles)
{
	unsigned need = h->one >= 0 ? LATENCY_WIDE : LATENCY;

	return cycles >= need ? 1 : need - cycles;
}

static void count_elected(struct code_piece *p, const struct nvs_count_registers *h, uint32_t n,
			  int free)
{
	emit_add(p, h->t, n, 2);
	emit_elect(p, free, LATENCY_PREDICATE);
	emit_add(with_guard(p, (unsigned)free), h->w, n, 4);
}

static void count_uniform(struct code_piece *p, const struct nvs_count_registers *h, uint32_t n,
			  unsigned guard, bool warps)
{
	bool by_guard = guard != NVS_ALWAYS;

	emit_vote(p, h->ux, guard, by_guard && warps ? h->up : -1, by_guard ? 15 : warps ? 4 : 6);
	if (warps)
		add_warp(p, h, n, by_guard ? (unsigned)h->up : NVS_ALWAYS, 2);
	emit_word(p, nvs_word_put(word_with_dest(p, NVS_W_UPOPC, h->ux), 32, 8, (unsigned)h->ux),
		  LATENCY);
	emit_uwide(p, h->ut, h->ux, n, h->ut, LATENCY);
}

int nvs_emit_count(struct nvs_function *fn, const struct nvs_count_registers *h, uint64_t n,
		   unsigned guard, unsigned gap, unsigned wait, int free)
{
	struct code_piece p = {.fn = fn, .guard = NVS_ALWAYS, .wait = wait};
	bool threads = fn->options->threads, warps = fn->options->warps;

	if (h->home == NVS_COUNT_ELECTED)
		count_elected(&p, h, (uint32_t)n, free);
	else if (h->home == NVS_COUNT_UNIFORM)
		count_uniform(&p, h, (uint32_t)n, guard, warps);
	else {
		if (warps && guard != NVS_ALWAYS)
			emit_vote(&p, NVS_URZ, guard, h->up, 15);
		/* With the two adds one cycle apart, loops take longer: 1.35 times the original
		 * time, against 1.28. */
		if (threads)
			emit_add(with_guard(&p, guard), h->t, (uint32_t)n,
				 !warps	     ? missing_stall(h, gap)
				 : fn->loops ? 2
					     : 1);
		if (warps)
			add_warp(&p, h, (uint32_t)n, guard == NVS_ALWAYS ? guard : (unsigned)h->up,
				 missing_stall(h, gap + threads));
	}
	return p.err;
}

int nvs_emit_start(struct nvs_function *fn, const struct nvs_count_registers *h, uint64_t n,
		   int free)
{
	struct code_piece p = {.fn = fn, .guard = NVS_ALWAYS};
	bool threads = fn->options->threads, warps = fn->options->warps;

	if (h->base >= 0) {
		emit_uset(&p, h->base, (uint32_t)fn->counters, 2);
		emit_uset(&p, h->base + 1, (uint32_t)(fn->counters >> 32), 2);
	}
	if (h->home == NVS_COUNT_ELECTED) {
		emit_set(&p, h->t, (uint32_t)n, 1);
		emit_set(&p, h->w, 0, 5);
		emit_elect(&p, free, LATENCY_PREDICATE);
		emit_set(with_guard(&p, (unsigned)free), h->w, (uint32_t)n, 5);
		return p.err;
	}
	if (warps) {
		emit_uset(&p, h->uw, (uint32_t)n, 2);
		if (h->one >= 0) {
			emit_uset(&p, h->uw + 1, 0, 2);
			emit_uset(&p, h->one, 1, 2);
		}
	}
	if (h->home == NVS_COUNT_UNIFORM) {
		emit_vote(&p, h->ux, NVS_ALWAYS, -1, LATENCY);
		emit_word(&p,
			  nvs_word_put(word_with_dest(&p, NVS_W_UPOPC, h->ux), 32, 8,
				       (unsigned)h->ux),
			  LATENCY);
		emit_uwide(&p, h->ut, h->ux, (uint32_t)n, NVS_URZ, LATENCY_WIDE);
	} else if (threads) {
		emit_set(&p, h->t, (uint32_t)n, 1);
	}
	if (h->home != NVS_COUNT_UNIFORM) /* before the first block that may count again */
		emit_word(&p, nvs_word_of(fn->words, NVS_W_NOP), 4);
	return p.err;
}

/* Computes the address of the warp's slot, chosen by its SM and by the warp's number in the SM. */
static void find_slot(struct code_piece *p, const struct nvs_count_registers *h)
{
	uint64_t counters = p->fn->counters;
	int a = h->address, d = h->data;

	emit_s2r(p, d, SR_VIRTUALSMID, 0);
	emit_s2r(p, d + 1, SR_VIRTID, 1);
	if (p->fn->f->kernel) {
		emit_set(p, a, (uint32_t)counters, 1);
		emit_set(p, a + 1, (uint32_t)(counters >> 32), 6);
	} else {
		emit_copy_uniform(p, a, h->base, 1);
		emit_copy_uniform(p, a + 1, h->base + 1, 6);
	}
	emit_word(with_wait(p, 1), word_immediate(p, NVS_W_AND, d, d, NVS_COUNT_SMS - 1), 6);
	emit_wide(p, a, d, NVS_COUNT_SLOT * NVS_COUNT_SM_SLOTS, a, 6);
	/* bits 8 and up of VIRTID are the warp's number */
	emit_word(with_wait(p, 2),
		  with_c(nvs_word_put(
				 nvs_word_put(word_with_dest(p, NVS_W_SHR, d + 1), 24, 8, NVS_RZ),
				 32, 32, 3),
			 d + 1),
		  6);
	emit_word(p,
		  word_immediate(p, NVS_W_AND, d + 1, d + 1,
				 (NVS_COUNT_SM_SLOTS - 1) * NVS_COUNT_SLOT),
		  6);
	emit_wide(p, a, d + 1, 1, a, 6);
}

/* Elects one of the threads that end here; returns the guard that selects it. Uses P0, UX and a
 * data register. */
static unsigned one_thread(struct code_piece *p, const struct nvs_count_registers *h)
{
	if (nvs_word_is_known(p->fn->words, NVS_W_ELECT)) {
		emit_elect(p, 0, LATENCY_PREDICATE);
		return 0;
	}
	emit_vote(p, h->ux, NVS_ALWAYS, -1, 12);
	emit_s2r(p, h->data, SR_LTMASK, 0);
	emit_word(with_wait(p, 1),
		  nvs_word_put(nvs_word_put(nvs_word_put(nvs_word_of(p->fn->words, NVS_W_TESTU), 24,
							 8, (unsigned)h->data),
					    32, 8, (unsigned)h->ux),
			       81, 3, 0),
		  LATENCY_PREDICATE);
	return 0 | 8;
}

/* Thread sums: the low bits are summed within the warp; each thread adds the rest, which is nearly
 * always 0. */
static void prepare_threads(struct code_piece *p, const struct nvs_count_registers *h)
{
	emit_word(p,
		  word_immediate(p, NVS_W_AND, h->data + 1, h->t, (1u << NVS_COUNT_LOW_BITS) - 1),
		  6);
	emit_reduce(p, h->ux, h->data + 1, 1);
	emit_word(
		p,
		with_c(nvs_word_put(nvs_word_put(word_with_dest(p, NVS_W_SHR, h->t), 24, 8, NVS_RZ),
				    32, 32, NVS_COUNT_LOW_BITS),
		       h->t),
		6);
	emit_test(p, 1, h->t, LATENCY_PREDICATE);
}

/* Fragments of a warp end one after the other: a sum that one has added is cleared in the warp's
 * register. */
static void end_warps(struct code_piece *p, const struct nvs_count_registers *h, unsigned one,
		      bool tell_wrapped)
{
	int d = h->data;

	emit_copy_uniform(with_wait(p, 2), d, h->uw, 2);
	if (h->one >= 0)
		emit_copy_uniform(p, d + 1, h->uw + 1, 2);
	else
		emit_set(p, d + 1, 0, 2);
	emit_uset(p, h->uw, 0, 2);
	if (h->one >= 0)
		emit_uset(p, h->uw + 1, 0, 2);
	emit_word(p, nvs_word_of(p->fn->words, NVS_W_NOP), 5);
	emit_red(with_guard(p, one), h, 0, 2);
	if (!tell_wrapped)
		return;
	emit_copy(with_wait(p, 4), d, d + 1, 5);
	emit_set(p, d + 1, 0, 5);
	emit_red(with_guard(p, one), h, 24, 2);
}

/* A 32-bit sum of warps is correct as long as the threads' sum fits in 32 bits. */
static void end_threads(struct code_piece *p, const struct nvs_count_registers *h, unsigned one,
			bool reduced)
{
	/* whether the register pair's restoration waits for it */
	unsigned last = h->lent ? 2 : NVS_NO_BARRIER;
	bool tells = p->fn->options->warps && h->one < 0;
	int d = h->data;

	if (h->home == NVS_COUNT_UNIFORM) {
		emit_copy_uniform(with_wait(p, 6), d, h->ut, 2);
		emit_copy_uniform(p, d + 1, h->ut + 1, 2);
		emit_uset(p, h->ut, 0, 2);
		emit_uset(p, h->ut + 1, 0, 6);
		emit_red(with_guard(p, one), h, 8, tells ? 2 : last);
		if (!tells)
			return;
		emit_set(with_wait(p, 4), d, 0, 6);
		emit_red(with_guard(p, one), h, 24, last);
	} else if (reduced) {
		emit_copy_uniform(with_wait(p, 6), d, h->ux, 2);
		emit_set(p, d + 1, 0, 6);
		emit_red(with_guard(p, one), h, 8, 2);
		emit_copy(with_wait(p, 4), d, h->t, 6);
		emit_red(with_guard(p, 1), h, 16, last);
	} else {
		emit_copy(with_wait(p, 6), d, h->t, 2);
		emit_set(p, d + 1, 0, 6);
		emit_red(p, h, 8, last);
	}
}

static void load_descriptor(struct code_piece *p, const struct nvs_count_registers *h)
{
	if (h->descriptor >= 0)
		emit_word(p,
			  nvs_word_put(word_with_dest(p, NVS_W_DESCRIPTOR, h->descriptor), 38, 16,
				       p->fn->words->descriptor),
			  2);
}

/* Saves the kernel's own pair, used for the descriptor: the warp's other threads need its value. */
static void save_pair(struct code_piece *p, const struct nvs_count_registers *h)
{
	emit_copy_uniform(p, h->saved, h->descriptor, 1);
	emit_copy_uniform(p, h->saved + 1, h->descriptor + 1, 6);
}

static void restore_pair(struct code_piece *p, const struct nvs_count_registers *h)
{
	nvs_word w = nvs_word_of(p->fn->words, NVS_W_R2UR);

	for (int k = 0; k < 2; k++)
		emit_word(with_wait(p, k ? 0 : 4),
			  nvs_word_put(nvs_word_put(w, 16, 8, (unsigned)(h->descriptor + k)), 24, 8,
				       (unsigned)(h->saved + k)),
			  k ? 15 : 2);
}

/* For kernels without a free uniform register. */
static void end_elected(struct code_piece *p, const struct nvs_count_registers *h)
{
	int d = h->data;

	save_pair(p, h);
	load_descriptor(p, h);
	find_slot(p, h);
	emit_test(p, 1, h->w, 1);
	emit_copy(p, d, h->t, 1);
	emit_set(p, d + 1, 0, LATENCY_PREDICATE);
	emit_red(p, h, 8, 2);
	emit_copy(with_wait(p, 4), d, h->w, 6);
	emit_red(with_guard(p, 1), h, 0, 2);
	restore_pair(p, h);
}

int nvs_emit_end(struct nvs_function *fn, const struct nvs_count_registers *h)
{
	struct code_piece p = {.fn = fn, .guard = NVS_ALWAYS, .wait = 0x3f};
	bool threads = fn->options->threads, warps = fn->options->warps;
	bool reduced = threads && h->home == NVS_COUNT_VECTOR &&
		       nvs_word_is_known(fn->words, NVS_W_REDUX);

	if (h->home == NVS_COUNT_ELECTED)
		end_elected(&p, h);
	else {
		unsigned one;

		if (h->lent)
			save_pair(&p, h);
		load_descriptor(&p, h);
		find_slot(&p, h);
		one = one_thread(&p, h);
		if (reduced)
			prepare_threads(&p, h);
		if (warps)
			end_warps(&p, h, one,
				  h->one >= 0 && threads && h->home == NVS_COUNT_VECTOR);
		if (threads)
			end_threads(&p, h, one, reduced);
		if (h->lent)
			restore_pair(&p, h);
	}
	if (p.err)
		return p.err;
	return nvs_emit_word(fn, nvs_word_of(fn->words, NVS_W_EXIT));
}
