/* SPDX-License-Identifier: MIT */
/* --memory: allocations of the program by kind and context; leaks, failures and wrong frees by call
 * site; memory in use over time; and the driver's own memory objects. decode/analysis/allocations.c
 * and decode/analysis/driver_memory.c collect, this file makes rows and prints them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/calls/roles.h"
#include "decode/analysis/allocations.h"
#include "decode/cli/sentence.h"
#include "decode/analysis/driver_memory.h"
#include "decode/report/core/trace_columns.h"
#include "decode/analysis/stack_tree.h"
#include "decode/report/core/stack_columns.h"
#include "decode/report/core/report.h"

#define MOST_TIMES 16 /* rows over time in text */
#define MOST_SITES 10 /* call sites of each sort without -n */

struct memory_state {
	struct nvs_allocs allocs;
	struct nvs_rm_memory driver;
	int64_t at; /* --at: ns since the start; INT64_MAX: to the end */
};

/* ---- rows ---- */

/* Sorts of rows: those of call sites (NVS_ALLOC_*), then these. */
enum { OF_MEMORY = NVS_ALLOC_EVENTS, OF_DRIVER, OF_TIME };

static const char *const sorts[] = {
	[NVS_ALLOC_UNFREED] = "unfreed",
	[NVS_ALLOC_ENDED] = "freed with context",
	[NVS_ALLOC_FAILED] = "failed",
	[NVS_ALLOC_DOUBLE_FREE] = "freed twice",
	[NVS_ALLOC_UNKNOWN_FREE] = "unknown address",
	[NVS_ALLOC_UNSEEN_FREE] = "allocated unseen",
	[OF_MEMORY] = "memory",
	[OF_DRIVER] = "driver",
	[OF_TIME] = "time",
};

struct memory_row {
	uint8_t sort;
	const struct nvs_source *source;
	const char *memory;
	uint32_t gpu;
	uint64_t context;
	uint64_t calls, allocs, frees, ended, failed, live, live_bytes, peak, bytes;
	bool sizeless; /* bytes are unknown */
	uint32_t result;
	int64_t ns;
	const struct nvs_call_api *api;
	const struct nvs_stack_frame *frame;
	char *frames;
};

struct memory_rows {
	struct memory_row *list;
	size_t n;
	struct nvs_stacks stacks;
};

static bool has_counts(const struct memory_row *r)
{
	return r->sort == OF_MEMORY || r->sort == OF_DRIVER;
}

static bool is_site(const struct memory_row *r)
{
	return r->sort < NVS_ALLOC_EVENTS;
}

static const char *error_of(const struct memory_row *r)
{
	return r->result ? nvs_call_error(r->result) : NULL;
}

static const char *line_of(const struct memory_row *r)
{
	return r->frame ? nvs_trace_callsite_line(r->source->trace, r->frame->stack) : "";
}

#define COLUMNS(COL)                                                                               \
	COL(text, kind, "kind", DETAIL, 0, sorts[r->sort])                                         \
	COL(text, memory, "memory", 0, 0, r->memory)                                               \
	COL(known, gpu, "gpu", IF_KNOWN, 0, r->gpu != NVS_NONE, r->gpu)                            \
	COL(hex, context, "context", IF_KNOWN, 3, r->context, r->context)                          \
	COL(known, calls, "calls", DETAIL, 0, is_site(r), r->calls)                                \
	COL(known, allocations, "allocs", 0, 0, has_counts(r), r->allocs)                          \
	COL(known, frees, "frees", 0, 0, has_counts(r), r->frees)                                  \
	COL(known, context_frees, "with context", IF_ANY, 0, r->sort == OF_MEMORY, r->ended)       \
	COL(known, failed, "failed", IF_ANY, 0, r->sort == OF_MEMORY, r->failed)                   \
	COL(known, live, "live", 0, 0, has_counts(r), r->live)                                     \
	COL(known, live_bytes, "live bytes", 0, 0,                                                 \
	    (has_counts(r) || r->sort == OF_TIME || r->sort == NVS_ALLOC_UNFREED) && !r->sizeless, \
	    r->live_bytes)                                                                         \
	COL(known, peak_bytes, "peak bytes", 0, 0,                                                 \
	    (has_counts(r) || r->sort == OF_TIME) && !r->sizeless, r->peak)                        \
	COL(known, allocated_bytes, "all bytes", 0, 2,                                             \
	    (has_counts(r) || r->sort <= NVS_ALLOC_FAILED) && !r->sizeless, r->bytes)              \
	COL(ns, time_ns, "seconds", DETAIL, 0, r->sort == OF_TIME, r->ns)                          \
	COL(text, error, "error", DETAIL, 0, error_of(r))                                          \
	COL(text, api, "api", DETAIL, 0, r->api && * r->api->name ? nvs_call_name(r->api) : "")    \
	COL(text, line, "line", DETAIL, 0, line_of(r))                                             \
	COL(text, frames, "frames", DETAIL, 0, r->frames)                                          \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct memory_row, COLUMNS)

