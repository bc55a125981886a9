/* SPDX-License-Identifier: MIT */
/* Writes plots as SVG without a library. */
#include "probe/lib/svg.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "probe/probe.h"

enum { WIDTH = 760, LEFT = 78, RIGHT = 30, TOP = 62, FLOOR = 430, LEGEND = 492, LEGEND_LINE = 18 };

/* Distinguishable for the color-blind (Okabe and Ito). */
static const char *const colours[] = {"#0072b2", "#56b4e9", "#d55e00", "#009e73", "#cc79a7",
				      "#444444", "#e69f00", "#a08000", "#888888"};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

struct axis {
	double low, high; /* range of the value, or of its logarithm */
	bool log;
	double from, to; /* range on the page */
};

static double scale_value(const struct axis *a, double v)
{
	return a->log ? log2(v) : v;
}

static double page_position(const struct axis *a, double v)
{
	return a->from + (scale_value(a, v) - a->low) / (a->high - a->low) * (a->to - a->from);
}

static bool is_drawable(const struct probe_plot *p, double x, double y)
{
	return isfinite(x) && isfinite(y) && (!p->log_x || x > 0) && (!p->log_y || y > 0);
}

static void widen_axis(struct axis *a, double v)
{
	double at = scale_value(a, v);

	a->low = at < a->low ? at : a->low;
	a->high = at > a->high ? at : a->high;
}

/*
 * Rounds an axis and returns the step of its labels: powers of 2 for bytes on the x axis, otherwise
 * powers of 10 or round numbers. The axis ends on whole steps, except a logarithmic x axis, which
 * ends where the curves do.
 */
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

static void format_label(char *text, size_t room, double v, bool binary)
{
	static const char *const unit[] = {"", "Ki", "Mi", "Gi"};
	int i = 0;

	while (binary && v >= 1024 && i < 3) {
		v /= 1024;
		i++;
	}
	/* Six digits hide the rounding error of the logarithm. */
	snprintf(text, room, "%.6g%s%s", v, *unit[i] ? " " : "", unit[i]);
}

static void write_escaped(FILE *f, const char *text)
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

static void write_text(FILE *f, double x, double y, const char *how, const char *text)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, how);
	write_escaped(f, text);
	fprintf(f, "</text>\n");
}

/* Writes 10 to the power of EXPONENT, for axes with many zeros. */
static void write_power(FILE *f, double x, double y, const char *how, int exponent)
{
	fprintf(f,
		"<text x=\"%.1f\" y=\"%.1f\" %s>10<tspan dy=\"-5\" "
		"font-size=\"9\">%d</tspan></text>\n",
		x, y, how, exponent);
}

static void draw_grid(FILE *f, const struct axis *x, const struct axis *y, const struct axis *a,
		      double step, bool binary)
{
	bool powers = a->log && !binary && a->high > log2(1e5) + 1e-6;
	char text[32];

	/* Adding 0 avoids the label "-0". */
	for (double v = ceil(a->low / step - 1e-9) * step + 0.0; v <= a->high + step * 1e-6;
	     v += step) {
		double value = a->log ? exp2(v) : v, at = page_position(a, value);
		double tx = a == x ? at : x->from - 8, ty = a == x ? y->from + 18 : at + 4;
		const char *how = a == x ? "text-anchor=\"middle\"" : "text-anchor=\"end\"";

		if (a == x)
			fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" class=\"g\"/>\n", at, y->from,
				y->to);
		else
			fprintf(f, "<path d=\"M%.1f %.1fH%.1f\" class=\"g\"/>\n", x->from, at,
				x->to);
		if (powers) {
			write_power(f, tx, ty, how, (int)lround(log10(value)));
			continue;
		}
		format_label(text, sizeof(text), value, binary);
		write_text(f, tx, ty, how, text);
	}
}

/* Series of published values differ in shape too. */
static void draw_marker(FILE *f, const char *colour, uint32_t shape, double x, double y)
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

