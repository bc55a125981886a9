/* SPDX-License-Identifier: MIT */
/*
 * Executable graphs: the launches of all kernels in a graph, its child graphs and conditional
 * bodies, in one sequence. Upload writes each launch's constants and descriptor, chained by
 * dependences; a graph launch is then a semaphore and a few scheduling calls. As in the real
 * driver, one or two launches have no head descriptor, more have an empty one, and from 8 on the
 * first and every 17th after it also wait for the host, except one that would be the last.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "push.h"

#define CHUNK 17
#define SHORTEST 8 /* minimum length for chunks */
#define QMD_STEP 0x200
#define CONSTS_STEP 0x700
#define SLOTS 4096 /* number of descriptors in the object at 0x4c00000 of a context's window */

/* A node of the source graph, or of a graph inside it. */
struct exec_node {
	CUgraphNode from; /* node that names it in the API */
	uint32_t parent; /* index + 1 of the enclosing child graph or conditional node */
	int type;
	bool disabled, skipped; /* skipped: the condition of its body is false */
	struct sg_launch launch;
};

struct CUgraphExec_st {
	struct sg_context *ctx;
	struct exec_node *all;
	uint32_t nall, kernels;
	uint32_t count,
		head; /* number of launches that run; head 1: an empty descriptor precedes them */
	const struct sg_launch **nodes;
	uint32_t slot; /* first descriptor: the head's or the first launch's */
	CUdeviceptr consts;
	uint32_t runs;
	bool uploaded;
};

/* ---- descriptors ---- */

static uint64_t qmd_va(const struct CUgraphExec_st *e, uint32_t slot)
{
	return e->ctx->base + 0x4c00000 + (e->slot + slot) * (uint64_t)QMD_STEP;
}

/* Launch I, counted from 0. */
static uint64_t node_va(const struct CUgraphExec_st *e, uint32_t i)
{
	return qmd_va(e, e->head + i);
}

static uint64_t semaphore(const struct CUgraphExec_st *e)
{
	return e->ctx->base + 0x4627ffc - (e->slot + e->head + e->count - 1) * 8ull;
}

static bool chunked(const struct CUgraphExec_st *e)
{
	return e->count >= SHORTEST;
}

/* True if launch I waits for the host in addition to the previous launch. */
static bool starts_chunk(const struct CUgraphExec_st *e, uint32_t i)
{
	return chunked(e) && i % CHUNK == 0 && (!i || i + 1 < e->count);
}

static void put_va(uint32_t *w, uint64_t va)
{
	w[0] = (uint32_t)va;
	w[1] = (uint32_t)(va >> 32);
}

/* Sets how a descriptor starts the next one. */
static void follow(uint32_t *w, uint64_t next, bool counted)
{
	w[11] |= counted ? 0x190000 : 0x130000;
	w[14] = (uint32_t)(next >> 8);
}

static uint32_t *push_node(struct CUgraphExec_st *e, uint32_t *p, uint32_t i)
{
	const struct sg_launch *l = e->nodes[i];
	uint64_t consts = e->consts + i * (uint64_t)CONSTS_STEP;
	uint32_t w[SG_CONSTS_WORDS];
	bool first = i == 0 && !e->head, last = i + 1 == e->count;

	sg_fill_consts(w, l, consts, node_va(e, i), sg_launch_number());
	p = push_upload(p, consts, w, SG_CONSTS_WORDS * 4);
	if (l->params_bytes)
		p = push_upload(p, consts + SG_CONSTS_WORDS * 4, l->params, l->params_bytes);
	sg_fill_qmd(w, l, consts);
	w[0] = (first ? 0x13f0000 : 0x413f0000) + (starts_chunk(e, i) ? 2 : 0);
	w[10] = last ? 0x13 : 0x10; /* RELEASE_ENABLE, one word, RED_ADD */
	w[11] = first && last ? 0 : first ? 0x40000000 : last ? 0x4000000 : 0x44000000;
	w[13] = first && last ? 0x10000013 : last ? 0x10000011 : 0x10500011;
	w[18] = (w[18] & 0xfffff) | 0x3c000000;
	w[35] = last ? 0x10000 : 0x30000;
	if (!last)
		follow(w, node_va(e, i + 1), starts_chunk(e, i + 1));
	put_va(w + 20, semaphore(e));
	w[22] = 1;
	p = push_upload(p, node_va(e, i), w, SG_QMD_WORDS * 4);
	return first ? p : sg_push_pcas(p, node_va(e, i), SG_PCAS_SCHEDULE);
}

