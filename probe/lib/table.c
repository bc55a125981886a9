/* SPDX-License-Identifier: MIT */
/* Prints results as text, CSV and JSON. */
#include "probe/lib/table.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TEXT_WIDTH 80 /* without a terminal */
#define MAX_COLUMNS 32

static void *resize_memory(void *p, size_t bytes)
{
	p = realloc(p, bytes);
	if (!p)
		probe_die("out of memory");
	return p;
}

void probe_table_add_row(struct probe_table *t, const struct probe_cell *cells)
{
	if (t->nrows == t->room) {
		t->room = t->room ? t->room * 2 : 64;
		t->cells = resize_memory(t->cells, t->room * t->ncolumns * sizeof(*cells));
	}
	memcpy(&t->cells[t->nrows * t->ncolumns], cells, t->ncolumns * sizeof(*cells));
	t->nrows++;
}

void probe_table_add_note(struct probe_table *t, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = probe_vformat(format, ap);
	va_end(ap);
	t->notes = resize_memory(t->notes, (t->nnotes + 1) * sizeof(*t->notes));
	t->notes[t->nnotes++] = text;
}

void probe_table_free(struct probe_table *t)
{
	for (uint32_t i = 0; i < t->nnotes; i++)
		free(t->notes[i]);
	free(t->notes);
	free(t->cells);
	t->cells = NULL;
	t->notes = NULL;
	t->nrows = t->room = t->nnotes = 0;
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

/* Formats 1234567 as 1,234,567. */
static void group_digits(char *text, size_t room, double v, int decimals)
{
	char plain[64];
	size_t n, whole, at = 0;

	snprintf(plain, sizeof(plain), "%.*f", decimals, v);
	n = strlen(plain);
	whole = strcspn(plain, ".");
	for (size_t i = 0; i < n && at + 2 < room; i++) {
		if (i && i < whole && (whole - i) % 3 == 0 && plain[i - 1] != '-')
			text[at++] = ',';
		text[at++] = plain[i];
	}
	text[at] = 0;
}

/* Prints about four significant digits: 0.024, 24.55, 127.8, 2,316. */
static int decimals_of(const struct probe_column *c, double v)
{
	int most = fabs(v) < 0.9995 ? 3 : fabs(v) < 99.995 ? 2 : fabs(v) < 999.95 ? 1 : 0;

	return c->decimals < most ? c->decimals : most;
}

static void cell_text(char *text, size_t room, const struct probe_column *c,
		      const struct probe_cell *cell)
{
	if (cell->words)
		snprintf(text, room, "%s", cell->words);
	else if (isnan(cell->number))
		snprintf(text, room, "-");
	else
		group_digits(text, room, cell->number, decimals_of(c, cell->number));
}

/* Returns line LINE, 0 or 1, of a heading. A heading of one line is in line 1. */
static void heading_text(char *text, size_t room, const struct probe_column *c, int line)
{
	const char *cut = strchr(c->heading, '\n');

	if (line)
		snprintf(text, room, "%s", cut ? cut + 1 : c->heading);
	else
		snprintf(text, room, "%.*s", cut ? (int)(cut - c->heading) : 0, c->heading);
}

static int width_of(const struct probe_table *t, uint32_t column)
{
	const struct probe_column *c = &t->columns[column];
	char text[64];
	int width = 0, n;

	for (int64_t row = -2; row < (int64_t)t->nrows; row++) {
		if (row < 0)
			heading_text(text, sizeof(text), c, row == -1);
		else
			cell_text(text, sizeof(text), c, &t->cells[row * t->ncolumns + column]);
		n = (int)strlen(text);
		width = n > width ? n : width;
	}
	return width;
}

/* Rows -2 and -1 are the headings. A column of width 0 is not shown. */
static void print_line(const struct probe_table *t, int64_t row, const int *width)
{
	char text[64], line[1024];
	size_t n = 0;

	for (uint32_t i = 0; i < t->ncolumns; i++) {
		const struct probe_column *c = &t->columns[i];

		if (!width[i])
			continue;
		if (row < 0)
			heading_text(text, sizeof(text), c, row == -1);
		else
			cell_text(text, sizeof(text), c, &t->cells[row * t->ncolumns + i]);
		n += (size_t)snprintf(line + n, n < sizeof(line) ? sizeof(line) - n : 0, "%s%*s",
				      n ? "  " : "", c->decimals < 0 ? -width[i] : width[i], text);
		n = n < sizeof(line) ? n : sizeof(line) - 1;
	}
	while (n && line[n - 1] == ' ')
		n--;
	printf("%.*s\n", (int)n, line);
}

static int terminal_width(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : TEXT_WIDTH;
}

/* Wraps at blanks; lines after the first are indented. */
static void print_wrapped(const char *text, size_t width)
{
	size_t at = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " ");

		if (at && at + 1 + n > width) {
			fputs("\n  ", stdout);
			at = 2;
		} else if (at) {
			putchar(' ');
			at++;
		}
		printf("%.*s", (int)n, p);
		at += n;
		p += n + (p[n] == ' ');
	}
	putchar('\n');
}

