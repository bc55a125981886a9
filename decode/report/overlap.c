/* SPDX-License-Identifier: MIT */
/* --overlap: how long each GPU computed, copied, did both at once or neither, and which streams
 * worked at the same time; from the GPU times of timing=work. Both come from one sweep over begins
 * and ends of work. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/compare.h"
#include "decode/analysis/gpu_work.h"
#include "decode/calls/bracket_times.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/timing_note.h"
#include "decode/report/core/report.h"

#define MOST_AT_ONCE 16u /* streams compared at one moment */
#define MOST_ROWS 4096u

/* Work of one kind of one stream on one channel. */
struct work_lane {
	struct lane_key {
		const struct nvs_source *source;
		uint32_t gpu, channel, stream, kind;
	} key;
	uint64_t handle; /* of the stream, 0: unknown */
	uint32_t number, under_way;
};

/* A GPU, or two lanes of a GPU. */
struct overlap_row {
	struct overlap_row_key {
		const struct nvs_source *source;
		uint32_t gpu;
		uint32_t a, b; /* numbers of lanes; NVS_NONE: the whole GPU */
	} key;
	const struct work_lane *a, *b;
	uint64_t from, to, compute, copy, both, idle;
	uint64_t timed, untimed, waited, shared;
};

struct work_edge {
	uint64_t at;
	uint32_t work, gpu;
	bool ends;
};

struct overlap_state {
	struct nvs_rows rows, lanes;
	uint64_t dropped;
	bool crowded; /* more streams than are compared at once */
};

struct overlap_trace {
	struct nvs_work_list *works;
	struct nvs_handles *handles;
	struct nvs_source *source;
};

/* ---- columns ---- */

static const char *kind_name(const struct work_lane *lane)
{
	return !lane ? "" : lane->key.kind == NVS_WORK_COMPUTE ? "compute" : "copy";
}

static void get_handle(const struct work_lane *lane, struct nvs_value *v)
{
	nvs_stream_value(lane ? lane->handle : 0, v);
}

#define OF_WHOLE(COL)                                                                     \
	COL(us, span_us, "span us", 0, 0, !r->a && r->timed, r->to - r->from)             \
	COL(us, compute_only_us, "compute", 0, 0, !r->a && r->timed, r->compute)          \
	COL(us, copy_only_us, "copy", 0, 0, !r->a && r->timed, r->copy)                   \
	COL(us, both_us, "both", 0, 0, r->a || r->timed, r->both)                         \
	COL(us, idle_us, "idle", 0, 0, !r->a && r->timed, r->idle)                        \
	COL(real, copy_hidden_percent, "hidden %", 0, 1, !r->a && r->copy + r->both,      \
	    100.0 * (double)r->both / (double)(r->copy + r->both + !(r->copy + r->both))) \
	COL(known, timed, "timed", 0, 1, !r->a, r->timed)                                 \
	COL(known, untimed, "not timed", IF_ANY, 2, !r->a, r->untimed)                    \
	COL(known, begin_unknown, "began unknown", DETAIL, 0, !r->a, r->waited)           \
	COL(known, engine_shared, "shared", DETAIL, 0, !r->a, r->shared)
#define OF_PAIR(COL)                                                    \
	COL(text, work, "work", NAME, 0, kind_name(r->a))               \
	COL(by, stream, "stream", NAME, 0, get_handle, r->a)            \
	COL(guarded, channel, "chan", NAME, 0, r->a, r->a->key.channel) \
	COL(text, other_work, "beside", NAME, 0, kind_name(r->b))       \
	COL(by, other_stream, "stream", NAME, 0, get_handle, r->b)      \
	COL(guarded, other_channel, "chan", NAME, 0, r->b, r->b->key.channel)

#define COLUMNS(COL)                                                     \
	COL(known, gpu, "gpu", 0, 0, r->key.gpu != NVS_NONE, r->key.gpu) \
	OF_WHOLE(COL)                                                    \
	OF_PAIR(COL)                                                     \
	NVS_SOURCE_COLUMNS(COL, r->key.source)
NVS_COLUMNS(columns, struct overlap_row, COLUMNS)

