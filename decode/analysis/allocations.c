/* SPDX-License-Identifier: MIT */
/*
 * Follows each allocation from the call that made it to the call that freed it. Allocations are
 * created and freed only in this file. Called by --memory, the exports and, for graphs, by
 * graph_allocations.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/calls/args.h"
#include "decode/calls/roles.h"
#include "decode/analysis/allocations.h"
#include "decode/query/selection.h"

/* The same number may be an address in one space and a handle in another. */
enum handle_space { ADDRESS, ARRAY, PHYSICAL, EXTERNAL, MAPPED };

struct nvs_alloc {
	struct nvs_alloc_place *place; /* NULL: handle released, but still mapped */
	struct nvs_alloc *older; /* earlier allocation at the same place */
	struct nvs_alloc *next, **link; /* list of its row */
	struct nvs_alloc_row *row;
	struct nvs_alloc *memory; /* the memory that this maps */
	const struct nvs_call_api *api;
	uint64_t bytes, begin, end;
	uint32_t thread, stack;
	uint32_t refs, maps; /* open handles, and mappings */
	uint32_t range; /* in nvs_allocs.ranges; 0: none */
	bool selected, sized;
};

/* An address or a handle at which allocations are made. */
struct nvs_alloc_place {
	struct place_key {
		uint64_t value, space;
	} key;
	struct nvs_alloc *top; /* the latest allocation */
	enum { NEVER, FREED, ENDED } last_end;
	UT_hash_handle hh;
};

/* The reference count of a device's primary context. */
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

static bool is_gpu_kind(uint64_t kind)
{
	return kind < NVS_ALLOC_MANAGED;
}

/* ---- places ---- */

static struct nvs_alloc_place *find_place(const struct nvs_allocs *a, uint64_t value,
					  enum handle_space space)
{
	struct place_key key = {value, space};
	struct nvs_alloc_place *p;

	HASH_FIND(hh, a->places, &key, sizeof(key), p);
	return p;
}

