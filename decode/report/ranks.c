/* SPDX-License-Identifier: MIT */
/* --ranks: where the ranks of a job diverge. Launches are compared thread by thread with what most
 * ranks launched at that place; a rank that differs is reported and no longer compared. Also how
 * far the collectives of each rank have come, for jobs that hang. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/clock_alignment.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/analysis/launch_sequence.h"
#include "decode/report/core/report.h"

struct ranks_row {
	const struct nvs_source *source;
	struct nvs_launch_sequence *steps;
	const struct nvs_trace_clock *clock;
	bool parts;
	size_t at; /* index of the launch on its thread */
	uint32_t thread;
	uint64_t launched, others; /* hashes of names; 0: nothing more */
	uint64_t behind; /* collectives before the divergence on this thread */
	uint32_t agree; /* number of ranks that launched OTHERS */
	char *own_name, *others_name, *submitted, *finished;
	const struct nvs_inflight *inflight;
	int64_t inflight_ns;
};

/* ---- divergence ---- */

static const struct nvs_launch_thread *thread_at(const struct nvs_launch_sequence *s, size_t i)
{
	return i < s->threads.n ? s->threads.row[i] : NULL;
}

static uint64_t step_at(const struct nvs_launch_sequence *s, size_t thread, size_t at)
{
	const struct nvs_launch_thread *t = thread_at(s, thread);

	return t && at < t->n ? t->step[at] : 0;
}

/* The step that most of the N ranks have there; of equally frequent ones the first. *AGREE: how
 * many. */
static uint64_t find_majority(const struct ranks_row *rows, const uint32_t *alive, uint32_t n,
			      size_t thread, size_t at, uint32_t *agree)
{
	uint64_t best = 0;

	*agree = 0;
	for (uint32_t i = 0; i < n && *agree <= n / 2; i++) {
		uint64_t step = step_at(rows[alive[i]].steps, thread, at);
		uint32_t same = 0;

		for (uint32_t k = 0; k < n; k++)
			same += step_at(rows[alive[k]].steps, thread, at) == step;
		if (same > *agree) {
			*agree = same;
			best = step;
		}
	}
	return best;
}

static void note_divergence(struct ranks_row *row, size_t thread, size_t at, uint64_t others,
			    uint32_t agree)
{
	const struct nvs_launch_thread *t = thread_at(row->steps, thread);

	if (row->parts && row->at <= at)
		return;
	row->parts = true;
	row->at = at;
	row->thread = (uint32_t)thread;
	row->launched = step_at(row->steps, thread, at);
	row->others = others;
	row->agree = agree;
	row->behind = 0;
	for (size_t i = 0; t && i < at && i < t->n; i++)
		row->behind += nvs_launch_name_find(row->steps, t->step[i])->collective;
}

static void compare_thread(struct ranks_row *rows, uint32_t n, uint32_t *alive, size_t thread)
{
	size_t longest = 0;
	uint32_t left = n;

	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_launch_thread *t = thread_at(rows[i].steps, thread);

		alive[i] = i;
		longest = t && t->n > longest ? t->n : longest;
	}
	for (size_t at = 0; at < longest && left > 1; at++) {
		uint64_t first = step_at(rows[alive[0]].steps, thread, at), best;
		uint32_t kept = 0, same = 1, agree;

		while (same < left && step_at(rows[alive[same]].steps, thread, at) == first)
			same++;
		if (same == left)
			continue;
		best = find_majority(rows, alive, left, thread, at, &agree);
		for (uint32_t i = 0; i < left; i++)
			if (step_at(rows[alive[i]].steps, thread, at) == best)
				alive[kept++] = alive[i];
			else
				note_divergence(rows + alive[i], thread, at, best, agree);
		left = kept;
	}
}

static int compare_all(struct ranks_row *rows, uint32_t n)
{
	uint32_t *alive = calloc(n + 1ul, sizeof(*alive));
	size_t threads = 0;

	if (!alive)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		threads = rows[i].steps->threads.n > threads ? rows[i].steps->threads.n : threads;
	for (size_t i = 0; i < threads; i++)
		compare_thread(rows, n, alive, i);
	free(alive);
	return 0;
}

/* ---- names, only of the steps that are printed ---- */

/* Looks for the name in all ROWS: a rank need not know the name of another's step. */
static int name_step(char **to, const struct ranks_row *rows, uint32_t n, uint64_t hash)
{
	const struct nvs_launch_name *name;

	for (uint32_t i = 0; hash && i < n; i++)
		for (size_t k = 0; k < rows[i].steps->names.n; k++) {
			name = rows[i].steps->names.row[k];
			if (name->hash == hash && name->text) {
				*to = nvs_demangle(name->text);
				return *to ? 0 : -ENOMEM;
			}
		}
	return 0;
}

