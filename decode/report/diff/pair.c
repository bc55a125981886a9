/* SPDX-License-Identifier: MIT */
/* --diff A:N B:M: compares two submissions line by line, as a text diff does. A line is a
 * header, a method, or a field of data. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/align.h"
#include "decode/base/grow.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"
#include "decode/gpu/method_format.h"
#include "decode/calls/hostmem.h"
#include "decode/calls/tally.h"
#include "decode/report/diff/diff.h"
#include "decode/report/core/report.h"

#define DATA 4 /* lines of added or removed data shown at each end */
#define AROUND 3 /* context lines around a difference */

struct nvs_diff_pair {
	uint64_t wanted; /* index of the submission */
	bool now, found;
	bool unread; /* level=headers */
	struct nvs_diff_word *list;
	struct nvs_diff_data *data;
	struct nvs_grid *grids; /* of launches, indexed by their word's value - 1 */
	uint32_t n, room, ngrids, grids_room;
	char *api; /* the API that submitted it */
	struct { /* the call it belongs to */
		uint64_t thread, depth, number; /* number: + 1, 0: none */
	} call;
	struct nvs_tally ops;
	uint64_t copied; /* identifies the data if it is only a small copy; else 0 */
	uint64_t bytes;
};

void nvs_diff_pair_free(struct nvs_diff_pair *p)
{
	if (!p)
		return;
	nvs_diff_data_free(p->data);
	free(p->list);
	free(p->grids);
	free(p->api);
	free(p);
}

/* ---- reading ---- */

static int keep_grid(struct nvs_diff_pair *p, struct nvs_diff_word *w)
{
	struct nvs_grid *grid = NVS_APPEND(p->grids, p->ngrids, p->grids_room, 16, UINT32_MAX / 2);

	if (!grid)
		return -ENOMEM;
	*grid = *w->grid;
	w->value = p->ngrids;
	return 0;
}

static int on_word(void *arg, const struct nvs_diff_word *word)
{
	struct nvs_diff_pair *p = ((struct nvs_diff_each *)arg)->pair;
	struct nvs_diff_word *own = NVS_APPEND(p->list, p->n, p->room, 1024, UINT32_MAX / 2);

	if (!own)
		return -ENOMEM;
	*own = *word;
	return word->grid ? keep_grid(p, own) : 0;
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_diff_each *e = arg;
	struct nvs_diff_pair *p = e->pair;

	p->now = s->number == p->wanted;
	if (!p->now)
		return s->number > p->wanted;
	p->found = true;
	p->unread = nvs_submission_skipped(s);
	p->bytes = nvs_submission_bytes(s);
	if (call) {
		p->call.thread = call->thread;
		p->call.depth = call->depth;
		p->call.number = call->number + 1;
	}
	p->api = strdup(nvs_source_api(e->source, s, call));
	return p->api ? 0 : -ENOMEM;
}

static int on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		  const struct nvs_class *cls)
{
	struct nvs_diff_each *e = arg;

	struct nvs_diff_pair *p = e->pair;
	int r = p->now ? nvs_diff_words_run(&e->words, c, run, cls) : 0;

	return p->now && !r ? nvs_diff_data_run(p->data, run, cls, p->n - 1) : r;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_diff_each *e = arg;

	const struct nvs_qmd *qmd;
	int r;

	if (!e->pair->now || op->kind == NVS_OP_CODE)
		return 0;
	nvs_tally_add(&e->pair->ops, op);
	qmd = nvs_pass_qmd(e->source->second, op);
	r = nvs_diff_words_op(&e->words, op, qmd);
	return r ? r : nvs_diff_data_op(e->pair->data, op, qmd);
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_diff_each *e = arg;

	struct nvs_diff_pair *p = e->pair;
	int r = p->now ? nvs_diff_words_end(&e->words) : 0;

	if (!p->now || r)
		return r;
	return nvs_diff_data_lines(p->data, e->source, s->channel->rec.vaspace, &p->list, &p->n);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_diff_each *e = arg;
	struct nvs_diff_pair *p = e->pair;
	uint8_t sent = nvs_diff_copy_mode(&p->ops);
	int r = nvs_hostmem_call(e->memory.kinds, call);

	if (!r && sent && p->call.number == call->number + 1 && p->call.thread == call->thread &&
	    p->call.depth == call->depth)
		p->copied = nvs_diff_copied_data_id(&e->memory, call, p->ops.copied[sent - 1]);
	return r;
}

