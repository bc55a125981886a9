/* SPDX-License-Identifier: MIT */
/*
 * Shadows: ordinary memory replaces a channel's GPFIFO and USERD pages in the program, so that a
 * trap reads no device memory over PCIe. trap/copy/shadow.h has the requirements. When the program
 * maps the memory object, it is mapped two more times, while its fd is open: entries and GP_PUT
 * reach the GPU through REAL; the pages of SPARE return to the program when the channel is freed.
 * Both exchanges are one mremap, so there is never a hole for another mapping to land in.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "preload/rm/rm.h"
#include "preload/base/outfile.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"
#include "trap/copy/shadow.h"
#include "trap/copy/gpfifo_timing.h"

/* Objects that hold rings are small; larger ones get no extra mappings. */
#define LARGEST (64ull << 20)
#define LOOK_EVERY 10 /* refreshes of an idle channel */
#define UNDO_TRIES 20 /* 1 ms */
#define UNDO_NAP_NS 50000
#define UNRUNG_ROUNDS 20 /* 2 s */
#define PREPARE_TRIES 20000 /* 1 s: GPU and program may be waiting for each other */
#define POWER_FOLDER "/proc/driver/nvidia/gpus"

/* ---- run-time power management: the driver cannot fault a split mapping in again ---- */

static bool is_power_managed(const char *folder, void *arg)
{
	static const char field[] = "Runtime D3 status:";
	char path[256], text[1024], *at;

	if (folder[0] == '.')
		return false;
	if (strlen(folder) > 64)
		return true;
	strcpy(path, POWER_FOLDER "/");
	strcat(path, folder);
	strcat(path, "/power");
	if (!nvs_sys_read_file(path, text, sizeof(text)))
		return false;
	at = strstr(text, field);
	if (!at)
		return false;
	at += sizeof(field) - 1;
	return !strncmp(at + strspn(at, " \t"), "Enabled", 7);
}

/* Reads driver files, which may wait for a GPU. */
void nvs_shadow_query_power(void)
{
	struct nvs_rm *rm = *nvs_slot(NVS_SLOT_RM);

	if (!rm || rm->power_asked || !nvs_options()->values.shadow)
		return;
	/* Without the folder no GPU suspends: the driver is too old for it. */
	rm->may_suspend = nvs_folder_search(POWER_FOLDER, is_power_managed, NULL);
	atomic_store(&rm->power_asked, true);
}

static bool is_wanted(void)
{
	return nvs_options()->values.shadow && nvs_rm()->power_asked && !nvs_rm()->may_suspend;
}

/* ---- the two extra mappings ---- */

static uintptr_t map_again(size_t size, int fd)
{
	void *p = nvs_next()->mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return 0;
	madvise(p, size, MADV_DONTFORK);
	return (uintptr_t)p;
}

bool nvs_shadow_is_possible(const struct nvs_cpu_map *m, int fd)
{
	return m->kind == NVS_MAP_MEMORY && m->object_class == NV01_MEMORY_LOCAL_USER &&
	       m->at.end - m->at.start <= LARGEST && nvs_fd_kind(fd) == NVS_FD_GPU &&
	       (m->prot & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE) && is_wanted();
}

void nvs_shadow_map_extra(size_t size, int fd, struct nvs_extra_maps *more)
{
	more->real = map_again(size, fd);
	more->spare = more->real ? map_again(size, fd) : 0;
}

/* ---- holes: pages of SPARE that went back to the program ---- */

/* Addresses in SPARE that are unmapped, and may belong to the program by now. */
struct nvs_stash_hole {
	uintptr_t start;
	size_t bytes;
	bool reserved; /* by a mapping of the library */
	struct nvs_stash_hole *next;
};

static bool is_hole(uintptr_t start, size_t bytes)
{
	for (const struct nvs_stash_hole *h = nvs_rm()->holes; h; h = h->next)
		if (start < h->start + h->bytes && h->start < start + bytes)
			return true;
	return false;
}

/* Without memory for the hole, the mapping must never be shadowed or unmapped again. */
static void remember_holes(const struct nvs_shadow *sh)
{
	for (int i = 0; i < 2; i++) {
		const struct nvs_shadow_piece *p = &sh->pieces[i];
		struct nvs_stash_hole *h = p->home ? nvs_alloc(sizeof(*h)) : NULL;

		if (h) {
			*h = (struct nvs_stash_hole){p->stash, p->bytes, p->reserved,
						     nvs_rm()->holes};
			nvs_rm()->holes = h;
			continue;
		}
		for (uint32_t k = 0; p->home && k < nvs_rm()->cpu.n; k++) {
			struct nvs_cpu_map *m = (struct nvs_cpu_map *)nvs_rm()->cpu.at[k];

			if (m->spare && p->stash - m->spare < m->at.end - m->at.start)
				m->spare = 0;
		}
	}
}

