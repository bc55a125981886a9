/* SPDX-License-Identifier: MIT */
/*
 * Handles a doorbell store that comes through a patched site: no signal, no unwinding. Any unusual
 * case is declined; the store's own bytes then run and take the trap as before.
 *
 * It runs on the program's own stack, so that a signal handler that interrupts it finds the stack
 * where it expects it. It uses less stack than the signal frame that it saves.
 */
#include "trap/buffer/calls.h"
#include "trap/stack/stackcache.h"
#include "trap/low/point.h"
#include "trap/buffer/process.h"
#include "trap/enter/patch.h"
#include "trap/low/poison.h"

#define DOORBELL_OFFSET 0x90u
#define MARK 0x6e76736e6f6f7021ull

struct fast {
	const struct nvs_patch_site *site;
	struct nvs_fast_regs *regs;
	struct nvs_buffer *buffer;
	uintptr_t address;
	uint32_t value;
	bool done;
};

/* In a separate section, so that an address can be recognised as one of this code. */
#define OWN_TEXT __attribute__((section("nvs_fast_text"), noinline))
extern const uint8_t __start_nvs_fast_text[] __attribute__((visibility("hidden")));
extern const uint8_t __stop_nvs_fast_text[] __attribute__((visibility("hidden")));

bool nvs_fast_is_code(uintptr_t pc)
{
	return pc - (uintptr_t)__start_nvs_fast_text <
	       (uintptr_t)__stop_nvs_fast_text - (uintptr_t)__start_nvs_fast_text;
}

static const struct nvs_doorbell *find_doorbell(const struct nvs_view *view, uintptr_t address)
{
	for (uint32_t i = 0; view && i < view->ndoorbells; i++)
		if (address == view->doorbells[i].start + DOORBELL_OFFSET)
			return view->doorbells[i].alias ? &view->doorbells[i] : NULL;
	return NULL;
}

OWN_TEXT static void ring_doorbell(struct fast *f)
{
	/* After the store of the epoch, see wait_for_readers(). */
	const struct nvs_view *view = atomic_load(&nvs_process->view);
	const struct nvs_doorbell *db = find_doorbell(view, f->address);
	struct nvs_doorbell_event event = {.doorbell = db, .token = f->value, .stack = NVS_NONE};
	/* time and call site are needed */
	bool told = nvs_level() != NVS_LEVEL_NONE;

	if (!db)
		return;
	if (nvs_takes_stacks() && told) {
		event.stack = nvs_stackcache_match(f->buffer, f->site->address,
						   nvs_fast_sp(f->regs), nvs_fast_fp(f->regs),
						   nvs_fast_lr(f->regs));
		if (event.stack == NVS_NONE)
			return;
	}
	NVS_POINT(FAST);
	event.time = told || nvs_process->options.timed ? nvs_clock_now() : 0;
	nvs_capture_doorbell(f->buffer, view, &event);
	NVS_POINT(STORE);
	*(volatile uint32_t *)(db->alias + DOORBELL_OFFSET) = f->value;
	NVS_POINT(RUNG);
	if (told)
		__atomic_store_n(&f->buffer->shared->rung, f->buffer->shared->head,
				 __ATOMIC_RELEASE);
	nvs_count(f->buffer, NVS_COUNT_FAST, 1);
	f->done = true;
}

OWN_TEXT bool nvs_fast_doorbell(const struct nvs_patch_site *site, struct nvs_fast_regs *regs)
{
	struct nvs_buffer *buffer = nvs_tls.buffer;
	struct fast f = {.site = site, .regs = regs, .buffer = buffer};
	uintptr_t sp = nvs_fast_sp(regs);
	volatile uint64_t mark = (uintptr_t)&f ^ MARK;

	/* The first doorbell of a thread, and one that interrupts another, take the slow path. */
	if (!nvs_trap_is_started() || !buffer || !buffer->shared ||
	    ((buffer->busy || atomic_load_explicit(&buffer->epoch, memory_order_relaxed)) &&
	     nvs_buffer_in_use(buffer, sp, NULL)))
		return false;
	nvs_progress_warm();
	f.address = nvs_fast_address(regs, &site->form);
	f.value = nvs_fast_value(regs, &site->form);
	buffer->activity =
		(struct nvs_activity){.sp = sp, .mark = &mark, .token = (uintptr_t)&f ^ MARK};
	nvs_calls.sp = sp;
	atomic_store(&buffer->epoch,
		     atomic_load_explicit(&nvs_process->epoch, memory_order_acquire));
	ring_doorbell(&f);
	atomic_store_explicit(&buffer->epoch, 0, memory_order_release);
	nvs_calls.sp = 0;
	if (nvs_level() != NVS_LEVEL_NONE)
		nvs_buffer_warm(buffer);
	mark = 0;
	return f.done;
}
