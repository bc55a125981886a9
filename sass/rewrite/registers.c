/* SPDX-License-Identifier: MIT */
/* Finds free registers of a kernel for its sums, and for the code that adds them to memory where a
 * thread ends. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

/* ---- live predicates ---- */

static uint8_t live_after(const struct nvs_function *fn, const uint8_t *live, uint32_t i,
			  uint8_t all)
{
	unsigned op = nvs_word_opcode(fn->code[i]);
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
		nvs_insn_registers(fn, i, &use);
		read[i] = use.read.predicate;
		killed[i] = use.whole ? use.written.predicate & (uint8_t)~use.read.predicate : 0;
		if (!use.whole)
			read[i] |= use.written.predicate; /* the rest of it keeps its value */
	}
	while (again) {
		again = false;
		for (uint32_t i = fn->n; i-- > 0;) {
			uint8_t in;

			if (!(fn->flags[i] & NVS_SEEN))
				continue;
			in = (uint8_t)((live_after(fn, live, i, all) & ~killed[i]) | read[i]);
			if (in != live[i]) {
				live[i] = in;
				again = true;
			}
		}
	}
	return live;
}

/* Checks that each block that counts has an instruction before which a predicate is free. */
static int enough_predicates(struct nvs_function *fn, const uint8_t *live)
{
	for (uint32_t b = 0; b < fn->spans; b++) {
		const struct nvs_block_span *s = &fn->span[b];
		uint32_t i = s->first;

		if (!i && (live[0] & 0x7f) == 0x7f)
			return nvs_refuse(
				fn, "all uniform registers and, here, all predicates are in use",
				0);
		while (s->weight && i <= s->last && (live[i] & 0x7f) == 0x7f)
			i++;
		if (i > s->last)
			return nvs_refuse(
				fn, "all uniform registers and, here, all predicates are in use",
				s->first * 16);
	}
	return 0;
}

/* ---- choosing ---- */

#define GRANULE 8u
#define LIMIT 255u
#define FILE_REGISTERS 65536u
/* Registers of a thread if an SM is full: up to this number, one more register costs no warps. */
#define FULL (FILE_REGISTERS / 2048)

struct choice {
	struct nvs_function *const *fns;
	uint32_t n;
	struct nvs_function *fn; /* the first of these: properties shared by all, and the reports */
	struct nvs_used used;
	uint64_t free; /* uniform registers */
	uint32_t max_registers; /* minimum of setmaxnreg; 0: none */
	/* Registers by .nv.info, the first that no code names, and the number that the GPU
	 * allocates. */
	uint32_t count, base, granted;
	uint32_t next; /* first register that is not assigned */
	bool loops, exits; /* code may be executed repeatedly; a device function ends threads */
	bool idle; /* a kernel in the group does not count */
};

static uint32_t round_to_granule(uint32_t n)
{
	return (n + GRANULE - 1) / GRANULE * GRANULE;
}

/* True if every launch of the kernel that was possible before is possible with N registers. */
static bool fits_kernel(const struct choice *c, const struct nvs_cubin_function *f, uint32_t n)
{
	if (round_to_granule(n) <= round_to_granule(f->registers))
		return true;
	if (c->max_registers)
		return false;
	if (!f->max_threads || f->max_threads == UINT32_MAX)
		return round_to_granule(n) <= FILE_REGISTERS / 1024;
	return (uint64_t)round_to_granule(n) * (((uint64_t)f->max_threads + 127) / 128 * 128) <=
	       FILE_REGISTERS;
}

static bool all_fit(const struct choice *c, uint32_t n)
{
	if (n > LIMIT)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		if (c->fns[i]->f->kernel && !fits_kernel(c, c->fns[i]->f, n))
			return false;
	return true;
}

/* Finds an even register and its successor, from *FROM on, that are dead where threads end, and not
 * in LATE. */
static int dead_pair(const struct choice *c, const uint64_t *late, uint32_t *from)
{
	uint32_t top = c->base;

	if (c->max_registers && c->max_registers < top + 2)
		top = c->max_registers - 2;
	for (uint32_t r = (*from + 1) & ~1u; r + 2 <= top; r += 2)
		if (!(late[r / 64] >> r % 64 & 3)) {
			*from = r + 2;
			return (int)r;
		}
	*from = top;
	return -1;
}

static bool dead_pairs(const struct choice *c, const uint64_t *late, int *pair[], unsigned n)
{
	uint32_t from = 0;

	for (unsigned k = 0; k < n; k++)
		if ((*pair[k] = dead_pair(c, late, &from)) < 0)
			return false;
	return true;
}