static struct nvs_alloc_place *make_place(struct nvs_allocs *a, uint64_t value,
					  enum handle_space space)
{
	struct nvs_alloc_place *p = find_place(a, value, space);

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

/* Drops an empty place if less than a third of the memory budget is left. Otherwise it is kept,
 * to detect double frees. */
static void drop_place(struct nvs_allocs *a, struct nvs_alloc_place *p)
{
	if (p->top || nvs_budget_left() > nvs_budget_total() / 3)
		return;
	a->places_dropped = true;
	HASH_DEL(a->places, p);
	free(p);
}

/* ---- rows and groups ---- */

static struct nvs_alloc_row *find_row(struct nvs_allocs *a, uint64_t context,
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
	if (is_gpu_kind(row->key.kind))
		nvs_alloc_series_set(&a->series, at, a->series.now + (more ? m->bytes : -m->bytes));
}

static void note_gpu(struct nvs_allocs *a, struct nvs_alloc_row *row, uint64_t address)
{
	const struct nvs_mapping *m = nvs_trace_gpu_map(a->source->trace, 0, address);

	if (!m || m->gpu == NVS_NONE)
		return;
	row->gpus |= row->gpu != NVS_NONE && row->gpu != m->gpu;
	row->gpu = m->gpu;
}

/* ---- from the beginning of an allocation to its end ---- */

/* Of memory that was allocated before a trace on demand: the call is not in the trace. */
static const struct nvs_call_api unknown_api = {.name = ""};

/* Unlinks M from the stack of its place. */
static void unlink_place(struct nvs_alloc *m)
{
	struct nvs_alloc **at = m->place ? &m->place->top : NULL;

	while (at && *at && *at != m)
		at = &(*at)->older;
	if (at && *at)
		*at = m->older;
	m->place = NULL;
}

/* Adds M, at ADDRESS, to the ranges by address. */
static void add_range(struct nvs_allocs *a, struct nvs_alloc *m, struct place_key key)
{
	const struct nvs_memory_range range = {
		.address = key.value,
		.bytes = m->bytes,
		.kind = (uint32_t)m->row->key.kind,
		.made = {.api = m->api == &unknown_api ? NULL : m->api,
			 .time = m->end,
			 .thread = m->thread,
			 .stack = m->stack}};

	if (a->ranges && (key.space == ADDRESS || key.space == MAPPED) &&
	    range.kind != NVS_ALLOC_RESERVED)
		m->range = nvs_memory_ranges_add(a->ranges, &range);
}

static void end_range(struct nvs_allocs *a, const struct nvs_alloc *m, uint64_t at, bool seen)
{
	struct nvs_memory_call by = {.time = at, .stack = NVS_NONE};

	if (!m->range)
		return;
	if (seen && a->now) {
		by.api = a->now->api;
		by.thread = a->now->thread;
		by.stack = a->now->stack;
	}
	nvs_memory_ranges_end(a->ranges, m->range, &by);
}

/* Ends M and frees it; WAS is the reason. Its counts remain in its row. */
static int end_alloc(struct nvs_allocs *a, struct nvs_alloc *m, uint64_t at, int last_end)
{
	const struct nvs_alloc_group ended = {
		.key = {m->api, NVS_ALLOC_ENDED, (uint32_t)m->row->key.kind, m->stack, 0}};
	int r = 0;

	end_range(a, m, at, last_end != NEVER);
	if (m->place)
		m->place->last_end = last_end;
	unlink_place(m);
	*m->link = m->next;
	if (m->next)
		m->next->link = m->link;
	if (m->selected) {
		count_bytes(a, m, at, false);
		m->row->live--;
		m->row->frees += last_end == FREED;
		m->row->ended += last_end == ENDED;
		if (last_end == ENDED && m->row->key.kind != NVS_ALLOC_VIEW)
			r = count_group(a, &ended, m->bytes, m->sized);
	}
	free(m);
	return r;
}

/* Ends M, which was freed by a call that was not recorded. Its mappings stay live. */
static int end_unseen(struct nvs_allocs *a, struct nvs_alloc *m, uint64_t at)
{
	if (!m->maps)
		return end_alloc(a, m, at, NEVER);
	m->refs = 0;
	unlink_place(m);
	return 0;
}

/* Returns true if BY is a call around the one that recorded M. */
static bool is_recorded_again(const struct nvs_alloc *m, const struct nvs_alloc_by *by)
{
	return m && m->thread == by->thread && m->begin > by->begin;
}

static void init_alloc(struct nvs_alloc *m, const struct nvs_alloc_by *by,
		       struct nvs_alloc_place *p, struct nvs_alloc_row *row)
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

/* Adds an allocation. BYTES is UINT64_MAX if unknown. *MADE is NULL if it was recorded already. */
static int add_alloc(struct nvs_allocs *a, const struct nvs_alloc_by *by, enum nvs_alloc_kind kind,
		     struct place_key key, uint64_t bytes, struct nvs_alloc **made)
{
	struct nvs_alloc_place *p = make_place(a, key.value, (enum handle_space)key.space);
	struct nvs_alloc_row *row = find_row(a, by->context, kind);
	struct nvs_alloc *m;
	int r = 0;

	*made = NULL;
	if (!p || !row)
		return -ENOMEM;
	if (is_recorded_again(p->top, by))
		return 0;
	/* Another thread may be about to free the one below. A third one must have been freed
	 * unseen. */
	if (p->top && p->top->older)
		r = end_unseen(a, p->top->older, by->end);
	m = r ? NULL : calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	init_alloc(m, by, p, row);
	m->sized = bytes != UINT64_MAX;
	m->bytes = m->sized ? bytes : 0;
	*made = m;
	add_range(a, m, key);
	if (!m->selected)
		return 0;
	row->allocs++;
	row->live++;
	row->bytes += m->bytes;
	row->sizeless += !m->sized;
	count_bytes(a, m, by->end, true);
	return 0;
}

int nvs_allocs_add(struct nvs_allocs *a, const struct nvs_alloc_by *by, enum nvs_alloc_kind kind,
		   uint64_t address, uint64_t bytes)
{
	struct nvs_alloc *made;
	int r = add_alloc(a, by, kind, (struct place_key){address, ADDRESS}, bytes, &made);

	if (r || !made)
		return r;
	note_gpu(a, made->row, address);
	a->on_alloc(a->arg, address);
	return 0;
}

/* Finds the allocation at P that the free BY refers to. The driver may hand out an address before
 * another thread's free of it has returned; that free then refers to the older allocation. */
static struct nvs_alloc *find_freed(const struct nvs_alloc_place *p, const struct nvs_alloc_by *by)
{
	struct nvs_alloc *m = p ? p->top : NULL;

