/* SPDX-License-Identifier: MIT */
/*
 * --diff: how one trace's calls and submissions differ from another's, by driver API, kernel, graph
 * and call site. Only what the program and driver do is compared. Host times and waits for the GPU
 * differ in every run: they are shown but not compared.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/align.h"
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/calls/executable_graphs.h"
#include "decode/calls/handles.h"
#include "decode/calls/hostmem.h"
#include "decode/calls/tally.h"
#include "decode/gpu/class.h"
#include "decode/cli/sentence.h"
#include "decode/gpu/pb.h"
#include "decode/report/diff/diff.h"
#include "decode/report/diff/side_by_side.h"

#define NOT_READY 600u /* CUDA_ERROR_NOT_READY: a query before completion */

/* The rows, one of each kind or 0, that a submission belongs to. KIN is the same without the call
 * site, which moves when the program is rebuilt and is ignored when submissions are matched. */
struct who {
	uint64_t row[NVS_DIFF_KINDS];
	uint64_t place, loose_group;
};

/* As struct who, without the call site. */
struct kin {
	uint64_t row[NVS_DIFF_KINDS];
	uint64_t place;
};

/* A call in progress that has submitted. */
struct submitting_call {
	struct {
		uint64_t thread, depth;
	} key;
	uint64_t number;
	uint32_t last; /* index + 1 */
	struct nvs_diff_count sum;
};

/* ---- a submission ---- */

static int on_word(void *arg, const struct nvs_diff_word *w)
{
	struct nvs_diff_tally *t = ((struct nvs_diff_each *)arg)->now;

	if (w->wait) {
		t->count.waits += w->kind == NVS_DIFF_METHOD && w->execute;
		t->count.wait_bytes += nvs_diff_word_bytes(w);
		return 0;
	}
	t->count.methods += w->kind == NVS_DIFF_METHOD;
	t->id = nvs_hash_mix(t->id ^ w->id, nvs_hash_key[1]) ^ nvs_hash_key[0];
	return 0;
}

static int on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		  const struct nvs_class *cls)
{
	struct nvs_diff_each *e = arg;

	return e->now ? nvs_diff_words_run(&e->words, c, run, cls) : 0;
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	struct nvs_diff_each *e = arg;

	if (!e->now || op->kind == NVS_OP_CODE)
		return 0;
	nvs_tally_add(&e->now->ops, op);
	return nvs_diff_words_op(&e->words, op, nvs_pass_qmd(e->source->second, op));
}

/* Returns the row of a call site, or 0 without a name: an address differs in each run. The
 * program's own module may have another name. */
static uint64_t site_row(struct nvs_diff_each *e, const struct nvs_callsite *site)
{
	const char *exe = nvs_trace_session(e->source->trace)->attr[NVS_ATTR_EXE], *file;

	if (!*site->site || !strncmp(site->site, "0x", 2))
		return 0;
	file = exe ? strrchr(exe, '/') : NULL;
	file = file ? file + 1 : exe;
	return nvs_diff_row_at(e->state, NVS_DIFF_SITE, site->site,
			       file && !strcmp(file, site->site_module) ? "" : site->site_module,
			       0);
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_diff_each *e = arg;
	const struct nvs_callsite *site;
	struct nvs_diff_tally *t = e->tally;

	e->now = NULL;
	if (!nvs_filter_selects(e->source, s, call))
		return 0;
	memset(t, 0, sizeof(*t));
	e->now = t;
	e->state->unread |= nvs_submission_skipped(s);
	site = nvs_trace_callsite(e->source->trace, s->rec->stack);
	t->row[NVS_DIFF_API] = nvs_diff_row_at(e->state, NVS_DIFF_API,
					       nvs_source_api(e->source, s, call), "", 0);
	t->row[NVS_DIFF_SITE] = site_row(e, site);
	return e->state->status;
}

static uint32_t find_who(struct nvs_diff_state *st, const uint64_t row[NVS_DIFF_KINDS])
{
	struct who *w = nvs_rows_at(&st->group, row);
	struct kin key = {{0}}, *kin;

	memcpy(key.row, row, sizeof(key.row));
	key.row[NVS_DIFF_SITE] = 0;
	kin = w ? nvs_rows_at(&st->loose_group, key.row) : NULL;
	if (!kin) {
		st->status = -ENOMEM;
		return 0;
	}
	w->place = w->place ? w->place : st->group.n;
	kin->place = kin->place ? kin->place : st->loose_group.n;
	w->loose_group = kin->place;
	return (uint32_t)w->place;
}

