/* SPDX-License-Identifier: MIT */
/*
 * --per-launch: a line for each launch with the instructions that it executed, as the counters were
 * read behind it. A reading that has several launches of a kernel behind it makes one line of them,
 * which says how many they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/execs.h"
#include "decode/calls/handles.h"
#include "decode/report/counts.h"
#include "decode/report/source_columns.h"

/* A kernel, with what has happened since the latest reading. */
struct kernel {
	const struct nvs_counted *counted; /* the key */
	uint32_t id; /* + 1, in the order in which they are printed; 0: none yet */
	uint64_t launches, in_graphs, blocks;
	bool shapeless; /* the blocks are not known */
	bool read; /* it has counts in the reading that is being told */
	uint64_t warp, thread;
};

/* A launch of an executable graph whose kernels are still to be counted. */
struct launched {
	uint64_t handle; /* the key */
	struct nvs_exec *exec;
	uint64_t launches;
	struct launched *next; /* of those with launches */
	bool listed;
};

struct line {
	const struct nvs_source *source;
	char *name;
	const struct nvs_counted *counted;
	uint32_t id;
	uint64_t launches, in_graphs, blocks, warp, thread, instructions, total;
	bool has_blocks;
};

struct state {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_counted_kernels counts;
	struct nvs_rows kernels, graphs;
	struct launched *due; /* graphs that were launched since the latest reading */
	struct kernel **read; /* in the order of their counts */
	size_t nread, read_room;
	struct line *lines;
	size_t n, room;
	uint32_t ids;
	uint64_t total;
};

static struct kernel *kernel_of(struct state *st, const struct nvs_counted *counted)
{
	return nvs_rows_at(&st->kernels, &counted);
}

static int add_launch(struct state *st, uint64_t function, const uint32_t *grid, uint64_t n,
		      bool in_graph)
{
	const struct nvs_kernel *kernel = nvs_handles_kernel_of(st->handles, function);
	const struct nvs_counted *counted;
	struct kernel *k;

	if (!kernel)
		return -ENOMEM;
	counted = nvs_counted_of(&st->counts, kernel->name);
	if (!counted)
		return 0;
	k = kernel_of(st, counted);
	if (!k)
		return -ENOMEM;
	k->launches += n;
	k->in_graphs += in_graph ? n : 0;
	if (grid)
		k->blocks += n * grid[0] * grid[1] * grid[2];
	else
		k->shapeless = true;
	return 0;
}

/* The nodes are told of the launches that there were since the latest reading. */
static int settle(struct state *st, struct launched *g)
{
	const struct nvs_exec *e = g->exec;
	int r = 0;

	for (uint32_t i = 0; !r && g->launches && i < e->nnodes; i++) {
		const struct nvs_graph_node *node = e->nodes + i;

		/* How often what is conditional ran, the GPU knows alone. */
		if (!node->type && !(node->flags & (NVS_NODE_DISABLED | NVS_NODE_CONDITIONAL)))
			r = add_launch(st, node->function,
				       node->flags & NVS_NODE_NO_PARAMS ? NULL : node->grid,
				       g->launches, true);
	}
	g->launches = 0;
	return r;
}

static void on_change(void *arg, struct nvs_exec *exec, uint32_t index)
{
	struct state *st = arg;
	struct launched *g = nvs_rows_find(&st->graphs, &exec->handle);

	if (g && g->launches)
		settle(st, g);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct state *st = arg;
	int r = nvs_handles_call(st->handles, call);
	uint32_t grid[3], block[3];
	struct launched *g;
	uint64_t handle;

	if (r || !nvs_call_ran(call))
		return r;
	if (call->api->group == NVS_CALL_GROUP_LAUNCH &&
	    nvs_call_kind(call, NVS_KIND_FUNCTION, &handle))
		return add_launch(st, handle, nvs_call_shape(call, grid, block) ? grid : NULL, 1,
				  false);
	if (call->api->group != NVS_CALL_GROUP_GRAPH_LAUNCH ||
	    !nvs_call_kind(call, NVS_KIND_EXEC, &handle))
		return 0;
	g = nvs_rows_at(&st->graphs, &handle);
	if (!g)
		return -ENOMEM;
	g->exec = nvs_handles_exec_of(st->handles, handle);
	if (!g->exec)
		return -ENOMEM;
	g->launches++;
	if (!g->listed) {
		g->next = st->due;
		st->due = g;
		g->listed = true;
	}
	return 0;
}

