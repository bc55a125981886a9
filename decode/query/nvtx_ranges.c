/* SPDX-License-Identifier: MIT */
/* NVTX ranges and marks: a stack of open ranges per thread and domain, and the tree of all ranges.
 * See nvtx_ranges.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/base/numbers.h"
#include "decode/query/nvtx_ranges.h"
#include "decode/base/keyed_rows.h"

#define MAX_NEST 512 /* open ranges per thread and domain; deeper ones are only counted */
#define MAX_PATH 4096 /* bytes; the outer part of a longer path is left out */
#define MOMENTS 16 /* latest changes of a nest that are kept */

struct open_range {
	struct nvs_nvtx_node *node;
	uint64_t begin, tag, depth;
	uint32_t thread; /* that pushed or started it; NVS_NONE: not known at that time */
};

/* Open ranges of one thread in one domain. */
struct domain_stack {
	struct domain_stack *next;
	uint32_t domain, n, room;
	uint32_t deeper; /* pushed beyond MAX_NEST, of records without a depth */
	uint32_t changes;
	uint64_t last; /* ticks of the latest change */
	struct open_range *open;
	struct nvtx_moment {
		uint64_t time;
		struct nvs_nvtx_node *node; /* innermost from TIME on, NULL: none */
		uint32_t n;
	} moments[MOMENTS];
};

struct nvtx_thread {
	struct domain_stack *nests;
	uint32_t nnests;
};

/* A thread by its tid: used until its THREAD record gives the number. */
struct early_thread {
	uint32_t tid, number;
	bool is_known; /* the number */
	struct nvtx_thread *thread; /* its ranges, while the number is unknown */
};

struct started {
	uint64_t id;
	struct open_range range;
	UT_hash_handle hh;
};

struct nvs_nvtx {
	struct nvs_nvtx_names *names;
	struct nvs_rows nodes;
	struct nvs_numbers threads;
	struct nvs_rows early; /* struct early_thread */
	struct started *started;
	struct nvs_nvtx_event now;
	uint64_t tag; /* of the range that the latest record ended */
	uint64_t unmatched;
};

struct nvs_nvtx *nvs_nvtx_new(const struct nvs_query *q)
{
	struct nvs_nvtx *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->nodes = NVS_ROWS(struct nvs_nvtx_node, key);
	n->early = NVS_ROWS(struct early_thread, tid);
	n->names = nvs_nvtx_names_new(&q->nvtx);
	if (n->names)
		return n;
	free(n);
	return NULL;
}

static void free_thread(void *item)
{
	struct nvtx_thread *t = item;

	for (struct domain_stack *nest = t ? t->nests : NULL, *next; nest; nest = next) {
		next = nest->next;
		free(nest->open);
		free(nest);
	}
	free(t);
}

static void free_node(void *row)
{
	nvs_durations_free(&((struct nvs_nvtx_node *)row)->own.times);
}

static void free_early(void *row)
{
	free_thread(((struct early_thread *)row)->thread);
}

void nvs_nvtx_free(struct nvs_nvtx *n)
{
	struct started *s, *next_started;

	if (!n)
		return;
	nvs_rows_free(&n->early, free_early);
	HASH_ITER(hh, n->started, s, next_started) {
		HASH_DEL(n->started, s);
		free(s);
	}
	nvs_nvtx_names_free(n->names);
	nvs_numbers_free(&n->threads, free_thread);
	nvs_rows_free(&n->nodes, free_node);
	free(n);
}

/* ---- nodes ---- */

