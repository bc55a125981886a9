/* SPDX-License-Identifier: MIT */
/*
 * Writes the real GPFIFO of a timed channel: the program's entries, and our own around them.
 * Everything here moves the same few positions and must leave them in the order that
 * trap/copy/gpfifo_timing.h defines.
 */
#include "trap/copy/gpfifo_timing.h"
#include "trap/copy/slots.h"
#include <errno.h>
#include <linux/futex.h>
#include "trap/buffer/calls.h"
#include "trap/copy/batch.h"
#include "trap/low/point.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define TURN_SPINS (1u << 20) /* as for a plain shadow */
/* limit for a thread that is writing to the real GPFIFO, which is quick */
#define STUCK_SPINS (1u << 24)
/* after this, a holder of the lock has jumped out of its turn, as for a plain shadow */
#define LEFT_SPINS (1u << 26)
#define LEFT_TICKS (nvs_ticks_of_ms() << 11)
#define SETTLE_TRIES (1u << 18) /* each is a read over PCIe, together a moment */
/* maximum for one segment of our own: two entries change the extended base */
#define OWN_ENTRIES 3u
#define EXTENDED_BASE 4ull /* opcode of a control entry */
#define LOW_BITS ((1ull << 40) - 1)
/* In ends[] */
#define MAY_BE_TIMED (1ull << 63)
#define EVERY_SHIFT 42 /* 21 bits */
#define SKIPPED (1ull << 41) /* it has no record */
#define SEQUENCE_BITS (SKIPPED - 1)

_Atomic uint32_t nvs_gpfifo_pending;

static uint32_t next_index(const struct nvs_gpfifo_timing *t, uint32_t at)
{
	return at + 1 < t->entries ? at + 1 : 0;
}

void nvs_gpfifo_timing_init(struct nvs_gpfifo_timing *t, uint32_t kind, bool finite,
			    uint32_t channel, uint32_t entries, const volatile uint64_t *program,
			    uint64_t claim)
{
	t->kind = kind;
	t->finite = finite;
	t->channel = channel;
	t->entries = entries;
	t->program = program;
	t->from = (uint32_t)(claim & NVS_PUT_MASK);
	t->ends = (uint64_t *)(void *)(t + 1);
	t->launches = t->ends + entries;
	t->keys = t->launches + entries;
	t->of_real = (uint32_t *)(void *)(t->keys + entries);
	/* The end of a kernel is measured where it may come late. */
	t->walk.follows_launches = kind == NVS_TIMING_WORK && !finite;
	/* Submissions from before the channel was first seen may have ended anywhere. */
	t->walk.lost = claim >> NVS_PUT_BITS != 0;
}

/* ---- the lock ---- */

static uint32_t my_tid(void)
{
	return nvs_tls.tid ? nvs_tls.tid : (uint32_t)nvs_sys4(SYS_gettid, 0, 0, 0, 0);
}

/* Only the lock's holder changes it. */
static void next_turn(struct nvs_gpfifo_timing *t)
{
	uint32_t turn = atomic_load_explicit(&t->turn, memory_order_relaxed);

	atomic_store_explicit(&t->turn, turn + 1, memory_order_release);
}

static bool try_lock(struct nvs_gpfifo_timing *t, uint32_t tid)
{
	uint32_t none = 0;

	if (atomic_load_explicit(&t->lock, memory_order_relaxed) != 0 ||
	    !atomic_compare_exchange_strong(&t->lock, &none, tid))
		return false;
	next_turn(t);
	return true;
}

/* Does nothing if the lock was taken away from this thread. */
static void unlock_timing(struct nvs_gpfifo_timing *t)
{
	uint32_t tid = my_tid();

	atomic_compare_exchange_strong(&t->lock, &tid, 0);
}

/*
 * Takes the lock from HOLDER, which is not coming back. Its work counts if the GPU was told of it.
 * Where the stream is within its methods is then uncertain, so no more entries of our own are
 * added.
 */
