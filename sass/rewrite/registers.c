/* SPDX-License-Identifier: MIT */
/* Which registers a kernel leaves free: for its sums, and for what adds them to memory where a
 * thread ends. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

struct used {
	struct nvs_sass_registers any; /* read or written anywhere */
	uint64_t late[4]; /* vector registers that may be read when their thread is at its end */
	bool known;
	uint32_t unknown_at;
};

bool nvs_use(const struct nvs_function *fn, uint32_t i, struct nvs_sass_insn_use *use)
{
	struct nvs_sass_insn insn;

	if (!nvs_sass_insn(fn->form, (const uint8_t *)fn->code, (size_t)fn->n * 16, i, &insn))
		return false;
	nvs_sass_insn_use(&insn, fn->form, use);
	return use->known;
}

/* HGMMA's sources are waited for before its results are read; what only reads constants has none in
 * registers. */
static bool reads_late(nvs_word w, const struct nvs_sass_insn_use *use)
{
	if (!use->late || nvs_get(w, 110, 6) != 63) /* the end waits for all barriers */
		return false;
	return nvs_op(w) != 0x1f0;
}

static void look(const struct nvs_function *fn, struct used *u)
{
	memset(u, 0, sizeof(*u));
	u->known = true;
	for (uint32_t i = 0; i < fn->n; i++) {
		struct nvs_sass_insn_use use;

		if (!(fn->flags[i] & NVS_SEEN))
			continue;
		if (!nvs_use(fn, i, &use) && u->known) {
			u->known = false;
			u->unknown_at = i * 16;
		}
		u->any.uniform |= use.read.uniform | use.written.uniform;
		u->any.predicate |= use.read.predicate | use.written.predicate;
		u->any.uniform_predicate |= use.read.uniform_predicate |
					    use.written.uniform_predicate;
		for (int k = 0; k < 4; k++) {
			u->any.vector[k] |= use.read.vector[k] | use.written.vector[k];
			if (reads_late(fn->code[i], &use))
				u->late[k] |= use.read.vector[k];
		}
	}
}

/* ---- predicates that are needed later ---- */

static uint8_t live_behind(const struct nvs_function *fn, const uint8_t *live, uint32_t i,
			   uint8_t all)
{
	unsigned op = nvs_op(fn->code[i]);
	uint8_t out = 0;

	if (op == NVS_OP_RET || op == NVS_OP_BRX || op == NVS_OP_BRXU || fn->flags[i] & NVS_OUT)
		return all;
	if (fn->flags[i] & NVS_FALLS && i + 1 < fn->n)
		out |= live[i + 1];
	if (fn->target[i] != NVS_NOWHERE)
		out |= live[fn->target[i]];
	return out;
}

static uint8_t *live_predicates(struct nvs_function *fn, uint8_t all)
{
	uint8_t *live = nvs_arena_get(fn->arena, fn->n + 1, 1), *read, *killed;
	bool again = true;

	read = nvs_arena_get(fn->arena, fn->n, 1);
	killed = nvs_arena_get(fn->arena, fn->n, 1);
	if (!live || !read || !killed)
		return NULL;
	for (uint32_t i = 0; i < fn->n; i++) {
		struct nvs_sass_insn_use use;

		if (!(fn->flags[i] & NVS_SEEN))
			continue;
		nvs_use(fn, i, &use);
		read[i] = use.read.predicate;
		killed[i] = use.whole ? use.written.predicate & (uint8_t)~use.read.predicate : 0;
		if (!use.whole)
			read[i] |= use.written.predicate; /* a part of it stays as it was */
	}
	while (again) {
		again = false;
		for (uint32_t i = fn->n; i-- > 0;) {
			uint8_t in;

			if (!(fn->flags[i] & NVS_SEEN))
				continue;
			in = (uint8_t)((live_behind(fn, live, i, all) & ~killed[i]) | read[i]);
			if (in != live[i]) {
				live[i] = in;
				again = true;
			}
		}
	}
	return live;
}

/* Whether each block that counts has an instruction before which a predicate is free. */
static int enough_predicates(struct nvs_function *fn, const uint8_t *live)
{
	for (uint32_t b = 0; b < fn->spans; b++) {
		const struct nvs_span *s = &fn->span[b];
		uint32_t i = s->first;

		if (!i && (live[0] & 0x7f) == 0x7f)
			return nvs_refuse(
				fn, "all uniform registers are in use, and all predicates here", 0);
		while (s->weight && i <= s->last && (live[i] & 0x7f) == 0x7f)
			i++;
		if (i > s->last)
			return nvs_refuse(
				fn, "all uniform registers are in use, and all predicates here",
				s->first * 16);
	}
	return 0;
}

