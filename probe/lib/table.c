/* SPDX-License-Identifier: MIT */
/* Collects the results of a study and prints them. */
#include "probe/lib/table.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/cli/json.h"
#include "decode/cli/output.h"
#include "decode/cli/sentence.h"

#define TEXT_WIDTH 80 /* without a terminal */

/* What CSV has in every row after the study's own columns. */
static const struct nvs_column machine[] = {
	{"gpu", ""}, {"driver", ""}, {"pcie", ""}, {"sm_mhz", ""}};
enum { MACHINE = sizeof(machine) / sizeof(machine[0]), MAX_COLUMNS = 32 };

void probe_table_add_row(struct probe_table *t, const struct nvs_value *cells)
{
	uint32_t n = t->of.ncolumns;
	struct nvs_value *row = probe_allocate(n + MACHINE, sizeof(*row));

	t->of.rows = probe_grow(t->of.rows, (uint32_t)t->of.nrows, sizeof(*t->of.rows));
	memcpy(row, cells, n * sizeof(*row));
	t->of.rows[t->of.nrows++] = row;
}

const struct nvs_value *probe_table_cells(const struct probe_table *t, size_t row)
{
	return t->of.rows[row];
}

void probe_table_add_note(struct probe_table *t, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = probe_vformat(format, ap);
	va_end(ap);
	t->notes = probe_grow(t->notes, t->nnotes, sizeof(*t->notes));
	t->notes[t->nnotes++] = text;
}

void probe_table_free(struct probe_table *t)
{
	for (size_t i = 0; i < t->of.nrows; i++)
		free((void *)t->of.rows[i]);
	for (uint32_t i = 0; i < t->nnotes; i++)
		free(t->notes[i]);
	free(t->of.rows);
	free(t->notes);
	memset(t, 0, sizeof(*t));
}

const char *probe_describe_machine(const struct probe_session *s)
{
	static char text[320];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s, driver %s", s->gpu,
				    *s->driver ? s->driver : "not known");

	if (*s->link)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", PCIe %s (%.1f GiB/s)", s->link,
				      s->link_gib_s);
	if (s->sm_mhz)
		snprintf(text + n, sizeof(text) - n, ", SM %u MHz", s->sm_mhz);
	return text;
}

void probe_print_wrapped(const char *words)
{
	nvs_wrap_text(stdout, words, nvs_terminal_width(TEXT_WIDTH), 2);
}

void probe_table_print_text(const struct probe_table *t)
{
	struct nvs_out out = {.file = stdout, .fit = true, .width = nvs_terminal_width(TEXT_WIDTH)};
	uint32_t hidden = nvs_table_text(&out, &t->of, t->of.nrows, NULL);

	if (t->nnotes || hidden)
		putchar('\n');
	for (uint32_t i = 0; i < t->nnotes; i++)
		probe_print_wrapped(t->notes[i]);
	if (hidden)
		probe_print_wrapped("some columns are hidden: use a wider terminal, CSV or JSON");
}

static void print_json(const struct probe_table *t, const struct probe_session *s)
{
	struct nvs_json j = {.file = stdout};

	nvs_json_open(&j, NULL, '{');
	nvs_json_number(&j, "schema", PROBE_SCHEMA);
	nvs_json_text(&j, "study", t->of.report);
	nvs_json_text(&j, "gpu", s->gpu);
	nvs_json_text(&j, "driver", s->driver);
	nvs_json_name(&j, "pcie", s->link);
	nvs_json_known(&j, "sm_mhz", s->sm_mhz, s->sm_mhz);
	nvs_json_open(&j, "rows", '[');
	nvs_table_json(&j, &t->of, t->of.nrows);
	nvs_json_close(&j, ']');
	nvs_json_break(&j);
	nvs_json_open(&j, "notes", '[');
	for (uint32_t i = 0; i < t->nnotes; i++)
		nvs_json_text(&j, NULL, t->notes[i]);
	nvs_json_close(&j, ']');
	nvs_json_close(&j, '}');
	putchar('\n');
}

static void print_csv(const struct probe_table *t, const struct probe_session *s)
{
	const struct nvs_value cells[MACHINE] = {PROBE_WORDS(s->gpu), PROBE_WORDS(s->driver),
						 PROBE_WORDS(s->link),
						 PROBE_NUMBER(s->sm_mhz ? s->sm_mhz : NAN)};
	struct nvs_column columns[MAX_COLUMNS + MACHINE];
	struct nvs_table table = t->of;
	struct nvs_out out = {.file = stdout};

	memcpy(columns, table.columns, table.ncolumns * sizeof(*columns));
	memcpy(columns + table.ncolumns, machine, sizeof(machine));
	/* Rows have room for them. */
	for (size_t i = 0; i < table.nrows; i++)
		memcpy((struct nvs_value *)table.rows[i] + table.ncolumns, cells, sizeof(cells));
	table.columns = columns;
	table.ncolumns += MACHINE;
	nvs_table_csv(&out, &table, table.nrows);
}

void probe_table_print(struct probe_table *t, const struct probe_session *s,
		       enum probe_format format)
{
	if (format == PROBE_JSON) {
		print_json(t, s);
	} else if (format == PROBE_CSV) {
		print_csv(t, s);
	} else {
		probe_print_wrapped(probe_describe_machine(s));
		putchar('\n');
		probe_table_print_text(t);
	}
	if (fflush(stdout) || ferror(stdout))
		probe_die("cannot write the result");
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double probe_quantile(const double *sorted, uint32_t n, double q)
{
	double at = q * (n - 1);
	uint32_t low = (uint32_t)at;

	if (low + 1 >= n)
		return sorted[n - 1];
	return sorted[low] + (sorted[low + 1] - sorted[low]) * (at - low);
}

double probe_median(double *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), compare_values);
	return probe_quantile(values, n, 0.5);
}
