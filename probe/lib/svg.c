/* SPDX-License-Identifier: MIT */
/* Plots as SVG, by hand: what is drawn is little, and needs no library. */
#include "probe/lib/svg.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "probe/probe.h"

enum { WIDTH = 760, LEFT = 78, RIGHT = 30, TOP = 62, FLOOR = 430, LEGEND = 492, LEGEND_LINE = 18 };

/* Told apart by the colour-blind too (Okabe and Ito). */
static const char *const colours[] = {"#0072b2", "#56b4e9", "#d55e00", "#009e73", "#cc79a7",
				      "#444444", "#e69f00", "#a08000", "#888888"};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

struct axis {
	double low, high; /* of the value, or of its logarithm */
	bool log;
	double from, to; /* on the page */
};

static double scaled(const struct axis *a, double v)
{
	return a->log ? log2(v) : v;
}

static double place(const struct axis *a, double v)
{
	return a->from + (scaled(a, v) - a->low) / (a->high - a->low) * (a->to - a->from);
}

static bool shown(const struct probe_plot *p, double x, double y)
{
	return isfinite(x) && isfinite(y) && (!p->log_x || x > 0) && (!p->log_y || y > 0);
}

static void widen(struct axis *a, double v)
{
	double at = scaled(a, v);

	a->low = at < a->low ? at : a->low;
	a->high = at > a->high ? at : a->high;
}

/* The step of its labels: of 2 on the x axis of bytes, else of 10 or of a round figure. It ends on
 * whole steps, but for a logarithmic one along the page, which ends where the curves do. */
static double round_axis(struct axis *a, bool binary, bool along)
{
	double step, unit;

	if (!(a->low <= a->high)) {
		a->low = 0;
		a->high = 1;
	}
	if (a->log) {
		step = binary ? 2 : log2(10);
		while (binary && (a->high - a->low) / step > 12)
			step += 2;
	} else {
		a->low = a->low > 0 ? 0 : a->low;
		unit = pow(10, floor(log10((a->high - a->low) / 5 + 1e-30)));
		step = unit;
		while ((a->high - a->low) / step > 8)
			step *= step / unit < 1.5 ? 2 : 2.5;
	}
	if (a->log && along && a->high - a->low > step) {
		unit = (a->high - a->low) * 0.02;
		a->low -= unit;
		a->high += unit;
		return step;
	}
	a->low = floor(a->low / step + 1e-9) * step;
	a->high = ceil(a->high / step - 1e-9) * step;
	if (a->high <= a->low)
		a->high = a->low + step;
	return step;
}

static void label(char *text, size_t room, double v, bool binary)
{
	static const char *const unit[] = {"", "Ki", "Mi", "Gi"};
	int i = 0;

	while (binary && v >= 1024 && i < 3) {
		v /= 1024;
		i++;
	}
	/* Six digits: what a logarithm came back as. */
	snprintf(text, room, "%.6g%s%s", v, *unit[i] ? " " : "", unit[i]);
}

static void escape(FILE *f, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		default:
			if ((unsigned char)*text >= 0x20)
				fputc(*text, f);
		}
}

static void words(FILE *f, double x, double y, const char *how, const char *text)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, how);
	escape(f, text);
	fprintf(f, "</text>\n");
}

/* 10 to the power of so many, where the axis has figures with many zeros. */
static void power(FILE *f, double x, double y, const char *how, int exponent)
{
	fprintf(f,
		"<text x=\"%.1f\" y=\"%.1f\" %s>10<tspan dy=\"-5\" "
		"font-size=\"9\">%d</tspan></text>\n",
		x, y, how, exponent);
}

static void grid(FILE *f, const struct axis *x, const struct axis *y, const struct axis *a,
		 double step, bool binary)
{
	bool powers = a->log && !binary && a->high > log2(1e5) + 1e-6;
	char text[32];

	/* 0 added: of -0 there is no label. */
	for (double v = ceil(a->low / step - 1e-9) * step + 0.0; v <= a->high + step * 1e-6;
	     v += step) {
		double value = a->log ? exp2(v) : v, at = place(a, value);
		double tx = a == x ? at : x->from - 8, ty = a == x ? y->from + 18 : at + 4;
		const char *how = a == x ? "text-anchor=\"middle\"" : "text-anchor=\"end\"";

		if (a == x)
			fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" class=\"g\"/>\n", at, y->from,
				y->to);
		else
			fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" class=\"g\"/>\n", x->from, at,
				x->to);
		if (powers) {
			power(f, tx, ty, how, (int)lround(log10(value)));
			continue;
		}
		label(text, sizeof(text), value, binary);
		words(f, tx, ty, how, text);
	}
}

/* Those of figures that were published differ in shape too. */
static void mark(FILE *f, const char *colour, uint32_t shape, double x, double y)
{
	static const char *const shapes[] = {"m-4 0l4 4l4 -4l-4 -4z", "m-3.5 -3.5h7v7h-7z",
					     "m-4 3.5h8l-4 -7.5z"};

	fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"M%.1f %.1f%s\"/>\n",
		colour, x, y, shapes[shape % 3]);
}

