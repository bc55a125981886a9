/* SPDX-License-Identifier: MIT */
/*
 * The way from a channel's shadow to its real ring, and the way back to no shadow.
 */
#include <errno.h>
#include <sys/mman.h>
#include "trap/shadow.h"
#include "trap/sys.h"
#include "trap/poison.h"

#define TURN_SPINS (1u << 26) /* far beyond any trap in flight: then the order is nobody's to keep */

void nvs_shadow_carry(const struct nvs_channel *ch, uint32_t old_put, uint32_t new_put)
{
	struct nvs_shadow *sh = ch->shadow;

	for (uint32_t i = 0; i < TURN_SPINS && atomic_load(&sh->carried) != old_put; i++)
		__builtin_ia32_pause();
	for (uint32_t at = old_put; at != new_put; at = (at + 1) % ch->entries)
		sh->ring[at] = ch->ring[at];
	asm volatile("sfence" ::: "memory");
	sh->userd[NVS_USERD_GP_PUT] = new_put;
	asm volatile("sfence" ::: "memory");
	atomic_store_explicit(&sh->carried, new_put, memory_order_release);
}

int nvs_shadow_undo(struct nvs_shadow *shadow)
{
	long err = 0;

	if (atomic_exchange(&shadow->undone, 1))
		return 0;
	for (int i = 0; i < 2; i++) {
		struct nvs_shadow_piece *p = &shadow->pieces[i];
		long to;

		if (!p->bytes)
			continue;
		to = nvs_sys(SYS_mremap, (long)p->stash, (long)p->bytes, (long)p->bytes,
			      MREMAP_MAYMOVE | MREMAP_FIXED, (long)p->program, 0);
		if (to != (long)p->program) {
			err = to;
			continue;
		}
		/* Whatever came to lie there in between is the program's. */
		to = nvs_sys(SYS_mmap, (long)p->stash, (long)p->bytes, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
		p->reserved = to == (long)p->stash;
		if (to > 0 && !p->reserved)
			nvs_sys4(SYS_munmap, to, p->bytes, 0, 0);
	}
	return (int)err;
}
