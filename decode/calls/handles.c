/* SPDX-License-Identifier: MIT */
/* Maintains the meaning of handles of functions, graphs and executable graphs in trace order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/base/keyed_rows.h"
#include "decode/trace/records.h"
#include "decode/calls/args.h"
#include "decode/calls/handles.h"

/* A handle of any kind, and its current meaning. */
struct meaning {
	uint64_t key[2]; /* handle, kind */
	union {
		struct nvs_kernel *kernel;
		struct nvs_exec *exec;
		enum nvs_graph_origin origin;
	};
};

enum { KIND_FUNCTION = 1, KIND_EXEC, KIND_GRAPH };

struct named_kernel {
	struct nvs_kernel kernel;
	UT_hash_handle hh;
	char text[];
};

struct nvs_handles {
	struct nvs_rows meanings;
	struct named_kernel *names;
	struct nvs_kernel **kernels;
	struct nvs_exec **execs;
	uint32_t nkernels, kernel_room, nexecs, exec_room;
	struct nvs_exec_watch watch;
};

struct nvs_handles *nvs_handles_new(void)
{
	struct nvs_handles *h = calloc(1, sizeof(*h));

	if (h)
		h->meanings = NVS_ROWS(struct meaning, key);
	return h;
}

void nvs_handles_watch(struct nvs_handles *h, nvs_exec_changing_fn *changes, void *arg)
{
	h->watch = (struct nvs_exec_watch){changes, arg};
}

void nvs_handles_free(struct nvs_handles *h)
{
	if (!h)
		return;
	nvs_rows_free(&h->meanings, NULL);
	HASH_CLEAR(hh, h->names);
	for (uint32_t i = 0; i < h->nkernels; i++)
		free(h->kernels[i]);
	for (uint32_t i = 0; i < h->nexecs; i++)
		nvs_exec_free(h->execs[i]);
	free(h->kernels);
	free(h->execs);
	free(h);
}

static struct meaning *find_meaning(struct nvs_handles *h, uint64_t handle, uint64_t kind)
{
	const uint64_t key[] = {handle, kind};

	return nvs_rows_find(&h->meanings, key);
}

static struct meaning *make_meaning(struct nvs_handles *h, uint64_t handle, uint64_t kind)
{
	const uint64_t key[] = {handle, kind};

	return nvs_rows_at(&h->meanings, key);
}

/* ---- functions ---- */

static struct nvs_kernel *get_kernel_by_name(struct nvs_handles *h, const char *name, size_t length,
					     uint64_t handle)
{
	struct named_kernel *n = NULL;
	struct nvs_kernel **own;

	if (length)
		HASH_FIND(hh, h->names, name, length, n);
	if (n)
		return &n->kernel;
	n = calloc(1, sizeof(*n) + length + 1);
	own = n ? NVS_APPEND(h->kernels, h->nkernels, h->kernel_room, 64, UINT32_MAX) : NULL;
	if (!own) {
		free(n);
		return NULL;
	}
	*own = &n->kernel;
	if (length)
		memcpy(n->text, name, length);
	n->kernel.name = n->text;
	n->kernel.handle = handle;
	n->kernel.index = h->nkernels - 1;
	if (length)
		HASH_ADD_KEYPTR(hh, h->names, n->text, length, n);
	return &n->kernel;
}

struct nvs_kernel *nvs_handles_get_kernel(struct nvs_handles *h, uint64_t function)
{
	struct meaning *m = make_meaning(h, function, KIND_FUNCTION);

	if (m && !m->kernel)
		m->kernel = get_kernel_by_name(h, "", 0, function);
	return m ? m->kernel : NULL;
}

static int name_handle(struct nvs_handles *h, uint64_t handle, const char *name, size_t length)
{
	struct meaning *m = make_meaning(h, handle, KIND_FUNCTION);

	if (!m)
		return -ENOMEM;
	m->kernel = get_kernel_by_name(h, name, length, handle);
	return m->kernel ? 0 : -ENOMEM;
}

