/* SPDX-License-Identifier: MIT */
/*
 * The counting itself, and what adds a thread's sums to memory where it ends. Stalls stand for
 * latencies: what has none in its field is waited for by barriers 0 to 2, which the kernel's own
 * instructions have given back by then.
 */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

#define ALL 0xffffffffu
#define LATENCY 6u /* of an add, until the next one of the same register */
#define LATENCY_WIDE 10u
#define LATENCY_PREDICATE 13u

enum { SR_VIRTID = 0x03, SR_LTMASK = 0x39, SR_VIRTUALSMID = 0x43 };

int nvs_emit(struct nvs_function *fn, nvs_word w)
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

/* One piece of code in the making. */
struct piece {
	struct nvs_function *fn;
	unsigned guard, wait; /* of the next instruction */
	int err;
};

static void put(struct piece *p, nvs_word w, unsigned stall)
{
	w = nvs_waiting(nvs_plain(w, stall), p->wait);
	if (!p->err)
		p->err = nvs_emit(p->fn, nvs_guarded(w, p->guard));
	p->guard = NVS_ALWAYS;
	p->wait = 0;
}

static struct piece *when(struct piece *p, unsigned guard)
{
	p->guard = guard;
	return p;
}

static struct piece *after(struct piece *p, unsigned barriers)
{
	p->wait |= barriers;
	return p;
}

static nvs_word word(const struct piece *p, enum nvs_count_word i, int d)
{
	return nvs_put(nvs_word_of(p->fn->words, i), 16, 8, (unsigned)d);
}

/* D = A op IMMEDIATE, with C */
static nvs_word immediate(const struct piece *p, enum nvs_count_word i, int d, int a,
			  uint32_t value)
{
	return nvs_put(nvs_put(word(p, i, d), 24, 8, (unsigned)a), 32, 32, value);
}

static nvs_word with_c(nvs_word w, int c)
{
	return nvs_put(w, 64, 8, (unsigned)c);
}

static void add(struct piece *p, int d, uint32_t n, unsigned stall)
{
	put(p, immediate(p, NVS_W_ADD, d, d, n), stall);
}

static void uset(struct piece *p, int d, uint32_t value, unsigned stall)
{
	put(p, immediate(p, NVS_W_UADD, d, NVS_URZ, value), stall);
}

static void set(struct piece *p, int d, uint32_t value, unsigned stall)
{
	put(p, nvs_put(word(p, NVS_W_MOV, d), 32, 32, value), stall);
}

static void copy(struct piece *p, int d, int a, unsigned stall)
{
	put(p, immediate(p, NVS_W_AND, d, a, ALL), stall);
}

static void copy_uniform(struct piece *p, int d, int u, unsigned stall)
{
	put(p, nvs_put(word(p, NVS_W_MOVU, d), 32, 8, (unsigned)u), stall);
}

static void wide(struct piece *p, int d, int a, uint32_t n, int c, unsigned stall)
{
	put(p, with_c(immediate(p, NVS_W_WIDE, d, a, n), c), stall);
}

static void uwide(struct piece *p, int d, int a, uint32_t n, int c, unsigned stall)
{
	put(p, with_c(immediate(p, NVS_W_UWIDE, d, a, n), c), stall);
}

/* Into predicate P: whether any bit of A is set. */
static void test(struct piece *p, int predicate, int a, unsigned stall)
{
	put(p, nvs_put(immediate(p, NVS_W_AND, NVS_RZ, a, ALL), 81, 3, (unsigned)predicate), stall);
}

static void special(struct piece *p, int d, unsigned what, unsigned barrier)
{
	nvs_word w = nvs_put(word(p, NVS_W_S2R, d), 72, 8, what);

	w = nvs_put(nvs_waiting(nvs_plain(w, 1), p->wait), 110, 3, barrier);
	p->wait = 0;
	if (!p->err)
		p->err = nvs_emit(p->fn, w);
}

static void reduce(struct piece *p, int u, int r, unsigned barrier)
{
	nvs_word w = nvs_put(word(p, NVS_W_REDUX, u), 24, 8, (unsigned)r);

	if (!p->err)
		p->err = nvs_emit(p->fn, nvs_put(nvs_plain(w, 2), 110, 3, barrier));
}

