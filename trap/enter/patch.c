/* SPDX-License-Identifier: MIT */
/*
 * Patched sites: from the first trap at a store to the jump that replaces it.
 *
 * The trap only notes the store. A thread of the library later analyses the surroundings, builds
 * the trampoline and writes the code.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include "trap/enter/patch.h"
#include "trap/buffer/process.h"
#include "trap/low/code_write.h"
#include "trap/low/guard.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

#define STRIDE (64u << 10)
#define NEVER UINT64_MAX /* value of `changes`: not looked at yet */

/* Sites and their trampolines outlive a fork: the child's code is a copy and still jumps to them.
 *  */
static struct nvs_patch_site sites[NVS_MAX_SITES];

static struct nvs_patch_site *site_at(uintptr_t address)
{
	for (int i = 0; i < NVS_MAX_SITES; i++)
		if (atomic_load_explicit(&sites[i].state, memory_order_acquire) >
			    NVS_PATCH_CLAIMED &&
		    sites[i].address == address)
			return &sites[i];
	return NULL;
}

/* Called once for each site, so that the patcher need not wait for its next poll. */
static void wake_patcher(void)
{
	_Atomic uint32_t *seen = nvs_writer_signal.seen;

	if (seen && !atomic_exchange(seen, 1))
		nvs_sys4(SYS_futex, seen, FUTEX_WAKE, 1, 0);
}

static void note_site(uintptr_t address, const uint8_t *bytes, const struct nvs_insn *insn)
{
	for (int i = 0; i < NVS_MAX_SITES; i++) {
		struct nvs_patch_site *s = &sites[i];
		uint32_t unused = NVS_PATCH_FREE;

		if (!atomic_compare_exchange_strong(&s->state, &unused, NVS_PATCH_CLAIMED))
			continue;
		s->address = address;
		s->length = insn->length;
		__builtin_memcpy(s->bytes, bytes, NVS_INSN_MAX);
		s->changes = NEVER;
		s->trampoline = s->original = s->hop = 0;
		s->refusal = nvs_site_form(&s->form, insn) ? NVS_SITE_NOT_YET : NVS_SITE_FORM;
		atomic_store_explicit(
			&s->state, s->refusal == NVS_SITE_FORM ? NVS_PATCH_REFUSED : NVS_PATCH_SEEN,
			memory_order_release);
		wake_patcher();
		return;
	}
}

/* Only one of several threads that meet a new store at the same time notes it: a second note would
 * hold the bytes of the first one's jump. */
void nvs_patch_note(uintptr_t address, const uint8_t *bytes, const struct nvs_insn *insn)
{
	if (!nvs_process->options.patch || site_at(address) ||
	    atomic_exchange(&nvs_process->noting, 1))
		return;
	if (!site_at(address))
		note_site(address, bytes, insn);
	atomic_store(&nvs_process->noting, 0);
}

/* The site's bytes have been changed, or are being changed. Its module may be unloaded since. */
static bool is_written(const struct nvs_patch_site *s)
{
	return atomic_load_explicit(&s->state, memory_order_acquire) >= NVS_PATCH_WRITING &&
	       s->trampoline;
}

static bool is_changed(uintptr_t address)
{
	return nvs_site_code_of((const uint8_t *)address) != NVS_SITE_CODE_OTHER;
}

const struct nvs_patch_site *nvs_patch_site_of(uintptr_t pc)
{
	for (int i = 0; i < NVS_MAX_SITES; i++) {
		const struct nvs_patch_site *s = &sites[i];

		if (!is_written(s))
			continue;
		/* The site's own address counts only while our bytes are there: its module may be
		 * unloaded. */
		if (pc == s->original || (pc == s->address && is_changed(pc)))
			return s;
	}
	return NULL;
}

bool nvs_patch_is_on_path(uintptr_t pc)
{
	for (int i = 0; i < NVS_MAX_SITES; i++) {
		const struct nvs_patch_site *s = &sites[i];

		if (!is_written(s))
			continue;
		if (nvs_page_of(pc) == s->trampoline || (s->hop && pc == s->hop) ||
		    nvs_site_is_way(s->address, pc))
			return true;
	}
	return false;
}

