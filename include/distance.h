/* SPDX-License-Identifier: MIT */
/* Edit distance between two words, for suggestions such as "did you mean ...?". */
#ifndef NVSNOOP_DISTANCE_H
#define NVSNOOP_DISTANCE_H

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_LONGEST_WORD 64 /* bytes compared */

/* Folds case, and treats space, '-', '_' and '/' alike. */
static inline int nvs_fold_letter(char c)
{
	return c == ' ' || c == '-' || c == '/' ? '_' : tolower((unsigned char)c);
}

/* Number of letters to change, insert or delete to turn one word into the other. */
static inline uint32_t nvs_edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	uint32_t row[NVS_LONGEST_WORD + 1];

	na = na < NVS_LONGEST_WORD ? na : NVS_LONGEST_WORD;
	nb = nb < NVS_LONGEST_WORD ? nb : NVS_LONGEST_WORD;
	for (uint32_t k = 0; k <= nb; k++)
		row[k] = k;
	for (uint32_t i = 0; i < na; i++) {
		uint32_t before = row[0]++;

		for (uint32_t k = 0; k < nb; k++) {
			uint32_t changed = before +
					   (nvs_fold_letter(a[i]) != nvs_fold_letter(b[k]));
			uint32_t shorter = row[k] < row[k + 1] ? row[k] : row[k + 1];

			before = row[k + 1];
			row[k + 1] = changed < shorter + 1 ? changed : shorter + 1;
		}
	}
	return row[nb];
}

#endif