/* ---- rows ---- */

/* A context belongs to one GPU: the one on which its addresses are mapped. */
struct gpu_of {
	struct {
		uint64_t context;
		const struct nvs_source *source;
	} key;
	uint32_t gpu;
	bool known, several;
};

static int collect_gpus(struct nvs_rows *gpus, const struct nvs_allocs *a)
{
	for (size_t i = 0; i < a->rows.n; i++) {
		const struct nvs_alloc_row *m = a->rows.row[i];
		struct gpu_of key = {.key = {m->key.context, a->source}}, *of;

		if (m->gpu == NVS_NONE || m->gpus)
			continue;
		of = nvs_rows_at(gpus, &key.key);
		if (!of)
			return -ENOMEM;
		of->several |= of->known && of->gpu != m->gpu;
		of->known = true;
		of->gpu = m->gpu;
	}
	return 0;
}

static uint32_t gpu_of(struct nvs_rows *gpus, const struct nvs_allocs *a,
		       const struct nvs_alloc_row *m)
{
	struct gpu_of key = {.key = {m->key.context, a->source}}, *of;

	if (m->key.kind >= NVS_ALLOC_MANAGED)
		return NVS_NONE;
	of = nvs_rows_at(gpus, &key.key);
	return of && of->known && !of->several ? of->gpu : NVS_NONE;
}

static bool is_shown(const struct nvs_alloc_row *m)
{
	return m->key.kind != NVS_ALLOC_VIEW && (m->allocs || m->failed || m->failed_frees);
}

static int add_memory(struct memory_rows *rows, const struct nvs_allocs *a)
{
	struct nvs_rows gpus = NVS_ROWS(struct gpu_of, key);
	int r = collect_gpus(&gpus, a);

	for (uint64_t kind = 0; kind < NVS_ALLOC_KINDS && !r; kind++)
		for (size_t i = 0; i < a->rows.n; i++) {
			const struct nvs_alloc_row *m = a->rows.row[i];

			if (m->key.kind != kind || !is_shown(m))
				continue;
			rows->list[rows->n++] = (struct memory_row){
				.sort = OF_MEMORY,
				.source = a->source,
				.memory = nvs_alloc_kind_name((enum nvs_alloc_kind)kind),
				.gpu = gpu_of(&gpus, a, m),
				.context = m->key.context,
				.allocs = m->allocs,
				.frees = m->frees,
				.ended = m->ended,
				.failed = m->failed + m->failed_frees,
				.live = m->live,
				.live_bytes = m->live_bytes,
				.peak = m->peak,
				.bytes = m->bytes,
				.sizeless = m->sizeless,
			};
		}
	nvs_rows_free(&gpus, NULL);
	return r;
}

static void add_driver(struct memory_rows *rows, const struct memory_state *st)
{
	static const char *const names[NVS_RM_PLACES][2] = {
		{"driver's own, on the GPU", "program's, on the GPU"},
		{"driver's own, of the host", "program's, of the host"}};

	for (uint32_t i = 0; i < st->driver.nsums; i++) {
		const struct nvs_rm_sum *s = st->driver.sums + i;

		rows->list[rows->n++] = (struct memory_row){
			.sort = OF_DRIVER,
			.source = st->allocs.source,
			.memory = names[s->place][s->program],
			.gpu = s->gpu,
			.allocs = s->objects,
			.frees = s->freed,
			.live = s->objects - s->freed,
			.live_bytes = s->live,
			.peak = s->peak,
			.bytes = s->bytes,
		};
	}
}

