/* SPDX-License-Identifier: MIT */
/* --gpu-time: GPU time of submissions, recorded with timing=, by API or as --by selects. Below
 * the table: what was subtracted, what is unknown, and why. */
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/gpu_work.h"
#include "decode/cli/units.h"
#include "decode/report/gpu_time/grouping.h"
#include "decode/query/durations.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/report.h"

#define REASONS NVS_UNTIMED_REASONS

static const char *const reasons[REASONS] = {
	"for a reason unknown to this version",
	[NVS_UNTIMED_METHOD] = "begins or ends within a method",
	[NVS_UNTIMED_SEMAPHORE] = "the channel sets a semaphore in pieces",
	[NVS_UNTIMED_BEHIND] = "earlier times had not been read yet",
	[NVS_UNTIMED_EARLY] = "before there was memory for times",
	[NVS_UNTIMED_UNREADABLE] = "a segment could not be read",
	[NVS_UNTIMED_TOGETHER] = "reached the GPU together with another one",
	[NVS_UNTIMED_RING] = "its entries fill the GPFIFO",
	[NVS_UNTIMED_ENDING] = "its context or channel was about to end",
	[NVS_UNTIMED_NO_SHADOW] = "the channel's GPFIFO is not shadowed",
	[NVS_UNTIMED_NO_MEMORY] = "no memory accessible to its GPU",
	[NVS_UNTIMED_NO_GET] = "its USERD has no GP_GET (Blackwell)",
	[NVS_UNTIMED_NOT_DRAWN] = "not drawn for the sample",
	[NVS_UNTIMED_SHARED] = "another channel may use its USERD page",
};

/* ---- columns ---- */

#define BY(of) (r->key.each->state->by == NVS_GPU_BY_##of)
#define SAMPLED (r->key.each->state->sampled)
#define NUMBERED (r->key.number != NVS_UNKNOWN)
#define EMPTY (r->empty.count && !r->mixed)
#define US(ns) ((double)(ns) / 1e3)
/* At least one time is long enough to measure. */
#define LONG (r->sums.works > r->sums.too_short)

/* Returns NULL if unknown. */
static const struct nvs_rec_channel *channel_of(const struct nvs_gpu_row *r)
{
	const struct nvs_trace *trace = r->key.each->source->trace;
	const struct nvs_trace_channel *c =
		BY(CHANNEL) ? nvs_trace_channel_at(trace, (uint32_t)r->key.number) : NULL;

	return c && c->known ? &c->rec : NULL;
}

struct total {
	double ns, half;
	bool known;
};

static struct total get_total(const struct nvs_gpu_row *r)
{
	struct total t;

	t.known = nvs_gpu_total(&r->sums, r->key.each->state->sampled, &t.ns, &t.half);
	return t;
}

/* Of all that are timed; of the drawn ones of which both ends are known. */
static double get_mean(const struct nvs_gpu_row *r)
{
	if (r->key.each->state->sampled)
		return US(nvs_estimate_mean(&r->sums.sample));
	return US(get_total(r).ns) / (double)r->sums.works;
}

static bool is_graph(const struct nvs_gpu_row *r)
{
	return (BY(GRAPH) || BY(KERNEL)) && !r->key.what && NUMBERED;
}

static uint64_t get_median(const struct nvs_gpu_row *r)
{
	return nvs_durations_quantile(&r->times, 0.5);
}

/* Returns true if NS exceeds the spread of what was subtracted. */
static bool is_significant(const struct nvs_gpu_row *r, uint64_t ns)
{
	return LONG && (!r->sums.subtracted || ns > r->spread);
}

/* The row's name in a table. */
static void get_line(const struct nvs_gpu_row *r, struct nvs_value *v)
{
	if (BY(STREAM)) {
		nvs_stream_value(NUMBERED ? r->key.number : 0, v);
	} else if (BY(CHANNEL)) {
		nvs_value_count(v, r->key.number);
	} else {
		nvs_value_text(v, r->name);
	}
}

