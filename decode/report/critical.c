/* SPDX-License-Identifier: MIT */
/* --critical: for each call in which the host waited for the GPU, the submission whose end it
 * waited for and how long the GPU was busy meanwhile; summed by API, call site and submission. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/calls/args.h"
#include "decode/analysis/host_waits.h"
#include "decode/calls/bracket_times.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/timing_note.h"
#include "decode/report/core/report.h"

/* A state in the key of a row. */
enum critical_state { WAITED, ALREADY_DONE, NOT_KNOWN };

struct critical_row {
	struct critical_row_key {
		const struct nvs_source *source;
		const char *api;
		uint64_t site[2]; /* hashes of call site and module */
		uint32_t state, what, name;
	} key;
	const struct nvs_callsite *site;
	char *waited_for; /* NULL: unknown, or nothing */
	uint32_t stack;
	uint64_t waits, ns, most;
	uint64_t busy, busy_of; /* busy_of: host ns of the waits with known busy time */
	uint64_t late, nlate; /* ns from the end on the GPU to the return, and their number */
};

struct state_of_run {
	struct nvs_rows rows;
	uint64_t dropped, error_ns, untimed; /* give: the largest clock error, ns */
	bool placed; /* GPU and host clocks are related */
};

struct critical_trace {
	struct nvs_work_list *works;
	struct nvs_handles *handles;
	struct nvs_source *source;
	struct nvs_waits *waits;
};

/* ---- columns ---- */

static void get_done(const struct critical_row *r, struct nvs_value *v)
{
	nvs_value_truth(v, r->key.state == ALREADY_DONE, "yes");
	if (r->key.state == NOT_KNOWN)
		v->kind = NVS_VALUE_NONE;
}

#define COLUMNS(COL)                                                 \
	COL(count, waits, "waits", 0, 0, r->waits)                   \
	COL(us, host_us_total, "host us", 0, 0, true, r->ns)         \
	COL(real, host_us_mean, "us/call", BESIDE, 3, true,          \
	    (double)r->ns / 1000 / (double)r->waits)                 \
	COL(us, host_us_max, "us max", BESIDE, 2, true, r->most)     \
	COL(us, gpu_busy_us, "GPU busy", 0, 0, r->busy_of, r->busy)  \
	COL(real, return_us_mean, "return us", 0, 1, r->nlate,       \
	    (double)r->late / 1000 / (double)(r->nlate + !r->nlate)) \
	COL(text, waited_for, "waited for", NAME, 0, r->waited_for)  \
	COL(by, already_done, "done before", IF_ANY, 0, get_done, r) \
	COL(text, api, "api", NAME, 0, r->key.api)                   \
	COL(text, callsite, "callsite", NAME, 1, r->site->site)      \
	COL(text, module, "module", DETAIL, 0, r->site->site_module) \
	COL(text, line, "line", DETAIL, 0,                           \
	    nvs_trace_callsite_line(r->key.source->trace, r->stack)) \
	NVS_SOURCE_COLUMNS(COL, r->key.source)
NVS_COLUMNS(columns, struct critical_row, COLUMNS)

/* ---- waits to rows ---- */

static int add_wait(struct state_of_run *st, const struct critical_trace *each,
		    const struct nvs_wait *wait, const struct nvs_wait_end *end)
{
	const struct nvs_callsite *site = nvs_trace_callsite(each->source->trace, wait->stack);
	const struct nvs_work *work = end->work;
	uint64_t ns = (uint64_t)(wait->end - wait->begin);
	struct critical_row_key key;
	struct critical_row *row;

	memset(&key, 0, sizeof(key));
	key.source = each->source;
	key.api = wait->api;
	key.site[0] = nvs_hash64(site->site, strlen(site->site));
	key.site[1] = nvs_hash64(site->site_module, strlen(site->site_module));
	key.state = end->done ? ALREADY_DONE : work ? WAITED : NOT_KNOWN;
	if (key.state == WAITED) {
		key.what = work->what;
		key.name = work->name;
	}
	row = nvs_rows_at(&st->rows, &key);
	if (!row)
		return -ENOMEM;
	if (!row->waits++) {
		row->site = site;
		row->stack = wait->stack;
		if (key.state == WAITED) {
			row->waited_for = strdup(nvs_work_list_name(each->works, work));
			if (!row->waited_for)
				return -ENOMEM;
		}
	}
	row->ns += ns;
	row->most = ns > row->most ? ns : row->most;
	if (end->busy != NVS_UNKNOWN) {
		row->busy += end->busy;
		row->busy_of += ns;
	}
	if (key.state == WAITED && end->late != NVS_UNKNOWN) {
		row->late += end->late;
		row->nlate++;
	}
	return 0;
}

static int add_all(struct state_of_run *st, const struct critical_trace *each,
		   const struct nvs_waits_found *found)
{
	struct nvs_wait_end end;
	int r = 0;

	for (size_t i = 0; i < found->n && !r; i++)
		if (nvs_wait_end_find(each->waits, found->list + i, &end))
			r = add_wait(st, each, found->list + i, &end);
	return r;
}

