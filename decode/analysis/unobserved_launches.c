/* SPDX-License-Identifier: MIT */
/* Launches without a recorded call, for --by-kernel. Their stacks show that they are launches; the
 * kernel is found by its program address, if another launch of it was recorded. Reads the trace
 * again with operations, only if there are such launches. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/qmd.h"
#include "decode/analysis/kernel_stats.h"
#include "decode/calls/pass.h"
#include "decode/trace/stream.h"
#include "decode/query/selection.h"
#include "decode/calls/args.h"
#include "decode/base/keyed_rows.h"

#define RECENT 256u
#define MOST_STEPS (1u << 28) /* bound for the search for overwritten programs */

enum launch_way { OTHER, LAUNCH, GRAPH };

struct program {
	uint64_t key[2]; /* address, GPU */
	const struct nvs_kernel *kernel; /* at that address; NULL: not known yet */
	/* Launches before the kernel was known */
	uint64_t launches, in_graphs;
	struct nvs_shape shape;
};

struct unseen {
	struct nvs_kernels *kernels;
	struct nvs_handles *handles;
	struct nvs_rows programs; /* struct program */
	uint64_t steps;
	enum launch_way way; /* of the current submission */
	const struct nvs_call *call; /* call of the current submission */
	uint64_t gpu;
	/* Ring of launches whose call has not returned: its function is known at its end. */
	struct {
		uint64_t call, program, gpu;
		uint32_t thread;
	} recent[RECENT];
	uint32_t at;
};

struct launch_stack {
	uint64_t key; /* number of the stack */
};

int nvs_kernels_note_submission(void *kernels, const struct nvs_submission *s,
				const struct nvs_call *call)
{
	struct nvs_kernels *k = kernels;
	uint64_t stack = s->rec->stack;

	if (!k->unseen.size)
		k->unseen = NVS_ROWS(struct launch_stack, key);
	return call || stack == NVS_NONE || nvs_rows_at(&k->unseen, &stack) ? 0 : -ENOMEM;
}

static enum launch_way way_of(const struct nvs_kernels *k, uint32_t stack)
{
	const struct nvs_callsite *site = nvs_trace_callsite(k->source->trace, stack);

	if (!site->is_public)
		return OTHER;
	if (!strncmp(site->api, "cuGraphLaunch", 13))
		return GRAPH;
	return strncmp(site->api, "cuLaunch", 8) || !strncmp(site->api, "cuLaunchHost", 12)
		       ? OTHER
		       : LAUNCH;
}

static bool any_launches(const struct nvs_kernels *k)
{
	for (size_t i = 0; i < k->unseen.n; i++) {
		const struct launch_stack *stack = k->unseen.row[i];

		if (way_of(k, (uint32_t)stack->key) != OTHER)
			return true;
	}
	return false;
}

/* ---- second pass ---- */

static int add_launches(struct unseen *u, const struct nvs_kernel *kernel, uint64_t launches,
			uint64_t in_graphs, const struct nvs_shape *shape)
{
	struct nvs_kernels *k = u->kernels;
	struct nvs_kernel_row *row;

	/* The same records in the same order: the kernel has the same number in both passes. A
	 * trace that is still written may have grown. */
	if (kernel->index >= nvs_handles_kernel_count(k->handles))
		return 0;
	row = nvs_kernel_row(k, nvs_handles_kernel_at(k->handles, kernel->index));
	if (!row)
		return -ENOMEM;
	row->direct += launches;
	row->by_unknown += in_graphs;
	/* Those are known of recorded calls only. */
	row->uncounted |= launches != 0;
	row->unsited = true;
	nvs_kernel_add_shape(k, row, shape);
	return 0;
}

static struct program *program_at(struct unseen *u, uint64_t address, uint64_t gpu)
{
	const uint64_t key[2] = {address, gpu};

	return nvs_rows_at(&u->programs, key);
}

static int note_launch(struct unseen *u, const struct nvs_op *op, const struct nvs_qmd *qmd)
{
	struct program *p = program_at(u, qmd->program, u->gpu);
	bool in_graph = u->way == GRAPH || op->flags & NVS_OP_CHAINED;
	struct nvs_shape shape;

	if (!p)
		return -ENOMEM;
	memcpy(shape.grid, qmd->grid, sizeof(shape.grid));
	memcpy(shape.block, qmd->block, sizeof(shape.block));
	if (p->kernel)
		return add_launches(u, p->kernel, !in_graph, in_graph, &shape);
	p->launches += !in_graph;
	p->in_graphs += in_graph;
	p->shape = shape;
	return 0;
}