static void red(struct piece *p, const struct nvs_homes *h, unsigned offset, unsigned barrier)
{
	nvs_word w = nvs_word_of(p->fn->words, NVS_W_RED);

	w = nvs_put(nvs_put(nvs_put(w, 24, 8, (unsigned)h->address), 32, 8, (unsigned)h->data), 40,
		    24, offset);
	if (h->descriptor >= 0)
		w = nvs_put(w, 64, 6, (unsigned)h->descriptor);
	w = nvs_put(nvs_waiting(nvs_guarded(nvs_plain(w, 2), p->guard), p->wait), 113, 3, barrier);
	p->guard = NVS_ALWAYS;
	p->wait = 0;
	if (!p->err)
		p->err = nvs_emit(p->fn, w);
}

/* Threads for which GUARD holds into UX, whether there is any into UP. */
static void vote(struct piece *p, int u, unsigned guard, int up, unsigned stall)
{
	nvs_word w = nvs_put(word(p, NVS_W_VOTEU, u), 87, 4, guard);

	put(p, nvs_put(w, 81, 3, up < 0 ? 7 : (unsigned)up), stall);
}

static void elect(struct piece *p, int predicate, unsigned stall)
{
	put(p, nvs_put(nvs_word_of(p->fn->words, NVS_W_ELECT), 81, 3, (unsigned)predicate), stall);
}

static void add_warp(struct piece *p, const struct nvs_homes *h, uint32_t n, unsigned guard,
		     unsigned stall)
{
	p->guard = guard;
	if (h->one >= 0)
		uwide(p, h->uw, h->one, n, h->uw, stall);
	else
		put(p, immediate(p, NVS_W_UADD, h->uw, h->uw, n), stall);
}

/* What is missing until CYCLES and what stands between make up the latency. */
static unsigned missing(const struct nvs_homes *h, unsigned cycles)
{
	unsigned need = h->one >= 0 ? LATENCY_WIDE : LATENCY;

	return cycles >= need ? 1 : need - cycles;
}

static void count_elected(struct piece *p, const struct nvs_homes *h, uint32_t n, int free)
{
	add(p, h->t, n, 2);
	elect(p, free, LATENCY_PREDICATE);
	add(when(p, (unsigned)free), h->w, n, 4);
}

static void count_uniform(struct piece *p, const struct nvs_homes *h, uint32_t n, unsigned guard,
			  bool warps)
{
	bool by_guard = guard != NVS_ALWAYS;

	vote(p, h->ux, guard, by_guard && warps ? h->up : -1, by_guard ? 15 : warps ? 4 : 6);
	if (warps)
		add_warp(p, h, n, by_guard ? (unsigned)h->up : NVS_ALWAYS, 2);
	put(p, nvs_put(word(p, NVS_W_UPOPC, h->ux), 32, 8, (unsigned)h->ux), LATENCY);
	uwide(p, h->ut, h->ux, n, h->ut, LATENCY);
}

int nvs_emit_count(struct nvs_function *fn, const struct nvs_homes *h, uint64_t n, unsigned guard,
		   unsigned gap, unsigned wait, int free)
{
	struct piece p = {.fn = fn, .guard = NVS_ALWAYS, .wait = wait};
	bool threads = fn->options->threads, warps = fn->options->warps;

	if (h->home == NVS_COUNT_ELECTED)
		count_elected(&p, h, (uint32_t)n, free);
	else if (h->home == NVS_COUNT_UNIFORM)
		count_uniform(&p, h, (uint32_t)n, guard, warps);
	else {
		if (warps && guard != NVS_ALWAYS)
			vote(&p, NVS_URZ, guard, h->up, 15);
		/* The two adds one cycle apart take longer in loops: 1.35 times as long
		 * against 1.28. */
		if (threads)
			add(when(&p, guard), h->t, (uint32_t)n,
			    !warps	? missing(h, gap)
			    : fn->loops ? 2
					: 1);
		if (warps)
			add_warp(&p, h, (uint32_t)n, guard == NVS_ALWAYS ? guard : (unsigned)h->up,
				 missing(h, gap + threads));
	}
	return p.err;
}

