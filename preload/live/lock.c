/* SPDX-License-Identifier: MIT */
/*
 * A lock for what a call of the program's counts, held for some hundred instructions and over no
 * call: blocking signals, as nvs_lock does, would cost more than what is counted. So it may be met
 * by a handler that has interrupted its holder, or be left by one that jumps away; who waits in
 * vain, or holds it himself, goes without.
 */
#include "preload/base/sys.h"
#include "preload/live/live.h"

#define SPINS 64
#define NAPS 20000 /* of 50 us */

bool nvs_live_lock(_Atomic uint32_t *lock)
{
	uint32_t self = nvs_tls.tid;

	for (uint32_t i = 0; i < SPINS + NAPS; i++) {
		struct timespec nap = {0, 50000};
		uint32_t holder = 0;

		if (atomic_compare_exchange_strong_explicit(
			    lock, &holder, self, memory_order_acquire, memory_order_relaxed))
			return true;
		if (holder == self)
			return false;
		if (i < SPINS)
			__builtin_ia32_pause();
		else
			nvs_sys(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	return false;
}

void nvs_live_unlock(_Atomic uint32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}
