/* SPDX-License-Identifier: MIT */
/* Prints the figures of two runs beside one another, with the second divided by the first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/cli/json.h"
#include "decode/cli/output.h"
#include "decode/cli/table.h"
#include "probe/bench/frame/internal.h"

static const struct nvs_column columns[] = {
	{"benchmark", "benchmark", .flags = NVS_COLUMN_LEFT},
	{"name", "figure", .flags = NVS_COLUMN_LEFT},
	{"parameter", "of", .flags = NVS_COLUMN_LEFT},
	{"value_a", "A", .decimals = 3},
	{"value_b", "B", .decimals = 3},
	{"unit", "unit", .flags = NVS_COLUMN_LEFT},
	{"ratio", "B/A", .decimals = 3},
	{"gpu_a", "", .flags = NVS_COLUMN_DETAIL},
	{"gpu_b", "", .flags = NVS_COLUMN_DETAIL},
};

static const struct bench_figure *same_figure(const struct bench_figures *f,
					      const struct bench_figure *as)
{
	const struct bench_figure *found = bench_find_figure(f, as->bench, as->name, as->parameter);

	return found && !strcmp(found->unit, as->unit) ? found : NULL;
}

/* Adds the rows that both have; details only if they are shown. */
static void add_rows(struct probe_table *table, const struct bench_figures *a,
		     const struct bench_figures *b, bool details)
{
	for (uint32_t i = 0; i < a->nfigure; i++) {
		const struct bench_figure *x = &a->figure[i], *y = same_figure(b, x);

		if (y && (details || !x->detail))
			probe_table_add_row(
				table,
				(struct nvs_value[]){
					PROBE_WORDS(x->bench),
					PROBE_WORDS(x->name),
					PROBE_WORDS(x->parameter),
					{.kind = NVS_VALUE_FLOAT, .real = x->value},
					{.kind = NVS_VALUE_FLOAT, .real = y->value},
					PROBE_WORDS(x->unit),
					{.kind = NVS_VALUE_FLOAT, .real = y->value / x->value},
					PROBE_WORDS(a->gpu.name),
					PROBE_WORDS(b->gpu.name),
				});
	}
}

/* Returns how many figures of A are not in B. */
static uint32_t count_alone(const struct bench_figures *a, const struct bench_figures *b,
			    bool details)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->nfigure; i++)
		n += (details || !a->figure[i].detail) && !same_figure(b, &a->figure[i]);
	return n;
}

static void print_text(const struct probe_table *table, const struct bench_figures *const f[2],
		       const uint32_t alone[2])
{
	for (int i = 0; i < 2; i++) {
		const struct bench_gpu *g = &f[i]->gpu;

		probe_print_wrapped(bench_format("%c: %s, driver %s%s%s", 'A' + i, g->name,
						 *g->driver ? g->driver : "not known",
						 *g->date ? ", " : "", g->date));
	}
	putchar('\n');
	probe_table_print_text(table);
	for (int i = 0; i < 2; i++)
		if (alone[i])
			probe_print_wrapped(
				bench_format("%u figures are only in %c.", alone[i], 'A' + i));
}

static void print_json(const struct probe_table *table, const struct bench_figures *const f[2])
{
	struct nvs_json j = {.file = stdout};

	nvs_json_open(&j, NULL, '{');
	nvs_json_number(&j, "schema", PROBE_SCHEMA);
	nvs_json_text(&j, "study", table->of.report);
	for (int i = 0; i < 2; i++) {
		nvs_json_open(&j, i ? "b" : "a", '{');
		bench_json_machine(&j, &f[i]->gpu);
		nvs_json_close(&j, '}');
	}
	nvs_json_open(&j, "rows", '[');
	nvs_table_json(&j, &table->of, table->of.nrows);
	nvs_json_close(&j, ']');
	nvs_json_close(&j, '}');
	putchar('\n');
}

void bench_print_ratios(const struct bench_figures *a, const struct bench_figures *b,
			enum probe_format format, bool details)
{
	struct probe_table table = PROBE_TABLE("bench", columns);
	const struct bench_figures *const f[2] = {a, b};
	struct nvs_out out = {.file = stdout};
	uint32_t alone[2];

	details |= format != PROBE_TEXT;
	alone[0] = count_alone(a, b, details);
	alone[1] = count_alone(b, a, details);
	add_rows(&table, a, b, details);
	if (!table.of.nrows)
		probe_die("the two have no figure in common");
	if (format == PROBE_TEXT)
		print_text(&table, f, alone);
	else if (format == PROBE_JSON)
		print_json(&table, f);
	else
		nvs_table_csv(&out, &table.of, table.of.nrows);
	probe_table_free(&table);
	if (fflush(stdout) || ferror(stdout))
		probe_die("cannot write the result");
}