/* New code at AT: programs in that range are no longer known. Returns false if the search takes too
 * long. */
static bool remove_overwritten(struct unseen *u, uint64_t at, uint64_t bytes)
{
	u->steps += u->programs.n;
	if (u->steps > MOST_STEPS)
		return false;
	for (size_t i = 0; i < u->programs.n; i++) {
		struct program *p = u->programs.row[i];

		if (p->key[1] == u->gpu && p->key[0] - at < bytes) {
			p->kernel = NULL;
			p->launches = p->in_graphs = 0;
		}
	}
	return true;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct unseen *u = arg;
	const struct nvs_trace_channel *c = s->channel;

	u->call = call;
	u->gpu = c->known ? c->rec.gpu : NVS_NONE;
	u->way = call || s->rec->stack == NVS_NONE ||
				 !nvs_filter_selects(u->kernels->source, s, NULL)
			 ? OTHER
			 : way_of(u->kernels, s->rec->stack);
	return 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct unseen *u = arg;
	const struct nvs_qmd *qmd;
	uint32_t i = u->at % RECENT;

	if (op->kind == NVS_OP_CODE && !remove_overwritten(u, op->code.dst, op->code.bytes)) {
		nvs_budget_set_exceeded();
		return 1;
	}
	qmd = op->kind == NVS_OP_LAUNCH ? nvs_pass_qmd(u->kernels->source->separate, op) : NULL;
	if (!qmd || !qmd->program)
		return 0;
	if (u->way != OTHER)
		return note_launch(u, op, qmd);
	if (!u->call || u->call->api->group != NVS_CALL_GROUP_LAUNCH)
		return 0;
	u->at++;
	u->recent[i].thread = u->call->thread;
	u->recent[i].call = u->call->number;
	u->recent[i].program = qmd->program;
	u->recent[i].gpu = u->gpu;
	return 0;
}

static int set_kernel(struct unseen *u, uint32_t i, const struct nvs_kernel *kernel)
{
	struct program *p = program_at(u, u->recent[i].program, u->recent[i].gpu);
	int r = 0;

	if (!p)
		return -ENOMEM;
	if (p->launches + p->in_graphs)
		r = add_launches(u, kernel, p->launches, p->in_graphs, &p->shape);
	p->kernel = kernel;
	p->launches = p->in_graphs = 0;
	return r;
}

/* The last program launched by the call is that of its function. */
static int on_call(void *arg, const struct nvs_call *call)
{
	struct unseen *u = arg;
	const struct nvs_kernel *kernel;
	uint64_t function;

	if (call->api->group != NVS_CALL_GROUP_LAUNCH || !nvs_call_ran(call) ||
	    !nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return 0;
	kernel = nvs_handles_get_kernel(u->handles, function);
	if (!kernel)
		return -ENOMEM;
	for (uint32_t n = 1; n <= RECENT && n <= u->at; n++) {
		uint32_t i = (u->at - n) % RECENT;

		if (u->recent[i].thread == call->thread && u->recent[i].call == call->number)
			return set_kernel(u, i, kernel);
	}
	return 0;
}

static int read_again(struct unseen *u, struct nvs_source *source)
{
	struct nvs_pass_reader reader = {
		.submission = on_submission,
		.op = on_op,
		.call = on_call,
		.handles = &u->handles,
		.arg = u,
		.calls = true,
	};
	int r;

	u->programs = NVS_ROWS(struct program, key);
	r = nvs_source_read(source, &reader);
	nvs_source_read_end(source);
	nvs_rows_free(&u->programs, NULL);
	return r;
}

int nvs_kernels_add_unseen(struct nvs_kernels *k)
{
	struct unseen *u;
	int r;

	/* A pipe cannot be read again: these launches stay unattributed. */
	if (!nvs_handles_kernel_count(k->handles) || !nvs_trace_is_rereadable(k->source->trace) ||
	    !any_launches(k))
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->kernels = k;
	r = read_again(u, k->source);
	free(u);
	return r;
}
