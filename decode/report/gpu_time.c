/* SPDX-License-Identifier: MIT */
/*
 * --gpu-time: the GPU's own time of submissions, by API, as timing=work has recorded it. A time
 * comes in the trace some while behind its submission, which waits for it here. Below the table:
 * how many have none, and why.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/source_columns.h"
#include "decode/report/times.h"

#define MOST_WAITING 4096u /* of a channel: what is under way is less */
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

/* Of a trace. */
struct each {
	struct nvs_source *source;
	struct state *state;
	uint64_t untimed[REASONS];
	bool submitted; /* anything, be it selected or not */
	bool measured; /* some record of it says so */
	char *why; /* the reasons in words; NULL: there are none */
};

struct row {
	struct key {
		const char *api;
		const struct each *each;
	} key;
	uint64_t submissions, timed;
	struct nvs_times times;
};

struct waiting {
	uint64_t sequence;
	struct row *row; /* NULL: its time has come */
};

/* By sequence; at most as many as were read. */
struct channel {
	struct waiting *at;
	uint32_t n, room;
};

struct state {
	struct nvs_rows rows;
	struct channel *channels; /* of the trace that is read */
	uint32_t n;
	bool dispatch; /* some time is a moment alone */
};

NVS_SOURCE_GETTERS(struct row, r->key.each->source)
NVS_GET_TEXT(struct row, api, r->key.api)
NVS_GET_TEXT(struct row, why, r->key.each->why)
NVS_GET_COUNT(struct row, submissions, r->submissions)
NVS_GET_COUNT(struct row, timed, r->timed)
NVS_GET_REAL(struct row, total, r->times.total.count, (double)r->times.total.ns / 1e3)
NVS_GET_REAL(struct row, mean, r->times.total.count, nvs_total_mean(&r->times.total) / 1e3)
NVS_GET_REAL(struct row, p50, r->times.total.count,
	     (double)nvs_times_quantile(&r->times, 0.5) / 1e3)
NVS_GET_REAL(struct row, p99, r->times.total.count,
	     (double)nvs_times_quantile(&r->times, 0.99) / 1e3)
NVS_GET_REAL(struct row, max, r->times.total.count, (double)r->times.max / 1e3)

static const struct nvs_column columns[] = {
	{"submissions", "submissions", get_submissions, 0},
	{"timed", "timed", get_timed, 0},
	{"gpu_us_total", "gpu us", get_total, 0},
	{"gpu_us_mean", "us mean", get_mean, 0, 1},
	{"gpu_us_p50", "us p50", get_p50, 0, 2},
	{"gpu_us_p99", "us p99", get_p99, 0, 3},
	{"gpu_us_max", "us max", get_max, 0, 4},
	{"api", "api", get_api, NVS_COLUMN_NAME},
	{"untimed_reasons", "not timed", get_why, NVS_COLUMN_DETAIL},
	NVS_SOURCE_COLUMNS,
};

/* Room for one more: without those that have come, else twice as much, else without the older half.
 */
static int make_room(struct channel *c)
{
	struct waiting *at;
	uint32_t kept = 0, room = c->room ? 2 * c->room : 16;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].row)
			c->at[kept++] = c->at[i];
	c->n = kept;
	if (c->room && kept <= c->room / 2)
		return 0;
	if (room > MOST_WAITING) {
		c->n = kept / 2;
		memmove(c->at, c->at + kept - c->n, c->n * sizeof(*c->at));
		return 0;
	}
	at = realloc(c->at, room * sizeof(*at));
	if (!at)
		return -ENOMEM;
	c->at = at;
	c->room = room;
	return 0;
}

