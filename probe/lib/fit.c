/* SPDX-License-Identifier: MIT */
/* Least squares around the means: sums of squares of large values would lose precision. */
#include "probe/lib/fit.h"
#include <math.h>

bool probe_fit(struct probe_fit *fit, const double *x, const double *y, uint32_t n)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;

	*fit = (struct probe_fit){NAN, NAN, NAN, 0};
	for (uint32_t i = 0; i < n; i++) {
		if (!isfinite(x[i]) || !isfinite(y[i]))
			continue;
		fit->n++;
		mean_x += (x[i] - mean_x) / fit->n;
		mean_y += (y[i] - mean_y) / fit->n;
	}
	for (uint32_t i = 0; i < n; i++) {
		double dx = x[i] - mean_x, dy = y[i] - mean_y;

		if (!isfinite(x[i]) || !isfinite(y[i]))
			continue;
		xx += dx * dx;
		xy += dx * dy;
		yy += dy * dy;
	}
	if (fit->n < 2 || !(xx > 0))
		return false;
	fit->slope = xy / xx;
	fit->intercept = mean_y - fit->slope * mean_x;
	if (yy > 0)
		fit->r = xy / sqrt(xx * yy);
	return true;
}