/* Unmaps [start, end) except for addresses that are no longer ours. */
static void unmap_spare(uintptr_t start, uintptr_t end)
{
	struct nvs_stash_hole **at = &nvs_rm()->holes;

	while (*at) {
		struct nvs_stash_hole *h = *at;

		if (h->start < start || h->start >= end) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		if (!h->reserved) {
			unmap_spare(start, h->start);
			unmap_spare(h->start + h->bytes, end);
			nvs_free(h, sizeof(*h));
			return;
		}
		nvs_free(h, sizeof(*h));
	}
	if (start < end)
		nvs_rm_unmap(start, end - start);
}

/* Queues the shadow to be freed when no trap can use it. */
static void retire_shadow(struct nvs_channel_entry *c)
{
	remember_holes(c->shadow);
	c->shadow->next = nvs_rm()->retired;
	nvs_rm()->retired = c->shadow;
	c->shadow = NULL;
}

void nvs_shadow_free_retired(void)
{
	struct nvs_shadow *sh;

	while ((sh = nvs_rm()->retired)) {
		nvs_rm()->retired = sh->next;
		nvs_bracket_times_free(sh);
		nvs_free(sh, sizeof(*sh));
	}
}

void nvs_shadow_drop_maps(struct nvs_cpu_map *m)
{
	size_t size = m->at.end - m->at.start;
	struct nvs_channel_entry *c;

	/* A shadow that could not be given back earlier. */
	DL_FOREACH(nvs_rm()->channels, c)
	if (c->shadow && m->real && (uintptr_t)c->shadow->userd - m->real < size) {
		atomic_store(&c->shadow->carried, NVS_SHADOW_GONE);
		nvs_timing_drop(c);
		retire_shadow(c);
	}
	if (m->real && !nvs_rm()->stale) /* otherwise an interrupted trap may still write there */
		nvs_rm_unmap(m->real, size);
	if (m->spare)
		unmap_spare(m->spare, m->spare + size);
}

/* ---- ending a shadow ---- */

static bool ranges_overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	return a < b_end && b < a_end;
}

void nvs_shadow_drop(struct nvs_channel_entry *c)
{
	if (!c->shadow)
		return;
	nvs_timing_drop(c);
	nvs_shadow_remove(c->shadow, true);
	retire_shadow(c);
}

/* Avoids the time between a thread's GP_PUT and its doorbell, unless that lasts too long. */
static int undo_shadow(struct nvs_channel_entry *c, bool now)
{
	for (int i = 0; i < UNDO_TRIES; i++) {
		int err = nvs_shadow_remove(c->shadow, false);

		if (err != -EAGAIN)
			return err;
		nvs_sleep(UNDO_NAP_NS);
	}
	if (!now && c->shadow_unrung++ < UNRUNG_ROUNDS)
		return -EAGAIN;
	return nvs_shadow_remove(c->shadow, true);
}

/* True if doorbells rang, or may have rung, for more than CARRIED. */
static bool rung_beyond(const struct nvs_gpfifo_timing *t, uint64_t carried)
{
	return t && (atomic_load((_Atomic uint32_t *)&t->unseen) ||
		     atomic_load((_Atomic uint64_t *)&t->ready) > carried);
}

/* Gives the pages back to the program; the caller must publish. Never waits for a GPU: returns
 * false if the channel keeps its shadow for now. */
static bool restore_pages(struct nvs_channel_entry *c, bool now)
{
	struct nvs_gpfifo_timing *timing = c->shadow->timing;
	uint64_t carried;

	c->shadow_late = true;
	if (!nvs_timing_end_channel(c))
		return false;
	carried = atomic_load(&c->shadow->carried);
	if (undo_shadow(c, now))
		return false;
	c->shadow_late = false;
	/* The last entries came back with the pages: ring for those that were rung for. GP_PUT must
	 * not be stored again: a doorbell in progress may still be copying. */
	if (rung_beyond(timing, carried))
		nvs_timing_ring(c);
	retire_shadow(c);
	c->flags &= ~NVS_CHAN_SHADOW;
	nvs_rm()->dirty = true;
	nvs_record_channel(c);
	return true;
}

void nvs_shadow_end(struct nvs_channel_entry *c)
{
	if (c->shadow && !c->hidden)
		restore_pages(c, true);
}