/* The first of SEQUENCE or behind it. */
static uint32_t place_of(const struct channel *c, uint64_t sequence)
{
	uint32_t from = 0, to = c->n;

	if (!to || c->at[to - 1].sequence < sequence)
		return to;
	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (c->at[middle].sequence < sequence)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int wait_for_time(struct state *st, const struct nvs_source *s, uint32_t channel,
			 uint64_t sequence, struct row *row)
{
	struct channel *c;
	uint32_t at;

	if (channel >= st->n) {
		uint32_t n = channel + 16;
		struct channel *all;

		if (channel >= nvs_trace_channel_count(s->trace))
			return 0;
		all = realloc(st->channels, n * sizeof(*all));
		if (!all)
			return -ENOMEM;
		memset(all + st->n, 0, (n - st->n) * sizeof(*all));
		st->channels = all;
		st->n = n;
	}
	c = &st->channels[channel];
	if (c->n == c->room && make_room(c))
		return -ENOMEM;
	at = place_of(c, sequence);
	memmove(c->at + at + 1, c->at + at, (c->n++ - at) * sizeof(*c->at));
	c->at[at] = (struct waiting){sequence, row};
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct each *each = arg;
	struct key key = {nvs_source_api(each->source, s, call), each};
	struct row *row;

	each->submitted = true;
	if (!nvs_filter(each->source, s, call))
		return 0;
	row = nvs_rows_at(&each->state->rows, &key);
	if (!row)
		return -ENOMEM;
	row->submissions++;
	return wait_for_time(each->state, each->source, s->channel->channel, s->rec->sequence, row);
}

static int on_time(struct state *st, const struct nvs_rec_gpu_time *t)
{
	struct channel *c = t->channel < st->n ? st->channels + t->channel : NULL;
	uint32_t at = c ? place_of(c, t->sequence) : 0;
	struct row *row;

	if (t->kind == NVS_TIMING_EMPTY || !c || at == c->n || c->at[at].sequence != t->sequence ||
	    !c->at[at].row)
		return 0;
	row = c->at[at].row;
	c->at[at].row = NULL;
	row->timed++;
	st->dispatch |= t->kind == NVS_TIMING_DISPATCH;
	return t->kind == NVS_TIMING_WORK && t->end >= t->begin
		       ? nvs_times_add(&row->times, t->end - t->begin)
		       : 0;
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	const struct nvs_rec_untimed *u = (const void *)rec;
	struct each *each = arg;

	each->measured |= rec->type == NVS_REC_GPU_TIME || rec->type == NVS_REC_GPU_CLOCK ||
			  rec->type == NVS_REC_UNTIMED;
	if (rec->type == NVS_REC_UNTIMED)
		each->untimed[u->reason < REASONS ? u->reason : 0] += u->submissions;
	return rec->type == NVS_REC_GPU_TIME ? on_time(each->state, (const void *)rec) : 0;
}

static void forget(struct state *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		free(st->channels[i].at);
	free(st->channels);
	st->channels = NULL;
	st->n = 0;
}

static int begin(struct nvs_run *run, struct nvs_source *s, void *arg, struct nvs_reader *reader)
{
	struct state *st = run->state;
	struct each *each = arg;

	each->source = s;
	each->state = st;
	if (!st->rows.size)
		st->rows = NVS_ROWS(struct row, key);
	reader->submission = on_submission;
	reader->record = on_record;
	reader->calls = true;
	return 0;
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
	struct each *each = arg;

	each->why = in_words(each->untimed);
	forget(run->state);
	if (!each->submitted || each->measured ||
	    (options && (strstr(options, "timing=work") || strstr(options, "timing=dispatch"))))
		return 0;
	run->said = true;
	fprintf(stderr, "nvsnoop-report: %s: recorded without timing=; nvsnoop --timing=work\n",
		s->path);
	return 0;
}

/* By trace, and by name: one API may have several numbers. */
static int by_name(const void *pa, const void *pb)
{
	const struct row *a = *(const struct row *const *)pa, *b = *(const struct row *const *)pb;
	uint32_t ia = a->key.each->source->index, ib = b->key.each->source->index;

	return ia != ib ? (ia > ib) - (ia < ib) : strcmp(a->key.api, b->key.api);
}

static void free_row(void *row)
{
	nvs_times_free(&((struct row *)row)->times);
}

/* Rows of one name become one. */
static int join(struct nvs_rows *rows)
{
	size_t n = 0;
	int r = 0;

	if (rows->n)
		qsort(rows->row, rows->n, sizeof(*rows->row), by_name);
	for (size_t i = 0; i < rows->n; i++) {
		struct row *from = rows->row[i], *into = n ? rows->row[n - 1] : NULL;

		if (r || !n || by_name(&into, &from)) {
			rows->row[n++] = from;
			continue;
		}
		into->submissions += from->submissions;
		into->timed += from->timed;
		r = nvs_times_merge(&into->times, &from->times);
		free_row(from);
		free(from);
	}
	rows->n = n;
	return r;
}

/* Below the table: how many have no time, and why. */
static void say_untimed(const struct nvs_run *run, const struct state *st)
{
	uint64_t submissions = 0, timed = 0, untimed[REASONS] = {0};
	struct nvs_out *out = run->out;
	const struct each *each = run->each;
	bool measured = false;
	char *why;

	for (uint32_t i = 0; i < run->n; i++)
		for (uint32_t k = 0; k < REASONS; k++) {
			measured |= each[i].measured;
			untimed[k] += each[i].untimed[k];
		}
	for (size_t i = 0; i < st->rows.n; i++) {
		const struct row *row = st->rows.row[i];

		submissions += row->submissions;
		timed += row->timed;
	}
	if (!measured || !submissions)
		return;
	why = in_words(untimed);
	fputs(nvs_out_style(out, NVS_STYLE_DIM), out->file);
	if (st->dispatch)
		fputs("timing=dispatch tells when each was reached, not how long it took; "
		      "timing=work does\n",
		      out->file);
	if (timed < submissions)
		fprintf(out->file, "%llu not timed%s: %s\n",
			(unsigned long long)(submissions - timed),
			!why || !nvs_filter_asked(run->options) ? "" : "; in the whole trace",
			why ? why : "the trace does not say why");
	fputs(nvs_out_style(out, NVS_STYLE_PLAIN), out->file);
	free(why);
}

static int print(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, "gpu_us_total");
	struct state *st = run->state;
	int r = join(&st->rows);

	if (!r)
		r = nvs_table_print_rows(run->out, &table, &st->rows, run->options);
	if (!r && run->options->format == NVS_FORMAT_TEXT)
		say_untimed(run, st);
	return r;
}

static void free_state(struct nvs_run *run)
{
	struct state *st = run->state;
	struct each *each = run->each;

	forget(st);
	nvs_rows_free(&st->rows, free_row);
	for (uint32_t i = 0; i < run->n; i++)
		free(each[i].why);
}

NVS_REPORT(
	gpu_time, .name = "gpu-time", .place = 95,
	.help = "the GPU's own time, by API, of a trace with timing=work",
	.man = "The GPU's own time of what each API submitted, where the trace was recorded with\n"
	       ".BR timing=work .\n"
	       "It holds what the two timestamps take themselves, and work of other streams\n"
	       "that was done meanwhile. The GPU's clock goes in steps of 32 ns: a median or mean\n"
	       "below that says no more than that it was short; quantiles are to 3 %.\n"
	       "Below the table stands how many submissions have no time, and why. With\n"
	       ".B timing=dispatch\n"
	       "there are no durations.",
	.needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TABLE,
	NVS_REPORT_COLUMNS(columns), .state = sizeof(struct state), .each = sizeof(struct each),
	.begin = begin, .end = end, .print = print, .free = free_state);
