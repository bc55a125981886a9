/* SPDX-License-Identifier: MIT */
/* --races: work of different streams on the same memory that nothing orders. A block for each pair
 * of call sites. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/allocations.h"
#include "decode/base/compare.h"
#include "decode/calls/bracket_times.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/races/internal.h"
#include "decode/analysis/memory_accesses.h"
#include "decode/calls/handles.h"

/* ---- columns ---- */

static const struct nvs_race *race_of(const struct race_row *r)
{
	static const struct nvs_race_site nowhere;
	static const struct nvs_race none = {.first.site = &nowhere, .second.site = &nowhere};

	return r->race ? r->race : &none;
}

static const char *api_of(const struct race_row *r, const struct nvs_race_side *side)
{
	return r->race ? nvs_call_name(side->site->key.api) : "";
}

static const char *kernel_of(const struct race_row *r, const struct nvs_race_side *side)
{
	const struct nvs_kernel *k = side->site->key.kernel;

	return k && *k->name ? nvs_trace_demangle(r->source->trace, k->name) : "";
}

static const char *site_of(const struct nvs_callsite *site)
{
	return site ? site->site : "";
}

static const char *line_of(const struct race_row *r, const struct nvs_race_side *side)
{
	return r->race ? nvs_trace_callsite_line(r->source->trace, side->site->key.stack) : "";
}

static const char *kind_of(const struct race_row *r, const struct nvs_race_side *side)
{
	return r->race ? nvs_access_kinds[side->kind] : "";
}

static void get_stream(const struct race_row *r, const struct nvs_race_side *side,
		       struct nvs_value *v)
{
	if (r->race)
		nvs_stream_value(side->work.stream, v);
}

static bool has_channel(const struct race_row *r, const struct nvs_race_side *side)
{
	return r->race && side->work.channel != NVS_NONE;
}

static bool has_channels(const struct race_row *r)
{
	return has_channel(r, &r->race->first) && has_channel(r, &r->race->second);
}

static void get_acquired(const struct race_row *r, struct nvs_value *v)
{
	if (r->race && has_channels(r))
		nvs_value_truth(v, r->race->acquired, "yes");
}

#define FIRST (&race_of(r)->first)
#define SECOND (&race_of(r)->second)