static bool has_page_in(const struct nvs_shadow *sh, uint64_t start, uint64_t end)
{
	for (int i = 0; i < 2; i++)
		if (ranges_overlap(sh->pieces[i].program,
				   sh->pieces[i].program + sh->pieces[i].bytes, start, end))
			return true;
	return false;
}

void nvs_shadow_clear(uint64_t start, uint64_t end)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	{
		if (!c->shadow || !has_page_in(c->shadow, start, end))
			continue;
		c->shadow_due = c->hidden && !c->final_put_read;
		if (!c->shadow_due)
			restore_pages(c, true);
	}
}

/* The channel's pages are going away: entries that have not reached the GPU by now are lost. */
static void cut_off(struct nvs_channel_entry *c)
{
	atomic_store(&c->shadow->carried, NVS_SHADOW_GONE);
	nvs_timing_drop(c);
	retire_shadow(c);
	c->shadow_late = false;
	c->flags &= ~NVS_CHAN_SHADOW;
	nvs_rm()->dirty = true;
	nvs_record_channel(c);
}

void nvs_shadow_cut_off(uint64_t start, uint64_t end)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	if (c->shadow && !c->hidden && c->shadow_late && has_page_in(c->shadow, start, end))
		cut_off(c);
}

void nvs_shadow_clear_due(struct nvs_channel_entry *c)
{
	if (c->shadow && c->shadow_due && !restore_pages(c, true))
		cut_off(c);
	c->shadow_due = false;
}

/* Returns true while the GPU is not far enough to give back the shadows in [START, END). */
static bool step_towards(uint64_t start, uint64_t end)
{
	struct nvs_channel_entry *c;
	bool busy = false;

	NVS_LOCK_SCOPE();
	DL_FOREACH(nvs_rm()->channels, c)
	if (c->shadow && c->shadow->timing && !c->hidden && has_page_in(c->shadow, start, end))
		busy |= !nvs_timing_step(c);
	return busy;
}

void nvs_shadow_prepare(uint64_t start, uint64_t end)
{
	if (!nvs_options()->values.timing || nvs_state_is_borrowed())
		return;
	for (int i = 0; i < PREPARE_TRIES && step_towards(start, end); i++)
		nvs_sleep(UNDO_NAP_NS);
}

/* ---- creating a shadow ---- */

static struct nvs_cpu_map *find_map(uint64_t start, uint64_t end)
{
	struct nvs_cpu_map *m;

	NVS_SPANS_EACH(&nvs_rm()->cpu, m, start, start + 1)
	{
		return m->at.end >= end && m->real && m->spare && !m->entity->cpu->next &&
				       !m->hidden
			       ? m
			       : NULL;
	}
	return NULL;
}

/* True if another channel has its ring or USERD in the pages [start, end). */
static bool has_other_channel(const struct nvs_channel_entry *mine, uint64_t start, uint64_t end)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	{
		uint64_t ring = (uintptr_t)c->ring, put = (uintptr_t)c->put;

		if (c == mine)
			continue;
		if ((ring && ranges_overlap(ring, ring + c->entries * 8ull, start, end)) ||
		    (put && ranges_overlap(nvs_page_of(put), nvs_page_of(put) + nvs_page_bytes(),
					   start, end)))
			return true;
	}
	return false;
}

/* True if the page contains nothing but this channel's USERD. */
static bool only_userd(const uint8_t *page, size_t userd)
{
	return nvs_all_zero(page, userd) &&
	       nvs_all_zero(page + userd + NVS_USERD_BYTES,
			    nvs_page_bytes() - userd - NVS_USERD_BYTES);
}

/* Replaces [start, start + bytes) by ordinary memory with the same contents. */
static bool replace_pages(struct nvs_cpu_map *m, uint64_t start, size_t bytes, size_t userd,
			  struct nvs_shadow_piece *piece)
{
	uint64_t off = start - m->at.start;
	void *fresh;

	if (is_hole(m->spare + off, bytes))
		return false;
	fresh = nvs_next()->mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

	if (fresh == MAP_FAILED)
		return false;
	nvs_copy_device(fresh, m->real + off, bytes);
	if ((userd < nvs_page_bytes() && !only_userd(fresh, userd)) ||
	    nvs_next()->mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) ==
		    MAP_FAILED) {
		nvs_next()->munmap(fresh, bytes);
		return false;
	}
	*piece = (struct nvs_shadow_piece){
		.program = start, .stash = m->spare + off, .bytes = bytes};
	return true;
}

