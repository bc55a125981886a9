/* SPDX-License-Identifier: MIT */
/*
 * Call sites: gets the stack's addresses from the unwinder and reduces them to a number that is the
 * same for equal stacks.
 *
 * The unwinder is external (libunwind's unw_backtrace, or glibc's). Inside the trap it asks the
 * process only for the list of loaded objects, and nvs_modules_iterate() answers that: the loader's
 * lock may be held by a thread that waits for this one.
 */
#include <link.h>
#include <dlfcn.h>
#include "trap/arch/context.h"
#include "trap/stack/stackcache.h"
#include "trap/buffer/process.h"
#include "trap/low/guard.h"
#include "trap/low/poison.h"

#define MAX_FRAMES 256
#define OWN_FRAMES 16 /* frames of the trap and of the signal, below the interrupted one */
/* maximum number of modules loaded since the last snapshot, found while unwinding */
#define MAX_EXTRA 4

static nvs_backtrace_fn unwinder;
static bool unwinder_may_fault;

/* glibc 2.35 and later: finds the object at an address without a lock. Layout: <dlfcn.h>. */
struct find_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};
static int (*find_object)(void *, struct find_object *);

static __thread struct dl_phdr_info extra_modules[MAX_EXTRA];

void nvs_callsite_set(nvs_backtrace_fn fn, bool may_fault)
{
	void *symbol = dlsym(RTLD_DEFAULT, "_dl_find_object");

	__builtin_memcpy(&find_object, &symbol, sizeof(find_object));
	unwinder = fn;
	unwinder_may_fault = may_fault;
}

/* An unwinder that faults has returned the frames before. */
static int call_unwinder(void **pcs, int max)
{
	int n;

	if (!unwinder_may_fault)
		return unwinder(pcs, max);
	for (n = 0; n < max; n++)
		pcs[n] = NULL;
	n = nvs_unwind_guarded(unwinder, pcs, max, &nvs_tls.unwinding);
	if (n >= 0)
		return n;
	for (n = 0; n < max && pcs[n]; n++)
		;
	return n;
}

