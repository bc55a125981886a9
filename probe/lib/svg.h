/* SPDX-License-Identifier: MIT */
/* A plot as SVG: axes, curves, and published points beside them. */
#ifndef NVSNOOP_PROBE_LIB_SVG_H
#define NVSNOOP_PROBE_LIB_SVG_H

#include <stdbool.h>
#include <stdint.h>

struct probe_series {
	const char *name;
	const double *x, *y; /* what is not above 0 on a logarithmic axis is left out */
	uint32_t n;
	bool points; /* marks alone */
	bool dashed; /* a line that may lie on another */
};

struct probe_plot {
	const char *title, *subtitle, *x, *y; /* y: its heading, with the unit */
	bool log_x, log_y;
	bool binary_x; /* powers of 2 with Ki, Mi, Gi along a logarithmic axis */
	const struct probe_series *series;
	uint32_t n;
};

/* Both end the program: where no file can be made in PATH, which is asked before a study; and where
 * PATH cannot be written. */
void probe_svg_folder(const char *path);
void probe_svg(const char *path, const struct probe_plot *plot);

#endif
