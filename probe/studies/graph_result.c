/* SPDX-License-Identifier: MIT */
/* Evaluates the rows of the graph study: steps, fitted lines, plots. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "probe/lib/fit.h"
#include "probe/studies/graph.h"
#include "probe/lib/svg.h"

#define SHORT 200 /* up to here every length is measured */
#define MAX_STEPS_LISTED 12

/* arXiv 2604.26889: an A40, chains of 1 to 2000 nodes; the slopes in MiB/s. */
static const struct {
	const char *cuda;
	double bytes[2], us[2], short_slope, slope;
} published[] = {
	{"13.0", {340, 2216}, {1.9, 5.9}, 432.16, 450.11},
	{"11.8", {328, 45476}, {1.8, 209}, 243.97, 205},
};
static const double published_nodes[] = {1, PROBE_NODES_MAX};
/* CUDA 13.0: +192 bytes over chains of up to 200. */
static const double published_short[] = {1, SHORT}, published_steps[] = {340, 340 + 192};

/* ---- notes ---- */

static void derive_steps(struct probe_table *t, const struct probe_launches *rows, uint32_t n)
{
	uint32_t steps = 0;
	char text[MAX_STEPS_LISTED * 32 + 32] = "";
	size_t at = 0;

	for (uint32_t i = 1; i < n && rows[i].nodes <= SHORT; i++) {
		double step = rows[i].bytes - rows[i - 1].bytes;

		if (!(fabs(step) > 0))
			continue;
		if (steps++ < MAX_STEPS_LISTED)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u (%+.0f)",
					       at ? ", " : "", rows[i].nodes, step);
	}
	if (!steps)
		return;
	if (steps > MAX_STEPS_LISTED)
		snprintf(text + at, sizeof(text) - at, " and %u more", steps - MAX_STEPS_LISTED);
	probe_table_add_note(t, "%u step%s in bytes up to %u nodes: at %s", steps,
			     steps == 1 ? "" : "s",
			     rows[n - 1].nodes < SHORT ? rows[n - 1].nodes : SHORT, text);
}

/* Columns of rows [0, N), as needed for fitting and plotting. */
struct columns {
	double *nodes, *bytes, *us, *us_p10, *back_bytes, *back_us, *kernels_bytes, *kernels_us,
		*line;
};

static struct columns columns_of(const struct probe_launches *rows, uint32_t n)
{
	double *all = probe_allocate(9 * (size_t)n, sizeof(*all));
	struct columns c = {all,	 all + n,     all + 2 * n, all + 3 * n, all + 4 * n,
			    all + 5 * n, all + 6 * n, all + 7 * n, all + 8 * n};

	for (uint32_t i = 0; i < n; i++) {
		c.nodes[i] = rows[i].nodes;
		c.bytes[i] = rows[i].bytes;
		c.us[i] = rows[i].us_p50;
		c.us_p10[i] = rows[i].us_p10;
		c.back_bytes[i] = rows[i].back_to_back_bytes;
		c.back_us[i] = rows[i].back_to_back_us;
		c.kernels_bytes[i] = rows[i].kernels_bytes;
		c.kernels_us[i] = rows[i].kernels_us;
	}
	return c;
}

static double mib_per_s(const struct probe_fit *f)
{
	return 1e6 / f->slope / (1 << 20);
}

/* Fits the 10th percentiles, which a temporarily busy machine changes least. */
static void fit_low(char *text, size_t room, const struct columns *c, uint32_t n)
{
	struct probe_fit f;

	*text = 0;
	if (probe_fit(&f, c->bytes, c->us_p10, n) && f.slope > 0)
		snprintf(text, room, "; 10th percentiles: %.2f MiB/s, starting at %.2f us (r %.3f)",
			 mib_per_s(&f), f.intercept, f.r);
}

static void derive_fit(struct probe_table *t, const struct probe_launches *rows, uint32_t n,
		       bool whole)
{
	struct columns c;
	struct probe_fit f;
	char low[128];
	bool line;

	if (n < 2)
		return;
	c = columns_of(rows, n);
	line = probe_fit(&f, c.bytes, c.us, n);
	fit_low(low, sizeof(low), &c, n);
	if (!line)
		probe_table_add_note(
			t, "launch time by bytes, %u to %u nodes: no fit, the bytes do not differ",
			rows[0].nodes, rows[n - 1].nodes);
	else if (!(f.slope > 0))
		probe_table_add_note(
			t,
			"launch time by bytes, %u to %u nodes: does not grow with the bytes "
			"(r %.3f, %u points)%s",
			rows[0].nodes, rows[n - 1].nodes, f.r, f.n, low);
	else
		probe_table_add_note(
			t,
			"launch time by bytes, %u to %u nodes: %.2f MiB/s, starting at %.2f us "
			"(r %.3f, %u points)%s; published, A40: %.2f with CUDA %s, %.2f with "
			"%s",
			rows[0].nodes, rows[n - 1].nodes, mib_per_s(&f), f.intercept, f.r, f.n, low,
			whole ? published[0].slope : published[0].short_slope, published[0].cuda,
			whole ? published[1].slope : published[1].short_slope, published[1].cuda);
	free(c.nodes);
}