#define COLUMNS(COL)                                                                               \
	COL(count, submissions, "subs", 0, 0, r->sums.submissions)                                 \
	COL(count, timed, "timed", 0, 0, r->sums.timed)                                            \
	COL(us, gpu_us_total, "gpu us", 0, 0, get_total(r).known, get_total(r).ns)                 \
	COL(us, gpu_us_error, "+/- us", IF_KNOWN, 0, get_total(r).known &&SAMPLED,                 \
	    get_total(r).half)                                                                     \
	COL(real, gpu_us_mean, "us mean", IF_KNOWN, 1, get_total(r).known &&LONG, get_mean(r))     \
	COL(us, gpu_us_p50, "us p50", IF_KNOWN, 1, is_significant(r, get_median(r)),               \
	    get_median(r))                                                                         \
	COL(us, gpu_us_p99, "us p99", IF_KNOWN_BESIDE, 4, LONG,                                    \
	    nvs_durations_quantile(&r->times, 0.99))                                               \
	COL(us, gpu_us_max, "us max", IF_KNOWN_BESIDE, 3, LONG, r->times.max)                      \
	COL(us, queue_us_p50, "queue p50", IF_KNOWN, 2, r->queue.total.count,                      \
	    nvs_durations_quantile(&r->queue, 0.5))                                                \
	COL(us, queue_us_max, "queue max", IF_KNOWN_BESIDE, 5, r->queue.total.count, r->queue.max) \
	COL(us, idle_us_total, "idle us", IF_KNOWN, 2, r->idle.total.count, r->idle.total.ns)      \
	COL(us, idle_us_max, "idle max", IF_KNOWN_BESIDE, 6, r->idle.total.count, r->idle.max)     \
	COL(known, overlapping, "overlap", IF_KNOWN, 2, r->sums.works && !r->sums.unseen,          \
	    r->sums.overlapping)                                                                   \
	COL(known, too_short, "short", DETAIL, 0, r->sums.subtracted, r->sums.too_short)           \
	COL(known, launches, "launches", IF_ANY, 3, BY(KERNEL) && !r->sums.launches_unknown,       \
	    r->sums.launches)                                                                      \
	COL(by, line, "", NAME_TEXT, 0, get_line, r)                                               \
	COL(text, api, "api", DETAIL, 0, BY(API) ? r->name : NULL)                                 \
	COL(text, kernel, "kernel", DETAIL, 0, r->mangled ? r->name : NULL)                        \
	COL(text, mangled, "mangled", DETAIL, 0, r->mangled)                                       \
	COL(known, graph, "graph", DETAIL, 0, is_graph(r), r->key.number)                          \
	COL(known, exec, "exec", DETAIL, 0, is_graph(r), r->exec)                                  \
	COL(hex, stream, "stream", DETAIL, 0, BY(STREAM) && NUMBERED, r->key.number)               \
	COL(hex, context, "context", DETAIL, 0, r->key.context, r->key.context)                    \
	COL(known, channel, "channel", DETAIL, 0, BY(CHANNEL), r->key.number)                      \
	COL(guarded, gpu, "gpu", DETAIL, 0, channel_of(r), channel_of(r)->gpu)                     \
	COL(guarded, engine, "engine", DETAIL, 0, channel_of(r), channel_of(r)->engine)            \
	COL(text, range, "range", DETAIL, 0, r->range)                                             \
	COL(text, path, "path", DETAIL, 0, BY(RANGE) ? r->name : NULL)                             \
	COL(us, overlap_us_total, "overlap us", DETAIL, 0, r->sums.works && !r->sums.unseen,       \
	    r->sums.overlap_ns)                                                                    \
	COL(us, bracket_us_total, "bracket us", DETAIL, 0, r->sums.works, r->sums.bracket_ns)      \
	COL(known, begin_unknown, "began unknown", DETAIL, 0, r->sums.works, r->sums.waited)       \
	COL(known, subtracted, "subtracted", DETAIL, 0, r->sums.works, r->sums.subtracted)         \
	COL(us, empty_us, "empty us", DETAIL, 0, EMPTY, r->empty.ns)                               \
	COL(us, empty_us_spread, "empty spread", DETAIL, 0, EMPTY, r->empty.spread)                \
	COL(known, empty_brackets, "empty", DETAIL, 0, EMPTY, r->empty.count)                      \
	COL(us, queue_us_error, "queue error", DETAIL, 0, r->queue.total.count, r->error_ns)       \
	COL(known, idle_gaps, "gaps", DETAIL, 0, r->sums.works, r->idle.total.count)               \
	COL(text, untimed_reasons, "not timed", DETAIL, 0, r->key.each->why)                       \
	NVS_SOURCE_COLUMNS(COL, r->key.each->source)
