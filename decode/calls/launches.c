/* SPDX-License-Identifier: MIT */
/* Follows what function, graph and executable-graph handles mean through a trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/trace/records.h"
#include "decode/calls/args.h"
#include "decode/calls/launches.h"

#define MAX_NODES (1u << 22) /* of one executable graph */
#define MAX_SAME 64u /* nodes of one handle in it that change together; the driver makes no two */

/* A handle of any kind and what stands for it now. */
struct meaning {
	struct {
		uint64_t handle;
		uint64_t kind;
	} key;
	union {
		struct nvs_kernel *kernel;
		struct nvs_exec *exec;
		enum nvs_graph_origin origin;
	};
	UT_hash_handle hh;
};

enum { KIND_FUNCTION = 1, KIND_EXEC, KIND_GRAPH, KIND_NAMED };

struct named {
	struct nvs_kernel kernel;
	UT_hash_handle hh;
	char text[];
};

struct nvs_launches {
	struct meaning *meanings;
	struct named *names;
	struct nvs_kernel **kernels;
	struct nvs_exec **execs;
	uint32_t nkernels, kernel_room, nexecs, exec_room;
	void (*changes)(void *arg, struct nvs_exec *exec, uint32_t index);
	void *arg;
};

struct nvs_launches *nvs_launches_new(void)
{
	return calloc(1, sizeof(struct nvs_launches));
}

void nvs_launches_watch(struct nvs_launches *l,
			void (*changes)(void *arg, struct nvs_exec *exec, uint32_t index),
			void *arg)
{
	l->changes = changes;
	l->arg = arg;
}

static void will_change(const struct nvs_launches *l, struct nvs_exec *e, uint32_t index)
{
	if (l->changes)
		l->changes(l->arg, e, index);
}

static void forget_places(struct nvs_exec *e);

void nvs_launches_free(struct nvs_launches *l)
{
	struct meaning *m, *next;

	if (!l)
		return;
	HASH_ITER(hh, l->meanings, m, next) {
		HASH_DEL(l->meanings, m);
		free(m);
	}
	HASH_CLEAR(hh, l->names);
	for (uint32_t i = 0; i < l->nkernels; i++)
		free(l->kernels[i]);
	for (uint32_t i = 0; i < l->nexecs; i++) {
		free(l->execs[i]->nodes);
		forget_places(l->execs[i]);
		free(l->execs[i]);
	}
	free(l->kernels);
	free(l->execs);
	free(l);
}

static struct meaning *find(struct nvs_launches *l, uint64_t handle, uint64_t kind)
{
	struct meaning *m, key;

	memset(&key, 0, sizeof(key));
	key.key.handle = handle;
	key.key.kind = kind;
	HASH_FIND(hh, l->meanings, &key.key, sizeof(key.key), m);
	return m;
}

static struct meaning *get(struct nvs_launches *l, uint64_t handle, uint64_t kind)
{
	struct meaning *m = find(l, handle, kind);

	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->key.handle = handle;
	m->key.kind = kind;
	HASH_ADD(hh, l->meanings, key, sizeof(m->key), m);
	if (find(l, handle, kind) == m)
		return m;
	free(m);
	return NULL;
}

static bool room_for(void **list, uint32_t used, uint32_t *room)
{
	void *more;

	if (used < *room)
		return true;
	more = realloc(*list, (*room ? *room * 2 : 64) * sizeof(void *));
	if (!more)
		return false;
	*list = more;
	*room = *room ? *room * 2 : 64;
	return true;
}

/* ---- functions ---- */

