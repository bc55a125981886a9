/* SPDX-License-Identifier: MIT */
/* --by-kernel and --instructions: launches by function, direct and in graphs, with their shapes
 * and what direct launches submitted; and executed instructions, if the trace records counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/gpu_work.h"
#include "decode/analysis/kernel_stats.h"
#include "decode/analysis/launch_arguments.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/base/compare.h"
#include "decode/base/distinct.h"
#include "decode/calls/handles.h"
#include "decode/query/durations.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/gpu_time/grouping.h"
#include "decode/report/core/report.h"

/* State of a trace. GPU is used if it was recorded with times of the GPU. */
struct kernels_each {
	struct nvs_kernels kernels; /* first: readers that know only them have it as ARG */
	struct nvs_gpu_each gpu;
};

struct kernels_state {
	struct nvs_distinct seen;
	struct nvs_gpu_state gpu;
};

static struct nvs_kernels *kernels_of(const struct nvs_run *run, size_t trace)
{
	return &((struct kernels_each *)run->each)[trace].kernels;
}

/* ---- direct launches ---- */

/* Keeps those of the latest launch. */
static void note_parameters(struct nvs_kernels *st, struct nvs_kernel_row *row,
			    const struct nvs_call *call)
{
	char text[NVS_ARGUMENTS_TEXT];
	struct nvs_launch_arguments of;

	if (!st->arguments || !nvs_arguments_of_call(st->arguments, call, row->kernel->name, &of))
		return;
	nvs_arguments_text(&of, text, sizeof(text));
	free(row->parameters);
	row->parameters = strdup(of.of.size ? text : "none");
	row->parameter_bytes = of.of.size;
}

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
	note_parameters(st, row, call);
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

static int on_record(void *arg, const struct nvs_rec *rec)
{
	return nvs_kernel_counts_record(&((struct nvs_kernels *)arg)->counts, rec);
}

/* ---- columns ---- */

struct gpu_total {
	double ns, half;
	bool known, sampled;
};

static struct gpu_total get_gpu_total(const struct nvs_kernel_row *r)
{
	struct gpu_total t = {.known = false};

	if (!r->gpu)
		return t;
	t.sampled = r->gpu->key.each->state->sampled;
	t.known = nvs_gpu_total(&r->gpu->sums, t.sampled, &t.ns, &t.half);
	return t;
}

/* Times of single launches. */
static const struct nvs_gpu_row *get_gpu(const struct nvs_kernel_row *r)
{
	static const struct nvs_gpu_row none;

	return r->gpu ? r->gpu : &none;
}

#define LAUNCHES_TIMED (get_gpu(r)->times.total.count)
#define GPU_NS(q) nvs_durations_quantile(&get_gpu(r)->times, q)

static uint64_t count_launches(const struct nvs_kernel_row *r)
{
	return r->direct + r->by_capture + r->by_nodes + r->by_unknown;
}

static void get_bar(const struct nvs_kernel_row *r, struct nvs_value *v)
{
	v->kind = NVS_VALUE_BAR;
	v->real = r->most;
}

#define KNOWN r->kernel->has_attributes
#define TIMED r->times.total.count

/* The number of launches by other kernels is unknown. */
#define BY_HOST (r->kernel != &r->by_gpu)

/* Unknown if a warp's counter wrapped. */
#define WARPS (r->count_flags & NVS_COUNT_WARP)
#define THREADS (r->count_flags & NVS_COUNT_THREAD)

