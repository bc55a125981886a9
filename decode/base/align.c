/* SPDX-License-Identifier: MIT */
/* Aligns two sequences: a shortest edit script first, matching by kind as the fallback. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/align.h"
#include "decode/base/hash.h"

struct align_sides {
	const uint64_t *a, *b;
	uint32_t na, nb; /* without the common prefix and suffix */
	uint32_t *mate_a, *mate_b;
	uint32_t at; /* length of the common prefix, added to the mates' numbers */
};

static void pair_elements(const struct align_sides *s, uint32_t i, uint32_t j)
{
	s->mate_a[i] = s->at + j;
	s->mate_b[j] = s->at + i;
}

/* ---- by kind ---- */

/* Elements of B without a mate, in chains by kind, each in ascending order. */
struct kinds {
	uint32_t *slots; /* for each kind, number of its first element + 1 */
	uint32_t *next; /* number of the next one of the same kind + 1 */
	uint32_t mask;
};

static uint32_t *slot_of(const struct kinds *k, const uint64_t *b, uint64_t kind)
{
	uint32_t i = (uint32_t)nvs_hash64(&kind, sizeof(kind)) & k->mask;

	while (k->slots[i] && b[k->slots[i] - 1] != kind)
		i = (i + 1) & k->mask;
	return k->slots + i;
}

static int make_kinds(struct kinds *k, const uint64_t *b, uint32_t nb)
{
	uint32_t room = 16;

	while (room < 1u << 31 && room / 2 < nb)
		room *= 2;
	if (room / 2 < nb)
		return -ENOMEM;
	k->mask = room - 1;
	k->slots = calloc(room, sizeof(*k->slots));
	k->next = calloc(nb + 1ul, sizeof(*k->next));
	return k->slots && k->next ? 0 : -ENOMEM;
}

int nvs_align_kinds(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb,
		    uint32_t *mate_a, uint32_t *mate_b)
{
	struct kinds k = {NULL, NULL, 0};
	int r = make_kinds(&k, b, nb);

	/*
	 * From the last element to the first, so that each chain begins with its lowest number. A
	 * kind whose elements are used up keeps its slot, since other kinds may follow it in the
	 * probe sequence.
	 */
	for (uint32_t j = nb; !r && j--;)
		if (mate_b[j] == NVS_ALIGN_NONE) {
			uint32_t *slot = slot_of(&k, b, b[j]);

			k.next[j] = *slot;
			*slot = j + 1;
		}
	for (uint32_t i = 0; !r && i < na; i++) {
		uint32_t *slot = mate_a[i] == NVS_ALIGN_NONE ? slot_of(&k, b, a[i]) : NULL;
		uint32_t j = slot ? *slot : 0;

		/* The last element of a kind stays in its slot and already has a mate. */
		if (!j || mate_b[j - 1] != NVS_ALIGN_NONE)
			continue;
		mate_a[i] = j - 1;
		mate_b[j - 1] = i;
		if (k.next[j - 1])
			*slot = k.next[j - 1];
	}
	free(k.slots);
	free(k.next);
	return r;
}

/* ---- in order ---- */

/* reach[d][k + d]: how far in A the furthest-reaching path with D single elements gets on diagonal
 * K. All rounds are kept, one row of 2 d + 1 each, to trace the path back. */
struct rounds {
	uint32_t *reach[NVS_ALIGN_MAX + 1];
	uint32_t n;
	uint64_t left; /* steps along diagonals that may still be made */
};

static uint32_t begin_of(const struct rounds *r, uint32_t d, int64_t k, bool *down)
{
	const uint32_t *before = d ? r->reach[d - 1] : NULL;
	int64_t width = (int64_t)d - 1;
	uint32_t right, below;

	*down = false;
	if (!d)
		return 0;
	/* A single element of B comes from diagonal K + 1, one of A from K - 1. */
	below = k + 1 <= width && k + 1 >= -width ? before[k + 1 + width] : 0;
	right = k - 1 >= -width && k - 1 <= width ? before[k - 1 + width] + 1 : 0;
	*down = k - 1 < -width || (k + 1 <= width && below >= right);
	return *down ? below : right;
}

/* Returns 1 if the end is reached with D single elements, else 0; -ENOMEM; -E2BIG after too many
 * steps. */
static int next_round(const struct align_sides *s, struct rounds *r, uint32_t d)
{
	uint32_t *row = malloc((2ul * d + 1) * sizeof(*row));

	r->reach[d] = row;
	if (!row)
		return -ENOMEM;
	r->n = d + 1;
	for (int64_t k = -(int64_t)d; k <= (int64_t)d; k += 2) {
		bool down;
		uint32_t x = begin_of(r, d, k, &down);
		int64_t y = (int64_t)x - k;

		/* Past an edge: no path continues from there. */
		if (x > s->na || y < 0 || y > (int64_t)s->nb) {
			row[k + d] = x > s->na ? s->na + 1 : x;
			continue;
		}
		while (x < s->na && y < (int64_t)s->nb && s->a[x] == s->b[y] && r->left) {
			x++;
			y++;
			r->left--;
		}
		row[k + d] = x;
		if (x == s->na && y == (int64_t)s->nb)
			return 1;
		if (!r->left)
			return -E2BIG;
	}
	return 0;
}

static void go_back(const struct align_sides *s, const struct rounds *r)
{
	int64_t k = (int64_t)s->na - (int64_t)s->nb;
	uint32_t x = s->na;

	for (uint32_t d = r->n; d--;) {
		bool down;
		uint32_t from = begin_of(r, d, k, &down);

		while (x > from) {
			x--;
			pair_elements(s, x, (uint32_t)((int64_t)x - k));
		}
		x = down || !d ? from : from - 1;
		k += down ? 1 : -1;
	}
}

static int in_order(const struct align_sides *s, bool *ordered)
{
	struct rounds rounds = {.left = 64ull * (s->na + (uint64_t)s->nb) + 4096};
	int r = 0;

	for (uint32_t d = 0; d <= NVS_ALIGN_MAX && !r; d++)
		r = next_round(s, &rounds, d);
	*ordered = r == 1;
	if (*ordered)
		go_back(s, &rounds);
	for (uint32_t d = 0; d < rounds.n; d++)
		free(rounds.reach[d]);
	return r == -ENOMEM ? r : 0;
}

int nvs_align(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb, uint32_t *mate_a,
	      uint32_t *mate_b, bool *ordered)
{
	struct align_sides s = {a, b, na, nb, mate_a, mate_b, 0};
	int r;

	memset(mate_a, 0xff, na * sizeof(*mate_a));
	memset(mate_b, 0xff, nb * sizeof(*mate_b));
	while (s.na && s.nb && *s.a == *s.b) {
		pair_elements(&s, 0, 0);
		s.a++, s.b++, s.mate_a++, s.mate_b++, s.at++;
		s.na--, s.nb--;
	}
	while (s.na && s.nb && s.a[s.na - 1] == s.b[s.nb - 1]) {
		s.na--, s.nb--;
		pair_elements(&s, s.na, s.nb);
	}
	r = in_order(&s, ordered);
	return r || *ordered ? r : nvs_align_kinds(a, na, b, nb, mate_a, mate_b);
}