static bool take_over(struct nvs_shadow *sh, struct nvs_gpfifo_timing *t, uint32_t holder,
		      uint32_t tid)
{
	uint32_t put;

	if (!atomic_compare_exchange_strong(&t->lock, &holder, tid))
		return false;
	next_turn(t);
	t->walk.lost = true;
	if (atomic_load(&t->mode) == NVS_TIMING_PLAIN)
		return true;
	atomic_store(&t->mode, NVS_TIMING_STOPPED);
	put = sh->userd[NVS_USERD_GP_PUT];
	if (put < t->entries && put != t->put) {
		t->put = put;
		t->from = t->of_real[put];
	}
	return true;
}

static bool is_dead(uint32_t tid)
{
	return nvs_sys4(SYS_tgkill, nvs_sys4(SYS_getpid, 0, 0, 0, 0), tid, 0, 0) == -ESRCH;
}

/* ---- the real GPFIFO ---- */

/* Entries that are written and not committed to the GPU yet. */
struct writing {
	struct nvs_shadow *sh;
	struct nvs_gpfifo_timing *t;
	uint32_t put, from;
	uint64_t base;
};

static uint32_t free_entries(const struct nvs_gpfifo_timing *t, uint32_t put)
{
	return t->get > put ? t->get - put - 1 : t->entries + t->get - put - 1;
}

/* Reads GP_GET, over PCIe. */
static void read_get(struct nvs_shadow *sh)
{
	uint32_t get = sh->userd[NVS_USERD_GP_GET];

	if (get < sh->timing->entries)
		sh->timing->get = get;
}

static void put_entry(struct writing *w, uint64_t entry)
{
	w->t->of_real[w->put] = w->from;
	w->sh->gpfifo[w->put] = entry;
	w->put = next_index(w->t, w->put);
}

static void put_own_segment(struct writing *w, const struct nvs_timing_use *use, uint32_t which)
{
	const struct nvs_gpfifo_timing *t = w->t;
	uint64_t at = t->address + (uint64_t)(use - t->uses) * sizeof(struct nvs_timing_slot) +
		      which * sizeof(t->slots->words[0]);
	uint64_t base = at & ~LOW_BITS;

	if (base != w->base)
		put_entry(w, base >> 32 | EXTENDED_BASE << 32);
	put_entry(w, (at & LOW_BITS) | (uint64_t)NVS_TIMING_DWORDS << 42);
	if (base != w->base)
		put_entry(w, w->base >> 32 | EXTENDED_BASE << 32);
}

static void put_program_entries(struct writing *w, uint32_t n)
{
	while (n--) {
		uint64_t entry = w->t->program[w->from];

		if (!nvs_entry_dwords(entry) && (entry >> 32 & 0xff) == EXTENDED_BASE)
			w->base = (entry >> 8 & 0x1ffff) << 40;
		put_entry(w, entry);
		w->from = next_index(w->t, w->from);
	}
}

/* As in a plain shadow, the caller's next instruction that matters is an atomic one, which releases
 * the lock, or a fence. */
static void commit_entries(struct writing *w)
{
	struct nvs_gpfifo_timing *t = w->t;

	t->of_real[w->put] = w->from;
	nvs_fence_device();
	NVS_POINT(TIMING);
	w->sh->userd[NVS_USERD_GP_PUT] = w->put;
	nvs_fence_device_atomic();
	t->put = w->put;
	t->from = w->from;
	t->base = w->base;
}

/* Counts the entries from FROM to the end of its submission, or to TO. */
static uint32_t count_to_end(const struct nvs_gpfifo_timing *t, uint32_t from, uint32_t to,
			     uint64_t *end)
{
	uint32_t n = 0;

	for (*end = 0; from != to && !*end; from = next_index(t, from), n++)
		*end = t->ends[from];
	return n;
}

static void count_untimed(struct nvs_gpfifo_timing *t, enum nvs_untimed_reason reason)
{
	t->untimed[reason]++;
}

/* Writes an empty bracket, which measures what two releases take by themselves, if one is due and
 * there is space before N entries. */
static void write_empty(struct writing *w, uint32_t n, uint64_t sequence, struct nvs_buffer *buffer)
{
	struct nvs_gpfifo_timing *t = w->t;
	uint32_t every = t->sample.on ? NVS_TIMING_EVERY_DRAWN : NVS_TIMING_EVERY;
	struct nvs_timing_use *use;

	if (t->kind != NVS_TIMING_WORK || free_entries(t, w->put) < n + 4 * OWN_ENTRIES ||
	    (t->empties >= NVS_TIMING_FIRST && t->timed - t->emptied < every))
		return;
	use = nvs_timing_claim_slot(t, buffer);
	if (!use)
		return;
	nvs_timing_write_slot(t, use, sequence, NVS_TIMING_EMPTY,
			      t->finite ? NVS_END_IDLE : NVS_END_NOTHING);
	put_own_segment(w, use, 0);
	put_own_segment(w, use, 1);
	t->empties++;
	t->emptied = t->timed;
}

