/* SPDX-License-Identifier: MIT */
/* The results of a study: a table of rows of cells, and notes, printed as text, CSV or JSON with a
 * description of the machine. */
#ifndef NVSNOOP_PROBE_LIB_TABLE_H
#define NVSNOOP_PROBE_LIB_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/cli/table.h"
#include "probe/probe.h"

enum probe_format { PROBE_TEXT, PROBE_CSV, PROBE_JSON };
#define PROBE_SCHEMA 2 /* of JSON and CSV */

/* Cells; a number is unknown if it is NAN. */
#define PROBE_WORDS(w) ((struct nvs_value){.kind = NVS_VALUE_TEXT, .text = (w)})
#define PROBE_NUMBER(n) ((struct nvs_value){.kind = NVS_VALUE_DECIMAL, .real = (double)(n)})

struct probe_table {
	/* Its rows are arrays of cells. Of columns, those of the highest rank go first where text
	 * is too wide; rank 0: never. */
	struct nvs_table of;
	char **notes; /* one sentence each */
	uint32_t nnotes;
};

#define PROBE_TABLE(study, list)                                     \
	{                                                            \
		.of = {.report = (study),                            \
		       .columns = (list),                            \
		       .ncolumns = sizeof(list) / sizeof((list)[0]), \
		       .as_given = true,                             \
		       .csv_end = "\n"},                             \
	}

/* CELLS has one cell for each column; their strings must outlive the table. */
void probe_table_add_row(struct probe_table *table, const struct nvs_value *cells);
const struct nvs_value *probe_table_cells(const struct probe_table *table, size_t row);
void probe_table_add_note(struct probe_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void probe_table_print(struct probe_table *table, const struct probe_session *session,
		       enum probe_format format);
/* Prints only the rows and notes, as text. */
void probe_table_print_text(const struct probe_table *table);
/* Prints a string wrapped at blanks to fit the terminal. */
void probe_print_wrapped(const char *words);
void probe_table_free(struct probe_table *table);
/* "NVIDIA H200, driver 580.159.04, 32.0 GT/s x16 (58.7 GiB/s), SM 1980 MHz" */
const char *probe_describe_machine(const struct probe_session *session);
double probe_median(double *values, uint32_t n); /* sorts VALUES */
double probe_quantile(const double *sorted, uint32_t n, double q);

#endif
