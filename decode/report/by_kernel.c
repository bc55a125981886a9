/* SPDX-License-Identifier: MIT */
/*
 * --by-kernel: launches by function: direct ones, those of graphs that were captured or built of
 * nodes, the shapes they had, and what the direct ones submitted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/distinct.h"
#include "decode/base/hash.h"
#include "decode/calls/handles.h"
#include "decode/report/calls.h"

#define SHAPES 4 /* of grid and block that are told; more are counted */

struct shape {
	uint32_t grid[3], block[3];
};

struct row {
	char *name;
	const struct nvs_kernel *kernel;
	uint32_t trace;
	uint64_t id; /* the same in all traces */
	uint64_t direct, failed, recorded, by_capture, by_nodes, by_unknown, conditional;
	uint64_t submissions, entries, bytes;
	bool uncounted; /* these are not known */
	bool unsited; /* nor where it was launched from */
	uint64_t nshapes, nsites,
		dynamic; /* shapes and sites that no row of this name had before */
	bool many; /* more shapes and sites than can be told apart */
	struct shape shape[SHAPES];
	uint32_t told; /* of shape */
	uint32_t stack; /* the latest */
	struct nvs_times times;
	char shapes[320];
	double share, most; /* of all launches, and of those of the kernel launched most */
};

struct state {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_distinct *seen; /* shapes and call sites of each kernel, over all traces */
	int status; /* -errno */
};

/* What is told apart: of the row ID, a shape or a call site. */
struct thing {
	uint64_t id;
	union {
		struct shape shape;
		uint64_t site[3]; /* hashes of its names */
	};
};

/* Functions without a name are told apart by trace and handle. */
static uint64_t id_of(const struct state *st, const struct nvs_kernel *k)
{
	const uint64_t own[2] = {st->source->index, k->handle};

	return *k->name ? nvs_hash64(k->name, strlen(k->name)) : nvs_hash64(own, sizeof(own));
}

static struct row *row_of(struct state *st, struct nvs_kernel *k)
{
	struct row *row;

	if (!k)
		return NULL;
	if (k->user)
		return k->user;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->kernel = k;
	row->trace = st->source->index;
	row->id = id_of(st, k);
	row->stack = NVS_NONE;
	k->user = row;
	return row;
}

/* Is it new to all rows of this name? */
static bool is_new(struct state *st, struct row *row, const struct thing *thing)
{
	int r = nvs_distinct_add(st->seen, nvs_hash64(thing, sizeof(*thing)));

	row->many |= r < 0;
	return r > 0;
}

static void see_shape(struct state *st, struct row *row, const struct shape *shape)
{
	struct thing thing = {.id = row->id, .shape = *shape};

	for (uint32_t i = 0; i < row->told; i++)
		if (!memcmp(&row->shape[i], shape, sizeof(*shape)))
			return;
	if (!is_new(st, row, &thing))
		return;
	if (row->told < SHAPES)
		row->shape[row->told++] = *shape;
	row->nshapes++;
}

/* A call site as --by-callsite tells them apart: many stacks lead through one. */
static void see_site(struct state *st, struct row *row, uint32_t stack)
{
	struct thing thing = {.id = row->id, .site = {0, 0, 1}};
	const struct nvs_callsite *site;

	if (stack == NVS_NONE || stack == row->stack)
		return;
	row->stack = stack;
	site = nvs_trace_callsite(st->source->trace, stack);
	thing.site[0] = nvs_hash64(site->site, strlen(site->site));
	thing.site[1] = nvs_hash64(site->site_module, strlen(site->site_module));
	row->nsites += is_new(st, row, &thing);
}

