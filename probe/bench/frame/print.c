/* SPDX-License-Identifier: MIT */
/* Prints figures as tables, CSV and JSON, and draws curves as plots. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/cli/json.h"
#include "decode/cli/output.h"
#include "decode/cli/table.h"
#include "probe/bench/frame/internal.h"
#include "probe/lib/svg.h"

/* The columns; text has the GPUs of published figures in addition. */
static const struct nvs_column own[] = {
	{"benchmark", "", .flags = NVS_COLUMN_DETAIL},
	{"name", "figure", .flags = NVS_COLUMN_LEFT},
	{"parameter", "of", .flags = NVS_COLUMN_LEFT},
	{"value", "median", .decimals = 3},
	{"unit", "unit", .flags = NVS_COLUMN_LEFT},
	{"min", "least", .rank = 2, .decimals = 3},
	{"max", "most", .rank = 2, .decimals = 3},
	{"sm_mhz", "SM MHz", .flags = NVS_COLUMN_LEFT},
	{"below_boost", "", .flags = NVS_COLUMN_JSON},
	{"above_boost", "", .flags = NVS_COLUMN_JSON},
	{"detail", "", .flags = NVS_COLUMN_JSON},
	{"gpu", "", .flags = NVS_COLUMN_DETAIL},
};
/* What CSV has in every row after them, and JSON once. */
static const struct nvs_column machine[] = {
	{"driver", ""},	       {"date", ""},	  {"uuid", ""},	      {"nvsnoop", ""},
	{"cpu", ""},	       {"boost_mhz", ""}, {"memory_mhz", ""}, {"memory_bytes", ""},
	{"power_limit_w", ""}, {"ecc", ""},	  {"ecc_errors", ""}, {"clock_limits", ""},
};
enum {
	OWN = sizeof(own) / sizeof(own[0]),
	MACHINE = sizeof(machine) / sizeof(machine[0]),
	MAX_GPUS = 12,
	MORE = MACHINE > MAX_GPUS ? MACHINE : MAX_GPUS
};