static struct nvs_kernel *kernel_named(struct nvs_launches *l, const char *name, size_t length,
				       uint64_t handle)
{
	struct named *n = NULL;

	if (length)
		HASH_FIND(hh, l->names, name, length, n);
	if (n)
		return &n->kernel;
	n = calloc(1, sizeof(*n) + length + 1);
	if (!n || !room_for((void **)&l->kernels, l->nkernels, &l->kernel_room)) {
		free(n);
		return NULL;
	}
	if (length)
		memcpy(n->text, name, length);
	n->kernel.name = n->text;
	n->kernel.handle = handle;
	n->kernel.index = l->nkernels;
	l->kernels[l->nkernels++] = &n->kernel;
	if (length)
		HASH_ADD_KEYPTR(hh, l->names, n->text, length, n);
	return &n->kernel;
}

struct nvs_kernel *nvs_launches_of(struct nvs_launches *l, uint64_t function)
{
	struct meaning *m = get(l, function, KIND_FUNCTION);

	if (m && !m->kernel)
		m->kernel = kernel_named(l, "", 0, function);
	return m ? m->kernel : NULL;
}

static int name_handle(struct nvs_launches *l, uint64_t handle, const char *name, size_t length)
{
	struct meaning *m = get(l, handle, KIND_FUNCTION);

	if (!m)
		return -ENOMEM;
	m->kernel = kernel_named(l, name, length, handle);
	return m->kernel ? 0 : -ENOMEM;
}

int nvs_launches_kernel(struct nvs_launches *l, const struct nvs_rec_kernel *rec)
{
	const char *name = nvs_tail(&rec->rec, rec->length);
	size_t length = strnlen(name, rec->length);
	struct nvs_kernel *k;

	if (length && name_handle(l, rec->function, name, length))
		return -ENOMEM;
	k = nvs_launches_of(l, rec->function);
	if (!k)
		return -ENOMEM;
	if (rec->rec.flags & NVS_KERNEL_ATTRS) {
		k->has_attributes = true;
		k->registers = rec->registers;
		k->shared = rec->shared;
		k->local = rec->local;
		k->max_threads = rec->max_threads;
	}
	return 0;
}

uint32_t nvs_launches_kernel_count(const struct nvs_launches *l)
{
	return l->nkernels;
}

struct nvs_kernel *nvs_launches_kernel_at(const struct nvs_launches *l, uint32_t index)
{
	return l->kernels[index];
}

/* ---- graphs ---- */

static struct nvs_exec *new_exec(struct nvs_launches *l, uint64_t handle)
{
	struct nvs_exec *e;

	if (!room_for((void **)&l->execs, l->nexecs, &l->exec_room))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->handle = handle;
	e->index = l->nexecs;
	l->execs[l->nexecs++] = e;
	return e;
}

struct nvs_exec *nvs_launches_exec(struct nvs_launches *l, uint64_t handle)
{
	struct meaning *m = get(l, handle, KIND_EXEC);

	if (m && !m->exec)
		m->exec = new_exec(l, handle);
	return m ? m->exec : NULL;
}

uint32_t nvs_launches_exec_count(const struct nvs_launches *l)
{
	return l->nexecs;
}

struct nvs_exec *nvs_launches_exec_at(const struct nvs_launches *l, uint32_t index)
{
	return l->execs[index];
}

static int add_node(struct nvs_exec *e, const struct nvs_graph_node *node)
{
	void *more;

	if (e->nnodes == e->room) {
		if (e->room >= MAX_NODES)
			return -E2BIG;
		more = realloc(e->nodes, (e->room ? e->room * 2 : 2) * sizeof(*e->nodes));
		if (!more)
			return -ENOMEM;
		e->nodes = more;
		e->room = e->room ? e->room * 2 : 2;
	}
	e->nodes[e->nnodes++] = *node;
	return 0;
}

/* ---- nodes that change ---- */

struct nvs_node_place {
	uint64_t handle;
	uint32_t last; /* node of this handle */
	UT_hash_handle hh;
};

static void forget_places(struct nvs_exec *e)
{
	struct nvs_node_place *p, *next;

	HASH_ITER(hh, e->places, p, next) {
		HASH_DEL(e->places, p);
		free(p);
	}
	free(e->same);
	e->same = NULL;
	e->placed = e->same_room = 0;
}

