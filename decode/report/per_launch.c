/* SPDX-License-Identifier: MIT */
/* --per-launch: one line per launch with its instructions, from the counters read after it. If
 * several launches of a kernel precede one reading, they share a line, which has their number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/analysis/instruction_counts.h"
#include "decode/calls/handles.h"
#include "decode/analysis/count_attribution.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/report.h"

struct launch_line {
	const struct nvs_source *source;
	char *name;
	struct nvs_count_share share; /* its calls are no longer valid */
	uint64_t instructions, total;
	bool known, summed; /* INSTRUCTIONS is valid; TOTAL is */
};

struct per_launch_state {
	struct nvs_source *source;
	struct nvs_handles *handles;
	struct nvs_kernel_counts counts;
	struct nvs_count_shares *shares;
	struct launch_line *lines;
	uint32_t n, room;
};

static int on_call(void *arg, const struct nvs_call *call)
{
	return nvs_count_shares_call(((struct per_launch_state *)arg)->shares, call, 0);
}

/* ---- lines ---- */

static int add_line(void *arg, const struct nvs_count_share *share)
{
	struct per_launch_state *st = arg;
	struct launch_line *line;
	uint32_t level;

	/* Its counters were never read. */
	if (!share->whole && !share->warp && !share->thread)
		return 0;
	line = NVS_APPEND(st->lines, st->n, st->room, 64, UINT32_MAX / 2);
	if (!line)
		return -ENOMEM;
	level = share->counted->flags & NVS_COUNT_WARP ? NVS_COUNT_WARP : NVS_COUNT_THREAD;
	*line = (struct launch_line){
		.source = st->source,
		.share = *share,
		.instructions = level == NVS_COUNT_WARP ? share->warp : share->thread,
		.known = !(share->counted->wrapped & level),
	};
	return 0;
}

/* In order of the readings, as NVBit prints them; kernels of a graph in order of appearance. */
static int compare_lines(const void *pa, const void *pb)
{
	const struct nvs_count_share *a = &((const struct launch_line *)pa)->share,
				     *b = &((const struct launch_line *)pb)->share;

	return NVS_CMP(a->reading, b->reading) ?: NVS_CMP(a->kernel, b->kernel) ?: strcmp(a->counted->name, b->counted->name);
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	struct per_launch_state *st = each;
	int r = nvs_count_shares_end(st->shares, add_line, st);
	uint64_t total = 0;
	bool summed = true;

	if (st->n)
		qsort(st->lines, st->n, sizeof(*st->lines), compare_lines);
	for (uint32_t i = 0; i < st->n; i++) {
		total += st->lines[i].instructions;
		st->lines[i].total = total;
		summed = summed && st->lines[i].known;
		st->lines[i].summed = summed;
	}
	return r;
}

/* ---- columns ---- */

#define LAUNCHED r->share.launches
#define COUNTED (r->share.counted->flags & ~r->share.counted->wrapped)

#define COLUMNS(COL)                                                                              \
	COL(known, kernel_number, "number", 0, 0, r->share.ncalls, r->share.kernel)               \
	COL(text, kernel, "kernel", NAME, 0, r->name)                                             \
	COL(known, blocks, "blocks", 0, 0, LAUNCHED && !r->share.shapeless, r->share.blocks)      \
	COL(known, launches, "launches", 0, 0, LAUNCHED, r->share.launches)                       \
	COL(nonzero, calls, "calls", 0, 0, r->share.ncalls)                                       \
	COL(known, in_graphs, "in graphs", 0, 0, LAUNCHED, r->share.in_graphs)                    \
	COL(known, warp_instructions, "warp insts", 0, 0, COUNTED &NVS_COUNT_WARP, r->share.warp) \
	COL(known, thread_instructions, "thread insts", 0, 0, COUNTED &NVS_COUNT_THREAD,          \
	    r->share.thread)                                                                      \
	COL(known, total_instructions, "total insts", 0, 0, r->summed, r->total)                  \
	COL(text, mangled, "mangled", DETAIL, 0, r->share.counted->name)                          \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct launch_line, COLUMNS)

/* ---- the report ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	struct per_launch_state *st = each;

	st->source = s;
	st->shares = nvs_count_shares_new(s, &st->handles, &st->counts);
	reader->handles = &st->handles;
	reader->call = on_call;
	return st->shares ? 0 : -ENOMEM;
}

static void print_count(struct nvs_out *out, const char *what, bool known, uint64_t n)
{
	if (known)
		fprintf(out->file, "%s%llu", what, (unsigned long long)n);
	else
		fprintf(out->file, "%s-", what);
}

static void print_line(struct nvs_out *out, const struct launch_line *l)
{
	if (l->share.ncalls)
		fprintf(out->file, "kernel %u - ", l->share.kernel);
	else
		fputs("kernel - - ", out->file);
	nvs_out_text(out, l->name);
	if (l->share.launches && !l->share.shapeless)
		fprintf(out->file, " - #thread-blocks %llu", (unsigned long long)l->share.blocks);
	else
		fputs(" - #thread-blocks -", out->file);
	print_count(out, ", kernel instructions ", l->known, l->instructions);
	print_count(out, ", total instructions ", l->summed, l->total);
	if (l->share.ncalls > 1)
		fprintf(out->file, ", launches %llu", (unsigned long long)l->share.launches);
	fputc('\n', out->file);
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_SUMS(run, columns, NULL);
	const struct nvs_options_report *o = run->options;
	struct per_launch_state *st = run->each;
	const void **rows;
	size_t n = 0;
	int r = 0;

	for (uint32_t t = 0; t < run->n; t++)
		n += st[t].n;
	run->nothing = !n;
	if (!n && o->print.format == NVS_FORMAT_TEXT) {
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
		for (uint32_t i = 0; i < st[t].n; i++) {
			struct launch_line *l = &st[t].lines[i];

			l->name = nvs_demangle(l->share.counted->name);
			if (!l->name)
				r = -ENOMEM;
			rows[n++] = l;
		}
	if (!r && o->print.format == NVS_FORMAT_TEXT) {
		for (size_t i = 0;
		     i < n && (!o->print.has_rows || !o->print.rows || i < o->print.rows); i++)
			print_line(run->out, rows[i]);
		run->out->told += n;
	} else if (!r) {
		table.rows = rows;
		table.nrows = n;
		r = nvs_table_print(run->out, &table, &o->print);
	}
	free(rows);
	return r;
}

static void free_state(struct nvs_run *run)
{
	struct per_launch_state *st = run->each;

	for (uint32_t t = 0; t < run->n && st[t].handles; t++) {
		for (size_t i = 0; i < st[t].n; i++)
			free(st[t].lines[i].name);
		free(st[t].lines);
		nvs_count_shares_free(st[t].shares);
		nvs_kernel_counts_free(&st[t].counts);
	}
}

NVS_REPORT(per_launch, .name = "per-launch", .group = NVS_GPU_WORK, .place = 32,
	   .help = "one line per launch with its instructions, as NVBit's instr_count prints them",
	   .man = "One line per launch whose instructions were counted\n(\n.B nvsnoop "
		  "\\-\\-count=warp \\-\\-exact=sync\n), including the kernels of graphs: the "
		  "kernel's number, name and blocks, its instructions,\nand the total so far. "
		  "Launches that ran concurrently, or between which the counters were not "
		  "read,\nshare a line, which has their number.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_CALLS, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .each = sizeof(struct per_launch_state), .begin = begin,
	   .end = end, .print = print, .free = free_state);
