/* SPDX-License-Identifier: MIT */
/* LINK: decode/cli/table.o decode/cli/value.o */
/* LINK: decode/cli/sentence.o decode/cli/output.o decode */
/* Tables: sort order, and unknown or unusual values, in all three formats. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "decode/cli/table.h"
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
	struct nvs_print_options o = {.sort = sort, .format = format};
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

#define HEAD "{\"schema\":3,\"report\":\"r\",\"rows\":[\n"

/* What JSON and CSV quote, bytes that belong to no character, marks, and numbers that are none. */
static void odd(void)
{
	static const struct row rows[] = {{"\xc3\xa9\x80\"\\\xe2\x80", NAN},
					  {"a\xe2\x80\x8f\x1b\x7f,\xf0\x9f\x98\x80", INFINITY}};
	static char longer[6001];
	struct row one = {longer, 1};
	char want[7000];

	EXPECT_STR(print(rows, 2, NULL, NVS_FORMAT_JSON),
		   HEAD "{\"name\":\"\xc3\xa9\\u0080\\\"\\\\\\u00e2\\u0080\",\"x\":null,\"mixed\":"
			"\"\xc3\xa9\\u0080\\\"\\\\\\u00e2\\u0080\"},\n"
			"{\"name\":\"a\\u200f\\u001b\\u007f,\xf0\x9f\x98\x80\",\"x\":null,"
			"\"mixed\":\"a\\u200f\\u001b\\u007f,\xf0\x9f\x98\x80\"}\n]}\n");
	EXPECT_STR(print(rows, 2, NULL, NVS_FORMAT_CSV),
		   "name,x,mixed\r\n"
		   "\"\xc3\xa9\\x80\"\"\\\\xe2\\x80\",,\"\xc3\xa9\\x80\"\"\\\\xe2\\x80\"\r\n"
		   "\"a\\xe2\\x80\\x8f\\x1b\\x7f,\xf0\x9f\x98\x80\",,\"a\\xe2\\x80\\x8f\\x1b\\x7f,"
		   "\xf0\x9f\x98\x80\"\r\n");
	/* As long as it is, in all of them. */
	memset(longer, 'k', sizeof(longer) - 1);
	snprintf(want, sizeof(want), HEAD "{\"name\":\"%s\",\"x\":1.00,\"mixed\":1.00}\n]}\n",
		 longer);
	EXPECT_STR(print(&one, 1, NULL, NVS_FORMAT_JSON), want);
	snprintf(want, sizeof(want), "name,x,mixed\r\n%s,1.00,1.00\r\n", longer);
	EXPECT_STR(print(&one, 1, NULL, NVS_FORMAT_CSV), want);
	snprintf(want, sizeof(want), "   x  name\n1.00  %s\n", longer);
	EXPECT_STR(print(&one, 1, NULL, NVS_FORMAT_TEXT), want);
}

static void get_text(const void *row, struct nvs_value *v)
{
	nvs_value_text(v, ((const struct row *)row)->name);
}

/* Figures, less important from left to right, and a name. */
static const struct nvs_column wide[] = {
	{"a", "launches 0123", get_x, 0, 0},
	{"b", "launches 1234", get_x, 0, 1},
	{"c", "launches 2345", get_x, 0, 2},
	{"d", "launches 3456", get_x, 0, 3},
	{"kernel", "kernel", get_text, NVS_COLUMN_NAME},
};
static const struct nvs_column lines[] = {
	{"line", "line", get_text, NVS_COLUMN_NAME | NVS_COLUMN_TEXT},
};

static const char *fit(const struct nvs_column *of, uint32_t n, int width)
{
	static const struct row rows[] = {
		{"void at::native::vectorized<4, BinaryFunctor<float, \xc3\xa9, AddFunctor>>", 1},
		{"void at::native::vectorized<4, BinaryFunctor<float, \xc3\xa9, MulFunctor>>", 1},
	};
	static const void *list[] = {rows, rows + 1};
	struct nvs_print_options o = {0};
	struct nvs_table table = {
		.report = "r", .columns = of, .ncolumns = n, .rows = list, .nrows = 2};
	static char *text;
	struct nvs_out out = {.fit = true, .width = width};
	size_t size;

	free(text);
	out.file = open_memstream(&text, &size);
	EXPECT_EQ(nvs_table_print(&out, &table, &o), 0);
	fclose(out.file);
	return text;
}