static struct nvs_nvtx_node *node_of(struct nvs_nvtx *n, struct nvs_nvtx_node *up,
				     const struct nvs_rec_nvtx *rec, enum nvs_nvtx_kind kind)
{
	const struct nvs_nvtx_text *t = nvs_nvtx_text_of(n->names, rec);
	struct nvs_nvtx_key key = {up ? up->number + 1 : 0, rec->domain, 0, kind};
	struct nvs_nvtx_node *node;
	size_t before = n->nodes.n;

	if (!t)
		return NULL;
	key.name = t->number;
	node = nvs_rows_at(&n->nodes, &key);
	if (!node || n->nodes.n == before)
		return node;
	node->number = (uint32_t)before;
	node->up = up;
	node->depth = up ? up->depth + 1 : 0;
	node->name = t->name;
	node->fits = t->fits | (up ? up->fits : 0);
	node->category = rec->category;
	node->color = rec->color;
	node->colored = rec->rec.flags & NVS_NVTX_COLOR;
	return node;
}

struct nvs_nvtx_node *nvs_nvtx_node(const struct nvs_nvtx *n, uint32_t number)
{
	return number < n->nodes.n ? n->nodes.row[number] : NULL;
}

char *nvs_nvtx_path(const struct nvs_nvtx_node *node)
{
	const char *names[MAX_NEST + 1];
	size_t size = 1, n = 0, used = 0;
	char *path;

	for (; node && n < MAX_NEST && size < MAX_PATH; node = node->up) {
		names[n] = *node->name ? node->name : "-";
		size += strlen(names[n++]) + 1;
	}
	if (node) {
		names[n++] = "...";
		size += sizeof("...");
	}
	path = malloc(size);
	while (path && n--) {
		strcpy(path + used, names[n]);
		used += strlen(names[n]);
		strcpy(path + used++, n ? "/" : "");
	}
	return path;
}

/* ---- threads and their nests ---- */

/* The thread's number is known from now on: its ranges move to the table by number. */
static int read_thread(struct nvs_nvtx *n, const struct nvs_rec_thread *rec)
{
	struct early_thread *e = nvs_rows_at(&n->early, &rec->tid);

	if (!e)
		return -ENOMEM;
	if (rec->thread >= NVS_MAX_NUMBER)
		return 0;
	e->number = rec->thread;
	e->is_known = true;
	if (!e->thread || nvs_number_get(&n->threads, rec->thread))
		return 0;
	if (nvs_number_set(&n->threads, rec->thread, e->thread))
		return -ENOMEM;
	e->thread = NULL;
	return 0;
}

/* Returns NULL if memory is short or the number is absurd. */
static struct nvtx_thread *thread_of(struct nvs_nvtx *n, uint32_t *number, uint32_t tid)
{
	struct early_thread *e = *number == NVS_NONE ? nvs_rows_at(&n->early, &tid) : NULL;

	if (e && e->is_known)
		*number = e->number;
	if (*number != NVS_NONE)
		return nvs_number_make(&n->threads, *number, sizeof(struct nvtx_thread));
	if (e && !e->thread)
		e->thread = calloc(1, sizeof(*e->thread));
	return e ? e->thread : NULL;
}

static struct domain_stack *find_nest(const struct nvtx_thread *t, uint32_t domain)
{
	struct domain_stack *nest = t ? t->nests : NULL;

	while (nest && nest->domain != domain)
		nest = nest->next;
	return nest;
}

static struct domain_stack *nest_of(struct nvtx_thread *t, uint32_t domain)
{
	struct domain_stack *nest = find_nest(t, domain);

	if (nest || t->nnests == NVS_NVTX_NESTS)
		return nest;
	nest = calloc(1, sizeof(*nest));
	if (!nest)
		return NULL;
	nest->domain = domain;
	nest->next = t->nests;
	t->nests = nest;
	t->nnests++;
	return nest;
}

static void note_change(struct domain_stack *nest, uint64_t time)
{
	nest->last = time;
	nest->moments[nest->changes++ % MOMENTS] =
		(struct nvtx_moment){time, nest->n ? nest->open[nest->n - 1].node : NULL, nest->n};
}

/* State at TIME; returns NULL if TIME is before the oldest change kept. */
static const struct nvtx_moment *moment_at(const struct domain_stack *nest, uint64_t time)
{
	for (uint32_t i = nest->changes; i && i + MOMENTS > nest->changes; i--) {
		const struct nvtx_moment *m = nest->moments + (i - 1) % MOMENTS;

		if (m->time <= time)
			return m;
	}
	return NULL;
}

