/* SPDX-License-Identifier: MIT */
/* --memcpy: copies by direction, kind of host memory, way the bytes moved, and size class. GPU
 * times come from timing=work only. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/analysis/copy_operands.h"
#include "decode/analysis/gpu_work.h"
#include "decode/calls/hostmem.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/query/durations.h"
#include "decode/report/core/report.h"

struct memcpy_row {
	struct memcpy_row_key {
		struct nvs_copy_kind kind;
		uint32_t trace; /* with --per-trace */
	} key;
	const struct nvs_source *source; /* NULL: in several traces */
	uint32_t number; /* from 1, over all rows: the tag of its work */
	uint64_t calls, failed, bytes, least, most, batched;
	uint64_t submissions, entries, command_bytes;
	bool uncounted; /* these three are unknown */
	struct nvs_durations times;
	struct {
		uint64_t bytes, ns;
	} done; /* of calls that returned after the copy was done */
	struct {
		uint64_t n, bytes, ns;
		bool whole; /* time of the timestamps not subtracted */
	} work; /* submissions with one copy each, timed by timing=work */
};

struct memcpy_state {
	struct nvs_source *source;
	struct nvs_copy_memory memory;
	struct nvs_handles *handles;
	struct nvs_work_list *works; /* NULL: the trace has no GPU times */
	struct nvs_rows *rows; /* shared by all traces */
};

static void note_sizes(struct memcpy_row *row, const struct nvs_call *call,
		       const struct nvs_copy_endpoints *e)
{
	uint64_t least = e->bytes, most = e->bytes;

	if (e->copies != 1 && (!nvs_call_value(call, NVS_ARG_least, &least) ||
			       !nvs_call_value(call, NVS_ARG_most, &most)))
		return;
	if (!e->known)
		return;
	row->least = least < row->least ? least : row->least;
	row->most = most > row->most ? most : row->most;
}

static int count_copy(struct memcpy_state *st, const struct nvs_call *call)
{
	uint64_t ns;
	size_t known = st->rows->n;
	struct nvs_copy_endpoints e;
	struct memcpy_row_key key;
	struct memcpy_row *row;

	nvs_copy_endpoints_read(&st->memory, call, &e);
	key.kind = nvs_copy_kind_of(st->source->trace, call, &e);
	key.trace = st->source->query->per_trace ? st->source->index : 0;
	row = nvs_rows_at(st->rows, &key);
	if (!row)
		return -ENOMEM;
	if (st->rows->n > known) {
		row->number = (uint32_t)known + 1;
		row->source = st->source;
		row->least = UINT64_MAX;
	}
	if (row->source != st->source)
		row->source = NULL;
	if (call->result || !call->end) {
		row->failed++;
		return 0;
	}
	if (st->works)
		nvs_work_list_tag_call(st->works, row->number);
	row->calls++;
	row->batched += e.batch ? e.copies : 0;
	row->bytes += e.bytes;
	note_sizes(row, call, &e);
	row->uncounted |= call->uncounted;
	row->submissions += call->asked_submissions;
	row->entries += call->asked_entries;
	row->command_bytes += call->asked_bytes;
	ns = nvs_call_ns(st->source->trace, call->begin, call->end);
	if (nvs_copy_returns_done(call, &e, key.kind.mode)) {
		row->done.bytes += e.bytes;
		row->done.ns += ns;
	}
	return nvs_durations_add(&row->times, ns);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct memcpy_state *st = arg;
	int r = nvs_hostmem_call(st->memory.kinds, call);

	if (r || call->api->group != NVS_CALL_GROUP_COPY || !nvs_filter_call(st->source, call))
		return r;
	return count_copy(st, call);
}

/* ---- GPU time ---- */

/* Only copies that were alone in their bracket, and took longer than an empty bracket. */
static void count_times(struct memcpy_state *st)
{
	const uint8_t need = NVS_WORK_TIMED | NVS_WORK_SINGLE_COPY;
	const uint8_t not = NVS_WORK_WAITED | NVS_WORK_SHARED | NVS_WORK_TOO_SHORT;
	size_t n;
	const struct nvs_work *list = nvs_work_list_items(st->works, &n);

	for (size_t i = 0; i < n; i++) {
		struct memcpy_row *row;

		if (!list[i].tag || (list[i].flags & need) != need || list[i].flags & not )
			continue;
		row = st->rows->row[list[i].tag - 1];
		row->work.n++;
		row->work.bytes += list[i].bytes;
		row->work.ns += list[i].ns;
		row->work.whole |= !(list[i].flags & NVS_WORK_SUBTRACTED);
	}
}

/* ---- columns ---- */

