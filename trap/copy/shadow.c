/* SPDX-License-Identifier: MIT */
/* Forwards entries from a channel's shadow to its real GPFIFO, and removes the shadow. */
#include <errno.h>
#include <sys/mman.h>
#include "trap/copy/batch.h"
#include "trap/copy/gpfifo_timing.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

/* far longer than a trap in flight that does not wait for the writer */
#define TURN_SPINS (1u << 20)
/* limit for a thread that is writing to the real GPFIFO, which is quick */
#define STUCK_SPINS (1u << 26)

void nvs_shadow_enter(const struct nvs_channel *ch)
{
	nvs_tls.interrupted = ch->shadow && nvs_tls.carrying == ch->shadow;
	nvs_tls.carrying = ch->shadow;
}

void nvs_shadow_leave(void)
{
	nvs_tls.carrying = NULL;
	nvs_tls.interrupted = false;
}

/* Waits for the batch's turn and locks the real GPFIFO. *CARRIED is the claim up to which entries
 * are in it. Returns false if SEQUENCE is there already. */
static bool take_turn(struct nvs_shadow *sh, uint64_t sequence, uint32_t old_put, uint64_t *carried)
{
	uint64_t now = atomic_load(&sh->carried);

	for (uint32_t spins = 0;; spins++) {
		uint32_t limit = nvs_tls.interrupted ? 0 : TURN_SPINS;

		if ((now & ~NVS_SHADOW_BUSY) >> NVS_PUT_BITS > sequence)
			return false;
		if (now & NVS_SHADOW_BUSY)
			limit = nvs_tls.interrupted ? TURN_SPINS : STUCK_SPINS;
		if (((now & (NVS_SHADOW_BUSY | NVS_PUT_MASK)) == old_put || spins >= limit) &&
		    atomic_compare_exchange_strong(&sh->carried, &now, now | NVS_SHADOW_BUSY))
			break;
		nvs_pause();
		now = atomic_load(&sh->carried);
	}
	*carried = now & ~NVS_SHADOW_BUSY;
	return true;
}

/* The caller's next instruction that matters to the GPU's view is an atomic one, or a fence. */
static void put_after_entries(struct nvs_shadow *sh, uint32_t put)
{
	nvs_fence_device();
	sh->userd[NVS_USERD_GP_PUT] = put;
	nvs_fence_device_atomic();
}

static void write_put(struct nvs_shadow *sh, uint32_t put)
{
	put_after_entries(sh, put);
	nvs_fence_device();
}

void nvs_shadow_forward(struct nvs_batch *b)
{
	const struct nvs_channel *ch = b->reader.channel;
	struct nvs_shadow *sh = ch->shadow;
	uint64_t carried, now;

	if (__builtin_expect(sh->timing != NULL, 0)) {
		nvs_gpfifo_forward(b);
		return;
	}
	if (!take_turn(sh, b->sequence, b->old_put, &carried))
		return;
	for (uint32_t at = (uint32_t)(carried & NVS_PUT_MASK); at != b->new_put;
	     at = at + 1 < ch->entries ? at + 1 : 0)
		sh->gpfifo[at] = ch->gpfifo[at];
	put_after_entries(sh, b->new_put);
	now = carried | NVS_SHADOW_BUSY;
	/* On failure, a handler that interrupted this thread was faster, and its PUT stays. So does
	 * the program's PUT if its pages were given back. */
	if (!atomic_compare_exchange_strong(&sh->carried, &now,
					    (b->sequence + 1) << NVS_PUT_BITS | b->new_put) &&
	    (now | NVS_SHADOW_BUSY) != (NVS_SHADOW_GONE | NVS_SHADOW_BUSY))
		write_put(sh, (uint32_t)(now & NVS_PUT_MASK));
}

/* ---- removal ---- */

bool nvs_shadow_should_retry(void)
{
	uint64_t thawed;

	if (atomic_load(&nvs_process->freezing)) {
		nvs_sys4(SYS_sched_yield, 0, 0, 0, 0);
		return true;
	}
	/* The move may have ended since the store. After each move, one fault of a thread is
	 * retried. */
	thawed = atomic_load(&nvs_process->thawed);
	if (thawed == nvs_tls.thawed)
		return false;
	nvs_tls.thawed = thawed;
	return true;
}

static void protect_pages(const struct nvs_shadow *sh, int prot)
{
	for (int i = 0; i < 2; i++)
		if (sh->pieces[i].bytes && !sh->pieces[i].home)
			nvs_sys4(SYS_mprotect, sh->pieces[i].program, sh->pieces[i].bytes, prot, 0);
}

