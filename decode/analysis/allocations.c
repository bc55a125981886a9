/* SPDX-License-Identifier: MIT */
/*
 * Follows allocations from the call that made them to the one that freed them. One file, since all
 * of it is what may become of an allocation, and nothing else may touch one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/calls/args.h"
#include "decode/calls/roles.h"
#include "decode/analysis/allocations.h"
#include "decode/query/selection.h"

/* Addresses and handles of different kinds may be alike. */
enum space { ADDRESS, ARRAY, PHYSICAL, EXTERNAL, MAPPED };

struct nvs_alloc {
	struct nvs_alloc_place *place; /* NULL: its handle was given up, and it is mapped */
	struct nvs_alloc *older; /* at the same place */
	struct nvs_alloc *next, **link; /* of its row */
	struct nvs_alloc_row *row;
	struct nvs_alloc *memory; /* of a mapping */
	const struct nvs_call_api *api;
	uint64_t bytes, begin, end;
	uint32_t thread, stack;
	uint32_t refs, maps; /* handles that stand for it, and its mappings */
	bool selected, sized;
};

/* An address, or a handle. */
struct nvs_alloc_place {
	struct place_key {
		uint64_t value, space;
	} key;
	struct nvs_alloc *top; /* the latest */
	enum { NEVER, FREED, ENDED } was;
	UT_hash_handle hh;
};

/* The primary context of a device. */
struct device {
	uint64_t dev, context, refs;
};

const char *nvs_alloc_kind_name(enum nvs_alloc_kind kind)
{
	static const char *const names[] = {"device",	"async",    "graph",	"physical",
					    "array",	"managed",  "host",	"registered",
					    "reserved", "imported", "external", ""};

	return kind < NVS_ALLOC_KINDS ? names[kind] : "";
}

static bool of_gpu(uint64_t kind)
{
	return kind < NVS_ALLOC_MANAGED;
}

/* ---- over time ---- */

/* Two intervals become one until there is room for AT. */
static uint32_t interval_of(struct nvs_alloc_series *s, uint64_t at)
{
	while (at - s->first >= s->width * NVS_ALLOC_TIMES) {
		for (uint32_t i = 0; 2 * i < s->n; i++) {
			uint32_t a = 2 * i, b = a + 1 < s->n ? a + 1 : a;

			s->peak[i] = s->peak[a] > s->peak[b] ? s->peak[a] : s->peak[b];
			s->live[i] = s->live[b];
		}
		s->n = (s->n + 1) / 2;
		s->width *= 2;
	}
	return (uint32_t)((at - s->first) / s->width);
}

void nvs_alloc_series_set(struct nvs_alloc_series *s, uint64_t at, uint64_t now)
{
	uint32_t i;

	if (!s->width) {
		s->width = 1 << 16;
		s->first = at;
	}
	at = at < s->first ? s->first : at;
	/* A time from nowhere would make them all one. */
	i = at - s->first < 1ull << 62 ? interval_of(s, at) : s->n ? s->n - 1 : 0;
	for (; s->n <= i; s->n++)
		s->live[s->n] = s->peak[s->n] = s->now;
	s->now = s->live[i] = now;
	s->peak[i] = now > s->peak[i] ? now : s->peak[i];
	if (now > s->most) {
		s->most = now;
		s->most_at = at;
	}
}

/* ---- places ---- */

static struct nvs_alloc_place *place_find(const struct nvs_allocs *a, uint64_t value,
					  enum space space)
{
	struct place_key key = {value, space};
	struct nvs_alloc_place *p;

	HASH_FIND(hh, a->places, &key, sizeof(key), p);
	return p;
}

static struct nvs_alloc_place *place_make(struct nvs_allocs *a, uint64_t value, enum space space)
{
	struct nvs_alloc_place *p = place_find(a, value, space);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key = (struct place_key){value, space};
	HASH_ADD(hh, a->places, key, sizeof(p->key), p);
	if (p->hh.tbl)
		return p;
	free(p);
	return NULL;
}

