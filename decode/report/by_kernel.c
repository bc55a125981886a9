/* SPDX-License-Identifier: MIT */
/* --by-kernel and --instructions: launches by function, direct and in graphs, with their shapes
 * and what direct launches submitted; and executed instructions, if the trace records counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/kernel_stats.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/base/compare.h"
#include "decode/base/distinct.h"
#include "decode/calls/handles.h"
#include "decode/query/durations.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/report.h"

/* ---- direct launches ---- */

static int count_direct(struct nvs_kernels *st, const struct nvs_call *call, bool selected)
{
	struct nvs_shape shape;
	uint64_t function, dynamic = 0;
	struct nvs_kernel_row *row;

	if (!nvs_call_kind(call, NVS_KIND_FUNCTION, &function))
		return 0;
	row = nvs_kernel_row(st, nvs_handles_get_kernel(st->handles, function));
	if (!row)
		return -ENOMEM;
	if (call->result || !call->end) {
		row->failed += selected;
		return 0;
	}
	/* Only selected submissions. They may belong to a call that is not selected because it
	 * began earlier. */
	row->submissions += call->asked_submissions;
	row->entries += call->asked_entries;
	row->bytes += call->asked_bytes;
	if (!selected)
		return 0;
	if (call->flags & NVS_CALL_CAPTURED)
		row->recorded++;
	else
		row->direct++;
	if (nvs_call_shape(call, shape.grid, shape.block))
		nvs_kernel_add_shape(st, row, &shape);
	/* Calls that submit nothing have a stack only if they took long. */
	if (!(call->flags & NVS_CALL_CAPTURED) && nvs_kernel_add_stack(st, row, call->stack))
		return -ENOMEM;
	if (nvs_call_value(call, NVS_ARG_sharedMemBytes, &dynamic) && dynamic > row->dynamic)
		row->dynamic = dynamic;
	row->uncounted |= call->uncounted;
	row->unsited |= call->uncounted || (call->submissions && call->stack == NVS_NONE);
	if (call->flags & NVS_CALL_CAPTURED)
		return 0;
	return nvs_durations_add_later(st->source->waiting, &row->times, call);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_kernels *st = arg;
	bool selected = nvs_filter_call(st->source, call);

	if (!selected && !call->asked_bytes && !call->asked_submissions)
		return 0;
	if (call->api->group == NVS_CALL_GROUP_LAUNCH)
		return count_direct(st, call, selected);
	return selected && call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH
		       ? nvs_kernels_graph_launch(st, call)
		       : 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	return nvs_kernels_note_submission(arg, s, call);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	return nvs_kernel_counts_record(&((struct nvs_kernels *)arg)->counts, rec);
}

/* ---- columns ---- */

static uint64_t count_launches(const struct nvs_kernel_row *r)
{
	return r->direct + r->by_capture + r->by_nodes + r->by_unknown;
}

NVS_GET_REAL(struct nvs_kernel_row, share, true, r->share * 100)

static void get_bar(const void *row, struct nvs_value *v)
{
	v->kind = NVS_VALUE_BAR;
	v->real = ((const struct nvs_kernel_row *)row)->most;
}

#define KNOWN r->kernel->has_attributes
#define TIMED r->times.total.count