/* Assigns N pairs of vector registers for the end. */
static bool pairs_for_end(struct choice *c, int *pair[], unsigned n)
{
	uint32_t first = c->next + (c->next & 1), count = first + 2 * n + 2;
	bool room = !c->max_registers && count <= c->granted && count <= LIMIT;
	bool more = !c->max_registers && all_fit(c, count);

	if (!room && dead_pairs(c, c->used.late, pair, n))
		return true;
	/* Takes more registers if that costs no warps or there is no other way. */
	if (!room && !(more && count <= FULL) && dead_pairs(c, c->used.untold, pair, n)) {
		nvs_used_set_barriers(c->fns, c->n, &c->used);
		return true;
	}
	if (!room && !more)
		return false;
	for (unsigned k = 0; k < n; k++)
		*pair[k] = (int)(first + 2 * k);
	c->next = first + 2 * n;
	return true;
}

/* Takes a pair of uniform registers, from the top; -1: none. */
static int uniform_pair(struct choice *c)
{
	for (int p = 60; p >= 0; p -= 2)
		if ((c->free >> p & 3) == 3) {
			c->free &= ~(UINT64_C(3) << p);
			return p;
		}
	return -1;
}

/* Pair for the descriptor at the end if no uniform pair is free: one of the kernel's own, which is
 * saved in a vector pair meanwhile. */
static int lent_pair(const struct choice *c)
{
	for (int p = 60; p >= 0; p -= 2)
		if ((c->used.any.uniform >> p & 3) == 3)
			return p;
	return -1;
}

static bool uniform_homes(struct choice *c, struct nvs_count_registers *h, bool threads_too)
{
	const struct nvs_count_words *words = c->fn->words;
	bool lends = nvs_word_is_known(words, NVS_W_R2UR) && lent_pair(c) >= 0;
	uint64_t free = c->free;
	int pair, other = -1;

	h->descriptor = h->uw = h->ux = h->ut = h->one = -1;
	h->lent = false;
	if (words->descriptor)
		h->descriptor = uniform_pair(c);
	if (threads_too && (h->ut = uniform_pair(c)) < 0 && lends) {
		h->ut = h->descriptor;
		h->descriptor = -1;
	}
	pair = uniform_pair(c);
	if (pair < 0 && lends) {
		pair = h->descriptor;
		h->descriptor = -1;
	}
	if (h->wide && c->fn->options->warps)
		other = uniform_pair(c);
	if (other < 0 && h->wide && c->fn->options->warps && lends) {
		other = h->descriptor;
		h->descriptor = -1;
	}
	if (pair < 0 || (threads_too && h->ut < 0) ||
	    (words->descriptor && h->descriptor < 0 && !lends)) {
		c->free = free;
		return false;
	}
	if (words->descriptor && h->descriptor < 0) {
		h->descriptor = lent_pair(c);
		h->lent = true;
	}
	h->uw = pair;
	h->ux = other >= 0 ? other : pair + 1;
	h->one = other >= 0 ? other + 1 : -1;
	h->wide = h->wide && (other >= 0 || !c->fn->options->warps);
	return true;
}

/* Takes one register for a thread's sum; RAISE: even if fewer warps fit then. */
static bool thread_home(struct choice *c, struct nvs_count_registers *h, bool raise)
{
	uint32_t n = c->next + 1 + 2;

	if (c->max_registers || !all_fit(c, n) || (n > c->granted && n > FULL && !raise))
		return false;
	h->t = (int)c->next++;
	return true;
}

static int refuse_unknown(struct choice *c)
{
	nvs_refuse(c->used.unknown, "an unknown instruction", c->used.unknown_at);
	if (c->used.unknown != c->fn)
		nvs_refuse(c->fn, c->used.unknown->report->why, UINT32_MAX);
	return -ENOTSUP;
}

/* Finds the predicates that are free where functions count. */
static int find_predicates(struct choice *c)
{
	int err = 0;

	for (uint32_t i = 0; i < c->n && !err; i++) {
		struct nvs_function *fn = c->fns[i];

		fn->live = live_predicates(fn, c->used.any.predicate & 0x7f);
		err = fn->live ? enough_predicates(fn, fn->live) : -ENOMEM;
		if (err == -ENOTSUP && fn != c->fn)
			nvs_refuse(c->fn, fn->report->why, UINT32_MAX);
	}
	return err;
}

