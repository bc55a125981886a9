/* SPDX-License-Identifier: MIT */
/* A line through points by least squares. */
#ifndef NVSNOOP_PROBE_LIB_FIT_H
#define NVSNOOP_PROBE_LIB_FIT_H

#include <stdbool.h>
#include <stdint.h>

struct probe_fit {
	double slope, intercept;
	double r; /* of correlation; NAN where all of Y are the same */
	uint32_t n; /* points that it goes through: those that are numbers */
};

/* False: no line, since fewer than two of X differ. */
bool probe_fit(struct probe_fit *fit, const double *x, const double *y, uint32_t n);

#endif