NVS_SOURCE_GETTERS(struct nvs_kernel_row, r->several ? NULL : r->source)
NVS_GET_TEXT(struct nvs_kernel_row, name, r->name)
NVS_GET_TEXT(struct nvs_kernel_row, mangled, r->kernel->name)
NVS_GET_TEXT(struct nvs_kernel_row, shapes, r->shapes)
/* The number of launches by other kernels is unknown. */
#define BY_HOST (r->kernel != &r->by_gpu)
NVS_GET_KNOWN(struct nvs_kernel_row, launches, BY_HOST, count_launches(r))
NVS_GET_KNOWN(struct nvs_kernel_row, direct, BY_HOST, r->direct)
NVS_GET_COUNT(struct nvs_kernel_row, capture, r->by_capture)
NVS_GET_COUNT(struct nvs_kernel_row, nodes, r->by_nodes)
NVS_GET_COUNT(struct nvs_kernel_row, unknown, r->by_unknown)
NVS_GET_COUNT(struct nvs_kernel_row, conditional, r->conditional)
NVS_GET_COUNT(struct nvs_kernel_row, recorded, r->recorded)
NVS_GET_COUNT(struct nvs_kernel_row, failed, r->failed)
NVS_GET_COUNT(struct nvs_kernel_row, dynamic, r->dynamic)
NVS_GET_KNOWN(struct nvs_kernel_row, submissions, !r->uncounted, r->submissions)
NVS_GET_KNOWN(struct nvs_kernel_row, bytes, !r->uncounted, r->bytes)
NVS_GET_REAL(struct nvs_kernel_row, bytes_each, r->direct && !r->uncounted,
	     (double)r->bytes / (double)r->direct)
NVS_GET_REAL(struct nvs_kernel_row, mean, TIMED, nvs_duration_mean(&r->times.total) / 1000)
NVS_GET_REAL(struct nvs_kernel_row, p50, TIMED,
	     (double)nvs_durations_quantile(&r->times, 0.5) / 1000)
NVS_GET_REAL(struct nvs_kernel_row, total, TIMED, (double)r->times.total.ns / 1000)

/* Unknown if a warp's counter wrapped. */
#define WARPS (r->count_flags & NVS_COUNT_WARP)
#define THREADS (r->count_flags & NVS_COUNT_THREAD)
NVS_GET_KNOWN(struct nvs_kernel_row, warp, WARPS, r->warp)
NVS_GET_KNOWN(struct nvs_kernel_row, thread, THREADS, r->thread)
NVS_GET_REAL(struct nvs_kernel_row, warp_each, WARPS &&count_launches(r),
	     (double)r->warp / (double)count_launches(r))
NVS_GET_REAL(struct nvs_kernel_row, thread_each, THREADS &&count_launches(r),
	     (double)r->thread / (double)count_launches(r))
NVS_GET_REAL(struct nvs_kernel_row, warp_share, r->count_flags && r->warp_share >= 0,
	     r->warp_share * 100)
NVS_GET_REAL(struct nvs_kernel_row, active, WARPS &&THREADS && r->warp,
	     (double)r->thread / (double)r->warp)
NVS_GET_KNOWN(struct nvs_kernel_row, in_graphs, BY_HOST, count_launches(r) - r->direct)
NVS_GET_KNOWN(struct nvs_kernel_row, calls_driver, r->count_flags,
	      !!(r->count_flags & NVS_COUNT_CALLS_OUT))
NVS_GET_KNOWN(struct nvs_kernel_row, instructions, r->instructions != NVS_NONE, r->instructions)
NVS_GET_TEXT(struct nvs_kernel_row, reason, r->reason)

NVS_GET_KNOWN(struct nvs_kernel_row, nshapes, !r->many, r->nshapes)
NVS_GET_KNOWN(struct nvs_kernel_row, sites, !r->unsited && !r->many, r->nsites)
NVS_GET_KNOWN(struct nvs_kernel_row, registers, KNOWN, r->kernel->registers)
NVS_GET_KNOWN(struct nvs_kernel_row, shared, KNOWN, r->kernel->shared)
NVS_GET_KNOWN(struct nvs_kernel_row, local, KNOWN, r->kernel->local)

