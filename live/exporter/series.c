/* SPDX-License-Identifier: MIT */
/* A hash table of names; only names that are shown add to the answer's size. */
#include <stdlib.h>
#include <string.h>
#include "live/exporter/series.h"

static uint64_t hash_of(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h ^ h >> 29;
}

static uint64_t *previous_values(const struct nvs_series *s, struct nvs_series_name *one)
{
	return one->values + s->columns;
}

static uint64_t *other_share(const struct nvs_series *s, struct nvs_series_name *one)
{
	return one->values + 2 * (size_t)s->columns;
}

void nvs_series_begin(struct nvs_series *s, uint32_t columns)
{
	s->columns = columns;
	for (uint32_t i = 0; i < s->n; i++)
		memset(s->all[i]->values, 0, columns * sizeof(uint64_t));
	if (s->other)
		memset(s->other, 0, columns * sizeof(uint64_t));
}

static void insert_index(struct nvs_series *s, uint32_t index)
{
	uint64_t at = s->all[index]->hash;

	while (s->places[at % s->nplaces])
		at++;
	s->places[at % s->nplaces] = index + 1;
}

static bool grow_table(struct nvs_series *s)
{
	uint32_t room = s->room ? s->room * 2 : 16;
	struct nvs_series_name **all = realloc(s->all, room * sizeof(*all));
	uint32_t *places;

	if (!all)
		return false;
	s->all = all;
	places = calloc((size_t)room * 2, sizeof(*places));
	if (!places)
		return false;
	free(s->places);
	s->places = places;
	s->room = room;
	s->nplaces = room * 2;
	for (uint32_t i = 0; i < s->n; i++)
		insert_index(s, i);
	return true;
}

static struct nvs_series_name *find_or_add(struct nvs_series *s, const char *labels)
{
	uint64_t hash = hash_of(labels), at = hash;
	struct nvs_series_name *one;

	for (; s->nplaces && s->places[at % s->nplaces]; at++) {
		one = s->all[s->places[at % s->nplaces] - 1];
		if (one->hash == hash && !strcmp(one->labels, labels))
			return one;
	}
	if (s->n == NVS_SERIES_NAMES || (s->n == s->room && !grow_table(s)))
		return NULL;
	one = calloc(1, sizeof(*one) + 3 * (size_t)s->columns * sizeof(uint64_t));
	if (!one || !(one->labels = strdup(labels))) {
		free(one);
		return NULL;
	}
	one->hash = hash;
	s->all[s->n] = one;
	insert_index(s, s->n++);
	return one;
}

bool nvs_series_add(struct nvs_series *s, const char *labels, const uint64_t *values)
{
	struct nvs_series_name *one = labels ? find_or_add(s, labels) : NULL;
	uint64_t *to;

	if (!one && !s->other)
		s->other = calloc(s->columns, sizeof(*s->other));
	to = one ? one->values : s->other;
	for (uint32_t i = 0; to && i < s->columns; i++)
		to[i] += values[i];
	return one;
}

static uint32_t sort_column; /* the exporter has one thread */

static int compare_by_value(const void *a, const void *b)
{
	struct nvs_series_name *const *x = a, *const *y = b;
	uint64_t v = (*x)->values[sort_column], w = (*y)->values[sort_column];

	return v != w ? (v < w) - (v > w) : strcmp((*x)->labels, (*y)->labels);
}

static void show_name(struct nvs_series *s, struct nvs_series_name *one)
{
	one->shown = true;
	s->nshown++;
	memcpy(other_share(s, one), previous_values(s, one), s->columns * sizeof(uint64_t));
}

void nvs_series_choose_top(struct nvs_series *s, uint32_t top, uint32_t column)
{
	struct nvs_series_name **sorted = s->n ? malloc(s->n * sizeof(*sorted)) : NULL;

	if (!sorted)
		return;
	memcpy(sorted, s->all, s->n * sizeof(*sorted));
	sort_column = column;
	qsort(sorted, s->n, sizeof(*sorted), compare_by_value);
	for (uint32_t i = 0; i < s->n && i < top && s->nshown < 2 * top; i++)
		if (!sorted[i]->shown && sorted[i]->values[column])
			show_name(s, sorted[i]);
	free(sorted);
}

uint64_t nvs_series_get_value(const struct nvs_series *s, const struct nvs_series_name *one,
			      uint32_t column)
{
	struct nvs_series_name *o = (struct nvs_series_name *)one;

	return o->values[column] - other_share(s, o)[column];
}

bool nvs_series_get_other(const struct nvs_series *s, uint64_t *values)
{
	bool any = false;

	for (uint32_t c = 0; c < s->columns; c++) {
		values[c] = s->other ? s->other[c] : 0;
		for (uint32_t i = 0; i < s->n; i++)
			values[c] += s->all[i]->shown ? other_share(s, s->all[i])[c]
						      : s->all[i]->values[c];
		any |= values[c] != 0;
	}
	return any;
}

void nvs_series_end(struct nvs_series *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		memcpy(previous_values(s, s->all[i]), s->all[i]->values,
		       s->columns * sizeof(uint64_t));
}

void nvs_series_free(struct nvs_series *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		free(s->all[i]->labels);
		free(s->all[i]);
	}
	free(s->all);
	free(s->places);
	free(s->other);
	memset(s, 0, sizeof(*s));
}