/* Names have their share before figures, and lose their middle, so that they stay tellable. */
static void narrow(void)
{
	EXPECT_STR(fit(wide, 5, 80), "launches 0123  launches 1234  kernel\n"
				     "         1.00           1.00  void "
				     "at::native::vectoriz\u2026r<float, \u00e9, AddFunctor>>\n"
				     "         1.00           1.00  void "
				     "at::native::vectoriz\u2026r<float, \u00e9, MulFunctor>>\n"
				     "2 columns hidden; --wide shows all\n");
	EXPECT_STR(fit(wide, 5, 36), "launches 0123  kernel\n"
				     "         1.00  void at::n\u2026dFunctor>>\n"
				     "         1.00  void at::n\u2026lFunctor>>\n"
				     "3 columns hidden; --wide shows all\n");
	EXPECT_STR(fit(lines, 1, 30), "line\n"
				      "void at::native::vectorized<4\u2026\n"
				      "void at::native::vectorized<4\u2026\n");
}

/* ---- lists of columns ---- */

static void get_twice(double x, struct nvs_value *v)
{
	nvs_value_real(v, true, 2 * x);
}

#define LIST(COL)                                         \
	COL(text, label, "a label", NAME, 3, r->name)     \
	COL(count, n, "n", 0, 0, strlen(r->name))         \
	COL(known, known, "known", 0, 0, r->x > 0, 7)     \
	COL(guarded, guarded, "g", 0, 0, r->x > 0, 7)     \
	COL(nonzero, nonzero, "nz", 0, 0, (uint64_t)r->x) \
	COL(hex, hex, "hex", 0, 0, r->name, 255)          \
	COL(real, real, "real", 0, 0, r->x > 0, 1 / r->x) \
	COL(us, us, "us", 0, 0, r->x > 0, 1500)           \
	COL(ns, ns, "ns", 0, 0, r->x > 0, 5)              \
	COL(truth, truth, "truth", 0, 0, r->x > 0, "yes") \
	COL(by, twice, "twice", IF_ANY, 0, get_twice, r->x)
NVS_COLUMNS(listed, struct row, LIST)

#define LIST_AGAIN(COL)                 \
	COL(same, label, "other", 0, 0) \
	LIST(COL##_SAME)
NVS_COLUMNS(again, struct row, LIST_AGAIN)

/* Values of row X of a list, as a program gets them. */
static void expect_values(double x, const char *expected)
{
	const struct row row = {"ab", x};
	char text[512] = "";

	for (size_t i = 0; i < sizeof(listed) / sizeof(*listed); i++) {
		struct nvs_value v = {0};
		size_t end = strlen(text);

		listed[i].get(&row, &v);
		if (v.kind == NVS_VALUE_TEXT)
			snprintf(text + end, sizeof(text) - end, "%s", v.text);
		else
			nvs_value_plain_format(text + end, sizeof(text) - end, &v, "-");
		strncat(text, " ", sizeof(text) - strlen(text) - 1);
	}
	EXPECT_STR(text, expected);
}

static void lists(void)
{
	expect_values(2, "ab 2 7 7 2 255 0.50 1.50 5 true 4.00 ");
	expect_values(0, "ab 2 - - - 255 - - - false 0.00 ");
	EXPECT_STR(listed[0].name, "label");
	EXPECT_STR(listed[0].title, "a label");
	EXPECT_EQ(listed[0].flags, NVS_COLUMN_NAME);
	EXPECT_EQ(listed[0].rank, 3);
	EXPECT_STR(again[0].title, "other");
	EXPECT_EQ(again[0].get == listed[0].get, true);
	EXPECT_EQ(sizeof(again), sizeof(listed) + sizeof(*again));
}

int main(void)
{
	order();
	lists();
	odd();
	narrow();
	return expect_done();
}