uintptr_t nvs_patch_resume_at(uintptr_t pc)
{
	for (int i = 0; i < NVS_MAX_SITES; i++) {
		const struct nvs_patch_site *s = &sites[i];
		/* Read first: the stop is replaced before the site becomes DONE, never after. */
		bool done = atomic_load(&s->state) == NVS_PATCH_DONE;
		uint8_t code[NVS_SITE_CODE_BYTES];
		enum nvs_site_code what;

		if (!is_written(s) || pc != s->address ||
		    nvs_copy_guarded(code, (const void *)pc, sizeof(code)))
			continue;
		what = nvs_site_code_of(code);
		if (what == NVS_SITE_CODE_STOP && !done)
			return s->trampoline;
		/* The stop was reached just before the jump replaced it, ... */
		if (what == NVS_SITE_CODE_JUMP)
			return pc;
		/* ... or the store was put back. A store that faults itself faults again in its
		 * copy, not forever. */
		if (!__builtin_memcmp(code, s->bytes, sizeof(code)))
			return s->original;
	}
	return 0;
}

/* ---- writing ---- */

static uint8_t *map_page_at(uintptr_t wanted)
{
	long p = nvs_syscall(SYS_mmap, (long)wanted, (long)nvs_page_bytes(), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | (wanted ? MAP_FIXED_NOREPLACE : 0), -1,
			     0);

	if (p < 0 && p > -4096)
		return NULL;
	if (!wanted || p == (long)wanted)
		return (uint8_t *)p;
	nvs_sys4(SYS_munmap, p, nvs_page_bytes(), 0, 0);
	return NULL;
}

/* Maps a page that a jump from NEAR reaches, writable for now. Searches on both sides, outwards. If
 * large libraries occupy everything near, the page may be anywhere. */
static uint8_t *map_page_near(uintptr_t near)
{
	near &= ~(uintptr_t)(STRIDE - 1);
	for (uint64_t off = STRIDE; off < NVS_SITE_REACH;
	     off += off < (8u << 20) ? STRIDE : 1u << 20) {
		uint8_t *below = map_page_at(near - off),
			*p = below ? below : map_page_at(near + off);

		if (p)
			return p;
	}
	return map_page_at(0);
}

/* From WRITING on, the trampoline may run. */
static bool write_all(long mem, struct nvs_patch_site *s, const struct nvs_site *plan)
{
	if (!nvs_site_write_way(mem, plan))
		return false;
	s->hop = plan->hop;
	s->trampoline = nvs_page_of(s->original);
	atomic_store(&s->state, NVS_PATCH_WRITING);
	/* A thread that runs what is written must find this state; the kernel's store is not
	 * ordered after ours otherwise. */
	atomic_thread_fence(memory_order_seq_cst);
	return nvs_site_write_store(mem, plan);
}

/* Opens /proc/self/mem once, directly after may_patch(): the membarriers take time, in which the
 * program may enter a sandbox that kills it for opening a file. */
static enum nvs_site_refusal write_site(struct nvs_patch_site *s, const struct nvs_site *plan)
{
	bool done;
	long mem;

	if (nvs_writer_signal.may_patch && !nvs_writer_signal.may_patch())
		return NVS_SITE_NOT_YET;
	mem = nvs_sys4(SYS_openat, AT_FDCWD, "/proc/self/mem", O_WRONLY | O_CLOEXEC, 0);
	done = write_all(mem, s, plan);
	if (mem >= 0)
		nvs_sys4(SYS_close, mem, 0, 0, 0);
	return done ? NVS_SITE_PATCHED : NVS_SITE_NO_WRITE;
}

/* Reserves the part of the slack that other sites' hops occupy. */
static void skip_hops(struct nvs_site_text *text)
{
	for (int i = 0; i < NVS_MAX_SITES; i++)
		if (is_written(&sites[i]) && sites[i].hop >= text->slack &&
		    sites[i].hop < text->slack_end)
			text->slack = sites[i].hop + NVS_SITE_HOP;
}