/* ---- readings ---- */

static int add_read(struct state *st, struct kernel *k)
{
	if (k->read)
		return 0;
	if (st->nread == st->read_room) {
		size_t room = st->read_room ? 2 * st->read_room : 16;
		struct kernel **more = realloc(st->read, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		st->read = more;
		st->read_room = room;
	}
	st->read[st->nread++] = k;
	k->read = true;
	return 0;
}

static int add_line(struct state *st, struct kernel *k)
{
	struct line *l;

	if (st->n == st->room) {
		size_t room = st->room ? 2 * st->room : 64;
		struct line *more = realloc(st->lines, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		st->lines = more;
		st->room = room;
	}
	k->id = k->id ? k->id : ++st->ids;
	l = &st->lines[st->n++];
	*l = (struct line){
		.source = st->source,
		.counted = k->counted,
		.id = k->id - 1,
		.launches = k->launches,
		.in_graphs = k->in_graphs,
		.blocks = k->blocks,
		.has_blocks = k->launches && !k->shapeless,
		.warp = k->warp,
		.thread = k->thread,
		.instructions = k->counted->flags & NVS_COUNT_WARP ? k->warp : k->thread,
	};
	st->total += l->instructions;
	l->total = st->total;
	return 0;
}

static int take_counts(struct state *st, const struct nvs_rec_count *rec)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < rec->ncounts; i++) {
		const struct nvs_counted *counted = nvs_counted_at(&st->counts,
								   rec->counts[i].counter);
		struct kernel *k = counted ? kernel_of(st, counted) : NULL;

		if (!counted)
			continue;
		r = k ? add_read(st, k) : -ENOMEM;
		if (r)
			break;
		k->warp += rec->counts[i].warp;
		k->thread += rec->counts[i].thread;
	}
	if (r || rec->rec.flags & (NVS_COUNT_MORE | NVS_COUNT_UNREAD))
		return r;
	for (; !r && st->due; st->due = st->due->next) {
		st->due->listed = false;
		r = settle(st, st->due);
	}
	for (size_t i = 0; !r && i < st->nread; i++)
		r = add_line(st, st->read[i]);
	for (size_t i = 0; i < st->nread; i++) {
		struct kernel *k = st->read[i];

		k->launches = k->in_graphs = k->blocks = k->warp = k->thread = 0;
		k->shapeless = k->read = false;
	}
	st->nread = 0;
	return r;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct state *st = arg;
	int r = nvs_handles_record(st->handles, rec);

	if (!r)
		r = nvs_counted_record(&st->counts, rec);
	return r || rec->type != NVS_REC_COUNT ? r : take_counts(st, (const void *)rec);
}

/* ---- columns ---- */

NVS_SOURCE_GETTERS(struct line, r->source)
NVS_GET_COUNT(struct line, id, r->id)
NVS_GET_TEXT(struct line, name, r->name)
NVS_GET_TEXT(struct line, mangled, r->counted->name)
NVS_GET_KNOWN(struct line, launches, r->launches, r->launches)
NVS_GET_KNOWN(struct line, in_graphs, r->launches, r->in_graphs)
NVS_GET_KNOWN(struct line, blocks, r->has_blocks, r->blocks)
NVS_GET_KNOWN(struct line, warp, r->counted->flags &NVS_COUNT_WARP, r->warp)
NVS_GET_KNOWN(struct line, thread, r->counted->flags &NVS_COUNT_THREAD && !r->counted->wrapped,
	      r->thread)
NVS_GET_COUNT(struct line, total, r->total)

