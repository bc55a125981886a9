/* SPDX-License-Identifier: MIT */
/* Tables: one list of columns serves text, JSON, CSV and --sort. */
#ifndef NVSNOOP_DECODE_CLI_TABLE_H
#define NVSNOOP_DECODE_CLI_TABLE_H

#include "decode/base/keyed_rows.h"
#include "decode/cli/output.h"

enum nvs_value_kind {
	NVS_VALUE_NONE, /* not known: "-", null, empty */
	NVS_VALUE_TEXT,
	NVS_VALUE_COUNT,
	NVS_VALUE_HEX, /* a count that text shows as 0x7f.. */
	NVS_VALUE_REAL, /* two decimals */
	NVS_VALUE_NS, /* text: seconds with nine decimals */
	NVS_VALUE_TRUTH, /* count: true or false; text: the word, and nothing where it is false */
	NVS_VALUE_BAR, /* real: of 1, as a bar */
};

#define NVS_SCHEMA 3 /* of JSON and CSV: docs/schema.md */

struct nvs_value {
	enum nvs_value_kind kind;
	const char *text; /* of another kind than TEXT: stands in text for the number */
	uint64_t count;
	double real;
	int64_t ns;
};

/* Text: stands behind the numbers, and gives way when space is short */
#define NVS_COLUMN_NAME (1u << 0)
#define NVS_COLUMN_SEVERAL (1u << 1) /* text: only when several traces are reported */
#define NVS_COLUMN_DETAIL (1u << 2) /* not in text */
#define NVS_COLUMN_IF_ANY (1u << 3) /* in text only when a row has something else than 0 */

#define NVS_COLUMN_TEXT (1u << 4) /* in text only: what it says stands in others */
#define NVS_COLUMN_BAR (1u << 5) /* NVS_VALUE_BAR, on a terminal only */
#define NVS_COLUMN_IF_KNOWN (1u << 7) /* in text only when it is known of some row */
/* Text: next to the column before it, whatever its own rank */
#define NVS_COLUMN_BESIDE (1u << 6)

/* The registry: one line serves text, JSON, CSV and -s. */
struct nvs_column {
	const char *name; /* key in JSON and CSV, and for -s; the title does as well */
	const char *title; /* in text */
	void (*get)(const void *row, struct nvs_value *value);
	uint32_t flags;
	uint8_t rank; /* 0: most important. In text a lower one stands before a higher one, and a
			 terminal too narrow for all goes without the highest */
};

/* How rows are ordered by a column. */
struct nvs_order {
	const struct nvs_column *column;
	int direction; /* 1: ascending */
};

struct nvs_table {
	const char *report;
	const struct nvs_column *columns;
	uint32_t ncolumns;
	const char *sort; /* by default: column, "-" before it: ascending; NULL: as they come */
	const void **rows;
	size_t nrows;
	bool several;
	uint64_t more; /* rows behind these, which were not kept */
	const char *choose; /* what shows them, if not -n 0 */
};

/* By its key or heading, in any case, with blanks, dashes or underscores. NULL: none. */
const struct nvs_column *nvs_table_column(const struct nvs_table *table, const char *name);
/* What `-s BY` makes of the table's rows. False: BY is NULL, or no column. */
bool nvs_table_order(const struct nvs_table *table, const char *by, struct nvs_order *order);
/* Of two rows; 0: as they come. */
int nvs_table_compare(const struct nvs_order *order, const void *a, const void *b);
/* Says so on stderr, with those there are; -EINVAL. */
int nvs_table_no_column(const struct nvs_table *table, const char *name);
/* -EINVAL: no such column, said on stderr. */
int nvs_table_print(struct nvs_out *out, struct nvs_table *table,
		    const struct nvs_print_options *o);

int nvs_table_print_rows(struct nvs_out *out, struct nvs_table *table, const struct nvs_rows *rows,
			 const struct nvs_print_options *o);
/* ROWS is an array of N items of SIZE bytes. */
int nvs_table_print_array(struct nvs_out *out, struct nvs_table *table, const void *rows, size_t n,
			  size_t size, const struct nvs_print_options *o);

/* ---- values.c ---- */

#define NVS_VALUE_ROOM 8192 /* bytes of one printed value, but for text in JSON and CSV */

/* For programs: numbers are decimal. NONE: what stands for one not known, and for text. */
void nvs_value_plain(char *dst, size_t room, const struct nvs_value *v, const char *none);
void nvs_value_words(char *dst, size_t room, const struct nvs_value *v); /* for a person */
void nvs_value_json(struct nvs_out *out, const struct nvs_value *v);

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

/* WORD: as it stands in text where it is so. */
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

static inline void nvs_value_hex(struct nvs_value *v, bool known, uint64_t n)
{
	v->kind = known ? NVS_VALUE_HEX : NVS_VALUE_NONE;
	v->count = n;
}

/* Getter of a row's member. */
#define NVS_GET_COUNT(type, name, expr)                              \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_value_count(v, expr);                            \
	}
/* Of what may not be known. */
#define NVS_GET_KNOWN(type, name, known, expr)                       \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_value_known(v, known, expr);                     \
	}
#define NVS_GET_TEXT(type, name, expr)                               \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_value_text(v, expr);                             \
	}
#define NVS_GET_HEX(type, name, known, expr)                         \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_value_hex(v, known, expr);                       \
	}
#define NVS_GET_REAL(type, name, known, expr)                        \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_value_real(v, known, expr);                      \
	}

#endif
