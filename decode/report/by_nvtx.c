/* SPDX-License-Identifier: MIT */
/* --by-nvtx: the tree of NVTX ranges, each with the calls, launches, submissions and bytes of
 * its thread while the range was pushed, including ranges nested inside it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/distinct.h"
#include "decode/base/hash.h"
#include "decode/query/durations.h"
#include "decode/query/nvtx_names.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/report/core/trace_columns.h"
#include "decode/report/core/report.h"

struct nvtx_row {
	const struct nvs_nvtx_node *node;
	struct nvs_source *source;
	char *path;
	struct nvs_nvtx_counts sum; /* with nested ranges, except times */
	uint64_t inner_ns; /* wall time of directly nested ranges */
	bool inner_open; /* one of these has not ended */
	bool called; /* the trace records calls */
	bool flat; /* with --sort: shown by path instead of indented */
};

struct by_nvtx_state {
	struct nvs_source *source;
	struct nvs_distinct threads; /* distinct threads of each node */
};

/* ---- counting ---- */

static void count_call(struct nvs_nvtx_counts *c, const struct nvs_call *call)
{
	bool done = nvs_call_ran(call);

	c->calls++;
	c->failed += nvs_call_failed(call);
	c->launches += done && call->api->group == NVS_CALL_GROUP_LAUNCH;
	c->graphs += done && call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH;
	c->uncounted |= call->uncounted;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_source *s = ((struct by_nvtx_state *)arg)->source;
	struct nvs_nvtx_node *in[NVS_NVTX_NESTS];
	uint32_t n = nvs_filter_call(s, call)
			     ? nvs_nvtx_innermost(s->nvtx, call->thread, call->begin, in)
			     : 0;

	for (uint32_t i = 0; i < n; i++)
		count_call(&in[i]->own, call);
	return 0;
}

static int on_submission(void *arg, const struct nvs_submission *sub, const struct nvs_call *call)
{
	struct nvs_source *s = ((struct by_nvtx_state *)arg)->source;
	struct nvs_nvtx_node *in[NVS_NVTX_NESTS];
	uint32_t n = nvs_filter_selects(s, sub, call)
			     ? nvs_nvtx_innermost(s->nvtx, sub->rec->thread, sub->rec->rec.time, in)
			     : 0;

	for (uint32_t i = 0; i < n; i++) {
		in[i]->own.submissions += !(sub->rec->rec.flags & NVS_SUB_CONTINUED);
		in[i]->own.bytes += nvs_submission_bytes(sub);
	}
	return 0;
}

static void note_thread(struct by_nvtx_state *st, struct nvs_nvtx_node *node, uint32_t thread)
{
	const uint32_t thing[2] = {node->number, thread};
	int r = nvs_distinct_add(&st->threads, nvs_hash64(thing, sizeof(thing)));

	node->own.last_thread = thread;
	node->own.threads += r > 0;
	node->own.many |= r < 0;
}

/* The thread may still be unknown; its ranges are then counted when they end. */
static bool is_thread_selected(const struct nvs_source *s, uint32_t thread)
{
	return (thread != NVS_NONE || !s->query->thread.n) && nvs_filter_thread(s, thread);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct by_nvtx_state *st = arg;
	struct nvs_source *s = st->source;
	const struct nvs_nvtx_event *e = nvs_nvtx_current_event(s->nvtx);
	struct nvs_nvtx_counts *c = e->node ? &e->node->own : NULL;
	struct nvs_call lasted = {.begin = e->begin, .end = e->end};

	if (!c || !is_thread_selected(s, e->thread) || !nvs_range_has_time(s, e->begin))
		return 0;
	if (e->what != NVS_NVTX_ENDED || !is_thread_selected(s, e->told)) {
		c->count++;
		if (c->last_thread != e->thread || c->count == 1)
			note_thread(st, e->node, e->thread);
	}
	if (e->what != NVS_NVTX_ENDED)
		return 0;
	c->ended++;
	return nvs_durations_add_later(s->waiting, &c->times, &lasted);
}

