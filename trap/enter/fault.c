/* SPDX-License-Identifier: MIT */
/*
 * The doorbell's fault: from the SIGSEGV of the store, through the capture, to the store on the
 * alias.
 *
 * A store of a simple form is emulated. Any other instruction is first single-stepped onto a
 * private twin of the page, which shows what it stores before the GPU can see it. Then it is
 * captured, and the instruction is stepped again on the alias. The protected page is never opened.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "trap/arch/context.h"
#include "trap/arch/store.h"
#include "trap/buffer/abandoned.h"
#include "trap/enter/patch.h"
#include "trap/enter/step.h"
#include "trap/buffer/calls.h"
#include "trap/low/guard.h"
#include "trap/low/point.h"
#include "trap/buffer/process.h"
#include "trap/copy/shadow.h"
#include "trap/copy/gpfifo_timing.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

/* NOTIFY_CHANNEL_PENDING in the usermode page, classes c361 to c761 */
#define DOORBELL_OFFSET 0x90u
#define WIDEST_STORE 512u /* fxsave */
#define UNWINDER_STACK 65536u /* that an unwinder uses at most */

/* A single-step in flight; one in each thread, since signals are blocked until it is done. */
struct pending_step {
	struct nvs_step step;
	struct nvs_insn insn;
	uint8_t code[NVS_INSN_MAX];
	bool on_alias; /* this is the second step, which reaches the GPU */
	uintptr_t target; /* address of the store in the program */
	uint32_t stack;
	uint64_t time;
	uint64_t mask; /* the program's signal mask */
};
static __thread struct pending_step pending;

/* Input and result of the handling of one signal. */
struct fault_work {
	uintptr_t address;
	ucontext_t *uc;
	struct nvs_buffer *buffer;
	bool ours;
};

static const struct nvs_doorbell *find_doorbell(const struct nvs_view *view, uintptr_t address)
{
	for (uint32_t i = 0; view && i < view->ndoorbells; i++)
		if (address - view->doorbells[i].start <
		    view->doorbells[i].end - view->doorbells[i].start)
			return &view->doorbells[i];
	return NULL;
}

/* A check before any buffer is claimed: most faults of a program are not the trap's. */
static bool is_doorbell(uintptr_t address)
{
	const struct nvs_doorbell *db;
	bool found;

	atomic_fetch_add(&nvs_process->bufferless, 1);
	db = find_doorbell(atomic_load(&nvs_process->view), address);
	found = db && db->alias;
	atomic_fetch_sub(&nvs_process->bufferless, 1);
	return found;
}

/* Extracts the doorbell register from a store of WIDTH bytes at ADDRESS. Returns false if the store
 * does not touch it. */
static bool doorbell_value(const struct nvs_doorbell *db, uintptr_t address, const uint8_t *bytes,
			   unsigned width, uint32_t *token)
{
	uintptr_t reg = db->start + DOORBELL_OFFSET;
	bool any = false;

	*token = 0;
	for (unsigned i = 0; i < width; i++) {
		if (address + i - reg >= 4)
			continue;
		*token |= (uint32_t)bytes[i] << (address + i - reg) * 8;
		any = true;
	}
	return any;
}

static void capture_doorbell(struct nvs_buffer *buffer, const struct nvs_view *view,
			     const struct nvs_doorbell *db, uint32_t token, uint32_t stack,
			     uint64_t time)
{
	struct nvs_doorbell_event event = {
		.doorbell = db, .token = token, .stack = stack, .time = time};

	if (buffer)
		nvs_capture_doorbell(buffer, view, &event);
	else
		nvs_capture_lost(view, &event);
}

/* Every record committed so far has had its doorbell rung; readers know it after a kill. */
static void mark_rung(struct nvs_buffer *buffer)
{
	if (buffer)
		__atomic_store_n(&buffer->shared->rung, buffer->shared->head, __ATOMIC_RELEASE);
}

/*
 * A store that cannot be performed for the program: the page is made writable, and a GAP record
 * says that nothing is captured from here on. Nothing forwards later submissions from the shadow,
 * so the channels are switched back to the real pages.
 */