NVS_COLUMNS(columns, struct nvs_gpu_row, COLUMNS)

#define NCOLUMNS (sizeof(columns) / sizeof(*columns))

/* ---- from the traces to the rows ---- */

/* The words in the order of enum nvs_gpu_by. */
static const struct nvs_report_option by_option = {
	"by", "api|kernel|graph|stream|channel|range", "with --gpu-time: what the rows are (api)",
	"How to group the rows. A graph launch has one time for all its nodes, "
	"also with\n.BR kernel :\nthe times of its kernels are unknown, as are "
	"those of several kernels in one submission; submissions of a launch "
	"other than the kernel's own, such as code, have no kernel. With\n.B "
	"range\na row includes the time of nested NVTX ranges."};

static const char *find_by(const struct nvs_run *run)
{
	return nvs_run_value(run) ?: "api";
}

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *arg,
		       struct nvs_pass_reader *reader)
{
	struct nvs_gpu_state *state = run->state;
	struct nvs_gpu_each *each = arg;

	state->by = (enum nvs_gpu_by)nvs_word_index(by_option.argument, find_by(run));
	each->source = s;
	each->state = state;
	nvs_gpu_rows_begin(each, reader);
	return 0;
}

/* Returns "before there was memory for times (104), ...", which the caller frees. NULL if none,
 * or out of memory. */
static char *format_reasons(const uint64_t *untimed)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	for (uint32_t i = 0, n = 0; f && i < REASONS; i++)
		if (untimed[i])
			fprintf(f, "%s%s (%llu)", n++ ? ", " : "", reasons[i],
				(unsigned long long)untimed[i]);
	if (f)
		fclose(f);
	if (size)
		return text;
	free(text);
	return NULL;
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *arg)
{
	struct nvs_gpu_each *each = arg;
	int r = nvs_gpu_rows_end(each);

	each->why = format_reasons(each->untimed);
	if (r || !each->submitted || each->measured || nvs_trace_is_timed(s))
		return r;
	run->said = true;
	if (run->options->page)
		return r;
	fprintf(stderr,
		"nvsnoop-report: %s: recorded without GPU times; use nvsnoop --timing=work\n",
		s->path);
	return 0;
}

/* ---- below the table ---- */

static void print_untimed(const struct nvs_run *run, const struct nvs_gpu_sums *sums)
{
	const struct nvs_gpu_each *each = run->each;
	uint64_t untimed[REASONS] = {0};
	bool measured = false;
	char *why;

	for (uint32_t i = 0; i < run->n; i++)
		measured |= each[i].measured;
	if (sums->timed == sums->submissions || !measured)
		return;
	for (uint32_t i = 0; i < run->n; i++)
		for (uint32_t k = 0; k < REASONS; k++)
			untimed[k] += each[i].untimed[k];
	why = format_reasons(untimed);
	fprintf(run->out->file, "%llu not timed%s: %s\n",
		(unsigned long long)(sums->submissions - sums->timed),
		!why || !nvs_filter_is_set(&run->options->query) ? "" : "; in the whole trace",
		why ? why : "no reason recorded");
	free(why);
}