static const struct nvs_column columns[] = {
	{"kernel", "kernel", get_name, NVS_COLUMN_NAME},
	{"launches", "launches", get_launches, 0},
	{"launches_percent", "share %", get_share, 0},
	{"bar", "", get_bar, NVS_COLUMN_BAR},
	{"direct", "direct", get_direct, 0, 2},
	{"graph_captured", "captured", get_capture, NVS_COLUMN_IF_ANY, 3},
	{"graph_built", "built", get_nodes, NVS_COLUMN_IF_ANY, 3},
	{"graph_unknown", "graph", get_unknown, NVS_COLUMN_IF_ANY, 5},
	{"graph_conditional", "conditional", get_conditional, NVS_COLUMN_IF_ANY, 5},
	{"captured", "recorded", get_recorded, NVS_COLUMN_IF_ANY, 5},
	{"failed", "failed", get_failed, NVS_COLUMN_IF_ANY, 5},
	{"warp_instructions", "warp insts", get_warp, NVS_COLUMN_IF_KNOWN, 2},
	{"thread_instructions", "thread insts", get_thread, NVS_COLUMN_IF_KNOWN, 3},
	{"registers", "regs", get_registers, NVS_COLUMN_IF_ANY, 3},
	{"static_shared_bytes", "shared", get_shared, NVS_COLUMN_IF_ANY, 4},
	{"dynamic_shared_bytes", "dynamic", get_dynamic, NVS_COLUMN_IF_ANY, 4},
	{"local_bytes", "local", get_local, NVS_COLUMN_DETAIL},
	{"submissions", "subs", get_submissions, 0, 2},
	{"command_bytes", "cmd bytes", get_bytes, 0, 3},
	{"command_bytes_per_launch", "bytes/launch", get_bytes_each, 0, 2},
	{"host_us_total", "host us", get_total, NVS_COLUMN_DETAIL},
	{"host_us_mean", "host us/call", get_mean, 0, 1},
	{"host_us_p50", "host us p50", get_p50, NVS_COLUMN_DETAIL},
	{"call_sites", "sites", get_sites, NVS_COLUMN_IF_ANY, 4},
	{"shapes", "shapes", get_nshapes, NVS_COLUMN_DETAIL},
	{"grid_block", "grid / block", get_shapes, 0, 4},
	{"mangled", "mangled", get_mangled, NVS_COLUMN_DETAIL},
	NVS_SOURCE_COLUMNS,
};

/* --instructions */
static const struct nvs_column count_columns[] = {
	{"kernel", "kernel", get_name, NVS_COLUMN_NAME},
	{"launches", "launches", get_launches, 0, 1},
	{"direct", "direct", get_direct, 0, 3},
	{"in_graphs", "in graphs", get_in_graphs, NVS_COLUMN_IF_ANY, 3},
	{"warp_instructions", "warp insts", get_warp, NVS_COLUMN_IF_KNOWN},
	{"thread_instructions", "thread insts", get_thread, NVS_COLUMN_IF_KNOWN},
	{"instructions_percent", "share %", get_warp_share, NVS_COLUMN_IF_KNOWN, 1},
	{"warp_instructions_per_launch", "warp/launch", get_warp_each, NVS_COLUMN_IF_KNOWN, 2},
	{"thread_instructions_per_launch", "thread/launch", get_thread_each, NVS_COLUMN_IF_KNOWN,
	 3},
	{"threads_per_warp_instruction", "threads/warp", get_active, NVS_COLUMN_IF_KNOWN, 2},
	{"code_instructions", "code", get_instructions, NVS_COLUMN_IF_KNOWN, 4},
	{"calls_driver", "calls_driver", get_calls_driver, NVS_COLUMN_DETAIL},
	{"reason", "not counted, since", get_reason, NVS_COLUMN_IF_KNOWN, 1},
	{"mangled", "mangled", get_mangled, NVS_COLUMN_DETAIL},
	NVS_SOURCE_COLUMNS,
};

static void finish_row(struct nvs_kernel_row *row)
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
		const struct nvs_shape *s = row->shape + i;

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
	return strcmp((*(struct nvs_kernel_row *const *)a)->kernel->name,
		      (*(struct nvs_kernel_row *const *)b)->kernel->name);
}

/* Sorts by name, rows of one name by trace. */
static int compare_rows(const void *a, const void *b)
{
	const struct nvs_kernel_row *x = *(struct nvs_kernel_row *const *)a,
				    *y = *(struct nvs_kernel_row *const *)b;

	return compare_names(a, b) ?: NVS_CMP(x->source, y->source) ?: NVS_CMP(x->kernel->index, y->kernel->index);
}

