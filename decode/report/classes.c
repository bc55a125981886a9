/* SPDX-License-Identifier: MIT */
/* --classes lists the class tables. --class prints one in the format of decode/gpu/classes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/class.h"
#include "decode/report/core/report.h"

/* ---- --classes ---- */

struct class_row {
	const char *id, *name, *kind, *note;
	uint64_t methods;
	char text[16], remark[64];
};

#define COLUMNS(COL)                                     \
	COL(count, methods, "methods", 0, 0, r->methods) \
	COL(text, class, "class", NAME, 0, r->text)      \
	COL(text, kind, "kind", NAME, 0, r->kind)        \
	COL(text, class_name, "name", NAME, 0, r->name)  \
	COL(text, note, "note", NAME, 0, r->remark)
NVS_COLUMNS(columns, struct class_row, COLUMNS)

static void make_row(struct class_row *r, const struct nvs_class *cls)
{
	snprintf(r->text, sizeof(r->text), "%04x", cls->id);
	r->name = nvs_class_string(cls->name);
	r->kind = nvs_class_kind_name(cls->kind);
	r->methods = cls->nmethods;
	if (cls->assume)
		snprintf(r->remark, sizeof(r->remark), "assumed to be like %04x", cls->assume);
	else if (cls->fallback)
		snprintf(r->remark, sizeof(r->remark), "methods not listed are taken from %04x",
			 cls->fallback);
}

static void make_qmd_row(struct class_row *r, const struct nvs_qmd_version *q)
{
	size_t at = 0;

	snprintf(r->text, sizeof(r->text), "%02u_%02u", q->major, q->minor);
	r->name = "QMD";
	r->kind = "descriptor";
	r->methods = q->nfields;
	for (uint32_t i = 0; i < q->nclasses; i++)
		at += (size_t)snprintf(r->remark + at, sizeof(r->remark) - at, "%s%04x",
				       i ? " " : "of ", q->classes[i]);
}

static int print_classes(struct nvs_run *run)
{
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	size_t n = nvs_nclasses + nvs_nqmd_versions;
	struct class_row *rows = calloc(n, sizeof(*rows));
	int r;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < nvs_nclasses; i++)
		make_row(&rows[i], &nvs_classes[i]);
	for (uint32_t i = 0; i < nvs_nqmd_versions; i++)
		make_qmd_row(&rows[nvs_nclasses + i], &nvs_qmd_versions[i]);
	r = nvs_table_print_array(run->out, &table, rows, n, sizeof(*rows), &run->options->print);
	free(rows);
	return r;
}

NVS_REPORT(classes, .name = "classes", .group = NVS_WITHOUT_TRACE, .place = 200,
	   .help = "the classes whose methods are known",
	   .man = "List the classes whose methods are known.", .prints = NVS_PRINTS_TABLE,
	   NVS_REPORT_COLUMNS(columns), .print = print_classes);

/* ---- --class ---- */

/* Prints a word, on a new line if it would pass column 98. */
static void put_word(FILE *f, int *column, const char *word)
{
	int n = (int)strlen(word);

	if (*column + 1 + n > 98) {
		fprintf(f, "\n\t\t%s", word);
		*column = 16 + n;
		return;
	}
	fprintf(f, " %s", word);
	*column += 1 + n;
}

static void put_values(FILE *f, int column, uint32_t first, uint32_t n,
		       const struct nvs_qmd_version *q)
{
	char word[160], of[64];

	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_enum *v = &nvs_values[first + i];
		size_t at = 0;

		of[0] = '\0';
		for (uint32_t k = 0; q && v->classes && k < q->nclasses; k++) {
			if (v->classes >> k & 1)
				at += (size_t)snprintf(of + at, sizeof(of) - at, "%c%04x",
						       at ? ',' : '@', q->classes[k]);
		}
		snprintf(word, sizeof(word), v->value < 10 ? "%s=%u%s" : "%s=0x%x%s",
			 nvs_class_string(v->name), v->value, of);
		put_word(f, &column, word);
	}
	fputc('\n', f);
}