/* It is empty. What was there is remembered while there is room for more than that. */
static void place_leave(struct nvs_allocs *a, struct nvs_alloc_place *p)
{
	if (p->top || nvs_budget_left() > nvs_budget_whole() / 3)
		return;
	a->forgot = true;
	HASH_DEL(a->places, p);
	free(p);
}

/* ---- rows and groups ---- */

static struct nvs_alloc_row *row_of(struct nvs_allocs *a, uint64_t context,
				    enum nvs_alloc_kind kind)
{
	struct nvs_alloc_row key = {.key = {context, kind}}, *row;

	row = nvs_rows_at(&a->rows, &key.key);
	if (row && !row->allocs && !row->failed)
		row->gpu = NVS_NONE;
	return row;
}

static int count_group(struct nvs_allocs *a, const struct nvs_alloc_group *what, uint64_t bytes,
		       bool sized)
{
	struct nvs_alloc_group *g = nvs_rows_at(&a->groups, &what->key);

	if (!g)
		return -ENOMEM;
	g->count++;
	if (__builtin_add_overflow(g->bytes, bytes, &g->bytes))
		g->bytes = UINT64_MAX;
	g->sizeless += !sized;
	return 0;
}

static void count_bytes(struct nvs_allocs *a, const struct nvs_alloc *m, uint64_t at, bool more)
{
	struct nvs_alloc_row *row = m->row;

	row->live_bytes += more ? m->bytes : -m->bytes;
	row->peak = row->live_bytes > row->peak ? row->live_bytes : row->peak;
	if (of_gpu(row->key.kind))
		nvs_alloc_series_set(&a->series, at, a->series.now + (more ? m->bytes : -m->bytes));
}

static void see_gpu(struct nvs_allocs *a, struct nvs_alloc_row *row, uint64_t address)
{
	const struct nvs_mapping *m = nvs_trace_gpu_map(a->source->trace, 0, address);

	if (!m || m->gpu == NVS_NONE)
		return;
	row->gpus |= row->gpu != NVS_NONE && row->gpu != m->gpu;
	row->gpu = m->gpu;
}

/* ---- from the beginning of an allocation to its end ---- */

/* Takes M out of those at its place. */
static void unstack(struct nvs_alloc *m)
{
	struct nvs_alloc **at = m->place ? &m->place->top : NULL;

	while (at && *at && *at != m)
		at = &(*at)->older;
	if (at && *at)
		*at = m->older;
	m->place = NULL;
}

/* M is no more, for the reason of WAS: what remains of it is in its row. */
static int end_alloc(struct nvs_allocs *a, struct nvs_alloc *m, uint64_t at, int was)
{
	const struct nvs_alloc_group ended = {
		.key = {m->api, NVS_ALLOC_ENDED, (uint32_t)m->row->key.kind, m->stack, 0}};
	int r = 0;

	if (m->place)
		m->place->was = was;
	unstack(m);
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	if (m->selected) {
		count_bytes(a, m, at, false);
		m->row->live--;
		m->row->frees += was == FREED;
		m->row->ended += was == ENDED;
		if (was == ENDED && m->row->key.kind != NVS_ALLOC_VIEW)
			r = count_group(a, &ended, m->bytes, m->sized);
	}
	free(m);
	return r;
}

/* M was freed by nobody that was seen; what is mapped of it lives on. */
static int end_unseen(struct nvs_allocs *a, struct nvs_alloc *m, uint64_t at)
{
	if (!m->maps)
		return end_alloc(a, m, at, NEVER);
	m->refs = 0;
	unstack(m);
	return 0;
}

/* Told by a call around the one that made it? */
static bool told_again(const struct nvs_alloc *m, const struct nvs_alloc_by *by)
{
	return m && m->thread == by->thread && m->begin > by->begin;
}

static void fill(struct nvs_alloc *m, const struct nvs_alloc_by *by, struct nvs_alloc_place *p,
		 struct nvs_alloc_row *row)
{
	m->place = p;
	m->older = p->top;
	p->top = m;
	m->row = row;
	m->next = row->first;
	m->link = &row->first;
	if (m->next)
		m->next->link = &m->next;
	row->first = m;
	m->api = by->api;
	m->begin = by->begin;
	m->end = by->end;
	m->thread = by->thread;
	m->stack = by->stack;
	m->selected = by->selected;
	m->refs = 1;
}

