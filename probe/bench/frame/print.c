/* SPDX-License-Identifier: MIT */
/* Prints figures as tables, CSV and JSON, and draws curves as plots. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"
#include "probe/lib/svg.h"

enum { OWN = 7, MAX_GPUS = 12 };

/*
 * A benchmark's table while it is printed, with the text of its cells and the GPUs of its published
 * figures.
 */
struct shown {
	struct probe_table table;
	struct probe_column column[OWN + MAX_GPUS];
	const char *gpu[MAX_GPUS];
	uint32_t gpus;
	char (*clock)[24];
	bool slow; /* a row has a clock below boost */
};

static void find_published_gpus(struct shown *s, const struct bench_figures *f, const char *bench)
{
	for (uint32_t i = 0; i < f->npublished; i++) {
		uint32_t k = 0;

		if (strcmp(f->published[i].bench, bench))
			continue;
		while (k < s->gpus && strcmp(s->gpu[k], f->published[i].gpu))
			k++;
		if (k == s->gpus && k < MAX_GPUS)
			s->gpu[s->gpus++] = f->published[i].gpu;
	}
}

static double published_value(const struct bench_figures *f, const char *bench, const char *name,
			      const char *parameter, const char *gpu)
{
	for (uint32_t i = 0; i < f->npublished; i++) {
		const struct bench_published_figure *p = &f->published[i];

		if (!strcmp(p->bench, bench) && !strcmp(p->name, name) &&
		    !strcmp(p->parameter, parameter) && !strcmp(p->gpu, gpu))
			return p->value;
	}
	return NAN;
}

static void add_row(struct shown *s, const struct bench_figures *f,
		    const struct bench_figure *figure)
{
	struct probe_cell cell[OWN + MAX_GPUS];
	char *clock = s->clock[s->table.nrows];

	snprintf(clock, sizeof(*s->clock), "-");
	if (isfinite(figure->sm_mhz)) {
		bool slow = bench_below_boost(&f->gpu, figure->sm_mhz);

		snprintf(clock, sizeof(*s->clock), "%.0f%s", figure->sm_mhz, slow ? " *" : "");
		s->slow |= slow;
	}
	cell[0] = PROBE_WORDS(figure->name);
	cell[1] = PROBE_WORDS(figure->parameter);
	cell[2] = PROBE_NUMBER(figure->value);
	cell[3] = PROBE_WORDS(figure->unit);
	cell[4] = PROBE_NUMBER(figure->least);
	cell[5] = PROBE_NUMBER(figure->most);
	cell[6] = PROBE_WORDS(clock);
	for (uint32_t i = 0; i < s->gpus; i++)
		cell[OWN + i] = PROBE_NUMBER(published_value(f, figure->bench, figure->name,
							     figure->parameter, s->gpu[i]));
	probe_table_add_row(&s->table, cell);
}

static bool is_measured(const struct bench_figures *f, const struct bench_published_figure *p)
{
	for (uint32_t i = 0; i < f->nfigure; i++)
		if (!strcmp(f->figure[i].bench, p->bench) && !strcmp(f->figure[i].name, p->name) &&
		    !strcmp(f->figure[i].parameter, p->parameter))
			return true;
	return false;
}

/* Adds a row for each published figure that was not measured. */
static void add_published_rows(struct shown *s, const struct bench_figures *f, const char *bench)
{
	for (uint32_t i = 0; i < f->npublished; i++) {
		const struct bench_published_figure *p = &f->published[i];
		bool again = false;

		for (uint32_t k = 0; k < i; k++)
			again |= !strcmp(f->published[k].bench, bench) &&
				 !strcmp(f->published[k].name, p->name) &&
				 !strcmp(f->published[k].parameter, p->parameter);
		if (!strcmp(p->bench, bench) && !again && !is_measured(f, p))
			add_row(s, f,
				&(struct bench_figure){p->bench, p->name, p->parameter, (char *)"",
						       NAN, NAN, NAN, NAN, false});
	}
}

static void set_columns(struct shown *s)
{
	static const struct probe_column own[OWN] = {
		{"name", "figure", -1, 0},   {"parameter", "of", -1, 0}, {"value", "median", 3, 0},
		{"unit", "unit", -1, 0},     {"min", "least", 3, 2},	 {"max", "most", 3, 2},
		{"sm_mhz", "SM MHz", -1, 0},
	};

	memcpy(s->column, own, sizeof(own));
	for (uint32_t i = 0; i < s->gpus; i++)
		/* The theoretical value is more useful than the spread of the samples. */
		s->column[OWN + i] = (struct probe_column){
			"", s->gpu[i], 3, strcmp(s->gpu[i], "theory") ? 3 + (int)i : 1};
	s->table.columns = s->column;
	s->table.ncolumns = OWN + s->gpus;
}