int nvs_diff_pair_begin(struct nvs_run *run, struct nvs_source *s, void *each,
			struct nvs_pass_reader *reader)
{
	struct nvs_diff_each *e = each;

	e->source = s;
	e->pair = calloc(1, sizeof(*e->pair));
	if (!e->pair)
		return -ENOMEM;
	e->pair->data = nvs_diff_data_new();
	e->memory.kinds = nvs_hostmem_new();
	if (!e->pair->data || !e->memory.kinds)
		return -ENOMEM;
	e->pair->wanted = run->options->number[s->index];
	e->words = (struct nvs_diff_words){.word = on_word, .arg = e};
	reader->submission = on_submission;
	reader->run = on_run;
	reader->op = on_op;
	reader->submitted = on_submitted;
	reader->call = on_call;
	return 0;
}

/* ---- lines ---- */

enum word_change { SAME, REMOVED, ADDED, WAIT, DRIVER, WAY, CHANGES };

/* A word of either submission; the first's if both are the same. */
struct diff_line {
	const struct nvs_diff_word *word;
	const struct nvs_diff_pair *of;
	enum word_change change;
	bool shown;
	char cls[8]; /* for tables */
	char *text;
};

static enum word_change classify_unmatched(const struct nvs_diff_word *w, enum word_change change)
{
	return w->wait ? WAIT : w->driver ? DRIVER : change;
}

/* Merges both in order; removed words come before added ones. *N: number of lines. */
static struct diff_line *make_lines(const struct nvs_diff_pair *a, const struct nvs_diff_pair *b,
				    const uint32_t *mate, const uint32_t *mate_b, uint32_t *n)
{
	struct diff_line *lines = calloc((size_t)a->n + b->n + 1, sizeof(*lines)), *l = lines;
	uint32_t j = 0;

	for (uint32_t i = 0; lines && i <= a->n; i++) {
		uint32_t to = i == a->n ? b->n : mate[i];

		for (; to != NVS_ALIGN_NONE && j < to; j++)
			if (mate_b[j] == NVS_ALIGN_NONE)
				*l++ = (struct diff_line){b->list + j, b,
							  classify_unmatched(b->list + j, ADDED)};
		if (i == a->n)
			break;
		*l++ = (struct diff_line){a->list + i, a,
					  mate[i] == NVS_ALIGN_NONE
						  ? classify_unmatched(a->list + i, REMOVED)
						  : SAME};
		j += to != NVS_ALIGN_NONE && j == to;
	}
	*n = (uint32_t)(l - lines);
	return lines;
}

static void put_word(struct nvs_line_buffer *l, const struct diff_line *line)
{
	const struct nvs_diff_word *w = line->word;

	nvs_diff_word_put(l, w,
			  w->kind == NVS_DIFF_LAUNCH && w->value ? line->of->grids + w->value - 1
								 : NULL);
}

/* ---- text ---- */

static void put_title(struct nvs_run *run, int which, const struct nvs_diff_pair *p)
{
	struct nvs_out *out = run->out;

	fprintf(out->file, "%s%s ", nvs_out_style(out, NVS_STYLE_HEAD), which ? "+++" : "---");
	nvs_out_text(out, run->sources[which].path);
	fprintf(out->file, ":%" PRIu64 "  ", p->wanted);
	nvs_out_text(out, p->api);
	fprintf(out->file, "  %" PRIu64 " bytes%s\n", p->bytes,
		nvs_out_style(out, NVS_STYLE_PLAIN));
}

static bool is_data(const struct diff_line *l, enum word_change change)
{
	return l->change == change && l->word->kind == NVS_DIFF_FIELD;
}

/* Selects differences and their context for printing, and of long data only the first and last
 * lines. */
static void select_lines(struct diff_line *lines, uint32_t n, bool all)
{
	for (uint32_t i = 0, data = 0; i < n; i++) {
		data = i && is_data(lines + i - 1, lines[i].change) ? data + 1 : 0;
		if (all || lines[i].change == SAME) {
			lines[i].shown |= all;
			continue;
		}
		if (data >= DATA && i + DATA < n && is_data(lines + i + DATA, lines[i].change))
			continue;
		for (uint32_t k = i > AROUND ? i - AROUND : 0; k < n && k <= i + AROUND; k++)
			lines[k].shown = true;
	}
}