/* Figures while they are printed, with the text of their clocks. */
struct shown {
	struct probe_table table;
	struct nvs_column column[OWN + MORE];
	struct nvs_value machine[MACHINE]; /* of CSV */
	uint32_t machines; /* how many of them are columns */
	const char *gpu[MAX_GPUS];
	uint32_t gpus;
	char (*clock)[24];
	bool slow, fast; /* a row has a clock below boost, above it */
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

#define FLOAT(x) ((struct nvs_value){.kind = NVS_VALUE_FLOAT, .real = (x)})
#define TRUTH(x) ((struct nvs_value){.kind = NVS_VALUE_TRUTH, .count = (x)})

static void add_row(struct shown *s, const struct bench_figures *f,
		    const struct bench_figure *figure)
{
	bool slow = bench_below_boost(&f->gpu, figure->sm_mhz),
	     fast = bench_above_boost(&f->gpu, figure->sm_mhz);
	char *clock = s->clock[s->table.of.nrows];
	struct nvs_value cell[OWN + MORE] = {
		PROBE_WORDS(figure->bench),
		PROBE_WORDS(figure->name),
		PROBE_WORDS(figure->parameter),
		FLOAT(figure->value),
		PROBE_WORDS(figure->unit),
		FLOAT(figure->least),
		FLOAT(figure->most),
		{.kind = NVS_VALUE_FLOAT, .real = figure->sm_mhz, .text = clock},
		TRUTH(slow),
		TRUTH(fast),
		TRUTH(figure->detail),
		PROBE_WORDS(f->gpu.name),
	};

	snprintf(clock, sizeof(*s->clock), "%.0f%s", figure->sm_mhz,
		 slow	? " *"
		 : fast ? " +"
			: "");
	s->slow |= slow;
	s->fast |= fast;
	for (uint32_t i = 0; i < s->gpus; i++)
		cell[OWN + i] = PROBE_NUMBER(published_value(f, figure->bench, figure->name,
							     figure->parameter, s->gpu[i]));
	memcpy(cell + OWN + s->gpus, s->machine, s->machines * sizeof(*cell));
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

/* BENCH: whose published figures are columns too; NULL: of none. */
static void begin_rows(struct shown *s, const struct bench_figures *f, const char *bench)
{
	if (bench)
		find_published_gpus(s, f, bench);
	memcpy(s->column, own, sizeof(own));
	for (uint32_t i = 0; i < s->gpus; i++)
		/* The theoretical value is more useful than the spread of the samples. */
		s->column[OWN + i] = (struct nvs_column){
			"", s->gpu[i], .decimals = 3,
			.rank = (uint8_t)(strcmp(s->gpu[i], "theory") ? 3 + i : 1)};
	s->table = (struct probe_table)PROBE_TABLE("bench", s->column);
	memcpy(s->column + OWN + s->gpus, machine, s->machines * sizeof(*machine));
	s->table.of.ncolumns = OWN + s->gpus + s->machines;
	s->clock = calloc(f->nfigure + f->npublished + 1, sizeof(*s->clock));
	if (!s->clock)
		probe_die("out of memory");
}

static void end_rows(struct shown *s)
{
	probe_table_free(&s->table);
	free(s->clock);
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
	struct shown s = {0};
	struct bench_text text = {NULL, 0, 0};
	uint32_t more = 0;

	bench_emit(&text, "%s%s%s%s: %s", b->name, *b->number ? " (" : "", b->number,
		   *b->number ? ")" : "", b->what);
	putchar('\n');
	probe_print_wrapped(text.data);
	bench_text_free(&text);
	begin_rows(&s, f, b->name);
	for (uint32_t i = 0; i < f->nfigure; i++)
		if (!strcmp(f->figure[i].bench, b->name)) {
			if (f->figure[i].detail && !details)
				more++;
			else
				add_row(&s, f, &f->figure[i]);
		}
	if (details || !more)
		add_published_rows(&s, f, b->name);
	if (s.table.of.nrows) {
		putchar('\n');
		probe_table_print_text(&s.table);
	}
	if (s.slow)
		probe_print_wrapped("* the SM clock was below boost");
	if (s.fast)
		probe_print_wrapped(bench_format(
			"+ the SM clock was above the %llu MHz that the driver reports as boost; "
			"the reading is the kernel's cycles by %%globaltimer",
			(unsigned long long)f->gpu.boost_khz / 1000));
	print_sentences(f->note, f->nnote, b->name, "");
	print_sentences(f->missing, f->nmissing, b->name, "Missing: ");
	if (more) {
		bench_emit(&text, "%u more figures: nvsnoop-probe bench %s", more, b->name);
		probe_print_wrapped(text.data);
		bench_text_free(&text);
	}
	end_rows(&s);
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

static void print_said(struct nvs_json *j, const char *key, const struct bench_sentence *said,
		       uint32_t n)
{
	nvs_json_break(j);
	nvs_json_open(j, key, '[');
	for (uint32_t i = 0; i < n; i++) {
		nvs_json_break(j);
		nvs_json_open(j, NULL, '{');
		nvs_json_text(j, "benchmark", said[i].bench);
		nvs_json_text(j, "text", said[i].text);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static void print_published(struct nvs_json *j, const struct bench_figures *f)
{
	nvs_json_break(j);
	nvs_json_open(j, "published", '[');
	for (uint32_t i = 0; i < f->npublished; i++) {
		const struct bench_published_figure *p = &f->published[i];

		nvs_json_break(j);
		nvs_json_open(j, NULL, '{');
		nvs_json_text(j, "benchmark", p->bench);
		nvs_json_text(j, "name", p->name);
		nvs_json_text(j, "parameter", p->parameter);
		nvs_json_real(j, "value", "%.9g", p->value);
		nvs_json_text(j, "gpu", p->gpu);
		nvs_json_close(j, '}');
	}
	nvs_json_close(j, ']');
}

static struct nvs_value text_or_none(const char *text)
{
	return *text ? PROBE_WORDS(text) : (struct nvs_value){.kind = NVS_VALUE_NONE};
}

static struct nvs_value count_or_none(uint64_t n, bool known)
{
	return (struct nvs_value){.kind = known ? NVS_VALUE_COUNT : NVS_VALUE_NONE, .count = n};
}

static struct nvs_value per_1000(uint64_t n)
{
	return n ? FLOAT((double)n / 1000) : (struct nvs_value){.kind = NVS_VALUE_NONE};
}

static void describe_machine(const struct bench_gpu *g, struct nvs_value cell[MACHINE])
{
	const struct nvs_value known[MACHINE] = {
		text_or_none(g->driver),
		text_or_none(g->date),
		text_or_none(g->uuid),
		text_or_none(g->nvsnoop),
		text_or_none(g->cpu),
		per_1000(g->boost_khz),
		per_1000(g->memory_khz),
		count_or_none(g->memory_bytes, g->memory_bytes),
		per_1000(g->power_limit_mw),
		{.kind = g->ecc ? NVS_VALUE_TRUTH : NVS_VALUE_NONE, .count = g->ecc == 2},
		count_or_none(g->ecc_errors, g->ecc == 2),
		text_or_none(bench_clock_limits(g)),
	};

	memcpy(cell, known, sizeof(known));
}

void bench_json_machine(struct nvs_json *j, const struct bench_gpu *gpu)
{
	struct nvs_value about[MACHINE];

	describe_machine(gpu, about);
	nvs_json_text(j, "gpu", gpu->name);
	for (int i = 0; i < MACHINE; i++) {
		nvs_json_key(j, machine[i].name);
		nvs_value_json(j->file, &about[i]);
	}
}

static void print_json(const struct bench_figures *f, const struct nvs_table *rows)
{
	struct nvs_json j = {.file = stdout};

	nvs_json_open(&j, NULL, '{');
	nvs_json_number(&j, "schema", PROBE_SCHEMA);
	nvs_json_text(&j, "study", rows->report);
	bench_json_machine(&j, &f->gpu);
	nvs_json_open(&j, "rows", '[');
	nvs_table_json(&j, rows, rows->nrows);
	nvs_json_close(&j, ']');
	print_published(&j, f);
	print_said(&j, "notes", f->note, f->nnote);
	print_said(&j, "missing", f->missing, f->nmissing);
	nvs_json_close(&j, '}');
	putchar('\n');
}

/* For programs: all figures in one table. */
static void print_rows(const struct bench_figures *f, bool json)
{
	struct nvs_out out = {.file = stdout};
	struct shown s = {.machines = json ? 0 : MACHINE};

	describe_machine(&f->gpu, s.machine);
	begin_rows(&s, f, NULL);
	for (uint32_t i = 0; i < f->nfigure; i++)
		add_row(&s, f, &f->figure[i]);
	if (json)
		print_json(f, &s.table.of);
	else
		nvs_table_csv(&out, &s.table.of, s.table.of.nrows);
	end_rows(&s);
}

void bench_print_figures(const struct bench_figures *f, const struct bench_sample_set *saved,
			 enum probe_format format, bool details)
{
	if (format == PROBE_TEXT)
		print_text(f, saved, details);
	else
		print_rows(f, format == PROBE_JSON);
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
