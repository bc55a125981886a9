/* SPDX-License-Identifier: MIT */
/*
 * Calls that do not return: records their call site and arguments. The blocked thread cannot do
 * that itself, so the keeper thread does, once a call has been open for a while. The stack above
 * the call's frame does not change meanwhile. The copy is made by a system call, since the thread
 * may end at any moment, and is used only if the call is still open afterwards. Frames are unwound
 * by the code's CFI, see trap/stack/stackcache.h; the stack ends where there is none.
 */
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "trap/arch/context.h"
#include "trap/arch/cpu.h"
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"
#include "trap/code/cfi.h"
#include "trap/code/cursor.h"

#define LOOKS 3 /* rounds in which the call must be open */
#define PAGE 4096u
#define STACK_BYTES (16 * PAGE) /* copied from the thread's stack, from the call's frame on */
#define MAX_FRAMES 128

struct seen_call {
	uint64_t number, begin;
	uint32_t looks;
};

/* Used only by the keeper, of which there is one per process. */
static struct seen_call seen[NVS_MAX_BUFFERS];
static uint8_t copied[STACK_BYTES] __attribute__((aligned(16)));

struct stack_walk {
	uintptr_t base; /* original address of the copy */
	size_t bytes;
	uintptr_t sp, fp;
	bool fp_known;
};

static bool read_word(const struct stack_walk *w, uintptr_t at, uint64_t *value)
{
	if (at < w->base || w->bytes < 8 || at - w->base > w->bytes - 8)
		return false;
	memcpy(value, copied + (at - w->base), 8);
	return true;
}

static void copy_stack(struct stack_walk *w, uintptr_t sp)
{
	w->base = sp;
	w->bytes = 0;
	while (w->bytes < STACK_BYTES) {
		size_t part = PAGE - ((sp + w->bytes) & (PAGE - 1)), n;

		part = part < STACK_BYTES - w->bytes ? part : STACK_BYTES - w->bytes;
		n = nvs_cfi_copy(copied + w->bytes, (const void *)(sp + w->bytes), part);
		w->bytes += n;
		if (n < part)
			break;
	}
}

static bool find_cfa(const struct stack_walk *w, const struct nvs_cfi *cfi, uint64_t *cfa)
{
	if (cfi->cfa_register == NVS_DW_SP)
		*cfa = w->sp;
	else if (cfi->cfa_register == NVS_DW_FP && w->fp_known)
		*cfa = w->fp;
	else
		return false;
	*cfa += (uint64_t)cfi->cfa_offset;
	if (cfi->cfa_rule == NVS_CFA_LOADED && !read_word(w, *cfa, cfa))
		return false;
	return cfi->cfa_rule != NVS_CFA_UNKNOWN && *cfa > w->sp;
}

static void move_fp(struct stack_walk *w, const struct nvs_cfi *cfi, uint64_t cfa)
{
	uint64_t at = cfi->fp_rule == NVS_REG_AT_FP ? w->fp : cfa;

	if (cfi->fp_rule == NVS_REG_SAME)
		return;
	w->fp_known = (cfi->fp_rule == NVS_REG_AT_CFA ||
		       (cfi->fp_rule == NVS_REG_AT_FP && w->fp_known)) &&
		      read_word(w, at + (uint64_t)cfi->fp_offset, &at);
	w->fp = at;
}

/* Unwinds from the frame that returns to *PC to its caller. Returns false at the end of the known
 * stack. */
static bool unwind_frame(struct stack_walk *w, struct nvs_cfi *cfi, uint64_t *pc)
{
	uint64_t cfa;

	if (nvs_cfi_find(atomic_load(&nvs_process->modules), *pc - 1, cfi) != NVS_CFI_FOUND ||
	    cfi->signal || cfi->ra_rule != NVS_REG_AT_CFA || !cfi->sp_is_cfa ||
	    !find_cfa(w, cfi, &cfa) || !read_word(w, cfa + (uint64_t)cfi->ra_offset, pc))
		return false;
	*pc = nvs_strip_return(*pc);
	move_fp(w, cfi, cfa);
	w->sp = cfa;
	return *pc;
}

/* Unwinds the stack that led to ENTRY. The copy starts with the frame of ENTRY's thunk. */
static uint32_t walk_stack(struct stack_walk *w, void *entry, void **pcs)
{
	/* The thunk's frame is followed by the saved frame pointer and the return address. */
	uintptr_t at = w->base + sizeof(struct nvs_api_frame);
	struct nvs_cfi cfi = {.module = NULL};
	uint32_t n = 0;
	uint64_t pc;

	pcs[n++] = entry;
	w->fp_known = read_word(w, at, &w->fp);
	w->sp = at + 16;
	if (!w->fp_known || !read_word(w, at + 8, &pc))
		return n;
	do
		pcs[n++] = (void *)pc;
	while (n < MAX_FRAMES && unwind_frame(w, &cfi, &pc));
	return n;
}

