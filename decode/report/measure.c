/* SPDX-License-Identifier: MIT */
/* Weights of stack frames, and their order by -s. Used by --by-callsite, --calltree, --stacks and
 * exports of stacks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/stacks.h"

void nvs_weight_add(struct nvs_weight *to, const struct nvs_weight *w)
{
	to->submissions += w->submissions;
	to->bytes += w->bytes;
	to->calls += w->calls;
	to->ns += w->ns;
	to->uncounted |= w->uncounted;
	to->timed |= w->timed;
}

static bool has_weight(const struct nvs_weight *w)
{
	return w->submissions || w->bytes || w->calls;
}

uint64_t nvs_measure_of(const struct nvs_weight *w, enum nvs_measure by)
{
	const uint64_t of[NVS_MEASURES] = {w->submissions, w->bytes, w->calls, w->ns};

	return of[by];
}

NVS_WEIGHT_GETTERS(struct nvs_weight, *r)

/* Further names that -s accepts. */
const struct nvs_column nvs_measure_columns[] = {
	NVS_WEIGHT_COLUMNS, {"time", "time", get_time, 0}, {"bytes", "bytes", get_bytes, 0}};

int nvs_measure_parse(const struct nvs_run *run, enum nvs_measure *by)
{
	struct nvs_table table = NVS_RUN_TABLE(run, nvs_measure_columns, NULL);
	const char *sort = run->options->sort;
	const struct nvs_column *c;

	*by = NVS_BY_SUBMISSIONS;
	if (!sort)
		return 0;
	c = nvs_table_column(&table, sort + (*sort == '-'));
	if (!c)
		return nvs_table_no_column(&table, sort);
	*by = c->get == get_time    ? NVS_BY_TIME
	      : c->get == get_calls ? NVS_BY_CALLS
	      : c->get == get_bytes ? NVS_BY_BYTES
				    : NVS_BY_SUBMISSIONS;
	return 0;
}

/* ---- order ---- */

struct order {
	enum nvs_measure by;
	int sign;
};

static int compare_frames(const void *pa, const void *pb, void *arg)
{
	const struct nvs_frame *a = *(const struct nvs_frame *const *)pa;
	const struct nvs_frame *b = *(const struct nvs_frame *const *)pb;
	const struct order *o = arg;
	uint64_t x = nvs_measure_of(&a->weight, o->by), y = nvs_measure_of(&b->weight, o->by);
	int r;

	if (a->key.parent != b->key.parent)
		return a->key.parent < b->key.parent ? -1 : 1;
	if (x != y)
		return x > y ? o->sign : -o->sign;
	r = strcmp(a->name, b->name);
	return r ? r : (a->key.kind > b->key.kind) - (a->key.kind < b->key.kind);
}

static int sign_of(const struct nvs_run *run)
{
	return run->options->sort && *run->options->sort == '-' ? 1 : -1;
}

int nvs_stacks_sort(struct nvs_run *run, enum nvs_measure by)
{
	struct order order = {by, sign_of(run)};
	struct nvs_stacks *t = run->state;
	size_t n = t->frames.n;
	struct nvs_frame **list = calloc(n + 1, sizeof(struct nvs_frame *));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i] = t->frames.row[i];
		list[i]->child = list[i]->next = 0;
	}
	qsort_r(list, n, sizeof(struct nvs_frame *), compare_frames, &order);
	t->top = 0;
	while (n--) {
		struct nvs_frame *parent = nvs_frame_at(t, list[n]->key.parent);
		uint32_t *first = parent ? &parent->child : &t->top;

		/* The frame for overflow is left out while nothing is counted in it. */
		if (!list[n]->child && !has_weight(&list[n]->weight))
			continue;
		list[n]->next = *first;
		*first = list[n]->number;
	}
	free(list);
	return 0;
}

/* AT keeps the order of frames of equal weight. */
struct place {
	struct nvs_frame *frame;
	size_t at;
};

static int compare_places(const void *pa, const void *pb, void *arg)
{
	const struct place *a = pa, *b = pb;
	const struct order *o = arg;
	uint64_t x = nvs_measure_of(&a->frame->weight, o->by);
	uint64_t y = nvs_measure_of(&b->frame->weight, o->by);

	if (x != y)
		return x > y ? o->sign : -o->sign;
	return a->at < b->at ? -1 : a->at > b->at;
}

int nvs_stacks_list(struct nvs_run *run, enum nvs_measure by, struct nvs_stacks_list *list)
{
	struct order order = {by, sign_of(run)};
	struct nvs_stacks *t = run->state;
	struct nvs_frame *f = NULL;
	struct place *places;
	uint32_t depth;
	int r = nvs_stacks_build(run);

	if (!r)
		r = nvs_stacks_sort(run, by);
	if (r)
		return r;
	places = calloc(t->frames.n + 1, sizeof(*places));
	list->frame = calloc(t->frames.n + 1, sizeof(struct nvs_frame *));
	while (places && list->frame && (f = nvs_frame_next(t, f, &depth)))
		if (has_weight(&f->weight)) {
			places[list->n].frame = f;
			places[list->n].at = list->n;
			list->n++;
		}
	if (places && list->frame)
		qsort_r(places, list->n, sizeof(*places), compare_places, &order);
	for (size_t i = 0; i < list->n; i++)
		list->frame[i] = places[i].frame;
	r = places && list->frame ? 0 : -ENOMEM;
	free(places);
	list->shown = run->options->rows && run->options->rows < list->n ? run->options->rows
									 : list->n;
	return r;
}

/* ---- folded ---- */

void nvs_frame_fold(struct nvs_out *out, const struct nvs_stacks *t, const struct nvs_frame *f)
{
	const struct nvs_frame *path[NVS_STACKS_DEPTH];
	size_t n = 0;

	for (; f && n < NVS_STACKS_DEPTH; f = nvs_frame_at(t, f->key.parent))
		path[n++] = f;
	while (n--) {
		const char *name = path[n]->name;

		for (size_t part; *name; name += part) {
			part = strcspn(name, ";");
			nvs_out_part(out, name, part);
			if (!part)
				fputs("\\x3b", out->file);
			part += !part;
		}
		if (n)
			fputc(';', out->file);
	}
}