/* ---- columns ---- */

#define WORKS (r->node->key.kind == NVS_NVTX_PUSH)
#define CALLED (WORKS && r->called)
#define COUNTED (WORKS && !r->sum.uncounted)
#define TIMED r->node->own.times.total.count

static const char *kind_of(const struct nvtx_row *r)
{
	static const char *const names[] = {"push", "start", "mark"};

	return names[r->node->key.kind];
}

static const char *domain_of(const struct nvtx_row *r)
{
	return nvs_nvtx_domain(nvs_nvtx_names(r->source->nvtx), r->node->key.domain);
}

static const char *category_of(const struct nvtx_row *r)
{
	return nvs_nvtx_category(nvs_nvtx_names(r->source->nvtx), r->node->key.domain,
				 r->node->category);
}

/* The text is valid until the next call. */
static const char *line_of(const struct nvtx_row *r)
{
	static char line[2048];
	const char *name = *r->node->name ? r->node->name : "-";

	if (r->flat)
		return r->path;
	snprintf(line, sizeof(line), "%*s%s", 2 * (int)(r->node->depth < 64 ? r->node->depth : 64),
		 "", name);
	return line;
}

#define COLUMNS(COL)                                                                             \
	COL(text, domain, "domain", 0, 4, domain_of(r))                                          \
	COL(text, kind, "kind", 0, 3, kind_of(r))                                                \
	COL(count, count, "count", 0, 0, r->sum.count)                                           \
	COL(known, not_ended, "not ended", IF_ANY, 5, r->node->key.kind != NVS_NVTX_MARK,        \
	    r->sum.count - r->sum.ended)                                                         \
	COL(known, calls, "calls", 0, 1, CALLED, r->sum.calls)                                   \
	COL(known, failed, "failed", IF_ANY, 5, CALLED, r->sum.failed)                           \
	COL(known, launch_calls, "launches", 0, 0, CALLED, r->sum.launches)                      \
	COL(known, graph_launches, "graphs", IF_ANY, 2, CALLED, r->sum.graphs)                   \
	COL(known, submissions, "subs", 0, 1, COUNTED, r->sum.submissions)                       \
	COL(known, command_bytes, "cmd bytes", 0, 3, COUNTED, r->sum.bytes)                      \
	COL(us, wall_us_total, "wall us", 0, 1, TIMED, r->node->own.times.total.ns)              \
	COL(us, wall_us_self, "self us", BESIDE, 2,                                              \
	    TIMED &&WORKS && !r->inner_open && r->sum.count == r->sum.ended &&                   \
		    r->inner_ns <= r->node->own.times.total.ns,                                  \
	    r->node->own.times.total.ns - r->inner_ns)                                           \
	COL(us, wall_us_mean, "us/range", BESIDE, 4, TIMED,                                      \
	    nvs_duration_mean(&r->node->own.times.total))                                        \
	COL(us, wall_us_max, "us max", BESIDE, 6, TIMED, r->node->own.times.max)                 \
	COL(us, wall_us_p50, "us p50", DETAIL, 0, TIMED,                                         \
	    nvs_durations_quantile(&r->node->own.times, 0.5))                                    \
	COL(known, self_calls, "self calls", DETAIL, 0, CALLED, r->node->own.calls)              \
	COL(known, self_launch_calls, "self launches", DETAIL, 0, CALLED, r->node->own.launches) \
	COL(known, self_submissions, "self subs", DETAIL, 0, COUNTED, r->node->own.submissions)  \
	COL(known, self_command_bytes, "self bytes", DETAIL, 0, COUNTED, r->node->own.bytes)     \
	COL(known, threads, "threads", DETAIL, 0, !r->sum.many, r->sum.threads)                  \
	COL(text, category, "category", DETAIL, 0, category_of(r))                               \
	COL(known, color, "color", DETAIL, 0, r->node->colored, r->node->color)                  \
	COL(text, line, "range", NAME_TEXT, 0, line_of(r))                                       \
	COL(text, range, "name", DETAIL, 0, r->node->name)                                       \
	COL(text, path, "path", DETAIL, 0, r->path)                                              \
	COL(count, depth, "depth", DETAIL, 0, r->node->depth + 1u)                               \
	NVS_SOURCE_COLUMNS(COL, r->source)
