/* SPDX-License-Identifier: MIT */
/* Evaluates the rows of the dma study: start-up time, saturation, crossover, plots. */
#include <math.h>
#include <stdio.h>
#include "probe/studies/dma.h"
#include "probe/lib/svg.h"

/* arXiv 2604.26889, Table 2: an A40, PCIe 4.0 x16. */
static const struct dma_published published[] = {
	{8, 24, 468.25, 94.87},		 {32, 24, 474.5, 94.94},
	{128, 32, 495.5, 93.54},	 {512, 48, 564.5, 91.5},
	{2048, 124.8, 1763.5, 92.92},	 {8192, 448, 1924.75, 76.72},
	{32768, 1900, 3780, 49.89},	 {131072, 5950, 6970, 14.65},
	{524288, 22060, 22800, 3.25},	 {2097152, 87110, 87890, 0.89},
	{8388608, 346900, 348600, 0.49}, {33554432, 1384960, 1389980, 0.36},
};
enum { NPUBLISHED = sizeof(published) / sizeof(published[0]), PUBLISHED_INLINE = 6 };

const struct dma_published *dma_published(const struct dma_way *w, uint32_t bytes)
{
	static const struct dma_published none = {0, NAN, NAN, NAN};

	if (w->direction != TO_DEVICE || w->single || w->commands != PROBE_HOST || w->to_host)
		return &none;
	for (uint32_t i = 0; i < NPUBLISHED; i++)
		if (published[i].bytes == bytes && w->copy == (i >= PUBLISHED_INLINE))
			return &published[i];
	return &none;
}

/* ---- notes ---- */

struct curve { /* the rows of a main way */
	const struct nvs_value *rows[128];
	uint32_t n;
};

static double value_at(const struct curve *c, uint32_t i, uint32_t column)
{
	return c->rows[i][column].real;
}

static void derive_curve(struct probe_table *t, const struct dma_way *w, const struct curve *c)
{
	double best = 0;
	uint32_t i;

	for (i = 0; i < c->n; i++)
		if (value_at(c, i, COL_GIB) > best)
			best = value_at(c, i, COL_GIB);
	if (!c->n || best <= 0 || isnan(value_at(c, 0, COL_NS))) /* no result: wrong data */
		return;
	for (i = 0; i < c->n && !(value_at(c, i, COL_GIB) >= 0.95 * best); i++)
		;
	probe_table_add_note(
		t,
		"%s %s: starts at %.2f ns (%.0f bytes); reaches 95 %% of the best, %.3f GiB/s, at "
		"%.0f bytes",
		w->copy ? "copy" : "inline", w->to_host ? "HtoH" : direction_name[w->direction],
		value_at(c, 0, COL_NS), value_at(c, 0, COL_BYTES), best, value_at(c, i, COL_BYTES));
}

static double ns_at(const struct curve *c, double bytes)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (value_at(c, i, COL_BYTES) == bytes)
			return value_at(c, i, COL_NS);
	return NAN;
}

/* Finds the smallest size, among those measured for both, from which on the copy engine is never
 * slower. */
static void derive_crossover(struct probe_table *t, const struct curve *in,
			     const struct curve *copy)
{
	double from = NAN, before = NAN;

	for (uint32_t i = 0; i < in->n; i++) {
		double other = ns_at(copy, value_at(in, i, COL_BYTES));

		if (isnan(other) || isnan(value_at(in, i, COL_NS)))
			continue;
		if (other > value_at(in, i, COL_NS)) {
			before = value_at(in, i, COL_BYTES);
			from = NAN;
		} else if (isnan(from)) {
			from = value_at(in, i, COL_BYTES);
		}
	}
	if (!isnan(from) && !isnan(before))
		probe_table_add_note(
			t,
			"HtoD: inline is faster up to %.0f bytes, the copy engine from %.0f bytes",
			before, from);
	else if (!isnan(before))
		probe_table_add_note(t, "HtoD: inline is faster at every size up to %.0f bytes",
				     before);
	else if (!isnan(from))
		probe_table_add_note(t, "HtoD: the copy engine is faster from %.0f bytes", from);
}

void dma_add_notes(struct probe_table *t, const struct dma_way *ways, const uint32_t *ends)
{
	static struct curve curves[DMA_MAIN];
	uint32_t row = 0;

	for (uint32_t i = 0; i < DMA_MAIN; i++) {
		struct curve *c = &curves[i];

		for (c->n = 0; row < ends[i]; row++)
			if (c->n < 128)
				c->rows[c->n++] = probe_table_cells(t, row);
		derive_curve(t, &ways[i], c);
	}
	derive_crossover(t, &curves[0], &curves[2]);
}

/* ---- plots ---- */

static void draw_plot(const struct probe_table *t, const struct probe_session *s,
		      const uint32_t *ends, const char *path, bool bandwidth)
{
	static const char *const names[] = {
		"inline to device", "inline to host",	"copy engine HtoD", "copy engine DtoH",
		"copy engine DtoD", "copy engine DtoP", "copy engine PtoD"};
	static double x[DMA_MAIN + 1][128], y[DMA_MAIN + 1][128];
	double link_x[2] = {INFINITY, 0}, link_y[2] = {s->link_gib_s, s->link_gib_s};
	struct probe_series series[DMA_MAIN + 2];
	char link[64];
	uint32_t row = 0, k = 0;

	for (uint32_t i = 0; i < DMA_MAIN; i++) {
		uint32_t n = 0;

		for (; row < ends[i]; row++) {
			const struct nvs_value *c = probe_table_cells(t, row);

			if (n == 128 || isnan(c[COL_NS].real))
				continue;
			x[k][n] = c[COL_BYTES].real;
			link_x[0] = fmin(link_x[0], x[k][n]);
			link_x[1] = fmax(link_x[1], x[k][n]);
			y[k][n++] = c[bandwidth ? COL_GIB : COL_NS].real;
		}
		if (n) /* empty without a peer */
			series[k] = (struct probe_series){names[i], x[k], y[k], n, false, i >= 5},
			k++;
	}
	for (uint32_t i = 0; i < NPUBLISHED; i++) {
		x[k][i] = published[i].bytes;
		y[k][i] = bandwidth ? published[i].bytes / published[i].ns * 1e9 / (1 << 30)
				    : published[i].ns;
	}
	series[k] = (struct probe_series){"A40, published", x[k], y[k], NPUBLISHED, true};
	k++;
	if (bandwidth && s->link_gib_s > 0 && link_x[1] > 0) {
		snprintf(link, sizeof(link), "PCIe %s, by rate and coding", s->link);
		series[k++] = (struct probe_series){link, link_x, link_y, 2, false, true};
	}
	probe_svg_write(path, &(struct probe_plot){
				      .title = bandwidth ? "Bandwidth of back-to-back transfers"
							 : "Interval of back-to-back transfers",
				      .subtitle = probe_describe_machine(s),
				      .x = "bytes a transfer",
				      .y = bandwidth ? "GiB/s" : "ns a transfer",
				      .log_x = true,
				      .log_y = true,
				      .binary_x = true,
				      .series = series,
				      .n = k,
			      });
}

void dma_draw_plots(const struct probe_table *t, const struct probe_session *s,
		    const uint32_t *ends, const char *folder)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/dma-latency.svg", folder);
	draw_plot(t, s, ends, path, false);
	snprintf(path, sizeof(path), "%s/dma-bandwidth.svg", folder);
	draw_plot(t, s, ends, path, true);
}