/* Merges rows of one name from several traces. */
static int merge_row(struct nvs_kernel_row *into, const struct nvs_kernel_row *from)
{
	into->several |= into->source != from->source;
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
	/* A counter missing in one of the traces makes the sum incomplete. */
	into->count_missing |= from->count_missing |
			       (into->count_flags && from->count_flags
					? into->count_flags ^ from->count_flags
					: 0);
	into->count_flags = (into->count_flags | from->count_flags) & ~into->count_missing;
	into->warp += from->warp;
	into->thread += from->thread;
	if (!into->reason && from->reason)
		into->reason = strdup(from->reason);
	if (!into->kernel->has_attributes && from->kernel != &from->by_gpu)
		into->kernel = from->kernel;
	for (uint32_t i = 0; i < from->told && into->told < NVS_SHAPES; i++)
		into->shape[into->told++] = from->shape[i];
	return nvs_durations_merge(&into->times, &from->times);
}

static bool is_one(const struct nvs_kernel_row *a, const struct nvs_kernel_row *b)
{
	return a->kernel->name[0] && !strcmp(a->kernel->name, b->kernel->name) &&
	       (a->source == b->source || !a->source->query->per_trace);
}

static int merge_rows(struct nvs_kernel_row **rows, size_t *n)
{
	size_t kept = 0;
	int r = 0;

	qsort(rows, *n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < *n; i++) {
		if (kept && is_one(rows[kept - 1], rows[i])) {
			r |= merge_row(rows[kept - 1], rows[i]);
			nvs_kernel_row_free(rows[i]);
		} else {
			rows[kept++] = rows[i];
		}
	}
	*n = kept;
	return r;
}

static void set_shares(struct nvs_kernel_row **rows, size_t n)
{
	uint64_t all = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t own = count_launches(rows[i]);

		all += own;
		most = own > most ? own : most;
	}
	for (size_t i = 0; i < n && all; i++) {
		rows[i]->share = (double)count_launches(rows[i]) / (double)all;
		rows[i]->most = (double)count_launches(rows[i]) / (double)most;
	}
}

/* ---- from the traces to the table ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	struct nvs_kernels *k = each;

	*k = (struct nvs_kernels){
		.source = s,
		.seen = run->state,
	};
	nvs_kernels_begin(k, reader);
	reader->submission = on_submission;
	reader->calls = true;
	reader->call = on_call;
	reader->record = on_record;
	return 0;
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *each)
{
	nvs_kernels_finish(each);
	return 0;
}

/* Counts are recorded by name, so all handles of a name get the same ones. */
static void set_counts(struct nvs_kernel_row *row, const struct nvs_kernel_count *counted)
{
	row->instructions = counted ? counted->instructions : NVS_NONE;
	if (!counted)
		return;
	row->count_flags = counted->flags & ~counted->wrapped;
	row->count_missing = counted->wrapped;
	row->warp = counted->warp;
	row->thread = counted->thread;
	row->reason = counted->reason ? strdup(counted->reason) : NULL;
}

/* Collects the rows of all traces, in trace order. Returns their number. */
static size_t gather_rows(struct nvs_run *run, struct nvs_kernel_row **rows)
{
	struct nvs_kernels *k = run->each;
	size_t n = 0;

	for (; k < (struct nvs_kernels *)run->each + run->n; k++) {
		for (uint32_t i = 0; i < nvs_handles_kernel_count(k->handles); i++) {
			struct nvs_kernel *kernel = nvs_handles_kernel_at(k->handles, i);
			struct nvs_kernel_row *row = nvs_rows_find(&k->rows, &kernel);
			struct nvs_kernel_count *counted;

			if (!row)
				continue;
			nvs_kernel_count_sites(k, row);
			counted = nvs_kernel_counts_find(&k->counts, kernel->name);
			if (counted)
				counted->launched = true;
			set_counts(row, counted);
			rows[n++] = row;
		}
		k->rows.n = 0; /* ROWS has them */
	}
	return n;
}