static uint32_t entries_of(enum nvs_timing_end end)
{
	return end == NVS_END_UNKNOWN || end == NVS_END_GRID ? OWN_ENTRIES : 2 * OWN_ENTRIES;
}

static uint32_t kind_of(const struct nvs_gpfifo_timing *t, enum nvs_timing_end end)
{
	return end == NVS_END_UNKNOWN ? NVS_TIMING_DISPATCH
	       : t->finite	      ? NVS_TIMING_WORK
				      : NVS_TIMING_REACHED;
}

/* Writes one submission of N entries, the last one at END_AT. Returns false if there is no space
 * now. */
static bool write_one(struct writing *w, uint32_t n, uint32_t end_at, struct nvs_buffer *buffer)
{
	struct nvs_gpfifo_timing *t = w->t;
	uint64_t end = t->ends[end_at], launch = t->launches[end_at];
	bool timed = (end & MAY_BE_TIMED) && atomic_load(&t->mode) == NVS_TIMING_ON;
	enum nvs_untimed_reason why = NVS_UNTIMED_ENDING;
	uint64_t sequence = (end & SEQUENCE_BITS) - 1;
	enum nvs_timing_end how = timed ? nvs_timing_end_of(t, launch) : NVS_END_UNKNOWN;
	uint32_t own = timed ? entries_of(how) : 0;
	struct nvs_timing_use *use = NULL;

	if (own && n + own >= t->entries) {
		own = 0;
		why = NVS_UNTIMED_RING;
	}
	if (free_entries(t, w->put) < n + own) {
		read_get(w->sh);
		if (free_entries(t, w->put) < n + own)
			return false;
	}
	if (own) {
		use = nvs_timing_claim_slot(t, buffer);
		why = NVS_UNTIMED_BEHIND;
	}
	if (!use && (end & MAY_BE_TIMED))
		count_untimed(t, why);
	if (use) {
		write_empty(w, n, sequence, buffer);
		nvs_timing_write_slot(t, use, sequence, kind_of(t, how), how);
		if (t->sample.on)
			use->every = (end & ~MAY_BE_TIMED) >> EVERY_SHIFT ?: NVS_NOT_DRAWN;
		use->skipped = end & SKIPPED;
		use->key = how == NVS_END_GRID ? t->keys[end_at] : 0;
		if (how == NVS_END_GRID && !nvs_timing_set_grid_release(t, use, launch)) {
			use->kind = NVS_TIMING_DISPATCH;
			use->stamps = 1;
		}
		put_own_segment(w, use, 0);
		t->timed++;
	}
	put_program_entries(w, n);
	if (use && (how == NVS_END_IDLE || how == NVS_END_ENGINE))
		put_own_segment(w, use, 1);
	return true;
}

/* Writes the program's entries up to TO, as far as there is space. Returns true if all were
 * written. */
static bool forward_entries(struct nvs_shadow *sh, uint32_t to, struct nvs_buffer *buffer)
{
	struct nvs_gpfifo_timing *t = sh->timing;
	struct writing w = {sh, t, t->put, t->from, t->base};
	uint32_t end_at;
	uint64_t end;

	while (w.from != to) {
		uint32_t n = count_to_end(t, w.from, to, &end);

		end_at = w.from + n - 1;
		end_at = end_at < t->entries ? end_at : end_at - t->entries;
		if (!write_one(&w, n, end_at, buffer))
			break;
		t->ends[end_at] = 0;
	}
	if (w.put != t->put)
		commit_entries(&w);
	return w.from == to;
}

/* ---- a doorbell ---- */

static void write_plain(struct nvs_shadow *sh, uint32_t to)
{
	struct nvs_gpfifo_timing *t = sh->timing;

	for (; t->from != to; t->from = next_index(t, t->from))
		sh->gpfifo[t->from] = t->program[t->from];
	nvs_fence_device();
	sh->userd[NVS_USERD_GP_PUT] = to;
	nvs_fence_device();
}