/* BYTES UINT64_MAX: not known. *MADE may be NULL behind it: it is known already. */
static int take_at(struct nvs_allocs *a, const struct nvs_alloc_by *by, enum nvs_alloc_kind kind,
		   struct place_key key, uint64_t bytes, struct nvs_alloc **made)
{
	struct nvs_alloc_place *p = place_make(a, key.value, (enum space)key.space);
	struct nvs_alloc_row *row = row_of(a, by->context, kind);
	struct nvs_alloc *m;
	int r = 0;

	*made = NULL;
	if (!p || !row)
		return -ENOMEM;
	if (told_again(p->top, by))
		return 0;
	/* One may be on its way to be freed by another thread; a second was freed unseen. */
	if (p->top && p->top->older)
		r = end_unseen(a, p->top->older, by->end);
	m = r ? NULL : calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	fill(m, by, p, row);
	m->sized = bytes != UINT64_MAX;
	m->bytes = m->sized ? bytes : 0;
	*made = m;
	if (!m->selected)
		return 0;
	row->allocs++;
	row->live++;
	row->bytes += m->bytes;
	row->sizeless += !m->sized;
	count_bytes(a, m, by->end, true);
	return 0;
}

int nvs_allocs_take(struct nvs_allocs *a, const struct nvs_alloc_by *by, enum nvs_alloc_kind kind,
		    uint64_t address, uint64_t bytes)
{
	struct nvs_alloc *made;
	int r = take_at(a, by, kind, (struct place_key){address, ADDRESS}, bytes, &made);

	if (r || !made)
		return r;
	see_gpu(a, made->row, address);
	a->given(a->arg, address);
	return 0;
}

/*
 * The one at P that a free means. A thread may be given an address by the driver before the other
 * thread's free of it has returned: then that one frees what is older.
 */
static struct nvs_alloc *meant(const struct nvs_alloc_place *p, const struct nvs_alloc_by *by)
{
	struct nvs_alloc *m = p ? p->top : NULL;

	return m && m->older && by->begin < m->end ? m->older : m;
}

static int free_one(struct nvs_allocs *a, const struct nvs_alloc_by *by, struct nvs_alloc *m)
{
	struct nvs_alloc_place *p = m->place;
	/* What is older and was not meant was freed unseen. */
	struct nvs_alloc *older = p->top == m ? m->older : NULL;
	int r = older ? end_unseen(a, older, by->end) : 0;

	if (!r)
		r = end_alloc(a, m, by->end, FREED);
	place_leave(a, p);
	return r;
}

int nvs_allocs_give_back(struct nvs_allocs *a, const struct nvs_alloc_by *by, uint64_t address,
			 bool again, bool *found)
{
	struct nvs_alloc *m = meant(place_find(a, address, ADDRESS), by);

	*found = m && (!again || m->row->key.kind == NVS_ALLOC_GRAPH);
	return *found ? free_one(a, by, m) : 0;
}

/* ---- memory without addresses, which lives as long as a handle or a mapping of it ---- */

static int drop_memory(struct nvs_allocs *a, uint64_t at, struct nvs_alloc *m)
{
	if (m->refs)
		return 0;
	/* Its handle may stand for other memory from now on. */
	if (m->place)
		m->place->was = FREED;
	unstack(m);
	return m->maps ? 0 : end_alloc(a, m, at, FREED);
}

static int unmap_one(struct nvs_allocs *a, const struct nvs_alloc_by *by, struct nvs_alloc *m)
{
	struct nvs_alloc *memory = m->memory;
	int r = free_one(a, by, m);

	memory->maps--;
	return r ? r : drop_memory(a, by->end, memory);
}

static int unmap(struct nvs_allocs *a, const struct nvs_alloc_by *by, uint64_t at, uint64_t size)
{
	uint64_t end = at + size < at ? UINT64_MAX : at + size, bytes = 1;
	int r = 0;

	while (at < end && bytes && !r) {
		struct nvs_alloc_place *p = place_find(a, at, MAPPED);

		if (!p || !p->top)
			break;
		bytes = p->top->bytes;
		at = at + bytes < at ? end : at + bytes;
		r = unmap_one(a, by, p->top);
	}
	return r;
}