static void print_line(struct nvs_out *out, const struct diff_line *line,
		       struct nvs_line_buffer *text)
{
	static const char marks[] = {' ', '-', '+', '~', '~', '~'};
	static const enum nvs_style styles[] = {NVS_STYLE_PLAIN, NVS_STYLE_BAD, NVS_STYLE_GOOD,
						NVS_STYLE_DIM,	 NVS_STYLE_DIM, NVS_STYLE_DIM};

	nvs_line_start(text);
	put_word(text, line);
	fprintf(out->file, "%s%c %s%s\n", nvs_out_style(out, styles[line->change]),
		marks[line->change], text->text ? text->text : "",
		nvs_out_style(out, NVS_STYLE_PLAIN));
}

static void print_text(struct nvs_run *run, struct diff_line *lines, uint32_t n,
		       const uint64_t count[CHANGES])
{
	static const char *const unjudged[] = {
		[WAIT] = "waits",
		[DRIVER] = "the driver's own constants",
		[WAY] = "a small copy sent in another way (depends on the engine being idle)"};
	const struct nvs_diff_each *e = run->each;
	struct nvs_line_buffer text = {NULL, 0, 0};
	FILE *f = run->out->file;

	select_lines(lines, n, run->options->verbose);
	for (int k = 0; k < 2; k++)
		put_title(run, k, e[k].pair);
	for (uint32_t i = 0; i < n; i++) {
		if (!lines[i].shown)
			continue;
		if (i && !lines[i - 1].shown)
			fputs("@@\n", f);
		print_line(run->out, lines + i, &text);
	}
	if (!count[REMOVED] && !count[ADDED])
		fprintf(f, "No difference in %" PRIu64 " lines", count[SAME]);
	else
		fprintf(f, "- %" PRIu64 ", + %" PRIu64 " of %" PRIu64 " lines", count[REMOVED],
			count[ADDED], count[SAME] + count[REMOVED] + count[ADDED]);
	for (int k = WAIT; k < CHANGES; k++) {
		if (count[k])
			fprintf(f, "; ~ %" PRIu64 " of %s", count[k], unjudged[k]);
	}
	if (count[WAIT] || count[DRIVER] || count[WAY])
		fputs(", not compared", f);
	fputs(".\n", f);
	nvs_line_free(&text);
}

/* ---- JSON, CSV ---- */

static const char *const changes[] = {"same", "removed", "added", "wait", "driver", "way"};

static bool is_method(const struct diff_line *l)
{
	return l->word->kind == NVS_DIFF_METHOD || l->word->kind == NVS_DIFF_DATA;
}

static bool has_method(const struct diff_line *l)
{
	return is_method(l) ||
	       (l->word->kind == NVS_DIFF_HEADER && l->word->form <= NVS_PB_OLD_NON_INC);
}

static void get_method_name(const struct diff_line *l, struct nvs_value *v)
{
	const struct nvs_class *cls = nvs_class_find(l->word->cls);
	struct nvs_method_at at;

	nvs_value_text(v, l->word->name ? l->word->name
			  : is_method(l) && cls && nvs_method_find(cls, l->word->method, &at)
				  ? nvs_class_string(at.method->name)
				  : "");
}

#define COLUMNS(COL)                                                                        \
	COL(text, change, "change", NAME, 0, changes[r->change])                            \
	COL(known, subchannel, "subchannel", 0, 0, has_method(r), r->word->subch)           \
	COL(text, class, "class", NAME, 0, r->cls)                                          \
	COL(known, method, "method", 0, 0, has_method(r), r->word->method)                  \
	COL(by, method_name, "method name", NAME, 0, get_method_name, r)                    \
	COL(known, value, "value", 0, 0, r->word->kind == NVS_DIFF_METHOD || r->word->name, \
	    r->word->value)                                                                 \
	COL(text, text, "text", NAME, 0, r->text + strspn(r->text, " "))
NVS_COLUMNS(columns, struct diff_line, COLUMNS)