#define COLUMNS(COL)                                                                              \
	COL(text, kernel, "kernel", NAME, 0, r->name)                                             \
	COL(known, launches, "launches", 0, 0, BY_HOST, count_launches(r))                        \
	COL(real, launches_percent, "share %", 0, 0, BY_HOST, r->share * 100)                     \
	COL(by, bar, "", BAR, 0, get_bar, r)                                                      \
	COL(us, gpu_us_total, "gpu us", IF_KNOWN, 0, get_gpu_total(r).known, get_gpu_total(r).ns) \
	COL(us, gpu_us_error, "+/- us", IF_KNOWN, 0,                                              \
	    get_gpu_total(r).known &&get_gpu_total(r).sampled, get_gpu_total(r).half)             \
	COL(real, gpu_percent, "gpu %", IF_KNOWN, 0, get_gpu_total(r).known && r->gpu_share >= 0, \
	    r->gpu_share * 100)                                                                   \
	COL(known, gpu_timed, "timed", IF_KNOWN, 1, LAUNCHES_TIMED, get_gpu(r)->sums.works)       \
	COL(us, gpu_us_min, "us min", IF_KNOWN, 1, LAUNCHES_TIMED, get_gpu(r)->times.min)         \
	COL(us, gpu_us_p50, "us p50", IF_KNOWN, 1, LAUNCHES_TIMED, GPU_NS(0.5))                   \
	COL(us, gpu_us_p99, "us p99", IF_KNOWN, 1, LAUNCHES_TIMED, GPU_NS(0.99))                  \
	COL(us, gpu_us_max, "us max", IF_KNOWN, 1, LAUNCHES_TIMED, get_gpu(r)->times.max)         \
	COL(us, gpu_us_deviation, "us sd", IF_KNOWN, 1, LAUNCHES_TIMED,                           \
	    nvs_estimate_deviation(&get_gpu(r)->sums.sample))                                     \
	COL(known, direct, "direct", 0, 2, BY_HOST, r->direct)                                    \
	COL(count, graph_captured, "captured", IF_ANY, 3, r->by_capture)                          \
	COL(count, graph_built, "built", IF_ANY, 3, r->by_nodes)                                  \
	COL(count, graph_unknown, "graph", IF_ANY, 5, r->by_unknown)                              \
	COL(count, graph_conditional, "conditional", IF_ANY, 5, r->conditional)                   \
	COL(count, captured, "recorded", IF_ANY, 5, r->recorded)                                  \
	COL(count, failed, "failed", IF_ANY, 5, r->failed)                                        \
	COL(known, warp_instructions, "warp insts", IF_KNOWN, 2, WARPS, r->warp)                  \
	COL(known, thread_instructions, "thread insts", IF_KNOWN, 3, THREADS, r->thread)          \
	COL(known, registers, "regs", IF_ANY, 3, KNOWN, r->kernel->registers)                     \
	COL(known, static_shared_bytes, "shared", IF_ANY, 4, KNOWN, r->kernel->shared)            \
	COL(count, dynamic_shared_bytes, "dynamic", IF_ANY, 4, r->dynamic)                        \
	COL(known, local_bytes, "local", DETAIL, 0, KNOWN, r->kernel->local)                      \
	COL(known, submissions, "subs", 0, 2, !r->uncounted, r->submissions)                      \
	COL(known, command_bytes, "cmd bytes", 0, 3, !r->uncounted, r->bytes)                     \
	COL(real, command_bytes_per_launch, "bytes/launch", 0, 2, r->direct && !r->uncounted,     \
	    (double)r->bytes / (double)r->direct)                                                 \
	COL(us, host_us_total, "host us", DETAIL, 0, TIMED, r->times.total.ns)                    \
	COL(us, host_us_mean, "host us/call", 0, 1, TIMED, nvs_duration_mean(&r->times.total))    \
	COL(us, host_us_p50, "host us p50", DETAIL, 0, TIMED,                                     \
	    nvs_durations_quantile(&r->times, 0.5))                                               \
	COL(known, call_sites, "sites", IF_ANY, 4, !r->unsited && !r->many, r->nsites)            \
	COL(known, shapes, "shapes", DETAIL, 0, !r->many, r->nshapes)                             \
	COL(text, grid_block, "grid / block", 0, 4, r->shapes)                                    \
	COL(text, mangled, "mangled", DETAIL, 0, r->kernel->name)                                 \
	COL(known, parameter_bytes, "parameters", DETAIL, 0, r->parameters, r->parameter_bytes)   \
	COL(text, parameters, "last parameters", DETAIL, 0, r->parameters)                        \
	NVS_SOURCE_COLUMNS(COL, r->several ? NULL : r->source)