static uint32_t shape_of(const struct probe_plot *p, uint32_t series)
{
	uint32_t n = 0;

	while (series--)
		n += p->series[series].points;
	return n;
}

static void curve(FILE *f, const struct probe_plot *p, const struct axis *x, const struct axis *y,
		  uint32_t series)
{
	const struct probe_series *s = &p->series[series];
	const char *colour = colours[series % COLOURS];
	double last[2] = {0, 0};
	uint32_t n = 0;

	if (!s->points)
		fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s d=\"", colour,
			s->dashed ? " stroke-dasharray=\"7 5\"" : "");
	for (uint32_t i = 0; i < s->n; i++) {
		double px, py;

		if (!shown(p, s->x[i], s->y[i]))
			continue;
		px = place(x, s->x[i]);
		py = place(y, s->y[i]);
		if (s->points)
			mark(f, colour, shape_of(p, series), px, py);
		else
			fprintf(f, "%c%.1f %.1f", n ? 'L' : 'M', px, py);
		n++;
		last[0] = px;
		last[1] = py;
	}
	if (!s->points)
		fprintf(f, "\"/>\n");
	/* A path to nowhere is not drawn. */
	if (!s->points && n == 1)
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", last[0],
			last[1], colour);
}

static uint32_t named(const struct probe_plot *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->series[i].n != 0;
	return n;
}

/* In two columns below the plot, where no curve can run into it. */
static void legend(FILE *f, const struct probe_plot *p)
{
	uint32_t lines = (named(p) + 1) / 2, k = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const char *colour = colours[i % COLOURS];
		double x = LEFT + (k / lines) * (WIDTH - LEFT - RIGHT) / 2.0,
		       y = LEGEND + k % lines * LEGEND_LINE;

		if (!p->series[i].n)
			continue;
		if (p->series[i].points)
			mark(f, colour, shape_of(p, i), x + 12, y - 4);
		else
			fprintf(f,
				"<path stroke=\"%s\" stroke-width=\"2\"%s d=\"M%.1f %.1fh24\"/>\n",
				colour, p->series[i].dashed ? " stroke-dasharray=\"7 5\"" : "", x,
				y - 4);
		words(f, x + 32, y, "", p->series[i].name);
		k++;
	}
}

static void draw(FILE *f, const struct probe_plot *p)
{
	struct axis x = {INFINITY, -INFINITY, p->log_x, LEFT, WIDTH - RIGHT};
	struct axis y = {INFINITY, -INFINITY, p->log_y, FLOOR, TOP};
	int height = LEGEND + (int)((named(p) + 1) / 2 * LEGEND_LINE);
	double step_x, step_y;

	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < p->series[i].n; k++)
			if (shown(p, p->series[i].x[k], p->series[i].y[k])) {
				widen(&x, p->series[i].x[k]);
				widen(&y, p->series[i].y[k]);
			}
	step_x = round_axis(&x, p->binary_x, true);
	step_y = round_axis(&y, false, false);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<style>.g{stroke:#ddd;stroke-width:1;fill:none}</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
		WIDTH, height, WIDTH, height, WIDTH, height);
	words(f, LEFT, 24, "font-size=\"16\"", p->title);
	words(f, LEFT, 44, "fill=\"#555\"", p->subtitle);
	grid(f, &x, &y, &x, step_x, p->binary_x);
	grid(f, &x, &y, &y, step_y, false);
	fprintf(f, "<path d=\"M%d %dV%dH%d\" stroke=\"#000\" fill=\"none\"/>\n", LEFT, TOP, FLOOR,
		WIDTH - RIGHT);
	words(f, (LEFT + WIDTH - RIGHT) / 2.0, FLOOR + 40, "text-anchor=\"middle\"", p->x);
	fprintf(f, "<g transform=\"rotate(-90 18 %d)\">", (TOP + FLOOR) / 2);
	words(f, 18, (TOP + FLOOR) / 2.0, "text-anchor=\"middle\"", p->y);
	fprintf(f, "</g>\n");
	for (uint32_t i = 0; i < p->n; i++)
		curve(f, p, &x, &y, i);
	legend(f, p);
	fprintf(f, "</svg>\n");
}

void probe_svg_folder(const char *path)
{
	char inside[PATH_MAX];

	if ((size_t)snprintf(inside, sizeof(inside), "%s/.", path) >= sizeof(inside))
		errno = ENAMETOOLONG;
	else if (!access(inside, W_OK | X_OK))
		return;
	probe_die("%s: %s", path, strerror(errno));
}

void probe_svg(const char *path, const struct probe_plot *plot)
{
	FILE *f = fopen(path, "w");

	if (!f)
		probe_die("%s: %s", path, strerror(errno));
	draw(f, plot);
	if (fflush(f) || ferror(f) || fclose(f))
		probe_die("%s: %s", path, strerror(errno));
}