	return m && m->older && by->begin < m->end ? m->older : m;
}

static int free_one(struct nvs_allocs *a, const struct nvs_alloc_by *by, struct nvs_alloc *m)
{
	struct nvs_alloc_place *p = m->place;
	/* An older allocation that was not meant was freed unseen. */
	struct nvs_alloc *older = p->top == m ? m->older : NULL;
	int r = older ? end_unseen(a, older, by->end) : 0;

	if (!r)
		r = end_alloc(a, m, by->end, FREED);
	drop_place(a, p);
	return r;
}

int nvs_allocs_remove(struct nvs_allocs *a, const struct nvs_alloc_by *by, uint64_t address,
		      bool again, bool *found)
{
	struct nvs_alloc *m = find_freed(find_place(a, address, ADDRESS), by);

	*found = m && (!again || m->row->key.kind == NVS_ALLOC_GRAPH);
	return *found ? free_one(a, by, m) : 0;
}

/* ---- physical memory: it lives as long as it has a handle or a mapping ---- */

static int drop_memory(struct nvs_allocs *a, uint64_t at, struct nvs_alloc *m)
{
	if (m->refs)
		return 0;
	/* The handle may be reused for other memory. */
	if (m->place)
		m->place->last_end = FREED;
	unlink_place(m);
	return m->maps ? 0 : end_alloc(a, m, at, FREED);
}

static int unmap_one(struct nvs_allocs *a, const struct nvs_alloc_by *by, struct nvs_alloc *m)
{
	struct nvs_alloc *memory = m->memory;
	int r = free_one(a, by, m);

	memory->maps--;
	return r ? r : drop_memory(a, by->end, memory);
}

static int unmap_range(struct nvs_allocs *a, const struct nvs_alloc_by *by, uint64_t at,
		       uint64_t size)
{
	uint64_t end = at + size < at ? UINT64_MAX : at + size, bytes = 1;
	int r = 0;

	while (at < end && bytes && !r) {
		struct nvs_alloc_place *p = find_place(a, at, MAPPED);

		if (!p || !p->top)
			break;
		bytes = p->top->bytes;
		at = at + bytes < at ? end : at + bytes;
		r = unmap_one(a, by, p->top);
	}
	return r;
}

/* Takes the size of imported memory, which is unknown otherwise, from its mapping. */
static void set_size(struct nvs_allocs *a, struct nvs_alloc *memory, uint64_t at, uint64_t size)
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

static int map_memory(struct nvs_allocs *a, const struct nvs_alloc_by *by,
		      const struct nvs_call *call, uint64_t address)
{
	struct nvs_alloc_place *p = find_place(a, address, MAPPED);
	struct nvs_alloc *memory, *made;
	uint64_t handle, size;
	int r = p && p->top ? unmap_one(a, by, p->top) : 0;

	if (r || !nvs_call_value(call, NVS_ARG_handle, &handle) ||
	    !nvs_call_value(call, NVS_ARG_size, &size))
		return r;
	p = find_place(a, handle, PHYSICAL);
	memory = p ? p->top : NULL;
	if (!memory || memory->row->key.kind == NVS_ALLOC_VIEW)
		return 0;
	r = add_alloc(a, by, NVS_ALLOC_VIEW, (struct place_key){address, MAPPED}, size, &made);
	if (r || !made)
		return r;
	made->memory = memory;
	memory->maps++;
	set_size(a, memory, by->end, size);
	return 0;
}

/* The memory becomes accessible to GPUs with this call. */
static void set_accessible(struct nvs_allocs *a, uint64_t address)
{
	const struct nvs_alloc_place *p = find_place(a, address, MAPPED);

	if (!p || !p->top)
		return;
	note_gpu(a, p->top->memory->row, address);
	a->on_alloc(a->arg, address);
}

/* cuMemRetainAllocationHandle: by handle, or by the address of a mapping whose handle was
 * released. */
static int retain_handle(struct nvs_allocs *a, const struct nvs_call *call, uint64_t handle)
{
	struct nvs_alloc_place *mapped, *p = find_place(a, handle, PHYSICAL);
	struct nvs_alloc *m = p ? p->top : NULL;
	uint64_t at;

	if (!m && nvs_call_value(call, NVS_ARG_addr, &at)) {
		mapped = find_place(a, at, MAPPED);
		m = mapped && mapped->top ? mapped->top->memory : NULL;
		p = m ? make_place(a, handle, PHYSICAL) : NULL;
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

static int release_handle(struct nvs_allocs *a, const struct nvs_alloc_by *by, struct nvs_alloc *m)
{
	m->refs -= m->refs > 0;
	return drop_memory(a, by->end, m);
}

/* ---- contexts ---- */

/* Kinds that are destroyed with their context. The others belong to the process or to a pool. */
static const enum nvs_alloc_kind context_kinds[] = {NVS_ALLOC_DEVICE,	  NVS_ALLOC_ARRAY,
						    NVS_ALLOC_MANAGED,	  NVS_ALLOC_HOST,
						    NVS_ALLOC_REGISTERED, NVS_ALLOC_IMPORTED};

static int end_context(struct nvs_allocs *a, uint64_t context, uint64_t at)
{
	int r = 0;

	for (size_t i = 0; context && i < sizeof(context_kinds) / sizeof(*context_kinds) && !r;
	     i++) {
		struct nvs_alloc_row *row = find_row(a, context, context_kinds[i]);
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

static int follow_primary(struct nvs_allocs *a, const struct nvs_call *call)
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

/* The kind of memory that a role allocates. */
static const struct alloc_role {
	uint8_t kind, space;
	bool allocates;
} alloc_roles[NVS_CALL_ROLES] = {
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

/* The space from which a role frees; UINT32_MAX if it does not free. */
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

/* Counts a failed call by the kind it asked for, or by what it tried to free. */
static int count_failed(struct nvs_allocs *a, const struct nvs_call *call,
			const struct nvs_alloc_by *by, uint64_t address)
{
	const struct alloc_role *alloc_role = alloc_roles + call->api->role;
	uint32_t space = space_freed(call->api->role);
	struct nvs_alloc_group what = {
		.key = {call->api, NVS_ALLOC_FAILED, alloc_role->kind, call->stack, call->result}};
	const struct nvs_alloc_place *p;
	struct nvs_alloc_row *row;
	uint64_t bytes = UINT64_MAX;

	if (!by->selected || (!alloc_role->allocates && (space == UINT32_MAX || !address)))
		return 0;
	if (alloc_role->allocates) {
		row = find_row(a, by->context, alloc_role->kind);
		if (!row)
			return -ENOMEM;
		row->failed++;
		bytes = nvs_alloc_size(a->source->trace, call, 0);
	} else {
		p = find_place(a, address, space);
		what.key.kind = NVS_ALLOC_KINDS;
		if (p && p->top) {
			p->top->row->failed_frees++;
			what.key.kind = (uint32_t)p->top->row->key.kind;
		} else if (!p || p->last_end == FREED) {
			what.key.what = p ? NVS_ALLOC_DOUBLE_FREE : NVS_ALLOC_UNKNOWN_FREE;
		}
	}
	return count_group(a, &what, bytes == UINT64_MAX ? 0 : bytes, bytes != UINT64_MAX);
}

static int follow_free(struct nvs_allocs *a, const struct nvs_call *call,
		       const struct nvs_alloc_by *by, uint64_t address, uint32_t space)
{
	const struct nvs_alloc_group unseen = {
		.key = {call->api, NVS_ALLOC_UNSEEN_FREE, NVS_ALLOC_KINDS, call->stack, 0}};
	struct nvs_alloc *m = find_freed(find_place(a, address, space), by);

	if (!m)
		return by->selected ? count_group(a, &unseen, 0, false) : 0;
	return space == PHYSICAL ? release_handle(a, by, m) : free_one(a, by, m);
}

static int follow_success(struct nvs_allocs *a, const struct nvs_call *call,
			  const struct nvs_alloc_by *by, uint64_t address)
{
	const struct alloc_role *alloc_role = alloc_roles + call->api->role;
	uint32_t space = space_freed(call->api->role);
	struct place_key key = {address, alloc_role->space};
	struct nvs_alloc_by process = *by;
	struct nvs_alloc *made;
	uint64_t bytes;

	if (space != UINT32_MAX)
		return follow_free(a, call, by, address, space);
	switch (call->api->role) {
	case NVS_CALL_ROLE_MAP:
		return map_memory(a, by, call, address);
	case NVS_CALL_ROLE_UNMAP:
		return nvs_call_value(call, NVS_ARG_size, &bytes)
			       ? unmap_range(a, by, address, bytes)
			       : 0;
	case NVS_CALL_ROLE_RETAIN:
		return retain_handle(a, call, address);
	case NVS_CALL_ROLE_ACCESS:
		set_accessible(a, address);
		return 0;
	}
	if (!alloc_role->allocates)
		return 0;
	bytes = nvs_alloc_size(a->source->trace, call, address);
	if (alloc_role->space == ADDRESS)
		return nvs_allocs_add(a, by, alloc_role->kind, address, bytes);
	/* Handles of imported memory outlive all contexts. */
	process.context = call->api->role == NVS_CALL_ROLE_ALLOC_IMPORT ? 0 : by->context;
	return add_alloc(a, &process, alloc_role->kind, key, bytes, &made);
}

static int follow_context(struct nvs_allocs *a, const struct nvs_call *call)
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
		return follow_primary(a, call);
	}
	return 0;
}

static int follow_call(struct nvs_allocs *a, const struct nvs_call *call,
		       const struct nvs_alloc_by *by)
{
	uint64_t address;
	int r;

	if (nvs_alloc_graphs_call(a, call, by, &r))
		return r;
	/* Freeing address 0 succeeds and frees nothing. */
	if (!nvs_call_value(call, NVS_ARG_address, &address) || (!address && !call->result))
		address = 0;
	if (call->result)
		return count_failed(a, call, by, address);
	return address ? follow_success(a, call, by, address) : follow_context(a, call);
}

int nvs_allocs_call(struct nvs_allocs *a, const struct nvs_call *call)
{
	struct nvs_alloc_by by = {.api = call->api,
				  .begin = call->begin,
				  .end = call->end,
				  .thread = call->thread,
				  .stack = call->stack};
	int r;

	if (!nvs_call_may_allocate(call))
		return 0;
	r = nvs_contexts_call(&a->contexts, call, &by.context);
	if (r || !call->end || call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED))
		return r;
	by.selected = nvs_filter_call(a->source, call);
	a->now = &by;
	r = follow_call(a, call, &by);
	a->now = NULL;
	return r;
}

/* ---- what was allocated before a trace on demand ---- */

static enum handle_space space_of(uint32_t kind)
{
	switch (kind) {
	case NVS_ALLOC_ARRAY:
		return ARRAY;
	case NVS_ALLOC_PHYSICAL:
	case NVS_ALLOC_IMPORTED:
		return PHYSICAL;
	case NVS_ALLOC_EXTERNAL:
		return EXTERNAL;
	default:
		return ADDRESS;
	}
}

/* It was freed before the window; a free in the window may have been recorded before this. */
static int drop_earlier(struct nvs_allocs *a, const struct nvs_rec_allocation *rec)
{
	const struct nvs_alloc_place *p = find_place(a, rec->address, space_of(rec->kind));

	return p && p->top && p->top->api == &unknown_api ? end_unseen(a, p->top, rec->rec.time)
							  : 0;
}

int nvs_allocs_record(struct nvs_allocs *a, const struct nvs_rec *record)
{
	const struct nvs_rec_allocation *rec = (const void *)record;
	struct nvs_alloc_by by;
	struct nvs_alloc *made;
	int r;

	if (record->type != NVS_REC_ALLOCATION || rec->kind >= NVS_ALLOC_VIEW)
		return 0;
	if (record->flags & NVS_ALLOCATION_GONE)
		return drop_earlier(a, rec);
	by = (struct nvs_alloc_by){.api = &unknown_api,
				   .context = rec->context,
				   .begin = rec->at,
				   .end = record->time,
				   .thread = NVS_NONE,
				   .stack = rec->stack,
				   .selected = true};
	r = add_alloc(a, &by, (enum nvs_alloc_kind)rec->kind,
		      (struct place_key){rec->address, space_of(rec->kind)}, rec->bytes, &made);
	if (r || !made || space_of(rec->kind) != ADDRESS)
		return r;
	note_gpu(a, made->row, rec->address);
	a->on_alloc(a->arg, rec->address);
	return 0;
}

/* ---- begin and end ---- */

static void ignore_address(void *arg, uint64_t address)
{
}

void nvs_allocs_begin(struct nvs_allocs *a, const struct nvs_source *s)
{
	*a = (struct nvs_allocs){.source = s,
				 .rows = NVS_ROWS(struct nvs_alloc_row, key),
				 .groups = NVS_ROWS(struct nvs_alloc_group, key),
				 .devices = NVS_ROWS(struct device, dev),
				 .on_alloc = ignore_address};
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

			/* An allocation that is not on top was freed unseen. */
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