/* Of an imported one nothing but its mapping tells the size. */
static void learn_size(struct nvs_allocs *a, struct nvs_alloc *memory, uint64_t at, uint64_t size)
{
	if (memory->sized)
		return;
	memory->sized = true;
	memory->bytes = size;
	if (!memory->selected)
		return;
	memory->row->sizeless--;
	memory->row->bytes += size;
	count_bytes(a, memory, at, true);
}

static int map(struct nvs_allocs *a, const struct nvs_alloc_by *by, const struct nvs_call *call,
	       uint64_t address)
{
	struct nvs_alloc_place *p = place_find(a, address, MAPPED);
	struct nvs_alloc *memory, *made;
	uint64_t handle, size;
	int r = p && p->top ? unmap_one(a, by, p->top) : 0;

	if (r || !nvs_call_value(call, NVS_ARG_handle, &handle) ||
	    !nvs_call_value(call, NVS_ARG_size, &size))
		return r;
	p = place_find(a, handle, PHYSICAL);
	memory = p ? p->top : NULL;
	if (!memory || memory->row->key.kind == NVS_ALLOC_VIEW)
		return 0;
	r = take_at(a, by, NVS_ALLOC_VIEW, (struct place_key){address, MAPPED}, size, &made);
	if (r || !made)
		return r;
	made->memory = memory;
	memory->maps++;
	learn_size(a, memory, by->end, size);
	return 0;
}

/* It is mapped for GPUs only now. */
static void reach(struct nvs_allocs *a, uint64_t address)
{
	const struct nvs_alloc_place *p = place_find(a, address, MAPPED);

	if (!p || !p->top)
		return;
	see_gpu(a, p->top->memory->row, address);
	a->given(a->arg, address);
}

/* cuMemRetainAllocationHandle: of a handle, or of what is mapped, whose handle was given up. */
static int retain(struct nvs_allocs *a, const struct nvs_call *call, uint64_t handle)
{
	struct nvs_alloc_place *mapped, *p = place_find(a, handle, PHYSICAL);
	struct nvs_alloc *m = p ? p->top : NULL;
	uint64_t at;

	if (!m && nvs_call_value(call, NVS_ARG_addr, &at)) {
		mapped = place_find(a, at, MAPPED);
		m = mapped && mapped->top ? mapped->top->memory : NULL;
		p = m ? place_make(a, handle, PHYSICAL) : NULL;
		if (m && !p)
			return -ENOMEM;
		if (m && !m->place) {
			m->place = p;
			m->older = p->top;
			p->top = m;
		}
	}
	if (m)
		m->refs++;
	return 0;
}

static int release(struct nvs_allocs *a, const struct nvs_alloc_by *by, struct nvs_alloc *m)
{
	m->refs -= m->refs > 0;
	return drop_memory(a, by->end, m);
}

/* ---- contexts ---- */

/* Not the process's, or a pool's. */
static const enum nvs_alloc_kind of_context[] = {NVS_ALLOC_DEVICE,     NVS_ALLOC_ARRAY,
						 NVS_ALLOC_MANAGED,    NVS_ALLOC_HOST,
						 NVS_ALLOC_REGISTERED, NVS_ALLOC_IMPORTED};

static int end_context(struct nvs_allocs *a, uint64_t context, uint64_t at)
{
	int r = 0;

	for (size_t i = 0; context && i < sizeof(of_context) / sizeof(*of_context) && !r; i++) {
		struct nvs_alloc_row *row = row_of(a, context, of_context[i]);
		struct nvs_alloc *m, *next;

		if (!row)
			return -ENOMEM;
		for (m = row->first; m && !r; m = next) {
			next = m->next;
			r = end_alloc(a, m, at, ENDED);
		}
	}
	return r;
}