/* Locks the real GPFIFO, out of turn. Its holder is waited for, however often another thread locks
 * it first. */
static uint64_t lock_ring(struct nvs_shadow *sh)
{
	uint64_t now = atomic_load(&sh->carried);

	for (uint32_t spins = 0;; spins++) {
		if ((!(now & NVS_SHADOW_BUSY) || spins >= STUCK_SPINS) &&
		    atomic_compare_exchange_strong(&sh->carried, &now, now | NVS_SHADOW_BUSY))
			return now & ~NVS_SHADOW_BUSY;
		nvs_pause();
		now = atomic_load(&sh->carried);
	}
}

/* Copies what the program has written since: entries, other data in the page of USERD, and GP_PUT.
 *  */
static void copy_rest(struct nvs_shadow *sh, uint32_t carried_put)
{
	const volatile uint64_t *gpfifo = (const volatile uint64_t *)sh->pieces[0].program;
	const volatile uint32_t *page = (const volatile uint32_t *)sh->pieces[1].program;
	volatile uint32_t *real = (volatile uint32_t *)nvs_page_of((uintptr_t)sh->userd);
	size_t userd = (size_t)(sh->userd - real), put = userd + NVS_USERD_GP_PUT;

	for (size_t i = 0; i < sh->pieces[0].bytes / sizeof(*gpfifo); i++)
		sh->gpfifo[i] = gpfifo[i];
	/* The page was all zero: a zero was not written by the program, and the real page may hold
	 * another value by now. */
	for (size_t i = 0; i < sh->pieces[1].bytes / sizeof(*page); i++)
		if (page[i] && i - userd >= NVS_USERD_BYTES / sizeof(*page))
			real[i] = page[i];
	nvs_fence_device();
	if (sh->pieces[1].bytes && page[put] != carried_put)
		write_put(sh, page[put]);
}

static int restore_pages(struct nvs_shadow_piece *p)
{
	long to = nvs_syscall(SYS_mremap, (long)p->stash, (long)p->bytes, (long)p->bytes,
			      MREMAP_MAYMOVE | MREMAP_FIXED, (long)p->program, 0);

	if (to != (long)p->program)
		return (int)to;
	p->home = true;
	/* A mapping that appeared there in between is the program's. */
	to = nvs_syscall(SYS_mmap, (long)p->stash, (long)p->bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	p->reserved = to == (long)p->stash;
	if (to > 0 && !p->reserved)
		nvs_sys4(SYS_munmap, to, p->bytes, 0, 0);
	return 0;
}

static uint32_t program_put(const struct nvs_shadow *sh)
{
	const volatile uint32_t *page = (const volatile uint32_t *)sh->pieces[1].program;

	return page[((uintptr_t)sh->userd & (nvs_page_bytes() - 1)) / sizeof(*page) +
		    NVS_USERD_GP_PUT];
}

/* Nothing is forwarded meanwhile. */
static int restore_program(struct nvs_shadow *sh, uint32_t carried_put, bool unrung)
{
	int err = 0;

	protect_pages(sh, PROT_READ);
	if (!unrung && sh->pieces[1].bytes && program_put(sh) != carried_put)
		err = -EAGAIN;
	else
		copy_rest(sh, carried_put);
	for (int i = 0; i < 2 && !err; i++)
		if (sh->pieces[i].bytes && !sh->pieces[i].home)
			err = restore_pages(&sh->pieces[i]);
	if (err)
		protect_pages(sh, PROT_READ | PROT_WRITE);
	return err;
}

int nvs_shadow_remove(struct nvs_shadow *sh, bool unrung)
{
	uint64_t carried;
	int err = 0;

	if (atomic_load(&sh->carried) == NVS_SHADOW_GONE)
		return 0;
	if (sh->timing && !nvs_gpfifo_lock(sh))
		return -EBUSY;
	atomic_fetch_add(&nvs_process->freezing, 1);
	carried = lock_ring(sh);
	/* On GONE, another thread has removed the shadow. */
	if (carried != NVS_SHADOW_GONE)
		err = restore_program(sh, (uint32_t)(carried & NVS_PUT_MASK), unrung);
	atomic_store(&sh->carried, err ? carried : NVS_SHADOW_GONE);
	if (sh->timing)
		nvs_gpfifo_unlock(sh);
	atomic_store(&nvs_process->thawed, nvs_ticks());
	atomic_fetch_sub(&nvs_process->freezing, 1);
	return err;
}