NVS_COLUMNS(columns, struct nvs_kernel_row, COLUMNS)

/* --instructions */
#define COUNT_COLUMNS(COL)                                                                    \
	COL(same, kernel, "kernel", NAME, 0)                                                  \
	COL(same, launches, "launches", 0, 1)                                                 \
	COL(same, direct, "direct", 0, 3)                                                     \
	COL(known, in_graphs, "in graphs", IF_ANY, 3, BY_HOST, count_launches(r) - r->direct) \
	COL(same, warp_instructions, "warp insts", IF_KNOWN, 0)                               \
	COL(same, thread_instructions, "thread insts", IF_KNOWN, 0)                           \
	COL(real, instructions_percent, "share %", IF_KNOWN, 1,                               \
	    r->count_flags && r->warp_share >= 0, r->warp_share * 100)                        \
	COL(real, warp_instructions_per_launch, "warp/launch", IF_KNOWN, 2,                   \
	    WARPS &&count_launches(r), (double)r->warp / (double)count_launches(r))           \
	COL(real, thread_instructions_per_launch, "thread/launch", IF_KNOWN, 3,               \
	    THREADS &&count_launches(r), (double)r->thread / (double)count_launches(r))       \
	COL(real, threads_per_warp_instruction, "threads/warp", IF_KNOWN, 2,                  \
	    WARPS &&THREADS && r->warp, (double)r->thread / (double)r->warp)                  \
	COL(known, code_instructions, "code", IF_KNOWN, 4, r->instructions != NVS_NONE,       \
	    r->instructions)                                                                  \
	COL(known, calls_driver, "calls_driver", DETAIL, 0, r->count_flags,                   \
	    !!(r->count_flags & NVS_COUNT_CALLS_OUT))                                         \
	COL(text, reason, "not counted, since", IF_KNOWN, 1, r->reason)                       \
	COL(same, mangled, "mangled", DETAIL, 0)                                              \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->several ? NULL : r->source)
NVS_COLUMNS(count_columns, struct nvs_kernel_row, COUNT_COLUMNS)

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
	if (row->many && n)
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
	if (!into->parameters && from->parameters) {
		into->parameters = strdup(from->parameters);
		into->parameter_bytes = from->parameter_bytes;
	}
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
	if (into->gpu && from->gpu && nvs_gpu_row_merge(into->gpu, from->gpu))
		return -ENOMEM;
	into->gpu = into->gpu ? into->gpu : from->gpu;
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

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *arg,
		       struct nvs_pass_reader *reader)
{
	struct kernels_state *state = run->state;
	struct kernels_each *each = arg;
	struct nvs_pass_reader timed = {.arg = &each->gpu};