static int primary(struct nvs_allocs *a, const struct nvs_call *call)
{
	uint64_t context, dev;
	struct device *d;

	if (!nvs_call_value(call, NVS_ARG_dev, &dev))
		return 0;
	d = nvs_rows_at(&a->devices, &dev);
	if (!d)
		return -ENOMEM;
	if (call->api->role == NVS_CALL_ROLE_PRIMARY_RETAIN) {
		d->refs++;
		if (nvs_call_value(call, NVS_ARG_context, &context))
			d->context = context;
		return 0;
	}
	d->refs -= d->refs > 0;
	if (call->api->role == NVS_CALL_ROLE_PRIMARY_RESET)
		d->refs = 0;
	return d->refs ? 0 : end_context(a, d->context, call->end);
}

/* ---- calls ---- */

/* What a role hands out. */
static const struct giver {
	uint8_t kind, space;
	bool gives;
} givers[NVS_CALL_ROLES] = {
	[NVS_CALL_ROLE_ALLOC_DEVICE] = {NVS_ALLOC_DEVICE, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_PITCH] = {NVS_ALLOC_DEVICE, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_ASYNC] = {NVS_ALLOC_ASYNC, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_MANAGED] = {NVS_ALLOC_MANAGED, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_PINNED] = {NVS_ALLOC_HOST, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_REGISTERED] = {NVS_ALLOC_REGISTERED, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_ADDRESSES] = {NVS_ALLOC_RESERVED, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_PHYSICAL] = {NVS_ALLOC_PHYSICAL, PHYSICAL, true},
	[NVS_CALL_ROLE_ALLOC_EXTERNAL] = {NVS_ALLOC_EXTERNAL, EXTERNAL, true},
	[NVS_CALL_ROLE_ALLOC_IMPORT] = {NVS_ALLOC_IMPORTED, PHYSICAL, true},
	[NVS_CALL_ROLE_ALLOC_MULTICAST] = {NVS_ALLOC_VIEW, PHYSICAL, true},
	[NVS_CALL_ROLE_ALLOC_IPC] = {NVS_ALLOC_IMPORTED, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_VIEW] = {NVS_ALLOC_VIEW, ADDRESS, true},
	[NVS_CALL_ROLE_ALLOC_ARRAY] = {NVS_ALLOC_ARRAY, ARRAY, true},
	[NVS_CALL_ROLE_ALLOC_ARRAY_VIEW] = {NVS_ALLOC_VIEW, ARRAY, true},
	[NVS_CALL_ROLE_ALLOC_GRAPH] = {NVS_ALLOC_GRAPH, ADDRESS, true},
};

/* Where a role takes it back from; UINT32_MAX: it frees nothing. */
static uint32_t space_freed(uint8_t role)
{
	switch (role) {
	case NVS_CALL_ROLE_FREE:
		return ADDRESS;
	case NVS_CALL_ROLE_FREE_ARRAY:
		return ARRAY;
	case NVS_CALL_ROLE_FREE_EXTERNAL:
		return EXTERNAL;
	case NVS_CALL_ROLE_FREE_PHYSICAL:
		return PHYSICAL;
	}
	return UINT32_MAX;
}

/* Bytes of one element of CUarray_format; 0: not known. */
static uint64_t format_bytes(uint64_t format)
{
	switch (format) {
	case 0x01: /* UNSIGNED_INT8 */
	case 0x08: /* SIGNED_INT8 */
		return 1;
	case 0x02: /* 16 bits */
	case 0x09:
	case 0x10: /* HALF */
		return 2;
	case 0x03: /* 32 bits */
	case 0x0a:
	case 0x20: /* FLOAT */
		return 4;
	}
	return 0;
}

/* With all its levels. UINT64_MAX: not known. */
static uint64_t array_bytes(const struct nvs_call *call)
{
	uint64_t side[3] = {0}, levels = 1, format, channels, all = 0, level;

	if (!nvs_call_value(call, NVS_ARG_Width, side) ||
	    !nvs_call_value(call, NVS_ARG_Height, side + 1) ||
	    !nvs_call_value(call, NVS_ARG_Format, &format) ||
	    !nvs_call_value(call, NVS_ARG_NumChannels, &channels) || !format_bytes(format))
		return UINT64_MAX;
	nvs_call_value(call, NVS_ARG_Depth, side + 2);
	nvs_call_value(call, NVS_ARG_numMipmapLevels, &levels);
	for (uint64_t l = 0; l < levels && l < 32; l++) {
		level = format_bytes(format) * channels;
		for (int i = 0; i < 3; i++)
			if (__builtin_mul_overflow(level, side[i] >> l ? side[i] >> l : 1, &level))
				return UINT64_MAX;
		all += level;
	}
	return all;
}

