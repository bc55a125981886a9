/* SPDX-License-Identifier: MIT */
/* Implements the public nvs_trace_read(): turns a consumer into one reader of a pass
 * (pass.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/sized.h"
#include "decode/base/text.h"
#include "decode/calls/args.h"
#include "decode/calls/progress_check.h"
#include "decode/calls/handles.h"
#include "decode/calls/images.h"
#include "decode/calls/launch_parameters.h"
#include "decode/calls/pass.h"
#include "decode/gpu/qmd.h"

struct consuming {
	struct nvs_trace *trace;
	struct nvs_consumer consumer;
	void *arg;
	struct nvs_pass *reading;
	struct nvs_handles *handles; /* if launches or graphs are wanted */
	struct nvs_progress_check *progress; /* NULL: not needed, like the next */
	struct nvs_images *images;
	struct consumed_parameters {
		struct nvs_parameters all;
		struct nvs_call_parameters calls;
	} * parameters;
	const struct nvs_call *now; /* of the current submission */
	int said; /* result of the consumer's callback that ended the pass */
};

/* Calls a callback of the consumer, if it is set and the pass has not ended. */
#define ASK(x, callback, ...)                 \
	((x)->said || !(x)->consumer.callback \
		 ? (x)->said                  \
		 : ((x)->said = (x)->consumer.callback((x)->arg, (x)->trace, __VA_ARGS__)))

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct consuming *x = arg;

	x->now = call;
	return ASK(x, submission, s, call);
}

/* Sets those of a launch. */
static int note_parameters(struct consuming *x, const struct nvs_submission *s,
			   const struct nvs_op *op, struct nvs_operation *operation)
{
	struct nvs_launch_parameters of;
	int r = nvs_parameters_op(&x->parameters->all, op);

	if (r || op->kind != NVS_OP_LAUNCH ||
	    !nvs_parameters_find(&x->parameters->all, x->reading, op, &of))
		return r;
	operation->parameters = of.bytes;
	operation->parameter_bytes = of.size;
	return x->now ? nvs_call_parameters_note(&x->parameters->calls, s->thread->thread,
						 x->now->number, &of)
		      : 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct consuming *x = arg;
	const struct nvs_qmd *q = NULL;
	struct nvs_operation operation = {.op = op, .submission = s, .call = x->now};
	struct nvs_grid grid;
	int r = 0;

	if (x->progress)
		r = nvs_progress_check_op(x->progress, s, op);
	if (op->kind == NVS_OP_LAUNCH)
		q = nvs_pass_qmd(x->reading, op);
	if (q) {
		grid = (struct nvs_grid){.program = q->program,
					 .registers = q->registers,
					 .shared_bytes = q->shared_bytes,
					 .local_bytes = q->local_bytes};
		memcpy(grid.grid, q->grid, sizeof(grid.grid));
		memcpy(grid.block, q->block, sizeof(grid.block));
		memcpy(grid.cluster, q->cluster, sizeof(grid.cluster));
		operation.grid = &grid;
	}
	if (!r && x->parameters)
		r = note_parameters(x, s, op, &operation);
	return r ? r : ASK(x, operation, &operation);
}

const char *nvs_submission_api(struct nvs_trace *trace, const struct nvs_submission *s,
			       const struct nvs_call *call)
{
	const struct nvs_callsite *site = nvs_trace_callsite(trace, s->rec->stack);
	const char *api = call ? nvs_call_api_name(call) : "";

	return site->is_public || !*api ? site->api : api;
}

/* ---- launches and graphs ---- */

static int report_launch(struct consuming *x, const struct nvs_call *call)
{
	struct nvs_launch launch = {.call = call};
	struct nvs_launch_parameters of;
	const struct nvs_kernel *k;
	uint64_t value;

	if (!nvs_call_kind(call, NVS_KIND_FUNCTION, &launch.function))
		return 0;
	k = nvs_handles_get_kernel(x->handles, launch.function);
	if (!k)
		return -ENOMEM;
	launch.kernel = k->name;
	launch.has_attributes = k->has_attributes;
	launch.registers = k->registers;
	launch.shared = k->shared;
	launch.local = k->local;
	launch.max_threads = k->max_threads;
	launch.has_shape = nvs_call_shape(call, launch.grid, launch.block);
	if (nvs_call_value(call, NVS_ARG_sharedMemBytes, &value))
		launch.dynamic = (uint32_t)value;
	if (x->parameters && nvs_call_parameters_find(&x->parameters->calls, call, &of)) {
		launch.parameters = of.bytes;
		launch.parameter_bytes = of.size;
	}
	return ASK(x, launch, &launch);
}

static int report_graph(struct consuming *x, uint64_t handle, uint32_t event,
			const struct nvs_call *call)
{
	const struct nvs_exec *e = nvs_handles_get_exec(x->handles, handle);
	struct nvs_graph graph = {.event = event, .call = call, .handles = x->handles};

	if (!e)
		return -ENOMEM;
	graph.number = e->index;
	graph.exec = e->handle;
	graph.graph = e->graph;
	graph.origin = e->origin;
	graph.nnodes = e->nnodes;
	graph.nodes = e->nodes;
	graph.partial = e->partial;
	graph.edges_known = e->edges.known;
	graph.nedges = e->edges.n;
	graph.edges = e->edges.links;
	return ASK(x, graph, &graph);
}

