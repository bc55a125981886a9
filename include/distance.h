/* SPDX-License-Identifier: MIT */
/* How far two words are apart: for a program that says what may have been meant. */
#ifndef NVSNOOP_DISTANCE_H
#define NVSNOOP_DISTANCE_H

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_LONGEST_WORD 64 /* bytes compared */

/* Upper and lower case, and what stands between words, are alike. */
static inline int nvs_letter(char c)
{
	return c == ' ' || c == '-' ? '_' : tolower((unsigned char)c);
}

/* How many letters one has to change, add or take out, to make the other of one. */
static inline uint32_t nvs_distance(const char *a, size_t na, const char *b, size_t nb)
{
	uint32_t row[NVS_LONGEST_WORD + 1];

	na = na < NVS_LONGEST_WORD ? na : NVS_LONGEST_WORD;
	nb = nb < NVS_LONGEST_WORD ? nb : NVS_LONGEST_WORD;
	for (uint32_t k = 0; k <= nb; k++)
		row[k] = k;
	for (uint32_t i = 0; i < na; i++) {
		uint32_t before = row[0]++;

		for (uint32_t k = 0; k < nb; k++) {
			uint32_t changed = before + (nvs_letter(a[i]) != nvs_letter(b[k]));
			uint32_t shorter = row[k] < row[k + 1] ? row[k] : row[k + 1];

			before = row[k + 1];
			row[k + 1] = changed < shorter + 1 ? changed : shorter + 1;
		}
	}
	return row[nb];
}

#endif