static int name_row(struct ranks_row *row, const struct ranks_row *rows, uint32_t n)
{
	const struct nvs_inflight *f;
	int r = 0;

	if (row->parts)
		r = name_step(&row->own_name, row, 1, row->launched);
	if (!r && row->parts)
		r = name_step(&row->others_name, rows, n, row->others);
	if (!r)
		r = name_step(&row->submitted, row, 1, row->steps->submitted);
	if (!r)
		r = name_step(&row->finished, row, 1, row->steps->finished);
	for (uint32_t i = 0; (f = nvs_trace_inflight(row->source->trace, i)); i++)
		if (f->depth <= 1 && (!row->inflight || f->begin < row->inflight->begin))
			row->inflight = f;
	if (row->inflight)
		row->inflight_ns = (int64_t)nvs_call_ns(row->source->trace, row->inflight->begin,
							row->inflight->end);
	return r;
}

/* ---- columns ---- */

#define COLUMNS(COL)                                                                               \
	COL(count, launch_calls, "launches", 0, 0, r->steps->launches)                             \
	COL(count, graph_launches, "graphs", IF_ANY, 1, r->steps->graphs)                          \
	COL(count, collectives, "collectives", 0, 0, r->steps->collectives)                        \
	COL(count, collectives_finished, "finished", 0, 0, r->steps->nfinished)                    \
	COL(known, parts_at, "parts at", IF_KNOWN, 0, r->parts, r->at + 1)                         \
	COL(known, parts_thread, "thread", DETAIL, 0, r->parts, r->thread)                         \
	COL(known, parts_behind, "behind", DETAIL, 0, r->parts, r->behind)                         \
	COL(text, launched, "launched", DETAIL, 0, r->own_name)                                    \
	COL(text, others_launched, "others launched", DETAIL, 0, r->others_name)                   \
	COL(text, last_collective, "last collective", DETAIL, 0, r->submitted)                     \
	COL(text, last_finished, "last finished", DETAIL, 0, r->finished)                          \
	COL(text, waiting_in, "waiting in", NAME_IF_KNOWN, 0, r->inflight ? r->inflight->api : "") \
	COL(us, waiting_us, "us in it", DETAIL, 0, r->inflight, r->inflight_ns)                    \
	COL(us, began_us, "began us", DETAIL, 0, r->clock->known, r->clock->shift)                 \
	COL(us, clock_scatter_us, "clock scatter", DETAIL, 0, r->clock->known, r->clock->error)    \
	COL(us, clock_drift_us, "clock drift", DETAIL, 0, r->clock->known, r->clock->drift)        \
	COL(us, clock_stepped_us, "clock set by", DETAIL, 0, r->clock->known, r->clock->stepped)   \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct ranks_row, COLUMNS)

/* ---- sentences ---- */

#define NAME_WIDTH 60

static void write_rank(FILE *f, const struct ranks_row *row)
{
	struct nvs_value rank = {0};

	nvs_source_number(row->source, NVS_ATTR_RANK, &rank);
	if (rank.kind == NVS_VALUE_COUNT)
		fprintf(f, "Rank %llu", (unsigned long long)rank.count);
	else
		fputs(NVS_TEXT(row->source->path, NAME_WIDTH), f);
}

/* Without the arguments of a C++ function. */
static void write_name(FILE *f, const char *name)
{
	const char *end = strchr(name, '(');
	char *text = end && end > name ? strndup(name, (size_t)(end - name)) : NULL;

	fputs(NVS_TEXT(text ? text : name, NAME_WIDTH), f);
	free(text);
}

static void write_divergence(FILE *f, const struct ranks_row *row)
{
	write_rank(f, row);
	fprintf(f, " diverges at its launch %zu", row->at + 1);
	if (row->thread)
		fprintf(f, " on the thread that was number %u to launch", row->thread + 1);
	if (row->behind)
		fprintf(f, ", after %s", NVS_COUNT(row->behind, "collective", "collectives"));
	else
		fputs(", before any collective", f);
	fputs(": it launched ", f);
	if (row->own_name)
		write_name(f, row->own_name);
	else
		fputs("nothing more", f);
	fprintf(f, ", where %u other%s launched ", row->agree, row->agree == 1 ? "" : "s");
	if (row->others_name)
		write_name(f, row->others_name);
	else
		fputs("nothing more", f);
	fputc('.', f);
}

/* A program that exited normally does not hang. */
static bool is_hung(const struct ranks_row *row)
{
	return nvs_trace_session(row->source->trace)->end != NVS_END_ORDERLY &&
	       (row->inflight || row->steps->nfinished < row->steps->collectives);
}

static void write_hang(FILE *f, const struct ranks_row *row)
{
	uint64_t n = row->steps->collectives, done = row->steps->nfinished;

	write_rank(f, row);
	fprintf(f, " did not exit normally. It had submitted %s",
		NVS_COUNT(n, "collective", "collectives"));
	if (row->submitted) {
		fputs(", the last ", f);
		write_name(f, row->submitted);
		fprintf(f, ", and %llu of them %s known to be finished", (unsigned long long)done,
			done == 1 ? "is" : "are");
	}
	if (row->finished) {
		fputs(", the last ", f);
		write_name(f, row->finished);
	}
	fputc('.', f);
	if (!row->inflight)
		return;
	fprintf(f, " At the end it had been in %s",
		NVS_TEXT(*row->inflight->api ? row->inflight->api : "[unknown]", NAME_WIDTH));
	if (row->inflight_ns)
		fprintf(f, " for %s", NVS_DURATION(row->inflight_ns));
	fputc('.', f);
}

