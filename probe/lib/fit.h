/* SPDX-License-Identifier: MIT */
/* Least-squares line through points. */
#ifndef NVSNOOP_PROBE_LIB_FIT_H
#define NVSNOOP_PROBE_LIB_FIT_H

#include <stdbool.h>
#include <stdint.h>

struct probe_fit {
	double slope, intercept;
	double r; /* correlation coefficient; NAN if all Y are equal */
	uint32_t n; /* number of finite points */
};

/* Returns false if there are not two different values of X. */
bool probe_fit(struct probe_fit *fit, const double *x, const double *y, uint32_t n);

#endif
