/* SPDX-License-Identifier: MIT */
/* Tables of rows: one list of columns is used for text, JSON, CSV and -s. Also getters for values,
 * and rows by key. */
#ifndef NVSNOOP_DECODE_CLI_TABLE_H
#define NVSNOOP_DECODE_CLI_TABLE_H

#include "decode/base/keyed_rows.h"
#include "decode/cli/json.h"
#include "decode/cli/output.h"

enum nvs_value_kind {
	NVS_VALUE_NONE, /* unknown: "-", null, empty */
	NVS_VALUE_TEXT,
	NVS_VALUE_COUNT, /* in text grouped by thousands, unless it is the number of something */
	NVS_VALUE_HEX, /* COUNT, in text as 0x7f.. */
	NVS_VALUE_REAL, /* REAL, two decimals; in text from 1,000 on none */
	NVS_VALUE_NS, /* NS; in text seconds with nine decimals */
	NVS_VALUE_TRUTH, /* COUNT as true or false; in text the word TEXT, or "-" */
	NVS_VALUE_BAR, /* REAL from 0 to 1, as a bar */
	NVS_VALUE_DECIMAL, /* REAL, COUNT decimals; in text four digits, grouped by thousands */
	NVS_VALUE_FLOAT, /* REAL, nine digits; in text as DECIMAL */
	NVS_VALUE_DOUBLE, /* REAL, 15 digits; in text as DECIMAL */
	NVS_VALUE_INTEGER, /* NS as a number */
};

#define NVS_SCHEMA 3 /* version of JSON and CSV: docs/schema.md */

struct nvs_value {
	enum nvs_value_kind kind;
	const char *text; /* of a kind other than TEXT: printed in text instead of the number */
	uint64_t count;
	double real;
	int64_t ns;
};

/* Text: printed after the numbers, and shortened when space is short */
#define NVS_COLUMN_NAME (1u << 0)
#define NVS_COLUMN_SEVERAL (1u << 1) /* text: only when several traces are reported */
#define NVS_COLUMN_DETAIL (1u << 2) /* not in text */
#define NVS_COLUMN_IF_ANY (1u << 3) /* in text only if a row has a value other than 0 */

#define NVS_COLUMN_TEXT (1u << 4) /* in text only: other columns have its content */
#define NVS_COLUMN_BAR (1u << 5) /* NVS_VALUE_BAR, on a terminal only */
#define NVS_COLUMN_IF_KNOWN (1u << 7) /* in text only if a row has a known value */
/* Text: next to the preceding column, regardless of rank */
#define NVS_COLUMN_BESIDE (1u << 6)
#define NVS_COLUMN_LEFT (1u << 8) /* text: aligned on the left, as names are */
#define NVS_COLUMN_JSON (1u << 9) /* in JSON only */

/* Combinations for COL() */
#define NVS_COLUMN_0 0u
#define NVS_COLUMN_NAME_SEVERAL (NVS_COLUMN_NAME | NVS_COLUMN_SEVERAL)
#define NVS_COLUMN_NAME_TEXT (NVS_COLUMN_NAME | NVS_COLUMN_TEXT)
#define NVS_COLUMN_NAME_IF_ANY (NVS_COLUMN_NAME | NVS_COLUMN_IF_ANY)
#define NVS_COLUMN_NAME_IF_KNOWN (NVS_COLUMN_NAME | NVS_COLUMN_IF_KNOWN)
#define NVS_COLUMN_SEVERAL_IF_KNOWN (NVS_COLUMN_SEVERAL | NVS_COLUMN_IF_KNOWN)
#define NVS_COLUMN_IF_KNOWN_BESIDE (NVS_COLUMN_IF_KNOWN | NVS_COLUMN_BESIDE)

struct nvs_column {
	const char *name; /* key in JSON and CSV; -s takes it or the title */
	const char *title; /* in text; "two\nlines" */
	/* NULL: rows are arrays of struct nvs_value, one for each column. */
	void (*get)(const void *row, struct nvs_value *value);
	uint32_t flags;
	uint8_t rank; /* in text, columns are ordered by rank, and a narrow terminal drops the
			 highest first; 0: never dropped */
	uint8_t decimals; /* of DECIMAL, FLOAT and DOUBLE in rows that are arrays */
};