uint32_t nvs_nvtx_innermost(const struct nvs_nvtx *n, uint32_t thread, uint64_t time,
			    struct nvs_nvtx_node *nodes[NVS_NVTX_NESTS])
{
	const struct nvtx_thread *t = thread == NVS_NONE ? NULL
							 : nvs_number_get(&n->threads, thread);
	uint32_t found = 0;

	for (const struct domain_stack *nest = t ? t->nests : NULL; nest; nest = nest->next) {
		const struct nvtx_moment *m = moment_at(nest, time);

		if (m && m->node)
			nodes[found++] = m->node;
	}
	return found;
}

uint32_t nvs_nvtx_open_count(const struct nvs_nvtx *n, uint32_t thread, uint64_t time)
{
	const struct nvtx_thread *t = thread == NVS_NONE ? NULL
							 : nvs_number_get(&n->threads, thread);
	uint32_t open = 0;

	for (const struct domain_stack *nest = t ? t->nests : NULL; nest; nest = nest->next) {
		const struct nvtx_moment *m = moment_at(nest, time);

		open += m ? m->n : 0;
	}
	return open;
}

/* ---- begin and end of ranges ---- */

static uint32_t count_open(const struct nvtx_thread *t)
{
	uint32_t open = 0;

	for (const struct domain_stack *nest = t->nests; nest; nest = nest->next)
		open += nest->n;
	return open;
}

static int push_range(struct nvs_nvtx *n, struct nvtx_thread *t, const struct nvs_rec_nvtx *rec,
		      uint64_t time)
{
	struct domain_stack *nest = nest_of(t, rec->domain);
	bool depth = rec->rec.flags & NVS_NVTX_DEPTH;
	struct open_range *o;

	/* Ignored: one domain too many, or a range that was open when recording began and whose
	 * record comes after newer ones. */
	if (!nest)
		return t->nnests == NVS_NVTX_NESTS ? 0 : -ENOMEM;
	if (rec->at && time < nest->last)
		return 0;
	while (depth && nest->n && nest->open[nest->n - 1].depth >= rec->id)
		nest->n--;
	if (nest->n == MAX_NEST) {
		nest->deeper += !depth;
		return 0;
	}
	o = NVS_RESERVE(nest->open, nest->n, nest->room, 4, UINT32_MAX);
	if (!o)
		return -ENOMEM;
	n->now.open = count_open(t);
	*o = (struct open_range){
		.begin = time, .depth = depth ? rec->id : nest->n, .thread = n->now.thread};
	o->node = node_of(n, nest->n ? o[-1].node : NULL, rec, NVS_NVTX_PUSH);
	if (!o->node)
		return -ENOMEM;
	nest->n++;
	note_change(nest, time);
	n->now.what = NVS_NVTX_BEGUN;
	n->now.node = o->node;
	n->now.tag = &o->tag;
	return 0;
}

static void set_ended(struct nvs_nvtx *n, const struct open_range *o, uint64_t time)
{
	n->tag = o->tag;
	n->now.told = o->thread;
	n->now.what = NVS_NVTX_ENDED;
	n->now.node = o->node;
	n->now.begin = o->begin;
	n->now.end = time;
	n->now.tag = &n->tag;
}

static void pop_range(struct nvs_nvtx *n, struct nvtx_thread *t, const struct nvs_rec_nvtx_end *rec,
		      uint64_t time)
{
	struct domain_stack *nest = find_nest(t, rec->domain);
	bool depth = rec->rec.flags & NVS_NVTX_DEPTH;

	if (nest && nest->deeper && !depth) {
		nest->deeper--;
		return;
	}
	/* The ends of ranges still open inside it were lost. */
	while (nest && depth && rec->id != UINT64_MAX && nest->n &&
	       nest->open[nest->n - 1].depth > rec->id)
		nest->n--;
	if (!nest || !nest->n || (depth && nest->open[nest->n - 1].depth != rec->id)) {
		n->unmatched++;
		return;
	}
	set_ended(n, nest->open + --nest->n, time);
	note_change(nest, time);
	n->now.open = count_open(t);
}