/* One row for PER intervals; intervals in which nothing changed are left out. */
static void add_times(struct memory_rows *rows, const struct nvs_allocs *a, uint32_t per)
{
	const struct nvs_alloc_series *s = &a->series;
	const struct memory_row *before = NULL;

	for (uint32_t i = 0; i < s->n; i += per) {
		uint32_t last = i + per <= s->n ? i + per - 1 : s->n - 1;
		struct memory_row *row = rows->list + rows->n++;

		*row = (struct memory_row){.sort = OF_TIME,
					   .source = a->source,
					   .gpu = NVS_NONE,
					   .live_bytes = s->live[last]};
		nvs_clock_since_start(a->source->trace, s->first + s->width * i, &row->ns);
		for (uint32_t k = i; k <= last; k++)
			row->peak = s->peak[k] > row->peak ? s->peak[k] : row->peak;
		if (before && row->peak == before->live_bytes &&
		    row->live_bytes == before->live_bytes)
			rows->n--;
		else
			before = row;
	}
}

/* ---- call sites: rows of one site are merged ---- */

static int compare_sites(const void *pa, const void *pb)
{
	const struct memory_row *a = pa, *b = pb;
	int r = NVS_CMP(a->sort, b->sort);

	if (!r && a->frame != b->frame)
		return a->frame->number < b->frame->number ? -1 : 1;
	return r ?: NVS_CMP(a->memory, b->memory) ?: NVS_CMP(a->result, b->result);
}

/* By sort, then the largest first. */
static int compare_sizes(const void *pa, const void *pb)
{
	const struct memory_row *a = pa, *b = pb;

	return NVS_CMP(a->sort, b->sort) ?: NVS_CMP(b->bytes, a->bytes) ?: NVS_CMP(b->calls, a->calls) ?: compare_sites(pa, pb);
}

static void add_sites(struct memory_rows *rows, struct nvs_run *run, const struct nvs_allocs *a)
{
	for (size_t i = 0; i < a->groups.n; i++) {
		const struct nvs_alloc_group *g = a->groups.row[i];
		uint32_t frame = nvs_stacks_add(&rows->stacks, run->sources + a->source->index,
						g->key.stack, g->key.api);

		rows->list[rows->n++] = (struct memory_row){
			.sort = (uint8_t)g->key.what,
			.source = a->source,
			.memory = nvs_alloc_kind_name((enum nvs_alloc_kind)g->key.kind),
			.gpu = NVS_NONE,
			.calls = g->count,
			.bytes = g->bytes,
			.live_bytes = g->bytes,
			.sizeless = g->sizeless,
			.result = g->key.result,
			.api = g->key.api,
			.frame = nvs_stack_frame_at(&rows->stacks, frame),
		};
	}
}

/* Merges rows of the same call site, from FIRST on. */
static void merge_sites(struct memory_rows *rows, size_t first)
{
	size_t kept = first;

	qsort(rows->list + first, rows->n - first, sizeof(*rows->list), compare_sites);
	for (size_t i = first; i < rows->n; i++) {
		struct memory_row *row = rows->list + i, *to = rows->list + kept - 1;

		if (kept == first || compare_sites(to, row)) {
			rows->list[kept++] = *row;
			continue;
		}
		to->calls += row->calls;
		to->bytes += row->bytes;
		to->live_bytes += row->live_bytes;
		to->sizeless |= row->sizeless;
	}
	rows->n = kept;
	qsort(rows->list + first, rows->n - first, sizeof(*rows->list), compare_sizes);
}

static int fold_frames(struct memory_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct memory_row *row = rows->list + i;
		struct nvs_out line = {NULL};
		size_t size;

		if (!row->frame)
			continue;
		line.file = open_memstream(&row->frames, &size);
		if (line.file)
			nvs_stack_frame_fold(&line, &rows->stacks, row->frame);
		if (nvs_budget_end_text(line.file, &row->frames))
			return -ENOMEM;
	}
	return 0;
}