NVS_COLUMNS(columns, struct nvtx_row, COLUMNS)

/* ---- from the tree to the table ---- */

static uint32_t nodes_of(const struct nvs_source *s)
{
	uint32_t n = 0;

	while (nvs_nvtx_node(s->nvtx, n))
		n++;
	return n;
}

static void add_counts(struct nvs_nvtx_counts *to, const struct nvs_nvtx_counts *from)
{
	to->calls += from->calls;
	to->failed += from->failed;
	to->launches += from->launches;
	to->graphs += from->graphs;
	to->submissions += from->submissions;
	to->bytes += from->bytes;
	to->uncounted |= from->uncounted;
}

/* Adds nested rows to the rows around them. A nested row always comes after its parent. */
static void sum_nested(struct nvtx_row *rows, uint32_t n)
{
	while (n--) {
		const struct nvtx_row *r = rows + n;
		struct nvtx_row *up = r->node->up ? rows + r->node->up->number : NULL;

		if (!up || r->node->key.kind == NVS_NVTX_MARK)
			continue;
		add_counts(&up->sum, &r->sum);
		up->inner_ns += r->node->own.times.total.ns;
		up->inner_open |= r->sum.count != r->sum.ended;
	}
}

/* Puts the rows into tree order, each followed by its nested rows. LINKS holds two numbers per
 * row: the last nested row, and the previous sibling. */
static void sort_tree(const struct nvtx_row *rows, uint32_t n, uint32_t *places, uint32_t *links)
{
	uint32_t *last = links, *before = links + n + 1, at = n, i = n;

	/* Index 0 is the root; as a link, 0 is none. */
	for (uint32_t k = 0; k < n; k++) {
		uint32_t up = rows[k].node->key.up;

		before[k + 1] = last[up];
		last[up] = k + 1;
	}
	/* Fills PLACES from the end: nested rows first. */
	for (i = last[0]; i;) {
		if (last[i]) {
			uint32_t inside = last[i];

			last[i] = 0;
			i = inside;
			continue;
		}
		places[--at] = i - 1;
		i = before[i] ? before[i] : rows[i - 1].node->key.up;
	}
}

static bool is_shown(const struct nvtx_row *r)
{
	return nvs_nvtx_is_selected(&r->source->query->nvtx, r->node->fits) &&
	       (r->sum.count || r->sum.calls || r->sum.submissions);
}

/* Appends the rows of S to TABLE. The caller frees *ROWS, which TABLE points to. */
static int add_rows(struct nvs_run *run, struct nvs_source *s, struct nvs_table *table,
		    struct nvtx_row **rows)
{
	uint32_t n = nodes_of(s), *places = calloc(n + 1ul, sizeof(*places));
	uint32_t *links = calloc(2 * (n + 1ul), sizeof(*links));
	const void **more = realloc(table->rows, (table->nrows + n + 1) * sizeof(*more));
	int r = places && links && more ? 0 : -ENOMEM;