const char *nvs_graph_kernel(const struct nvs_graph *graph, uint32_t node)
{
	const struct nvs_graph_node *n = node < graph->nnodes ? graph->nodes + node : NULL;
	const struct nvs_kernel *k = n && !n->type
					     ? nvs_handles_get_kernel(graph->handles, n->function)
					     : NULL;

	return k ? k->name : "";
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct consuming *x = arg;
	uint64_t exec;
	int r = ASK(x, call, call);

	if (!r && x->consumer.launch && call->api->group == NVS_CALL_GROUP_LAUNCH)
		r = report_launch(x, call);
	if (!r && x->consumer.graph && call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH &&
	    nvs_call_kind(call, NVS_KIND_EXEC, &exec))
		r = report_graph(x, exec, NVS_GRAPH_LAUNCHED, call);
	return r;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	const struct nvs_rec_graph *graph = (const void *)rec;
	const struct nvs_trace_image *image = NULL;
	struct consuming *x = arg;
	int r = 0;

	if (x->progress)
		nvs_progress_check_record(x->progress, rec);
	if (x->consumer.graph && rec->type == NVS_REC_GRAPH && rec->flags & NVS_GRAPH_LAST)
		r = report_graph(x, graph->exec, graph->event, NULL);
	if (!r && x->images) {
		nvs_images_record(x->images, rec, &image);
		r = image ? ASK(x, image, image) : 0;
	}
	return r ? r : ASK(x, record, rec);
}

static int on_end(void *arg)
{
	struct consuming *x = arg;
	const struct nvs_trace_image *image;
	int r = 0;

	while (!r && x->images && (image = nvs_images_next_incomplete(x->images)))
		r = ASK(x, image, image);
	return r;
}

/* ---- reading ---- */

static int prepare_reader(struct consuming *x)
{
	const struct nvs_consumer *c = &x->consumer;
	bool parameters = c->flags & NVS_READ_PARAMETERS && (c->operation || c->launch);
	struct nvs_pass_reader reader = {
		.arg = x,
		.submission = c->submission || c->operation || parameters ? on_submission : NULL,
		.op = c->operation || c->finding || parameters ? on_op : NULL,
		.call = c->call || c->launch || c->graph ? on_call : NULL,
		.record = c->record || c->launch || c->graph || c->finding || c->image ? on_record
										       : NULL,
		.end = c->image ? on_end : NULL,
		.calls = c->flags & NVS_READ_CALLS || parameters,
		.tallies = c->flags & NVS_READ_TALLIES,
		.handles = c->launch || c->graph ? &x->handles : NULL,
	};

	x->reading = nvs_pass_new(x->trace);
	if (parameters && !(x->parameters = calloc(1, sizeof(*x->parameters))))
		return -ENOMEM;
	if (c->image && !(x->images = nvs_images_new()))
		return -ENOMEM;
	if (c->finding && !(x->progress = nvs_progress_check_new(x->trace)))
		return -ENOMEM;
	return x->reading ? nvs_pass_add(x->reading, &reader) : -ENOMEM;
}

int nvs_trace_read(struct nvs_trace *trace, const struct nvs_consumer *consumer, void *arg,
		   struct nvs_error *err)
{
	struct consuming x = {.trace = trace, .arg = arg};
	const char *path = nvs_trace_session(trace)->path;
	const struct nvs_finding *f;
	struct nvs_error unused;
	int r;

	err = err ? err : &unused;
	if (consumer && !nvs_sized_copy(&x.consumer, sizeof(x.consumer), consumer))
		return nvs_fail(err, -EINVAL,
				"%s: nvs_consumer: its size is not set, or it has members that "
				"this library does not know",
				path);
	r = prepare_reader(&x);
	if (r)
		nvs_fail(err, r, "%s: out of memory", path);
	else
		r = nvs_pass_run(x.reading, err);
	for (uint32_t i = 0; !r && !x.said && (f = nvs_trace_finding(trace, i)); i++)
		ASK(&x, finding, f);
	if (x.said < 0)
		nvs_fail(err, x.said, "%s: reading was stopped by the consumer: %s", path,
			 strerror(-x.said));
	else if (r < 0 && !err->text[0])
		nvs_fail(err, r, "%s: not enough memory for its contents", path);
	nvs_pass_free(x.reading);
	nvs_progress_check_free(x.progress);
	nvs_images_free(x.images);
	if (x.parameters) {
		nvs_parameters_free(&x.parameters->all);
		nvs_call_parameters_free(&x.parameters->calls);
		free(x.parameters);
	}
	return x.said ? x.said : r;
}

bool nvs_trace_short(void)
{
	return nvs_budget_exceeded();
}

size_t nvs_struct_size(const char *name)
{
#define SIZE(type)                         \
	{                                  \
#type, sizeof(struct type) \
	}
	static const struct {
		const char *name;
		size_t size;
	} sizes[] = {
		SIZE(nvs_error),	SIZE(nvs_read_options),	  SIZE(nvs_consumer),
		SIZE(nvs_submission),	SIZE(nvs_rec_submission), SIZE(nvs_gp_entry),
		SIZE(nvs_segment),	SIZE(nvs_operation),	  SIZE(nvs_op),
		SIZE(nvs_grid),		SIZE(nvs_tally),	  SIZE(nvs_arg),
		SIZE(nvs_call),		SIZE(nvs_launch),	  SIZE(nvs_graph),
		SIZE(nvs_graph_node),	SIZE(nvs_graph_link),	  SIZE(nvs_rec),
		SIZE(nvs_finding),	SIZE(nvs_session),	  SIZE(nvs_counts),
		SIZE(nvs_trace_thread), SIZE(nvs_trace_channel),  SIZE(nvs_trace_module),
		SIZE(nvs_trace_stack),	SIZE(nvs_trace_object),	  SIZE(nvs_mapping),
		SIZE(nvs_symbol),	SIZE(nvs_callsite),	  SIZE(nvs_inflight),
		SIZE(nvs_trace_image),
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (!strcmp(sizes[i].name, name))
			return sizes[i].size;
	return 0;
}