/* ---- text ---- */

#define DRIVER_COLUMNS(COL)                       \
	COL(same, memory, "memory", 0, 0)         \
	COL(same, gpu, "gpu", IF_KNOWN, 0)        \
	COL(same, allocations, "objects", 0, 0)   \
	COL(same, frees, "freed", 0, 0)           \
	COL(same, live_bytes, "live bytes", 0, 0) \
	COL(same, peak_bytes, "peak bytes", 0, 0) \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(driver_columns, struct memory_row, DRIVER_COLUMNS)

#define TIME_COLUMNS(COL)                         \
	COL(same, time_ns, "seconds", 0, 0)       \
	COL(same, live_bytes, "live bytes", 0, 0) \
	COL(same, peak_bytes, "peak bytes", 0, 0) \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->source)
NVS_COLUMNS(time_columns, struct memory_row, TIME_COLUMNS)

static void print_head(struct nvs_out *out, const char *text)
{
	fprintf(out->file, "\n%s%s%s\n", nvs_out_style(out, NVS_STYLE_HEAD), text,
		nvs_out_style(out, NVS_STYLE_PLAIN));
}

/* Prints the N rows from FIRST under a heading, with the columns of TABLE. */
static int print_section(struct nvs_run *run, struct nvs_table *table,
			 const struct memory_row *first, size_t n, const char *head)
{
	struct nvs_print_options o = run->options->print;

	if (!n)
		return 0;
	o.sort = NULL;
	o.rows = 0;
	o.has_rows = true;
	print_head(run->out, head);
	return nvs_table_print_array(run->out, table, first, n, sizeof(*first), &o);
}

static const char *head_of(const struct memory_row *row, bool moment)
{
	static const char *const heads[] = {
		[NVS_ALLOC_UNFREED] = "Never freed",
		[NVS_ALLOC_ENDED] = "Freed only by the end of their context",
		[NVS_ALLOC_FAILED] = "Failed",
		[NVS_ALLOC_DOUBLE_FREE] = "Freed twice",
		[NVS_ALLOC_UNKNOWN_FREE] = "Frees of addresses that were not allocated",
		[NVS_ALLOC_UNSEEN_FREE] = "Freed, but their allocation was not recorded",
	};

	return moment && row->sort == NVS_ALLOC_UNFREED ? "Live at that time" : heads[row->sort];
}

static void print_site(struct nvs_out *out, const struct memory_rows *rows,
		       const struct memory_row *row)
{
	bool allocated = row->sort <= NVS_ALLOC_ENDED;
	const char *error = error_of(row);
	char text[32];

	if (allocated && !row->sizeless)
		fprintf(out->file, "%s bytes  ", nvs_format_grouped(text, row->bytes));
	fprintf(out->file, "%s %s%s", nvs_format_grouped(text, row->calls),
		allocated ? "allocation" : "call", row->calls == 1 ? "" : "s");
	if (*row->memory)
		fprintf(out->file, "  %s", row->memory);
	if (row->result && error)
		fprintf(out->file, "  %s", error);
	else if (row->result)
		fprintf(out->file, "  error %u", row->result);
	if (row->sort == NVS_ALLOC_FAILED && row->bytes) {
		fprintf(out->file, "  %s bytes requested", nvs_format_grouped(text, row->bytes));
	}
	fputc('\n', out->file);
	nvs_stacks_print(out, &rows->stacks, row->source->trace, row->frame);
}

/* Prints the rows from I on that have the same sort; returns the index of the next sort. */
static size_t print_sites(struct nvs_run *run, const struct memory_rows *rows, size_t i,
			  bool moment)
{
	const struct nvs_options_report *o = run->options;
	uint64_t most = o->print.has_rows ? o->print.rows : MOST_SITES, n = 0;
	const struct memory_row *row = rows->list + i;
	struct nvs_out *out = run->out;

	print_head(out, head_of(row, moment));
	for (; i < rows->n && rows->list[i].sort == row->sort; i++, n++) {
		out->told++;
		if (!most || n < most)
			print_site(out, rows, rows->list + i);
	}
	if (most && n > most)
		fprintf(out->file, "%s%llu more call site%s; -n 0 shows all%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), (unsigned long long)(n - most),
			n - most == 1 ? "" : "s", nvs_out_style(out, NVS_STYLE_PLAIN));
	return i;
}

