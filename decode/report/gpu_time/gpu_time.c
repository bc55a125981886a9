/* SPDX-License-Identifier: MIT */
/*
 * --gpu-time: the GPU's own time of submissions, as timing= has recorded it, by API or what else
 * --by says. Below the table: what was subtracted, what is not known, and why.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/gpu_time/grouping.h"
#include "decode/query/durations.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/report.h"

#define REASONS NVS_UNTIMED_REASONS

static const char *const reasons[REASONS] = {
	"for a reason that this version does not know",
	[NVS_UNTIMED_METHOD] = "begins or ends within a method",
	[NVS_UNTIMED_SEMAPHORE] = "the channel sets a semaphore in pieces",
	[NVS_UNTIMED_BEHIND] = "earlier times were not there yet",
	[NVS_UNTIMED_EARLY] = "before there was memory for times",
	[NVS_UNTIMED_UNREADABLE] = "a segment could not be read",
	[NVS_UNTIMED_TOGETHER] = "reached the GPU together with another one",
	[NVS_UNTIMED_RING] = "its entries fill the GPFIFO",
	[NVS_UNTIMED_ENDING] = "its context or channel was about to end",
	[NVS_UNTIMED_NO_SHADOW] = "the channel's GPFIFO is not shadowed",
	[NVS_UNTIMED_NO_MEMORY] = "no memory that its GPU could reach",
	[NVS_UNTIMED_SHARED] = "another channel may come to its USERD's page",
};

static const char *const bys[NVS_GPU_BYS] = {
	[NVS_GPU_BY_API] = "api",	  [NVS_GPU_BY_KERNEL] = "kernel",
	[NVS_GPU_BY_GRAPH] = "graph",	  [NVS_GPU_BY_STREAM] = "stream",
	[NVS_GPU_BY_CHANNEL] = "channel", [NVS_GPU_BY_RANGE] = "range"};

/* ---- columns ---- */

#define BY(of) (r->key.each->state->by == NVS_GPU_BY_##of)
#define NUMBERED (r->key.number != NVS_UNKNOWN)
#define EMPTY (r->empty.count && !r->mixed)
#define US(ns) ((double)(ns) / 1e3)
/* Some of its times are long enough to tell. */
#define LONG (r->sums.works > r->sums.brief)

/* NULL: not known. */
static const struct nvs_rec_channel *channel_of(const struct nvs_gpu_row *r)
{
	const struct nvs_trace *trace = r->key.each->source->trace;
	const struct nvs_trace_channel *c =
		BY(CHANNEL) ? nvs_trace_channel_at(trace, (uint32_t)r->key.number) : NULL;

	return c && c->known ? &c->rec : NULL;
}

static bool of_graph(const struct nvs_gpu_row *r)
{
	return (BY(GRAPH) || BY(KERNEL)) && !r->key.what && NUMBERED;
}

static uint64_t median(const struct nvs_gpu_row *r)
{
	return nvs_times_quantile(&r->times, 0.5);
}

/* Is NS more than that it was short? */
static bool tells(const struct nvs_gpu_row *r, uint64_t ns)
{
	return LONG && (!r->sums.subtracted || ns > r->spread);
}

