/* SPDX-License-Identifier: MIT */
/*
 * Matches the submissions of two traces. First the submissions of corresponding threads are
 * aligned, by what they do and by API, kernel and graph. The rest is matched anywhere, in order,
 * since order between threads is meaningless; then by API, kernel and graph only.
 * The driver starts the channels of a context in varying order (seen on H200s, 580.159.04: groups
 * of four and eight swap). The order of consecutive first submissions of channels, none of which
 * waits, is therefore ignored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/align.h"
#include "decode/base/compare.h"
#include "decode/base/hash.h"
#include "decode/report/diff/diff.h"

/* A thread's submissions, in order. */
struct thread {
	uint32_t number, first, n; /* thread number; range in ORDER */
	uint32_t tid;
	const char *name; /* "" for the main thread and threads with its name */
	bool main;
};

struct half {
	struct nvs_diff_side *side;
	uint32_t *order; /* indices of submissions, sorted by thread */
	uint64_t *kind;
	uint32_t *mate; /* indices into the other trace's ORDER */
	struct thread *threads;
	uint32_t nthreads;
};

static void free_half(struct half *h)
{
	free(h->order);
	free(h->kind);
	free(h->mate);
	free(h->threads);
}

/* Sorts the main thread first, then by name and by creation. */
static int compare_threads(const void *pa, const void *pb)
{
	const struct thread *a = pa, *b = pb;

	return b->main - a->main ?: strcmp(a->name, b->name) ?: NVS_CMP(a->tid, b->tid) ?: NVS_CMP(a->number, b->number);
}

static void name_thread(struct thread *t, const struct nvs_source *s, uint32_t number)
{
	const struct nvs_trace_thread *of = number == NVS_NONE
						    ? NULL
						    : nvs_trace_thread_at(s->trace, number);

	t->number = number;
	t->tid = of ? of->tid : 0;
	t->name = of ? of->name : "";
	t->main = of && of->tid && of->tid == nvs_trace_session(s->trace)->header.pid;
}

static void clear_program_name(struct half *h)
{
	const char *program = NULL;

	for (uint32_t i = 0; i < h->nthreads; i++)
		program = h->threads[i].main ? h->threads[i].name : program;
	for (uint32_t i = 0; program && i < h->nthreads; i++)
		if (!strcmp(h->threads[i].name, program))
			h->threads[i].name = "";
}

/* Counts the submissions of each thread. Thread numbers are below the thread count, or NVS_NONE. */
static int count_threads(struct half *h, uint32_t **at)
{
	const struct nvs_diff_side *s = h->side;
	uint32_t most = nvs_trace_thread_count(s->source->trace);
	uint32_t *count = calloc(most + 1ul, sizeof(*count));

	*at = count;
	h->threads = calloc(most + 1ul, sizeof(*h->threads));
	if (!count || !h->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++)
		count[s->list[i].thread < most ? s->list[i].thread : most]++;
	for (uint32_t i = 0; i <= most; i++)
		if (count[i]) {
			name_thread(h->threads + h->nthreads, s->source, i < most ? i : NVS_NONE);
			h->threads[h->nthreads].number = i;
			h->threads[h->nthreads++].n = count[i];
		}
	clear_program_name(h);
	qsort(h->threads, h->nthreads, sizeof(*h->threads), compare_threads);
	return 0;
}

/* Numbers the runs of consecutive first submissions of one KIN. */
static void number_firsts(struct half *h, const struct thread *t)
{
	struct nvs_diff_submission *s, *before = NULL;
	uint32_t n = 0;

	for (uint32_t i = t->first; i < t->first + t->n; i++, before = s) {
		s = h->side->list + h->order[i];
		if (s->first)
			s->first = before && before->first && before->kin == s->kin ? n : ++n;
	}
}

static int sort_half(struct half *h)
{
	struct nvs_diff_side *s = h->side;
	uint32_t *at = NULL, first = 0, most = nvs_trace_thread_count(s->source->trace);
	int r = count_threads(h, &at);

	h->order = calloc(s->n + 1ul, sizeof(*h->order));
	h->kind = calloc(s->n + 1ul, sizeof(*h->kind));
	h->mate = malloc((s->n + 1ul) * sizeof(*h->mate));
	if (r || !h->order || !h->kind || !h->mate) {
		free(at);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < h->nthreads; i++) {
		h->threads[i].first = first;
		at[h->threads[i].number] = first;
		first += h->threads[i].n;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t thread = s->list[i].thread < most ? s->list[i].thread : most;

		h->order[at[thread]++] = i;
	}
	for (uint32_t i = 0; i < h->nthreads; i++)
		number_firsts(h, h->threads + i);
	memset(h->mate, 0xff, (s->n + 1ul) * sizeof(*h->mate));
	free(at);
	return 0;
}

/* Sets the hash to be matched. WHOLE: include what a submission does. */
static void set_kinds(struct half *h, bool whole)
{
	for (uint32_t i = 0; i < h->side->n; i++) {
		const struct nvs_diff_submission *s = h->side->list + h->order[i];
		const uint64_t kind[2] = {s->kin, whole ? s->id : 0};

		h->kind[i] = nvs_hash64(kind, sizeof(kind));
	}
}

static enum nvs_diff_how judge_mates(const struct nvs_diff_submission *a,
				     const struct nvs_diff_submission *b, enum nvs_diff_how how)
{
	if (how == NVS_DIFF_MOVED && a->first && a->first == b->first)
		how = NVS_DIFF_SAME;
	if (a->exact == b->exact)
		return how;
	if (!nvs_diff_otherwise(a->sent, b->sent))
		return NVS_DIFF_CHANGED;
	return how == NVS_DIFF_SAME ? NVS_DIFF_TIMED : how;
}