static uint64_t bytes_of(const struct nvs_allocs *a, const struct nvs_call *call, uint64_t address)
{
	const struct nvs_mapping *m;
	uint64_t bytes, rows;

	switch (call->api->role) {
	case NVS_CALL_ROLE_ALLOC_ARRAY:
		return array_bytes(call);
	case NVS_CALL_ROLE_ALLOC_PITCH:
		return nvs_call_value(call, NVS_ARG_pPitch, &bytes) &&
				       nvs_call_value(call, NVS_ARG_Height, &rows) &&
				       !__builtin_mul_overflow(bytes, rows, &bytes)
			       ? bytes
			       : UINT64_MAX;
	case NVS_CALL_ROLE_ALLOC_IPC:
		/* What is opened is all of the other's block. */
		m = nvs_trace_gpu_map(a->source->trace, 0, address);
		return m ? m->size : UINT64_MAX;
	}
	return nvs_call_value(call, NVS_ARG_size, &bytes) ? bytes : UINT64_MAX;
}

/* A call that failed: what it asked for, or what it was to free. */
static int failed(struct nvs_allocs *a, const struct nvs_call *call, const struct nvs_alloc_by *by,
		  uint64_t address)
{
	const struct giver *giver = givers + call->api->role;
	uint32_t space = space_freed(call->api->role);
	struct nvs_alloc_group what = {
		.key = {call->api, NVS_ALLOC_FAILED, giver->kind, call->stack, call->result}};
	const struct nvs_alloc_place *p;
	struct nvs_alloc_row *row;
	uint64_t bytes = UINT64_MAX;

	if (!by->selected || (!giver->gives && (space == UINT32_MAX || !address)))
		return 0;
	if (giver->gives) {
		row = row_of(a, by->context, giver->kind);
		if (!row)
			return -ENOMEM;
		row->failed++;
		bytes = bytes_of(a, call, 0);
	} else {
		p = place_find(a, address, space);
		what.key.kind = NVS_ALLOC_KINDS;
		if (p && p->top) {
			p->top->row->failed_frees++;
			what.key.kind = (uint32_t)p->top->row->key.kind;
		} else if (!p || p->was == FREED) {
			what.key.what = p ? NVS_ALLOC_TWICE : NVS_ALLOC_UNKNOWN;
		}
	}
	return count_group(a, &what, bytes == UINT64_MAX ? 0 : bytes, bytes != UINT64_MAX);
}

static int freed(struct nvs_allocs *a, const struct nvs_call *call, const struct nvs_alloc_by *by,
		 uint64_t address, uint32_t space)
{
	const struct nvs_alloc_group unseen = {
		.key = {call->api, NVS_ALLOC_UNSEEN, NVS_ALLOC_KINDS, call->stack, 0}};
	struct nvs_alloc *m = meant(place_find(a, address, space), by);

	if (!m)
		return by->selected ? count_group(a, &unseen, 0, false) : 0;
	return space == PHYSICAL ? release(a, by, m) : free_one(a, by, m);
}

static int worked(struct nvs_allocs *a, const struct nvs_call *call, const struct nvs_alloc_by *by,
		  uint64_t address)
{
	const struct giver *giver = givers + call->api->role;
	uint32_t space = space_freed(call->api->role);
	struct place_key key = {address, giver->space};
	struct nvs_alloc_by process = *by;
	struct nvs_alloc *made;
	uint64_t bytes;

	if (space != UINT32_MAX)
		return freed(a, call, by, address, space);
	switch (call->api->role) {
	case NVS_CALL_ROLE_MAP:
		return map(a, by, call, address);
	case NVS_CALL_ROLE_UNMAP:
		return nvs_call_value(call, NVS_ARG_size, &bytes) ? unmap(a, by, address, bytes)
								  : 0;
	case NVS_CALL_ROLE_RETAIN:
		return retain(a, call, address);
	case NVS_CALL_ROLE_ACCESS:
		reach(a, address);
		return 0;
	}
	if (!giver->gives)
		return 0;
	bytes = bytes_of(a, call, address);
	if (giver->space == ADDRESS)
		return nvs_allocs_take(a, by, giver->kind, address, bytes);
	/* Handles of such memory outlive all contexts. */
	process.context = call->api->role == NVS_CALL_ROLE_ALLOC_IMPORT ? 0 : by->context;
	return take_at(a, &process, giver->kind, key, bytes, &made);
}