/* Returns why this position may not be timed; 0: it may. */
static uint32_t find_obstacle(const struct nvs_stream_state *walk)
{
	return walk->lost     ? NVS_UNTIMED_UNREADABLE
	       : walk->pieces ? NVS_UNTIMED_SEMAPHORE
	       : walk->left   ? NVS_UNTIMED_METHOD
			      : 0;
}

/* Returns the key of the innermost open call that has one. */
static uint64_t key_of_call(void)
{
	uint32_t depth = nvs_calls.depth < NVS_MAX_CALLS ? nvs_calls.depth : NVS_MAX_CALLS;

	while (depth && !nvs_calls.open[depth - 1].has_key)
		depth--;
	return depth ? nvs_calls.open[depth - 1].key : 0;
}

/* Advances the stream to TO, which is the end of N batches; 0: of B's entries and nothing else. */
static void advance_stream(struct nvs_batch *b, struct nvs_gpfifo_timing *t, uint32_t from,
			   uint32_t to, uint64_t n)
{
	uint32_t why = find_obstacle(&t->walk), last = from, every = 0;
	bool plain = atomic_load(&t->mode) == NVS_TIMING_PLAIN, drawn = true, unwanted;
	const uint32_t *copy = NULL;

	if (t->sample.on) {
		every = nvs_sample_draw(&t->sample, b->event->time);
		drawn = every || t->sample.drawn;
		t->walk.follows_launches = drawn && (!t->finite || t->sink);
	}
	if (t->walk.follows_launches)
		t->walk.launch = (struct nvs_stream_launch){0};
	else if (!n)
		copy = (const uint32_t *)(const void *)b->copy;
	for (uint32_t at = from, i = 0; at != to; at = next_index(t, at), i++) {
		if (copy && b->entries[i].gp.state == NVS_SEG_HERE) {
			nvs_stream_advance_copy(&t->walk, t->shapes, t->program[at], copy);
			copy += nvs_entry_dwords(t->program[at]);
		} else {
			nvs_stream_advance(b, &t->walk, t->program[at]);
		}
		last = at;
	}
	why = why ? why : find_obstacle(&t->walk);
	if (!why && !drawn)
		why = NVS_UNTIMED_NOT_DRAWN;
	if (n)
		why = NVS_UNTIMED_TOGETHER;
	if (plain)
		why = t->payload ? NVS_UNTIMED_ENDING : NVS_UNTIMED_EARLY;
	/* What waits within itself has an unknown begin. */
	if (t->sink && t->walk.follows_launches && nvs_stream_waits(&t->walk.launch))
		every = 0;
	/* A submission without a record has no time, and no reason for that is counted. */
	unwanted = b->skipped && !t->sink;
	if (why || unwanted)
		t->untimed[b->skipped ? 0 : why] += n ? n : 1;
	if (plain)
		return;
	t->ends[last] = (b->sequence + 1) | (uint64_t)every << EVERY_SHIFT |
			(b->skipped ? SKIPPED : 0) | (why || unwanted ? 0 : MAY_BE_TIMED);
	if (t->sink)
		t->keys[last] = every ? key_of_call() : 0;
	if (!why && t->walk.follows_launches)
		t->launches[last] = nvs_timing_launch_of(&t->walk.launch);
}

static uint64_t count_batches(uint64_t carried, uint64_t target)
{
	return (target >> NVS_PUT_BITS) - (carried >> NVS_PUT_BITS);
}

