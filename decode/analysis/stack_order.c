/* SPDX-License-Identifier: MIT */
/* Weights of stack frames, and their order by -s. Used by --by-callsite, --calltree, --stacks and
 * exports of stacks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/stack_tree.h"

void nvs_weight_add(struct nvs_weight *to, const struct nvs_weight *w)
{
	to->submissions += w->submissions;
	to->bytes += w->bytes;
	to->calls += w->calls;
	to->ns += w->ns;
	to->gpu_ns += w->gpu_ns;
	to->uncounted |= w->uncounted;
	to->timed |= w->timed;
	to->gpu_timed |= w->gpu_timed;
}

static bool has_weight(const struct nvs_weight *w)
{
	return w->submissions || w->bytes || w->calls || w->gpu_ns;
}

uint64_t nvs_weight_measure(const struct nvs_weight *w, enum nvs_measure by)
{
	const uint64_t of[NVS_MEASURES] = {w->submissions, w->bytes, w->calls, w->ns, w->gpu_ns};

	return of[by];
}

/* ---- order ---- */

struct order {
	enum nvs_measure by;
	int sign;
};

static int compare_frames(const void *pa, const void *pb, void *arg)
{
	const struct nvs_stack_frame *a = *(const struct nvs_stack_frame *const *)pa;
	const struct nvs_stack_frame *b = *(const struct nvs_stack_frame *const *)pb;
	const struct order *o = arg;
	uint64_t x = nvs_weight_measure(&a->weight, o->by),
		 y = nvs_weight_measure(&b->weight, o->by);
	int r;

	if (a->key.parent != b->key.parent)
		return a->key.parent < b->key.parent ? -1 : 1;
	if (x != y)
		return x > y ? o->sign : -o->sign;
	r = strcmp(a->name, b->name);
	return r ? r : (a->key.kind > b->key.kind) - (a->key.kind < b->key.kind);
}

int nvs_stacks_sort(struct nvs_stacks *t, enum nvs_measure by, bool smallest)
{
	struct order order = {by, smallest ? 1 : -1};
	size_t n = t->frames.n;
	struct nvs_stack_frame **list = calloc(n + 1, sizeof(struct nvs_stack_frame *));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i] = t->frames.row[i];
		list[i]->child = list[i]->next = 0;
	}
	qsort_r(list, n, sizeof(struct nvs_stack_frame *), compare_frames, &order);
	t->top = 0;
	while (n--) {
		struct nvs_stack_frame *parent = nvs_stack_frame_at(t, list[n]->key.parent);
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
struct frame_position {
	struct nvs_stack_frame *frame;
	size_t at;
};

static int compare_places(const void *pa, const void *pb, void *arg)
{
	const struct frame_position *a = pa, *b = pb;
	const struct order *o = arg;
	uint64_t x = nvs_weight_measure(&a->frame->weight, o->by);
	uint64_t y = nvs_weight_measure(&b->frame->weight, o->by);

	if (x != y)
		return x > y ? o->sign : -o->sign;
	return a->at < b->at ? -1 : a->at > b->at;
}

int nvs_stacks_list(struct nvs_stacks *t, enum nvs_measure by, bool smallest,
		    struct nvs_stacks_list *list)
{
	struct order order = {by, smallest ? 1 : -1};
	struct nvs_stack_frame *f = NULL;
	struct frame_position *places;
	uint32_t depth;
	int r = nvs_stacks_sort(t, by, smallest);

	if (r)
		return r;
	places = calloc(t->frames.n + 1, sizeof(*places));
	list->frame = calloc(t->frames.n + 1, sizeof(struct nvs_stack_frame *));
	while (places && list->frame && (f = nvs_stack_frame_next(t, f, &depth)))
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
	return r;
}