/* Adds a row for each kernel with counted instructions that no call launched. */
static int add_launched_by_gpu(struct nvs_run *run, struct nvs_kernel_row **rows, size_t *n)
{
	struct nvs_kernels *k = run->each;

	for (; k < (struct nvs_kernels *)run->each + run->n; k++)
		for (size_t i = 0; i < k->counts.rows.n; i++) {
			struct nvs_kernel_count *counted = k->counts.rows.row[i];
			struct nvs_kernel_row *row;

			if (counted->launched || !(counted->warp | counted->thread))
				continue;
			row = calloc(1, sizeof(*row));
			if (!row)
				return -ENOMEM;
			row->by_gpu.name = counted->name;
			row->kernel = &row->by_gpu;
			row->source = k->source;
			set_counts(row, counted);
			rows[(*n)++] = row;
		}
	return 0;
}

static void set_count_shares(struct nvs_kernel_row **rows, size_t n)
{
	uint32_t known = NVS_COUNT_WARP | NVS_COUNT_THREAD;
	uint64_t warp = 0, thread = 0;

	for (size_t i = 0; i < n; i++) {
		warp += rows[i]->warp;
		thread += rows[i]->thread;
		if (rows[i]->count_flags | rows[i]->count_missing)
			known &= rows[i]->count_flags;
	}
	for (size_t i = 0; i < n; i++)
		rows[i]->warp_share = known & NVS_COUNT_WARP && warp
					      ? (double)rows[i]->warp / (double)warp
				      : known & NVS_COUNT_THREAD && thread
					      ? (double)rows[i]->thread / (double)thread
					      : -1;
}