	each->kernels = (struct nvs_kernels){.source = s, .seen = &state->seen};
	nvs_kernels_begin(&each->kernels, reader);
	reader->submission = nvs_kernels_note_submission;
	reader->calls = true;
	reader->call = on_call;
	reader->record = on_record;
	/* A terminal does not show them, and operations take long to decode. */
	if (run->report->needs & NVS_NEED_TIMED &&
	    (run->options->page || run->options->print.format != NVS_FORMAT_TEXT)) {
		each->kernels.arguments = nvs_arguments_new(s);
		if (!each->kernels.arguments || nvs_arguments_add(each->kernels.arguments, s))
			return -ENOMEM;
	}
	if (!(run->report->needs & NVS_NEED_TIMED) || !run->second || !nvs_trace_is_timed(s))
		return 0;
	state->gpu.by = NVS_GPU_BY_KERNEL;
	state->gpu.single = true;
	each->gpu.source = s;
	each->gpu.state = &state->gpu;
	nvs_gpu_rows_begin(&each->gpu, &timed);
	return nvs_source_add_reader(s, &timed);
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *arg)
{
	struct kernels_each *each = arg;

	nvs_kernels_finish(&each->kernels);
	nvs_arguments_free(each->kernels.arguments);
	each->kernels.arguments = NULL;
	return each->gpu.state ? nvs_gpu_rows_end(&each->gpu) : 0;
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

static struct nvs_gpu_row *find_gpu_row(const struct nvs_run *run, uint32_t trace,
					const struct nvs_kernel *kernel)
{
	struct kernels_state *state = run->state;
	const struct nvs_gpu_key key = {.each = &((struct kernels_each *)run->each)[trace].gpu,
					.what = kernel,
					.number = NVS_UNKNOWN};

	return state->gpu.rows.n ? nvs_rows_find(&state->gpu.rows, &key) : NULL;
}

/* Adds a row for the GPU time of graphs, and of submissions with several kernels. */
static int add_in_graphs(struct nvs_run *run, struct nvs_kernel_row **rows, size_t *n)
{
	const struct nvs_rows *all = &((struct kernels_state *)run->state)->gpu.rows;
	struct nvs_kernel_row *row = NULL;

	for (size_t i = 0; i < all->n; i++) {
		struct nvs_gpu_row *own = all->row[i];

		if (own->key.what || own->key.number == NVS_UNKNOWN || !own->sums.timed)
			continue;
		if (row &&
		    !(run->options->query.per_trace && row->source != own->key.each->source)) {
			if (nvs_gpu_row_merge(row->gpu, own))
				return -ENOMEM;
			continue;
		}
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->by_gpu.name = "in graphs";
		row->kernel = &row->by_gpu;
		row->source = own->key.each->source;
		row->gpu = own;
		row->instructions = NVS_NONE;
		row->uncounted = row->unsited = row->many = true;
		rows[(*n)++] = row;
	}
	return 0;
}

/* Collects the rows of all traces, in trace order. Returns their number. */
static size_t gather_rows(struct nvs_run *run, struct nvs_kernel_row **rows)
{
	size_t n = 0;

	for (uint32_t t = 0; t < run->n; t++) {
		struct nvs_kernels *k = kernels_of(run, t);

		for (uint32_t i = 0; i < nvs_handles_kernel_count(k->handles); i++) {
			struct nvs_kernel *kernel = nvs_handles_kernel_at(k->handles, i);
			struct nvs_kernel_row *row = nvs_rows_find(&k->rows, &kernel);
			struct nvs_kernel_count *counted;

			if (!row)
				continue;
			nvs_kernel_count_sites(k, row);
			row->gpu = find_gpu_row(run, t, kernel);
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
	for (uint32_t t = 0; t < run->n; t++) {
		struct nvs_kernels *k = kernels_of(run, t);

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
	}
	return 0;
}

static void set_gpu_shares(struct nvs_kernel_row **rows, size_t n)
{
	double all = 0;

	for (size_t i = 0; i < n; i++)
		all += get_gpu_total(rows[i]).known ? get_gpu_total(rows[i]).ns : 0;
	for (size_t i = 0; i < n; i++)
		rows[i]->gpu_share = all > 0 ? get_gpu_total(rows[i]).ns / all : -1;
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
	struct nvs_kernel_row **rows;
	size_t n = 0;
	int r = 0;

	for (uint32_t i = 0; i < run->n && !r; i++)
		r = nvs_kernels_add_unseen(kernels_of(run, i));
	if (r)
		return r;
	for (uint32_t i = 0; i < run->n; i++)
		n += nvs_handles_kernel_count(kernels_of(run, i)->handles) +
		     kernels_of(run, i)->counts.rows.n;
	rows = calloc(n + run->n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	n = gather_rows(run, rows);
	if (counted && !nvs_filter_is_set(&run->options->query))
		r = add_launched_by_gpu(run, rows, &n);
	if (n && !r)
		r = merge_rows(rows, &n);
	if (!r && !counted)
		r = add_in_graphs(run, rows, &n);
	if (!r) {
		for (size_t i = 0; i < n; i++)
			finish_row(rows[i]);
		set_shares(rows, n);
		set_gpu_shares(rows, n);
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
	const struct kernels_state *state = run->state;
	bool timed = state->gpu.rows.n;
	int r = print_table(
		run,
		(struct nvs_table)NVS_RUN_SUMS(run, columns, timed ? "gpu_us_total" : "launches"),
		false);

	if (r || run->options->print.format != NVS_FORMAT_TEXT)
		return r;
	if (state->gpu.sampled)
		fputs(NVS_GPU_SAMPLED, run->out->file);
	else if (!timed && !run->options->page)
		fputs("No GPU time: record with nvsnoop --timing=work or sample to get it\n",
		      run->out->file);
	return 0;
}

/* Prints why images without any counted kernel were not counted. */
static void print_images(struct nvs_run *run)
{

	for (uint32_t t = 0; t < run->n; t++)
		for (size_t i = 0; i < kernels_of(run, t)->counts.images.n; i++) {
			const struct nvs_image_reason_count *row =
				kernels_of(run, t)->counts.images.row[i];

			fprintf(run->out->file, "Not counted: %llu image%s, since ",
				(unsigned long long)row->images, row->images == 1 ? "" : "s");
			nvs_out_text(run->out, row->reason);
			fputs(".\n", run->out->file);
		}
}

/* Prints notes on launches by kernels and on driver code called by kernels. */
static void print_uncounted_parts(struct nvs_run *run)
{
	uint64_t by_gpu = 0, calling = 0;
	bool selected = nvs_filter_is_set(&run->options->query);

	for (uint32_t t = 0; t < run->n; t++)
		for (size_t i = 0; i < kernels_of(run, t)->counts.rows.n; i++) {
			const struct nvs_kernel_count *c = kernels_of(run, t)->counts.rows.row[i];

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

	for (uint32_t t = 0; t < run->n; t++) {
		const struct nvs_kernel_counts *c = &kernels_of(run, t)->counts;

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
	bool any = false;
	int r;

	for (uint32_t i = 0; i < run->n; i++)
		any = any || kernels_of(run, i)->counts.rows.n ||
		      kernels_of(run, i)->counts.images.n;
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
	struct kernels_state *state = run->state;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_arguments_free(kernels_of(run, i)->arguments);
		nvs_kernels_free(kernels_of(run, i));
		nvs_kernel_counts_free(&kernels_of(run, i)->counts);
		nvs_gpu_each_free(&((struct kernels_each *)run->each)[i].gpu);
	}
	nvs_gpu_rows_free(&state->gpu);
	nvs_distinct_free(&state->seen);
}

NVS_REPORT(by_kernel, .name = "by-kernel", .group = NVS_GPU_WORK, .place = 30,
	   .help = "per kernel: launches, direct and in graphs",
	   .man = "Per kernel: launches, direct and in graphs (captured from streams, or "
		  "built of nodes), registers, shared memory, the grid and block shapes "
		  "seen, and what the direct launches submitted; and the share of all "
		  "launches, on a terminal with a bar relative to the kernel launched "
		  "most. Nodes in the bodies of conditional nodes are counted separately: "
		  "only the GPU knows how often they ran.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS | NVS_NEED_TIMED,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .state = sizeof(struct kernels_state), .each = sizeof(struct kernels_each),
	   .begin = begin_trace, .end = end_trace, .print = print_kernels, .free = free_kernels);

NVS_REPORT(instructions, .name = "instructions", .group = NVS_GPU_WORK, .place = 31,
	   .help = "per kernel: instructions executed, with nvsnoop --count",
	   .man = "Per kernel: the instructions that its warps and threads executed, "
		  "counted by the kernels themselves under\n.B nvsnoop \\-\\-count\n"
		  "regardless of how they were launched; per launch; and the average "
		  "number of threads of a warp, of 32, that took part in an instruction. "
		  "Kernels that were not counted are listed with the reason.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(count_columns), .state = sizeof(struct kernels_state),
	   .each = sizeof(struct kernels_each), .begin = begin_trace, .end = end_trace,
	   .print = print_instructions, .free = free_kernels);