static int print_sentence(struct nvs_out *out, const struct ranks_row *row,
			  void (*sentence)(FILE *f, const struct ranks_row *row))
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (f)
		sentence(f, row);
	if (nvs_budget_end_text(f, &text))
		return -ENOMEM;
	nvs_print_wrapped(out, text, 2);
	free(text);
	return 0;
}

static int print_sentences(struct nvs_run *run, const struct ranks_row *rows, uint32_t n)
{
	uint32_t parts = 0;
	int r = 0;

	for (uint32_t i = 0; i < n; i++)
		parts += rows[i].parts;
	fputc('\n', run->out->file);
	if (n == 1)
		nvs_print_wrapped(run->out,
				  "There is one trace, so there is nothing to compare it with. "
				  "--ranks takes a trace per rank.",
				  0);
	if (!parts && n == 2)
		fputs("Both ranks launched the same.\n", run->out->file);
	else if (!parts && n > 2)
		fprintf(run->out->file, "All %u ranks launched the same.\n", n);
	for (uint32_t i = 0; i < n && !r; i++)
		if (rows[i].parts)
			r = print_sentence(run->out, rows + i, write_divergence);
	for (uint32_t i = 0; i < n && !r; i++)
		if (is_hung(rows + i))
			r = print_sentence(run->out, rows + i, write_hang);
	return r;
}

/* ---- the report ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, void *each,
		 struct nvs_pass_reader *reader)
{
	nvs_launch_sequence_begin(each, s, reader);
	return 0;
}

static int end(struct nvs_run *run, struct nvs_source *s, void *each)
{
	return nvs_launch_sequence_end(each);
}

static void free_row(struct ranks_row *row)
{
	free(row->own_name);
	free(row->others_name);
	free(row->submitted);
	free(row->finished);
}

/* A trace without calls is not compared, since its launches are unknown. A rank that launched
 * nothing is, unless nothing at all was selected. */
static uint32_t make_rows(struct nvs_run *run, struct ranks_row *rows,
			  const struct nvs_trace_clock *clocks, uint64_t *dropped)
{
	struct nvs_launch_sequence *steps = run->each;
	uint64_t launches = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n; i++) {
		*dropped += steps[i].dropped;
		launches += steps[i].launches + steps[i].graphs;
		if (!steps[i].calls || nvs_trace_never_on(run->sources[i].trace))
			continue;
		rows[n].source = run->sources + i;
		rows[n].clock = clocks + i;
		rows[n++].steps = steps + i;
	}
	return launches || !nvs_filter_is_set(&run->options->query) ? n : 0;
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, "-rank");
	struct nvs_trace_clock *clocks = calloc(run->n + 1ul, sizeof(*clocks));
	struct ranks_row *rows = calloc(run->n + 1ul, sizeof(*rows));
	int r = rows && clocks ? nvs_clocks_align(clocks, run->sources, run->n) : -ENOMEM;
	uint64_t dropped = 0;
	uint32_t n = r ? 0 : make_rows(run, rows, clocks, &dropped);

	if (!r)
		r = compare_all(rows, n);
	for (uint32_t i = 0; i < n && !r; i++)
		r = name_row(rows + i, rows, n);
	if (!r)
		r = nvs_table_print_array(run->out, &table, rows, n, sizeof(*rows),
					  &run->options->print);
	if (!r && n && run->options->print.format == NVS_FORMAT_TEXT)
		r = print_sentences(run, rows, n);
	for (uint32_t i = 0; i < n; i++)
		free_row(rows + i);
	free(rows);
	free(clocks);
	if (dropped)
		fprintf(stderr, "nvsnoop-report: %llu more launches are not compared\n",
			(unsigned long long)dropped);
	return r;
}

static void free_steps(struct nvs_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		nvs_launch_sequence_free((struct nvs_launch_sequence *)run->each + i);
}

NVS_REPORT(
	ranks, .name = "ranks", .group = NVS_RANKS, .place = 96,
	.help = "where the ranks of a job diverge, and how far each one's collectives have come",
	.man = "Takes one trace per rank. The launches of each thread are compared between ranks, "
	       "by the names of kernels, which include NCCL's collectives, and by the size of "
	       "graphs. The first launch of a rank that differs from what most ranks launched "
	       "there is reported. Collectives are counted as finished if a later submission saw "
	       "them done, or if a call that waited for them returned. A rank that did not exit "
	       "normally is reported with the call that it was in. Traces are read on all cores.",
	.needs = NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_WHOLE | NVS_NEED_APART,
	.prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	.each = sizeof(struct nvs_launch_sequence), .begin = begin, .end = end, .print = print,
	.free = free_steps);