static void put_method(FILE *f, const struct nvs_method *m)
{
	fprintf(f, "%04x %s", m->offset, nvs_class_string(m->name));
	if (m->stride || m->count != 1)
		fprintf(f, " [%u*%u]%s", m->count, m->stride, m->bound ? "~" : "");
	fputc('\n', f);
	for (uint32_t i = 0; i < m->nfields; i++) {
		const struct nvs_field *field = &nvs_fields[m->fields + i];
		int column = 8 +
			     fprintf(f, "\t%s %u:%u", nvs_class_string(field->name), field->hi,
				     field->lo) -
			     1;

		put_values(f, column, field->values, field->nvalues, NULL);
	}
}

static void put_class(FILE *f, const struct nvs_class *cls)
{
	fprintf(f, "class %04x %s\nkind %s\n", cls->id, nvs_class_string(cls->name),
		nvs_class_kind_name(cls->kind));
	if (cls->fallback)
		fprintf(f, "fallback %04x\n", cls->fallback);
	if (cls->assume)
		fprintf(f, "assume %04x\n", cls->assume);
	fputc('\n', f);
	for (uint32_t i = 0; i < cls->nmethods; i++)
		put_method(f, &nvs_methods[cls->methods + i]);
	for (uint32_t i = 0; i < cls->nformats; i++) {
		const struct nvs_field *x = &nvs_formats[cls->formats + i];

		if (x->hi == 255)
			fprintf(f, "const %s 0x%x\n", nvs_class_string(x->name), x->values);
		else
			put_values(f,
				   fprintf(f, "format %s %u:%u", nvs_class_string(x->name), x->hi,
					   x->lo),
				   x->values, x->nvalues, NULL);
	}
}

static void put_qmd(FILE *f, const struct nvs_qmd_version *q)
{
	fprintf(f, "qmd %02u_%02u\nclasses", q->major, q->minor);
	for (uint32_t i = 0; i < q->nclasses; i++)
		fprintf(f, " %04x", q->classes[i]);
	fputs("\n\n", f);
	for (uint32_t i = 0; i < q->nfields; i++) {
		const struct nvs_qmd_field *x = &nvs_qmd_fields[q->fields + i];
		int column = fprintf(f, "%s %u:%u", nvs_class_string(x->name), x->hi, x->lo);

		if (x->stride2)
			column += fprintf(f, " [%u*%u*%u]", x->count, x->stride, x->stride2);
		else if (x->stride || x->count != 1)
			column += fprintf(f, " [%u*%u]", x->count, x->stride);
		for (uint32_t k = 0, n = 0; x->classes && k < q->nclasses; k++) {
			if (x->classes >> k & 1)
				column += fprintf(f, "%s%04x", n++ ? "," : " only=", q->classes[k]);
		}
		put_values(f, column, x->values, x->nvalues, q);
	}
}

static int print_class(struct nvs_run *run)
{
	const char *name = run->options->argument;
	const struct nvs_class *cls = nvs_class_by_name(name);
	const struct nvs_qmd_version *q = NULL;
	unsigned major, minor;
	char end;

	if (sscanf(name, "%2u_%2u%c", &major, &minor, &end) == 2 ||
	    sscanf(name, "qmd-%2u_%2u%c", &major, &minor, &end) == 2)
		q = nvs_qmd_version_find(major, minor);
	if (q)
		put_qmd(run->out->file, q);
	else if (cls)
		put_class(run->out->file, cls);
	else {
		char safe[256];

		nvs_escape(safe, sizeof(safe), name, strlen(name));
		fprintf(stderr, "nvsnoop-report: no class table '%s'; --classes lists them\n",
			safe);
		return -EINVAL;
	}
	return 0;
}

NVS_REPORT(one_class, .name = "class", .argument = "CLASS", .group = NVS_WITHOUT_TRACE,
	   .place = 210, .help = "the methods of one (cbc0), or of descriptors (04_00)",
	   .man = "Print the methods of one class, for example\n.BR cbc0 ,\n"
		  "or the fields of a launch descriptor, for example\n.BR 04_00 .",
	   .prints = NVS_PRINTS_TEXT, .print = print_class);