/* Records newly found mates among the N from FIRST on. */
static void record_mates(struct half h[2], uint32_t first, uint32_t n, enum nvs_diff_how how)
{
	for (uint32_t i = first; i < first + n; i++) {
		struct nvs_diff_submission *a = h[0].side->list + h[0].order[i], *b;

		if (h[0].mate[i] == NVS_ALIGN_NONE || a->mate != NVS_ALIGN_NONE)
			continue;
		b = h[1].side->list + h[1].order[h[0].mate[i]];
		a->mate = (uint32_t)(b - h[1].side->list);
		b->mate = (uint32_t)(a - h[0].side->list);
		a->how = b->how = (uint8_t)judge_mates(a, b, how);
	}
}

/* Converts mates from thread-relative to absolute indices. */
static void make_absolute(struct half *h, const struct thread *t, uint32_t by)
{
	for (uint32_t i = t->first; i < t->first + t->n; i++)
		if (h->mate[i] != NVS_ALIGN_NONE)
			h->mate[i] += by;
}

/*
 * nvs_align() chooses among equally good alignments by which sequence is its first argument. That
 * must not depend on the command line, or --diff A B and --diff B A would disagree on what moved.
 * The first difference between the threads decides.
 */
static bool is_second_first(const struct half h[2], const struct thread *a, const struct thread *b)
{
	const struct nvs_diff_submission *x, *y;

	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		if (h[0].kind[a->first + i] == h[1].kind[b->first + i])
			continue;
		x = h[0].side->list + h[0].order[a->first + i];
		y = h[1].side->list + h[1].order[b->first + i];
		return x->bytes != y->bytes ? x->bytes < y->bytes : x->methods < y->methods;
	}
	return a->n < b->n;
}

static int match_threads(struct half h[2], const struct thread *a, const struct thread *b,
			 uint32_t *unordered)
{
	uint32_t *mate_a = h[0].mate + a->first, *mate_b = h[1].mate + b->first;
	const uint64_t *kind_a = h[0].kind + a->first, *kind_b = h[1].kind + b->first;
	bool ordered;
	int r = is_second_first(h, a, b)
			? nvs_align(kind_b, b->n, kind_a, a->n, mate_b, mate_a, &ordered)
			: nvs_align(kind_a, a->n, kind_b, b->n, mate_a, mate_b, &ordered);

	*unordered += !ordered;
	if (r)
		return r;
	make_absolute(h, a, b->first);
	make_absolute(h + 1, b, a->first);
	record_mates(h, a->first, a->n, NVS_DIFF_SAME);
	return 0;
}

/* Matches equal submissions at other places of the same thread. */
static int match_moved(struct half h[2], const struct thread *a, const struct thread *b)
{
	uint32_t *mate_a = malloc((a->n + 1ul) * sizeof(*mate_a));
	uint32_t *mate_b = malloc((b->n + 1ul) * sizeof(*mate_b));
	int r = mate_a && mate_b ? 0 : -ENOMEM;

	for (uint32_t i = 0; !r && i < a->n; i++)
		mate_a[i] = h[0].mate[a->first + i] == NVS_ALIGN_NONE ? NVS_ALIGN_NONE : 0;
	for (uint32_t i = 0; !r && i < b->n; i++)
		mate_b[i] = h[1].mate[b->first + i] == NVS_ALIGN_NONE ? NVS_ALIGN_NONE : 0;
	if (!r)
		r = nvs_align_kinds(h[0].kind + a->first, a->n, h[1].kind + b->first, b->n, mate_a,
				    mate_b);
	for (uint32_t i = 0; !r && i < a->n; i++)
		if (h[0].mate[a->first + i] == NVS_ALIGN_NONE && mate_a[i] != NVS_ALIGN_NONE) {
			h[0].mate[a->first + i] = b->first + mate_a[i];
			h[1].mate[b->first + mate_a[i]] = a->first + i;
		}
	if (!r)
		record_mates(h, a->first, a->n, NVS_DIFF_MOVED);
	free(mate_a);
	free(mate_b);
	return r;
}

static int match_pairs(struct half h[2], uint32_t *unordered)
{
	int r = 0;

	for (uint32_t i = 0, j = 0; i < h[0].nthreads && j < h[1].nthreads && !r;) {
		const struct thread *a = h[0].threads + i, *b = h[1].threads + j;
		int order = b->main - a->main;

		order = order ? order : strcmp(a->name, b->name);
		if (!order)
			r = match_threads(h, a, b, unordered);
		if (!r && !order)
			r = match_moved(h, a, b);
		i += order <= 0;
		j += order >= 0;
	}
	return r;
}

static int match_rest(struct half h[2], enum nvs_diff_how how)
{
	int r = nvs_align_kinds(h[0].kind, h[0].side->n, h[1].kind, h[1].side->n, h[0].mate,
				h[1].mate);

	if (!r)
		record_mates(h, 0, h[0].side->n, how);
	return r;
}

int nvs_diff_match(struct nvs_diff_side side[2], uint32_t *unordered)
{
	struct half h[2] = {{.side = side}, {.side = side + 1}};
	int r = 0;

	*unordered = 0;
	for (int k = 0; k < 2 && !r; k++) {
		r = sort_half(h + k);
		if (!r)
			set_kinds(h + k, true);
	}
	if (!r)
		r = match_pairs(h, unordered);
	if (!r)
		r = match_rest(h, NVS_DIFF_SAME);
	for (int k = 0; k < 2 && !r; k++)
		set_kinds(h + k, false);
	if (!r)
		r = match_rest(h, NVS_DIFF_CHANGED);
	free_half(h);
	free_half(h + 1);
	return r;
}