static int of_contexts(struct nvs_allocs *a, const struct nvs_call *call)
{
	uint64_t context;

	switch (call->api->role) {
	case NVS_CALL_ROLE_CONTEXT_DESTROY:
		return nvs_call_value(call, NVS_ARG_context, &context)
			       ? end_context(a, context, call->end)
			       : 0;
	case NVS_CALL_ROLE_PRIMARY_RETAIN:
	case NVS_CALL_ROLE_PRIMARY_RELEASE:
	case NVS_CALL_ROLE_PRIMARY_RESET:
		return primary(a, call);
	}
	return 0;
}

int nvs_allocs_call(struct nvs_allocs *a, const struct nvs_call *call)
{
	struct nvs_alloc_by by = {.api = call->api,
				  .begin = call->begin,
				  .end = call->end,
				  .thread = call->thread,
				  .stack = call->stack};
	uint64_t address;
	int r = nvs_contexts_call(&a->contexts, call, &by.context);

	if (r || !call->end || call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED))
		return r;
	by.selected = nvs_filter_call(a->source, call);
	if (nvs_alloc_graphs_call(a, call, &by, &r))
		return r;
	/* To free nothing is no error, and frees nothing. */
	if (!nvs_call_value(call, NVS_ARG_address, &address) || (!address && !call->result))
		address = 0;
	if (call->result)
		return failed(a, call, &by, address);
	return address ? worked(a, call, &by, address) : of_contexts(a, call);
}

/* ---- all of it ---- */

static void given_to_nobody(void *arg, uint64_t address)
{
}

void nvs_allocs_begin(struct nvs_allocs *a, const struct nvs_source *s)
{
	*a = (struct nvs_allocs){.source = s,
				 .rows = NVS_ROWS(struct nvs_alloc_row, key),
				 .groups = NVS_ROWS(struct nvs_alloc_group, key),
				 .devices = NVS_ROWS(struct device, dev),
				 .given = given_to_nobody};
}

int nvs_allocs_end(struct nvs_allocs *a)
{
	int r = 0;

	for (size_t i = 0; i < a->rows.n && !r; i++) {
		const struct nvs_alloc_row *row = a->rows.row[i];

		for (const struct nvs_alloc *m = row->first; m && !r; m = m->next) {
			const struct nvs_alloc_group what = {.key = {m->api, NVS_ALLOC_UNFREED,
								     (uint32_t)row->key.kind,
								     m->stack, 0}};

			/* What is not on top was freed unseen. */
			if (m->selected && row->key.kind != NVS_ALLOC_VIEW &&
			    (!m->place || m->place->top == m))
				r = count_group(a, &what, m->bytes, m->sized);
		}
	}
	return r;
}

void nvs_allocs_free(struct nvs_allocs *a)
{
	struct nvs_alloc_place *p, *next;

	for (size_t i = 0; i < a->rows.n; i++) {
		struct nvs_alloc_row *row = a->rows.row[i];

		while (row->first) {
			struct nvs_alloc *m = row->first;

			row->first = m->next;
			free(m);
		}
	}
	HASH_ITER(hh, a->places, p, next) {
		HASH_DEL(a->places, p);
		free(p);
	}
	nvs_contexts_free(&a->contexts);
	nvs_rows_free(&a->rows, NULL);
	nvs_rows_free(&a->groups, NULL);
	nvs_rows_free(&a->devices, NULL);
	nvs_alloc_graphs_free(a->graphs);
}