NVS_SOURCE_GETTERS(struct nvs_gpu_row, r->key.each->source)
NVS_GET_TEXT(struct nvs_gpu_row, api, BY(API) ? r->name : NULL)
NVS_GET_TEXT(struct nvs_gpu_row, kernel, r->mangled ? r->name : NULL)
NVS_GET_TEXT(struct nvs_gpu_row, mangled, r->mangled)
NVS_GET_TEXT(struct nvs_gpu_row, range, r->range)
NVS_GET_TEXT(struct nvs_gpu_row, path, BY(RANGE) ? r->name : NULL)
NVS_GET_TEXT(struct nvs_gpu_row, why, r->key.each->why)
NVS_GET_KNOWN(struct nvs_gpu_row, graph, of_graph(r), r->key.number)
NVS_GET_KNOWN(struct nvs_gpu_row, exec, of_graph(r), r->exec)
NVS_GET_KNOWN(struct nvs_gpu_row, channel, BY(CHANNEL), r->key.number)
NVS_GET_KNOWN(struct nvs_gpu_row, gpu, channel_of(r), channel_of(r) ? channel_of(r)->gpu : 0)
NVS_GET_KNOWN(struct nvs_gpu_row, engine, channel_of(r), channel_of(r) ? channel_of(r)->engine : 0)
NVS_GET_HEX(struct nvs_gpu_row, stream, BY(STREAM) && NUMBERED, r->key.number)
NVS_GET_HEX(struct nvs_gpu_row, context, r->key.context, r->key.context)
NVS_GET_COUNT(struct nvs_gpu_row, submissions, r->sums.submissions)
NVS_GET_COUNT(struct nvs_gpu_row, timed, r->sums.timed)
NVS_GET_REAL(struct nvs_gpu_row, total, LONG, US(nvs_gpu_total(&r->sums)))
NVS_GET_REAL(struct nvs_gpu_row, mean, LONG, US(nvs_gpu_total(&r->sums)) / (double)r->sums.works)
NVS_GET_REAL(struct nvs_gpu_row, p50, tells(r, median(r)), US(median(r)))
NVS_GET_REAL(struct nvs_gpu_row, p99, LONG, US(nvs_times_quantile(&r->times, 0.99)))
NVS_GET_REAL(struct nvs_gpu_row, max, LONG, US(r->times.max))
NVS_GET_REAL(struct nvs_gpu_row, bracket, r->sums.works, US(r->sums.bracket_ns))
NVS_GET_KNOWN(struct nvs_gpu_row, subtracted, r->sums.works, r->sums.subtracted)
NVS_GET_REAL(struct nvs_gpu_row, empty, EMPTY, US(r->empty.ns))
NVS_GET_REAL(struct nvs_gpu_row, spread, EMPTY, US(r->empty.spread))
NVS_GET_KNOWN(struct nvs_gpu_row, empties, EMPTY, r->empty.count)
NVS_GET_KNOWN(struct nvs_gpu_row, brief, r->sums.subtracted, r->sums.brief)
NVS_GET_KNOWN(struct nvs_gpu_row, overlapping, r->sums.works && !r->sums.unseen,
	      r->sums.overlapping)
NVS_GET_KNOWN(struct nvs_gpu_row, waited, r->sums.works, r->sums.waited)
NVS_GET_REAL(struct nvs_gpu_row, overlap, r->sums.works && !r->sums.unseen, US(r->sums.overlap_ns))
NVS_GET_REAL(struct nvs_gpu_row, queue, r->queue.total.count,
	     US(nvs_times_quantile(&r->queue, 0.5)))
NVS_GET_REAL(struct nvs_gpu_row, queue_max, r->queue.total.count, US(r->queue.max))
NVS_GET_REAL(struct nvs_gpu_row, give, r->queue.total.count, US(r->give))
NVS_GET_REAL(struct nvs_gpu_row, idle, r->idle.total.count, US(r->idle.total.ns))
NVS_GET_REAL(struct nvs_gpu_row, idle_max, r->idle.total.count, US(r->idle.max))
NVS_GET_KNOWN(struct nvs_gpu_row, gaps, r->sums.works, r->idle.total.count)
NVS_GET_KNOWN(struct nvs_gpu_row, launches, BY(KERNEL) && !r->sums.unsaid, r->sums.launches)

/* What the row is of, for a person. */
static void get_line(const void *row, struct nvs_value *v)
{
	static const char *const defaults[] = {[1] = "default", "per-thread default"};
	const struct nvs_gpu_row *r = row;

	if (BY(STREAM)) {
		get_stream(row, v);
		v->text = NUMBERED && r->key.number <= 2 ? defaults[r->key.number] : NULL;
	} else if (BY(CHANNEL)) {
		get_channel(row, v);
	} else {
		nvs_value_text(v, r->name);
	}
}

