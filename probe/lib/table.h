/* SPDX-License-Identifier: MIT */
/*
 * The results of a study: rows and notes, printed as text, CSV or JSON with a description of the
 * machine.
 */
#ifndef NVSNOOP_PROBE_LIB_TABLE_H
#define NVSNOOP_PROBE_LIB_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "probe/probe.h"

enum probe_format { PROBE_TEXT, PROBE_CSV, PROBE_JSON };

struct probe_column {
	const char *key; /* key in CSV and JSON */
	const char *heading; /*
			      * heading in text, may be "two
			      * lines"; NULL: not shown in text
			      */
	int decimals; /* decimals of a number; large numbers get fewer in text; -1: text column */
	int goes; /* if not 0, dropped from text that is too wide, highest first */
};

struct probe_cell {
	const char *words; /* NULL for a number */
	double number; /* NAN if unknown */
};

#define PROBE_WORDS(w) ((struct probe_cell){.words = (w)})
#define PROBE_NUMBER(n) ((struct probe_cell){.number = (double)(n)})

struct probe_table {
	const char *study;
	const struct probe_column *columns;
	uint32_t ncolumns, nrows, room;
	struct probe_cell *cells;
	char **notes; /* one sentence each */
	uint32_t nnotes;
};

/* CELLS has one cell for each column; their strings must outlive the table. */
void probe_table_add_row(struct probe_table *table, const struct probe_cell *cells);
void probe_table_add_note(struct probe_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void probe_table_print(const struct probe_table *table, const struct probe_session *session,
		       enum probe_format format);
/* Prints only the rows and notes, as text. */
void probe_table_print_text(const struct probe_table *table);
/* Print a string: wrapped at blanks to fit the terminal; as a JSON string; as a CSV field. */
void probe_print_wrapped(const char *words);
void probe_print_quoted(const char *words);
void probe_print_field(const char *words);
void probe_table_free(struct probe_table *table);
/* "NVIDIA H200, driver 580.159.04, 32.0 GT/s x16 (58.7 GiB/s), SM 1980 MHz" */
const char *probe_describe_machine(const struct probe_session *session);
double probe_median(double *values, uint32_t n); /* sorts VALUES */
double probe_quantile(const double *sorted, uint32_t n, double q);

#endif