static int start_range(struct nvs_nvtx *n, const struct nvs_rec_nvtx *rec, uint64_t time)
{
	struct nvs_nvtx_node *node = node_of(n, NULL, rec, NVS_NVTX_START);
	struct started *s = NULL;

	HASH_FIND(hh, n->started, &rec->id, sizeof(rec->id), s);
	if (s || !node)
		return node ? 0 : -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->id = rec->id;
	s->range = (struct open_range){.node = node, .begin = time, .thread = n->now.thread};
	HASH_ADD(hh, n->started, id, sizeof(s->id), s);
	if (!s->hh.tbl) {
		free(s);
		return -ENOMEM;
	}
	n->now.what = NVS_NVTX_BEGUN;
	n->now.node = node;
	n->now.tag = &s->range.tag;
	return 0;
}

static void end_range(struct nvs_nvtx *n, const struct nvs_rec_nvtx_end *rec, uint64_t time)
{
	struct started *s = NULL;

	HASH_FIND(hh, n->started, &rec->id, sizeof(rec->id), s);
	if (!s) {
		n->unmatched++;
		return;
	}
	set_ended(n, &s->range, time);
	n->now.thread = s->range.thread;
	HASH_DEL(n->started, s);
	free(s);
}

static int add_mark(struct nvs_nvtx *n, const struct nvtx_thread *t, const struct nvs_rec_nvtx *rec)
{
	const struct domain_stack *nest = find_nest(t, rec->domain);

	n->now.open = count_open(t);
	n->now.what = NVS_NVTX_MARKED;
	n->now.node = node_of(n, nest && nest->n ? nest->open[nest->n - 1].node : NULL, rec,
			      NVS_NVTX_MARK);
	return n->now.node ? 0 : -ENOMEM;
}

static int read_event(struct nvs_nvtx *n, const struct nvs_rec *rec)
{
	const struct nvs_rec_nvtx_end *e =
		(const void *)rec; /* the common head of all three records */
	uint64_t time = e->at ? e->at : rec->time;
	uint32_t number = e->thread;
	struct nvtx_thread *t;

	if (number != NVS_NONE && number >= NVS_MAX_NUMBER)
		return 0;
	t = thread_of(n, &number, e->tid);
	if (!t)
		return -ENOMEM;
	n->now.thread = number;
	n->now.begin = time;
	if (rec->type == NVS_REC_NVTX_MARK)
		return add_mark(n, t, (const void *)rec);
	if (rec->type == NVS_REC_NVTX_BEGIN)
		return rec->flags & NVS_NVTX_PUSHED ? push_range(n, t, (const void *)rec, time)
						    : start_range(n, (const void *)rec, time);
	if (rec->flags & NVS_NVTX_PUSHED)
		pop_range(n, t, e, time);
	else
		end_range(n, e, time);
	return 0;
}

int nvs_nvtx_record(struct nvs_nvtx *n, const struct nvs_rec *rec)
{
	n->now = (struct nvs_nvtx_event){.thread = NVS_NONE};
	switch (rec->type) {
	case NVS_REC_THREAD:
		return read_thread(n, (const void *)rec);
	case NVS_REC_NVTX_NAME:
		return nvs_nvtx_names_record(n->names, (const void *)rec);
	case NVS_REC_NVTX_BEGIN:
	case NVS_REC_NVTX_END:
	case NVS_REC_NVTX_MARK:
		return read_event(n, rec);
	default:
		return 0;
	}
}

const struct nvs_nvtx_event *nvs_nvtx_current_event(const struct nvs_nvtx *n)
{
	return &n->now;
}

uint64_t nvs_nvtx_unmatched(const struct nvs_nvtx *n)
{
	return n->unmatched;
}

struct nvs_nvtx_names *nvs_nvtx_names(const struct nvs_nvtx *n)
{
	return n->names;
}