static const struct nvs_column columns[] = {
	{"kernel_number", "number", get_id, 0},
	{"kernel", "kernel", get_name, NVS_COLUMN_NAME},
	{"blocks", "blocks", get_blocks, 0},
	{"launches", "launches", get_launches, 0},
	{"in_graphs", "in graphs", get_in_graphs, 0},
	{"warp_instructions", "warp insts", get_warp, 0},
	{"thread_instructions", "thread insts", get_thread, 0},
	{"total_instructions", "total insts", get_total, 0},
	{"mangled", "mangled", get_mangled, NVS_COLUMN_DETAIL},
	NVS_SOURCE_COLUMNS,
};

/* ---- from the traces to the lines ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, void *each, struct nvs_reader *reader)
{
	struct state *st = each;

	st->source = s;
	st->handles = nvs_handles_new();
	if (!st->handles)
		return -ENOMEM;
	st->kernels = NVS_ROWS(struct kernel, counted);
	st->graphs = NVS_ROWS(struct launched, handle);
	nvs_handles_watch(st->handles, on_change, st);
	reader->call = on_call;
	reader->record = on_record;
	return 0;
}

static void print_line(struct nvs_out *out, const struct line *l)
{
	fprintf(out->file, "kernel %u - ", l->id);
	nvs_out_text(out, l->name);
	if (l->has_blocks)
		fprintf(out->file, " - #thread-blocks %llu", (unsigned long long)l->blocks);
	else
		fputs(" - #thread-blocks -", out->file);
	fprintf(out->file, ", kernel instructions %llu, total instructions %llu",
		(unsigned long long)l->instructions, (unsigned long long)l->total);
	if (l->launches > 1)
		fprintf(out->file, ", launches %llu", (unsigned long long)l->launches);
	fputc('\n', out->file);
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_SUMS(run, columns, NULL);
	const struct nvs_options_report *o = run->options;
	struct state *st = run->each;
	const void **rows;
	size_t n = 0;
	int r = 0;

	for (uint32_t t = 0; t < run->n; t++)
		n += st[t].n;
	run->nothing = !n;
	if (!n && o->format == NVS_FORMAT_TEXT) {
		run->said = true;
		fputs("No instructions were counted: record with nvsnoop --count=warp "
		      "--exact=sync.\n",
		      run->out->file);
		return 0;
	}
	rows = calloc(n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	n = 0;
	for (uint32_t t = 0; t < run->n; t++)
		for (size_t i = 0; i < st[t].n; i++) {
			struct line *l = &st[t].lines[i];

			l->name = nvs_demangle(l->counted->name);
			if (!l->name)
				r = -ENOMEM;
			rows[n++] = l;
		}
	if (!r && o->format == NVS_FORMAT_TEXT) {
		for (size_t i = 0; i < n && (!o->has_rows || !o->rows || i < o->rows); i++)
			print_line(run->out, rows[i]);
		run->out->told += n;
	} else if (!r) {
		table.rows = rows;
		table.nrows = n;
		r = nvs_table_print(run->out, &table, o);
	}
	free(rows);
	return r;
}

static void free_state(struct nvs_run *run)
{
	struct state *st = run->each;

	for (uint32_t t = 0; t < run->n && st[t].handles; t++) {
		for (size_t i = 0; i < st[t].n; i++)
			free(st[t].lines[i].name);
		free(st[t].lines);
		free(st[t].read);
		nvs_rows_free(&st[t].kernels, NULL);
		nvs_rows_free(&st[t].graphs, NULL);
		nvs_handles_free(st[t].handles);
		nvs_counted_forget(&st[t].counts);
	}
}

NVS_REPORT(
	per_launch, .name = "per-launch", .place = 32,
	.help = "a line for each launch with its instructions, as NVBit's\ninstr_count prints "
		"them",
	.man = "A line for each launch whose instructions were counted\n(\n.B nvsnoop "
	       "\\-\\-count=warp \\-\\-exact=sync\n), the kernels of graphs among them: the "
	       "kernel's number, name and blocks, its instructions,\nand all so far. Launches that "
	       "one reading of the counters has behind it stand in one line, which\nsays how many "
	       "they are.",
	.needs = NVS_NEED_TRACE | NVS_NEED_CALLS, .prints = NVS_PRINTS_TABLE,
	NVS_REPORT_COLUMNS(columns), .each = sizeof(struct state), .begin = begin, .print = print,
	.free = free_state);