static int print_table(struct nvs_run *run, struct diff_line *lines, uint32_t n)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	const void **rows = calloc(n + 1ul, sizeof(*rows));
	int r = rows ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !r; i++) {
		struct nvs_line_buffer text = {NULL, 0, 0};

		if (lines[i].change == SAME && !run->options->verbose)
			continue;
		nvs_line_start(&text);
		put_word(&text, lines + i);
		lines[i].text = text.text;
		if (is_method(lines + i) && lines[i].word->cls)
			snprintf(lines[i].cls, sizeof(lines[i].cls), "%04x", lines[i].word->cls);
		r = text.text ? 0 : -ENOMEM;
		rows[table.nrows++] = lines + i;
	}
	table.rows = rows;
	if (!r)
		r = nvs_table_print(run->out, &table, &run->options->print);
	for (uint32_t i = 0; i < n; i++)
		free(lines[i].text);
	free(rows);
	return r;
}

/* ---- comparison ---- */

static uint64_t *copy_ids(const struct nvs_diff_pair *p)
{
	uint64_t *ids = calloc(p->n + 1ul, sizeof(*ids));

	for (uint32_t i = 0; ids && i < p->n; i++)
		ids[i] = p->list[i].id;
	return ids;
}

/* Drops mates that are out of order: those words are shown as removed and added. */
static void drop_unordered(uint32_t *mate_a, uint32_t na, uint32_t *mate_b)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < na; i++) {
		if (mate_a[i] == NVS_ALIGN_NONE)
			continue;
		if (mate_a[i] >= next) {
			next = mate_a[i] + 1;
		} else {
			mate_b[mate_a[i]] = NVS_ALIGN_NONE;
			mate_a[i] = NVS_ALIGN_NONE;
		}
	}
}

static int compare_pair(struct nvs_run *run, const struct nvs_diff_pair *a,
			const struct nvs_diff_pair *b, uint32_t *mate_a, uint32_t *mate_b)
{
	uint64_t *ids_a = copy_ids(a), *ids_b = copy_ids(b), count[CHANGES] = {0};
	bool sent_otherwise = a->copied && a->copied == b->copied &&
			      nvs_copy_mode_may_differ(nvs_diff_copy_mode(&a->ops),
						       nvs_diff_copy_mode(&b->ops)) &&
			      !nvs_diff_has_other_driver(run->sources, run->sources + 1);
	struct diff_line *lines = NULL;
	bool ordered;
	uint32_t n = 0;
	int r = ids_a && ids_b ? nvs_align(ids_a, a->n, ids_b, b->n, mate_a, mate_b, &ordered)
			       : -ENOMEM;

	if (!r) {
		drop_unordered(mate_a, a->n, mate_b);
		lines = make_lines(a, b, mate_a, mate_b, &n);
		r = lines ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (sent_otherwise && (lines[i].change == REMOVED || lines[i].change == ADDED))
			lines[i].change = WAY;
		count[lines[i].change]++;
	}
	if (!r && run->options->print.format == NVS_FORMAT_TEXT)
		print_text(run, lines, n, count);
	else if (!r)
		r = print_table(run, lines, n);
	run->verdict = count[REMOVED] || count[ADDED];
	free(lines);
	free(ids_a);
	free(ids_b);
	return r;
}

int nvs_diff_pair_print(struct nvs_run *run)
{
	const struct nvs_diff_each *e = run->each;
	uint32_t *mate_a, *mate_b;
	int r = -ENOMEM;

	for (int k = 0; k < 2; k++) {
		if (e[k].pair->found && !e[k].pair->unread)
			continue;
		fprintf(stderr, "nvsnoop-report: %s has no %ssubmission %" PRIu64 "%s\n",
			run->sources[k].path, e[k].pair->found ? "methods of " : "",
			e[k].pair->wanted,
			e[k].pair->found ? " (level=headers)" : " (they are numbered from 0)");
		return -EINVAL;
	}
	mate_a = malloc((e[0].pair->n + 1ul) * sizeof(*mate_a));
	mate_b = malloc((e[1].pair->n + 1ul) * sizeof(*mate_b));
	if (mate_a && mate_b)
		r = compare_pair(run, e[0].pair, e[1].pair, mate_a, mate_b);
	free(mate_a);
	free(mate_b);
	return r;
}
