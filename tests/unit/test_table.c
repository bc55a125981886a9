/* SPDX-License-Identifier: MIT */
/* LINK: cli decode */
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

/* Rows of cells, in the order given, with headings of two lines; the first and the last cell may be
 * of any length. */
static const struct nvs_column cells[] = {
	{"way", "way", .flags = NVS_COLUMN_LEFT},
	{"key", "", .flags = NVS_COLUMN_DETAIL, .decimals = 1},
	{"flag", "", .flags = NVS_COLUMN_JSON},
	{"ns", "ns\nmin", .rank = 2, .decimals = 2},
	{"most", "most", .rank = 2, .decimals = 3},
	{"gb", "GB/s", .decimals = 3},
	{"to", "to\nwhere", .flags = NVS_COLUMN_LEFT},
};
#define TEXT(s)                                     \
	{                                           \
		.kind = NVS_VALUE_TEXT, .text = (s) \
	}
#define DECIMAL(x)                                     \
	{                                              \
		.kind = NVS_VALUE_DECIMAL, .real = (x) \
	}
#define FLOAT(x)                                     \
	{                                            \
		.kind = NVS_VALUE_FLOAT, .real = (x) \
	}
#define TRUTH(x)                                      \
	{                                             \
		.kind = NVS_VALUE_TRUTH, .count = (x) \
	}
static const struct nvs_value first[] = {
	TEXT("say \"in, line\""), DECIMAL(2.25), TRUTH(1), DECIMAL(1234567.891), FLOAT(0.5),
	FLOAT(1.0 / 3),		  TEXT("")};
static const struct nvs_value second[] = {
	TEXT("copy"),	  DECIMAL(NAN),
	TRUTH(0),	  {.kind = NVS_VALUE_DECIMAL, .text = "12 *"},
	DECIMAL(-2345.6), DECIMAL(INFINITY),
	TEXT("host")};
static const void *cell_rows[] = {first, second};
static const struct nvs_table cell_table = {.report = "r",
					    .columns = cells,
					    .ncolumns = sizeof(cells) / sizeof(*cells),
					    .rows = cell_rows,
					    .nrows = 2,
					    .as_given = true,
					    .csv_end = "\n"};

static void text_of_cells(int width, uint32_t hidden, const char *want)
{
	struct nvs_out out = {.fit = true, .width = width};
	char *text;
	size_t size;

	out.file = open_memstream(&text, &size);
	EXPECT_EQ(nvs_table_text(&out, &cell_table, 2, NULL), hidden);
	fclose(out.file);
	EXPECT_STR(text, want);
	free(text);
}

static void print_cells(void)
{
	struct nvs_table sorted = cell_table;
	struct nvs_order by;
	struct nvs_out out = {0};
	struct nvs_json json = {0};
	char *text;
	size_t size;

	text_of_cells(80, 0,
		      "                       ns                 to\n"
		      "way                   min    most   GB/s  where\n"
		      "say \"in, line\"  1,234,568   0.500  0.333\n"
		      "copy                 12 *  -2,346      -  host\n");
	/* Of columns of one rank the first goes first. */
	text_of_cells(40, 1,
		      "                               to\n"
		      "way               most   GB/s  where\n"
		      "say \"in, line\"   0.500  0.333\n"
		      "copy            -2,346      -  host\n");
	text_of_cells(10, 2,
		      "                       to\n"
		      "way              GB/s  where\n"
		      "say \"in, line\"  0.333\n"
		      "copy                -  host\n");
	json.file = out.file = open_memstream(&text, &size);
	nvs_table_csv(&out, &cell_table, 2);
	nvs_table_json(&json, &cell_table, 1);
	fclose(out.file);
	EXPECT_STR(text, "way,key,ns,most,gb,to\n"
			 "\"say \"\"in, line\"\"\",2.2,1234567.89,0.5,0.333333333,\n"
			 "copy,,0.00,-2345.600,,host\n"
			 "\n{\"way\":\"say \\\"in, line\\\"\",\"key\":2.2,\"flag\":true,"
			 "\"ns\":1234567.89,\"most\":0.5,\"gb\":0.333333333,\"to\":\"\"}");
	free(text);
	EXPECT(nvs_table_order(&sorted, "ns", &by) && nvs_table_compare(&by, first, second) < 0);
	EXPECT(nvs_table_order(&sorted, "gb", &by) && nvs_table_compare(&by, second, first) > 0);
}

/* ---- text for people ---- */