static void disarm_doorbell(struct nvs_buffer *buffer, const struct nvs_doorbell *db, uint64_t time)
{
	const struct nvs_view *view = atomic_load(&nvs_process->view);
	struct nvs_rec_gap *rec;

	for (uint32_t i = 0; i < view->nchannels; i++) {
		const struct nvs_channel *ch = &view->channels[i];
		struct nvs_timing_bell bell = {(volatile uint32_t *)(db->alias + DOORBELL_OFFSET),
					       ch->token};

		if (ch->shadow && ch->gpu == db->gpu &&
		    (!ch->shadow->timing || nvs_gpfifo_untrack(ch->shadow, &bell)))
			nvs_shadow_remove(ch->shadow, true);
	}
	nvs_sys4(SYS_mprotect, db->start, db->end - db->start, PROT_READ | PROT_WRITE, 0);
	if (!buffer)
		return;
	nvs_count(buffer, NVS_COUNT_GAPS, 1);
	rec = nvs_buffer_reserve(buffer, sizeof(*rec), true);
	if (!rec)
		return;
	*rec = (struct nvs_rec_gap){
		.rec = {.type = NVS_REC_GAP, .size = sizeof(*rec), .time = time},
		.thread = nvs_tls.thread - 1,
		.channel = NVS_NONE,
		.entry = NVS_NONE,
		.reason = NVS_GAP_DISARMED,
		.address = db->start,
	};
	nvs_buffer_commit(buffer, sizeof(*rec));
}

/* Prepares the context so that returning to it runs the pending instruction with TO as target. */
static bool step_on(struct fault_work *w, uintptr_t to)
{
	uint64_t *mask = (uint64_t *)(void *)&w->uc->uc_sigmask;

	if (nvs_step_prepare(&pending.step, &pending.insn, pending.code, &w->uc->uc_mcontext,
			     (int64_t)(to - pending.target), nvs_slot_write_of(w->buffer),
			     nvs_slot_run_of(w->buffer)))
		return false;
	pending.mask = *mask;
	*mask = ~(1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1));
	nvs_tls.stepping = true;
	return true;
}

static void begin_step(struct fault_work *w, const struct nvs_doorbell *db,
		       const struct nvs_insn *insn, const uint8_t *code, uint32_t stack,
		       uint64_t time)
{
	uint64_t target = w->address;
	uint8_t *twin;

	if (nvs_insn_address(insn, &w->uc->uc_mcontext, &target) &&
	    target - db->start >= db->end - db->start)
		target = w->address;
	if (!w->buffer || !insn->length) {
		disarm_doorbell(w->buffer, db, time);
		return;
	}
	/* The step uses the buffer's twin and slot, and continues after this signal. */
	nvs_buffer_make_own(w->buffer);
	pending.insn = *insn;
	__builtin_memcpy(pending.code, code, NVS_INSN_MAX);
	pending.on_alias = false;
	pending.target = target;
	pending.stack = stack;
	pending.time = time;
	twin = nvs_twin_of(w->buffer) + (target & (nvs_page_bytes() - 1));
	__builtin_memset(twin, 0, WIDEST_STORE);
	if (!step_on(w, (uintptr_t)twin)) {
		disarm_doorbell(w->buffer, db, time);
		return;
	}
	nvs_count(w->buffer, NVS_COUNT_STEPPED, 1);
}

/*
 * Reads the instruction at the program counter as it was compiled. If its first bytes are now a
 * jump, or a copy of it ran in a trampoline, the context is moved back to the original site.
 *
 * The code is read first and the site looked up afterwards, also by the processor: a site is marked
 * before it is written, so the look-up corrects bytes that were read while the site changed.
 */
static size_t fetch_instruction(mcontext_t *m, uint8_t *code)
{
	uintptr_t pc = nvs_context_pc(m);
	size_t n = NVS_INSN_MAX - nvs_copy_guarded(code, (const void *)pc, NVS_INSN_MAX);
	const struct nvs_patch_site *site;

	atomic_thread_fence(memory_order_acquire);
	site = nvs_patch_site_of(pc);
	if (!site)
		return n;
	nvs_context_set_pc(m, site->address);
	__builtin_memcpy(code, site->bytes, NVS_INSN_MAX);
	return NVS_INSN_MAX;
}

static uint32_t take_callsite(struct fault_work *w, uint64_t time)
{
	const mcontext_t *m = &w->uc->uc_mcontext;

	if (nvs_level() == NVS_LEVEL_NONE)
		return NVS_NONE;
	return nvs_callsite_take(w->buffer, nvs_context_pc(m), nvs_context_sp(m), nvs_context_fp(m),
				 nvs_context_lr(m), time);
}

/* The program single-steps itself, and the trap has performed its step: the program gets its
 * SIGTRAP when the handler returns and the signal is unblocked. */