/* Links a submission to its call, which is known to be a launch only at its end. */
static int link_to_call(struct nvs_diff_each *e, struct nvs_diff_submission *s,
			const struct nvs_call *call)
{
	struct submitting_call key = {.key = {call->thread, call->depth}};
	struct submitting_call *o = nvs_rows_at(&e->open, &key.key);

	if (!o)
		return -ENOMEM;
	if (o->number != call->number + 1) {
		memset(&o->sum, 0, sizeof(o->sum));
		o->last = 0;
		o->number = call->number + 1;
	}
	s->before = o->last;
	o->last = (uint32_t)(s - e->side->list) + 1;
	nvs_diff_count_add(&o->sum, &e->now->count);
	return 0;
}

static int on_submitted(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	struct nvs_diff_each *e = arg;
	struct nvs_diff_submission *own;
	struct nvs_diff_tally *t = e->now;
	uint64_t bytes = nvs_submission_bytes(s);

	if (!t)
		return 0;
	if (nvs_diff_words_end(&e->words))
		return e->words.status;
	own = NVS_APPEND(e->side->list, e->side->n, e->side->room, 1024, UINT32_MAX / 2);
	if (!own)
		return -ENOMEM;
	t->count.submissions = !(s->rec->rec.flags & NVS_SUB_CONTINUED);
	t->count.bytes = bytes - (t->count.wait_bytes < bytes ? t->count.wait_bytes : bytes);
	*own = (struct nvs_diff_submission){
		.id = nvs_hash_mix(t->id ^ t->count.bytes, nvs_hash_key[1]),
		.group = find_who(e->state, t->row),
		.thread = s->thread->thread,
		.mate = NVS_ALIGN_NONE,
		.number = s->number,
		.copy_mode = nvs_diff_copy_mode(&t->ops),
		.first = !s->rec->sequence && !t->count.wait_bytes,
		.methods = (uint32_t)t->count.methods,
		.bytes = t->count.bytes,
	};
	own->exact = own->id;
	own->copied = own->copy_mode ? t->ops.copied[own->copy_mode - 1] : 0;
	nvs_diff_count_add(nvs_diff_count_at(e, 0), &t->count);
	for (int k = 0; k < NVS_DIFF_KINDS; k++)
		if (t->row[k])
			nvs_diff_count_add(nvs_diff_count_at(e, t->row[k]), &t->count);
	if (call && !e->state->status && link_to_call(e, own, call))
		return -ENOMEM;
	e->now = NULL;
	return e->state->status;
}

/* ---- a call ---- */

/* Returns the row of the kernel or graph that the call launches; 0: none. */
static uint64_t find_launched(struct nvs_diff_each *e, const struct nvs_call *call, int *kind)
{
	const struct nvs_kernel *kernel;
	const struct nvs_exec *exec;
	uint64_t handle;

	if (call->api->group == NVS_CALL_GROUP_LAUNCH &&
	    nvs_call_kind(call, NVS_KIND_FUNCTION, &handle)) {
		kernel = nvs_handles_get_kernel(e->handles, handle);
		*kind = NVS_DIFF_KERNEL;
		return kernel ? nvs_diff_row_at(e->state, *kind, kernel->name, "", 0) : 0;
	}
	if (call->api->group == NVS_CALL_GROUP_GRAPH_LAUNCH &&
	    nvs_call_kind(call, NVS_KIND_EXEC, &handle)) {
		exec = nvs_handles_get_exec(e->handles, handle);
		*kind = NVS_DIFF_GRAPH;
		return exec ? nvs_diff_row_at(e->state, *kind, "", "", exec->index) : 0;
	}
	return 0;
}

/* Adds the call's submissions to the row of what it launched. */
static void add_to_launched(struct nvs_diff_each *e, const struct nvs_call *call, int kind,
			    uint64_t row)
{
	struct submitting_call key = {.key = {call->thread, call->depth}};
	struct submitting_call *o = nvs_rows_at(&e->open, &key.key);

	if (!o || o->number != call->number + 1)
		return;
	nvs_diff_count_add(nvs_diff_count_at(e, row), &o->sum);
	for (uint32_t at = o->last; at; at = e->side->list[at - 1].before) {
		struct nvs_diff_submission *s = e->side->list + at - 1;
		const struct who *was = e->state->group.row[s->group - 1];
		uint64_t now[NVS_DIFF_KINDS];

		memcpy(now, was->row, sizeof(now));
		now[kind] = row;
		s->group = find_who(e->state, now);
		if (!s->group)
			return;
	}
}