int nvs_emit_start(struct nvs_function *fn, const struct nvs_homes *h, uint64_t n, int free)
{
	struct piece p = {.fn = fn, .guard = NVS_ALWAYS};
	bool threads = fn->options->threads, warps = fn->options->warps;

	if (h->base >= 0) {
		uset(&p, h->base, (uint32_t)fn->counters, 2);
		uset(&p, h->base + 1, (uint32_t)(fn->counters >> 32), 2);
	}
	if (h->home == NVS_COUNT_ELECTED) {
		set(&p, h->t, (uint32_t)n, 1);
		set(&p, h->w, 0, 5);
		elect(&p, free, LATENCY_PREDICATE);
		set(when(&p, (unsigned)free), h->w, (uint32_t)n, 5);
		return p.err;
	}
	if (warps) {
		uset(&p, h->uw, (uint32_t)n, 2);
		if (h->one >= 0) {
			uset(&p, h->uw + 1, 0, 2);
			uset(&p, h->one, 1, 2);
		}
	}
	if (h->home == NVS_COUNT_UNIFORM) {
		vote(&p, h->ux, NVS_ALWAYS, -1, LATENCY);
		put(&p, nvs_put(word(&p, NVS_W_UPOPC, h->ux), 32, 8, (unsigned)h->ux), LATENCY);
		uwide(&p, h->ut, h->ux, (uint32_t)n, NVS_URZ, LATENCY_WIDE);
	} else if (threads) {
		set(&p, h->t, (uint32_t)n, 1);
	}
	if (h->home != NVS_COUNT_UNIFORM) /* until the first block that may count anew */
		put(&p, nvs_word_of(fn->words, NVS_W_NOP), 4);
	return p.err;
}

/* The address of the warp's slot: its SM's, and of these the one that the warp's number in its SM
 * chooses. */
static void find_slot(struct piece *p, const struct nvs_homes *h)
{
	uint64_t counters = p->fn->counters;
	int a = h->address, d = h->data;

	special(p, d, SR_VIRTUALSMID, 0);
	special(p, d + 1, SR_VIRTID, 1);
	if (p->fn->f->kernel) {
		set(p, a, (uint32_t)counters, 1);
		set(p, a + 1, (uint32_t)(counters >> 32), 6);
	} else {
		copy_uniform(p, a, h->base, 1);
		copy_uniform(p, a + 1, h->base + 1, 6);
	}
	put(after(p, 1), immediate(p, NVS_W_AND, d, d, NVS_COUNT_SMS - 1), 6);
	wide(p, a, d, NVS_COUNT_SLOT * NVS_COUNT_SM_SLOTS, a, 6);
	/* bits 8 and up of VIRTID are the warp's number */
	put(after(p, 2),
	    with_c(nvs_put(nvs_put(word(p, NVS_W_SHR, d + 1), 24, 8, NVS_RZ), 32, 32, 3), d + 1),
	    6);
	put(p, immediate(p, NVS_W_AND, d + 1, d + 1, (NVS_COUNT_SM_SLOTS - 1) * NVS_COUNT_SLOT), 6);
	wide(p, a, d + 1, 1, a, 6);
}

/* One of the threads that end here: by the guard that is handed back. Uses P0, UX and a data
 * register. */
static unsigned one_thread(struct piece *p, const struct nvs_homes *h)
{
	if (nvs_word_there(p->fn->words, NVS_W_ELECT)) {
		elect(p, 0, LATENCY_PREDICATE);
		return 0;
	}
	vote(p, h->ux, NVS_ALWAYS, -1, 12);
	special(p, h->data, SR_LTMASK, 0);
	put(after(p, 1),
	    nvs_put(nvs_put(nvs_put(nvs_word_of(p->fn->words, NVS_W_TESTU), 24, 8,
				    (unsigned)h->data),
			    32, 8, (unsigned)h->ux),
		    81, 3, 0),
	    LATENCY_PREDICATE);
	return 0 | 8;
}

#define LOW_BITS 27u /* of which the sum of 32 threads is still one of 32 bits */

/* Threads' sums: low bits added up within the warp, the rest, which nearly always is nothing, by
 * each thread. */
static void prepare_threads(struct piece *p, const struct nvs_homes *h)
{
	put(p, immediate(p, NVS_W_AND, h->data + 1, h->t, (1u << LOW_BITS) - 1), 6);
	reduce(p, h->ux, h->data + 1, 1);
	put(p,
	    with_c(nvs_put(nvs_put(word(p, NVS_W_SHR, h->t), 24, 8, NVS_RZ), 32, 32, LOW_BITS),
		   h->t),
	    6);
	test(p, 1, h->t, LATENCY_PREDICATE);
}

/* Fragments of a warp end one after the other: what one has added is taken out of the warp's
 * register. */
static void end_warps(struct piece *p, const struct nvs_homes *h, unsigned one, bool tell_wrapped)
{
	int d = h->data;

	copy_uniform(after(p, 2), d, h->uw, 2);
	if (h->one >= 0)
		copy_uniform(p, d + 1, h->uw + 1, 2);
	else
		set(p, d + 1, 0, 2);
	uset(p, h->uw, 0, 2);
	if (h->one >= 0)
		uset(p, h->uw + 1, 0, 2);
	put(p, nvs_word_of(p->fn->words, NVS_W_NOP), 5);
	red(when(p, one), h, 0, 2);
	if (!tell_wrapped)
		return;
	copy(after(p, 4), d, d + 1, 5);
	set(p, d + 1, 0, 5);
	red(when(p, one), h, 24, 2);
}