static int line_width(const struct probe_table *t, const int *width)
{
	int all = -2;

	for (uint32_t i = 0; i < t->ncolumns; i++)
		all += width[i] ? width[i] + 2 : 0;
	return all;
}

/* Drops columns until a line fits or no more may be dropped. Returns whether any was dropped. */
static bool drop_columns(const struct probe_table *t, int *width)
{
	bool some = false;

	while (line_width(t, width) > terminal_width()) {
		uint32_t first = 0;

		for (uint32_t i = 1; i < t->ncolumns; i++)
			if (width[i] &&
			    (!width[first] || t->columns[i].goes > t->columns[first].goes))
				first = i;
		if (!t->columns[first].goes)
			break;
		width[first] = 0;
		some = true;
	}
	return some;
}

void probe_print_wrapped(const char *words)
{
	print_wrapped(words, (size_t)terminal_width());
}

void probe_table_print_text(const struct probe_table *t)
{
	int width[MAX_COLUMNS] = {0};
	bool two = false, left_out;

	for (uint32_t i = 0; i < t->ncolumns && i < MAX_COLUMNS; i++) {
		if (!t->columns[i].heading)
			continue;
		width[i] = width_of(t, i);
		two |= strchr(t->columns[i].heading, '\n') != NULL;
	}
	left_out = drop_columns(t, width);
	for (int64_t row = two ? -2 : -1; row < (int64_t)t->nrows; row++)
		print_line(t, row, width);
	if (t->nnotes || left_out)
		putchar('\n');
	for (uint32_t i = 0; i < t->nnotes; i++)
		print_wrapped(t->notes[i], (size_t)terminal_width());
	if (left_out)
		print_wrapped("some columns are hidden: use a wider terminal, CSV or JSON",
			      (size_t)terminal_width());
}

static void print_text(const struct probe_table *t, const struct probe_session *s)
{
	probe_print_wrapped(probe_describe_machine(s));
	putchar('\n');
	probe_table_print_text(t);
}

void probe_print_quoted(const char *words)
{
	putchar('"');
	for (; *words; words++)
		if (*words == '"' || *words == '\\')
			printf("\\%c", *words);
		else if ((unsigned char)*words < 0x20)
			printf("\\u%04x", *words);
		else
			putchar(*words);
	putchar('"');
}

static void print_value(const struct probe_column *c, const struct probe_cell *cell)
{
	if (cell->words)
		probe_print_quoted(cell->words);
	else if (isnan(cell->number))
		printf("null");
	else
		printf("%.*f", c->decimals, cell->number);
}

static void print_json(const struct probe_table *t, const struct probe_session *s)
{
	printf("{\"schema\":2,\"study\":\"%s\",\"gpu\":", t->study);
	probe_print_quoted(s->gpu);
	printf(",\"driver\":");
	probe_print_quoted(s->driver);
	printf(",\"pcie\":");
	if (*s->link)
		probe_print_quoted(s->link);
	else
		printf("null");
	if (s->sm_mhz)
		printf(",\"sm_mhz\":%u", s->sm_mhz);
	else
		printf(",\"sm_mhz\":null");
	printf(",\"rows\":[");
	for (uint32_t row = 0; row < t->nrows; row++) {
		printf("%s\n{", row ? "," : "");
		for (uint32_t i = 0; i < t->ncolumns; i++) {
			printf("%s\"%s\":", i ? "," : "", t->columns[i].key);
			print_value(&t->columns[i], &t->cells[row * t->ncolumns + i]);
		}
		putchar('}');
	}
	printf("],\n\"notes\":[");
	for (uint32_t i = 0; i < t->nnotes; i++) {
		printf("%s", i ? "," : "");
		probe_print_quoted(t->notes[i]);
	}
	printf("]}\n");
}

/* Names contain no quotes, but may contain commas. */
void probe_print_field(const char *words)
{
	printf(strpbrk(words, ",\"") ? "\"%s\"" : "%s", words);
}

static void print_csv(const struct probe_table *t, const struct probe_session *s)
{
	for (uint32_t i = 0; i < t->ncolumns; i++)
		printf("%s,", t->columns[i].key);
	printf("gpu,driver,pcie,sm_mhz\n");
	for (uint32_t row = 0; row < t->nrows; row++) {
		for (uint32_t i = 0; i < t->ncolumns; i++) {
			const struct probe_cell *cell = &t->cells[row * t->ncolumns + i];

			if (cell->words)
				probe_print_field(cell->words);
			else if (!isnan(cell->number))
				printf("%.*f", t->columns[i].decimals, cell->number);
			putchar(',');
		}
		probe_print_field(s->gpu);
		printf(",%s,%s,", s->driver, s->link);
		if (s->sm_mhz)
			printf("%u", s->sm_mhz);
		putchar('\n');
	}
}

void probe_table_print(const struct probe_table *t, const struct probe_session *s,
		       enum probe_format format)
{
	if (format == PROBE_JSON)
		print_json(t, s);
	else if (format == PROBE_CSV)
		print_csv(t, s);
	else
		print_text(t, s);
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