static void draw_curve(FILE *f, const struct probe_plot *p, const struct axis *x,
		       const struct axis *y, uint32_t series)
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

		if (!is_drawable(p, s->x[i], s->y[i]))
			continue;
		px = page_position(x, s->x[i]);
		py = page_position(y, s->y[i]);
		if (s->points)
			draw_marker(f, colour, shape_of(p, series), px, py);
		else
			fprintf(f, "%c%.1f %.1f", n ? 'L' : 'M', px, py);
		n++;
		last[0] = px;
		last[1] = py;
	}
	if (!s->points)
		fprintf(f, "\"/>\n");
	/* A path of one point is not visible: draw a circle. */
	if (!s->points && n == 1)
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", last[0],
			last[1], colour);
}

static uint32_t count_named(const struct probe_plot *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->series[i].n != 0;
	return n;
}

/* The legend has two columns below the plot, where no curve can cross it. */
static void draw_legend(FILE *f, const struct probe_plot *p)
{
	uint32_t lines = (count_named(p) + 1) / 2, k = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const char *colour = colours[i % COLOURS];
		double x = LEFT + (k / lines) * (WIDTH - LEFT - RIGHT) / 2.0,
		       y = LEGEND + k % lines * LEGEND_LINE;

		if (!p->series[i].n)
			continue;
		if (p->series[i].points)
			draw_marker(f, colour, shape_of(p, i), x + 12, y - 4);
		else
			fprintf(f,
				"<path stroke=\"%s\" stroke-width=\"2\"%s d=\"M%.1f %.1fh24\"/>\n",
				colour, p->series[i].dashed ? " stroke-dasharray=\"7 5\"" : "", x,
				y - 4);
		write_text(f, x + 32, y, "", p->series[i].name);
		k++;
	}
}

static void draw_plot(FILE *f, const struct probe_plot *p)
{
	struct axis x = {INFINITY, -INFINITY, p->log_x, LEFT, WIDTH - RIGHT};
	struct axis y = {INFINITY, -INFINITY, p->log_y, FLOOR, TOP};
	int height = LEGEND + (int)((count_named(p) + 1) / 2 * LEGEND_LINE);
	double step_x, step_y;

	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < p->series[i].n; k++)
			if (is_drawable(p, p->series[i].x[k], p->series[i].y[k])) {
				widen_axis(&x, p->series[i].x[k]);
				widen_axis(&y, p->series[i].y[k]);
			}
	step_x = round_axis(&x, p->binary_x, true);
	step_y = round_axis(&y, false, false);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<style>.g{stroke:#ddd;stroke-width:1;fill:none}</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
		WIDTH, height, WIDTH, height, WIDTH, height);
	write_text(f, LEFT, 24, "font-size=\"16\"", p->title);
	write_text(f, LEFT, 44, "fill=\"#555\"", p->subtitle);
	draw_grid(f, &x, &y, &x, step_x, p->binary_x);
	draw_grid(f, &x, &y, &y, step_y, false);
	fprintf(f, "<path d=\"M%d %dV%dH%d\" stroke=\"#000\" fill=\"none\"/>\n", LEFT, TOP, FLOOR,
		WIDTH - RIGHT);
	write_text(f, (LEFT + WIDTH - RIGHT) / 2.0, FLOOR + 40, "text-anchor=\"middle\"", p->x);
	fprintf(f, "<g transform=\"rotate(-90 18 %d)\">", (TOP + FLOOR) / 2);
	write_text(f, 18, (TOP + FLOOR) / 2.0, "text-anchor=\"middle\"", p->y);
	fprintf(f, "</g>\n");
	for (uint32_t i = 0; i < p->n; i++)
		draw_curve(f, p, &x, &y, i);
	draw_legend(f, p);
	fprintf(f, "</svg>\n");
}

void probe_svg_check_folder(const char *path)
{
	char inside[PATH_MAX];

	if ((size_t)snprintf(inside, sizeof(inside), "%s/.", path) >= sizeof(inside))
		errno = ENAMETOOLONG;
	else if (!access(inside, W_OK | X_OK))
		return;
	probe_die("%s: %s", path, strerror(errno));
}

void probe_svg_write(const char *path, const struct probe_plot *plot)
{
	FILE *f = fopen(path, "w");

	if (!f)
		probe_die("%s: %s", path, strerror(errno));
	draw_plot(f, plot);
	if (fflush(f) || ferror(f) || fclose(f))
		probe_die("%s: %s", path, strerror(errno));
}
