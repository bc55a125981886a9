/* SPDX-License-Identifier: MIT */
/* Storage of results: figures, published figures, notes and plots. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"

/* Copies a string as one line, without characters that would end a cell or field. */
static char *copy_line(const char *text)
{
	char *p = probe_copy(text ? text : "", SIZE_MAX);

	for (char *c = p; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '|')
			*c = ' ';
	return p;
}

void bench_figure(struct bench_figures *f, const char *name, const char *parameter,
		  const char *unit, double value, double least, double most, double sm_mhz)
{
	f->figure = probe_grow(f->figure, f->nfigure, sizeof(*f->figure));
	f->figure[f->nfigure++] = (struct bench_figure){f->bench->name,
							copy_line(name),
							copy_line(parameter),
							copy_line(unit),
							value,
							least,
							most,
							sm_mhz,
							false};
}

void bench_mark_detail(struct bench_figures *f, bool is)
{
	f->figure[f->nfigure - 1].detail = is;
}

void bench_add_point_figure(struct bench_figures *f, const char *name, const char *parameter,
			    const struct bench_series *series, const struct bench_point *point)
{
	bench_figure(f, name, parameter, series->unit, bench_median(point), bench_min(point),
		     bench_max(point), point->sm_mhz);
}

static void add_sentence(struct bench_sentence **list, uint32_t *n, const char *bench,
			 const char *text)
{
	*list = probe_grow(*list, *n, sizeof(**list));
	(*list)[(*n)++] = (struct bench_sentence){bench, copy_line(text)};
}

void bench_add_note(struct bench_figures *f, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = probe_vformat(format, ap);
	va_end(ap);
	add_sentence(&f->note, &f->nnote, f->bench->name, text);
	free(text);
}

void bench_add_plot(struct bench_figures *f, const char *picture, const char *title,
		    const struct bench_series *series, bool log_x, bool log_y)
{
	f->drawn = probe_grow(f->drawn, f->ndrawn, sizeof(*f->drawn));
	f->drawn[f->ndrawn++] = (struct bench_plot){
		f->bench->name, copy_line(picture), copy_line(title), series, log_x, log_y};
}

void bench_add_published(struct bench_figures *f, const char *name, const char *parameter,
			 const char *gpu, double value)
{
	f->published = probe_grow(f->published, f->npublished, sizeof(*f->published));
	f->published[f->npublished++] = (struct bench_published_figure){
		f->bench->name, copy_line(name), copy_line(parameter), copy_line(gpu), value};
}

void bench_derive_figures(struct bench_figures *f, const struct bench *bench,
			  const struct bench_samples *samples)
{
	f->bench = bench;
	for (uint32_t i = 0; i < samples->nmissing; i++)
		add_sentence(&f->missing, &f->nmissing, bench->name, samples->missing[i]);
	if (samples->n)
		bench->derive(samples, &f->gpu, f);
}

const struct bench_figure *bench_figure_find(const struct bench_figures *f, const char *name,
					     const char *parameter)
{
	for (uint32_t i = 0; i < f->nfigure; i++)
		if (!strcmp(f->figure[i].name, name) &&
		    (!parameter || !strcmp(f->figure[i].parameter, parameter)))
			return &f->figure[i];
	return NULL;
}

const struct bench_figure *bench_find_figure(const struct bench_figures *f, const char *bench,
					     const char *name, const char *parameter)
{
	for (uint32_t i = 0; i < f->nfigure; i++)
		if (!strcmp(f->figure[i].bench, bench) && !strcmp(f->figure[i].name, name) &&
		    !strcmp(f->figure[i].parameter, parameter))
			return &f->figure[i];
	return NULL;
}

void bench_figures_free(struct bench_figures *f)
{
	for (uint32_t i = 0; i < f->nfigure; i++) {
		free(f->figure[i].name);
		free(f->figure[i].parameter);
		free(f->figure[i].unit);
	}
	for (uint32_t i = 0; i < f->npublished; i++) {
		free(f->published[i].name);
		free(f->published[i].parameter);
		free(f->published[i].gpu);
	}
	for (uint32_t i = 0; i < f->ndrawn; i++) {
		free(f->drawn[i].picture);
		free(f->drawn[i].title);
	}
	for (uint32_t i = 0; i < f->nnote; i++)
		free(f->note[i].text);
	for (uint32_t i = 0; i < f->nmissing; i++)
		free(f->missing[i].text);
	free(f->figure);
	free(f->published);
	free(f->drawn);
	free(f->note);
	free(f->missing);
	*f = (struct bench_figures){.gpu = f->gpu};
}