int nvs_handles_kernel(struct nvs_handles *h, const struct nvs_rec_kernel *rec)
{
	const char *name = nvs_record_tail(&rec->rec, rec->length);
	size_t length = strnlen(name, rec->length);
	struct nvs_kernel *k;

	if (length && name_handle(h, rec->function, name, length))
		return -ENOMEM;
	k = nvs_handles_get_kernel(h, rec->function);
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

uint32_t nvs_handles_kernel_count(const struct nvs_handles *h)
{
	return h->nkernels;
}

struct nvs_kernel *nvs_handles_kernel_at(const struct nvs_handles *h, uint32_t index)
{
	return h->kernels[index];
}

/* ---- graphs ---- */

static struct nvs_exec *new_exec(struct nvs_handles *h, uint64_t handle)
{
	struct nvs_exec *e = calloc(1, sizeof(*e)), **own = NULL;

	if (e)
		own = NVS_APPEND(h->execs, h->nexecs, h->exec_room, 64, UINT32_MAX);
	if (!own) {
		free(e);
		return NULL;
	}
	e->handle = handle;
	e->index = h->nexecs - 1;
	*own = e;
	return e;
}

struct nvs_exec *nvs_handles_get_exec(struct nvs_handles *h, uint64_t handle)
{
	struct meaning *m = make_meaning(h, handle, KIND_EXEC);

	if (m && !m->exec)
		m->exec = new_exec(h, handle);
	return m ? m->exec : NULL;
}

uint32_t nvs_handles_exec_count(const struct nvs_handles *h)
{
	return h->nexecs;
}

struct nvs_exec *nvs_handles_exec_at(const struct nvs_handles *h, uint32_t index)
{
	return h->execs[index];
}

static enum nvs_graph_origin find_origin(struct nvs_handles *h, uint64_t graph)
{
	struct meaning *m = find_meaning(h, graph, KIND_GRAPH);

	return m ? m->origin : NVS_GRAPH_FROM_UNKNOWN;
}

int nvs_handles_graph(struct nvs_handles *h, const struct nvs_rec_graph *rec)
{
	struct meaning *m = make_meaning(h, rec->exec, KIND_EXEC);

	if (!m)
		return -ENOMEM;
	if (!m->exec || (rec->event == NVS_GRAPH_INSTANTIATED && !rec->first)) {
		m->exec = new_exec(h, rec->exec);
		if (!m->exec)
			return -ENOMEM;
		m->exec->graph = rec->graph;
		m->exec->origin = find_origin(h, rec->graph);
	}
	return nvs_exec_record(m->exec, rec, &h->watch);
}

static int add_edges(struct nvs_handles *h, const struct nvs_rec_graph_edges *rec)
{
	struct meaning *m = find_meaning(h, rec->exec, KIND_EXEC);

	return m && m->exec ? nvs_exec_edges(m->exec, rec) : 0;
}

int nvs_handles_record(struct nvs_handles *h, const struct nvs_rec *rec)
{
	if (rec->type == NVS_REC_KERNEL)
		return nvs_handles_kernel(h, (const void *)rec);
	if (rec->type == NVS_REC_GRAPH_EDGES)
		return add_edges(h, (const void *)rec);
	return rec->type == NVS_REC_GRAPH ? nvs_handles_graph(h, (const void *)rec) : 0;
}

/* ---- calls ---- */

static int set_origin(struct nvs_handles *h, uint64_t graph, enum nvs_graph_origin origin)
{
	struct meaning *m = make_meaning(h, graph, KIND_GRAPH);

	if (!m)
		return -ENOMEM;
	m->origin = origin;
	return 0;
}

/* Uses the name in the call that created the handle, for drivers that cannot be asked for it. */
static int take_name(struct nvs_handles *h, const struct nvs_call *call)
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
	return name_handle(h, handle, name + 1, n - 2);
}

/* The function of a library's kernel in one context has the kernel's name. */
static int take_kernel(struct nvs_handles *h, const struct nvs_call *call)
{
	uint64_t handle, function;
	struct meaning *kernel;

	if (!nvs_call_value(call, NVS_ARG_function, &function) ||
	    !nvs_call_value(call, NVS_ARG_kernel, &handle))
		return 0;
	kernel = find_meaning(h, handle, KIND_FUNCTION);
	if (!kernel || !kernel->kernel || !kernel->kernel->name[0])
		return 0;
	return name_handle(h, function, kernel->kernel->name, strlen(kernel->kernel->name));
}

static int take_graph(struct nvs_handles *h, const struct nvs_call *call)
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
		origin = find_origin(h, original);
	}
	return set_origin(h, graph, origin);
}

int nvs_handles_call(struct nvs_handles *h, const struct nvs_call *call)
{
	if (call->result || !call->end)
		return 0;
	switch (call->api->role) {
	case NVS_CALL_ROLE_GRAPH_CREATE:
	case NVS_CALL_ROLE_GRAPH_CLONE:
	case NVS_CALL_ROLE_GRAPH_CAPTURE:
		return take_graph(h, call);
	case NVS_CALL_ROLE_KERNEL_FUNCTION:
		return take_kernel(h, call);
	case NVS_CALL_ROLE_FUNCTION_NAME:
		return take_name(h, call);
	}
	return 0;
}