static void print_range(FILE *out, const char *format, double least, double most)
{
	fprintf(out, format, least);
	if (most > least) {
		fputs(" to ", out);
		fprintf(out, format, most);
	}
}

static void print_subtracted(FILE *out, const struct nvs_gpu_state *state)
{
	const struct nvs_gpu_sums *sums = &state->sums;
	const struct nvs_gpu_empties *e = &state->empties;

	if (!sums->works)
		return;
	if (!sums->subtracted) {
		fputs("nothing subtracted, since these channels have no empty brackets: "
		      "each time\nincludes the cost of its two timestamps\n",
		      out);
		return;
	}
	fputs("median empty bracket of ", out);
	print_range(out, "%.2f", US(e->min.ns), US(e->most.ns));
	fputs(" us subtracted (brackets: ", out);
	print_range(out, "%.0f", (double)e->min.count, (double)e->most.count);
	fputs(e->several ? " per channel)\n" : ")\n", out);
	if (sums->works > sums->subtracted)
		fprintf(out,
			"nothing subtracted from %llu: their channels have no empty brackets\n",
			(unsigned long long)(sums->works - sums->subtracted));
	if (sums->too_short)
		fprintf(out,
			"%llu too short to measure: at most %.2f us, the spread of empty "
			"brackets\n",
			(unsigned long long)sums->too_short, US(e->most.spread));
}

static void print_overlap(FILE *out, const struct nvs_gpu_sums *sums, bool sampled)
{
	if (sums->overlapping)
		fprintf(out,
			sums->overlapping == 1
				? "%llu overlaps others on its engine, for %.2f us: it may "
				  "include others' work,\nand totals count such times more than "
				  "once\n"
				: "%llu overlap others on their engine, for %.2f us: they may "
				  "include others' work,\nand totals count such times more than "
				  "once\n",
			(unsigned long long)sums->overlapping, US(sums->overlap_ns));
	if (sums->waited)
		fprintf(out, "%llu waited for work with an unknown end: %s may be too long\n",
			(unsigned long long)sums->waited,
			sums->waited == 1 ? "its time" : "their times");
	if (sums->unseen && !sampled)
		fputs("for some brackets overlap is unknown: out of memory, or an unknown "
		      "channel\n",
		      out);
}

static void print_faults(const struct nvs_run *run)
{
	struct nvs_timing_faults sum = {0};

	for (uint32_t i = 0; i < run->n; i++) {
		const struct nvs_timing_faults *f = nvs_timing_faults(run->sources[i].timing);

		sum.dropped += f->dropped;
		sum.duplicates += f->duplicates;
		sum.wrong += f->wrong;
	}
	if (sum.duplicates || sum.wrong)
		fprintf(run->out->file, "%llu impossible time%s %s ignored\n",
			(unsigned long long)(sum.duplicates + sum.wrong),
			sum.duplicates + sum.wrong == 1 ? "" : "s",
			sum.duplicates + sum.wrong == 1 ? "is" : "are");
	if (sum.dropped)
		fprintf(run->out->file, "%llu time%s ignored: not enough memory\n",
			(unsigned long long)sum.dropped, sum.dropped == 1 ? "" : "s");
}

static void print_clock_note(const struct nvs_run *run, const struct nvs_gpu_sums *sums)
{
	const struct nvs_gpu_each *each = run->each;
	bool unclocked = false;

	for (uint32_t i = 0; i < run->n; i++)
		unclocked |= each[i].unclocked;
	if (unclocked && sums->timed)
		fputs("no queue times: the trace has no readings of the GPU's clock\n",
		      run->out->file);
}

static void print_unended(FILE *out, uint64_t n)
{
	fprintf(out,
		n == 1 ? "%llu has no end time: its launches are not in its own commands "
			 "(graphs),\nor not decoded\n"
		       : "%llu have no end time: their launches are not in their own commands "
			 "(graphs),\nor not decoded\n",
		(unsigned long long)n);
}

