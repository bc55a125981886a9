/* SPDX-License-Identifier: MIT */
/*
 * A lock for what an API call counts, held for a few hundred instructions and over no call. Unlike
 * nvs_lock it does not block signals, which would cost more than the counting. So a handler that
 * interrupted the holder may meet it, or one that jumps away may leave it locked. A thread that
 * holds it, or waits in vain, goes on without it. After one vain wait the lock is given up and no
 * thread waits again, unless its holder releases it after all.
 */
#include "preload/base/sys.h"
#include "preload/live/live.h"

#define SPINS 64
#define NAPS 10000
#define NAP_NS 50000
#define PAUSES 1000
#define GIVEN_UP UINT32_MAX

bool nvs_live_lock(_Atomic uint32_t *lock)
{
	/* A thread without a buffer has not stored its tid yet. */
	uint32_t self = nvs_tls.tid ? nvs_tls.tid : (uint32_t)nvs_sys_gettid(), holder = 0;

	for (uint32_t i = 0; i < SPINS + NAPS; i++) {
		holder = 0;
		if (atomic_compare_exchange_strong_explicit(
			    lock, &holder, self, memory_order_acquire, memory_order_relaxed))
			return true;
		if (holder == self || holder == GIVEN_UP)
			return false;
		if (i < SPINS)
			nvs_pause();
		else if (atomic_load(&nvs_writer_signal.confined))
			/* The sandbox may not allow nanosleep(): spin for about as long. */
			for (int k = 0; k < PAUSES; k++)
				nvs_pause();
		else
			nvs_sleep(NAP_NS);
	}
	/* The holder can still release it. */
	atomic_compare_exchange_strong_explicit(lock, &holder, GIVEN_UP, memory_order_relaxed,
						memory_order_relaxed);
	return false;
}

void *nvs_live_lock_at(void **at, size_t bytes)
{
	void *p = __atomic_load_n(at, __ATOMIC_ACQUIRE), *none = NULL;

	if (!p) {
		p = nvs_alloc(bytes);
		if (p && !__atomic_compare_exchange_n(at, &none, p, false, __ATOMIC_ACQ_REL,
						      __ATOMIC_ACQUIRE)) {
			nvs_free(p, bytes);
			p = none;
		}
	}
	return p && nvs_live_lock(p) ? p : NULL;
}

void nvs_live_unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}
