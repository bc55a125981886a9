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
#include <linux/membarrier.h>
#include <sys/mman.h>
#include "trap/enter/patch.h"
#include "trap/buffer/process.h"
#include "trap/code/store_site.h"
#include "trap/low/guard.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

extern const uint8_t nvs_tramp_begin[], nvs_tramp_end[], nvs_tramp_site[], nvs_tramp_function[];
extern const uint8_t nvs_tramp_back1[], nvs_tramp_original[], nvs_tramp_back2[];

#define PAGE 4096u
#define STRIDE (64u << 10)
/* A jump reaches 2 GiB; half of that leaves room for the module itself */
#define REACH (1ull << 30)
#define STOP 0xf4 /* hlt: a SIGSEGV */
#define SHORT_JUMP 0xeb
#define NEVER UINT64_MAX /* value of `changes`: not looked at yet */

/* Sites and their trampolines outlive a fork: the child's code is a copy and still jumps to them.
 *  */
static struct nvs_patch_site sites[NVS_MAX_SITES];
static int barrier_ready; /* 1: registered, -1: refused */

static struct nvs_patch_site *site_at(uintptr_t address)
{
	for (int i = 0; i < NVS_MAX_SITES; i++)
		if (atomic_load_explicit(&sites[i].state, memory_order_acquire) >
			    NVS_PATCH_CLAIMED &&
		    sites[i].address == address)
			return &sites[i];
	return NULL;
}