struct figures {
	uint64_t calls, bytes, pid;
	double us, p50, most;
};

static void get_calls(const void *row, struct nvs_value *v)
{
	nvs_value_count(v, ((const struct figures *)row)->calls);
}

static void get_bytes(const void *row, struct nvs_value *v)
{
	nvs_value_count(v, ((const struct figures *)row)->bytes);
}

static void get_pid(const void *row, struct nvs_value *v)
{
	nvs_value_count(v, ((const struct figures *)row)->pid);
}

static void get_us(const void *row, struct nvs_value *v)
{
	nvs_value_real(v, true, ((const struct figures *)row)->us);
}

static void get_p50(const void *row, struct nvs_value *v)
{
	nvs_value_real(v, true, ((const struct figures *)row)->p50);
}

static void get_most(const void *row, struct nvs_value *v)
{
	nvs_value_real(v, true, ((const struct figures *)row)->most);
}

static void get_nothing(const void *row, struct nvs_value *v)
{
	nvs_value_known(v, false, 0);
}

static const struct nvs_column figure_columns[] = {
	{"calls", "calls", get_calls, 0, 0},
	{"unknown", "unknown", get_nothing, 0, 0},
	{"copied_bytes", "bytes", get_bytes, 0, 1},
	{"pid", "pid", get_pid, 0, 2},
	{"host_us", "us", get_us, 0, 3},
	{"host_us_p50", "us p50", get_p50, NVS_COLUMN_BESIDE, 4},
	{"host_us_max", "us max", get_most, NVS_COLUMN_DETAIL, 0},
};

static const char *print_figures(int width, const char *sort, enum nvs_format format)
{
	static const struct figures rows[] = {
		{1234567, 1610612736, 54321, 1498007.73, 9.98, 20},
		{12, 65536, 2, 999.99, 9.98, 9.98}, /* a single one */
		{1, 0, 3, 0.5, 9.96, 9.97}, /* 10 would be above the maximum */
	};
	struct nvs_print_options o = {.sort = sort, .format = format};
	struct nvs_table table = {.report = "r",
				  .columns = figure_columns,
				  .ncolumns = sizeof(figure_columns) / sizeof(*figure_columns),
				  .nrows = 3};
	const void *list[] = {rows, rows + 1, rows + 2};
	struct nvs_out out = {.fit = width, .width = width};
	static char *text;
	size_t size;

	free(text);
	table.rows = list;
	out.file = open_memstream(&text, &size);
	EXPECT_EQ(nvs_table_print(&out, &table, &o), 0);
	fclose(out.file);
	return text;
}

/* As in sentences; numbers that name something are not grouped; programs get all digits. */
static void figures(void)
{
	EXPECT_STR(print_figures(0, NULL, NVS_FORMAT_TEXT),
		   "    calls  unknown    bytes    pid         us  us p50\n"
		   "1,234,567        -  1.61 GB  54321  1,498,008      10\n"
		   "       12        -   65,536      2     999.99    9.98\n"
		   "        1        -        0      3       0.50    9.96\n");
	EXPECT_STR(print_figures(0, NULL, NVS_FORMAT_CSV),
		   "calls,unknown,copied_bytes,pid,host_us,host_us_p50,host_us_max\r\n"
		   "1234567,,1610612736,54321,1498007.73,9.98,20.00\r\n"
		   "12,,65536,2,999.99,9.98,9.98\r\n"
		   "1,,0,3,0.50,9.96,9.97\r\n");
}

/* What has no value is dropped first, even if it is never dropped otherwise; what was asked for
 * is printed, even if it is a detail. */
static void choose(void)
{
	EXPECT_STR(print_figures(46, NULL, NVS_FORMAT_TEXT),
		   "    calls    bytes    pid         us  us p50\n"
		   "1,234,567  1.61 GB  54321  1,498,008      10\n"
		   "       12   65,536      2     999.99    9.98\n"
		   "        1        0      3       0.50    9.96\n"
		   "1 column hidden; --wide shows all\n");
	EXPECT_STR(print_figures(25, "host_us_max", NVS_FORMAT_TEXT),
		   "    calls  us max\n"
		   "1,234,567   20.00\n"
		   "       12    9.98\n"
		   "        1    9.97\n"
		   "5 columns hidden; --wide shows all\n");
}

int main(void)
{
	order();
	lists();
	odd();
	narrow();
	print_cells();
	figures();
	choose();
	return expect_done();
}