static int print_peak(struct nvs_run *run, const struct memory_state *st)
{
	const struct nvs_alloc_series *s = &st->allocs.series;
	char *text = NULL;
	int64_t ns = 0;
	size_t n;
	FILE *f;

	if (!s->max)
		return 0;
	f = open_memstream(&text, &n);
	if (!f)
		return -ENOMEM;
	nvs_clock_since_start(st->allocs.source->trace, s->max_at, &ns);
	fprintf(f, "Peak on the GPU %s at %.6f" NVS_TIED "s; at %s %s", NVS_BYTES(s->max),
		(double)ns / 1e9, st->at == INT64_MAX ? "the end" : nvs_run_value(run),
		NVS_BYTES(s->now));
	if (run->n > 1)
		fprintf(f, " (%s)", NVS_TEXT(st->allocs.source->path, 200));
	if (nvs_budget_end_text(f, &text))
		return -ENOMEM;
	nvs_print_wrapped(run->out, text, 0);
	free(text);
	return 0;
}

/* ---- the report ---- */

static int on_call(void *arg, const struct nvs_call *call)
{
	struct memory_state *st = arg;
	int64_t ns;

	if (st->at != INT64_MAX && call->end &&
	    nvs_clock_since_start(st->allocs.source->trace, call->end, &ns) && ns > st->at)
		return 1;
	return nvs_allocs_call(&st->allocs, call);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct memory_state *st = arg;
	int64_t ns;

	if (rec->type != NVS_REC_OBJECT && rec->type != NVS_REC_OBJECT_GONE &&
	    rec->type != NVS_REC_ALLOCATION)
		return 0;
	if (st->at != INT64_MAX &&
	    nvs_clock_since_start(st->allocs.source->trace, rec->time, &ns) && ns > st->at)
		return 1;
	return rec->type == NVS_REC_ALLOCATION ? nvs_allocs_record(&st->allocs, rec)
					       : nvs_rm_memory_record(&st->driver, rec);
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct nvs_range moment;
	struct memory_state *st = each;

	st->at = INT64_MAX;
	if (nvs_run_value(run) && nvs_moment_parse(&moment, nvs_run_value(run)))
		st->at = nvs_moment_ns(s, &moment);
	nvs_allocs_begin(&st->allocs, s);
	st->driver.trace = s->trace;
	st->allocs.on_alloc = nvs_rm_memory_note_program;
	st->allocs.arg = &st->driver;
	reader->call = on_call;
	reader->record = on_record;
	return 0;
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct memory_state *st = each;
	int r = nvs_allocs_end(&st->allocs);

	return r ? r : nvs_rm_memory_end(&st->driver);
}

static int print_text(struct nvs_run *run, struct memory_rows *rows, const size_t part[4])
{
	struct nvs_table memory = NVS_RUN_TABLE(run, columns, NULL);
	struct nvs_table times = NVS_RUN_TABLE(run, time_columns, NULL);
	struct nvs_table driver = NVS_RUN_TABLE(run, driver_columns, NULL);
	struct memory_state *st = run->each;
	int r = nvs_table_print_array(run->out, &memory, rows->list, part[0], sizeof(*rows->list),
				      &run->options->print);

	for (uint32_t i = 0; i < run->n && !r; i++)
		r = print_peak(run, st + i);
	for (size_t i = part[2]; i < rows->n && !r;)
		i = print_sites(run, rows, i, st->at != INT64_MAX);
	if (!r)
		r = print_section(run, &times, rows->list + part[0], part[1] - part[0],
				  "Memory on the GPU over time");
	if (!r)
		r = print_section(run, &driver, rows->list + part[1], part[2] - part[1],
				  "Memory objects of the resource manager");
	for (uint32_t i = 0; i < run->n && !r; i++)
		if (st[i].allocs.places_dropped)
			fprintf(stderr,
				"nvsnoop-report: %s: too many allocations to keep all freed ones: "
				"some frees of unknown addresses may be double frees\n",
				st[i].allocs.source->path);
	return r;
}