/* Identifies a small copy from host memory by its contents and kind of memory instead of by the
 * way it was sent. Resets SENT for other submissions. */
static void identify_copy(struct nvs_diff_each *e, const struct nvs_call *call)
{
	struct submitting_call key = {.key = {call->thread, call->depth}};
	struct submitting_call *o = nvs_rows_at(&e->open, &key.key);

	for (uint32_t at = o && o->number == call->number + 1 ? o->last : 0; at;
	     at = e->side->list[at - 1].before) {
		struct nvs_diff_submission *s = e->side->list + at - 1;
		uint64_t what = s->copy_mode ? nvs_diff_copied_data_id(&e->memory, call, s->copied)
					     : 0;

		if (what)
			s->id = what;
		else
			s->copy_mode = 0;
	}
}

static int count_call(struct nvs_diff_each *e, const struct nvs_call *call, uint64_t row)
{
	struct nvs_diff_count *c = nvs_diff_count_at(e, row);

	c->calls++;
	return call->end ? nvs_duration_sum_add_later(e->source->waiting, &c->host, call) : 0;
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct nvs_diff_each *e = arg;
	const struct nvs_callsite *site = nvs_trace_callsite(e->source->trace, call->stack);
	uint64_t row[NVS_DIFF_KINDS] = {0}, launch;
	int r = nvs_hostmem_call(e->memory.kinds, call), kind;

	if (!r && call->submissions)
		identify_copy(e, call);

	/* The number of failed queries depends on timing. */
	if (r || !nvs_filter_call(e->source, call) || call->result == NOT_READY)
		return r;
	/* The stack of a silent call is recorded only if the call was slow, which is chance. */
	row[NVS_DIFF_API] = nvs_diff_row_at(e->state, NVS_DIFF_API,
					    call->submissions ? nvs_api_name(site, call->api)
							      : nvs_call_name(call->api),
					    "", 0);
	row[NVS_DIFF_SITE] = call->submissions ? site_row(e, site) : 0;
	launch = find_launched(e, call, &kind);
	if (launch) {
		row[kind] = launch;
		add_to_launched(e, call, kind, launch);
	}
	if (!e->state->status && call->depth == 1)
		r = count_call(e, call, 0);
	for (int k = 0; k < NVS_DIFF_KINDS && !r && !e->state->status; k++)
		if (row[k])
			r = count_call(e, call, row[k]);
	return r ? r : e->state->status;
}

/* ---- both traces ---- */

static int begin_trace(struct nvs_run *run, struct nvs_source *s, void *each,
		       struct nvs_pass_reader *reader)
{
	struct nvs_diff_state *st = run->state;
	struct nvs_diff_each *e = each;

	if (run->options->numbered)
		return nvs_diff_pair_begin(run, s, each, reader);
	nvs_diff_rows_begin(st);
	if (!s->index) {
		st->group = NVS_ROWS(struct who, row);
		st->loose_group = NVS_ROWS(struct kin, row);
	}
	e->source = s;
	e->state = st;
	e->side = st->side + s->index;
	e->side->source = s;
	st->uncounted |= !!(nvs_trace_session(s->trace)->header.flags & NVS_HDR_COUNTS);
	st->unread |= st->uncounted;
	e->tally = &st->tally;
	e->open = NVS_ROWS(struct submitting_call, key);
	e->words = (struct nvs_diff_words){.word = on_word, .arg = e};
	reader->submission = on_submission;
	reader->run = on_run;
	reader->op = on_op;
	reader->submitted = on_submitted;
	reader->call = on_call;
	reader->handles = &e->handles;
	return nvs_copy_memory_begin(&e->memory, s->trace);
}

/* Sets KIN of each submission. If one trace lacks submissions' contents, they are not compared. */
static void find_kin(struct nvs_diff_state *st, struct nvs_diff_side *side)
{
	bool another = nvs_diff_has_other_driver(st->side[0].source, st->side[1].source);

	for (uint32_t i = 0; i < side->n; i++) {
		if (!side->list[i].copy_mode || another) {
			side->list[i].copy_mode = 0;
			side->list[i].id = side->list[i].exact;
		}
		side->list[i].loose_group =
			(uint32_t)((struct who *)st->group.row[side->list[i].group - 1])
				->loose_group;
		if (st->unread)
			side->list[i].id = side->list[i].exact = 0;
	}
}

/* Adds the result of matching to the rows. A pair counts once in each row that either of the two
 * belongs to: their call sites may differ. */