static double mean_per(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

#define COLUMNS(COL)                                                                         \
	COL(text, direction, "copy", 0, 0, nvs_copy_direction_name(r->key.kind.direction))   \
	COL(text, memory, "memory", 0, 0, nvs_copy_memory_name(&r->key.kind))                \
	COL(text, mode, "mode", 0, 0, nvs_copy_way_name(r->key.kind.mode))                   \
	COL(known, size_class_bytes, "up to", 0, 0, r->key.kind.class != NVS_COPY_NO_CLASS,  \
	    1ull << (r->key.kind.class & 63))                                                \
	COL(count, calls, "calls", 0, 0, r->calls)                                           \
	COL(count, batched_copies, "batched", IF_ANY, 4, r->batched)                         \
	COL(count, failed, "failed", IF_ANY, 5, r->failed)                                   \
	COL(known, smallest_bytes, "smallest", 0, 4, r->least <= r->most, r->least)          \
	COL(known, largest_bytes, "largest", 0, 4, r->least <= r->most, r->most)             \
	COL(known, copied_bytes, "bytes", 0, 0,                                              \
	    r->key.kind.class != NVS_COPY_NO_CLASS || !r->calls, r->bytes)                   \
	COL(real, submissions_per_call, "doorbells", 0, 3, r->calls && !r->uncounted,        \
	    mean_per(r->submissions, r->calls))                                              \
	COL(real, entries_per_call, "entries", DETAIL, 0, r->calls && !r->uncounted,         \
	    mean_per(r->entries, r->calls))                                                  \
	COL(real, command_bytes_per_call, "cmd bytes/call", 0, 3, r->calls && !r->uncounted, \
	    mean_per(r->command_bytes, r->calls))                                            \
	COL(us, host_us_mean, "us/call", 0, 2, r->calls, nvs_duration_mean(&r->times.total)) \
	COL(us, host_us_p50, "host us p50", DETAIL, 0, r->calls,                             \
	    nvs_durations_quantile(&r->times, 0.5))                                          \
	COL(real, host_gb_per_s, "host GB/s", 0, 2, r->done.ns,                              \
	    mean_per(r->done.bytes, r->done.ns))                                             \
	/* The last column to be dropped on a narrow terminal. */                            \
	COL(real, gpu_gb_per_s, "GPU GB/s", IF_ANY, 1, r->work.n,                            \
	    mean_per(r->work.bytes, r->work.ns))                                             \
	COL(count, gpu_timed, "timed", DETAIL, 0, r->work.n)                                 \
	COL(count, gpu_timed_bytes, "timed bytes", DETAIL, 0, r->work.bytes)                 \
	COL(us, gpu_timed_us, "GPU us", DETAIL, 0, r->work.n, r->work.ns)                    \
	/* In text only if a GPU other than 0 is used. */                                    \
	COL(known, from_gpu, "from GPU", IF_ANY, 0, r->key.kind.from_gpu != NVS_NONE,        \
	    r->key.kind.from_gpu)                                                            \
	COL(known, to_gpu, "to GPU", IF_ANY, 0, r->key.kind.to_gpu != NVS_NONE,              \
	    r->key.kind.to_gpu)                                                              \
	COL(text, gpu_timed_by, "by", DETAIL, 0,                                             \
	    r->work.whole ? "brackets"                                                       \
	    : r->work.n	  ? "timing"                                                         \
			  : "")                                                                \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct memcpy_row, COLUMNS)

static int compare_rows(const void *pa, const void *pb)
{
	const struct memcpy_row_key *a = &(*(const struct memcpy_row *const *)pa)->key;
	const struct memcpy_row_key *b = &(*(const struct memcpy_row *const *)pb)->key;

	return NVS_CMP(a->trace, b->trace) ?: NVS_CMP(a->kind.direction, b->kind.direction) ?: NVS_CMP(a->kind.memory, b->kind.memory) ?: NVS_CMP(a->kind.from_gpu, b->kind.from_gpu) ?: NVS_CMP(a->kind.to_gpu, b->kind.to_gpu) ?: NVS_CMP(a->kind.class, b->kind.class) ?: NVS_CMP(a->kind.mode, b->kind.mode);
}

/* The size at which copies of one kind change from inline to the engine, as far as this trace
 * shows. */
static void print_threshold(struct nvs_out *out, const struct nvs_rows *rows,
			    enum nvs_copy_direction d, enum nvs_memory_kind memory)
{
	uint64_t largest = 0, smallest = UINT64_MAX;
	char text[2][32];