static struct nvs_node_place *place_of(const struct nvs_exec *e, uint64_t handle)
{
	struct nvs_node_place *p;

	HASH_FIND(hh, e->places, &handle, sizeof(handle), p);
	return p;
}

static int place(struct nvs_exec *e, uint32_t i)
{
	struct nvs_node_place *p = place_of(e, e->nodes[i].node);

	e->same[i] = p ? p->last : NVS_NONE;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->handle = e->nodes[i].node;
		HASH_ADD(hh, e->places, handle, sizeof(p->handle), p);
		if (place_of(e, p->handle) != p) {
			free(p);
			return -ENOMEM;
		}
	}
	p->last = i;
	return 0;
}

/* Those that have come since the last look-up. */
static int place_nodes(struct nvs_exec *e)
{
	int r = 0;

	if (!e->placed && !nvs_exec_may(e, e->nnodes))
		return 0;
	if (e->same_room < e->room) {
		void *more = realloc(e->same, e->room * sizeof(*e->same));

		if (!more)
			return -ENOMEM;
		e->same = more;
		e->same_room = e->room;
	}
	for (; e->placed < e->nnodes && !r; e->placed += !r)
		r = place(e, e->placed);
	return r;
}

static void change(struct nvs_graph_node *into, const struct nvs_graph_node *node)
{
	if (node->type == UINT32_MAX) {
		into->flags &= ~NVS_NODE_DISABLED;
		into->flags |= node->flags & NVS_NODE_DISABLED;
		return;
	}
	into->function = node->function;
	into->bytes = node->bytes;
	memcpy(into->grid, node->grid, sizeof(node->grid));
	memcpy(into->block, node->block, sizeof(node->block));
	into->shared = node->shared;
}

/* A node of an executable graph got other parameters, or was switched on or off. */
static int set_node(struct nvs_launches *l, struct nvs_exec *e, const struct nvs_graph_node *node)
{
	const struct nvs_node_place *p;
	uint32_t n = 0;
	int r = place_nodes(e);

	e->changes++;
	p = r ? NULL : place_of(e, node->node);
	for (uint32_t i = p ? p->last : NVS_NONE; i != NVS_NONE && n < MAX_SAME;
	     i = e->same[i], n++) {
		will_change(l, e, i);
		change(e->nodes + i, node);
	}
	return r;
}

static enum nvs_graph_origin origin_of(struct nvs_launches *l, uint64_t graph)
{
	struct meaning *m = find(l, graph, KIND_GRAPH);

	return m ? m->origin : NVS_GRAPH_FROM_UNKNOWN;
}

static bool changes_many(uint32_t event)
{
	return event == NVS_GRAPH_UPDATED || event == NVS_GRAPH_CHILD_SET;
}

int nvs_launches_graph(struct nvs_launches *l, const struct nvs_rec_graph *rec)
{
	const struct nvs_graph_node *nodes = nvs_tail(&rec->rec,
						      (uint64_t)rec->nnodes * sizeof(*nodes));
	struct meaning *m = get(l, rec->exec, KIND_EXEC);
	int r = 0;

	if (!m)
		return -ENOMEM;
	if (!m->exec || (rec->event == NVS_GRAPH_INSTANTIATED && !rec->first)) {
		m->exec = new_exec(l, rec->exec);
		if (!m->exec)
			return -ENOMEM;
		m->exec->graph = rec->graph;
		m->exec->origin = origin_of(l, rec->graph);
	}
	m->exec->given += rec->nnodes;
	if (rec->event == NVS_GRAPH_NODE_SET) {
		for (uint32_t i = 0; i < rec->nnodes && !r; i++)
			r = set_node(l, m->exec, nodes + i);
		return r;
	}
	if (!rec->first && changes_many(rec->event)) {
		forget_places(m->exec);
		nvs_exec_change_begins(m->exec);
		m->exec->updates += rec->event == NVS_GRAPH_UPDATED;
		m->exec->changes += rec->event == NVS_GRAPH_CHILD_SET;
	}
	for (uint32_t i = 0; i < rec->nnodes && !r; i++)
		r = add_node(m->exec, nodes + i);
	if (!r && rec->rec.flags & NVS_GRAPH_LAST && changes_many(rec->event)) {
		bool may = rec->event == NVS_GRAPH_UPDATED ||
			   nvs_exec_may(m->exec, m->exec->nnodes);

		if (may)
			will_change(l, m->exec, NVS_NONE);
		forget_places(m->exec);
		r = nvs_exec_change_ends(m->exec, rec->event, may);
	}
	m->exec->partial |= !!(rec->rec.flags & NVS_GRAPH_PARTIAL);
	return r;
}

