/* SPDX-License-Identifier: MIT */
/*
 * Per-thread ring buffers: claimed, filled and given back without a lock.
 *
 * One thread writes a ring; the writer thread reads it. A record becomes visible by the store of
 * head that follows its last byte, so whatever a kill leaves between tail and head is whole.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <time.h>
#include "trap/ring/calls.h"
#include "trap/ring/root.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define STALL_NS 1000000000ull /* a heartbeat that stands still for so long is dead */

static void wake_writer(void)
{
	if (!atomic_exchange(&nvs_writer_signal.wake, 1))
		nvs_sys4(SYS_futex, &nvs_writer_signal.wake, FUTEX_WAKE, 1, 0);
}

/* Owner and generation share one word: a sweep cannot take a ring from its next owner. */
static uint64_t *owner_word(struct nvs_spool_ring *shared)
{
	return (uint64_t *)(void *)&shared->tid;
}

static bool owner_swap(struct nvs_spool_ring *shared, uint64_t from, uint32_t tid, uint32_t gen)
{
	return __atomic_compare_exchange_n(owner_word(shared), &from, (uint64_t)gen << 32 | tid,
					   false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

_Static_assert(offsetof(struct nvs_spool_ring, generation) ==
		       offsetof(struct nvs_spool_ring, tid) + 4,
	       "tid and generation are exchanged as one word");
_Static_assert(offsetof(struct nvs_spool_ring, tid) % 8 == 0, "that word is aligned");

int nvs_ring_add(struct nvs_spool_ring *shared, uint8_t *data, uint64_t bytes, uint8_t *stack_top)
{
	uint32_t n = atomic_load(&nvs_root->nrings);
	struct nvs_ring *ring = &nvs_root->rings[n];

	if (n >= NVS_MAX_RINGS)
		return -ENOSPC;
	ring->data = data;
	ring->bytes = bytes;
	ring->stack_top = stack_top;
	ring->shared = shared;
	atomic_store(&nvs_root->nrings, n + 1);
	return 0;
}

uint32_t nvs_ring_count(void)
{
	return nvs_started() ? atomic_load(&nvs_root->nrings) : 0;
}

struct nvs_ring *nvs_ring_at(uint32_t number)
{
	return &nvs_root->rings[number];
}

static bool thread_is_dead(uint32_t tid)
{
	return nvs_sys4(SYS_tgkill, nvs_sys4(SYS_getpid, 0, 0, 0, 0), tid, 0, 0) == -ESRCH;
}

bool nvs_ring_in_use(struct nvs_ring *ring, uintptr_t sp, const stack_t *alternate)
{
	if (!ring->busy && !atomic_load(&ring->epoch))
		return false;
	if (!nvs_flight_left(&ring->flight, sp, alternate))
		return true;
	ring->busy = 0;
	atomic_store(&ring->epoch, 0);
	return false;
}

/* The ring of a thread that died is free once nothing of it is in flight, which a death ensures. */
static bool give_back_dead(struct nvs_ring *ring)
{
	uint64_t word = __atomic_load_n(owner_word(ring->shared), __ATOMIC_ACQUIRE);
	uint32_t tid = (uint32_t)word;

	if (!tid || !thread_is_dead(tid))
		return false;
	return owner_swap(ring->shared, word, 0, (uint32_t)(word >> 32));
}

uint32_t nvs_ring_sweep(void)
{
	uint32_t n = nvs_ring_count(), unused = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct nvs_ring *ring = nvs_ring_at(i);

		if (!(uint32_t)__atomic_load_n(owner_word(ring->shared), __ATOMIC_RELAXED) ||
		    give_back_dead(ring))
			unused++;
	}
	return unused;
}

static void take_over(struct nvs_ring *ring)
{
	ring->cached_tail = __atomic_load_n(&ring->shared->tail, __ATOMIC_ACQUIRE);
	ring->busy = 0;
	ring->late = 0;
	atomic_store(&ring->epoch, 0);
	__atomic_store_n(&ring->shared->ncalls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->shared->thread, nvs_tls.thread - 1, __ATOMIC_RELAXED);
}

/* A ring that a thread with our number left behind, a free one, or one of a dead thread. */
static struct nvs_ring *claim(uint32_t tid, uintptr_t sp, const stack_t *alternate)
{
	uint32_t n = nvs_ring_count(), start = n ? tid % n : 0;

	for (int pass = 0; pass < 3; pass++) {
		for (uint32_t k = 0; k < n; k++) {
			struct nvs_ring *ring = nvs_ring_at((start + k) % n);
			uint64_t word = __atomic_load_n(owner_word(ring->shared), __ATOMIC_ACQUIRE);
			uint32_t owner = (uint32_t)word, gen = (uint32_t)(word >> 32);

			if (pass == 0 && (owner != tid || ring == nvs_tls.ring ||
					  nvs_ring_in_use(ring, sp, alternate)))
				continue;
			if (pass == 1 && owner)
				continue;
			if (pass == 2) {
				if (!give_back_dead(ring))
					continue;
				owner = 0;
				word &= ~0xffffffffull;
			}
			if (owner_swap(ring->shared, word, tid, gen + 1)) {
				take_over(ring);
				return ring;
			}
		}
	}
	return NULL;
}

/* A ring becomes the thread's own. */
static void begin_own(struct nvs_ring *ring)
{
	struct nvs_rec_thread *rec = nvs_ring_reserve(ring, sizeof(*rec), true);

	nvs_calls_show_all(ring->shared);
	if (!rec)
		return;
	*rec = (struct nvs_rec_thread){
		.rec = {.type = NVS_REC_THREAD, .size = sizeof(*rec), .time = nvs_now()},
		.thread = nvs_tls.thread - 1,
		.tid = nvs_tls.tid,
	};
	if (!atomic_load(&nvs_writer_signal.confined))
		nvs_sys4(SYS_prctl, PR_GET_NAME, rec->name, 0, 0);
	nvs_ring_commit(ring, sizeof(*rec));
}

static uintptr_t here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

struct nvs_ring *nvs_ring_mine(void)
{
	struct nvs_ring *ring = nvs_tls.ring;
	uint32_t tid;

	if (!nvs_started())
		return NULL;
	/* In a forked child the rings are wiped: the pointer is the parent's. */
	if (ring && ring->shared)
		return ring;
	tid = (uint32_t)nvs_sys4(SYS_gettid, 0, 0, 0, 0);
	if (nvs_tls.tid != tid) {
		nvs_tls.tid = tid;
		nvs_tls.thread = atomic_fetch_add(&nvs_root->next_thread, 1) + 1;
	}
	nvs_tls.ring = ring = claim(nvs_tls.tid, here(), NULL);
	if (ring)
		begin_own(ring);
	return ring;
}

/* None is free: the writer makes more when it wakes. Waits for that, while it lives, for at most 1
 * s. */
static struct nvs_ring *claim_more(uint32_t tid, const stack_t *alternate)
{
	struct timespec nap = {0, 100000};
	struct nvs_ring *ring = NULL;

	for (uint32_t i = 0; i < 10000 && !ring; i++) {
		if (atomic_load(&nvs_writer_signal.ended) || !nvs_writer_signal.heartbeat)
			break;
		wake_writer();
		nvs_sys4(SYS_nanosleep, &nap, 0, 0, 0);
		ring = claim(tid, here(), alternate);
	}
	return ring;
}

/*
 * Usually the thread's own ring. Where a signal handler has interrupted a record on it, a second
 * one is borrowed, so that the record underneath stays whole.
 */
struct nvs_ring *nvs_ring_enter_at(const struct nvs_flight *flight, const stack_t *alternate)
{
	struct nvs_ring *ring = nvs_ring_mine();

	if (!nvs_started())
		return NULL;
	if (!ring) {
		nvs_tls.ring = ring = claim_more(nvs_tls.tid, alternate);
		if (ring)
			begin_own(ring);
	} else if (nvs_ring_in_use(ring, flight->sp, alternate)) {
		ring = claim(nvs_tls.tid, flight->sp, alternate);
	}
	if (!ring)
		return NULL;
	ring->flight = *flight;
	atomic_store(&ring->epoch, atomic_load(&nvs_root->epoch));
	return ring;
}

struct nvs_ring *nvs_ring_enter(void)
{
	struct nvs_flight flight = {.sp = here()};
	struct nvs_ring *ring = nvs_tls.ring;

	/* Nearly always: nothing on this thread was interrupted. */
	if (__builtin_expect(ring && ring->shared && !ring->busy &&
				     !atomic_load_explicit(&ring->epoch, memory_order_relaxed),
			     1)) {
		ring->flight = flight;
		atomic_store(&ring->epoch,
			     atomic_load_explicit(&nvs_root->epoch, memory_order_relaxed));
		return ring;
	}
	return nvs_ring_enter_at(&flight, NULL);
}

void nvs_ring_leave(struct nvs_ring *ring)
{
	atomic_store_explicit(&ring->epoch, 0, memory_order_release);
	if (ring != nvs_tls.ring) {
		uint64_t word = __atomic_load_n(owner_word(ring->shared), __ATOMIC_ACQUIRE);

		owner_swap(ring->shared, word, 0, (uint32_t)(word >> 32));
	}
}

static bool has_room(struct nvs_ring *ring, uint64_t head, uint32_t size)
{
	if (head + size - ring->cached_tail <= ring->bytes)
		return true;
	ring->cached_tail = __atomic_load_n(&ring->shared->tail, __ATOMIC_ACQUIRE);
	return head + size - ring->cached_tail <= ring->bytes;
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Waits while the writer lives. Its heartbeat is looked at, never a lock. */
static bool wait_for_room(struct nvs_ring *ring, uint64_t head, uint32_t size)
{
	uint64_t start = monotonic_ns(), alive = start;
	uint64_t beat = __atomic_load_n(nvs_writer_signal.heartbeat, __ATOMIC_ACQUIRE);
	struct timespec nap = {0, 50000};
	bool room;

	/* Somebody has waited in vain, and nothing has moved since. */
	if (atomic_load(&nvs_root->stalled_beat) == beat + 1)
		return false;
	for (;;) {
		uint64_t now, b;

		wake_writer();
		nvs_sys4(SYS_nanosleep, &nap, 0, 0, 0);
		room = has_room(ring, head, size);
		now = monotonic_ns();
		if (room || atomic_load(&nvs_writer_signal.ended))
			break;
		b = __atomic_load_n(nvs_writer_signal.heartbeat, __ATOMIC_ACQUIRE);
		if (b != beat) {
			beat = b;
			alive = now;
		} else if (now - alive > STALL_NS) {
			atomic_store(&nvs_root->stalled_beat, beat + 1);
			break;
		}
	}
	nvs_count(ring, NVS_COUNT_WAITS, 1);
	nvs_count(ring, NVS_COUNT_WAIT_NS, monotonic_ns() - start);
	return room;
}

void *nvs_ring_reserve(struct nvs_ring *ring, uint32_t size, bool wait)
{
	uint64_t head = ring->shared->head;

	ring->late = atomic_load(&nvs_writer_signal.ended);
	if (!ring->late && !has_room(ring, head, size)) {
		if (!wait || nvs_root->options.drop || !nvs_writer_signal.heartbeat)
			return NULL;
		if (!wait_for_room(ring, head, size)) {
			/* The writer ended in order while we waited: what it left is drained. */
			ring->late = atomic_load(&nvs_writer_signal.ended);
			if (!ring->late)
				return NULL;
		}
	}
	ring->busy = 1;
	return ring->data + (head & (ring->bytes - 1));
}

void nvs_ring_commit(struct nvs_ring *ring, uint32_t size)
{
	uint64_t head = ring->shared->head;
	struct nvs_rec *rec = (void *)(ring->data + (head & (ring->bytes - 1)));

	if (rec->time < ring->last_time)
		rec->time = ring->last_time;
	ring->last_time = rec->time;
	if (ring->late) {
		if (rec->type == NVS_REC_SUBMISSION)
			rec->flags |= NVS_SUB_LATE;
		if (!nvs_writer_signal.late || nvs_writer_signal.late(rec, size))
			nvs_count(ring, NVS_COUNT_LOST_BYTES, size);
		ring->busy = 0;
		return;
	}
	__atomic_store_n(&ring->shared->head, head + size, __ATOMIC_RELEASE);
	ring->busy = 0;
	if (head + size - ring->cached_tail > ring->bytes / 2) {
		ring->cached_tail = __atomic_load_n(&ring->shared->tail, __ATOMIC_ACQUIRE);
		if (head + size - ring->cached_tail > ring->bytes / 2)
			wake_writer();
	}
}

int nvs_record(struct nvs_rec *rec)
{
	struct nvs_ring *ring = nvs_ring_enter();
	int err = -ENOBUFS;
	void *room;

	if (!ring)
		return err;
	rec->time = nvs_now();
	room = nvs_ring_reserve(ring, rec->size, true);
	if (room) {
		nvs_copy_guarded(room, rec, rec->size);
		nvs_ring_commit(ring, rec->size);
		err = 0;
	}
	nvs_ring_leave(ring);
	return err;
}