static bool module_covers(const struct dl_phdr_info *m, uintptr_t pc)
{
	for (int i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &m->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && pc - m->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

static bool known_module(const struct nvs_module_view *view, uintptr_t pc)
{
	for (uint32_t i = 0; view && i < view->nmodules; i++)
		if (module_covers(&view->modules[i], pc))
			return true;
	for (uint32_t i = 0; i < nvs_tls.extra_modules; i++)
		if (module_covers(&extra_modules[i], pc))
			return true;
	return false;
}

/* Adds the module at PC, which was loaded after the snapshot. Returns true if it was found:
 * unwinding again may then get further. */
static bool add_module(uintptr_t pc)
{
	struct find_object found;
	struct dl_phdr_info *m = &extra_modules[nvs_tls.extra_modules];
	const ElfW(Ehdr) * head;

	if (!find_object || nvs_tls.extra_modules == MAX_EXTRA || find_object((void *)pc, &found))
		return false;
	head = found.map_start;
	*m = (struct dl_phdr_info){
		.dlpi_addr = found.link_map->l_addr,
		.dlpi_name = found.link_map->l_name,
		.dlpi_phdr = (const void *)((uintptr_t)head + head->e_phoff),
		.dlpi_phnum = head->e_phnum,
	};
	nvs_tls.extra_modules++;
	return true;
}

int nvs_modules_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	const struct nvs_module_view *view = atomic_load(&nvs_process->modules);
	struct dl_phdr_info info;
	int ret = 0;

	for (uint32_t i = 0; view && i < view->nmodules && !ret; i++) {
		info = view->modules[i];
		info.dlpi_adds = view->adds;
		info.dlpi_subs = view->subs;
		ret = callback(&info, sizeof(info), data);
	}
	for (uint32_t i = 0; i < nvs_tls.extra_modules && !ret; i++) {
		info = extra_modules[i];
		info.dlpi_adds = view ? view->adds + 1 : 1;
		info.dlpi_subs = view ? view->subs : 0;
		ret = callback(&info, sizeof(info), data);
	}
	return ret;
}

void nvs_callsite_warm(void)
{
	void *pcs[4];

	if (!unwinder || !nvs_trap_is_started() || !nvs_takes_stacks())
		return;
	/* As in the trap, so that this does not take the loader's lock either. */
	nvs_tls.depth++;
	atomic_fetch_add(&nvs_process->warming, 1);
	call_unwinder(pcs, 4);
	atomic_fetch_sub(&nvs_process->warming, 1);
	nvs_tls.depth--;
}

void nvs_callsite_disable(void)
{
	nvs_tls.stackless = true;
}

static uint64_t mix_hash(uint64_t h, uint64_t x, uint64_t k)
{
	h = (h ^ x) * k;
	return h ^ h >> 29;
}

/* The place from which a stack is taken: SP, FP and LR are those at PC. Small, as everything that
 * is on the stack while it is unwound: that may be the smallest that there is. */
struct where {
	uintptr_t pc, sp, fp, lr;
};

/*
 * Takes the addresses and drops the frames of the trap: all frames below the interrupted
 * instruction. CALLED: PC is the start of a function that was called and has returned; then all
 * frames below its caller, because PC is no longer on the stack.
 */
static uint32_t unwind_stack(void **pcs, const struct where *w, bool called, void ***first)
{
	uintptr_t wanted = called ? nvs_return_address(w->sp, w->lr) : w->pc;
	const struct nvs_module_view *view = atomic_load(&nvs_process->modules);
	int n = nvs_tls.stackless ? 0 : call_unwinder(pcs, MAX_FRAMES);

	while (n > 0 && n < MAX_FRAMES && !known_module(view, (uintptr_t)pcs[n - 1]) &&
	       add_module((uintptr_t)pcs[n - 1]))
		n = call_unwinder(pcs, MAX_FRAMES);
	for (int i = 0; i < n; i++)
		pcs[i] = (void *)nvs_strip_return((uintptr_t)pcs[i]);
	for (int i = 0; i < n && i < OWN_FRAMES; i++) {
		if ((uintptr_t)pcs[i] != wanted || (called && !i))
			continue;
		i -= called ? 1 : 0;
		pcs[i] = (void *)w->pc;
		*first = pcs + i;
		return (uint32_t)(n - i);
	}
	pcs[0] = (void *)w->pc;
	*first = pcs;
	return 1;
}

static bool record_stack(struct nvs_buffer *buffer, uint32_t id, void **pcs, uint32_t n,
			 uint64_t time)
{
	uint32_t size = (uint32_t)sizeof(struct nvs_rec_stack) + n * 8;
	struct nvs_rec_stack *rec = nvs_buffer_reserve(buffer, size, true);

	if (!rec)
		return false;
	rec->rec = (struct nvs_rec){.type = NVS_REC_STACK, .size = size, .time = time};
	rec->stack = id;
	rec->nframes = n;
	for (uint32_t i = 0; i < n; i++)
		rec->pc[i] = (uint64_t)(uintptr_t)pcs[i];
	nvs_buffer_commit(buffer, size);
	return true;
}

/*
 * Finds the slot of a stack by 128 bits of hash: two different stacks share one with a probability
 * of 2^-128. Returns NULL if the table is nearly full; the stack then gets a new number, and
 * nothing is lost.
 */
static struct nvs_stack_slot *find_slot(uint64_t key, uint64_t check)
{
	for (uint32_t probe = 0; probe < 64; probe++) {
		struct nvs_stack_slot *slot =
			&nvs_process->stacks[(key + probe) & (NVS_STACK_SLOTS - 1)];
		uint64_t have = atomic_load_explicit(&slot->key, memory_order_acquire);

		if (!have && atomic_compare_exchange_strong(&slot->key, &have, key)) {
			atomic_store_explicit(&slot->check, check, memory_order_release);
			return slot;
		}
		if (have == key &&
		    atomic_load_explicit(&slot->check, memory_order_acquire) == check)
			return slot;
	}
	return NULL;
}

/* Returns false if the stack could not be recorded. */
static bool number_of(struct nvs_buffer *buffer, void **pcs, uint32_t n, uint64_t time,
		      uint32_t *id)
{
	uint64_t key, check;
	struct nvs_stack_slot *slot;

	key = atomic_load_explicit(&nvs_process->unload_count, memory_order_relaxed) + n;
	check = ~key;
	for (uint32_t i = 0; i < n; i++) {
		key = mix_hash(key, (uintptr_t)pcs[i], 0x9e3779b97f4a7c15ull);
		check = mix_hash(check, (uintptr_t)pcs[i], 0xc2b2ae3d27d4eb4full);
	}
	slot = find_slot(key | 1, check);
	*id = slot ? atomic_load_explicit(&slot->id, memory_order_acquire) : 0;
	if ((*id)--)
		return true;
	/* Without a place in the table it would get another number each time. A process without a
	 * trace may run for weeks. */
	if (!slot && nvs_level() == NVS_LEVEL_NONE)
		return false;
	/* Two threads that meet the same new stack at the same time both record it: harmless, and
	 * neither waits. */
	*id = atomic_fetch_add(&nvs_process->next_stack, 1);
	if (!record_stack(buffer, *id, pcs, n, time))
		return false;
	if (slot)
		atomic_store_explicit(&slot->id, *id + 1, memory_order_release);
	return true;
}

uint32_t nvs_callsite_number(struct nvs_buffer *buffer, void **pcs, uint32_t n, uint64_t time)
{
	uint32_t id;

	return number_of(buffer, pcs, n, time, &id) ? id : NVS_NONE;
}

static uint32_t take_stack(struct nvs_buffer *buffer, const struct where *w, uint64_t time,
			   bool called)
{
	void *pcs[MAX_FRAMES], **first;
	uint32_t n, id;
	bool told;

	if (!nvs_takes_stacks())
		return NVS_NONE;
	id = nvs_stackcache_match(buffer, w->pc, w->sp, w->fp, w->lr);
	if (id != NVS_NONE)
		return id;
	nvs_tls.extra_modules = 0;
	if (unwinder) {
		n = unwind_stack(pcs, w, called, &first);
	} else {
		pcs[0] = (void *)w->pc;
		first = pcs;
		n = 1;
	}
	nvs_tls.nframes = 0;
	for (uint32_t i = 1; i < n && i <= NVS_LIVE_FRAMES; i++)
		nvs_tls.frames[nvs_tls.nframes++] = (uintptr_t)first[i];
	told = number_of(buffer, first, n, time, &id);
	nvs_tls.unwound = id;
	if (!told)
		return NVS_NONE;
	nvs_stackcache_add(buffer, w->pc, w->sp, w->fp, w->lr, first, n, id);
	return id;
}

uint32_t nvs_callsite_take(struct nvs_buffer *buffer, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			   uintptr_t lr, uint64_t time)
{
	const struct where w = {pc, sp, fp, lr};

	return take_stack(buffer, &w, time, false);
}

uint32_t nvs_callsite_take_call(struct nvs_buffer *buffer, uintptr_t entry, uintptr_t sp,
				uintptr_t fp, uintptr_t lr, uint64_t time)
{
	const struct where w = {entry, sp, fp, lr};

	return take_stack(buffer, &w, time, true);
}