static uint32_t *push_head(struct CUgraphExec_st *e, uint32_t *p)
{
	uint32_t w[SG_QMD_WORDS] = {0};

	w[0] = 0x13f0000;
	w[10] = 0x10;
	w[13] = 0x500000;
	follow(w, node_va(e, 0), chunked(e));
	w[16] = 0x90000000;
	w[17] = 0x3000640;
	w[18] = 0x3c000040;
	w[19] = 0x1e81;
	put_va(w + 20, semaphore(e));
	w[22] = 1;
	w[36] = 0x10001;
	w[37] = 0x8030001;
	return push_upload(p, qmd_va(e, 0), w, sizeof(w));
}

/* ---- upload and launch ---- */

static uint32_t node_words(const struct sg_launch *l)
{
	return push_upload_words(SG_CONSTS_WORDS * 4) + push_upload_words(l->params_bytes) +
	       push_upload_words(SG_QMD_WORDS * 4) + 8;
}

/* Pushes descriptors from last to first, then the head; chunks one after another. */
static uint32_t *push_all(struct CUgraphExec_st *e, uint32_t *p)
{
	uint32_t first = 0;

	if (chunked(e))
		p = push_node(e, p, first++);
	else
		for (uint32_t i = e->count; i-- > 0;)
			p = push_node(e, p, i);
	if (e->head)
		p = push_head(e, p);
	p = push1(p, SUBCH_COMPUTE, 0x1698, 0x1000);
	while (chunked(e) && first < e->count) {
		uint32_t next = (first / CHUNK + 1) * CHUNK,
			 end = starts_chunk(e, next) ? next : e->count;

		if (starts_chunk(e, next))
			p = push_node(e, p, next);
		for (uint32_t i = end; i-- > first;)
			p = push_node(e, p, i);
		first = next + 1;
	}
	return p;
}

LEVEL static CUresult upload(struct CUgraphExec_st *e, struct CUstream_st *s)
{
	uint32_t words = 128 + push_upload_words(SG_QMD_WORDS * 4), *p;

	for (uint32_t i = 0; i < e->count; i++)
		words += node_words(e->nodes[i]);
	p = sg_stream_begin(s, s->compute, words);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p = push_all(e, p);
	p = sg_push_progress(s->compute, p, 0);
	e->uploaded = true;
	return sg_stream_submit(s, s->compute, p);
}

static uint32_t *push_run(struct CUgraphExec_st *e, struct CUstream_st *s, uint32_t *p)
{
	uint32_t before = 5 + 4 * e->runs++, at;

	if (chunked(e))
		p = sg_push_pcas(p, qmd_va(e, 0), SG_PCAS_SCHEDULE);
	for (at = 0; starts_chunk(e, at + CHUNK); at += CHUNK)
		p = sg_push_pcas(p, node_va(e, at), SG_PCAS_DECREMENT);
	p = push_upload(p, semaphore(e), &before, 4);
	p = chunked(e) ? sg_push_pcas(p, node_va(e, at), SG_PCAS_DECREMENT)
		       : sg_push_pcas(p, qmd_va(e, 0), SG_PCAS_SCHEDULE);
	sg_stream_kernel(s, semaphore(e), before + 1);
	return p;
}