static void send_step_signal(const mcontext_t *m)
{
	siginfo_t info = {.si_signo = SIGTRAP, .si_code = TRAP_TRACE};
	uint64_t bit = 1ull << (SIGTRAP - 1);

	info.si_addr = (void *)nvs_context_pc(m);
	nvs_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &bit, 0, sizeof(bit));
	nvs_sys4(SYS_rt_tgsigqueueinfo, nvs_sys4(SYS_getpid, 0, 0, 0, 0),
		 nvs_sys4(SYS_gettid, 0, 0, 0, 0), SIGTRAP, &info);
}

static void on_store(void *arg)
{
	struct fault_work *w = arg;
	mcontext_t *m = &w->uc->uc_mcontext;
	const struct nvs_view *view = atomic_load(&nvs_process->view);
	const struct nvs_doorbell *db = find_doorbell(view, w->address);
	uint64_t time = nvs_clock_now();
	uint8_t code[NVS_INSN_MAX];
	struct nvs_insn insn;
	struct nvs_store store;
	uint32_t stack, token;
	size_t readable;

	if (!db || !db->alias)
		return; /* It has been removed: the faulting address is no longer a doorbell. */
	w->ours = true;
	NVS_POINT(FAULT);
	readable = fetch_instruction(m, code);
	stack = w->buffer ? take_callsite(w, time) : NVS_NONE;
	if (!nvs_insn_decode(&insn, code, readable))
		insn.length = 0;
	if (!insn.length || nvs_process->options.mode == NVS_TRAP_STEP ||
	    !nvs_store_decode(&store, &insn, m) ||
	    store.address - db->start >= db->end - db->start) {
		begin_step(w, db, &insn, code, stack, time);
		return;
	}
	if (doorbell_value(db, store.address, (const uint8_t *)&store.value, store.width, &token)) {
		capture_doorbell(w->buffer, view, db, token, stack, time);
		nvs_patch_note(nvs_context_pc(m), code, &insn);
	}
	NVS_POINT(STORE);
	nvs_store_emulate(&store, db->alias + (store.address - db->start), m);
	if (nvs_context_steps(m))
		send_step_signal(m);
	NVS_POINT(RUNG);
	mark_rung(w->buffer);
}

/* Performs a store of 1, 2, 4 or 8 bytes. Returns false for any other width; then the instruction
 * itself is run. */
static bool store_plain(uintptr_t to, const uint8_t *from, unsigned width)
{
	if (to & (width - 1))
		return false;
	switch (width) {
	case 1:
		*(volatile uint8_t *)to = *from;
		return true;
	case 2:
		*(volatile uint16_t *)to = *(const uint16_t *)(const void *)from;
		return true;
	case 4:
		*(volatile uint32_t *)to = *(const uint32_t *)(const void *)from;
		return true;
	case 8:
		*(volatile uint64_t *)to = *(const uint64_t *)(const void *)from;
		return true;
	default:
		return false;
	}
}

/* The store is now in the twin page. */
static void on_step(void *arg)
{
	struct fault_work *w = arg;
	const struct nvs_view *view = atomic_load(&nvs_process->view);
	const struct nvs_doorbell *db = find_doorbell(view, pending.target);
	unsigned width = pending.step.width ? pending.step.width : WIDEST_STORE;
	const uint8_t *twin;
	uintptr_t alias;
	uint32_t token;

	if (!db || !db->alias || !w->buffer)
		return;
	alias = db->alias + (pending.target - db->start);
	twin = nvs_twin_of(w->buffer) + (pending.target & (nvs_page_bytes() - 1));
	/* Width unknown: it is a doorbell if the register in the twin page is no longer 0. */
	if (doorbell_value(db, pending.target, twin, width, &token) &&
	    (pending.step.width || token))
		capture_doorbell(w->buffer, view, db, token, pending.stack, pending.time);
	if (!store_plain(alias, twin, pending.step.width)) {
		nvs_step_rewind(&pending.step, &w->uc->uc_mcontext);
		pending.on_alias = true;
		if (!step_on(w, alias))
			disarm_doorbell(w->buffer, db, pending.time);
		return;
	}
	mark_rung(w->buffer);
}

/* Enters a buffer and runs FN on that buffer's stack. */
static void run_with_buffer(struct fault_work *w, void (*fn)(void *))
{
	struct nvs_activity outer = nvs_tls.activity,
			    activity = {.sp = nvs_context_sp(&w->uc->uc_mcontext)};
	const stack_t *alternate = &w->uc->uc_stack;
	int saved = errno;

	if (nvs_tls.depth && nvs_activity_abandoned(&outer, activity.sp, alternate)) {
		nvs_tls.depth = 0;
		nvs_tls.stepping = false;
		nvs_tls.unwinding = 0;
	}
	nvs_tls.depth++;
	nvs_tls.activity = activity;
	nvs_calls.sp = activity.sp;
	w->buffer = nvs_buffer_enter_at(&activity, alternate);
	if (w->buffer) {
		nvs_on_stack(w->buffer->stack_top, fn, w);
		nvs_buffer_leave(w->buffer);
	} else {
		atomic_fetch_add(&nvs_process->bufferless, 1);
		fn(w);
		atomic_fetch_sub(&nvs_process->bufferless, 1);
	}
	nvs_calls.sp = 0;
	nvs_tls.depth--;
	nvs_tls.activity = outer;
	errno = saved;
}