static void count_in_rows(struct nvs_diff_state *st, int which)
{
	const struct nvs_diff_side *side = st->side + which, *other = st->side + !which;

	for (uint32_t i = 0; i < side->n; i++) {
		const struct nvs_diff_submission *s = side->list + i;
		const struct who *who = st->group.row[s->group - 1], *mates = NULL;
		bool alone = s->mate == NVS_ALIGN_NONE;

		if (!alone && s->how == NVS_DIFF_SAME)
			continue;
		if (!alone && which)
			mates = st->group.row[other->list[s->mate].group - 1];
		st->unmatched[which] += alone;
		nvs_diff_count_result(st, 0, which, s, !which);
		for (int k = 0; k < NVS_DIFF_KINDS; k++)
			if (who->row[k])
				nvs_diff_count_result(st, who->row[k], which, s,
						      !mates || mates->row[k] != who->row[k]);
	}
}

/* Name of the program, without its folder; NULL: unknown. */
static const char *program_of(const struct nvs_source *s)
{
	const char *exe = nvs_trace_session(s->trace)->attr[NVS_ATTR_EXE];
	const char *slash = exe ? strrchr(exe, '/') : NULL;

	return slash ? slash + 1 : exe;
}

/* Two programs have few rows in common, and their differences say little. */
static void warn_of_programs(const struct nvs_source *s)
{
	const char *a = program_of(s), *b = program_of(s + 1);

	if (!a || !b || !strcmp(a, b))
		return;
	fprintf(stderr,
		"nvsnoop-report: the traces are of two programs, %s and %s; --diff compares two "
		"runs "
		"of one\n",
		NVS_TEXT(a, 64), NVS_TEXT(b, 64));
}

static int print_diff(struct nvs_run *run)
{
	struct nvs_diff_state *st = run->state;
	int r;

	if (run->options->numbered)
		return nvs_diff_pair_print(run);
	warn_of_programs(run->sources);
	for (int k = 0; k < 2; k++)
		find_kin(st, st->side + k);
	r = nvs_diff_match_submissions(st->side, &st->unordered);
	for (int k = 0; k < 2 && !r; k++)
		count_in_rows(st, k);
	return r ? r : nvs_diff_rows_print(run, st);
}

static void free_diff(struct nvs_run *run)
{
	struct nvs_diff_state *st = run->state;
	struct nvs_diff_each *e = run->each;

	for (uint32_t i = 0; i < run->n; i++) {
		nvs_diff_words_free(&e[i].words);
		nvs_hostmem_free(e[i].memory.kinds);
		nvs_rows_free(&e[i].open, NULL);
		nvs_diff_pair_free(e[i].pair);
	}
	for (int k = 0; k < 2; k++)
		free(st->side[k].list);
	nvs_rows_free(&st->group, NULL);
	nvs_rows_free(&st->loose_group, NULL);
	nvs_diff_rows_free(st);
}

NVS_REPORT(diff, .name = "diff", .group = NVS_CHANGES, .place = 115,
	   .help = "how the second of two traces differs, by API, "
		   "kernel, graph and call site; for A:N and B:M method by "
		   "method. Exits 0 if equal, 1 if different, 2 on errors",
	   .man = "How the second of two traces differs from the first: rows by driver "
		  "API, kernel, graph and call site with the calls, submissions, command "
		  "bytes and methods of both, and how many submissions changed or moved "
		  "within their thread. For\n.IR A : N\nand\n.IR B : M\nthe methods of two "
		  "submissions, by number, as a text diff, with decoded data: fields of "
		  "launch descriptors, parameters, bytes of copies. Addresses, handles, "
		  "semaphore payloads and data are compared by what they stand for, so "
		  "that two runs of one program are equal. The order between threads is "
		  "ignored, and so is that in which the channels of a context start. Host "
		  "time and waits for the GPU are shown but not compared, nor is whether a "
		  "copy of 64 bytes to 24 KiB from the host was sent inline, by a macro or "
		  "by an engine. With\n.B \\-v\nequal rows are shown, too. Cannot be "
		  "combined with other reports. Exits 0 if there is no difference, 1 if "
		  "there is one, 2 on errors.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES | NVS_NEED_WHOLE | NVS_NEED_PAIR,
	   .prints = NVS_PRINTS_TABLE, NVS_DIFF_COLUMNS, .verdict = true,
	   .state = sizeof(struct nvs_diff_state), .each = sizeof(struct nvs_diff_each),
	   .begin = begin_trace, .print = print_diff, .free = free_diff);