	table->rows = more ? more : table->rows;
	*rows = r ? NULL : calloc(n + 1ul, sizeof(**rows));
	for (uint32_t i = 0; *rows && i < n; i++) {
		const struct nvs_nvtx_node *node = nvs_nvtx_node(s->nvtx, i);

		(*rows)[i] = (struct nvtx_row){.node = node,
					       .source = s,
					       .sum = node->own,
					       .called = nvs_pass_has_record(s->first, NVS_REC_API),
					       .flat = run->options->print.sort};
	}
	if (*rows) {
		sum_nested(*rows, n);
		sort_tree(*rows, n, places, links);
	}
	for (uint32_t i = 0; *rows && !r && i < n; i++) {
		struct nvtx_row *row = *rows + places[i];

		if (!is_shown(row))
			continue;
		row->path = nvs_nvtx_path(row->node);
		r = row->path ? 0 : -ENOMEM;
		table->rows[table->nrows++] = row;
	}
	free(places);
	free(links);
	return *rows ? r : -ENOMEM;
}

static void free_rows(struct nvtx_row *rows, const struct nvs_source *s)
{
	for (uint32_t i = 0; rows && nvs_nvtx_node(s->nvtx, i); i++)
		free(rows[i].path);
	free(rows);
}

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	((struct by_nvtx_state *)each)->source = s;
	reader->call = on_call;
	reader->submission = on_submission;
	reader->record = on_record;
	reader->calls = true;
	return 0;
}

static int end_trace(struct nvs_run *run, struct nvs_source *s, void *each)
{
	const char *other = nvs_trace_session(s->trace)->attr[NVS_ATTR_NVTX];
	uint64_t lost = nvs_nvtx_lost(nvs_nvtx_names(s->nvtx));
	char safe[512];

	nvs_distinct_free(&((struct by_nvtx_state *)each)->threads);
	if (!nvs_nvtx_node(s->nvtx, 0)) {
		run->said = true;
		if (run->options->page)
			return 0;
		fprintf(stderr, "nvsnoop-report: %s: has no NVTX ranges%s%s\n", s->path,
			other ? ": they went to " : "",
			other ? nvs_escape(safe, sizeof(safe), other, strlen(other)) : "");
	}
	if (lost)
		fprintf(stderr,
			"nvsnoop-report: %s: %llu ranges, ends and marks are missing from before "
			"the "
			"first GPU was opened\n",
			s->path, (unsigned long long)lost);
	return 0;
}

static int print_ranges(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	struct nvtx_row **rows = calloc(run->n + 1ul, sizeof(*rows));
	int r = rows ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < run->n && !r; i++)
		r = add_rows(run, run->sources + i, &table, rows + i);
	if (!r)
		r = nvs_table_print(run->out, &table, &run->options->print);
	for (uint32_t i = 0; rows && i < run->n; i++)
		free_rows(rows[i], run->sources + i);
	free(rows);
	free(table.rows);
	return r;
}

static void free_each(struct nvs_run *run)
{
	struct by_nvtx_state *st = run->each;

	for (uint32_t i = 0; i < run->n; i++)
		nvs_distinct_free(&st[i].threads);
}

NVS_REPORT(by_nvtx, .name = "by-nvtx", .group = NVS_HOST_TIME, .place = 85,
	   .help = "per NVTX range, with what is inside it",
	   .man = "For each range that the program pushed with NVTX (nvtxRangePush, "
		  "torch.cuda.nvtx, the Python package): how often, the calls, launches, "
		  "submissions and command bytes of its thread until it was popped, and "
		  "wall us, the time until then, in calls or not. All of these include "
		  "nested ranges, which are indented below, in order of first appearance. "
		  "self us is the time outside of nested ranges; in JSON and CSV "
		  "self_calls and its like count the work outside of them. Ranges nest per "
		  "thread and domain; ranges of one name at the same place are one row, "
		  "regardless of their threads. A range that is started and ended (kind "
		  "start) may end on another thread: it has a time, but no work is counted "
		  "for it. With\n.B \\-\\-sort\nthe rows are flat and show their paths.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_FILTERS | NVS_NEED_NVTX, .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .each = sizeof(struct by_nvtx_state), .begin = begin_trace,
	   .end = end_trace, .print = print_ranges, .free = free_each);