#define SIDE_COLUMNS(COL, which, side, place)                                            \
	COL(text, which##_access, #which, 0, 0, kind_of(r, side))                        \
	COL(text, which##_api, "api", NAME, 0, api_of(r, side))                          \
	COL(text, which##_kernel, "kernel", NAME, 0, kernel_of(r, side))                 \
	COL(known, which##_node, "node", IF_KNOWN, 0, r->race && (side)->site->key.exec, \
	    (side)->site->key.node)                                                      \
	COL(text, which##_callsite, "callsite", NAME, 0, site_of(r->place))              \
	COL(text, which##_line, "line", NAME, 0, line_of(r, side))                       \
	COL(by, which##_stream, "stream", 0, 0, get_stream, r, side)                     \
	COL(known, which##_thread, "thr", 0, 0, r->race, (side)->work.thread)            \
	COL(known, which##_submission, "submission", 0, 0, has_channel(r, side),         \
	    (side)->work.submission)                                                     \
	COL(known, which##_channel, "chan", 0, 0, has_channel(r, side), (side)->work.channel)

#define COLUMNS(COL)                                                                              \
	COL(text, kind, "kind", 0, 0, r->trace ? "trace" : "race")                                \
	COL(text, level, "level", 0, 0, r->race ? nvs_race_levels[r->level] : "")                 \
	COL(known, races, "times", 0, 0, r->race, r->count)                                       \
	COL(text, memory, "memory", 0, 0,                                                         \
	    r->race ? nvs_alloc_kind_name(r->race->memory.kind) : "")                             \
	COL(hex, allocation, "allocation", 0, 0, r->race, race_of(r)->memory.address)             \
	COL(known, allocation_bytes, "bytes", 0, 0, r->race, race_of(r)->memory.bytes)            \
	COL(known, offset_bytes, "offset", 0, 0, r->race,                                         \
	    race_of(r)->address - race_of(r)->memory.address)                                     \
	SIDE_COLUMNS(COL, first, FIRST, first)                                                    \
	SIDE_COLUMNS(COL, second, SECOND, second)                                                 \
	COL(by, acquired, "acquired", 0, 0, get_acquired, r)                                      \
	COL(us, gap_us, "gap us", 0, 0, r->timed, r->gap_ns)                                      \
	COL(guarded, certain_races, "certain", 0, 0, r->trace, r->trace->found[NVS_RACE_CERTAIN]) \
	COL(guarded, likely_races, "likely", 0, 0, r->trace, r->trace->found[NVS_RACE_LIKELY])    \
	COL(guarded, possible_races, "possible", 0, 0, r->trace,                                  \
	    r->trace->found[NVS_RACE_POSSIBLE])                                                   \
	COL(text, says, "says", NAME, 0, r->says)                                                 \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct race_row, COLUMNS)

/* ---- rows ---- */

static bool get_time(const struct race_row *row, const struct nvs_access_work *w,
		     struct nvs_submission_time *t)
{
	return row->source->timing && w->channel != NVS_NONE &&
	       nvs_bracket_times_get(row->source->timing, w->channel, w->sequence, t) && t->end;
}

static uint32_t gpu_of(const struct race_row *row, const struct nvs_access_work *w)
{
	const struct nvs_trace_channel *c = nvs_trace_channel_at(row->source->trace, w->channel);

	return c && c->known ? c->rec.gpu : NVS_NONE;
}

/* Times of one GPU are by one clock. */
static void time_race(struct race_row *row)
{
	const struct nvs_access_work *a = &row->race->first.work, *b = &row->race->second.work;
	struct nvs_submission_time first, second;

	row->timed = gpu_of(row, a) != NVS_NONE && gpu_of(row, a) == gpu_of(row, b) &&
		     get_time(row, a, &first) && get_time(row, b, &second);
	if (row->timed)
		row->gap_ns = (int64_t)(second.begin - first.end);
}

static void capitalize(char *text)
{
	if (*text >= 'a' && *text <= 'z')
		*text = (char)(*text - 'a' + 'A');
}

static int write_text(struct race_row *row)
{
	size_t n;
	FILE *f = open_memstream(&row->says, &n);

	if (!f)
		return -ENOMEM;
	if (row->trace)
		nvs_race_print_limits(f, row);
	else
		nvs_race_print_edge(f, row);
	if (fclose(f) || !row->says)
		return -ENOMEM;
	nvs_budget_adopt(row->says);
	capitalize(row->says);
	return 0;
}

static int compare_sites(const struct nvs_race_site *a, const struct nvs_callsite *x,
			 const struct nvs_race_site *b, const struct nvs_callsite *y)
{
	return NVS_CMP(a->key.api, b->key.api) ?: NVS_CMP(a->key.kernel, b->key.kernel) ?: NVS_CMP(a->key.exec, b->key.exec) ?: NVS_CMP(a->key.node, b->key.node) ?: strcmp(x->site, y->site) ?: strcmp(x->site_module, y->site_module);
}

static int compare_places(const void *pa, const void *pb)
{
	const struct race_row *a = pa, *b = pb;

	return NVS_CMP(a->source, b->source) ?: compare_sites(a->race->first.site, a->first, b->race->first.site, b->first) ?: compare_sites(a->race->second.site, a->second, b->race->second.site, b->second) ?: NVS_CMP(b->level, a->level);
}

/* Certain ones first, then the most frequent. */
static int compare_rows(const void *pa, const void *pb)
{
	const struct race_row *a = pa, *b = pb;

	return NVS_CMP(b->level, a->level) ?: NVS_CMP(b->count, a->count) ?: NVS_CMP(a->race->second.work.time, b->race->second.work.time);
}

static struct race_row row_of(const struct nvs_races *r, const struct nvs_race *race)
{
	struct nvs_trace *trace = r->source->trace;

	return (struct race_row){
		.source = r->source,
		.race = race,
		.level = race->level,
		.count = race->count[race->level],
		.first = nvs_trace_callsite(trace, race->first.site->key.stack),
		.second = nvs_trace_callsite(trace, race->second.site->key.stack),
	};
}

/* Stacks that differ only above the call site are one. Returns how many rows are left. */
static size_t merge_rows(struct race_row *rows, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(rows, n, sizeof(*rows), compare_places);
	for (size_t i = 0; i < n; i++) {
		struct race_row *last = kept ? rows + kept - 1 : NULL, level = rows[i];

		level.level = last ? last->level : 0;
		if (!last || compare_places(last, &level))
			rows[kept++] = rows[i];
		else if (rows[i].level == last->level)
			last->count += rows[i].count;
	}
	if (kept)
		qsort(rows, kept, sizeof(*rows), compare_rows);
	return kept;
}

/* Counts the merged pairs by level, and drops those that are not to be shown. */
static size_t select_rows(struct race_row *rows, size_t n, struct nvs_races *traces,
			  uint32_t ntraces, enum nvs_race_level least)
{
	size_t kept = 0;

	for (uint32_t i = 0; i < ntraces; i++)
		memset(traces[i].found, 0, sizeof(traces[i].found));
	for (size_t i = 0; i < n; i++) {
		traces[rows[i].source->index].found[rows[i].level]++;
		if (rows[i].level >= least)
			rows[kept++] = rows[i];
	}
	return kept;
}

struct race_rows {
	struct race_row *list; /* traces, then races */
	size_t n;
	uint32_t traces;
};

static int fill_rows(struct nvs_run *run, struct race_rows *rows)
{
	struct nvs_races *each = run->each;
	const char *level = run->options->argument;
	size_t all = run->n, n = 0;
	int r = 0;

	for (uint32_t i = 0; i < run->n; i++)
		all += each[i].races.n;
	rows->list = calloc(all + 1, sizeof(*rows->list));
	if (!rows->list)
		return -ENOMEM;
	rows->traces = run->n;
	for (uint32_t i = 0; i < run->n; i++) {
		rows->list[i] = (struct race_row){.source = run->sources + i, .trace = each + i};
		for (size_t k = 0; k < each[i].races.n; k++)
			rows->list[run->n + n++] = row_of(each + i, each[i].races.row[k]);
	}
	n = merge_rows(rows->list + run->n, n);
	n = select_rows(rows->list + run->n, n, each, run->n,
			level ? NVS_RACE_POSSIBLE : NVS_RACE_LIKELY);
	rows->n = run->n + n;
	for (size_t i = 0; i < rows->n && !r; i++) {
		if (rows->list[i].race)
			time_race(rows->list + i);
		r = write_text(rows->list + i);
	}
	return r;
}

/* ---- text ---- */

static void print_side(FILE *f, const struct race_row *row, const struct nvs_race_side *side,
		       const struct nvs_callsite *site)
{
	const char *line = line_of(row, side), *kernel = kernel_of(row, side);

	fprintf(f, "  %-9s ", nvs_access_kinds[side->kind]);
	nvs_race_print_work(f, row->source, side->site);
	if (*kernel && !side->site->key.exec) {
		fputc(' ', f);
		fputs(NVS_TEXT(kernel, 60), f);
	}
	if (*site->site) {
		fputs(" < ", f);
		fputs(NVS_TEXT(site->site, 80), f);
	}
	if (*line)
		fputc(' ', f);
	fputs(NVS_TEXT(line, 80), f);
	fputs(", ", f);
	nvs_race_print_stream(f, &side->work);
	fprintf(f, ", thread %" PRIu32, side->work.thread);
	if (side->work.channel != NVS_NONE)
		fprintf(f, ", submission %" PRIu64, side->work.submission);
	fputc('\n', f);
}

/* What happened in this run, if anything is known of it. */
static void print_run(struct nvs_run *run, const struct race_row *row)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return;
	nvs_race_print_run(f, row);
	if (!fclose(f) && text && *text) {
		fputs("  ", run->out->file);
		nvs_print_wrapped(run->out, text, 2);
	}
	if (text)
		free(nvs_budget_adopt(text));
}

static void print_race(struct nvs_run *run, const struct race_row *row)
{
	const struct nvs_race *race = row->race;
	FILE *f = run->out->file;

	fprintf(f, "%s%s%s: %s memory %#" PRIx64 " (", nvs_out_style(run->out, NVS_STYLE_HEAD),
		nvs_race_levels[row->level], nvs_out_style(run->out, NVS_STYLE_PLAIN),
		nvs_alloc_kind_name(race->memory.kind), race->memory.address);
	fputs(NVS_BYTES(race->memory.bytes), f);
	fprintf(f, ") +%#" PRIx64 ", ", race->address - race->memory.address);
	fputs(NVS_COUNT(row->count, "time", "times"), f);
	fputc('\n', f);
	print_side(f, row, &race->first, row->first);
	print_side(f, row, &race->second, row->second);
	fputs("  ", f);
	nvs_print_wrapped(run->out, row->says, 2);
	print_run(run, row);
	fputc('\n', f);
}

static void print_total(struct nvs_run *run, const struct race_row *row, bool all)
{
	const uint64_t *found = row->trace->found;
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return;
	if (run->n > 1) {
		fputs(NVS_TEXT(row->source->path, 200), f);
		fputs(": ", f);
	}
	if (row->trace->called) {
		fprintf(f, "%" PRIu64 " certain, %" PRIu64 " likely and %" PRIu64 " possible races",
			found[NVS_RACE_CERTAIN], found[NVS_RACE_LIKELY], found[NVS_RACE_POSSIBLE]);
		fputs(found[NVS_RACE_POSSIBLE] && !all ? " (--races=all shows these too). " : ". ",
		      f);
	}
	fputs(row->says, f);
	if (!fclose(f) && text)
		nvs_print_wrapped(run->out, text, 0);
	if (text)
		free(nvs_budget_adopt(text));
}

static void print_text(struct nvs_run *run, const struct race_rows *rows)
{
	const struct nvs_print_options *o = &run->options->print;
	size_t shown = 0;

	for (size_t i = rows->traces; i < rows->n; i++)
		if (!o->has_rows || !o->rows || shown < o->rows) {
			print_race(run, rows->list + i);
			shown++;
		}
	if (shown < rows->n - rows->traces) {
		fputs(NVS_COUNT(rows->n - rows->traces - shown, "more pair", "more pairs"),
		      run->out->file);
		fputs(" (-n 0 for all)\n", run->out->file);
	}
	for (uint32_t i = 0; i < rows->traces; i++)
		print_total(run, rows->list + i, run->options->argument);
}

/* ---- the report ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	return nvs_races_begin(each, s, reader);
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	nvs_races_end(each);
	return 0;
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct race_rows rows = {NULL};
	uint64_t told = run->out->told;
	int r = fill_rows(run, &rows);

	run->said = true;
	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		print_text(run, &rows);
	else if (!r)
		r = nvs_table_print_array(run->out, &table, rows.list, rows.n, sizeof(*rows.list),
					  &run->options->print);
	/* A trace without races is not output that -n or a filter could select. */
	run->out->told = told + (r ? 0 : rows.n - rows.traces);
	for (size_t i = 0; i < rows.n && rows.list; i++)
		free(rows.list[i].says);
	free(rows.list);
	return r;
}

static void free_each(struct nvs_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		nvs_races_free((struct nvs_races *)run->each + i);
}

NVS_REPORT(
	races, .name = "races", .argument = "all", .optional = true, .group = NVS_STUCK,
	.place = 140,
	.help = "work of different streams on the same memory that nothing orders, by pairs of "
		"call sites; with all also pairs of kernels of which nobody knows which writes",
	.man = "Pairs of call sites whose work uses the same memory in different streams, where "
	       "nothing makes the second wait for the first: no event, default stream, edge of "
	       "a graph, or wait of the host. A race is\n.I certain\nif both accesses are "
	       "known, and one writes or frees;\n.I likely\nif one writes, and the other is "
	       "that of a kernel that is given a pointer to the memory;\n.I possible\nif both "
	       "are kernels, or a kernel and a copy that reads. Those are only counted, and "
	       "shown with\n.BR \\-\\-races=all .\nWith\n.B code=on\nwhat kernels read and write "
	       "is taken from their code. Each pair has the wait that is missing, and whether "
	       "the two met in this run. What the host itself reads and writes is not seen.",
	.needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_FILTERS | NVS_NEED_TIMED |
		 NVS_NEED_WHOLE,
	.prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns), .each = sizeof(struct nvs_races),
	.begin = begin, .end = end, .print = print, .free = free_each);