/* Order of rows by a column. */
struct nvs_order {
	const struct nvs_column *columns, *column; /* of the table; the one of this order */
	int direction; /* 1: ascending */
};

struct nvs_table {
	const char *report;
	const struct nvs_column *columns;
	uint32_t ncolumns;
	const char *sort; /* default order: column, with "-" ascending; NULL: as given */
	const void **rows;
	size_t nrows;
	bool several;
	uint64_t more; /* further rows, which were not kept */
	const char *choose; /* hint how to see them; NULL: -n 0 */
	bool as_given; /* text: columns are in the order given, and dropped by rank alone */
	const char *csv_end; /* of a line of CSV; NULL: CR LF */
};

/* Finds a column by key or heading; case, and blanks, dashes or underscores do not matter. Returns
 * NULL if there is none. */
const struct nvs_column *nvs_table_column(const struct nvs_table *table, const char *name);
/* BY, if it is NULL or `-s BY` applies to this one of several tables; else NULL. */
const char *nvs_table_applicable(const struct nvs_table *table, const char *by);
/* Order of `-s BY`. Returns false if BY is NULL or not a column. */
bool nvs_table_order(const struct nvs_table *table, const char *by, struct nvs_order *order);
/* Compares two rows. */
int nvs_table_compare(const struct nvs_order *order, const void *a, const void *b);
/* Prints on stderr that NAME is not a column, with those there are; returns -EINVAL. */
int nvs_table_no_column(const struct nvs_table *table, const char *name);
/* The first N rows: as text, and returns how many columns did not fit (KEEP, which may be NULL, is
 * always printed); as the items of a list; as CSV. */
uint32_t nvs_table_text(struct nvs_out *out, const struct nvs_table *table, size_t n,
			const struct nvs_column *keep);
void nvs_table_json(struct nvs_json *json, const struct nvs_table *table, size_t n);
void nvs_table_csv(struct nvs_out *out, const struct nvs_table *table, size_t n);
/* Returns 0, -ENOMEM, or -EINVAL after a message on stderr: no such column. */
int nvs_table_print(struct nvs_out *out, struct nvs_table *table,
		    const struct nvs_print_options *o);

int nvs_table_print_rows(struct nvs_out *out, struct nvs_table *table, const struct nvs_rows *rows,
			 const struct nvs_print_options *o);
/* ROWS is an array of N items of SIZE bytes. */
int nvs_table_print_array(struct nvs_out *out, struct nvs_table *table, const void *rows, size_t n,
			  size_t size, const struct nvs_print_options *o);

/* ---- value.c ---- */

#define NVS_VALUE_ROOM 8192 /* bytes of a printed value; text in JSON and CSV may be longer */

/* For programs: decimal numbers. NONE is printed for unknown values, and for text. */
void nvs_value_plain_format(char *dst, size_t room, const struct nvs_value *v, const char *none);
void nvs_value_text_format(char *dst, size_t room, const struct nvs_value *v); /* for people */
/* For quantiles, which are exact to 3 %: two digits. Returns the rounded value. */
double nvs_value_rough_format(char *dst, size_t room, double x);
void nvs_value_json(FILE *file, const struct nvs_value *v);

/* ---- getters ---- */

static inline void nvs_value_count(struct nvs_value *v, uint64_t n)
{
	v->kind = NVS_VALUE_COUNT;
	v->count = n;
}

static inline void nvs_value_known(struct nvs_value *v, bool known, uint64_t n)
{
	v->kind = known ? NVS_VALUE_COUNT : NVS_VALUE_NONE;
	v->count = n;
}

static inline void nvs_value_nonzero(struct nvs_value *v, uint64_t n)
{
	nvs_value_known(v, n, n);
}

/* WORD: printed in text if true. */
static inline void nvs_value_truth(struct nvs_value *v, bool is_so, const char *word)
{
	v->kind = NVS_VALUE_TRUTH;
	v->count = is_so;
	v->text = word;
}

static inline void nvs_value_text(struct nvs_value *v, const char *s)
{
	v->kind = s && *s ? NVS_VALUE_TEXT : NVS_VALUE_NONE;
	v->text = s;
}

