/* SPDX-License-Identifier: MIT */
/*
 * A lock for what a call of the program's counts, held for some hundred instructions and over no
 * call: blocking signals, as nvs_lock does, would cost more than what is counted. So it may be met
 * by a handler that has interrupted its holder, or be left by one that jumps away; who waits in
 * vain, or holds it himself, goes without. It is waited for in vain once: then it is given up, and
 * nobody waits any more, unless its holder comes back after all.
 */
#include "preload/base/sys.h"
#include "preload/live/live.h"

#define SPINS 64
#define NAPS 10000 /* of 50 us */
#define PAUSES 1000
#define GIVEN_UP UINT32_MAX

bool nvs_live_lock(_Atomic uint32_t *lock)
{
	/* A thread without a buffer has not asked for its number yet. */
	uint32_t self = nvs_tls.tid ? nvs_tls.tid : (uint32_t)nvs_sys_gettid(), holder = 0;

	for (uint32_t i = 0; i < SPINS + NAPS; i++) {
		struct timespec nap = {0, 50000};

		holder = 0;
		if (atomic_compare_exchange_strong_explicit(
			    lock, &holder, self, memory_order_acquire, memory_order_relaxed))
			return true;
		if (holder == self || holder == GIVEN_UP)
			return false;
		if (i < SPINS)
			__builtin_ia32_pause();
		else if (atomic_load(&nvs_writer_signal.confined))
			/* Its sandbox may know no naps: about as long. */
			for (int k = 0; k < PAUSES; k++)
				__builtin_ia32_pause();
		else
			nvs_sys(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	/* Whoever holds it frees it nevertheless. */
	atomic_compare_exchange_strong_explicit(lock, &holder, GIVEN_UP, memory_order_relaxed,
						memory_order_relaxed);
	return false;
}

void nvs_live_unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}
