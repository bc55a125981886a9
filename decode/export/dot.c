/* SPDX-License-Identifier: MIT */
/* --export=dot: executable graphs for graphviz in their last state, one cluster per graph, with
 * nodes and edges. Nodes of a child graph or conditional node are connected to it by a dashed line.
 */
#include <errno.h>
#include <inttypes.h>
#include "decode/calls/edges.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/handles.h"
#include "decode/export/events.h"
#include "decode/report/core/report.h"
#include "decode/cli/table.h"
#include "decode/trace/demangled_names.h"
#include "decode/base/keyed_rows.h"

/* CUgraphNodeType */
static const char *const types[] = {
	"kernel",     "copy",	    "memset",	       "host",	      "child graph",
	"empty",      "wait event", "record event",    "signal",      "wait",
	"allocation", "free",	    "batch of memory", "conditional",
};
static const char *const shapes[] = {"box", "parallelogram", "parallelogram", "ellipse"};

/* Index of the latest node with a handle. */
struct known_node {
	uint64_t handle; /* its key */
	uint32_t index;
};

static const char *type_of(const struct nvs_graph_node *node)
{
	return node->type < sizeof(types) / sizeof(*types) ? types[node->type] : "node";
}

/* Prints text inside quotes. */
static void print_text(FILE *f, const char *text)
{
	char safe[4096];

	nvs_escape(safe, sizeof(safe), text, strnlen(text, sizeof(safe) / 4 - 1));
	for (const char *p = safe; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', f);
		fputc(*p, f);
	}
}

static void print_label(const struct nvs_event_stream *w, FILE *f,
			const struct nvs_graph_node *node)
{
	bool told = !(node->flags & NVS_NODE_NO_PARAMS);
	const struct nvs_kernel *k = NULL;

	print_text(f, type_of(node));
	if (!node->type)
		k = nvs_handles_get_kernel(w->handles, node->function);
	if (k && *k->name) {
		fputs("\\n", f);
		print_text(f, nvs_demangled_name(w->source->trace, k->name));
	}
	if (!node->type && told)
		fprintf(f, "\\n%ux%ux%u of %ux%ux%u", node->grid[0], node->grid[1], node->grid[2],
			node->block[0], node->block[1], node->block[2]);
	if (node->type && told && node->bytes)
		fprintf(f, "\\n%" PRIu64 " bytes", node->bytes);
	if (node->flags & NVS_NODE_DISABLED)
		fputs("\\ndisabled", f);
}

/* NAME: name of the cluster. */
static int print_node(const struct nvs_event_stream *w, const struct nvs_exec *exec, uint32_t i,
		      const char *name, struct nvs_rows *nodes)
{
	const struct nvs_graph_node *node = exec->nodes + i;
	FILE *f = w->run->out->file;
	struct known_node *known;

	fprintf(f, "    %s_%u [shape=%s, label=\"", name, i,
		node->type < sizeof(shapes) / sizeof(*shapes) ? shapes[node->type] : "ellipse");
	print_label(w, f, node);
	fputs("\"]\n", f);
	if (node->parent) {
		size_t before = nodes->n;

		known = nvs_rows_at(nodes, &node->parent);
		if (!known)
			return -ENOMEM;
		if (nodes->n == before && known->index != i)
			fprintf(f, "    %s_%u -> %s_%u [style=dashed]\n", name, known->index, name,
				i);
	}
	known = nvs_rows_at(nodes, &node->node);
	if (!known)
		return -ENOMEM;
	known->index = i;
	return ferror(f);
}

/* A programmatic edge waits only for part of the preceding node. */
static void print_edges(FILE *f, const char *name, const struct nvs_edges *edges)
{
	for (uint32_t i = 0; i < edges->n; i++)
		fprintf(f, "    %s_%u -> %s_%u%s\n", name, edges->links[i].from, name,
			edges->links[i].to, edges->links[i].type ? " [label=programmatic]" : "");
}

static const char *missing_note(const struct nvs_exec *exec)
{
	return exec->partial	   ? ", incomplete"
	       : exec->edges.known ? ""
	       : exec->edges.n	   ? ", edges incomplete"
				   : ", edges unknown";
}

static int print_graph(const struct nvs_event_stream *w, const struct nvs_exec *exec)
{
	struct nvs_rows nodes = NVS_ROWS(struct known_node, handle);
	FILE *f = w->run->out->file;
	char name[32];
	int r = 0;

	snprintf(name, sizeof(name), "p%ug%u", w->process, exec->index);
	fprintf(f, "  subgraph cluster_%s {\n    label=\"", name);
	print_text(f, w->name);
	fprintf(f, "\\ngraph %u%s\"\n", exec->index, missing_note(exec));
	for (uint32_t i = 0; i < exec->nnodes && !r; i++)
		r = print_node(w, exec, i, name, &nodes);
	print_edges(f, name, &exec->edges);
	fputs("  }\n", f);
	nvs_rows_free(&nodes, NULL);
	w->run->out->told++;
	return r;
}

static int on_end(struct nvs_event_stream *w, bool whole)
{
	int r = 0;

	for (uint32_t i = 0; whole && i < nvs_handles_exec_count(w->handles) && !r; i++)
		r = print_graph(w, nvs_handles_exec_at(w->handles, i));
	return r;
}

static int print(struct nvs_run *run)
{
	static const struct nvs_event_sink walker = {.end = on_end};
	int r;

	fputs("digraph nvsnoop {\n  node [fontsize=10]\n", run->out->file);
	r = nvs_events_deliver(run, &walker, NULL);
	fputs("}\n", run->out->file);
	return r < 0 ? r : 0;
}

NVS_REPORT(export_dot, .name = "export=dot", .group = NVS_EXPORTS, .place = 350,
	   .help = "executable graphs for graphviz, with nodes and edges",
	   .man = "Executable graphs for graphviz, in their last state and ignoring filters: nodes "
		  "with kernels, grids and bytes, edges between them, and the nodes inside child "
		  "graphs and conditional nodes.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT,
	   .print = print);
