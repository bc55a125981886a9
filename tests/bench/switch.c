/* SPDX-License-Identifier: MIT */
/*
 * Switches recording off and on within one process, for benchmarks: build/bench/libnvsnoop.so is
 * the library with this file. When off, everything is as without the library: store sites have
 * their own bytes, the doorbell page is writable, GPFIFO and USERD are the program's own pages,
 * and an entry point is one jump away. What only a new process could undo stays: that jump, and
 * the hooks of libc, which no launch calls (nvs_bench_device_calls() makes device calls bypass
 * them).
 *
 * Call it only while the program is idle: nothing in flight on the GPU, no thread inside the
 * driver.
 */
#include <errno.h>
#include <sys/mman.h>
#include "preload/api/intercept/api.h"
#include "preload/rm/rm.h"
#include "preload/base/sys.h"
#include "trap/copy/batch.h"
#include "trap/copy/gpfifo_timing.h"
#include "trap/enter/patch.h"
#include "trap/buffer/process.h"
#include "trap/copy/shadow.h"

#define PAGE 4096u

/* 0, or a negative number where something could not be exchanged: the program is not to be measured
 * then. */
__attribute__((visibility("default"))) int nvs_bench_switch(int on);
/* The same for timing= alone: without it the program is still recorded. */
__attribute__((visibility("default"))) int nvs_bench_switch_timing(int on);
/* With it, whether device calls are looked at: what is made while they are not must be gone again
 * by the time they are. */
__attribute__((visibility("default"))) void nvs_bench_device_calls(int on);

/* ---- code ---- */

struct change {
	uintptr_t address;
	uint8_t ours[NVS_INSN_MAX], plain[NVS_INSN_MAX];
	size_t bytes;
};

static struct change sites[NVS_MAX_SITES], entry;
static int nsites;
static bool off;

/* Behind the thunks' own code (r11: number of the slot): the original, with nothing changed on the
 * way. */
extern const uint8_t nvs_bench_straight[] __attribute__((visibility("hidden")));
asm(".text\n"
    ".globl nvs_bench_straight\n"
    ".hidden nvs_bench_straight\n"
    "nvs_bench_straight:\n"
    "	leaq nvs_api_slots(%rip), %r10\n"
    "	shlq $5, %r11\n"
    "	jmp *(%r10,%r11)\n");
_Static_assert(sizeof(struct nvs_api_slot) == 32, "the shift above");

static int write_code(uintptr_t to, const uint8_t *bytes, size_t n)
{
	long fd = nvs_sys_open("/proc/self/mem", O_WRONLY | O_CLOEXEC, 0), done;

	if (fd < 0)
		return (int)fd;
	done = nvs_syscall(SYS_pwrite64, fd, (long)bytes, (long)n, (long)to, 0, 0);
	nvs_sys_close((int)fd);
	return done == (long)n ? 0 : -EIO;
}

static void note_sites(void)
{
	const struct nvs_patch_site *s = nvs_patch_sites();

	nsites = 0;
	for (int i = 0; i < NVS_MAX_SITES; i++, s++) {
		if (atomic_load(&s->state) != NVS_PATCH_DONE)
			continue;
		sites[nsites].address = s->address;
		sites[nsites].bytes = s->length;
		__builtin_memcpy(sites[nsites].plain, s->bytes, s->length);
		__builtin_memcpy(sites[nsites].ours, (const void *)s->address, s->length);
		nsites++;
	}
}

static void note_entry(void)
{
	int32_t distance;

	if (entry.bytes)
		return;
	entry.address = (uintptr_t)nvs_api_thunks + sizeof(nvs_api_thunks);
	entry.bytes = 5;
	distance = (int32_t)((uintptr_t)nvs_bench_straight - (entry.address + 5));
	__builtin_memcpy(entry.ours, (const void *)entry.address, 5);
	entry.plain[0] = 0xe9;
	__builtin_memcpy(entry.plain + 1, &distance, 4);
}

static int switch_code(int on)
{
	int err;

	if (!on) {
		note_sites();
		note_entry();
	}
	err = write_code(entry.address, on ? entry.ours : entry.plain, entry.bytes);
	for (int i = 0; i < nsites && !err; i++)
		err = write_code(sites[i].address, on ? sites[i].ours : sites[i].plain,
				 sites[i].bytes);
	return err;
}

/* ---- pages ---- */

static int switch_doorbells(int on)
{
	struct nvs_rm *rm = nvs_rm();

	for (uint32_t i = 0; i < rm->cpu.n; i++) {
		struct nvs_cpu_map *m = (struct nvs_cpu_map *)rm->cpu.at[i];

		if (nvs_map_is_doorbell(m) && m->armed &&
		    nvs_next()->mprotect((void *)m->at.start, m->at.end - m->at.start,
					 on ? nvs_doorbell_prot(m->prot) : m->prot))
			return -errno;
	}
	return 0;
}