static const struct nvs_column columns[] = {
	{"submissions", "subs", get_submissions, 0},
	{"timed", "timed", get_timed, 0},
	{"gpu_us_total", "gpu us", get_total, 0},
	{"gpu_us_mean", "us mean", get_mean, NVS_COLUMN_IF_KNOWN, 1},
	{"gpu_us_p50", "us p50", get_p50, NVS_COLUMN_IF_KNOWN, 1},
	{"gpu_us_p99", "us p99", get_p99, NVS_COLUMN_IF_KNOWN | NVS_COLUMN_BESIDE, 4},
	{"gpu_us_max", "us max", get_max, NVS_COLUMN_IF_KNOWN | NVS_COLUMN_BESIDE, 3},
	{"queue_us_p50", "queue p50", get_queue, NVS_COLUMN_IF_KNOWN, 2},
	{"queue_us_max", "queue max", get_queue_max, NVS_COLUMN_IF_KNOWN | NVS_COLUMN_BESIDE, 5},
	{"idle_us_total", "idle us", get_idle, NVS_COLUMN_IF_KNOWN, 2},
	{"idle_us_max", "idle max", get_idle_max, NVS_COLUMN_IF_KNOWN | NVS_COLUMN_BESIDE, 6},
	{"overlapping", "overlap", get_overlapping, NVS_COLUMN_IF_KNOWN, 2},
	{"too_short", "short", get_brief, NVS_COLUMN_DETAIL},
	{"launches", "launches", get_launches, NVS_COLUMN_IF_ANY, 3},
	{"line", "", get_line, NVS_COLUMN_NAME | NVS_COLUMN_TEXT},
	{"api", "api", get_api, NVS_COLUMN_DETAIL},
	{"kernel", "kernel", get_kernel, NVS_COLUMN_DETAIL},
	{"mangled", "mangled", get_mangled, NVS_COLUMN_DETAIL},
	{"graph", "graph", get_graph, NVS_COLUMN_DETAIL},
	{"exec", "exec", get_exec, NVS_COLUMN_DETAIL},
	{"stream", "stream", get_stream, NVS_COLUMN_DETAIL},
	{"context", "context", get_context, NVS_COLUMN_DETAIL},
	{"channel", "channel", get_channel, NVS_COLUMN_DETAIL},
	{"gpu", "gpu", get_gpu, NVS_COLUMN_DETAIL},
	{"engine", "engine", get_engine, NVS_COLUMN_DETAIL},
	{"range", "range", get_range, NVS_COLUMN_DETAIL},
	{"path", "path", get_path, NVS_COLUMN_DETAIL},
	{"overlap_us_total", "overlap us", get_overlap, NVS_COLUMN_DETAIL},
	{"bracket_us_total", "bracket us", get_bracket, NVS_COLUMN_DETAIL},
	{"begin_unknown", "began unknown", get_waited, NVS_COLUMN_DETAIL},
	{"subtracted", "subtracted", get_subtracted, NVS_COLUMN_DETAIL},
	{"empty_us", "empty us", get_empty, NVS_COLUMN_DETAIL},
	{"empty_us_spread", "empty spread", get_spread, NVS_COLUMN_DETAIL},
	{"empty_brackets", "empty", get_empties, NVS_COLUMN_DETAIL},
	{"queue_us_error", "queue error", get_give, NVS_COLUMN_DETAIL},
	{"idle_gaps", "gaps", get_gaps, NVS_COLUMN_DETAIL},
	{"untimed_reasons", "not timed", get_why, NVS_COLUMN_DETAIL},
	NVS_SOURCE_COLUMNS,
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

/* ---- from the traces to the rows ---- */

static enum nvs_gpu_by by_of(const char *word)
{
	enum nvs_gpu_by by = 0;

	while (by < NVS_GPU_BYS && strcmp(word, bys[by]))
		by++;
	return by;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *arg, struct nvs_reader *reader)
{
	const struct nvs_options_report *o = run->options;
	struct nvs_gpu_state *state = run->state;
	struct nvs_gpu_each *each = arg;

	if (o->nmore)
		state->by = by_of(o->more[0]);
	each->source = s;
	each->state = state;
	return nvs_gpu_rows_begin(each, reader);
}

/* "before there was memory for times (104), ..."; to be freed. NULL: none, or no memory. */
static char *in_words(const uint64_t *untimed)
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

static int end(struct nvs_run *run, struct nvs_source *s, void *arg)
{
	const char *options = nvs_trace_session(s->trace)->attr[NVS_ATTR_OPTIONS];
	struct nvs_gpu_each *each = arg;
	int r = nvs_gpu_rows_end(each);

	each->why = in_words(each->untimed);
	if (r || !each->submitted || each->measured ||
	    (options && (strstr(options, "timing=work") || strstr(options, "timing=dispatch"))))
		return r;
	run->said = true;
	if (run->options->page)
		return r;
	fprintf(stderr, "nvsnoop-report: %s: recorded without timing=; nvsnoop --timing=work\n",
		s->path);
	return 0;
}

/* ---- below the table ---- */

static void say_untimed(const struct nvs_run *run, const struct nvs_gpu_sums *sums)
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
	why = in_words(untimed);
	fprintf(run->out->file, "%llu not timed%s: %s\n",
		(unsigned long long)(sums->submissions - sums->timed),
		!why || !nvs_filter_asked(&run->options->query) ? "" : "; in the whole trace",
		why ? why : "the trace does not say why");
	free(why);
}