static void end_step(ucontext_t *uc)
{
	*(uint64_t *)(void *)&uc->uc_sigmask = pending.mask;
	nvs_tls.stepping = false;
}

/* The signal was sent by a process, not caused by an instruction: it may arrive anywhere, also
 * within a trap. */
static bool was_sent(const siginfo_t *info)
{
	return info->si_code <= 0;
}

/* A single-stepping program runs its store through code of the trap: it gets no SIGTRAP for those
 * steps until it is back in its own code. */
static bool is_own_step(const ucontext_t *uc)
{
	uintptr_t pc = nvs_context_pc(&uc->uc_mcontext);
	struct nvs_buffer *buffer = nvs_tls.buffer;

	if (nvs_patch_is_on_path(pc) || nvs_fast_is_code(pc))
		return true;
	return buffer && atomic_load(&buffer->epoch) && buffer->activity.mark &&
	       !nvs_activity_abandoned(&buffer->activity, nvs_context_sp(&uc->uc_mcontext),
				       &uc->uc_stack);
}

/* Ends the unwinder after a fault of its own, at a wrong address. Returns false if the fault is not
 * the unwinder's. */
static bool end_unwinding(mcontext_t *m)
{
	uintptr_t frame = nvs_tls.unwinding;

	if (!frame || !nvs_tls.depth || frame - nvs_context_sp(m) > UNWINDER_STACK)
		return false;
	nvs_context_set_sp(m, frame);
	nvs_context_set_pc(m, (uintptr_t)nvs_unwind_faulted);
	return true;
}

bool nvs_trap_segv(siginfo_t *info, void *ucontext)
{
	ucontext_t *uc = ucontext;
	mcontext_t *m = &uc->uc_mcontext;
	uintptr_t fixup = nvs_guard_fixup(nvs_context_pc(m));
	struct fault_work w = {.address = (uintptr_t)info->si_addr, .uc = uc};
	uintptr_t onward;

	if (was_sent(info))
		return false;
	if (fixup) {
		nvs_context_set_pc(m, fixup);
		return true;
	}
	if (end_unwinding(m))
		return true;
	onward = info->si_code == SI_KERNEL ? nvs_patch_resume_at(nvs_context_pc(m)) : 0;
	if (onward) {
		nvs_context_set_pc(m, onward);
		return true;
	}
	if (!nvs_trap_is_started())
		return false;
	if (nvs_tls.stepping && nvs_step_is_at(&pending.step, nvs_context_pc(m))) {
		/* The stepped instruction itself faulted on an operand of the program: the fault is
		 * the program's. */
		nvs_step_finish(&pending.step, m);
		end_step(uc);
		return false;
	}
	if (info->si_code != SEGV_ACCERR || !is_doorbell(w.address)) {
		if (info->si_code == SEGV_ACCERR && nvs_shadow_should_retry())
			return true;
		if (nvs_tls.buffer && nvs_tls.buffer->shared)
			nvs_count(nvs_tls.buffer, NVS_COUNT_FOREIGN, 1);
		return false;
	}
	run_with_buffer(&w, on_store);
	return w.ours;
}

bool nvs_trap_sigtrap(siginfo_t *info, void *ucontext)
{
	ucontext_t *uc = ucontext;
	struct fault_work w = {.uc = uc};
	bool ran;

	if (was_sent(info))
		return false;
	if (info->si_code == TRAP_TRACE && nvs_trap_is_started() && is_own_step(uc))
		return true;
	if (!nvs_trap_is_started() || !nvs_tls.stepping)
		return false;
	ran = nvs_step_finish(&pending.step, &uc->uc_mcontext);
	end_step(uc);
	if (!ran)
		return false;
	if (pending.on_alias)
		mark_rung(nvs_tls.buffer);
	else
		run_with_buffer(&w, on_step);
	/* If the program single-steps itself, the SIGTRAP after the store is also for the
	 * program. */
	return nvs_tls.stepping || !pending.step.program_steps;
}
