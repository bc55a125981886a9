/* SPDX-License-Identifier: MIT */
/* LINK: decode/report_table.o decode/report_out.o decode */
/* Tables: their order, and values that are not known or odd, in all three formats. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "decode/report.h"
#include "tests/unit/expect.h"

struct row {
	const char *name; /* "": not known */
	double x; /* less than 0: not known */
};

static void get_name(const void *row, struct nvs_value *v)
{
	v->text = ((const struct row *)row)->name;
	v->kind = *v->text ? NVS_VALUE_TEXT : NVS_VALUE_NONE;
}

static void get_x(const void *row, struct nvs_value *v)
{
	v->real = ((const struct row *)row)->x;
	v->kind = v->real < 0 ? NVS_VALUE_NONE : NVS_VALUE_REAL;
}

/* Names and numbers in one column. */
static void get_mixed(const void *row, struct nvs_value *v)
{
	((const struct row *)row)->x < 2 ? get_x(row, v) : get_name(row, v);
}

static const struct nvs_column columns[] = {
	{"name", "name", get_name, NVS_COLUMN_NAME},
	{"x", "x", get_x, 0},
	{"mixed", "mixed", get_mixed, NVS_COLUMN_DETAIL},
};

/* N rows sorted by SORT as FORMAT prints them; good until the next. */
static const char *print(const struct row *rows, size_t n, const char *sort, enum nvs_format format)
{
	struct nvs_options_report o = {.sort = sort, .format = format};
	struct nvs_table table = {.report = "r", .columns = columns, .ncolumns = 3, .nrows = n};
	static char *text;
	const void *list[8];
	struct nvs_out out = {0};
	size_t size;

	free(text);
	out.file = open_memstream(&text, &size);
	for (size_t i = 0; i < n; i++)
		list[i] = rows + i;
	table.rows = list;
	EXPECT_EQ(nvs_table_print(&out, &table, &o), 0);
	fclose(out.file);
	return text;
}

static void order(void)
{
	static const struct row rows[] = {{"", 1}, {"b", -1}, {"c", 3}, {"a", 2}, {"", -1}};

	/* What is not known comes last, wherever it came first. */
	EXPECT_STR(print(rows, 5, "name", NVS_FORMAT_TEXT),
		   "   x  name\n2.00  a\n   -  b\n3.00  c\n1.00  -\n   -  -\n");
	EXPECT_STR(print(rows, 5, "-name", NVS_FORMAT_TEXT),
		   "   x  name\n3.00  c\n   -  b\n2.00  a\n1.00  -\n   -  -\n");
	EXPECT_STR(print(rows, 5, "x", NVS_FORMAT_TEXT),
		   "   x  name\n3.00  c\n2.00  a\n1.00  -\n   -  b\n   -  -\n");
	EXPECT_STR(print(rows, 5, "-x", NVS_FORMAT_TEXT),
		   "   x  name\n1.00  -\n2.00  a\n3.00  c\n   -  b\n   -  -\n");
	EXPECT(*print(rows, 5, "mixed", NVS_FORMAT_TEXT));
	EXPECT(*print(rows + 4, 1, "name", NVS_FORMAT_TEXT));
}

int main(void)
{
	order();
	return expect_done();
}