/* Where warps' sum has 32 bits only, it is right as long as threads' has no more. */
static void end_threads(struct piece *p, const struct nvs_homes *h, unsigned one, bool reduced)
{
	unsigned last = h->lent ? 2 : NVS_NO_BARRIER; /* somebody waits for it or not */
	bool tells = p->fn->options->warps && h->one < 0;
	int d = h->data;

	if (h->home == NVS_COUNT_UNIFORM) {
		copy_uniform(after(p, 6), d, h->ut, 2);
		copy_uniform(p, d + 1, h->ut + 1, 2);
		uset(p, h->ut, 0, 2);
		uset(p, h->ut + 1, 0, 6);
		red(when(p, one), h, 8, tells ? 2 : last);
		if (!tells)
			return;
		set(after(p, 4), d, 0, 6);
		red(when(p, one), h, 24, last);
	} else if (reduced) {
		copy_uniform(after(p, 6), d, h->ux, 2);
		set(p, d + 1, 0, 6);
		red(when(p, one), h, 8, 2);
		copy(after(p, 4), d, h->t, 6);
		red(when(p, 1), h, 16, last);
	} else {
		copy(after(p, 6), d, h->t, 2);
		set(p, d + 1, 0, 6);
		red(p, h, 8, last);
	}
}

static void load_descriptor(struct piece *p, const struct nvs_homes *h)
{
	if (h->descriptor >= 0)
		put(p,
		    nvs_put(word(p, NVS_W_DESCRIPTOR, h->descriptor), 38, 16,
			    p->fn->words->descriptor),
		    2);
}

/* The descriptor's pair was the kernel's own: the warp's other threads find it as it was. */
static void keep_pair(struct piece *p, const struct nvs_homes *h)
{
	copy_uniform(p, h->saved, h->descriptor, 1);
	copy_uniform(p, h->saved + 1, h->descriptor + 1, 6);
}

static void give_pair_back(struct piece *p, const struct nvs_homes *h)
{
	nvs_word w = nvs_word_of(p->fn->words, NVS_W_R2UR);

	for (int k = 0; k < 2; k++)
		put(after(p, k ? 0 : 4),
		    nvs_put(nvs_put(w, 16, 8, (unsigned)(h->descriptor + k)), 24, 8,
			    (unsigned)(h->saved + k)),
		    k ? 15 : 2);
}

/* No uniform register is free. */
static void end_elected(struct piece *p, const struct nvs_homes *h)
{
	int d = h->data;

	keep_pair(p, h);
	load_descriptor(p, h);
	find_slot(p, h);
	test(p, 1, h->w, 1);
	copy(p, d, h->t, 1);
	set(p, d + 1, 0, LATENCY_PREDICATE);
	red(p, h, 8, 2);
	copy(after(p, 4), d, h->w, 6);
	red(when(p, 1), h, 0, 2);
	give_pair_back(p, h);
}

int nvs_emit_end(struct nvs_function *fn, const struct nvs_homes *h)
{
	struct piece p = {.fn = fn, .guard = NVS_ALWAYS, .wait = 0x3f};
	bool threads = fn->options->threads, warps = fn->options->warps;
	bool reduced = threads && h->home == NVS_COUNT_VECTOR &&
		       nvs_word_there(fn->words, NVS_W_REDUX);

	if (h->home == NVS_COUNT_ELECTED)
		end_elected(&p, h);
	else {
		unsigned one;

		if (h->lent)
			keep_pair(&p, h);
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
			give_pair_back(&p, h);
	}
	if (p.err)
		return p.err;
	return nvs_emit(fn, nvs_word_of(fn->words, NVS_W_EXIT));
}

void nvs_count_sum(const void *slots, uint32_t n, struct nvs_count_sums *sums)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v[4];

		memcpy(v, (const uint8_t *)slots + (size_t)i * NVS_COUNT_SLOT, sizeof(v));
		sums->warps += v[0];
		sums->threads += v[1] + (v[2] << LOW_BITS);
		sums->wrapped |= (uint32_t)v[3] != 0;
		sums->warps_wrapped |= v[3] >> 32 != 0;
	}
}