/* mov %r32, disp(%base): the form of all known doorbell stores. Other forms stay with the trap. */
static bool is_plain_store(const struct nvs_insn *insn)
{
	return insn->encoding == NVS_LEGACY && insn->map == NVS_MAP_ONE && insn->opcode == 0x89 &&
	       insn->memory && insn->operand_bytes == 4 && !insn->segment &&
	       !(insn->prefixes & ~NVS_PREFIX_REX) && insn->index == NVS_REG_NONE &&
	       insn->base <= NVS_R15;
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
		s->base = insn->base;
		s->source = insn->reg;
		s->disp = insn->disp;
		s->changes = NEVER;
		s->trampoline = s->original = s->hop = 0;
		s->refusal = is_plain_store(insn) ? NVS_SITE_NOT_YET : NVS_SITE_FORM;
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

static bool is_changed(const uint8_t *code)
{
	return *code == SHORT_JUMP || *code == STOP;
}

const struct nvs_patch_site *nvs_patch_site_of(uintptr_t rip)
{
	for (int i = 0; i < NVS_MAX_SITES; i++) {
		const struct nvs_patch_site *s = &sites[i];

		if (!is_written(s))
			continue;
		/* The site's own address counts only while our bytes are there: its module may be
		 * unloaded. */
		if (rip == s->original || (rip == s->address && is_changed((const uint8_t *)rip)))
			return s;
	}
	return NULL;
}

bool nvs_patch_is_on_path(uintptr_t rip)
{
	for (int i = 0; i < NVS_MAX_SITES; i++) {
		const struct nvs_patch_site *s = &sites[i];
		const uint8_t *code = (const uint8_t *)s->address;

		if (!is_written(s))
			continue;
		if ((rip & ~(uintptr_t)(PAGE - 1)) == s->trampoline || (s->hop && rip == s->hop))
			return true;
		/* RIP is near enough to be in the cave: the site's bytes are mapped and say where
		 * it jumps. */
		if (rip - (s->address - 128) < 260 && *code == SHORT_JUMP &&
		    rip == s->address + NVS_SITE_HEAD + (uintptr_t)(intptr_t)(int8_t)code[1])
			return true;
	}
	return false;
}

uintptr_t nvs_patch_resume_at(uintptr_t rip)
{
	for (int i = 0; i < NVS_MAX_SITES; i++) {
		const struct nvs_patch_site *s = &sites[i];
		/* Read first: the stop is replaced before the site becomes DONE, never after. */
		bool done = atomic_load(&s->state) == NVS_PATCH_DONE;
		uint8_t code;

		if (!is_written(s) || rip != s->address ||
		    nvs_copy_guarded(&code, (const void *)rip, 1))
			continue;
		if (code == STOP && !done)
			return s->trampoline;
		/* The stop was reached just before the jump replaced it, ... */
		if (code == SHORT_JUMP)
			return rip;
		/* ... or the store was put back. A store that faults itself faults again in its
		 * copy, not forever. */
		if (code == s->bytes[0])
			return s->original;
	}
	return 0;
}

static bool sync_cores(void)
{
	return !nvs_sys4(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0);
}

static bool register_barrier(void)
{
	if (!barrier_ready)
		barrier_ready = nvs_sys4(SYS_membarrier,
					 MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0,
					 0)
					? -1
					: 1;
	return barrier_ready > 0;
}

/* ---- writing ---- */

/*
 * Other threads may run the code while it is written. So first a stop is written to the first byte,
 * then the tail, then the first byte of the jump, with a core-serialising membarrier between them:
 * no core runs a mixture. The stop is not a breakpoint, because the program may have SIGTRAP
 * blocked; it is an instruction that faults as the store does. A thread that reaches it continues
 * where the jump will lead. So nothing requires that the writing is ever finished, neither after a
 * failed write nor in a child that was forked in the middle of it.
 */

/*
 * Writes code through /proc/self/mem, MEM: the kernel writes a private copy of the page and its
 * protection never changes. If that is refused (MEM < 0), the page is made writable for a moment;
 * it stays executable.
 */
static bool write_code(long mem, uintptr_t to, const uint8_t *bytes, size_t n)
{
	uintptr_t page = to & ~(uintptr_t)(PAGE - 1);
	size_t span = ((to + n - page) + PAGE - 1) & ~(size_t)(PAGE - 1);

	if (mem >= 0 && nvs_sys4(SYS_pwrite64, mem, bytes, n, to) == (long)n)
		return true;
	if (nvs_sys4(SYS_mprotect, page, span, PROT_READ | PROT_WRITE | PROT_EXEC, 0))
		return false;
	for (size_t i = 0; i < n; i++)
		((volatile uint8_t *)to)[i] = bytes[i];
	nvs_sys4(SYS_mprotect, page, span, PROT_READ | PROT_EXEC, 0);
	return true;
}

static uint8_t *map_page_at(uintptr_t wanted)
{
	long p = nvs_syscall(SYS_mmap, (long)wanted, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | (wanted ? MAP_FIXED_NOREPLACE : 0), -1,
			     0);

	if (p < 0 && p > -4096)
		return NULL;
	if (!wanted || p == (long)wanted)
		return (uint8_t *)p;
	nvs_sys4(SYS_munmap, p, PAGE, 0, 0);
	return NULL;
}

/* Maps a page that a jump from NEAR reaches, writable for now. Searches on both sides, outwards. If
 * large libraries occupy everything near, the page may be anywhere. */
static uint8_t *map_page_near(uintptr_t near)
{
	near &= ~(uintptr_t)(STRIDE - 1);
	for (uint64_t off = STRIDE; off < REACH; off += off < (8u << 20) ? STRIDE : 1u << 20) {
		uint8_t *below = map_page_at(near - off),
			*p = below ? below : map_page_at(near + off);

		if (p)
			return p;
	}
	return map_page_at(0);
}

static void put_address(uint8_t *tramp, const uint8_t *slot, uint64_t address)
{
	__builtin_memcpy(tramp + (slot - nvs_tramp_begin), &address, 8);
}

static void fill_trampoline(uint8_t *tramp, struct nvs_patch_site *s, uintptr_t resume)
{
	__builtin_memcpy(tramp, nvs_tramp_begin, (size_t)(nvs_tramp_end - nvs_tramp_begin));
	put_address(tramp, nvs_tramp_site, (uintptr_t)s);
	put_address(tramp, nvs_tramp_function, (uintptr_t)nvs_fast_doorbell);
	__builtin_memcpy(tramp + (nvs_tramp_original - nvs_tramp_begin), s->bytes, s->length);
	put_address(tramp, nvs_tramp_back1, resume);
	put_address(tramp, nvs_tramp_back2, resume);
	s->original = (uintptr_t)(tramp + (nvs_tramp_original - nvs_tramp_begin));
}

/* Replaces the first two bytes of the store, in an order in which no core runs half of each. If a
 * write fails, the earlier ones are undone, the stop last; if that fails too, the stop stays. */
static bool write_store(long mem, const struct nvs_site *plan)
{
	const uint8_t stop = STOP, *old = plan->store_old, *new = plan->store_new;

	if (!write_code(mem, plan->store, &stop, 1))
		return false;
	if (sync_cores() && write_code(mem, plan->store + 1, new + 1, 1)) {
		if (sync_cores() && write_code(mem, plan->store, new, 1)) {
			sync_cores();
			return true;
		}
		if (!write_code(mem, plan->store + 1, old + 1, 1) || !sync_cores())
			return false;
	}
	write_code(mem, plan->store, old, 1);
	return false;
}

/* No thread can reach the hop and the cave yet. From WRITING on, the trampoline may run. */
static bool write_all(long mem, struct nvs_patch_site *s, const struct nvs_site *plan)
{
	if ((plan->hop && !write_code(mem, plan->hop, plan->hop_new, NVS_SITE_HOP)) ||
	    !write_code(mem, plan->cave, plan->cave_new, NVS_SITE_TAIL) || !sync_cores())
		return false;
	s->hop = plan->hop;
	s->trampoline = s->original & ~(uintptr_t)(PAGE - 1);
	atomic_store(&s->state, NVS_PATCH_WRITING);
	/* A thread that runs the stop must find this state; the kernel's store is not ordered after
	 * ours otherwise. */
	atomic_thread_fence(memory_order_seq_cst);
	return write_store(mem, plan);
}

/* Opens /proc/self/mem once, directly after may_patch(): the membarriers take time, in which the
 * program may enter a sandbox that kills it for opening a file. */
static enum nvs_site_refusal write_site(struct nvs_patch_site *s, const struct nvs_site *plan)
{
	bool done;
	long mem;

	if (nvs_writer_signal.may_patch && !nvs_writer_signal.may_patch())
		return NVS_SITE_NOT_YET;
	mem = nvs_sys4(SYS_open, "/proc/self/mem", O_WRONLY | O_CLOEXEC, 0, 0);
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

	if (!register_barrier())
		return NVS_SITE_NO_BARRIER;
	tramp = map_page_near(s->address);
	if (!tramp)
		return NVS_SITE_NO_NEAR;
	skip_hops(text);
	verdict = nvs_site_analyse(&plan, text, s->address, (uintptr_t)tramp);
	if (verdict != NVS_SITE_OK) {
		nvs_sys4(SYS_munmap, tramp, PAGE, 0, 0);
		return verdict == NVS_SITE_FAR ? NVS_SITE_NO_NEAR : NVS_SITE_SURROUNDINGS;
	}
	fill_trampoline(tramp, s, plan.resume);
	refusal = nvs_sys4(SYS_mprotect, tramp, PAGE, PROT_READ | PROT_EXEC, 0)
			  ? NVS_SITE_NO_WRITE
			  : write_site(s, &plan);
	if (refusal && !s->trampoline)
		nvs_sys4(SYS_munmap, tramp, PAGE, 0, 0);
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
		return now[0] == SHORT_JUMP;
	/* The stop could not be undone. */
	if (s->trampoline && now[0] == STOP)
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