/* Called before the channel's first submission, when the rings and USERDs of all channels are
 * known. A channel without a shadow is captured as well. */
void nvs_shadow_create(struct nvs_channel_entry *c)
{
	uint64_t ring = (uintptr_t)c->ring, bytes = c->entries * 8ull;
	uint64_t userd = (uintptr_t)c->put - 4 * NVS_USERD_GP_PUT, page = nvs_page_of(userd);
	uint64_t page_end = page + nvs_page_bytes();
	struct nvs_cpu_map *m = find_map(ring, ring + bytes);
	struct nvs_shadow *sh;

	if (c->shadow_tried || !c->slot || !is_wanted())
		return;
	c->shadow_tried = true;
	if (!m || find_map(page, page_end) != m || nvs_page_offset(ring) ||
	    nvs_page_offset(bytes) || c->slot->claim || userd + NVS_USERD_BYTES > page_end ||
	    ranges_overlap(ring, ring + bytes, page, page_end) ||
	    has_other_channel(c, ring, ring + bytes) || has_other_channel(c, page, page_end))
		return;
	sh = nvs_alloc(sizeof(*sh));
	if (!sh)
		return;
	sh->gpfifo = (volatile uint64_t *)(m->real + (ring - m->at.start));
	sh->userd = (volatile uint32_t *)(m->real + (userd - m->at.start));
	if (!replace_pages(m, page, nvs_page_bytes(), userd - page, &sh->pieces[1]) ||
	    !replace_pages(m, ring, bytes, nvs_page_bytes(), &sh->pieces[0])) {
		nvs_shadow_remove(sh, true);
		remember_holes(sh);
		nvs_free(sh, sizeof(*sh));
		return;
	}
	nvs_timing_begin(c, sh);
	atomic_store(&sh->carried, atomic_load((_Atomic uint64_t *)&c->slot->claim));
	c->shadow = sh;
	nvs_timing_add_memory(c);
	c->flags |= NVS_CHAN_SHADOW;
	nvs_record_channel(c);
}

/* ---- while the shadow is in use ---- */

/*
 * True if something else has appeared in the USERD page. The program's writes are always checked.
 * The GPU's cost reads over PCIe, so they are checked only while the channel is idle and the
 * program may be waiting for them.
 */
static bool has_foreign_data(struct nvs_channel_entry *c)
{
	static uint8_t page[NVS_PAGE_MAX] __attribute__((aligned(16)));
	size_t userd = nvs_page_offset((uintptr_t)c->shadow->userd);

	if (!only_userd((const uint8_t *)c->shadow->pieces[1].program, userd))
		return true;
	if (c->shadow_idle % LOOK_EVERY != 1)
		return false;
	nvs_copy_device(page, (uintptr_t)c->shadow->userd - userd, nvs_page_bytes());
	return !only_userd(page, userd);
}

static void show_get(struct nvs_channel_entry *c, volatile uint32_t *seen)
{
	uint32_t get;

	if (!c->shadow->timing)
		seen[NVS_USERD_GP_GET] = c->shadow->userd[NVS_USERD_GP_GET];
	else if (nvs_gpfifo_translate_get(c->shadow, &get))
		seen[NVS_USERD_GP_GET] = get;
}

void nvs_shadow_copy_userd(void)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(nvs_rm()->channels, c)
	{
		volatile uint32_t *seen;

		if (!c->shadow || c->hidden || !c->put)
			continue;
		/* A trap that opened the doorbell page ended the shadow: the program sees the real
		 * pages again. */
		if (atomic_load(&c->shadow->carried) == NVS_SHADOW_GONE) {
			restore_pages(c, false);
			continue;
		}
		seen = (volatile uint32_t *)((uintptr_t)c->put - 4 * NVS_USERD_GP_PUT);
		c->shadow_idle = c->slot->claim == c->shadow_claim ? c->shadow_idle + 1 : 0;
		c->shadow_claim = c->slot->claim;
		/* A channel whose ring is full makes no claim until GP_GET advances. */
		if (!c->shadow_idle || seen[NVS_USERD_GP_GET] != *c->put) {
			show_get(c, seen);
			seen[NVS_USERD_REFERENCE] = c->shadow->userd[NVS_USERD_REFERENCE];
		}
		/* Tried ten times a second, without waiting. A shadow is useless if doorbells are
		 * not seen. */
		if (c->shadow_late ||
		    (c->shadow->timing && atomic_load(&c->shadow->timing->unseen)) ||
		    has_foreign_data(c))
			restore_pages(c, false);
	}
}