static void say_range(FILE *out, const char *format, double least, double most)
{
	fprintf(out, format, least);
	if (most > least) {
		fputs(" to ", out);
		fprintf(out, format, most);
	}
}

static void say_empty(FILE *out, const struct nvs_gpu_state *state)
{
	const struct nvs_gpu_sums *sums = &state->sums;
	const struct nvs_gpu_empties *e = &state->empties;

	if (!sums->works)
		return;
	if (!sums->subtracted) {
		fputs("nothing subtracted, since there are no empty brackets of these channels: "
		      "each\ntime holds what its two timestamps take\n",
		      out);
		return;
	}
	fputs("median empty bracket of ", out);
	say_range(out, "%.2f", US(e->least.ns), US(e->most.ns));
	fputs(" us subtracted, from ", out);
	say_range(out, "%.0f", (double)e->least.count, (double)e->most.count);
	fputs(e->several ? " of each channel\n" : "\n", out);
	if (sums->works > sums->subtracted)
		fprintf(out, "nothing subtracted from %llu: no empty brackets of their channels\n",
			(unsigned long long)(sums->works - sums->subtracted));
	if (sums->brief)
		fprintf(out,
			"%llu too short to tell: no more than %.2f us, by which empty ones "
			"differ\n",
			(unsigned long long)sums->brief, US(e->most.spread));
}

static void say_overlap(FILE *out, const struct nvs_gpu_sums *sums)
{
	if (sums->overlapping)
		fprintf(out,
			"%llu overlap others on their engine, for %.2f us: these may hold others' "
			"work,\nand a total counts such a moment for each\n",
			(unsigned long long)sums->overlapping, US(sums->overlap_ns));
	if (sums->waited)
		fprintf(out,
			"%llu waited for work whose end is not known: they may count "
			"too "
			"long\n",
			(unsigned long long)sums->waited);
	if (sums->unseen)
		fputs("which brackets overlap is not known of all: no memory, or an unknown "
		      "channel\n",
		      out);
}

static void say_faults(const struct nvs_run *run)
{
	struct nvs_timing_faults sum = {0};

	for (uint32_t i = 0; i < run->n; i++) {
		const struct nvs_timing_faults *f = nvs_timing_faults(run->sources[i].timing);

		sum.untold += f->untold;
		sum.twice += f->twice;
		sum.wrong += f->wrong;
	}
	if (sum.twice || sum.wrong)
		fprintf(run->out->file, "%llu time%s that cannot be right %s left out\n",
			(unsigned long long)(sum.twice + sum.wrong),
			sum.twice + sum.wrong == 1 ? "" : "s",
			sum.twice + sum.wrong == 1 ? "is" : "are");
	if (sum.untold)
		fprintf(run->out->file, "%llu time%s left out: not enough memory\n",
			(unsigned long long)sum.untold, sum.untold == 1 ? "" : "s");
}

static void say_clock(const struct nvs_run *run, const struct nvs_gpu_sums *sums)
{
	const struct nvs_gpu_each *each = run->each;
	bool unclocked = false;

	for (uint32_t i = 0; i < run->n; i++)
		unclocked |= each[i].unclocked;
	if (unclocked && sums->timed)
		fputs("queue times need readings of the GPU's clock, which are not there\n",
		      run->out->file);
}