static size_t max_rows(const struct nvs_run *run)
{
	const struct memory_state *st = run->each;
	size_t n = 1;

	for (uint32_t i = 0; i < run->n; i++)
		n += st[i].allocs.rows.n + st[i].allocs.groups.n + st[i].allocs.series.n +
		     st[i].driver.nsums;
	return n;
}

static int print(struct nvs_run *run)
{
	bool text = run->options->print.format == NVS_FORMAT_TEXT;
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct memory_rows *rows = run->state;
	struct memory_state *st = run->each;
	size_t part[4] = {0}; /* ends of memory, times and driver */
	int r;

	rows->list = calloc(max_rows(run), sizeof(*rows->list));
	rows->stacks.how = NVS_STACKS_PLACES | (run->n > 1 ? NVS_STACKS_PROCESS : 0);
	r = rows->list ? nvs_stacks_init(&rows->stacks) : -ENOMEM;
	for (uint32_t i = 0; i < run->n && !r; i++)
		r = add_memory(rows, &st[i].allocs);
	part[0] = rows->n;
	for (uint32_t i = 0; i < run->n && !r; i++)
		add_times(rows, &st[i].allocs,
			  text ? (st[i].allocs.series.n + MOST_TIMES - 1) / MOST_TIMES : 1);
	part[1] = rows->n;
	/* Filters do not apply to the driver's objects: next to filtered rows they would mislead.
	 */
	for (uint32_t i = 0; i < run->n && !r && !nvs_filter_is_set(&run->options->query); i++)
		add_driver(rows, st + i);
	part[2] = rows->n;
	for (uint32_t i = 0; i < run->n && !r; i++)
		add_sites(rows, run, &st[i].allocs);
	if (r)
		return r;
	merge_sites(rows, part[2]);
	if (text)
		return print_text(run, rows, part);
	r = fold_frames(rows);
	return r ? r
		 : nvs_table_print_array(run->out, &table, rows->list, rows->n, sizeof(*rows->list),
					 &run->options->print);
}

static void free_state(struct nvs_run *run)
{
	struct memory_rows *rows = run->state;
	struct memory_state *st = run->each;

	for (size_t i = 0; i < rows->n; i++)
		free(rows->list[i].frames);
	free(rows->list);
	nvs_stacks_drop(&rows->stacks);
	for (uint32_t i = 0; i < run->n; i++) {
		nvs_allocs_free(&st[i].allocs);
		nvs_rm_memory_free(&st[i].driver);
	}
}

static const struct nvs_report_option at = {
	.name = "at",
	.argument = "TIME",
	.help = "with --memory: memory in use at this time: 1.5s, 50%",
	.man = "With\n.BR \\-\\-memory :\nmemory in use at this time of the trace, in the units "
	       "of\n.BR \\-\\-range .",
	.rule = "a time, as in 1.5s, 200ms or 50%",
	.timed = true,
};

NVS_REPORT(memory, .name = "memory", .group = NVS_MEMORY, .place = 125, .option = &at,
	   .help = "memory by kind and context, leaks by call site, over time",
	   .man = "Allocations of the program by kind of memory and context: their number, the "
		  "bytes live at the end, and the peak. Memory that was never freed, by allocating "
		  "stack,\nlargest first; memory that only the end of its context freed; failed "
		  "allocations and frees, double frees, and frees of unknown addresses.\nThen the "
		  "memory in use on the GPU over time, and the memory objects that the driver "
		  "allocated from the resource manager:\nthose that contain allocations of the "
		  "program, and the driver's own.\nBytes are as requested.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .state = sizeof(struct memory_rows),
	   .each = sizeof(struct memory_state), .begin = begin, .end = end, .print = print,
	   .free = free_state);