static void print_sentences(const struct bench_sentence *said, uint32_t n, const char *bench,
			    const char *before)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(said[i].bench, bench)) {
			struct bench_text text = {NULL, 0, 0};

			bench_emit(&text, "%s%s", before, said[i].text);
			probe_print_wrapped(text.data);
			bench_text_free(&text);
		}
}

static void print_bench(const struct bench_figures *f, const struct bench *b, bool details)
{
	struct shown s = {.table = {.study = "bench"}};
	struct bench_text text = {NULL, 0, 0};
	uint32_t more = 0;

	bench_emit(&text, "%s%s%s%s: %s", b->name, *b->number ? " (" : "", b->number,
		   *b->number ? ")" : "", b->what);
	putchar('\n');
	probe_print_wrapped(text.data);
	bench_text_free(&text);
	find_published_gpus(&s, f, b->name);
	set_columns(&s);
	s.clock = calloc(f->nfigure + f->npublished + 1, sizeof(*s.clock));
	if (!s.clock)
		probe_die("out of memory");
	for (uint32_t i = 0; i < f->nfigure; i++)
		if (!strcmp(f->figure[i].bench, b->name)) {
			if (f->figure[i].detail && !details)
				more++;
			else
				add_row(&s, f, &f->figure[i]);
		}
	if (details || !more)
		add_published_rows(&s, f, b->name);
	if (s.table.nrows) {
		putchar('\n');
		probe_table_print_text(&s.table);
	}
	if (s.slow)
		probe_print_wrapped("* the SM clock was below boost");
	print_sentences(f->note, f->nnote, b->name, "");
	print_sentences(f->missing, f->nmissing, b->name, "Missing: ");
	if (more) {
		bench_emit(&text, "%u more figures: nvsnoop-probe bench %s", more, b->name);
		probe_print_wrapped(text.data);
		bench_text_free(&text);
	}
	probe_table_free(&s.table);
	free(s.clock);
}

static void print_text(const struct bench_figures *f, const struct bench_sample_set *saved,
		       bool details)
{
	const struct bench_gpu *g = &f->gpu;

	printf("%s, driver %s, %llu SMs", g->name, *g->driver ? g->driver : "not known",
	       (unsigned long long)g->sms);
	if (g->boost_khz)
		printf(", boost %llu MHz", (unsigned long long)g->boost_khz / 1000);
	printf("%s%s\n", *g->date ? ", " : "", g->date);
	for (uint32_t i = 0; i < saved->n; i++)
		print_bench(f, bench_find_benchmark(saved->of[i].bench), details);
}

static void json_number(const char *key, double v)
{
	if (isfinite(v))
		printf(",\"%s\":%.9g", key, v);
	else
		printf(",\"%s\":null", key);
}

/* BEFORE is '{' for an object's first member, ',' for others. */
static void json_words(char before, const char *key, const char *words)
{
	printf("%c\"%s\":", before, key);
	probe_print_quoted(words);
}

static void print_json_sentence(const char *key, const struct bench_sentence *said, uint32_t n)
{
	printf("],\n\"%s\":[", key);
	for (uint32_t i = 0; i < n; i++) {
		puts(i ? "," : "");
		json_words('{', "benchmark", said[i].bench);
		json_words(',', "text", said[i].text);
		putchar('}');
	}
}

static void print_json(const struct bench_figures *f)
{
	printf("{\"schema\":2,\"study\":\"bench\"");
	json_words(',', "gpu", f->gpu.name);
	json_words(',', "driver", f->gpu.driver);
	json_words(',', "date", f->gpu.date);
	printf(",\"rows\":[");
	for (uint32_t i = 0; i < f->nfigure; i++) {
		const struct bench_figure *r = &f->figure[i];

		puts(i ? "," : "");
		json_words('{', "benchmark", r->bench);
		json_words(',', "name", r->name);
		json_words(',', "parameter", r->parameter);
		json_number("value", r->value);
		json_words(',', "unit", r->unit);
		json_number("min", r->least);
		json_number("max", r->most);
		json_number("sm_mhz", r->sm_mhz);
		printf(",\"below_boost\":%s,\"detail\":%s",
		       bench_below_boost(&f->gpu, r->sm_mhz) ? "true" : "false",
		       r->detail ? "true" : "false");
		json_words(',', "gpu", f->gpu.name);
		putchar('}');
	}
	printf("],\n\"published\":[");
	for (uint32_t i = 0; i < f->npublished; i++) {
		const struct bench_published_figure *p = &f->published[i];

		puts(i ? "," : "");
		json_words('{', "benchmark", p->bench);
		json_words(',', "name", p->name);
		json_words(',', "parameter", p->parameter);
		json_number("value", p->value);
		json_words(',', "gpu", p->gpu);
		putchar('}');
	}
	print_json_sentence("notes", f->note, f->nnote);
	print_json_sentence("missing", f->missing, f->nmissing);
	printf("]}\n");
}