int nvs_launches_record(struct nvs_launches *l, const struct nvs_rec *rec)
{
	if (rec->type == NVS_REC_KERNEL)
		return nvs_launches_kernel(l, (const void *)rec);
	return rec->type == NVS_REC_GRAPH ? nvs_launches_graph(l, (const void *)rec) : 0;
}

/* ---- calls ---- */

static int set_origin(struct nvs_launches *l, uint64_t graph, enum nvs_graph_origin origin)
{
	struct meaning *m = get(l, graph, KIND_GRAPH);

	if (!m)
		return -ENOMEM;
	m->origin = origin;
	return 0;
}

/* The name in the call that made the handle, for drivers that cannot be asked for it. */
static int take_name(struct nvs_launches *l, const struct nvs_call *call)
{
	char name[1100];
	uint64_t handle, whole;
	size_t n;

	if (!nvs_call_value(call, NVS_ARG_function, &handle) ||
	    !nvs_call_value(call, NVS_ARG_name, &whole))
		return 0;
	nvs_call_print(call, call->api->at[NVS_ARG_name] - 1u, name, sizeof(name));
	n = strlen(name);
	if (n < 3 || name[0] != '"' || name[n - 1] != '"')
		return 0;
	return name_handle(l, handle, name + 1, n - 2);
}

/* A library's kernel as a function of one context: it has the same name. */
static int take_kernel(struct nvs_launches *l, const struct nvs_call *call)
{
	uint64_t handle, function;
	struct meaning *kernel;

	if (!nvs_call_value(call, NVS_ARG_function, &function) ||
	    !nvs_call_value(call, NVS_ARG_kernel, &handle))
		return 0;
	kernel = find(l, handle, KIND_FUNCTION);
	if (!kernel || !kernel->kernel || !kernel->kernel->name[0])
		return 0;
	return name_handle(l, function, kernel->kernel->name, strlen(kernel->kernel->name));
}

static int take_graph(struct nvs_launches *l, const struct nvs_call *call)
{
	enum nvs_graph_origin origin = NVS_GRAPH_FROM_NODES;
	uint64_t graph, original;

	if (!nvs_call_value(call, NVS_ARG_graph, &graph))
		return 0;
	if (call->api->role == NVS_CALL_ROLE_GRAPH_CAPTURE)
		origin = NVS_GRAPH_FROM_CAPTURE;
	if (call->api->role == NVS_CALL_ROLE_GRAPH_CLONE) {
		if (!nvs_call_value(call, NVS_ARG_original, &original))
			return 0;
		origin = origin_of(l, original);
	}
	return set_origin(l, graph, origin);
}

int nvs_launches_call(struct nvs_launches *l, const struct nvs_call *call)
{
	if (call->result || !call->end)
		return 0;
	switch (call->api->role) {
	case NVS_CALL_ROLE_GRAPH_CREATE:
	case NVS_CALL_ROLE_GRAPH_CLONE:
	case NVS_CALL_ROLE_GRAPH_CAPTURE:
		return take_graph(l, call);
	case NVS_CALL_ROLE_KERNEL_FUNCTION:
		return take_kernel(l, call);
	case NVS_CALL_ROLE_FUNCTION_NAME:
		return take_name(l, call);
	}
	return 0;
}