static int elected_homes(struct choice *c, struct nvs_count_registers *h)
{
	int *pair[] = {&h->address, &h->data, &h->saved};
	struct nvs_function *fn = c->fn;

	h->home = NVS_COUNT_ELECTED;
	h->wide = false;
	c->next = c->base;
	if (c->used.unknown)
		return refuse_unknown(c);
	if (!nvs_word_is_known(fn->words, NVS_W_ELECT))
		return nvs_refuse(fn, "no free uniform registers", UINT32_MAX);
	if (fn->options->skip_off)
		return nvs_refuse(
			fn,
			"no free uniform registers (needed to leave out instructions whose "
			"predicate is off)",
			UINT32_MAX);
	if (c->max_registers)
		return nvs_refuse(fn, "no free uniform registers, and setmaxnreg is used",
				  UINT32_MAX);
	if (!all_fit(c, c->count + 2))
		return nvs_refuse(fn, "neither uniform nor vector registers are free", UINT32_MAX);
	h->t = (int)c->next++;
	h->w = (int)c->next++;
	if (!pairs_for_end(c, pair, 3))
		return nvs_refuse(fn, "no free registers for the code at the end", UINT32_MAX);
	h->descriptor = h->base == 60 ? 58 : 60;
	return find_predicates(c);
}

static int choose_homes(struct choice *c, struct nvs_count_registers *h)
{
	struct nvs_function *fn = c->fn;
	const struct nvs_count_options *o = fn->options;
	int *pair[] = {&h->address, &h->data, &h->saved};
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
		/* One more vector register may replace two uniform ones. */
		h->home = NVS_COUNT_VECTOR;
		if (home != NVS_COUNT_UNIFORM || !thread_home(c, h, true) ||
		    !uniform_homes(c, h, false)) {
			h->t = -1;
			return elected_homes(c, h);
		}
	}
	if (!pairs_for_end(c, pair, h->lent ? 3 : 2))
		return nvs_refuse(fn, "no free registers for the code at the end", UINT32_MAX);
	return 0;
}

/* Collects the properties of all functions of the group. */
static void collect_group(struct choice *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		struct nvs_function *fn = c->fns[i];

		nvs_used_add(fn, &c->used);
		c->count = fn->f->registers > c->count ? fn->f->registers : c->count;
		if (fn->f->kernel &&
		    (!c->granted || round_to_granule(fn->f->registers) < c->granted))
			c->granted = round_to_granule(fn->f->registers);
		if (fn->max_registers &&
		    (!c->max_registers || fn->max_registers < c->max_registers))
			c->max_registers = fn->max_registers;
		c->loops |= fn->loops || c->n > 1; /* device functions may be called in loops */
		c->exits |= fn->exits && !fn->f->kernel;
		c->idle |= fn->f->kernel && !fn->counters;
	}
	c->free = ~c->used.any.uniform & ((UINT64_C(1) << 63) - 1);
	c->base = c->next = c->count > 2 ? c->count - 2 : 0;
}

/* If device functions end threads, the address of the kernel's counters must be available there. */
static int find_base(struct choice *c, struct nvs_count_registers *h)
{
	if (!c->exits)
		return 0;
	if (c->idle)
		return nvs_refuse(c->fn,
				  "functions that end threads are shared by kernels that do not "
				  "count",
				  UINT32_MAX);
	h->base = uniform_pair(c);
	return h->base < 0 ? nvs_refuse(c->fn, "no free uniform registers", UINT32_MAX) : 0;
}

static int find_predicate(struct choice *c, struct nvs_count_registers *h)
{
	if (!c->fn->options->skip_off || !c->fn->options->warps)
		return 0;
	h->up = 6;
	while (h->up >= 0 && c->used.any.uniform_predicate >> h->up & 1)
		h->up--;
	return h->up < 0 ? nvs_refuse(c->fn, "no free uniform predicate", UINT32_MAX) : 0;
}

int nvs_count_registers_choose(struct nvs_function *const *fn, uint32_t n,
			       struct nvs_count_registers *h)
{
	struct choice c = {.fns = fn, .n = n, .fn = fn[0]};
	const struct nvs_count_options *o = fn[0]->options;
	int err;

	memset(h, 0, sizeof(*h));
	h->t = h->w = h->address = h->data = h->saved = h->up = h->base = -1;
	h->descriptor = h->uw = h->ux = h->ut = h->one = -1;
	collect_group(&c);
	h->wide = c.loops && !o->narrow && nvs_word_is_known(fn[0]->words, NVS_W_UWIDE);
	if (!all_fit(&c, c.count))
		return nvs_refuse(c.fn, "functions that need more registers than a kernel has",
				  UINT32_MAX);
	err = find_predicate(&c, h);
	if (!err)
		err = find_base(&c, h);
	if (!err)
		err = choose_homes(&c, h);
	if (err == -ENOTSUP && c.used.unknown)
		return refuse_unknown(&c);
	if (err)
		return err;
	h->registers = c.next + 2 > c.count ? c.next + 2 : c.count;
	for (uint32_t i = 0; i < n; i++) {
		fn[i]->report->home = h->home;
		fn[i]->report->narrow = c.loops &&
					(h->home == NVS_COUNT_VECTOR
						 ? o->threads || !h->wide
						 : h->home == NVS_COUNT_ELECTED || !h->wide);
	}
	return 0;
}
