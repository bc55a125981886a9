/* SPDX-License-Identifier: MIT */
/* Writes a plot as SVG: axes, curves and published points. */
#ifndef NVSNOOP_PROBE_LIB_SVG_H
#define NVSNOOP_PROBE_LIB_SVG_H

#include <stdbool.h>
#include <stdint.h>

struct probe_series {
	const char *name;
	const double *x, *y; /* values <= 0 on a logarithmic axis are omitted */
	uint32_t n;
	bool points; /* markers only */
	bool dashed; /* for a line that may cover another */
};

struct probe_plot {
	const char *title, *subtitle, *x, *y; /* y: heading with the unit */
	bool log_x, log_y;
	bool binary_x; /* label a logarithmic x axis with powers of 2 and Ki, Mi, Gi */
	const struct probe_series *series;
	uint32_t n;
};

/* Both exit on failure. probe_svg_check_folder() checks, before a study, that PATH is a writable
 * folder; probe_svg_write() writes the file PATH. */
void probe_svg_check_folder(const char *path);
void probe_svg_write(const char *path, const struct probe_plot *plot);

#endif