	for (size_t i = 0; i < rows->n; i++) {
		const struct memcpy_row *r = rows->row[i];

		if (r->key.kind.direction != d || r->key.kind.memory != memory || !r->calls)
			continue;
		if (r->key.kind.mode == NVS_COPY_BY_INLINE && r->most > largest)
			largest = r->most;
		if (r->key.kind.mode == NVS_COPY_BY_ENGINE && r->least < smallest)
			smallest = r->least;
	}
	if (largest && smallest != UINT64_MAX)
		fprintf(out->file, "%s %s: inline up to %s bytes, by engine from %s%s\n",
			nvs_copy_direction_name(d), nvs_memory_name(memory),
			nvs_format_grouped(text[0], largest), nvs_format_grouped(text[1], smallest),
			smallest <= largest ? "; either in between" : "");
}

static bool was_timed(const struct nvs_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		if (nvs_pass_has_record(run->sources[i].first, NVS_REC_GPU_TIME) ||
		    nvs_trace_has_timing_work(&run->sources[i]))
			return true;
	return false;
}

static void print_timing_note(const struct nvs_run *run, const struct nvs_rows *rows)
{
	bool work = false, whole = false;

	for (size_t i = 0; i < rows->n; i++) {
		const struct memcpy_row *r = rows->row[i];

		work |= r->work.n;
		whole |= r->work.whole;
	}
	if (work)
		fprintf(run->out->file,
			"GPU GB/s: by timing=work, of copies alone in a submission%s\n",
			whole ? "; too low by the time of the timestamps" : "");
	else if (rows->n && !was_timed(run))
		fputs("No GPU GB/s: record with nvsnoop --timing=work to get it\n", run->out->file);
}

/* ---- from the traces to the table ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct memcpy_state *st = each;

	st->source = s;
	st->rows = run->state;
	if (!st->rows->size)
		*st->rows = NVS_ROWS(struct memcpy_row, key);
	if (nvs_copy_memory_begin(&st->memory, s->trace))
		return -ENOMEM;
	/* Every copy is a call: without calls of that group the trace need not be decoded. */
	if (!nvs_pass_has_call(s->first, NVS_CALL_GROUP_COPY))
		return 0;
	reader->call = on_call;
	reader->tallies = true;
	if (!nvs_pass_has_record(s->first, NVS_REC_GPU_TIME))
		return 0;
	st->works = nvs_work_list_new(s, &st->handles);
	return st->works ? nvs_work_list_read(st->works) : -ENOMEM;
}

static void free_trace(struct memcpy_state *st)
{
	nvs_hostmem_free(st->memory.kinds);
	nvs_work_list_free(st->works);
	st->works = NULL;
	st->memory.kinds = NULL;
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct memcpy_state *st = each;
	int r = st->works ? nvs_work_list_finish(st->works) : 0;

	if (!r && st->works)
		count_times(st);
	free_trace(st);
	return r;
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_SUMS(run, columns, NULL);
	struct nvs_rows *rows = run->state;
	int r;

	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), compare_rows);
	r = nvs_table_print_rows(run->out, &table, rows, &run->options->print);
	if (r || run->options->print.format != NVS_FORMAT_TEXT)
		return r;
	for (enum nvs_copy_direction d = NVS_COPY_HTOD; d < NVS_COPY_BATCH; d++)
		for (int m = NVS_MEMORY_PAGEABLE; m <= NVS_MEMORY_DEVICE; m++)
			print_threshold(run->out, rows, d, (enum nvs_memory_kind)m);
	print_timing_note(run, rows);
	return 0;
}

static void free_row(void *row)
{
	nvs_durations_free(&((struct memcpy_row *)row)->times);
}

static void free_copies(struct nvs_run *run)
{
	struct memcpy_state *st = run->each;

	for (uint32_t i = 0; i < run->n; i++)
		free_trace(st + i);
	nvs_rows_free(run->state, free_row);
}

NVS_REPORT(copies, .name = "memcpy", .group = NVS_GPU_WORK, .place = 50,
	   .help = "copies by direction, memory, mode and size",
	   .man = "Copies by direction, kind of host memory, size class, and how the bytes moved: "
		  "inline in the pushbuffer, by a copy engine,\nby a macro or by a kernel. A call "
		  "that copies a batch counts once, under\n.BR batch ;\nits copies are counted "
		  "under\n.BR batched ,\nand its size class is that of their mean size.\n.B host "
		  "GB/s\nis bytes divided by host time, of calls that return when the copy is "
		  "done. Calls that may return earlier, on a stream\nor with the bytes inline, "
		  "have none.\n.B GPU GB/s\nis bytes divided by GPU time, in a trace recorded "
		  "with\n.BR timing=work .\nIt covers copies that were alone in a submission, did "
		  "not wait for work with an unknown end, and whose engine did no work for "
		  "another\nchannel at the same time.\nBelow the table: the sizes at which the "
		  "mode changes, as far as this trace shows.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_NAMES, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .state = sizeof(struct nvs_rows),
	   .each = sizeof(struct memcpy_state), .begin = begin, .end = end, .print = print,
	   .free = free_copies);