static uint32_t count_short(const struct probe_launches *rows, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && rows[i].nodes <= SHORT)
		i++;
	return i;
}

void probe_graph_derive(struct probe_table *t, const struct probe_launches *rows, uint32_t n)
{
	uint32_t few = count_short(rows, n);

	for (uint32_t i = 0; i < 2; i++)
		probe_table_add_note(
			t,
			"published, A40, CUDA %s, 1 to 2000 nodes: %.0f to %.0f bytes, "
			"%.1f to %.1f us, %s",
			published[i].cuda, published[i].bytes[0], published[i].bytes[1],
			published[i].us[0], published[i].us[1],
			i ? "more doorbells with more nodes"
			  : "one doorbell; up to 200 nodes a staircase of +192 bytes and "
			    "+0.5 us");
	derive_steps(t, rows, n);
	derive_fit(t, rows, few, false);
	if (n > few)
		derive_fit(t, rows, n, true);
}

/* ---- plots ---- */

static void write_plot(const char *folder, const char *name, const struct probe_plot *plot)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s.svg", folder, name);
	probe_svg_write(path, plot);
}

static void draw_lengths(const char *folder, const char *name, const char *title, const char *y,
			 const struct probe_session *s, const struct columns *c, uint32_t n,
			 const double *after, const double *back, const double *kernels,
			 const double *a, const double *b)
{
	const struct probe_series series[] = {
		{"graph, after a synchronize", c->nodes, after, n},
		{"graph, back to back", c->nodes, back, n},
		{"kernels one by one", c->nodes, kernels, n},
		{"A40, CUDA 13.0, published", published_nodes, a, 2, true},
		{"A40, CUDA 11.8, published", published_nodes, b, 2, true},
	};

	write_plot(folder, name,
		   &(struct probe_plot){.title = title,
					.subtitle = probe_describe_machine(s),
					.x = "kernels in a chain",
					.y = y,
					.log_x = true,
					.log_y = true,
					.series = series,
					.n = 5});
}

static void draw_steps(const char *folder, const struct probe_session *s, const struct columns *c,
		       uint32_t n)
{
	const struct probe_series series[] = {
		{"after a synchronize", c->nodes, c->bytes, n},
		{"back to back", c->nodes, c->back_bytes, n},
		{"A40, CUDA 13.0, published ends", published_short, published_steps, 2, true},
	};

	write_plot(folder, "graph-steps",
		   &(struct probe_plot){.title = "Steps: bytes of commands a launch, short chains",
					.subtitle = probe_describe_machine(s),
					.x = "kernels in a chain",
					.y = "bytes a launch",
					.series = series,
					.n = 3});
}

static void draw_fit(const char *folder, const struct probe_session *s, const struct columns *c,
		     uint32_t n)
{
	struct probe_fit f;
	bool line = probe_fit(&f, c->bytes, c->us, n);
	char name[64] = "";
	const struct probe_series series[] = {
		{"launches, median of each length", c->bytes, c->us, n, true},
		{"A40, CUDA 13.0, published ends", published[0].bytes, published[0].us, 2, true},
		{name, c->bytes, c->line, line ? n : 0},
	};

	for (uint32_t i = 0; line && i < n; i++)
		c->line[i] = f.intercept + f.slope * c->bytes[i];
	if (line && f.slope > 0)
		snprintf(name, sizeof(name), "least squares: %.1f MiB/s, r %.3f", mib_per_s(&f),
			 f.r);
	else
		snprintf(name, sizeof(name), "least squares");
	write_plot(folder, "graph-fit",
		   &(struct probe_plot){.title = "Launch time by bytes of commands",
					.subtitle = probe_describe_machine(s),
					.x = "bytes of commands a launch",
					.y = "µs in cuGraphLaunch",
					.series = series,
					.n = 3});
}

void probe_graph_draw(const struct probe_launches *rows, uint32_t n, const struct probe_session *s,
		      const char *folder)
{
	struct columns c = columns_of(rows, n);

	draw_lengths(folder, "graph-bytes", "Bytes of commands a launch", "bytes a launch", s, &c,
		     n, c.bytes, c.back_bytes, c.kernels_bytes, published[0].bytes,
		     published[1].bytes);
	draw_lengths(folder, "graph-time", "Time in the calls that launch", "µs a launch", s, &c, n,
		     c.us, c.back_us, c.kernels_us, published[0].us, published[1].us);
	draw_steps(folder, s, &c, count_short(rows, n));
	draw_fit(folder, s, &c, n);
	free(c.nodes);
}