API CUresult cuGraphLaunch(CUgraphExec e, CUstream handle)
{
	struct CUstream_st *s = sg_stream(handle);
	CUresult r = CUDA_SUCCESS;
	uint32_t *p;

	if (!e || !s)
		return CUDA_ERROR_INVALID_HANDLE;
	if (s->capture.graph)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!e->count)
		return CUDA_SUCCESS;
	if (!e->uploaded)
		r = upload(e, s);
	if (r)
		return r;
	p = sg_stream_begin(s, s->compute, 64 + e->count / CHUNK * 4);
	if (!p)
		return sg_context_failed(s->ctx);
	p = push_run(e, s, p);
	p = sg_push_progress(s->compute, p, 4);
	return sg_stream_submit(s, s->compute, p);
}

API CUresult cuGraphUpload(CUgraphExec e, CUstream handle)
{
	struct CUstream_st *s = sg_stream(handle);

	if (!e || !s)
		return CUDA_ERROR_INVALID_HANDLE;
	return e->count && !e->uploaded ? upload(e, s) : CUDA_SUCCESS;
}

/* ---- contents ---- */

static uint32_t count_nodes(CUgraph g)
{
	uint32_t n = 0;

	for (CUgraphNode node = g->first; node; node = node->next)
		n += 1 + (node->child ? count_nodes(node->child) : 0);
	return n;
}

/* Appends G's nodes to ALL from index N on, each followed by its inner nodes. Returns the next free
 * index. */
static uint32_t flatten(CUgraph g, struct exec_node *all, uint32_t n, uint32_t parent, bool skipped)
{
	for (CUgraphNode node = g->first; node; node = node->next) {
		struct exec_node *to = &all[n++];

		*to = (struct exec_node){
			.from = node, .parent = parent, .type = node->type, .skipped = skipped};
		to->launch = node->launch;
		if (node->child)
			n = flatten(node->child, all, n, n,
				    skipped || (node->condition && !node->condition->value));
	}
	return n;
}

/* Determines the launches that run from now on. They are uploaded before the next launch. */
static CUresult arrange(struct CUgraphExec_st *e)
{
	CUresult r = e->uploaded ? cuCtxSynchronize() : CUDA_SUCCESS;

	e->count = 0;
	for (uint32_t i = 0; i < e->nall; i++)
		if (e->all[i].type == SG_NODE_KERNEL && !e->all[i].disabled && !e->all[i].skipped)
			e->nodes[e->count++] = &e->all[i].launch;
	e->head = e->count > 2;
	e->uploaded = false;
	return r;
}

/* A node and its inner nodes are consecutive: returns the index after the last one. */
static uint32_t end_of(const struct CUgraphExec_st *e, uint32_t i)
{
	uint32_t k = i + 1;

	while (k < e->nall && e->all[k].parent > i)
		k++;
	return k;
}

/* Copies G's launches to the nodes [AT, END) below PARENT. Returns false if G has another
 * structure. */
static bool take_over(struct CUgraphExec_st *e, uint32_t at, uint32_t end, uint32_t parent,
		      CUgraph g)
{
	uint32_t n = count_nodes(g);
	struct exec_node *other = calloc(n + 1, sizeof(*other));
	bool same = n == end - at;

	flatten(g, other, 0, 0, false);
	for (uint32_t i = 0; i < n && same; i++)
		same = other[i].type == e->all[at + i].type &&
		       (other[i].parent ? other[i].parent + at : parent) == e->all[at + i].parent;
	for (uint32_t i = 0; i < n && same; i++)
		e->all[at + i].launch = other[i].launch;
	free(other);
	return same;
}

static struct exec_node *find(struct CUgraphExec_st *e, CUgraphNode node, int type)
{
	for (uint32_t i = 0; e && i < e->nall; i++)
		if (e->all[i].from == node)
			return e->all[i].type == type ? &e->all[i] : NULL;
	return NULL;
}

API CUresult cuGraphExecUpdate_v2(CUgraphExec e, CUgraph g, CUgraphExecUpdateResultInfo *info)
{
	if (!e || !g)
		return CUDA_ERROR_INVALID_HANDLE;
	memset(info, 0, sizeof(*info));
	if (take_over(e, 0, e->nall, 0, g))
		return arrange(e);
	info->result = 2; /* TOPOLOGY_CHANGED */
	return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec e, CUgraphNode node,
					       const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct exec_node *n = find(e, node, SG_NODE_KERNEL);
	CUresult r = n ? sg_node_params(&n->launch, p) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : arrange(e);
}

API CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec e, CUgraphNode node, CUgraph child)
{
	struct exec_node *n = find(e, node, SG_NODE_GRAPH);
	uint32_t i = n ? (uint32_t)(n - e->all) : 0;

	if (!n || !child)
		return CUDA_ERROR_INVALID_VALUE;
	return take_over(e, i + 1, end_of(e, i), i + 1, child) ? arrange(e)
							       : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGraphExecNodeSetParams(CUgraphExec e, CUgraphNode node, CUgraphNodeParams *p)
{
	if (p->type == SG_NODE_GRAPH)
		return cuGraphExecChildGraphNodeSetParams(e, node, p->graph.graph);
	return p->type == SG_NODE_KERNEL ? cuGraphExecKernelNodeSetParams_v2(e, node, &p->kernel)
					 : CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuGraphNodeSetEnabled(CUgraphExec e, CUgraphNode node, unsigned enabled)
{
	struct exec_node *n = find(e, node, SG_NODE_KERNEL);

	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	n->disabled = !enabled;
	return arrange(e);
}

API CUresult cuGraphNodeGetEnabled(CUgraphExec e, CUgraphNode node, unsigned *enabled)
{
	struct exec_node *n = find(e, node, SG_NODE_KERNEL);

	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = !n->disabled;
	return CUDA_SUCCESS;
}

/* ---- life ---- */

/* Reserves N consecutive descriptors. */
static bool take_slots(struct sg_context *ctx, uint32_t n, uint32_t *slot)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		run = ctx->graph_used[i / 8] >> i % 8 & 1 ? 0 : run + 1;
		if (run < n)
			continue;
		*slot = i + 1 - n;
		for (uint32_t k = *slot; k <= i; k++)
			ctx->graph_used[k / 8] |= (uint8_t)(1 << k % 8);
		return true;
	}
	return false;
}

static void give_slots(struct sg_context *ctx, uint32_t n, uint32_t slot)
{
	for (uint32_t k = slot; k < slot + n; k++)
		ctx->graph_used[k / 8] &= (uint8_t) ~(1 << k % 8);
}

static bool take_room(struct CUgraphExec_st *e)
{
	bool ok;

	pthread_mutex_lock(&e->ctx->lock);
	ok = take_slots(e->ctx, e->kernels + 1, &e->slot);
	e->consts = ok ? sg_device_alloc(e->ctx, e->kernels * (uint64_t)CONSTS_STEP) : 0;
	if (ok && !e->consts)
		give_slots(e->ctx, e->kernels + 1, e->slot);
	pthread_mutex_unlock(&e->ctx->lock);
	return e->consts;
}

static void drop(struct CUgraphExec_st *e)
{
	free(e->nodes);
	free(e->all);
	free(e);
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
	struct sg_context *ctx = sg_current();
	struct CUgraphExec_st *e;

	if (!g || !ctx)
		return g ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_HANDLE;
	e = calloc(1, sizeof(*e));
	e->ctx = ctx;
	e->nall = count_nodes(g);
	e->all = calloc(e->nall + 1, sizeof(*e->all));
	e->nodes = calloc(e->nall + 1, sizeof(*e->nodes));
	flatten(g, e->all, 0, 0, false);
	for (uint32_t i = 0; i < e->nall; i++)
		e->kernels += e->all[i].type == SG_NODE_KERNEL;
	arrange(e);
	if (e->kernels && !take_room(e)) {
		drop(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = e;
	return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph g, void *params)
{
	return cuGraphInstantiateWithFlags(out, g, 0);
}

API CUresult cuGraphExecDestroy(CUgraphExec e)
{
	CUresult r;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	r = cuCtxSynchronize();
	pthread_mutex_lock(&e->ctx->lock);
	if (e->kernels) {
		give_slots(e->ctx, e->kernels + 1, e->slot);
		sg_device_free(e->ctx, e->consts);
	}
	pthread_mutex_unlock(&e->ctx->lock);
	drop(e);
	return r;
}
