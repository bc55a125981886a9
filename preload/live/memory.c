/* SPDX-License-Identifier: MIT */
/* Tracks live memory on the GPU. Allocations made while the lock cannot be taken count as
 * untracked. */
#include <string.h>
#include "preload/live/memory.h"

#define BITS 18 /* more than twice the maximum of rows and mappings */
#define SITE_BUCKETS (4 * NVS_LIVE_SITE_COUNT)
#define MAX_MAPPED 65536u

struct allocation_entry {
	uint64_t key; /* 0: free */
	uint32_t row;
	uint32_t pages; /* of a mapping: its size in units of MAP_PAGE */
};
#define MAP_PAGE 4096u

/* The part of a row of ALLOCS that is not in the page. */
struct detail {
	uint64_t key, context;
	uint32_t handles, maps; /* references that keep it alive */
	bool leaving; /* a free of it is in progress */
};

struct nvs_live_memory_state {
	_Atomic uint32_t lock; /* thread that holds it */
	uint32_t mapped, nfree;
	uint64_t serial;
	struct allocation_entry entries[1u << BITS];
	struct detail details[NVS_LIVE_ALLOC_ROWS];
	uint32_t free[NVS_LIVE_ALLOC_ROWS];
	uint16_t sites[SITE_BUCKETS];
};

static struct nvs_live_memory_state *lock_ledger(struct nvs_live_page *p)
{
	return nvs_live_lock_at((void **)&p->ledger, sizeof(struct nvs_live_memory_state));
}

/* ---- entries ---- */

static uint64_t key_of(enum nvs_live_space space, uint64_t value)
{
	return (value & ~(7ull << 61)) | (uint64_t)space << 61;
}

static struct allocation_entry *find_entry(struct nvs_live_memory_state *l, uint64_t key)
{
	struct allocation_entry *e = nvs_hash_find(l->entries, sizeof(*e), BITS, key);

	return e->key ? e : NULL;
}

static struct allocation_entry *put_entry(struct nvs_live_memory_state *l, uint64_t key,
					  uint32_t row)
{
	struct allocation_entry *e = nvs_hash_find(l->entries, sizeof(*e), BITS, key);

	*e = (struct allocation_entry){key, row, 0};
	return e;
}

static void remove_entry(struct nvs_live_memory_state *l, struct allocation_entry *e)
{
	nvs_hash_remove(l->entries, sizeof(*e), BITS, e);
}

/* ---- figures: written under the lock, read without it ---- */

static void add_to(uint64_t *to, uint64_t n)
{
	__atomic_store_n(to, *to + n, __ATOMIC_RELAXED);
}

static struct nvs_live_memory *memory_of(const struct nvs_live_page *p, uint32_t gpu,
					 enum nvs_live_kind kind)
{
	struct nvs_live_memory *rows = nvs_live_table(p, NVS_LIVE_MEMORY);

	return &rows[(gpu <= NVS_LIVE_GPU_ROWS ? gpu : 0) * NVS_LIVE_KINDS + kind];
}

static struct nvs_live_site *site_at(const struct nvs_live_page *p, uint32_t number)
{
	return (struct nvs_live_site *)nvs_live_table(p, NVS_LIVE_SITE_ROWS) + number;
}

static struct nvs_live_alloc *alloc_at(const struct nvs_live_page *p, uint32_t row)
{
	return (struct nvs_live_alloc *)nvs_live_table(p, NVS_LIVE_ALLOCS) + row;
}