static void say_below(const struct nvs_run *run, const struct nvs_gpu_state *state)
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
	if (state->dispatch && sums->works)
		fprintf(out,
			"%llu have no end: what they launch is not in their own commands (graphs), "
			"or "
			"not\nunderstood\n",
			(unsigned long long)(sums->timed - sums->works));
	else if (state->dispatch)
		fputs("timing=dispatch tells when each was reached, not how long it took; "
		      "timing=work does\n",
		      out);
	say_empty(out, state);
	say_overlap(out, sums);
	if (sums->several)
		fprintf(out, "%llu launch several kernels: the time is that of all of them\n",
			(unsigned long long)sums->several);
	say_clock(run, sums);
	say_untimed(run, sums);
	say_faults(run);
	fputs(nvs_out_style(run->out, NVS_STYLE_PLAIN), out);
}

static int check_by(const struct nvs_options_report *o)
{
	char safe[256];

	for (uint32_t i = 0; i < o->nmore; i++) {
		if (i || by_of(o->more[i]) == NVS_GPU_BYS) {
			nvs_escape(safe, sizeof(safe), o->more[i], strlen(o->more[i]));
			fprintf(stderr,
				"nvsnoop-report: --by is one of api, kernel, graph, stream, "
				"channel "
				"and range, not%s '%s'\n",
				i ? " also" : "", safe);
			return -EINVAL;
		}
	}
	return 0;
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, "gpu_us_total");
	struct nvs_gpu_state *state = run->state;
	struct nvs_column titled[COLUMNS];
	int r = check_by(run->options);

	if (r)
		return r;
	r = nvs_gpu_rows_sort(state);
	memcpy(titled, columns, sizeof(columns));
	for (size_t i = 0; i < COLUMNS; i++)
		if (titled[i].get == get_line)
			titled[i].title = bys[state->by];
	table.columns = titled;
	if (!r)
		r = nvs_table_print_rows(run->out, &table, &state->rows, &run->options->print);
	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		say_below(run, state);
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

static const struct nvs_report_option by_option = {
	"by", "api|kernel|graph|stream|channel|range", "what a row is of (api)",
	"What a row is of. A launch of a graph has one time for all its nodes, with\n.B kernel\n"
	"too: of the kernels in it nothing is known alone, nor of several in one submission; what "
	"a launch\nsubmits beside its kernel, such as code, is of none. With\n"
	".B range\na row has the time of the ranges of NVTX inside it too."};

NVS_REPORT(gpu_time, .name = "gpu-time", .place = 95,
	   .help = "the GPU's own time, of a trace with timing=work: of\n"
		   "submissions, until they are begun, and idle between them",
	   .man = "The GPU's own time of submissions, where the trace was recorded with\n"
		  ".BR timing=work :\n"
		  "from when the channel reached a submission, or the work that it waited for was "
		  "done where that is later,\nuntil its own was done. The median of the channel's "
		  "empty brackets, which hold "
		  "nothing,\n"
		  "is subtracted, where the trace has some; what is within the distance that eight "
		  "of\n"
		  "ten of them keep from it is too short to tell, and counted below\n"
		  "the table.\n"
		  "Times that overlap those of other channels on the same engine may hold their "
		  "work;\n"
		  "how many do is said in the column\n"
		  ".BR overlap .\n"
		  "A total is a sum: work on several engines at once counts for each.\n"
		  ".B queue\n"
		  "is from the doorbell until the GPU came to it;\n"
		  ".B idle\n"
		  "from the end of the submission before it on its channel until then, the engine\n"
		  "may have worked for another one.\n"
		  "The GPU's clock goes in steps of 32 ns; quantiles are to 3 %.\n"
		  "Below the table stands how many submissions have no time, and why. With\n"
		  ".B timing=dispatch\n"
		  "there are no durations, without either there are no times.",
	   .option = &by_option,
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES | NVS_NEED_TIMING | NVS_NEED_NVTX,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .state = sizeof(struct nvs_gpu_state), .each = sizeof(struct nvs_gpu_each),
	   .begin = begin, .end = end, .print = print, .free = free_state);