/* Takes the arguments passed by value; the others are only known after the call returns. */
static void copy_args(const struct stack_walk *w, const struct nvs_api_frame *frame,
		      const struct nvs_api *api, struct nvs_spool_site *site)
{
	site->nargs = api->nkeep < NVS_SITE_ARGS ? api->nkeep : NVS_SITE_ARGS;
	for (uint32_t i = 0; i < site->nargs; i++) {
		const struct nvs_api_keep *k = &api->keep[i];
		uint64_t value = 0;

		if (k->how != NVS_KEEP_VALUE || k->is_string ||
		    (k->place >= NVS_ARG_REGS &&
		     !read_word(w, (uintptr_t)(frame->stack + k->place - NVS_ARG_REGS), &value))) {
			site->absent |= 1u << i;
			continue;
		}
		if (k->place < NVS_ARG_REGS)
			value = frame->regs[k->place];
		site->args[i] = k->size == 8 ? value : value & ((1ull << k->size * 8) - 1);
	}
}

static bool read_call(const struct nvs_spool_buffer *shared, struct nvs_spool_call *call)
{
	call->number = __atomic_load_n(&shared->calls->number, __ATOMIC_ACQUIRE);
	call->begin = __atomic_load_n(&shared->calls->begin, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&shared->ncalls, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&shared->tid, __ATOMIC_ACQUIRE);
}

static bool is_same_call(const struct nvs_spool_buffer *shared, const struct seen_call *call)
{
	struct nvs_spool_call now;

	return read_call(shared, &now) && now.number == call->number && now.begin == call->begin;
}

static uint32_t record_stack(struct stack_walk *w, void *entry)
{
	void *pcs[MAX_FRAMES];
	uint32_t n = walk_stack(w, entry, pcs), stack;
	struct nvs_buffer *own = nvs_buffer_enter();

	if (!own)
		return NVS_NONE;
	stack = nvs_callsite_number(own, pcs, n, nvs_clock_now());
	nvs_buffer_leave(own);
	return stack;
}

static void put_site(struct nvs_spool_buffer *shared, const struct nvs_spool_site *site)
{
	__atomic_store_n(&shared->site.number, 0, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy((char *)&shared->site + 8, (const char *)site + 8, sizeof(*site) - 8);
	__atomic_store_n(&shared->site.number, site->number, __ATOMIC_RELEASE);
}

static void record_site(const struct nvs_buffer *buffer, const struct seen_call *call)
{
	struct nvs_spool_site site = {.begin = call->begin, .stack = NVS_NONE};
	const struct nvs_api_frame *frame = (const void *)copied;
	struct nvs_open_call open;
	struct stack_walk w = {0};

	if (nvs_cfi_copy(&open, buffer->calls->open, sizeof(open)) != sizeof(open) ||
	    open.number != call->number || open.begin != call->begin)
		return;
	copy_stack(&w, open.sp);
	if (w.bytes < sizeof(*frame) || frame->number != call->number ||
	    frame->begin != call->begin || frame->index >= NVS_API_SLOTS ||
	    !nvs_api_slots[frame->index].api || !is_same_call(buffer->shared, call))
		return;
	copy_args(&w, frame, nvs_api_slots[frame->index].api, &site);
	if (nvs_takes_stacks())
		site.stack = record_stack(&w, nvs_api_slots[frame->index].original);
	site.number = call->number + 1;
	if (is_same_call(buffer->shared, call))
		put_site(buffer->shared, &site);
}

bool nvs_api_find_stuck(void)
{
	bool any = false;

	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		const struct nvs_buffer *buffer = nvs_buffer_at(i);
		struct nvs_spool_call call;

		if (!read_call(buffer->shared, &call) || call.number != seen[i].number ||
		    call.begin != seen[i].begin)
			seen[i] = (struct seen_call){call.number, call.begin, 1};
		else if (seen[i].looks < LOOKS)
			seen[i].looks++;
		any = any || (seen[i].looks == LOOKS && buffer->calls);
	}
	return any;
}

void nvs_api_record_stuck(void)
{
	nvs_cfi_by_kernel = true;
	for (uint32_t i = 0; i < nvs_buffer_count(); i++) {
		const struct nvs_buffer *buffer = nvs_buffer_at(i);

		if (seen[i].looks != LOOKS || !buffer->calls)
			continue;
		/* Only once per call: a second attempt would give the same result. */
		seen[i].looks++;
		record_site(buffer, &seen[i]);
	}
	nvs_cfi_by_kernel = false;
}
