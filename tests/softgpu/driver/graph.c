/* SPDX-License-Identifier: MIT */
/* Graphs, captured or built from nodes: kernels, child graphs, conditional nodes, empty nodes. */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

/* ---- nodes ---- */

static void add_edge(CUgraph g, CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
	g->edges = realloc(g->edges, (g->nedges + 1) * sizeof(*g->edges));
	g->edges[g->nedges++] = (struct sg_edge){from, to, data ? *data : (CUgraphEdgeData){0}};
}

/* Appends a node, which runs after all existing ones, with edges from the N nodes of AFTER. */
static CUgraphNode add(CUgraph g, int type, const CUgraphNode *after, size_t n)
{
	CUgraphNode node = calloc(1, sizeof(*node)), *at = &g->first;

	node->type = type;
	node->graph = g;
	while (*at)
		at = &(*at)->next;
	for (size_t i = 0; i < n; i++)
		add_edge(g, after[i], node, NULL);
	return *at = node;
}

static void free_node(CUgraphNode node)
{
	sg_graph_free(node->child);
	free(node);
}

void sg_graph_free(CUgraph g)
{
	while (g && g->first) {
		CUgraphNode node = g->first;

		g->first = node->next;
		free_node(node);
	}
	while (g && g->conditions) {
		struct sg_condition *c = g->conditions;

		g->conditions = c->next;
		free(c);
	}
	if (g)
		free(g->edges);
	free(g);
}

static CUgraphNode copy_of(CUgraph g, CUgraphNode original)
{
	CUgraphNode n = g->first;

	while (n && n->original != original)
		n = n->next;
	return n;
}

static bool copyable(CUgraph g)
{
	for (CUgraphNode node = g->first; node; node = node->next)
		if (node->condition || (node->child && !copyable(node->child)))
			return false;
	return true;
}

CUgraph sg_graph_copy(CUgraph g)
{
	CUgraph copy;

	if (!copyable(g))
		return NULL;
	copy = calloc(1, sizeof(*copy));
	for (CUgraphNode node = g->first; node; node = node->next) {
		CUgraphNode made = add(copy, node->type, NULL, 0);

		made->launch = node->launch;
		made->address = node->address;
		made->bytes = node->bytes;
		made->original = node;
		made->child = node->child ? sg_graph_copy(node->child) : NULL;
	}
	for (size_t i = 0; i < g->nedges; i++)
		add_edge(copy, copy_of(copy, g->edges[i].from), copy_of(copy, g->edges[i].to),
			 &g->edges[i].data);
	return copy;
}

CUresult sg_node_params(struct sg_launch *l, const CUDA_KERNEL_NODE_PARAMS *p)
{
	memset(l, 0, sizeof(*l));
	l->fn = p->func;
	l->grid[0] = p->gridDimX;
	l->grid[1] = p->gridDimY;
	l->grid[2] = p->gridDimZ;
	l->block[0] = p->blockDimX;
	l->block[1] = p->blockDimY;
	l->block[2] = p->blockDimZ;
	l->shared = p->sharedMemBytes;
	return l->fn ? sg_take_params(l, p->kernelParams, p->extra) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- building ---- */

API CUresult cuGraphCreate(CUgraph *g, unsigned flags)
{
	*g = calloc(1, sizeof(**g));
	return CUDA_SUCCESS;
}

API CUresult cuGraphDestroy(CUgraph g)
{
	if (!g)
		return CUDA_ERROR_INVALID_HANDLE;
	sg_graph_free(g);
	return CUDA_SUCCESS;
}

API CUresult cuGraphClone(CUgraph *clone, CUgraph g)
{
	if (!g)
		return CUDA_ERROR_INVALID_HANDLE;
	*clone = sg_graph_copy(g);
	return *clone ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone)
{
	*node = copy_of(clone, original);
	return *node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph g, const CUgraphNode *after,
				     size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct sg_launch l;
	CUresult r = sg_node_params(&l, p);

	if (r)
		return r;
	*node = add(g, SG_NODE_KERNEL, after, n);
	(*node)->launch = l;
	return CUDA_SUCCESS;
}

API CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph g, const CUgraphNode *after, size_t n)
{
	*node = add(g, SG_NODE_EMPTY, after, n);
	return CUDA_SUCCESS;
}

API CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph g, const CUgraphNode *after,
				      size_t n, CUgraph child)
{
	CUgraph copy = child ? sg_graph_copy(child) : NULL;

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	*node = add(g, SG_NODE_GRAPH, after, n);
	(*node)->child = copy;
	return CUDA_SUCCESS;
}

/* The memory is allocated immediately and never freed by this driver. */
API CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph g, const CUgraphNode *after,
				    size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct sg_context *ctx = sg_current();

	if (!ctx || !p->bytesize)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&ctx->lock);
	p->dptr = sg_device_alloc(ctx, p->bytesize);
	pthread_mutex_unlock(&ctx->lock);
	if (!p->dptr)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*node = add(g, SG_NODE_ALLOC, after, n);
	(*node)->address = p->dptr;
	(*node)->bytes = p->bytesize;
	return CUDA_SUCCESS;
}

API CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph g, const CUgraphNode *after, size_t n,
				   CUdeviceptr p)
{
	*node = add(g, SG_NODE_FREE, after, n);
	(*node)->address = p;
	return CUDA_SUCCESS;
}

API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	if (node->type != SG_NODE_ALLOC)
		return CUDA_ERROR_INVALID_VALUE;
	*p = (CUDA_MEM_ALLOC_NODE_PARAMS){.bytesize = node->bytes, .dptr = node->address};
	return CUDA_SUCCESS;
}

API CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *p)
{
	if (node->type != SG_NODE_FREE)
		return CUDA_ERROR_INVALID_VALUE;
	*p = node->address;
	return CUDA_SUCCESS;
}

/* The value given here applies to every launch. */
API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph g,
					    CUcontext ctx, unsigned value, unsigned flags)
{
	struct sg_condition *c;

	if (flags != CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_NOT_SUPPORTED;
	c = calloc(1, sizeof(*c));
	c->value = value;
	c->next = g->conditions;
	g->conditions = c;
	*handle = (uintptr_t)c;
	return CUDA_SUCCESS;
}

/* Only IF, with one body. */
static CUresult add_conditional(CUgraphNode *node, CUgraph g, const CUgraphNode *after, size_t n,
				CUgraphNodeParams *p)
{
	static __thread CUgraph given[1];

	if (p->conditional.type || p->conditional.size != 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	*node = add(g, SG_NODE_CONDITIONAL, after, n);
	(*node)->condition = (struct sg_condition *)(uintptr_t)p->conditional.handle;
	(*node)->child = given[0] = calloc(1, sizeof(struct CUgraph_st));
	p->conditional.phGraph_out = given;
	return CUDA_SUCCESS;
}

static CUresult add_any(CUgraphNode *node, CUgraph g, const CUgraphNode *after, size_t n,
			CUgraphNodeParams *p)
{
	switch (p->type) {
	case SG_NODE_KERNEL:
		return cuGraphAddKernelNode_v2(node, g, after, n, &p->kernel);
	case SG_NODE_GRAPH:
		return cuGraphAddChildGraphNode(node, g, after, n, p->graph.graph);
	case SG_NODE_EMPTY:
		return cuGraphAddEmptyNode(node, g, after, n);
	case SG_NODE_ALLOC:
		return cuGraphAddMemAllocNode(node, g, after, n, &p->alloc);
	case SG_NODE_FREE:
		return cuGraphAddMemFreeNode(node, g, after, n, p->free.dptr);
	case SG_NODE_CONDITIONAL:
		return add_conditional(node, g, after, n, p);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

API CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph g, const CUgraphNode *after,
			       const CUgraphEdgeData *data, size_t n, CUgraphNodeParams *p)
{
	CUresult r = add_any(node, g, after, n, p);

	for (size_t i = 0; !r && data && i < n; i++)
		g->edges[g->nedges - n + i].data = data[i];
	return r;
}

API CUresult cuGraphAddNode(CUgraphNode *node, CUgraph g, const CUgraphNode *after, size_t n,
			    CUgraphNodeParams *p)
{
	return cuGraphAddNode_v2(node, g, after, NULL, n, p);
}

API CUresult cuGraphDestroyNode(CUgraphNode node)
{
	CUgraphNode *at = &node->graph->first;
	size_t kept = 0;

	for (size_t i = 0; i < node->graph->nedges; i++) {
		const struct sg_edge *edge = node->graph->edges + i;

		if (edge->from != node && edge->to != node)
			node->graph->edges[kept++] = *edge;
	}
	node->graph->nedges = kept;

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	free_node(node);
	return CUDA_SUCCESS;
}

/* ---- queries and changes ---- */

API CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n)
{
	size_t room = *n, count = 0;

	for (CUgraphNode node = g->first; node; node = node->next, count++)
		if (nodes && count < room)
			nodes[count] = node;
	*n = nodes && room < count ? room : count;
	return CUDA_SUCCESS;
}

API CUresult cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to,
				CUgraphEdgeData *data, size_t *n)
{
	static const CUgraphEdgeData none;
	size_t room = *n;

	for (size_t i = 0; from && i < room; i++) {
		from[i] = i < g->nedges ? g->edges[i].from : NULL;
		to[i] = i < g->nedges ? g->edges[i].to : NULL;
		if (data && i < g->nedges)
			data[i] = g->edges[i].data;
		else if (i < g->nedges && memcmp(&g->edges[i].data, &none, sizeof(none)))
			return CUDA_ERROR_LOSSY_QUERY;
	}
	*n = from && room < g->nedges ? room : g->nedges;
	return CUDA_SUCCESS;
}

API CUresult cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	return cuGraphGetEdges_v2(g, from, to, NULL, n);
}