/* COUNTED: add kernels that only other kernels launched, unless calls are selected. */
static int print_table(struct nvs_run *run, struct nvs_table table, bool counted)
{
	struct nvs_kernels *k = run->each;
	struct nvs_kernel_row **rows;
	size_t n = 0;
	int r = 0;

	for (uint32_t i = 0; i < run->n && !r; i++)
		r = nvs_kernels_add_unseen(k + i);
	if (r)
		return r;
	for (uint32_t i = 0; i < run->n; i++)
		n += nvs_handles_kernel_count(k[i].handles) + k[i].counts.rows.n;
	rows = calloc(n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	n = gather_rows(run, rows);
	if (counted && !nvs_filter_is_set(&run->options->query))
		r = add_launched_by_gpu(run, rows, &n);
	if (n && !r)
		r = merge_rows(rows, &n);
	if (!r) {
		for (size_t i = 0; i < n; i++)
			finish_row(rows[i]);
		set_shares(rows, n);
		set_count_shares(rows, n);
		table.rows = (const void **)rows;
		table.nrows = n;
		r = nvs_table_print(run->out, &table, &run->options->print);
	}
	for (size_t i = 0; i < n; i++)
		nvs_kernel_row_free(rows[i]);
	free(rows);
	return r;
}

static int print_kernels(struct nvs_run *run)
{
	return print_table(run, (struct nvs_table)NVS_RUN_SUMS(run, columns, "launches"), false);
}

/* Prints why images without any counted kernel were not counted. */
static void print_images(struct nvs_run *run)
{
	const struct nvs_kernels *k = run->each;

	for (uint32_t t = 0; t < run->n; t++)
		for (size_t i = 0; i < k[t].counts.images.n; i++) {
			const struct nvs_image_reason_count *row = k[t].counts.images.row[i];

			fprintf(run->out->file, "Not counted: %llu image%s, since ",
				(unsigned long long)row->images, row->images == 1 ? "" : "s");
			nvs_out_text(run->out, row->reason);
			fputs(".\n", run->out->file);
		}
}

/* Prints notes on launches by kernels and on driver code called by kernels. */
static void print_uncounted_parts(struct nvs_run *run)
{
	const struct nvs_kernels *k = run->each;
	uint64_t by_gpu = 0, calling = 0;
	bool selected = nvs_filter_is_set(&run->options->query);

	for (uint32_t t = 0; t < run->n; t++)
		for (size_t i = 0; i < k[t].counts.rows.n; i++) {
			const struct nvs_kernel_count *c = k[t].counts.rows.row[i];

			if (!(c->warp | c->thread) || (selected && !c->launched))
				continue;
			by_gpu += !c->launched;
			calling += !!(c->flags & NVS_COUNT_CALLS_OUT);
		}
	if (by_gpu)
		fputs("Kernels without a number of launches were launched by other kernels.\n",
		      run->out->file);
	if (calling)
		fprintf(run->out->file,
			"%llu kernel%s the driver's functions (device-side launches, printf, "
			"malloc), "
			"whose instructions are not counted.\n",
			(unsigned long long)calling, calling == 1 ? " calls" : "s call");
}

/* Prints notes on the counts as a whole. */
static void print_remarks(struct nvs_run *run)
{
	const struct nvs_kernels *k = run->each;

	for (uint32_t t = 0; t < run->n; t++) {
		const struct nvs_kernel_counts *c = &k[t].counts;

		if (c->end)
			fprintf(run->out->file,
				"Only instructions %u to %u of each kernel are counted.\n",
				c->first, c->end - 1);
		if (c->last_unread)
			fputs("The last reading of the counters failed: counts since the one "
			      "before "
			      "it are missing.\n",
			      run->out->file);
	}
	print_images(run);
	print_uncounted_parts(run);
}

static int print_instructions(struct nvs_run *run)
{
	const struct nvs_kernels *k = run->each;
	bool any = false;
	int r;

	for (uint32_t i = 0; i < run->n; i++)
		any = any || k[i].counts.rows.n || k[i].counts.images.n;
	if (!any) {
		run->nothing = true;
		if (run->options->print.format == NVS_FORMAT_TEXT) {
			run->said = true;
			fputs("No instructions were counted: record with nvsnoop --count=warp.\n",
			      run->out->file);
			return 0;
		}
	}
	r = print_table(run,
			(struct nvs_table)NVS_RUN_SUMS(run, count_columns, "instructions_percent"),
			true);
	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		print_remarks(run);
	return r;
}

static void free_kernels(struct nvs_run *run)
{
	struct nvs_kernels *k = run->each;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_kernels_free(k + i);
		nvs_kernel_counts_free(&k[i].counts);
	}
	nvs_distinct_free(run->state);
}

NVS_REPORT(by_kernel, .name = "by-kernel", .place = 30,
	   .help = "per kernel: launches, direct and in graphs",
	   .man = "Per kernel: launches, direct and in graphs (captured from streams, or "
		  "built of nodes), registers, shared memory, the grid and block shapes "
		  "seen, and what the direct launches submitted; and the share of all "
		  "launches, on a terminal with a bar relative to the kernel launched "
		  "most. Nodes in the bodies of conditional nodes are counted separately: "
		  "only the GPU knows how often they ran.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .state = sizeof(struct nvs_distinct),
	   .each = sizeof(struct nvs_kernels), .begin = begin_trace, .end = end_trace,
	   .print = print_kernels, .free = free_kernels);

NVS_REPORT(instructions, .name = "instructions", .place = 31,
	   .help = "per kernel: instructions executed, with nvsnoop --count",
	   .man = "Per kernel: the instructions that its warps and threads executed, "
		  "counted by the kernels themselves under\n.B nvsnoop \\-\\-count\n"
		  "regardless of how they were launched; per launch; and the average "
		  "number of threads of a warp, of 32, that took part in an instruction. "
		  "Kernels that were not counted are listed with the reason.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(count_columns), .state = sizeof(struct nvs_distinct),
	   .each = sizeof(struct nvs_kernels), .begin = begin_trace, .end = end_trace,
	   .print = print_instructions, .free = free_kernels);