/* ---- choosing ---- */

#define GRANULE 8u
#define LIMIT 255u
#define FILE_REGISTERS 65536u

struct choice {
	struct nvs_function *fn;
	struct used used;
	uint64_t free; /* uniform registers */
	uint32_t count, base, granted; /* as .nv.info has it, first that no code names, what the GPU
					  gives for it */
	uint32_t next; /* first register that is not taken */
};

/* Whether a count of N registers lets all launches through that would have come through before. */
static bool fits(const struct choice *c, uint32_t n)
{
	uint32_t granted = (n + GRANULE - 1) / GRANULE * GRANULE, threads = c->fn->f->max_threads;

	if (n > LIMIT)
		return false;
	if (granted <= c->granted)
		return true;
	if (c->fn->max_registers)
		return false;
	if (!threads || threads == UINT32_MAX)
		return granted <= FILE_REGISTERS / 1024;
	return (uint64_t)granted * ((threads + 127) / 128 * 128) <= FILE_REGISTERS;
}

static bool is_late(const struct choice *c, uint32_t r)
{
	return c->used.late[r / 64] >> (r % 64) & 1;
}

/* An even register and its successor, from *FROM on, that are dead where threads end. */
static int dead_pair(const struct choice *c, uint32_t *from)
{
	uint32_t top = c->base;

	if (c->fn->max_registers && c->fn->max_registers < top + 2)
		top = c->fn->max_registers - 2;
	for (uint32_t r = (*from + 1) & ~1u; r + 2 <= top; r += 2)
		if (!is_late(c, r) && !is_late(c, r + 1)) {
			*from = r + 2;
			return (int)r;
		}
	*from = top;
	return -1;
}

/* N pairs of vector registers for the end. */
static bool pairs_for_end(struct choice *c, int *pair[], unsigned n)
{
	uint32_t e = c->next + (c->next & 1), from = 0;
	unsigned k;

	if (!c->fn->max_registers && e + 2 * n + 2 <= c->granted && e + 2 * n + 2 <= LIMIT) {
		for (k = 0; k < n; k++, e += 2)
			*pair[k] = (int)e;
		c->next = e;
		return true;
	}
	for (k = 0; k < n; k++)
		if ((*pair[k] = dead_pair(c, &from)) < 0)
			break;
	if (k == n)
		return true;
	if (c->fn->max_registers || !fits(c, e + 2 * n + 2))
		return false;
	for (k = 0; k < n; k++, e += 2)
		*pair[k] = (int)e;
	c->next = e;
	return true;
}

/* A pair of uniform registers, from the top; -1: none. */
static int uniform_pair(struct choice *c)
{
	for (int p = 60; p >= 0; p -= 2)
		if ((c->free >> p & 3) == 3) {
			c->free &= ~(UINT64_C(3) << p);
			return p;
		}
	return -1;
}

static bool uniform_homes(struct choice *c, struct nvs_homes *h, bool threads_too)
{
	const struct nvs_count_options *o = c->fn->options;
	uint64_t free = c->free;
	int pair;

	h->descriptor = h->uw = h->ux = h->ut = h->one = -1;
	if (c->fn->words->descriptor && (h->descriptor = uniform_pair(c)) < 0)
		goto none;
	if (threads_too && (h->ut = uniform_pair(c)) < 0)
		goto none;
	if ((pair = uniform_pair(c)) < 0)
		goto none;
	h->uw = pair;
	h->ux = pair + 1;
	if (h->wide && o->warps) {
		int other = uniform_pair(c);

		if (other >= 0) {
			h->ux = other;
			h->one = other + 1;
		} else
			h->wide = false;
	}
	return true;
none:
	c->free = free;
	return false;
}

/* What each of a full SM's threads may have: up to here a register more keeps no warp out. */
#define FULL (FILE_REGISTERS / 2048)

/* One register for a thread's sum; RAISE: even if fewer warps find room then. */
static bool thread_home(struct choice *c, struct nvs_homes *h, bool raise)
{
	uint32_t n = c->next + 1 + 2;

	if (c->fn->max_registers || !fits(c, n) || (n > c->granted && n > FULL && !raise))
		return false;
	h->t = (int)c->next++;
	return true;
}