/* Also without the lock. */
static void add_shared(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

/* SIGN 1: it becomes live; -1: it ends. */
static void count_live(const struct nvs_live_page *p, const struct nvs_live_alloc *a, uint64_t sign)
{
	struct nvs_live_memory *m = memory_of(p, a->gpu, (enum nvs_live_kind)a->kind);
	struct nvs_live_site *s = site_at(p, a->site);

	add_to(&m->live, sign * a->bytes);
	add_to(&m->live_count, sign);
	add_to(&s->live, sign * a->bytes);
	add_to(&s->live_count, sign);
	if (m->live > m->peak)
		__atomic_store_n(&m->peak, m->live, __ATOMIC_RELAXED);
	if (s->live > s->peak)
		__atomic_store_n(&s->peak, s->live, __ATOMIC_RELAXED);
}

/* ---- sites ---- */

/* Returns the row of STACK. It gets a new one only if this thread unwound it last. */
static uint32_t site_of(struct nvs_live_page *p, struct nvs_live_memory_state *l, uint32_t api,
			uint32_t stack)
{
	struct nvs_live_site *row;
	uint32_t at = stack * 0x9e3779b1u % SITE_BUCKETS, n;

	if (stack == NVS_NONE)
		return 0;
	NVS_HASH_PROBE(at, SITE_BUCKETS, (n = l->sites[at]) && site_at(p, n)->stack != stack);
	if (n)
		return n;
	if (nvs_tls.unwound != stack)
		return 0;
	row = nvs_live_row_new(p, NVS_LIVE_SITE_ROWS, &n);
	if (!row)
		return 0;
	row->api = api;
	row->stack = stack;
	row->nframes = nvs_tls.nframes;
	memcpy(row->frames, nvs_tls.frames, sizeof(row->frames));
	l->sites[at] = (uint16_t)n;
	nvs_live_row_done(p, NVS_LIVE_SITE_ROWS);
	return n;
}

/* ---- rows ---- */

static bool take_row(struct nvs_live_page *p, struct nvs_live_memory_state *l, uint32_t *row)
{
	if (l->nfree) {
		*row = l->free[--l->nfree];
		return true;
	}
	if (!nvs_live_row_new(p, NVS_LIVE_ALLOCS, row))
		return false;
	nvs_live_row_done(p, NVS_LIVE_ALLOCS);
	return true;
}

static void free_row(const struct nvs_live_page *p, struct nvs_live_memory_state *l, uint32_t row)
{
	__atomic_store_n(&alloc_at(p, row)->address, 0, __ATOMIC_RELEASE);
	l->details[row] = (struct detail){0};
	l->free[l->nfree++] = row;
}

/* The allocation is no longer live. */
static void end_row(const struct nvs_live_page *p, struct nvs_live_memory_state *l, uint32_t row,
		    bool with_context)
{
	struct nvs_live_alloc *a = alloc_at(p, row);
	struct nvs_live_memory *m = memory_of(p, a->gpu, (enum nvs_live_kind)a->kind);

	if (!l->details[row].leaving)
		count_live(p, a, (uint64_t)-1);
	add_shared(with_context ? &m->ended : &m->frees, 1);
	add_shared(&m->freed, a->bytes);
	free_row(p, l, row);
}

/* ---- events ---- */

static void count_untracked(const struct nvs_live_page *p, const struct nvs_live_allocation *g)
{
	struct nvs_live_memory *m = memory_of(p, g->gpu, g->kind);

	add_shared(&m->untracked, 1);
	add_shared(&m->untracked_bytes, g->bytes);
}

static void fill_row(const struct nvs_live_page *p, uint32_t row,
		     const struct nvs_live_allocation *g, uint32_t site, uint64_t serial)
{
	struct nvs_live_alloc *a = alloc_at(p, row);

	a->bytes = g->bytes;
	a->time = g->time;
	a->kind = (uint16_t)g->kind;
	a->gpu = (uint16_t)g->gpu;
	a->tid = nvs_tls.tid;
	a->site = site;
	a->serial = serial;
	__atomic_store_n(&a->address, g->value, __ATOMIC_RELEASE);
}

void nvs_live_alloc_add(struct nvs_live_page *p, const struct nvs_live_allocation *g)
{
	uint64_t key = key_of(g->space, g->value);
	struct nvs_live_memory_state *l = lock_ledger(p);
	struct nvs_live_site *site;
	struct nvs_live_memory *m;
	struct allocation_entry *old;
	uint32_t row, number;

	if (!l) {
		count_untracked(p, g);
		return;
	}
	old = find_entry(l, key);
	if (old) {
		/* Its free was not seen. A graph launch may free what the previous one has left. */
		row = old->row;
		remove_entry(l, old);
		end_row(p, l, row, g->kind != NVS_LIVE_GRAPH);
	}
	number = site_of(p, l, g->api, g->stack);
	site = site_at(p, number);
	m = memory_of(p, g->gpu, g->kind);
	add_to(&m->allocs, 1);
	add_to(&m->bytes, g->bytes);
	add_to(&site->allocs, 1);
	add_to(&site->bytes, g->bytes);
	if (take_row(p, l, &row)) {
		fill_row(p, row, g, number, ++l->serial);
		l->details[row] = (struct detail){.key = key, .context = g->context, .handles = 1};
		put_entry(l, key, row);
		count_live(p, alloc_at(p, row), 1);
	} else {
		count_untracked(p, g);
	}
	nvs_live_unlock(&l->lock);
}

void nvs_live_alloc_failed(struct nvs_live_page *p, uint32_t gpu, enum nvs_live_kind kind)
{
	add_shared(&memory_of(p, gpu, kind)->failed_allocs, 1);
}

/* A token is the row, and the serial number of the allocation in it. */
#define TOKEN_ROW_BITS 17

static uint64_t token_of(const struct nvs_live_page *p, uint32_t row)
{
	return alloc_at(p, row)->serial << TOKEN_ROW_BITS | (row + 1);
}

/* Returns false if the allocation has ended with its context; another may have the row now. */
static bool row_of_token(const struct nvs_live_page *p, uint64_t token, uint32_t *row)
{
	const struct nvs_live_alloc *a;

	*row = (uint32_t)(token & ((1u << TOKEN_ROW_BITS) - 1)) - 1;
	a = alloc_at(p, *row);
	return a->address && a->serial == token >> TOKEN_ROW_BITS;
}

uint64_t nvs_live_free_begin(struct nvs_live_page *p, enum nvs_live_space space, uint64_t value)
{
	struct nvs_live_memory_state *l = value ? lock_ledger(p) : NULL;
	uint64_t token = 0;
	struct allocation_entry *e;

	if (!l)
		return 0;
	e = find_entry(l, key_of(space, value));
	if (e) {
		struct detail *d = &l->details[e->row];
		uint32_t row = e->row;

		token = token_of(p, row);
		if (d->handles == 1)
			remove_entry(l, e);
		if (d->handles + d->maps == 1) {
			d->leaving = true;
			count_live(p, alloc_at(p, row), (uint64_t)-1);
		}
	}
	nvs_live_unlock(&l->lock);
	return token;
}

static void put_back(const struct nvs_live_page *p, struct nvs_live_memory_state *l, uint32_t row)
{
	struct detail *d = &l->details[row];

	if (d->leaving)
		count_live(p, alloc_at(p, row), 1);
	d->leaving = false;
	put_entry(l, d->key, row);
}

void nvs_live_free_cancel(struct nvs_live_page *p, uint64_t token)
{
	struct nvs_live_memory_state *l = token ? lock_ledger(p) : NULL;
	uint32_t row;

	if (!l)
		return;
	if (row_of_token(p, token, &row))
		put_back(p, l, row);
	nvs_live_unlock(&l->lock);
}

void nvs_live_free_end(struct nvs_live_page *p, uint64_t token, bool freed, enum nvs_live_kind kind)
{
	struct nvs_live_memory *unknown = memory_of(p, 0, kind);
	struct nvs_live_memory_state *l = token ? lock_ledger(p) : NULL;
	const struct nvs_live_alloc *a;
	struct detail *d;
	uint32_t row;
	bool there;

	if (!l) {
		add_shared(freed ? &unknown->frees : &unknown->failed_frees, 1);
		return;
	}
	there = row_of_token(p, token, &row);
	d = &l->details[row];
	a = alloc_at(p, row);
	if (there && freed) {
		if (!(--d->handles + d->maps))
			end_row(p, l, row, false);
	} else if (there) {
		add_shared(&memory_of(p, a->gpu, (enum nvs_live_kind)a->kind)->failed_frees, 1);
		put_back(p, l, row);
	}
	nvs_live_unlock(&l->lock);
}

void nvs_live_mapping_add(struct nvs_live_page *p, uint64_t address, uint64_t bytes,
			  uint64_t handle)
{
	struct nvs_live_memory_state *l = lock_ledger(p);
	struct allocation_entry *e;

	if (!l)
		return;
	e = find_entry(l, key_of(NVS_SPACE_PHYSICAL, handle));
	if (e && l->mapped < MAX_MAPPED && !find_entry(l, key_of(NVS_SPACE_MAPPED, address))) {
		uint32_t row = e->row;

		l->details[row].maps++;
		l->mapped++;
		put_entry(l, key_of(NVS_SPACE_MAPPED, address), row)->pages =
			bytes / MAP_PAGE <= UINT32_MAX ? (uint32_t)(bytes / MAP_PAGE) : 0;
	}
	nvs_live_unlock(&l->lock);
}

/* Unmaps the mapping at ADDRESS. Returns its size, 0 if there is none or its size is unknown. */
static uint64_t unmap_one(const struct nvs_live_page *p, struct nvs_live_memory_state *l,
			  uint64_t address)
{
	struct allocation_entry *e = find_entry(l, key_of(NVS_SPACE_MAPPED, address));
	uint64_t bytes = e ? (uint64_t)e->pages * MAP_PAGE : 0;
	uint32_t row;

	if (!e)
		return 0;
	row = e->row;
	remove_entry(l, e);
	l->mapped--;
	if (alloc_at(p, row)->address && !(--l->details[row].maps + l->details[row].handles))
		end_row(p, l, row, false);
	return bytes;
}

void nvs_live_mapping_remove(struct nvs_live_page *p, uint64_t address, uint64_t bytes)
{
	struct nvs_live_memory_state *l = lock_ledger(p);
	uint64_t one, done = 0;

	if (!l)
		return;
	do {
		one = unmap_one(p, l, address + done);
		done += one;
	} while (one && done < bytes);
	nvs_live_unlock(&l->lock);
}

void nvs_live_handle_retain(struct nvs_live_page *p, uint64_t handle)
{
	struct nvs_live_memory_state *l = lock_ledger(p);
	struct allocation_entry *e;

	if (!l)
		return;
	e = find_entry(l, key_of(NVS_SPACE_PHYSICAL, handle));
	if (e)
		l->details[e->row].handles++;
	nvs_live_unlock(&l->lock);
}

void nvs_live_free_context(struct nvs_live_page *p, uint64_t context)
{
	struct nvs_live_memory_state *l = __atomic_load_n(&p->ledger, __ATOMIC_ACQUIRE)
						  ? lock_ledger(p)
						  : NULL;
	uint32_t used = p->head->tables[NVS_LIVE_ALLOCS].used;

	if (!l)
		return;
	for (uint32_t row = 0; row < used; row++) {
		const struct nvs_live_alloc *a = alloc_at(p, row);
		struct allocation_entry *e;

		/* Physical memory, reserved addresses and the like belong to no context. */
		if (!a->address || a->kind == NVS_LIVE_PHYSICAL || a->kind == NVS_LIVE_RESERVED ||
		    l->details[row].context != context)
			continue;
		e = find_entry(l, l->details[row].key);
		if (e && e->row == row)
			remove_entry(l, e);
		end_row(p, l, row, true);
	}
	nvs_live_unlock(&l->lock);
}

/* ---- for the start of a trace on demand ---- */

/* Reads a row without the lock. Returns false if it is free, or is being changed. */
static bool read_alloc(const struct nvs_live_page *p, uint32_t row, struct nvs_live_alloc *to)
{
	const struct nvs_live_alloc *a = alloc_at(p, row);

	to->address = __atomic_load_n(&a->address, __ATOMIC_ACQUIRE);
	to->bytes = a->bytes;
	to->time = a->time;
	to->kind = a->kind;
	to->tid = a->tid;
	to->site = a->site;
	to->serial = a->serial;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return to->address && __atomic_load_n(&a->address, __ATOMIC_RELAXED) == to->address;
}

static void record_alloc(const struct nvs_live_page *p, uint32_t row,
			 const struct nvs_live_alloc *a, uint16_t flags)
{
	struct nvs_rec_allocation rec = {
		.rec = {NVS_REC_ALLOCATION, flags, sizeof(rec), 0},
		.address = a->address,
		.bytes = a->bytes,
		.at = a->time,
		.context = flags ? 0 : p->ledger->details[row].context,
		.kind = a->kind,
		.stack = a->site ? site_at(p, a->site)->stack : NVS_NONE,
		.tid = a->tid,
	};

	nvs_record_write(&rec.rec);
}

void nvs_live_record_allocs(struct nvs_live_allocs_seen *seen)
{
	const struct nvs_live_page *p = nvs_live_page();

	*seen = (struct nvs_live_allocs_seen){NULL, 0};
	if (!p || !__atomic_load_n(&p->ledger, __ATOMIC_ACQUIRE))
		return;
	seen->n = __atomic_load_n(&p->head->tables[NVS_LIVE_ALLOCS].used, __ATOMIC_ACQUIRE);
	seen->rows = seen->n ? nvs_alloc(seen->n * sizeof(*seen->rows)) : NULL;
	for (uint32_t row = 0; row < seen->n && seen->rows; row++)
		if (read_alloc(p, row, &seen->rows[row]))
			record_alloc(p, row, &seen->rows[row], 0);
		else
			seen->rows[row].address = 0;
}

void nvs_live_record_freed(struct nvs_live_allocs_seen *seen)
{
	const struct nvs_live_page *p = nvs_live_page();
	struct nvs_live_alloc now;

	for (uint32_t row = 0; row < seen->n && seen->rows; row++)
		if (seen->rows[row].address &&
		    (!read_alloc(p, row, &now) || now.serial != seen->rows[row].serial))
			record_alloc(p, row, &seen->rows[row], NVS_ALLOCATION_GONE);
	nvs_free(seen->rows, seen->n * sizeof(*seen->rows));
	seen->rows = NULL;
}