static enum nvs_site_refusal patch_site(struct nvs_patch_site *s, struct nvs_site_text *text)
{
	enum nvs_site_verdict verdict;
	enum nvs_site_refusal refusal;
	struct nvs_site plan;
	uint8_t *tramp;

	if (!nvs_code_sync_register())
		return NVS_SITE_NO_BARRIER;
	tramp = map_page_near(s->address);
	if (!tramp)
		return NVS_SITE_NO_NEAR;
	skip_hops(text);
	verdict = nvs_site_analyse(&plan, text, s->address, (uintptr_t)tramp);
	if (verdict != NVS_SITE_OK) {
		nvs_sys4(SYS_munmap, tramp, nvs_page_bytes(), 0, 0);
		return verdict == NVS_SITE_FAR ? NVS_SITE_NO_NEAR : NVS_SITE_SURROUNDINGS;
	}
	s->original = nvs_tramp_fill(tramp, s, (const void *)nvs_fast_doorbell, s->bytes, s->length,
				     plan.resume);
	refusal = nvs_sys4(SYS_mprotect, tramp, nvs_page_bytes(), PROT_READ | PROT_EXEC, 0)
			  ? NVS_SITE_NO_WRITE
			  : write_site(s, &plan);
	if (refusal && !s->trampoline)
		nvs_sys4(SYS_munmap, tramp, nvs_page_bytes(), 0, 0);
	return refusal;
}

/* Number of loads and unloads up to the last module list. */
static uint64_t module_changes(void)
{
	const struct nvs_module_view *modules = atomic_load(&nvs_process->modules);

	return modules ? modules->adds + modules->subs : 0;
}

static bool is_due(const struct nvs_patch_site *s, uint64_t changes)
{
	uint32_t state = atomic_load(&s->state);

	return (state == NVS_PATCH_SEEN || state >= NVS_PATCH_DONE) && s->changes != changes;
}

bool nvs_patch_pending(void)
{
	uint64_t changes = module_changes();

	for (int i = 0; i < NVS_MAX_SITES; i++)
		if (is_due(&sites[i], changes))
			return true;
	return false;
}

/* True if the code there is what was seen, or what the patch made of it. */
static bool is_there(const struct nvs_patch_site *s, const struct nvs_site_text *text)
{
	const uint8_t *now = text->bytes + (s->address - text->address);

	if (s->state == NVS_PATCH_DONE)
		return nvs_site_code_of(now) == NVS_SITE_CODE_JUMP;
	/* The stop could not be undone. */
	if (s->trampoline && nvs_site_code_of(now) == NVS_SITE_CODE_STOP)
		return true;
	return text->address + text->size - s->address >= s->length &&
	       !__builtin_memcmp(now, s->bytes, s->length);
}

/*
 * Handles a site after a change of the modules. A site whose module was unloaded is freed, since
 * its address may belong to other code. When the site is first looked at, the module may not be in
 * the list yet, so the first miss is not final.
 */
static void check_site(struct nvs_patch_site *s, uint64_t changes, nvs_text_fn text_of)
{
	struct nvs_site_text text;
	bool found = text_of(s->address, &text), first = s->changes == NEVER;

	s->changes = changes;
	if (!found && first && s->state == NVS_PATCH_SEEN)
		s->refusal = NVS_SITE_SURROUNDINGS;
	if (!found ? !first : !is_there(s, &text)) {
		atomic_store(&s->state, NVS_PATCH_FREE);
	} else if (found && atomic_load(&s->state) == NVS_PATCH_SEEN) {
		s->refusal = patch_site(s, &text);
		if (s->refusal == NVS_SITE_NOT_YET)
			s->changes = NEVER;
		else
			atomic_store(&s->state, s->refusal ? NVS_PATCH_REFUSED : NVS_PATCH_DONE);
	}
}

void nvs_patch_pending_sites(nvs_text_fn text_of)
{
	uint64_t changes = module_changes();

	for (int i = 0; i < NVS_MAX_SITES; i++)
		if (is_due(&sites[i], changes))
			check_site(&sites[i], changes, text_of);
}

const struct nvs_patch_site *nvs_patch_sites(void)
{
	return sites;
}