static void print_notes(const struct nvs_run *run, const struct nvs_gpu_state *state)
{
	const struct nvs_gpu_sums *sums = &state->sums;
	const struct nvs_gpu_each *each = run->each;
	FILE *out = run->out->file;
	bool measured = false;

	for (uint32_t i = 0; i < run->n; i++)
		measured |= each[i].measured;
	if (!measured || !sums->submissions)
		return;
	fputs(nvs_out_style(run->out, NVS_STYLE_DIM), out);
	if (state->sampled)
		fputs(NVS_GPU_SAMPLED, out);
	if (state->dispatch && sums->works)
		print_unended(out, sums->timed - sums->works);
	else if (state->dispatch)
		fputs("timing=dispatch records when each was reached, not how long it took; "
		      "use timing=work\n",
		      out);
	print_subtracted(out, state);
	print_overlap(out, sums, state->sampled);
	if (sums->several)
		fprintf(out,
			sums->several == 1
				? "%llu launches several kernels: its time is that of all of them\n"
				: "%llu launch several kernels: each time is that of all of them\n",
			(unsigned long long)sums->several);
	print_clock_note(run, sums);
	print_untimed(run, sums);
	print_faults(run);
	fputs(nvs_out_style(run->out, NVS_STYLE_PLAIN), out);
}

static int print_gpu_time(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, "gpu_us_total");
	struct nvs_gpu_state *state = run->state;
	struct nvs_column titled[NCOLUMNS];
	int r = nvs_gpu_rows_sort(state);

	memcpy(titled, columns, sizeof(columns));
	for (size_t i = 0; i < NCOLUMNS; i++)
		if (titled[i].get == column_line)
			titled[i].title = find_by(run);
	table.columns = titled;
	if (!r)
		r = nvs_table_print_rows(run->out, &table, &state->rows, &run->options->print);
	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		print_notes(run, state);
	return r;
}

static void free_state(struct nvs_run *run)
{
	struct nvs_gpu_each *each = run->each;

	nvs_gpu_rows_free(run->state);
	for (uint32_t i = 0; i < run->n; i++) {
		nvs_gpu_each_free(each + i);
		free(each[i].why);
	}
}

NVS_REPORT(gpu_time, .name = "gpu-time", .group = NVS_HOST_TIME, .place = 95,
	   .help = "GPU time of submissions, their time in the queue and the "
		   "idle time between them (needs timing=work)",
	   .man = "GPU time of submissions, for a trace recorded with\n.BR timing=work :\n"
		  "from when the channel reached a submission, or when the work that it "
		  "waited for was done, if later, until its own work was done. The median "
		  "of the channel's empty brackets, which contain no work, is subtracted "
		  "if the trace has some. Times within the spread of eight of ten empty "
		  "brackets are too short to measure, and are counted below the table.\n"
		  "Times that overlap those of other channels on the same engine may "
		  "include their work; the column\n.B overlap\ncounts these. A total is a "
		  "sum: work on several engines at once counts for each.\n.B queue\nis "
		  "from the doorbell until the GPU reached the submission;\n.B idle\nis "
		  "from the end of the previous submission on its channel until then; the "
		  "engine may have worked for another channel.\nThe GPU's clock has a "
		  "resolution of 32 ns; quantiles are accurate to 3 %.\nBelow the table is "
		  "how many submissions have no time, and why. With\n.B timing=dispatch\n"
		  "there are no durations; without either there are no times.",
	   .option = &by_option,
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES | NVS_NEED_TIMING | NVS_NEED_NVTX,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .state = sizeof(struct nvs_gpu_state), .each = sizeof(struct nvs_gpu_each),
	   .begin = begin_trace, .end = end_trace, .print = print_gpu_time, .free = free_state);