static inline void nvs_value_real(struct nvs_value *v, bool known, double x)
{
	v->kind = known ? NVS_VALUE_REAL : NVS_VALUE_NONE;
	v->real = x;
}

/* Microseconds. */
static inline void nvs_value_us(struct nvs_value *v, bool known, double ns)
{
	nvs_value_real(v, known, ns / 1000);
}

static inline void nvs_value_ns(struct nvs_value *v, int64_t ns)
{
	v->kind = NVS_VALUE_NS;
	v->ns = ns;
}

static inline void nvs_value_hex(struct nvs_value *v, bool known, uint64_t n)
{
	v->kind = known ? NVS_VALUE_HEX : NVS_VALUE_NONE;
	v->count = n;
}

/* A list of columns is a macro with a parameter COL, used once per column:
 *
 *	#define COLUMNS(COL)                                                \
 *		COL(text, api, "api", NAME, 0, r->name)                     \
 *		COL(count, calls, "calls", 0, 0, r->calls)                  \
 *		COL(us, host_us_total, "host us", IF_ANY, 1, r->timed, r->ns)
 *	NVS_COLUMNS(columns, struct row, COLUMNS)
 *
 * COL(kind, key, title, flags, rank, values of the row r): KIND is one of NVS_GET_*() below, FLAGS
 * is NVS_COLUMN_ without the prefix. NVS_COLUMNS() makes the getters column_KEY() and an array of
 * columns. If a table before it in the file has a column of that key, a list takes its getter with
 * COL(same, key, title, flags, rank), or those of a whole list OTHER with OTHER(COL##_SAME). */
#define NVS_COLUMNS(name, type, LIST)  \
	NVS_COLUMN_GETTERS(type, LIST) \
	static const struct nvs_column name[] = {LIST(NVS_COLUMN_ENTRY)};
/* A file has one type of row. */
#define NVS_COLUMN_GETTERS(type, LIST) \
	typedef type nvs_table_row;    \
	LIST(NVS_COLUMN_GETTER)
#define NVS_COLUMN_ENTRY(kind, key, title, flags, rank, ...) \
	{#key, title, column_##key, NVS_COLUMN_##flags, rank},
#define NVS_COLUMN_ENTRY_SAME NVS_COLUMN_ENTRY
#define NVS_COLUMN_GETTER(kind, key, title, flags, rank, ...) NVS_GET_##kind(key, __VA_ARGS__)
#define NVS_COLUMN_GETTER_SAME(...)

#define NVS_GETTER(key, set)                                           \
	static void column_##key(const void *row, struct nvs_value *v) \
	{                                                              \
		const nvs_table_row *r = row;                          \
		set;                                                   \
	}
#define NVS_GET_same(key, ...)
#define NVS_GET_count(key, n) NVS_GETTER(key, nvs_value_count(v, n))
#define NVS_GET_known(key, known, n) NVS_GETTER(key, nvs_value_known(v, known, n))
#define NVS_GET_nonzero(key, n) NVS_GETTER(key, nvs_value_nonzero(v, n))
#define NVS_GET_text(key, s) NVS_GETTER(key, nvs_value_text(v, s))
#define NVS_GET_truth(key, is_so, word) NVS_GETTER(key, nvs_value_truth(v, is_so, word))
#define NVS_GET_hex(key, known, n) NVS_GETTER(key, nvs_value_hex(v, known, n))
/* The value is evaluated only if it is known. */
#define NVS_GET_guarded(key, known, n) NVS_GETTER(key, if (known) nvs_value_count(v, n))
#define NVS_GET_real(key, known, x) NVS_GETTER(key, if (known) nvs_value_real(v, true, x))
#define NVS_GET_us(key, known, ns) NVS_GETTER(key, if (known) nvs_value_us(v, true, (double)(ns)))
#define NVS_GET_ns(key, known, ns) NVS_GETTER(key, if (known) nvs_value_ns(v, ns))
/* GET(..., v) sets the value. */
#define NVS_GET_by(key, get, ...) NVS_GETTER(key, get(__VA_ARGS__, v))

#endif
