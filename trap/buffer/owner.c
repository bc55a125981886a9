/* SPDX-License-Identifier: MIT */
/*
 * Ownership of buffers: claimed by a thread, borrowed for one record, and released, without a lock.
 * The owner word in the buffer's head is authoritative; a bitmap shows which buffers may be free.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define MOST_NAPS 100u /* 10 ms */
#define BORROW_NAPS 20000u /* of 50 us */
#define SHARED_BITS (~0ull / ((1ull << NVS_SHARED_EVERY) - 1) << (NVS_SHARED_EVERY - 1))

_Static_assert(NVS_MAX_BUFFERS % 64 == 0 && 64 % NVS_SHARED_EVERY == 0, "words of whole groups");

/* Owner and generation share one word, so a sweep cannot take a buffer from its next owner. */
static uint64_t *owner_word(struct nvs_spool_buffer *shared)
{
	return (uint64_t *)(void *)&shared->tid;
}

static bool owner_swap(struct nvs_spool_buffer *shared, uint64_t from, uint32_t tid, uint32_t gen)
{
	return __atomic_compare_exchange_n(owner_word(shared), &from, (uint64_t)gen << 32 | tid,
					   false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

_Static_assert(offsetof(struct nvs_spool_buffer, generation) ==
		       offsetof(struct nvs_spool_buffer, tid) + 4,
	       "tid and generation are exchanged as one word");
_Static_assert(offsetof(struct nvs_spool_buffer, tid) % 8 == 0, "that word is aligned");

static bool is_shared(uint32_t number)
{
	return SHARED_BITS >> number % 64 & 1;
}

static void set_unused(uint32_t number)
{
	_Atomic uint64_t *word = &nvs_process->unused[number / 64];
	uint64_t bit = 1ull << number % 64;

	if (!(atomic_load(word) & bit))
		atomic_fetch_or(word, bit);
}

int nvs_buffer_add(struct nvs_spool_buffer *shared, uint8_t *data, uint64_t bytes,
		   uint8_t *stack_top, void *known)
{
	uint32_t n = atomic_load(&nvs_process->nbuffers);
	struct nvs_buffer *buffer = &nvs_process->buffers[n];

	if (n >= NVS_MAX_BUFFERS)
		return -ENOSPC;
	buffer->data = data;
	buffer->bytes = bytes;
	buffer->stack_top = stack_top;
	buffer->known = known;
	buffer->shared = shared;
	buffer->counters = buffer->live ? buffer->live->counts : buffer->own;
	atomic_store(&nvs_process->nbuffers, n + 1);
	set_unused(n);
	return 0;
}

_Static_assert((int)NVS_COUNT_DOORBELLS == NVS_LIVE_DOORBELLS &&
		       (int)NVS_COUNT_SKIPPED == NVS_LIVE_SKIPPED &&
		       (int)NVS_COUNT_ORPHANS == NVS_LIVE_ORPHANS &&
		       (int)NVS_COUNT_MAX <= NVS_LIVE_COUNTS,
	       "the live page has the counters in their order");

void nvs_buffer_set_slot(struct nvs_live_slot *slot)
{
	uint32_t n = atomic_load(&nvs_process->nbuffers);

	if (n < NVS_MAX_BUFFERS)
		nvs_process->buffers[n].live = slot;
}

static bool thread_is_dead(uint32_t tid)
{
	return nvs_sys4(SYS_tgkill, nvs_sys4(SYS_getpid, 0, 0, 0, 0), tid, 0, 0) == -ESRCH;
}

bool nvs_buffer_in_use(struct nvs_buffer *buffer, uintptr_t sp, const stack_t *alternate)
{
	if (!buffer->busy && !atomic_load(&buffer->epoch))
		return false;
	if (!nvs_activity_abandoned(&buffer->activity, sp, alternate))
		return true;
	buffer->busy = 0;
	atomic_store(&buffer->epoch, 0);
	return false;
}

/* Frees the buffer of a dead thread; its death ensures that nothing in it is still in flight. */
static bool free_if_dead(struct nvs_buffer *buffer)
{
	uint64_t word = __atomic_load_n(owner_word(buffer->shared), __ATOMIC_ACQUIRE);
	uint32_t tid = (uint32_t)word;

	if (!tid || !thread_is_dead(tid))
		return false;
	/* The kernel ordered the thread's stores before its death; this load tells the memory model
	 * so. */
	(void)atomic_load(&buffer->epoch);
	return owner_swap(buffer->shared, word, 0, (uint32_t)(word >> 32));
}

uint32_t nvs_buffer_count_free(void)
{
	uint32_t words = (nvs_buffer_count() + 63) / 64, unused = 0;

	for (uint32_t i = 0; i < words; i++) {
		uint64_t bits = atomic_load(&nvs_process->unused[i]) & ~SHARED_BITS;

		for (; bits; bits &= bits - 1)
			unused++;
	}
	return unused;
}

/* Also finds buffers whose bit was cleared by a thread that then jumped out. */
uint32_t nvs_buffer_sweep(void)
{
	uint32_t n = nvs_buffer_count(), unused = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct nvs_buffer *buffer = nvs_buffer_at(i);

		if ((uint32_t)__atomic_load_n(owner_word(buffer->shared), __ATOMIC_RELAXED) &&
		    !free_if_dead(buffer))
			continue;
		set_unused(i);
		unused += !is_shared(i);
	}
	return unused;
}

static void reset_buffer(struct nvs_buffer *buffer)
{
	buffer->cached_tail = __atomic_load_n(&buffer->shared->tail, __ATOMIC_ACQUIRE);
	buffer->busy = 0;
	buffer->late = 0;
	buffer->calls = &nvs_calls;
	buffer->activity = (struct nvs_activity){0};
	atomic_store(&buffer->epoch, 0);
	__atomic_store_n(&buffer->shared->ncalls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&buffer->shared->thread, nvs_tls.thread - 1, __ATOMIC_RELAXED);
	if (buffer->live)
		nvs_live_free_slot(buffer->live, nvs_live_generation(buffer->live));
}

/* Publishes the slot's new owner in the live page. Its generation shows that it is free before
 * anything in it changes. */
static void own_slot(struct nvs_live_slot *slot, const char *name)
{
	atomic_thread_fence(memory_order_release);
	slot->tid = nvs_tls.tid;
	slot->thread = nvs_tls.thread - 1;
	for (uint32_t i = 0; i < sizeof(slot->name); i++)
		slot->name[i] = name[i];
	slot->nranges = 0;
	__atomic_store_n(&slot->generation, slot->generation + 1, __ATOMIC_RELEASE);
}

/* Claims BUFFER from OWNER, which is 0 or a thread that has left it. */
static bool claim_buffer(struct nvs_buffer *buffer, uint32_t owner)
{
	uint64_t word = __atomic_load_n(owner_word(buffer->shared), __ATOMIC_ACQUIRE);

	if ((uint32_t)word != owner ||
	    !owner_swap(buffer->shared, word, nvs_tls.tid, (uint32_t)(word >> 32) + 1))
		return false;
	reset_buffer(buffer);
	return true;
}

/* Claims a buffer that this thread has left behind, or a dead thread with the same tid, or one that
 * a thread left while claiming it. Checks all buffers. */
static struct nvs_buffer *claim_left(uintptr_t sp, const stack_t *alternate, bool own)
{
	uint32_t n = nvs_buffer_count();

	for (uint32_t i = 0; i < n; i++) {
		struct nvs_buffer *buffer = nvs_buffer_at(i);
		uint32_t owner = __atomic_load_n(&buffer->shared->tid, __ATOMIC_ACQUIRE);

		if ((!owner || owner == nvs_tls.tid) && buffer != nvs_tls.buffer &&
		    !(own && is_shared(i)) &&
		    !(owner && nvs_buffer_in_use(buffer, sp, alternate)) &&
		    claim_buffer(buffer, owner))
			return buffer;
	}
	return NULL;
}

/* Claims a free buffer among those set in MASK, in each word: a few loads, however many there are.
 *  */
static struct nvs_buffer *claim_free(uint64_t mask)
{
	uint32_t words = (nvs_buffer_count() + 63) / 64;

	for (uint32_t i = 0; i < words; i++) {
		uint32_t w = (nvs_tls.tid + i) % words;
		uint64_t bits = atomic_load(&nvs_process->unused[w]) & mask, bit;

		for (; bits; bits &= ~bit) {
			struct nvs_buffer *buffer =
				nvs_buffer_at(w * 64 + (uint32_t)__builtin_ctzll(bits));

			bit = bits & -bits;
			if ((atomic_fetch_and(&nvs_process->unused[w], ~bit) & bit) &&
			    claim_buffer(buffer, 0))
				return buffer;
		}
	}
	return NULL;
}

/* Claims the buffer of a dead thread by asking the kernel about each owner. Done once in a thread:
 * the writer notices threads that end later. */
static struct nvs_buffer *claim_dead(bool own)
{
	uint32_t n = nvs_buffer_count();

	for (uint32_t i = 0; i < n && !nvs_tls.refused; i++) {
		uint32_t number = (nvs_tls.tid + i) % n;
		struct nvs_buffer *buffer = nvs_buffer_at(number);

		if (!(own && is_shared(number)) && free_if_dead(buffer) && claim_buffer(buffer, 0))
			return buffer;
	}
	nvs_tls.refused = true;
	return NULL;
}

/* Writes the thread's THREAD record, once. */
static void record_thread(struct nvs_buffer *buffer, const char *name)
{
	struct nvs_rec_thread *rec;

	if (nvs_tls.named)
		return;
	nvs_tls.named = true;
	rec = nvs_buffer_reserve(buffer, sizeof(*rec), true);
	if (!rec)
		return;
	*rec = (struct nvs_rec_thread){
		.rec = {.type = NVS_REC_THREAD, .size = sizeof(*rec), .time = nvs_clock_now()},
		.thread = nvs_tls.thread - 1,
		.tid = nvs_tls.tid,
	};
	for (uint32_t i = 0; i < sizeof(rec->name); i++)
		rec->name[i] = name[i];
	nvs_buffer_commit(buffer, sizeof(*rec));
}

static void get_name(char name[16])
{
	name[0] = '\0';
	if (!atomic_load(&nvs_writer_signal.confined))
		nvs_sys4(SYS_prctl, PR_GET_NAME, name, 0, 0);
}

/* Makes BUFFER the thread's own. Its activity is set: a handler may interrupt the first record, and
 * jump out of it. */
static void begin_own(struct nvs_buffer *buffer)
{
	char name[16] = "";

	get_name(name);
	if (buffer->live)
		own_slot(buffer->live, name);
	nvs_calls_show_all(buffer);
	record_thread(buffer, name);
}

static uintptr_t stack_pointer(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

static struct nvs_buffer *find_own(const struct nvs_activity *activity)
{
	struct nvs_buffer *buffer = nvs_tls.buffer;
	uint32_t tid;

	if (!nvs_trap_is_started())
		return NULL;
	/* In a forked child the buffers are zeroed, and the pointer is a copy of the parent's. */
	if (buffer && buffer->shared)
		return buffer;
	tid = (uint32_t)nvs_sys4(SYS_gettid, 0, 0, 0, 0);
	if (nvs_tls.tid != tid) {
		nvs_tls.tid = tid;
		nvs_tls.thread = atomic_fetch_add(&nvs_process->next_thread, 1) + 1;
		nvs_tls.borrowed = 0;
		nvs_tls.named = nvs_tls.refused = false;
	}
	nvs_tls.buffer = NULL;
	buffer = nvs_tls.refused ? NULL : claim_left(stack_pointer(), NULL, true);
	if (!buffer)
		buffer = claim_free(~SHARED_BITS);
	if (!buffer)
		buffer = claim_dead(true);
	nvs_tls.buffer = buffer;
	if (buffer) {
		buffer->activity = *activity;
		begin_own(buffer);
	}
	return buffer;
}

struct nvs_buffer *nvs_buffer_own(void)
{
	struct nvs_activity activity = {.sp = stack_pointer()};

	return find_own(&activity);
}

/*
 * No buffer is free. The writer creates more when it wakes, and frees those of dead owners. Waits
 * for that while the writer is alive and could create the last buffers it needed, for at most 1 s
 * after the last one was created. The more threads wait, the longer each sleeps, so that they do
 * not keep the writer from its work.
 */
static struct nvs_buffer *claim_more(void)
{
	struct nvs_buffer *buffer = NULL;
	uint32_t there = nvs_buffer_count(), naps;

	if (atomic_load(&nvs_writer_signal.full))
		return NULL;
	atomic_fetch_add(&nvs_writer_signal.waiting, 1);
	for (uint32_t i = 0; i < 10000 && !buffer; i += naps) {
		naps = atomic_load(&nvs_writer_signal.waiting);
		naps = naps < MOST_NAPS ? naps : MOST_NAPS;
		if (nvs_buffer_count() != there) {
			there = nvs_buffer_count();
			i = 0;
		}
		if (atomic_load(&nvs_writer_signal.ended) || !nvs_writer_signal.heartbeat)
			break;
		nvs_writer_wake();
		if (atomic_load(&nvs_writer_signal.full))
			break;
		nvs_sleep(naps * 100000);
		buffer = claim_free(~SHARED_BITS);
	}
	atomic_fetch_sub(&nvs_writer_signal.waiting, 1);
	return buffer;
}

static struct nvs_buffer *try_to_borrow(uintptr_t sp, const stack_t *alternate)
{
	struct nvs_buffer *buffer = nvs_tls.borrowed ? claim_left(sp, alternate, false) : NULL;

	if (buffer)
		return buffer;
	buffer = claim_free(SHARED_BITS);
	if (!buffer)
		buffer = claim_free(~SHARED_BITS);
	if (!buffer)
		buffer = claim_dead(false);
	nvs_tls.borrowed += buffer != NULL;
	return buffer;
}

/* The borrower of a buffer releases it soon, or waits for the writer. So this thread waits for a
 * buffer, unless it has other work in progress: other threads may be waiting for that work. */
static struct nvs_buffer *borrow_buffer(uintptr_t sp, const stack_t *alternate)
{
	struct nvs_buffer *buffer = try_to_borrow(sp, alternate);
	bool may_wait = !nvs_tls.buffer && nvs_tls.borrowed <= 1 &&
			nvs_buffer_count() >= NVS_SHARED_EVERY;

	for (uint32_t i = 0; may_wait && !buffer && i < BORROW_NAPS; i++) {
		if (atomic_load(&nvs_writer_signal.ended) || !nvs_writer_signal.heartbeat)
			break;
		nvs_sleep(50000);
		buffer = try_to_borrow(sp, alternate);
	}
	if (buffer)
		return buffer;
	/* A handler may have jumped out of this thread after a buffer's owner was set and before
	 * `borrowed` was incremented. */
	buffer = claim_left(sp, alternate, false);
	nvs_tls.borrowed += buffer && !nvs_tls.borrowed;
	return buffer;
}

/* Usually returns the thread's own buffer. A buffer is borrowed if a signal handler interrupted a
 * record in that one, so that the interrupted record stays complete, and if the thread has none. */
struct nvs_buffer *nvs_buffer_enter_at(const struct nvs_activity *activity,
				       const stack_t *alternate)
{
	struct nvs_buffer *buffer = find_own(activity);

	if (!nvs_trap_is_started())
		return NULL;
	if (!buffer) {
		nvs_tls.buffer = buffer = claim_more();
		if (buffer) {
			buffer->activity = *activity;
			begin_own(buffer);
		} else {
			buffer = borrow_buffer(activity->sp, alternate);
		}
	} else if (nvs_buffer_in_use(buffer, activity->sp, alternate)) {
		buffer = borrow_buffer(activity->sp, alternate);
	}
	if (!buffer)
		return NULL;
	buffer->activity = *activity;
	if (!nvs_tls.named) {
		char name[16] = "";

		get_name(name);
		record_thread(buffer, name);
	}
	atomic_store(&buffer->epoch, atomic_load(&nvs_process->epoch));
	return buffer;
}

struct nvs_buffer *nvs_buffer_enter(void)
{
	struct nvs_activity activity = {.sp = stack_pointer()};
	struct nvs_buffer *buffer = nvs_tls.buffer;

	/* The common case: no record on this thread was interrupted. */
	if (__builtin_expect(buffer && buffer->shared && !buffer->busy &&
				     !atomic_load_explicit(&buffer->epoch, memory_order_relaxed),
			     1)) {
		buffer->activity = activity;
		atomic_store(&buffer->epoch,
			     atomic_load_explicit(&nvs_process->epoch, memory_order_acquire));
		return buffer;
	}
	return nvs_buffer_enter_at(&activity, NULL);
}

void nvs_buffer_leave(struct nvs_buffer *buffer)
{
	atomic_store_explicit(&buffer->epoch, 0, memory_order_release);
	if (buffer != nvs_tls.buffer) {
		uint64_t word = __atomic_load_n(owner_word(buffer->shared), __ATOMIC_ACQUIRE);

		nvs_tls.borrowed -= nvs_tls.borrowed != 0;
		if (owner_swap(buffer->shared, word, 0, (uint32_t)(word >> 32)))
			set_unused((uint32_t)(buffer - nvs_process->buffers));
	}
}

void nvs_buffer_make_own(struct nvs_buffer *buffer)
{
	if (nvs_tls.buffer)
		return;
	nvs_tls.borrowed -= nvs_tls.borrowed != 0;
	nvs_tls.buffer = buffer;
	begin_own(buffer);
}

int nvs_record_write(struct nvs_rec *rec)
{
	struct nvs_buffer *buffer = nvs_buffer_enter();
	int err = -ENOBUFS;
	void *room;

	if (!buffer)
		return err;
	rec->time = nvs_clock_now();
	if (rec->type == NVS_REC_OBJECT || rec->type == NVS_REC_GPU_MAP)
		nvs_calls.made = rec->time;
	room = nvs_buffer_reserve(buffer, rec->size, true);
	if (room) {
		nvs_copy_guarded(room, rec, rec->size);
		nvs_buffer_commit(buffer, rec->size);
		err = 0;
	}
	nvs_buffer_leave(buffer);
	return err;
}
