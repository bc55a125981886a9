/* SPDX-License-Identifier: MIT */
/*
 * What a study prints: rows under columns, as text, CSV or JSON, with the machine it was measured
 * on and what was derived from the rows.
 */
#ifndef NVSNOOP_PROBE_LIB_TABLE_H
#define NVSNOOP_PROBE_LIB_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include "probe/probe.h"

enum probe_format { PROBE_TEXT, PROBE_CSV, PROBE_JSON };

struct probe_column {
	const char *key; /* of CSV and JSON */
	const char *heading; /* of the text, "two\nlines" may be; NULL: not shown there */
	int decimals; /* of a number, of a large one fewer in the text; -1: words */
	int goes; /* not 0: left out of a text that is too wide, the highest first */
};

struct probe_cell {
	const char *words; /* NULL: a number */
	double number; /* NAN: not known */
};

#define PROBE_WORDS(w) ((struct probe_cell){.words = (w)})
#define PROBE_NUMBER(n) ((struct probe_cell){.number = (double)(n)})

struct probe_table {
	const char *study;
	const struct probe_column *columns;
	uint32_t ncolumns, nrows, room;
	struct probe_cell *cells;
	char **notes; /* what was derived, a sentence each */
	uint32_t nnotes;
};

/* CELLS has one for each column; words must outlive the table. */
void probe_table_row(struct probe_table *table, const struct probe_cell *cells);
void probe_table_note(struct probe_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void probe_table_print(const struct probe_table *table, const struct probe_session *session,
		       enum probe_format format);
/* The rows and notes alone, as text. */
void probe_table_text(const struct probe_table *table);
/* Words broken at blanks to fit the terminal; "..." of JSON; a field of CSV. */
void probe_print_wrapped(const char *words);
void probe_print_quoted(const char *words);
void probe_print_field(const char *words);
void probe_table_free(struct probe_table *table);
/* "NVIDIA H200, driver 580.159.04, 32.0 GT/s x16 (58.7 GiB/s), SM 1980 MHz" */
const char *probe_machine(const struct probe_session *session);
double probe_median(double *values, uint32_t n); /* sorts them */
double probe_quantile(const double *sorted, uint32_t n, double q);

#endif