static int elected_homes(struct choice *c, struct nvs_homes *h)
{
	int *pair[] = {&h->address, &h->data, &h->saved};
	struct nvs_function *fn = c->fn;

	h->home = NVS_COUNT_ELECTED;
	h->wide = false;
	c->next = c->base;
	if (!c->used.known)
		return nvs_refuse(fn, "an instruction that is not known", c->used.unknown_at);
	if (!nvs_word_there(fn->words, NVS_W_ELECT))
		return nvs_refuse(fn, "no free uniform registers", UINT32_MAX);
	if (fn->options->skip_off)
		return nvs_refuse(
			fn,
			"no free uniform registers (predicates that are off cannot be left "
			"out without them)",
			UINT32_MAX);
	if (fn->max_registers)
		return nvs_refuse(fn, "no free uniform registers, and setmaxnreg", UINT32_MAX);
	if (!fits(c, c->count + 2))
		return nvs_refuse(fn, "neither uniform nor vector registers are free", UINT32_MAX);
	h->t = (int)c->next++;
	h->w = (int)c->next++;
	if (!pairs_for_end(c, pair, 3))
		return nvs_refuse(fn, "no registers for the end", UINT32_MAX);
	h->descriptor = 60;
	h->live = live_predicates(fn, c->used.any.predicate & 0x7f);
	if (!h->live)
		return -ENOMEM;
	return enough_predicates(fn, h->live);
}

static int choose(struct choice *c, struct nvs_homes *h)
{
	struct nvs_function *fn = c->fn;
	const struct nvs_count_options *o = fn->options;
	int *pair[] = {&h->address, &h->data};
	enum nvs_count_home home = o->home;

	if (home == NVS_COUNT_ELECTED)
		return elected_homes(c, h);
	if (!o->threads)
		home = NVS_COUNT_VECTOR;
	else if (home == NVS_COUNT_AUTO)
		home = thread_home(c, h, false) ? NVS_COUNT_VECTOR : NVS_COUNT_UNIFORM;
	else if (home == NVS_COUNT_VECTOR && !thread_home(c, h, true))
		return nvs_refuse(fn, "no free vector register", UINT32_MAX);
	h->home = home;
	if (!uniform_homes(c, h, home == NVS_COUNT_UNIFORM)) {
		if (o->home != NVS_COUNT_AUTO)
			return nvs_refuse(fn, "no free uniform registers", UINT32_MAX);
		/* One more vector register may do instead of two uniform ones. */
		h->home = NVS_COUNT_VECTOR;
		if (home != NVS_COUNT_UNIFORM || !thread_home(c, h, true) ||
		    !uniform_homes(c, h, false)) {
			h->t = -1;
			return elected_homes(c, h);
		}
	}
	if (!pairs_for_end(c, pair, 2))
		return nvs_refuse(fn, "no registers for the end", UINT32_MAX);
	return 0;
}

int nvs_homes_choose(struct nvs_function *fn, struct nvs_homes *h)
{
	struct choice c = {.fn = fn};
	int err;

	memset(h, 0, sizeof(*h));
	h->t = h->w = h->address = h->data = h->saved = h->up = -1;
	h->descriptor = h->uw = h->ux = h->ut = h->one = -1;
	look(fn, &c.used);
	c.free = ~c.used.any.uniform & ((UINT64_C(1) << 63) - 1);
	c.count = fn->f->registers;
	c.base = c.next = c.count > 2 ? c.count - 2 : 0;
	c.granted = (c.count + GRANULE - 1) / GRANULE * GRANULE;
	h->wide = fn->loops && !fn->options->narrow && nvs_word_there(fn->words, NVS_W_UWIDE);
	if (fn->options->skip_off && fn->options->warps) {
		h->up = 6;
		while (h->up >= 0 && c.used.any.uniform_predicate >> h->up & 1)
			h->up--;
		if (h->up < 0)
			return nvs_refuse(fn, "no free uniform predicate", UINT32_MAX);
	}
	err = choose(&c, h);
	if (err == -ENOTSUP && !c.used.known)
		return nvs_refuse(fn, "an instruction that is not known", c.used.unknown_at);
	if (err)
		return err;
	h->registers = c.next + 2 > c.count ? c.next + 2 : c.count;
	fn->report->home = h->home;
	fn->report->narrow = fn->loops && (h->home == NVS_COUNT_VECTOR
						   ? fn->options->threads || !h->wide
						   : h->home == NVS_COUNT_ELECTED || !h->wide);
	return 0;
}
