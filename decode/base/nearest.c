/* SPDX-License-Identifier: MIT */
/* Collects the names with the smallest edit distance to the wanted one. */
#include <stdio.h>
#include <string.h>
#include "decode/base/nearest.h"
#include "include/distance.h"
#include "nvsnoop/decode.h"

bool nvs_names_alike(const char *a, const char *b)
{
	for (; *a && nvs_fold_letter(*a) == nvs_fold_letter(*b); a++)
		b++;
	return !*a && !*b;
}

void nvs_nearest_add(struct nvs_nearest *n, const char *name, size_t length)
{
	size_t wanted = strlen(n->wanted);
	uint32_t d = nvs_edit_distance(n->wanted, wanted, name, length), at = n->n;

	if (!length || d > wanted / 2)
		return;
	for (uint32_t i = 0; i < n->n; i++)
		if (nvs_names_alike(n->name[i], name))
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

char *nvs_nearest_text(const struct nvs_nearest *n, char *text, size_t room)
{
	size_t at = 0;

	*text = 0;
	for (uint32_t i = 0; i < n->n; i++) {
		const char *before = i + 1 < n->n ? ", " : " or ";
		char safe[256];

		nvs_escape(safe, sizeof(safe), n->name[i], strlen(n->name[i]));
		at += (size_t)snprintf(text + at, room - at, "%s'%s'%s",
				       i ? before : "; did you mean ", safe,
				       i + 1 < n->n ? "" : "?");
		if (at >= room)
			break;
	}
	return text;
}

void nvs_nearest_print(const struct nvs_nearest *n)
{
	char text[NVS_NEAREST * 300];

	fprintf(stderr, "%s\n", nvs_nearest_text(n, text, sizeof(text)));
}
