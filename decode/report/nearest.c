/* SPDX-License-Identifier: MIT */
/* Compares names by how many letters one has to change, add or take out. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "decode/report/nearest.h"
#include "nvsnoop/decode.h"

#define LONGEST 64 /* bytes compared */

/* Upper and lower case, and what stands between words, are alike. */
static int letter(char c)
{
	return c == ' ' || c == '-' ? '_' : tolower((unsigned char)c);
}

bool nvs_name_alike(const char *a, const char *b)
{
	for (; *a && letter(*a) == letter(*b); a++)
		b++;
	return !*a && !*b;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	uint32_t row[LONGEST + 1];

	na = na < LONGEST ? na : LONGEST;
	nb = nb < LONGEST ? nb : LONGEST;
	for (uint32_t k = 0; k <= nb; k++)
		row[k] = k;
	for (uint32_t i = 0; i < na; i++) {
		uint32_t before = row[0]++;

		for (uint32_t k = 0; k < nb; k++) {
			uint32_t changed = before + (letter(a[i]) != letter(b[k]));

			before = row[k + 1];
			row[k + 1] = least(changed, least(row[k], before) + 1);
		}
	}
	return row[nb];
}

void nvs_nearest_offer(struct nvs_nearest *n, const char *name, size_t length)
{
	size_t wanted = strlen(n->wanted);
	uint32_t d = distance(n->wanted, wanted, name, length), at = n->n;

	if (!length || d > wanted / 2)
		return;
	for (uint32_t i = 0; i < n->n; i++)
		if (nvs_name_alike(n->name[i], name))
			return;
	while (at && n->distance[at - 1] > d)
		at--;
	if (at == NVS_NEAREST)
		return;
	n->n += n->n < NVS_NEAREST;
	for (uint32_t i = n->n - 1; i > at; i--) {
		n->name[i] = n->name[i - 1];
		n->distance[i] = n->distance[i - 1];
	}
	n->name[at] = name;
	n->distance[at] = d;
}

void nvs_nearest_say(const struct nvs_nearest *n)
{
	for (uint32_t i = 0; i < n->n; i++) {
		const char *before = i + 1 < n->n ? ", " : " or ";
		char safe[256];

		nvs_escape(safe, sizeof(safe), n->name[i], strlen(n->name[i]));
		fprintf(stderr, "%s'%s'", i ? before : "; did you mean ", safe);
	}
	fputs(n->n ? "?\n" : "\n", stderr);
}