static int direct(struct state *st, const struct nvs_call *call)
{
	struct shape shape;
	uint64_t function, dynamic = 0;
	struct row *row;

	if (!nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return 0;
	row = row_of(st, nvs_handles_kernel_of(st->handles, function));
	if (!row)
		return -ENOMEM;
	if (call->result || !call->end) {
		row->failed++;
		return 0;
	}
	if (call->flags & NVS_CALL_CAPTURED)
		row->recorded++;
	else
		row->direct++;
	if (nvs_call_shape(call, shape.grid, shape.block))
		see_shape(st, row, &shape);
	see_site(st, row, call->stack);
	if (nvs_call_value(call, NVS_ARG_sharedMemBytes, &dynamic) && dynamic > row->dynamic)
		row->dynamic = dynamic;
	row->uncounted |= call->uncounted;
	row->unsited |= call->uncounted || (call->submissions && call->stack == NVS_NONE);
	row->submissions += call->submissions;
	row->entries += call->entries;
	row->bytes += call->bytes;
	if (call->flags & NVS_CALL_CAPTURED)
		return 0;
	return nvs_times_add(&row->times, nvs_call_ns(st->source->trace, call->begin, call->end));
}

/* ---- launches of graphs: counted a graph, and told to its nodes when they change ---- */

struct counted {
	struct row *row; /* NULL: not a kernel that is run */
	uint64_t since; /* launches of the graph before this node was what it is */
	bool changed; /* since it was seen */
};

struct graph {
	uint64_t launches;
	uint32_t n, room; /* nodes seen */
	struct counted *nodes;
	uint32_t *changed, nchanged, changed_room;
};

static void settle(const struct nvs_exec *exec, struct graph *g, uint32_t i)
{
	uint64_t n = g->launches - g->nodes[i].since;
	struct row *row = g->nodes[i].row;

	g->nodes[i].row = NULL;
	if (!row)
		return;
	if (exec->nodes[i].flags & NVS_NODE_CONDITIONAL)
		row->conditional += n;
	else if (exec->origin == NVS_GRAPH_FROM_CAPTURE)
		row->by_capture += n;
	else if (exec->origin == NVS_GRAPH_FROM_NODES)
		row->by_nodes += n;
	else
		row->by_unknown += n;
}

static int see_node(struct state *st, const struct nvs_exec *exec, struct graph *g, uint32_t i)
{
	const struct nvs_graph_node *node = exec->nodes + i;
	struct shape shape;
	struct row *row;

	g->nodes[i] = (struct counted){NULL, g->launches, false};
	if (node->type || node->flags & NVS_NODE_DISABLED)
		return 0;
	row = row_of(st, nvs_handles_kernel_of(st->handles, node->function));
	if (!row)
		return -ENOMEM;
	g->nodes[i].row = row;
	memcpy(shape.grid, node->grid, sizeof(shape.grid));
	memcpy(shape.block, node->block, sizeof(shape.block));
	if (!(node->flags & NVS_NODE_NO_PARAMS))
		see_shape(st, row, &shape);
	if (node->shared > row->dynamic)
		row->dynamic = node->shared;
	return 0;
}

static void settle_all(const struct nvs_exec *exec)
{
	struct graph *g = exec->user;

	for (uint32_t i = 0; g && i < g->n; i++)
		settle(exec, g, i);
	if (g)
		g->n = g->nchanged = 0;
}

/* Before it does. */
static void on_change(void *arg, struct nvs_exec *exec, uint32_t i)
{
	struct state *st = arg;
	struct graph *g = exec->user;

	if (i == NVS_NONE)
		settle_all(exec);
	if (!g || i >= g->n || g->nodes[i].changed)
		return;
	settle(exec, g, i);
	g->nodes[i].changed = true;
	if (g->nchanged == g->changed_room) {
		uint32_t room = g->changed_room ? 2 * g->changed_room : 4;
		uint32_t *more = realloc(g->changed, room * sizeof(*more));

		if (!more) {
			st->status = -ENOMEM;
			return;
		}
		g->changed = more;
		g->changed_room = room;
	}
	g->changed[g->nchanged++] = i;
}

/* Those that have come, or have changed, since the last launch. */
static int see_nodes(struct state *st, const struct nvs_exec *exec, struct graph *g)
{
	struct counted *more;
	int r = 0;

	if (g->room < exec->nnodes) {
		more = realloc(g->nodes, exec->room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		g->nodes = more;
		g->room = exec->room;
	}
	while (g->n > exec->nnodes)
		settle(exec, g, --g->n);
	for (uint32_t i = 0; i < g->nchanged && !r; i++)
		r = g->changed[i] < g->n ? see_node(st, exec, g, g->changed[i]) : 0;
	g->nchanged = 0;
	for (; g->n < exec->nnodes && !r; g->n += !r)
		r = see_node(st, exec, g, g->n);
	return r;
}

static int of_graph(struct state *st, const struct nvs_call *call)
{
	struct nvs_exec *exec;
	struct graph *g;
	uint64_t handle;
	int r;

	if (call->result || !call->end || call->flags & NVS_CALL_CAPTURED ||
	    !nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	exec = nvs_handles_exec_of(st->handles, handle);
	if (exec && !exec->user)
		exec->user = calloc(1, sizeof(*g));
	g = exec ? exec->user : NULL;
	r = g ? see_nodes(st, exec, g) : -ENOMEM;
	if (!r)
		g->launches++;
	return r;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct state *st = arg;
	int r = nvs_handles_call(st->handles, call);

	if (r || !nvs_filter_call(st->source, call))
		return r;
	if (call->api->group == NVS_CALL_GROUP_LAUNCH)
		return direct(st, call);
	return call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH ? of_graph(st, call) : 0;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct state *st = arg;
	int r = nvs_handles_record(st->handles, rec);

	return r ? r : st->status;
}

/* ---- columns ---- */

static uint64_t launches(const struct row *r)
{
	return r->direct + r->by_capture + r->by_nodes + r->by_unknown;
}

NVS_GET_REAL(struct row, share, true, r->share * 100)

static void get_bar(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_BAR;
	v->real = ((const struct row *)row)->most;
}

#define KNOWN (r->kernel->has_attributes)

static void attribute(struct nvs_value *v, const struct row *r, uint32_t value)
{
	nvs_put_count(v, value);
	if (!KNOWN)
		v->kind = NVS_VALUE_NONE;
}

NVS_GET_TEXT(struct row, name, r->name)
NVS_GET_TEXT(struct row, mangled, r->kernel->name)
NVS_GET_TEXT(struct row, shapes, r->shapes)
NVS_GET_COUNT(struct row, launches, launches(r))
NVS_GET_COUNT(struct row, direct, r->direct)
NVS_GET_COUNT(struct row, capture, r->by_capture)
NVS_GET_COUNT(struct row, nodes, r->by_nodes)
NVS_GET_COUNT(struct row, unknown, r->by_unknown)
NVS_GET_COUNT(struct row, conditional, r->conditional)
NVS_GET_COUNT(struct row, recorded, r->recorded)
NVS_GET_COUNT(struct row, failed, r->failed)
NVS_GET_COUNT(struct row, dynamic, r->dynamic)
NVS_GET_KNOWN(struct row, submissions, !r->uncounted, r->submissions)
NVS_GET_KNOWN(struct row, bytes, !r->uncounted, r->bytes)
NVS_GET_REAL(struct row, bytes_each, r->direct && !r->uncounted,
	     (double)r->bytes / (double)r->direct)
NVS_GET_REAL(struct row, mean, r->times.count, (double)r->times.sum / (double)r->times.count / 1000)
NVS_GET_REAL(struct row, p50, r->times.count, (double)nvs_times_quantile(&r->times, 0.5) / 1000)
NVS_GET_REAL(struct row, total, r->times.count, (double)r->times.sum / 1000)

static void put_distinct(struct nvs_value *v, const struct row *r, uint64_t count)
{
	nvs_put_count(v, count);
	if (r->many)
		v->kind = NVS_VALUE_NONE;
}

static void get_nshapes(const void *row, struct nvs_value *v)
{
	put_distinct(v, row, ((const struct row *)row)->nshapes);
}

static void get_sites(const void *row, struct nvs_value *v)
{
	const struct row *r = row;

	if (!r->unsited)
		put_distinct(v, r, r->nsites);
}

static void get_registers(const void *row, struct nvs_value *v)
{
	attribute(v, row, ((const struct row *)row)->kernel->registers);
}

static void get_shared(const void *row, struct nvs_value *v)
{
	attribute(v, row, ((const struct row *)row)->kernel->shared);
}

static void get_local(const void *row, struct nvs_value *v)
{
	attribute(v, row, ((const struct row *)row)->kernel->local);
}

static const struct nvs_column columns[] = {
	{"kernel", "kernel", get_name, NVS_COLUMN_NAME},
	{"launches", "launches", get_launches, 0},
	{"share", "share %", get_share, 0},
	{"bar", "", get_bar, NVS_COLUMN_BAR},
	{"direct", "direct", get_direct, 0, 2},
	{"graph_captured", "captured", get_capture, NVS_COLUMN_IF_ANY, 3},
	{"graph_built", "built", get_nodes, NVS_COLUMN_IF_ANY, 3},
	{"graph_unknown", "graph", get_unknown, NVS_COLUMN_IF_ANY, 5},
	{"graph_conditional", "conditional", get_conditional, NVS_COLUMN_IF_ANY, 5},
	{"capture_calls", "recorded", get_recorded, NVS_COLUMN_IF_ANY, 5},
	{"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 5},
	{"registers", "regs", get_registers, NVS_COLUMN_IF_ANY, 3},
	{"shared", "shared", get_shared, NVS_COLUMN_IF_ANY, 4},
	{"shared_dynamic", "dynamic", get_dynamic, NVS_COLUMN_IF_ANY, 4},
	{"local", "local", get_local, NVS_COLUMN_DETAIL},
	{"submissions", "subs", get_submissions, 0, 2},
	{"bytes", "cmd bytes", get_bytes, 0, 3},
	{"bytes_per_launch", "bytes/launch", get_bytes_each, 0, 2},
	{"host_us_total", "host us", get_total, NVS_COLUMN_DETAIL},
	{"host_us_mean", "host us/call", get_mean, 0, 1},
	{"host_us_p50", "host us p50", get_p50, NVS_COLUMN_DETAIL},
	{"call_sites", "sites", get_sites, NVS_COLUMN_IF_ANY, 4},
	{"shapes", "shapes", get_nshapes, NVS_COLUMN_DETAIL},
	{"grid_block", "grid / block", get_shapes, 0, 4},
	{"mangled", "mangled", get_mangled, NVS_COLUMN_DETAIL},
};

static void finish_row(struct row *row)
{
	size_t n = 0;

	if (row->kernel->name[0]) {
		row->name = nvs_demangle(row->kernel->name);
	} else {
		row->name = malloc(32);
		if (row->name)
			snprintf(row->name, 32, "[function 0x%llx]",
				 (unsigned long long)row->kernel->handle);
	}
	for (uint32_t i = 0; i < row->told; i++) {
		const struct shape *s = row->shape + i;

		n += (size_t)snprintf(row->shapes + n, sizeof(row->shapes) - n,
				      "%s%ux%ux%u/%ux%ux%u", i ? " " : "", s->grid[0], s->grid[1],
				      s->grid[2], s->block[0], s->block[1], s->block[2]);
	}
	if (row->many)
		snprintf(row->shapes + n, sizeof(row->shapes) - n, " and more");
	else if (row->nshapes > row->told)
		snprintf(row->shapes + n, sizeof(row->shapes) - n, " +%llu",
			 (unsigned long long)row->nshapes - row->told);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp((*(struct row *const *)a)->kernel->name,
		      (*(struct row *const *)b)->kernel->name);
}

/* By name, and those of one name in the order of their traces. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
	int r = compare_names(a, b);

	if (!r)
		r = (x->trace > y->trace) - (x->trace < y->trace);
	return r ? r
		 : (x->kernel->index > y->kernel->index) - (x->kernel->index < y->kernel->index);
}

/* Rows of several traces become one where their names are the same. */
static int merge(struct row *into, const struct row *from)
{
	into->direct += from->direct;
	into->failed += from->failed;
	into->recorded += from->recorded;
	into->by_capture += from->by_capture;
	into->by_nodes += from->by_nodes;
	into->by_unknown += from->by_unknown;
	into->conditional += from->conditional;
	into->uncounted |= from->uncounted;
	into->unsited |= from->unsited;
	into->submissions += from->submissions;
	into->entries += from->entries;
	into->bytes += from->bytes;
	into->nshapes += from->nshapes;
	into->nsites += from->nsites;
	into->many |= from->many;
	if (from->dynamic > into->dynamic)
		into->dynamic = from->dynamic;
	if (!into->kernel->has_attributes)
		into->kernel = from->kernel;
	for (uint32_t i = 0; i < from->told && into->told < SHAPES; i++)
		into->shape[into->told++] = from->shape[i];
	return nvs_times_merge(&into->times, &from->times);
}

static void free_row(struct row *row)
{
	nvs_times_free(&row->times);
	free(row->name);
	free(row);
}

static int merge_rows(struct row **rows, size_t *n)
{
	size_t kept = 0;
	int r = 0;

	qsort(rows, *n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < *n; i++) {
		if (kept && rows[i]->kernel->name[0] && !compare_names(rows + kept - 1, rows + i)) {
			r |= merge(rows[kept - 1], rows[i]);
			free_row(rows[i]);
		} else {
			rows[kept++] = rows[i];
		}
	}
	*n = kept;
	return r;
}

static void set_shares(struct row **rows, size_t n)
{
	uint64_t all = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t own = launches(rows[i]);

		all += own;
		most = own > most ? own : most;
	}
	for (size_t i = 0; i < n && all; i++) {
		rows[i]->share = (double)launches(rows[i]) / (double)all;
		rows[i]->most = (double)launches(rows[i]) / (double)most;
	}
}

static void settle_graphs(struct nvs_handles *l)
{
	for (uint32_t i = 0; i < nvs_handles_exec_count(l); i++) {
		struct nvs_exec *exec = nvs_handles_exec_at(l, i);
		struct graph *g = exec->user;

		settle_all(exec);
		if (g) {
			free(g->nodes);
			free(g->changed);
		}
		free(g);
		exec->user = NULL;
	}
}

static int collect(struct state *st, struct row ***rows, size_t *n)
{
	uint32_t count = nvs_handles_kernel_count(st->handles);
	void *more = realloc(*rows, (*n + count + 1) * sizeof(**rows));

	if (!more)
		return -ENOMEM;
	*rows = more;
	settle_graphs(st->handles);
	for (uint32_t i = 0; i < count; i++) {
		struct row *row = nvs_handles_kernel_at(st->handles, i)->user;

		if (row)
			(*rows)[(*n)++] = row;
	}
	return 0;
}

int nvs_report_by_kernel(struct nvs_out *out, struct nvs_source *s, uint32_t n,
			 const struct nvs_options_report *o)
{
	struct nvs_table table = {.report = "by-kernel",
				  .columns = columns,
				  .sort = "launches",
				  .ncolumns = sizeof(columns) / sizeof(*columns),
				  .several = n > 1};
	struct state *states = calloc(n, sizeof(*states));
	struct nvs_distinct seen = {0};
	struct row **rows = NULL;
	size_t nrows = 0;
	int r = states ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct nvs_reader reader = {
			.call = on_call, .record = on_record, .arg = states + i};

		states[i].source = s + i;
		states[i].seen = &seen;
		states[i].handles = nvs_handles_new();
		if (states[i].handles)
			nvs_handles_watch(states[i].handles, on_change, states + i);
		r = states[i].handles ? nvs_report_read_calls(s + i, &reader) : -ENOMEM;
		if (!r)
			r = collect(states + i, &rows, &nrows);
	}
	if (!r && nrows)
		r = merge_rows(rows, &nrows);
	if (!r) {
		for (size_t i = 0; i < nrows; i++)
			finish_row(rows[i]);
		set_shares(rows, nrows);
		table.rows = (const void **)rows;
		table.nrows = nrows;
		r = nvs_table_print(out, &table, o);
	}
	for (size_t i = 0; i < nrows; i++)
		free_row(rows[i]);
	free(rows);
	for (uint32_t i = 0; states && i < n; i++)
		nvs_handles_free(states[i].handles);
	free(states);
	nvs_distinct_free(&seen);
	return r;
}