#define WHOLE_COLUMNS(COL)          \
	COL(same, gpu, "gpu", 0, 0) \
	OF_WHOLE(COL##_SAME)        \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->key.source)
NVS_COLUMNS(whole_columns, struct overlap_row, WHOLE_COLUMNS)

#define PAIR_COLUMNS(COL)                   \
	COL(same, gpu, "gpu", IF_ANY, 0)    \
	COL(same, both_us, "both us", 0, 0) \
	OF_PAIR(COL##_SAME)                 \
	NVS_SOURCE_COLUMNS(COL##_SAME, r->key.source)
NVS_COLUMNS(pair_columns, struct overlap_row, PAIR_COLUMNS)

/* ---- the sweep ---- */

static struct overlap_row *row_of(struct overlap_state *st, const struct nvs_source *s,
				  uint32_t gpu, const struct work_lane *a,
				  const struct work_lane *b)
{
	struct overlap_row_key key;
	struct overlap_row *row;

	memset(&key, 0, sizeof(key));
	key.source = s;
	key.gpu = gpu;
	key.a = a ? a->number : NVS_NONE;
	key.b = b ? b->number : NVS_NONE;
	row = nvs_rows_at(&st->rows, &key);
	if (row) {
		row->a = a;
		row->b = b;
	}
	return row;
}

static struct work_lane *lane_of(struct overlap_state *st, const struct overlap_trace *each,
				 const struct nvs_work *work)
{
	const struct nvs_work_stream *stream = nvs_work_list_stream(each->works, work->stream);
	size_t known = st->lanes.n;
	struct lane_key key;
	struct work_lane *lane;

	memset(&key, 0, sizeof(key));
	key.source = each->source;
	key.gpu = work->gpu;
	key.channel = work->channel;
	key.stream = work->stream;
	key.kind = work->kind;
	lane = nvs_rows_at(&st->lanes, &key);
	if (lane && st->lanes.n > known) {
		lane->number = (uint32_t)known;
		lane->handle = stream ? stream->key.stream : 0;
	}
	return lane;
}

/* Work in progress on one GPU. */
struct going {
	uint32_t compute, copies, n;
	struct work_lane *lane[MOST_AT_ONCE];
};

static void lane_begins(struct overlap_state *st, struct going *g, struct work_lane *lane)
{
	if (lane->under_way++)
		return;
	if (g->n < MOST_AT_ONCE)
		g->lane[g->n++] = lane;
	else
		st->crowded = true;
}

static void lane_ends(struct going *g, struct work_lane *lane)
{
	if (--lane->under_way)
		return;
	for (uint32_t i = 0; i < g->n; i++)
		if (g->lane[i] == lane) {
			g->lane[i] = g->lane[--g->n];
			return;
		}
}

static int add_interval(struct overlap_state *st, const struct going *g, struct overlap_row *all,
			uint64_t ns)
{
	if (g->compute && g->copies)
		all->both += ns;
	else
		*(g->compute ? &all->compute : g->copies ? &all->copy : &all->idle) += ns;
	for (uint32_t i = 0; i < g->n && ns && st->rows.n <= MOST_ROWS; i++)
		for (uint32_t k = i + 1; k < g->n; k++) {
			struct work_lane *a = g->lane[i], *b = g->lane[k];
			bool turn = a->key.kind > b->key.kind ||
				    (a->key.kind == b->key.kind && a->number > b->number);
			struct overlap_row *row = row_of(st, all->key.source, all->key.gpu,
							 turn ? b : a, turn ? a : b);

			if (!row)
				return -ENOMEM;
			row->both += ns;
			st->crowded |= st->rows.n > MOST_ROWS;
		}
	return 0;
}

/* Ends before begins: back-to-back work does not overlap. */
static int compare_moments(const void *pa, const void *pb)
{
	const struct work_edge *a = pa, *b = pb;

	return NVS_CMP(a->gpu, b->gpu) ?: NVS_CMP(a->at, b->at) ?: b->ends - a->ends;
}

static int sweep_gpu(struct overlap_state *st, const struct overlap_trace *each,
		     const struct nvs_work *list, const struct work_edge *moments, size_t n)
{
	struct overlap_row *all = row_of(st, each->source, moments->gpu, NULL, NULL);
	struct going going = {0};
	int r = 0;

	if (!all)
		return -ENOMEM;
	all->from = moments[0].at;
	all->to = moments[n - 1].at;
	for (size_t i = 0; i < n && !r; i++) {
		const struct nvs_work *work = list + moments[i].work;
		struct work_lane *lane = lane_of(st, each, work);
		uint32_t *count = work->kind == NVS_WORK_COMPUTE ? &going.compute : &going.copies;

		if (!lane)
			return -ENOMEM;
		r = i ? add_interval(st, &going, all, moments[i].at - moments[i - 1].at) : 0;
		*count += moments[i].ends ? -1u : 1;
		if (moments[i].ends)
			lane_ends(&going, lane);
		else
			lane_begins(st, &going, lane);
	}
	return r;
}

static int count_work(struct overlap_state *st, const struct overlap_trace *each,
		      const struct nvs_work *work)
{
	struct overlap_row *all = row_of(st, each->source, work->gpu, NULL, NULL);

	if (!all)
		return -ENOMEM;
	all->timed += !!(work->flags & NVS_WORK_TIMED);
	all->untimed += !(work->flags & NVS_WORK_TIMED);
	all->waited += !!(work->flags & NVS_WORK_WAITED);
	all->shared += !!(work->flags & NVS_WORK_SHARED);
	return 0;
}

/* One GPU after the other. */
static int sweep_all(struct overlap_state *st, const struct overlap_trace *each,
		     const struct nvs_work *list, struct work_edge *moments, size_t n)
{
	int r = 0;

	if (n)
		qsort(moments, n, sizeof(*moments), compare_moments);
	for (size_t i = 0, next = 0; i < n && !r; i = next) {
		while (next < n && moments[next].gpu == moments[i].gpu)
			next++;
		r = sweep_gpu(st, each, list, moments + i, next - i);
	}
	return r;
}

static int sweep_trace(struct overlap_state *st, const struct overlap_trace *each)
{
	size_t works, n = 0;
	const struct nvs_work *list = nvs_work_list_items(each->works, &works);
	struct work_edge *moments = malloc((2 * works + 1) * sizeof(*moments));
	int r = moments ? 0 : -ENOMEM;

	for (size_t i = 0; i < works && !r; i++) {
		const struct nvs_work *w = list + i;

		if (!(w->flags & NVS_WORK_SELECTED) || w->kind == NVS_WORK_OTHER)
			continue;
		r = count_work(st, each, w);
		/* Shorter than an empty bracket: takes no time. */
		if (!(w->flags & NVS_WORK_TIMED) || !w->ns)
			continue;
		moments[n++] = (struct work_edge){w->begin, (uint32_t)i, w->gpu, false};
		moments[n++] = (struct work_edge){w->begin + w->ns, (uint32_t)i, w->gpu, true};
	}
	if (!r)
		r = sweep_all(st, each, list, moments, n);
	free(moments);
	return r;
}

/* ---- the report ---- */

static int begin(struct nvs_run *run, struct nvs_source *s, void *arg,
		 struct nvs_pass_reader *reader)
{
	struct overlap_state *st = run->state;
	struct overlap_trace *each = arg;

	if (!st->rows.size) {
		st->rows = NVS_ROWS(struct overlap_row, key);
		st->lanes = NVS_ROWS(struct work_lane, key);
	}
	each->source = s;
	each->works = nvs_work_list_new(s, &each->handles);
	return each->works ? nvs_work_list_read(each->works) : -ENOMEM;
}

static int end(struct nvs_run *run, struct nvs_source *s, void *arg)
{
	struct overlap_state *st = run->state;
	struct overlap_trace *each = arg;
	int r = nvs_work_list_finish(each->works);

	if (!r) {
		st->dropped += nvs_work_list_dropped(each->works);
		nvs_work_list_explain(each->works, run, s);
		r = nvs_bracket_times_exist(nvs_work_list_timing(each->works))
			    ? sweep_trace(st, each)
			    : 0;
	}
	nvs_work_list_free(each->works);
	each->works = NULL;
	return r;
}

/* GPUs in order of appearance, then the pairs, the longest first. */
static int compare_rows(const void *pa, const void *pb)
{
	const struct overlap_row *a = *(const struct overlap_row *const *)pa,
				 *b = *(const struct overlap_row *const *)pb;

	return !b->a - !a->a ?: NVS_CMP(a->key.source, b->key.source) ?: NVS_CMP(a->key.gpu, b->key.gpu) ?: NVS_CMP(b->both, a->both) ?: NVS_CMP(a->key.a, b->key.a) ?: NVS_CMP(a->key.b, b->key.b);
}

static void print_unknown(const struct nvs_run *run, const struct overlap_state *st, size_t gpus)
{
	uint64_t untimed = 0, waited = 0, shared = 0;
	FILE *f = run->out->file;

	for (size_t i = 0; i < gpus; i++) {
		const struct overlap_row *row = st->rows.row[i];

		untimed += row->untimed;
		waited += row->waited;
		shared += row->shared;
	}
	fputs(nvs_out_style(run->out, NVS_STYLE_DIM), f);
	fputs("timing=work serialises copies of a channel, but not kernels.\n", f);
	if (untimed)
		fprintf(f, "%llu not timed: the GPU's activity during %s is unknown.\n",
			(unsigned long long)untimed, untimed == 1 ? "it" : "them");
	if (waited)
		fprintf(f, "%llu waited for work with an unknown end: %s may be too long.\n",
			(unsigned long long)waited, waited == 1 ? "its time" : "their times");
	if (shared)
		fprintf(f,
			"%llu may include work of other channels on the same engine, which is then "
			"counted twice.\n",
			(unsigned long long)shared);
	if (st->crowded)
		fprintf(f, "More than %u streams were active at once: not all are compared.\n",
			MOST_AT_ONCE);
	fputs(nvs_out_style(run->out, NVS_STYLE_PLAIN), f);
}

static int print_text(struct nvs_run *run, const void **rows, size_t gpus, size_t n)
{
	struct nvs_table whole = NVS_RUN_TABLE(run, whole_columns, NULL);
	struct nvs_table pairs = NVS_RUN_TABLE(run, pair_columns, NULL);
	struct nvs_print_options of_whole = run->options->print, of_pairs = of_whole;
	int r;

	of_whole.sort = nvs_table_applicable(&whole, of_whole.sort);
	of_pairs.sort = nvs_table_applicable(&pairs, of_pairs.sort);
	whole.rows = rows;
	whole.nrows = gpus;
	r = nvs_table_print(run->out, &whole, &of_whole);
	if (r || !gpus)
		return r;
	if (n > gpus) {
		fputc('\n', run->out->file);
		pairs.rows = rows + gpus;
		pairs.nrows = n - gpus;
		r = nvs_table_print(run->out, &pairs, &of_pairs);
	}
	if (!r)
		print_unknown(run, run->state, gpus);
	return r;
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct overlap_state *st = run->state;
	size_t gpus = 0;
	int r;

	if (st->rows.n)
		qsort(st->rows.row, st->rows.n, sizeof(*st->rows.row), compare_rows);
	while (gpus < st->rows.n && !((struct overlap_row *)st->rows.row[gpus])->a)
		gpus++;
	if (run->options->print.format == NVS_FORMAT_TEXT)
		r = print_text(run, (const void **)st->rows.row, gpus, st->rows.n);
	else
		r = nvs_table_print_rows(run->out, &table, &st->rows, &run->options->print);
	if (st->dropped)
		fprintf(stderr,
			"nvsnoop-report: %llu more submissions are not counted; select a part with "
			"--range\n",
			(unsigned long long)st->dropped);
	return r;
}

static void free_state(struct nvs_run *run)
{
	struct overlap_state *st = run->state;
	struct overlap_trace *each = run->each;

	for (uint32_t i = 0; i < run->n; i++)
		nvs_work_list_free(each[i].works);
	nvs_rows_free(&st->rows, NULL);
	nvs_rows_free(&st->lanes, NULL);
}

NVS_REPORT(overlap, .name = "overlap", .group = NVS_HOST_TIME, .place = 96,
	   .help = "what each GPU copied and computed at once (timing=work)",
	   .man = "How long each GPU only computed, only copied, did both or neither, from its "
		  "first\nsubmission to its last, by the times of\n.BR timing=work ;\nmemsets "
		  "count as copies. Below the table: which streams worked at the same time. Work "
		  "that\nwaited for another channel counts from the end of that wait.\n.B "
		  "timing=work\nserialises the copies of a channel.",
	   .needs = NVS_NEED_ALL_TIMES | NVS_NEED_TRACE | NVS_NEED_NAMES,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .state = sizeof(struct overlap_state), .each = sizeof(struct overlap_trace),
	   .begin = begin, .end = end, .print = print, .free = free_state);