/* The program's own pages come back; their place in the stash is kept. */
static int piece_off(const struct nvs_shadow_piece *p)
{
	if (nvs_next()->mremap((void *)p->stash, p->bytes, p->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			       (void *)p->program) == MAP_FAILED ||
	    nvs_next()->mmap((void *)p->stash, p->bytes, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			     0) == MAP_FAILED)
		return -errno;
	return 0;
}

/* USERD: where the program sees it, if it lies in this piece; else 0. */
static int piece_on(const struct nvs_shadow_piece *p, uintptr_t userd)
{
	static const uint32_t kept[] = {NVS_USERD_REFERENCE, NVS_USERD_GP_GET, NVS_USERD_GP_PUT};
	uint32_t *fresh = nvs_next()->mmap(NULL, p->bytes, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fresh == MAP_FAILED)
		return -errno;
	/* Nobody reads entries back, and a read costs a way over PCIe: USERD's three words are all
	 * that counts. */
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept) && userd; i++)
		fresh[userd % PAGE / 4 + kept[i]] = ((const volatile uint32_t *)userd)[kept[i]];
	if (nvs_next()->mremap((void *)p->program, p->bytes, p->bytes,
			       MREMAP_MAYMOVE | MREMAP_FIXED, (void *)p->stash) == MAP_FAILED ||
	    nvs_next()->mremap(fresh, p->bytes, p->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			       (void *)p->program) == MAP_FAILED)
		return -errno;
	return 0;
}

/* What was submitted meanwhile becomes a gap by choice, so that the chain of PUTs stays whole. */
static void catch_up(struct nvs_channel_entry *c)
{
	struct nvs_spool_channel *state = c->slot;
	uint32_t old_put = (uint32_t)(state->claim & NVS_PUT_MASK), put = *c->put;

	if (put == old_put)
		return;
	if (!state->lost) {
		state->lost_from = state->claim >> NVS_PUT_BITS;
		state->lost_put = old_put;
		state->lost_reason = NVS_GAP_CHOICE;
	}
	state->lost++;
	state->claim = ((state->claim >> NVS_PUT_BITS) + 1) << NVS_PUT_BITS | put;
	if (c->shadow)
		atomic_store(&c->shadow->carried, state->claim);
}

static int switch_channels(int on)
{
	struct nvs_channel_entry *c;
	int err = 0;

	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (!c->put || !c->slot || err)
			continue;
		for (int i = 0; i < 2 && c->shadow && !err; i++) {
			const struct nvs_shadow_piece *p = &c->shadow->pieces[i];
			uintptr_t userd = (uintptr_t)c->put - 4 * NVS_USERD_GP_PUT;

			if (p->bytes)
				err = on ? piece_on(p, userd - p->program < p->bytes ? userd : 0)
					 : piece_off(p);
		}
		/* Its pages are not looked at meanwhile. */
		c->hidden = !on;
		if (on)
			catch_up(c);
	}
	nvs_rm()->dirty = true;
	return err;
}

void nvs_bench_device_calls(int on)
{
	((struct nvs_options *)nvs_options())->disabled = !on;
}

int nvs_bench_switch(int on)
{
	sigset_t saved;
	int err = 0;

	if (!nvs_session_is_active() || off == !on)
		return 0;
	nvs_lock(&saved);
	/* From the inside out, and back: no store is to meet a page that is half exchanged. */
	if (on) {
		err = switch_channels(1);
		nvs_publish_view();
	}
	if (!err)
		err = switch_doorbells(on);
	if (!err)
		err = switch_code(on);
	if (!on && !err) {
		err = switch_channels(0);
		nvs_publish_view();
	}
	off = !on;
	nvs_unlock(&saved);
	return err;
}

/* ---- timing ---- */

static struct nvs_gpfifo_timing *set_aside[4096]; /* by channel number */

static int timing_off(struct nvs_channel_entry *c)
{
	struct nvs_gpfifo_timing *t = c->shadow->timing;

	/* The times of the last submissions arrive a moment after the program has waited for it. */
	for (int i = 0; i < 10000; i++) {
		if (nvs_timing_end_channel(c)) {
			c->shadow->timing = NULL;
			set_aside[c->number] = t;
			return 0;
		}
	}
	return -EBUSY;
}

static void timing_on(struct nvs_channel_entry *c)
{
	struct nvs_gpfifo_timing *t = set_aside[c->number];

	set_aside[c->number] = NULL;
	t->from = (uint32_t)(atomic_load(&c->shadow->carried) & NVS_PUT_MASK);
	c->shadow->timing = t;
	nvs_timing_add_memory(c);
}

int nvs_bench_switch_timing(int on)
{
	static bool timing_is_off;
	struct nvs_channel_entry *c;
	sigset_t saved;
	int err = 0;

	if (!nvs_session_is_active() || timing_is_off == !on)
		return 0;
	nvs_lock(&saved);
	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (c->number >= sizeof(set_aside) / sizeof(*set_aside))
			err = -ERANGE;
		else if (on && set_aside[c->number])
			timing_on(c);
		else if (!on && c->shadow && c->shadow->timing && !err)
			err = timing_off(c);
	}
	timing_is_off = !on;
	nvs_unlock(&saved);
	return err;
}