API CUresult cuGraphNodeGetType(CUgraphNode node, int *type)
{
	*type = node->type;
	return CUDA_SUCCESS;
}

API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *g)
{
	*g = node->child;
	return node->type == SG_NODE_GRAPH ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct sg_launch *l = &node->launch;

	if (node->type != SG_NODE_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	*p = (CUDA_KERNEL_NODE_PARAMS){.func = l->fn,
				       .gridDimX = l->grid[0],
				       .gridDimY = l->grid[1],
				       .gridDimZ = l->grid[2],
				       .blockDimX = l->block[0],
				       .blockDimY = l->block[1],
				       .blockDimZ = l->block[2],
				       .sharedMemBytes = l->shared};
	return CUDA_SUCCESS;
}

API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	return node->type == SG_NODE_KERNEL ? sg_node_params(&node->launch, p)
					    : CUDA_ERROR_INVALID_VALUE;
}

/* ---- capture ---- */

/* Work in a stream depends on the previous work in the stream. */
static void depend_on(struct CUstream_st *s, CUgraphNode node)
{
	s->capture.after[0] = node;
	s->capture.n = 1;
}

void sg_capture_join(struct CUstream_st *s, const struct sg_captured *event)
{
	struct sg_captured *c = &s->capture;

	c->graph = event->graph;
	for (uint32_t i = 0; i < event->n && c->n < sizeof(c->after) / sizeof(c->after[0]); i++)
		c->after[c->n++] = event->after[i];
}

CUresult sg_capture_launch(struct CUstream_st *s, const struct sg_launch *l)
{
	CUgraphNode node = add(s->capture.graph, SG_NODE_KERNEL, s->capture.after, s->capture.n);

	node->launch = *l;
	depend_on(s, node);
	return CUDA_SUCCESS;
}

CUresult sg_capture_alloc(struct CUstream_st *s, CUdeviceptr *p, size_t size)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {.bytesize = size};
	CUgraphNode node;
	CUresult r = cuGraphAddMemAllocNode(&node, s->capture.graph, s->capture.after, s->capture.n,
					    &params);

	*p = params.dptr;
	if (!r)
		depend_on(s, node);
	return r;
}

CUresult sg_capture_free(struct CUstream_st *s, CUdeviceptr p)
{
	CUgraphNode node;
	CUresult r = cuGraphAddMemFreeNode(&node, s->capture.graph, s->capture.after, s->capture.n,
					   p);

	if (!r)
		depend_on(s, node);
	return r;
}

API CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
	if (!s || s->capture.graph)
		return s ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
	s->capture.n = 0;
	return cuGraphCreate(&s->capture.graph, 0);
}

/* Ends the capture of streams that joined, too. */
API CUresult cuStreamEndCapture(CUstream s, CUgraph *g)
{
	if (!s || !s->capture.graph)
		return s ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
	*g = s->capture.graph;
	pthread_mutex_lock(&s->ctx->lock);
	for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
		if (o->capture.graph == *g)
			o->capture = (struct sg_captured){NULL};
	pthread_mutex_unlock(&s->ctx->lock);
	return CUDA_SUCCESS;
}

API CUresult cuStreamIsCapturing(CUstream s, int *status)
{
	*status = s && s->capture.graph;
	return CUDA_SUCCESS;
}