/* Doubles quotes, as CSV requires. */
static void csv_words(const char *words)
{
	if (!strpbrk(words, ",\"")) {
		fputs(words, stdout);
		return;
	}
	putchar('"');
	for (; *words; words++)
		printf(*words == '"' ? "\"\"" : "%c", *words);
	putchar('"');
}

static void csv_number(double v)
{
	putchar(',');
	if (isfinite(v))
		printf("%.9g", v);
}

static void print_csv(const struct bench_figures *f)
{
	printf("benchmark,name,parameter,value,unit,min,max,sm_mhz,gpu\n");
	for (uint32_t i = 0; i < f->nfigure; i++) {
		const struct bench_figure *r = &f->figure[i];

		csv_words(r->bench);
		putchar(',');
		csv_words(r->name);
		putchar(',');
		csv_words(r->parameter);
		csv_number(r->value);
		putchar(',');
		csv_words(r->unit);
		csv_number(r->least);
		csv_number(r->most);
		csv_number(r->sm_mhz);
		putchar(',');
		csv_words(f->gpu.name);
		putchar('\n');
	}
}

void bench_print_figures(const struct bench_figures *f, const struct bench_sample_set *saved,
			 enum probe_format format, bool details)
{
	if (format == PROBE_JSON)
		print_json(f);
	else if (format == PROBE_CSV)
		print_csv(f);
	else
		print_text(f, saved, details);
	if (fflush(stdout) || ferror(stdout))
		probe_die("cannot write the result");
}

/* ---- plots ---- */

enum { MAX_CURVES = 16 };

static void draw_plot(const struct bench_figures *f, const char *folder, uint32_t first)
{
	const struct bench_plot *d = &f->drawn[first];
	struct probe_series series[MAX_CURVES] = {{0}};
	struct bench_text path = {NULL, 0, 0}, below = {NULL, 0, 0};
	struct probe_plot plot = {.title = d->title,
				  .x = d->series->x ? d->series->x : "",
				  .y = d->series->unit,
				  .log_x = d->log_x,
				  .log_y = d->log_y,
				  .binary_x = d->log_x && d->series->x &&
					      !strcmp(d->series->x, "bytes"),
				  .series = series};

	for (uint32_t i = first; i < f->ndrawn && plot.n < MAX_CURVES; i++) {
		const struct bench_series *s = f->drawn[i].series;
		double *xy;

		if (strcmp(f->drawn[i].bench, d->bench) || strcmp(f->drawn[i].picture, d->picture))
			continue;
		xy = malloc((s->n + 1) * 2 * sizeof(*xy));
		if (!xy)
			probe_die("out of memory");
		for (uint32_t k = 0; k < s->n; k++) {
			xy[k] = s->point[k].x;
			xy[s->n + k] = bench_median(&s->point[k]);
		}
		series[plot.n++] = (struct probe_series){s->name, xy,	 xy + s->n,
							 s->n,	  false, false};
	}
	bench_emit(&path, "%s/bench-", folder);
	for (const char *p = d->picture; *p; p++)
		bench_emit(&path, "%c", *p == '/' || *p == ' ' ? '-' : *p);
	bench_emit(&path, ".svg");
	bench_emit(&below, "%s, driver %s, %s", f->gpu.name, f->gpu.driver, f->gpu.date);
	plot.subtitle = below.data;
	probe_svg_write(path.data, &plot);
	for (uint32_t i = 0; i < plot.n; i++)
		free((void *)series[i].x);
	bench_text_free(&path);
	bench_text_free(&below);
}

void bench_draw_plots(const struct bench_figures *f, const char *folder)
{
	for (uint32_t i = 0; i < f->ndrawn; i++) {
		uint32_t k = 0;

		while (strcmp(f->drawn[k].bench, f->drawn[i].bench) ||
		       strcmp(f->drawn[k].picture, f->drawn[i].picture))
			k++;
		if (k == i)
			draw_plot(f, folder, i);
	}
}