static uint64_t later_claim(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void leave_request(struct nvs_gpfifo_timing *t, uint64_t claim)
{
	uint64_t ready = atomic_load(&t->ready);

	while (ready < claim && !atomic_compare_exchange_weak(&t->ready, &ready, claim))
		;
}

static void wake_preload(void)
{
	if (!atomic_exchange(&nvs_gpfifo_pending, 1))
		nvs_sys4(SYS_futex, &nvs_gpfifo_pending, FUTEX_WAKE, 1, 0);
}

/* Returns CLAIM, or the program's own PUT if not all of its doorbells are seen. */
static uint64_t forward_limit(const struct nvs_shadow *sh, uint64_t claim)
{
	uintptr_t page = sh->pieces[1].program + ((uintptr_t)sh->userd & (nvs_page_bytes() - 1));
	uint32_t put;

	if (!atomic_load((_Atomic uint32_t *)&sh->timing->unseen) || !sh->pieces[1].bytes)
		return claim;
	put = ((const volatile uint32_t *)page)[NVS_USERD_GP_PUT];
	atomic_thread_fence(memory_order_acquire); /* its entries are read later */
	return put < sh->timing->entries ? (claim & ~(uint64_t)NVS_PUT_MASK) | put : claim;
}

/* Under the lock: the holder forwards everything that is claimed up to TARGET. */
static void hand_over(struct nvs_batch *b, uint64_t target)
{
	struct nvs_shadow *sh = b->reader.channel->shadow;
	struct nvs_gpfifo_timing *t = sh->timing;
	uint64_t carried = atomic_load(&sh->carried), mine;
	uint32_t to, from = (uint32_t)(carried & NVS_PUT_MASK);

	mine = (b->sequence + 1) << NVS_PUT_BITS | b->new_put;
	if (carried >= target)
		return;
	target = forward_limit(sh, target);
	to = (uint32_t)(target & NVS_PUT_MASK);
	if (from != to)
		advance_stream(
			b, t, from, to,
			target == mine && from == b->old_put ? 0 : count_batches(carried, target));
	if (atomic_load(&t->mode) == NVS_TIMING_PLAIN)
		write_plain(sh, to);
	/* Only the removal of the shadow's mapping changes it too; after that nothing is
	 * written. */
	if (!atomic_compare_exchange_strong(&sh->carried, &carried, target))
		return;
	if (atomic_load(&t->mode) != NVS_TIMING_PLAIN && !forward_entries(sh, to, b->buffer))
		wake_preload();
}

/* Takes the lock when it is the batch's turn. Returns false if another thread forwards the batch.
 *  */
static bool take_turn(struct nvs_batch *b, uint64_t mine)
{
	struct nvs_shadow *sh = b->reader.channel->shadow;
	struct nvs_gpfifo_timing *t = sh->timing;
	uint32_t tid = my_tid(), limit = nvs_tls.interrupted ? 0 : TURN_SPINS, held = 0, last = 0;

	for (uint32_t spins = 0;; spins++) {
		uint64_t carried = atomic_load(&sh->carried);
		uint32_t holder = atomic_load(&t->lock), turn = atomic_load(&t->turn);

		if (carried & NVS_SHADOW_BUSY) {
			if (spins < STUCK_SPINS) {
				/* the shadow is being removed, or that is being given up */
				nvs_pause();
				continue;
			}
			leave_request(t, mine);
			wake_preload();
			return false;
		}
		if (carried >= mine)
			return false;
		held = holder && turn == last ? held + 1 : 0;
		last = turn;
		if (holder == tid) {
			/* The thread's own buffer is free: the work that held the lock was left by
			 * a jump. */
			if (b->buffer && b->buffer == nvs_tls.buffer)
				return take_over(sh, t, holder, tid);
			leave_request(t, mine);
			return false;
		}
		if (!holder && ((carried & NVS_PUT_MASK) == b->old_put || spins >= limit) &&
		    try_lock(t, tid))
			return true;
		if (held >= LEFT_SPINS || (held == STUCK_SPINS && is_dead(holder)))
			return take_over(sh, t, holder, tid);
		/* Many threads take turns, and the lock is never free when it is polled. */
		if (holder && spins - held >= STUCK_SPINS) {
			leave_request(t, mine);
			wake_preload();
			return false;
		}
		nvs_pause();
	}
}

/* Compares sequence numbers only: if doorbells are not seen, carried has another GP_PUT. */
static bool batches_left(const struct nvs_shadow *sh)
{
	uint64_t ready = atomic_load(&sh->timing->ready);

	return ready >> NVS_PUT_BITS > atomic_load((_Atomic uint64_t *)&sh->carried) >>
	       NVS_PUT_BITS;
}

void nvs_gpfifo_forward(struct nvs_batch *b)
{
	struct nvs_shadow *sh = b->reader.channel->shadow;
	struct nvs_gpfifo_timing *t = sh->timing;
	uint64_t mine = (b->sequence + 1) << NVS_PUT_BITS | b->new_put;

	if (!take_turn(b, mine))
		return;
	for (;;) {
		hand_over(b, later_claim(mine, atomic_load(&t->ready)));
		unlock_timing(t);
		/* Set by a thread that found the lock held, perhaps just before it was released. */
		if (!batches_left(sh) || !try_lock(t, my_tid()))
			return;
	}
}

/* ---- for preload ---- */

static void ring_bell(const struct nvs_timing_bell *bell)
{
	nvs_fence_device();
	if (bell->doorbell)
		*bell->doorbell = bell->token;
	nvs_fence_device();
}

static bool acquire_or_inherit(struct nvs_shadow *sh)
{
	struct nvs_gpfifo_timing *t = sh->timing;
	uint32_t tid = my_tid(), holder = atomic_load(&t->lock), turn = atomic_load(&t->turn);
	uint64_t now = nvs_ticks();

	if (!holder)
		return try_lock(t, tid);
	if (turn != atomic_load(&t->seen_turn)) {
		atomic_store(&t->seen, now);
		atomic_store(&t->seen_turn, turn);
	}
	if (now - atomic_load(&t->seen) < LEFT_TICKS && (holder == tid || !is_dead(holder)))
		return false;
	return take_over(sh, t, holder, tid);
}

static void prepare_slots(struct nvs_gpfifo_timing *t)
{
	for (uint32_t i = 0; i < NVS_TIMING_SLOTS; i++) {
		t->slots[i] = (struct nvs_timing_slot){0};
		t->uses[i] = (struct nvs_timing_use){0};
	}
}

bool nvs_gpfifo_timing_enable(struct nvs_shadow *sh, struct nvs_timing_slot *slots,
			      uint64_t address)
{
	struct nvs_gpfifo_timing *t = sh->timing;

	if (!acquire_or_inherit(sh))
		return false;
	if (atomic_load(&t->mode) != NVS_TIMING_PLAIN || t->walk.lost || t->slots) {
		unlock_timing(t);
		return false;
	}
	t->slots = slots;
	t->address = address;
	prepare_slots(t);
	t->put = t->from;
	t->get = t->put;
	t->base = t->walk.base;
	for (uint32_t i = 0; i < t->entries; i++)
		t->of_real[i] = i;
	read_get(sh);
	for (uint32_t i = 0; i < t->entries; i++)
		t->ends[i] = 0;
	atomic_store(&t->mode, NVS_TIMING_ON);
	unlock_timing(t);
	return true;
}

static bool is_behind(const struct nvs_shadow *sh)
{
	const struct nvs_gpfifo_timing *t = sh->timing;
	uint64_t carried = atomic_load((_Atomic uint64_t *)&sh->carried);

	if (carried == NVS_SHADOW_GONE)
		return false;
	return forward_limit(sh, later_claim(atomic_load((_Atomic uint64_t *)&t->ready),
					     carried)) != carried ||
	       (atomic_load((_Atomic uint32_t *)&t->mode) != NVS_TIMING_PLAIN &&
		t->from != (carried & NVS_PUT_MASK));
}

/* Under the lock. Returns true if nothing is left behind. */
static bool catch_up(struct nvs_shadow *sh, const struct nvs_timing_bell *bell)
{
	struct nvs_gpfifo_timing *t = sh->timing;
	uint64_t carried = atomic_load(&sh->carried), ready = atomic_load(&t->ready);
	uint32_t put = t->put;
	struct nvs_buffer *buffer;
	bool all;

	if (carried >> NVS_PUT_BITS == NVS_SHADOW_GONE >> NVS_PUT_BITS)
		return true;
	/* The segments are not read here, so the stream's position is unknown from here on. */
	ready = forward_limit(sh, later_claim(ready, carried));
	if (ready != carried) {
		t->walk.lost = true;
		t->untimed[NVS_UNTIMED_TOGETHER] += count_batches(carried, ready);
		if (atomic_load(&t->mode) == NVS_TIMING_PLAIN) {
			write_plain(sh, (uint32_t)(ready & NVS_PUT_MASK));
			ring_bell(bell);
		}
		atomic_store(&sh->carried, ready);
		carried = ready;
	}
	if (atomic_load(&t->mode) == NVS_TIMING_PLAIN)
		return true;
	buffer = nvs_buffer_enter();
	all = forward_entries(sh, (uint32_t)(carried & NVS_PUT_MASK), buffer);
	if (buffer)
		nvs_buffer_leave(buffer);
	if (put != t->put)
		ring_bell(bell);
	return all;
}

bool nvs_gpfifo_advance(struct nvs_shadow *sh, const struct nvs_timing_bell *bell)
{
	bool all;

	if (!is_behind(sh))
		return false;
	if (!acquire_or_inherit(sh))
		return true;
	all = catch_up(sh, bell);
	unlock_timing(sh->timing);
	return !all;
}

bool nvs_gpfifo_translate_get(struct nvs_shadow *sh, uint32_t *get)
{
	struct nvs_gpfifo_timing *t = sh->timing;

	if (!try_lock(t, my_tid()))
		return false;
	*get = sh->userd[NVS_USERD_GP_GET];
	if (*get < t->entries && atomic_load(&t->mode) != NVS_TIMING_PLAIN) {
		t->get = *get;
		*get = t->of_real[*get];
	}
	unlock_timing(t);
	return true;
}

uint32_t nvs_gpfifo_translate_put(struct nvs_shadow *sh)
{
	const struct nvs_gpfifo_timing *t = sh->timing;
	uint32_t put = sh->userd[NVS_USERD_GP_PUT];

	return put < t->entries && atomic_load((_Atomic uint32_t *)&t->mode) != NVS_TIMING_PLAIN
		       ? t->of_real[put]
		       : put;
}

bool nvs_gpfifo_is_drained(struct nvs_shadow *sh)
{
	struct nvs_gpfifo_timing *t = sh->timing;
	bool done;

	if (is_behind(sh) || !try_lock(t, my_tid()))
		return false;
	done = atomic_load(&t->mode) == NVS_TIMING_PLAIN || t->get == t->put;
	if (!done) {
		read_get(sh);
		done = t->get == t->put;
	}
	unlock_timing(t);
	return done;
}

/* Moves an empty ring to the program's index by entries that do nothing. */
static void pad_ring(struct nvs_shadow *sh, const struct nvs_timing_bell *bell)
{
	struct nvs_gpfifo_timing *t = sh->timing;
	struct writing w = {sh, t, t->put, t->from, t->base};

	while (w.put != w.from)
		put_entry(&w, 0);
	commit_entries(&w);
	ring_bell(bell);
}

void nvs_gpfifo_drop(struct nvs_shadow *sh)
{
	atomic_store(&sh->timing->mode, NVS_TIMING_PLAIN);
	atomic_store(&sh->timing->lock, 0);
}

bool nvs_gpfifo_lock(struct nvs_shadow *sh)
{
	for (uint32_t spins = 0; !acquire_or_inherit(sh); spins++) {
		if (spins >= STUCK_SPINS)
			return false;
		nvs_pause();
	}
	if (atomic_load(&sh->timing->mode) == NVS_TIMING_PLAIN)
		return true;
	unlock_timing(sh->timing);
	return false;
}

void nvs_gpfifo_unlock(struct nvs_shadow *sh)
{
	unlock_timing(sh->timing);
}

bool nvs_gpfifo_realign(struct nvs_shadow *sh, const struct nvs_timing_bell *bell)
{
	struct nvs_gpfifo_timing *t = sh->timing;
	bool done = false;

	if (atomic_load(&t->mode) == NVS_TIMING_PLAIN)
		return true;
	if (!acquire_or_inherit(sh))
		return false;
	atomic_store(&t->mode, NVS_TIMING_STOPPED);
	if (catch_up(sh, bell)) {
		read_get(sh);
		if (t->get == t->put) {
			done = t->put == t->from;
			if (!done)
				pad_ring(sh, bell);
		}
	}
	if (done)
		atomic_store(&t->mode, NVS_TIMING_PLAIN);
	unlock_timing(t);
	return done;
}

bool nvs_gpfifo_untrack(struct nvs_shadow *sh, const struct nvs_timing_bell *bell)
{
	for (uint32_t i = 0; i < SETTLE_TRIES; i++) {
		if (nvs_gpfifo_realign(sh, bell))
			return true;
		nvs_pause();
	}
	atomic_store(&sh->timing->unseen, 1);
	nvs_gpfifo_advance(sh, bell);
	wake_preload();
	return false;
}