/* ---- from the traces to the table ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *arg,
		       struct nvs_pass_reader *reader)
{
	struct state_of_run *st = run->state;
	struct critical_trace *each = arg;

	if (!st->rows.size)
		st->rows = NVS_ROWS(struct critical_row, key);
	each->source = s;
	each->works = nvs_work_list_new(s, &each->handles);
	each->waits = each->works ? nvs_waits_new(s, each->works) : NULL;
	reader->call = nvs_waits_call;
	reader->arg = each->waits;
	return each->waits ? nvs_work_list_read(each->works) : -ENOMEM;
}

static void free_each(struct critical_trace *each)
{
	nvs_waits_free(each->waits);
	nvs_work_list_free(each->works);
	each->waits = NULL;
	each->works = NULL;
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *arg)
{
	struct state_of_run *st = run->state;
	struct critical_trace *each = arg;
	struct nvs_waits_found found;
	int r = nvs_work_list_finish(each->works);

	if (!r)
		r = nvs_waits_end(each->waits, &found);
	if (!r)
		r = add_all(st, each, &found);
	if (!r) {
		nvs_work_list_explain(each->works, run, s);
		st->dropped += nvs_work_list_dropped(each->works) + found.dropped;
		st->untimed += found.untimed;
		st->placed |= found.placed;
		if (found.placed && found.error_ns > st->error_ns)
			st->error_ns = found.error_ns;
	}
	free_each(each);
	return r;
}

/* NS in us, as in the table, between BEFORE and AFTER. */
static void print_us(FILE *f, const char *before, uint64_t ns, const char *after)
{
	struct nvs_value v = {.kind = NVS_VALUE_REAL, .real = (double)ns / 1000};
	char text[64];

	nvs_value_text_format(text, sizeof(text), &v);
	fprintf(f, "%s%s us%s", before, text, after);
}

/* Prints totals and the clock error below the table. */
static void print_totals(const struct nvs_run *run, const struct state_of_run *st)
{
	uint64_t waits = 0, ns = 0, busy = 0, busy_of = 0, unknown = 0;
	FILE *f = run->out->file;
	char text[32];

	for (size_t i = 0; i < st->rows.n; i++) {
		const struct critical_row *row = st->rows.row[i];

		waits += row->waits;
		ns += row->ns;
		busy += row->busy;
		busy_of += row->busy_of;
		unknown += row->key.state == NOT_KNOWN ? row->waits : 0;
	}
	if (!waits)
		return;
	fputs(nvs_out_style(run->out, NVS_STYLE_DIM), f);
	print_us(f, "The host waited ", ns, " in ");
	fprintf(f, "%s call%s", nvs_format_grouped(text, waits), waits == 1 ? "" : "s");
	if (busy_of)
		print_us(f, "; the GPU was busy for ", busy, " of ");
	if (busy_of == ns)
		fputs("it", f);
	else if (busy_of)
		print_us(f, "the ", busy_of, " for which this is known");
	fputs(".\n", f);
	if (unknown)
		fprintf(f, "For %llu of them it is unknown what %s waited for.\n",
			(unsigned long long)unknown, unknown == 1 ? "it" : "they");
	if (st->untimed && st->placed)
		fprintf(f, "Submissions with work but no GPU time: %llu.\n",
			(unsigned long long)st->untimed);
	if (st->placed)
		fprintf(f, "The GPU's clock is aligned with the host's to within %.2f us.\n",
			(double)st->error_ns / 1000);
	fputs(nvs_out_style(run->out, NVS_STYLE_PLAIN), f);
}

static int print_waits(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, "host_us_total");
	struct state_of_run *st = run->state;
	int r = nvs_table_print_rows(run->out, &table, &st->rows, &run->options->print);

	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		print_totals(run, st);
	if (st->dropped)
		fprintf(stderr, "nvsnoop-report: %llu more submissions and waits were ignored\n",
			(unsigned long long)st->dropped);
	return r;
}

static void free_row(void *row)
{
	free(((struct critical_row *)row)->waited_for);
}

static void free_state(struct nvs_run *run)
{
	struct state_of_run *st = run->state;
	struct critical_trace *each = run->each;

	for (uint32_t i = 0; i < run->n; i++)
		free_each(each + i);
	nvs_rows_free(&st->rows, free_row);
}

NVS_REPORT(critical, .name = "critical", .group = NVS_HOST_TIME, .place = 97,
	   .help = "what the host waited for (best with timing=work)",
	   .man = "Calls in which the host waits for the GPU (synchronisations, copies "
		  "that return when they are done, frees that had to wait), by what they "
		  "waited for: the last to end of what had been submitted to the stream or "
		  "context before. With\n.BR timing=work ,\nalso how long the GPU was busy "
		  "meanwhile, what was already done when the call began, and how long "
		  "after the end on the GPU the call returned. Without it, only what "
		  "follows from the order of a stream.",
	   .needs = NVS_NEED_ALL_TIMES | NVS_NEED_TRACE | NVS_NEED_CALLS | NVS_NEED_NAMES,
	   .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .state = sizeof(struct state_of_run), .each = sizeof(struct critical_trace),
	   .begin = begin_trace, .end = end_trace, .print = print_waits, .free = free_state);
