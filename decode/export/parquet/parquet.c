/* SPDX-License-Identifier: MIT */
/* --export=parquet: one directory per table, partitioned by host and rank in the form that query
 * engines expect: call/host=box/rank=3/1.parquet. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "decode/export/export_text.h"
#include "decode/export/output_dir.h"
#include "decode/export/parquet/file.h"
#include "decode/export/tables.h"
#include "decode/report/core/report.h"
#include "decode/report/core/trace_columns.h"
#include "decode/cli/table.h"

/* Columns appended to every table: the owner of a row, so that a file can be moved alone. */
static const struct nvs_cell_column whose[] = {
	{"host", true}, {"rank", false}, {"pid", false}, {"offset_ns", false}};

#define WHOSE (sizeof(whose) / sizeof(*whose))

/* A table with the owner columns that it lacks. */
struct wider {
	struct nvs_table_layout table;
	struct nvs_cell_column columns[NVS_CELLS_MOST + WHOSE];
	uint32_t from[WHOSE]; /* indices into whose[] */
};

enum { HOST, RANK, PID, OFFSET, STARTED, NOTES };

struct parquet_state {
	FILE *file[NVS_TABLES];
	struct nvs_parquet *parquet[NVS_TABLES];
	struct nvs_parquet_note notes[NOTES];
	struct wider wider[NVS_TABLES];
	struct nvs_table_cell whose[WHOSE]; /* owner columns of the process */
	char host[NVS_EXPORT_TEXT + 1];
};

static bool has_column(const struct nvs_table_layout *t, const char *name)
{
	for (uint32_t i = 0; i < t->ncolumns; i++)
		if (!strcmp(t->columns[i].name, name))
			return true;
	return false;
}

static void add_owner_columns(struct wider *w, const struct nvs_table_layout *table)
{
	uint32_t n = table->ncolumns;

	memcpy(w->columns, table->columns, n * sizeof(*w->columns));
	for (uint32_t i = 0; i < WHOSE; i++) {
		if (has_column(table, whose[i].name))
			continue;
		w->from[n - table->ncolumns] = i;
		w->columns[n++] = whose[i];
	}
	w->table = (struct nvs_table_layout){table->name, w->columns, n};
}

static struct nvs_table_cell owner_number(bool known, int64_t number)
{
	return (struct nvs_table_cell){.known = known, .same = true, .number = number};
}

static void set_owner(struct parquet_state *st, const struct nvs_event_stream *w)
{
	struct nvs_value v = {0};
	const char *host = nvs_trace_session(w->source->trace)->attr[NVS_ATTR_HOST];

	/* The trace may replace its attribute while rows are written. */
	snprintf(st->host, sizeof(st->host), "%s", host ? host : "");
	st->whose[0] = (struct nvs_table_cell){.known = *st->host, .same = true, .text = st->host};
	nvs_source_number(w->source, NVS_ATTR_RANK, &v);
	st->whose[1] = owner_number(v.kind != NVS_VALUE_NONE, (int64_t)v.count);
	v = (struct nvs_value){0};
	nvs_source_pid(w->source, &v);
	st->whose[2] = owner_number(v.kind != NVS_VALUE_NONE, (int64_t)v.count);
	st->whose[3] = owner_number(w->clock->known, w->clock->shift);
}

/* A value as part of a path: null as engines spell it, special bytes as %XX. */
static void print_partition(char *dst, size_t room, const char *value)
{
	size_t n = 0;

	if (!value || !*value)
		value = "__HIVE_DEFAULT_PARTITION__";
	for (; *value && n + 4 < room; value++) {
		unsigned char c = (unsigned char)*value;

		n += (size_t)snprintf(dst + n, room - n,
				      isalnum(c) || strchr("_-.", c) ? "%c" : "%%%02X", c);
	}
	dst[n] = '\0';
}

static void set_note(struct nvs_parquet_note *n, const char *key, const char *value)
{
	n->key = key;
	value = value ? value : "";
	nvs_escape(n->value, sizeof(n->value), value, strnlen(value, sizeof(n->value)));
}

static void set_number_note(struct nvs_parquet_note *n, const char *key, bool known, uint64_t value)
{
	n->key = key;
	*n->value = '\0';
	if (known)
		snprintf(n->value, sizeof(n->value), "%" PRIu64, value);
}

/* Metadata of each file: its owner, so that a file can be moved alone. */
static void set_notes(struct parquet_state *st, const struct nvs_event_stream *w)
{
	const struct nvs_session *s = nvs_trace_session(w->source->trace);
	const struct nvs_trace_clock *clock = w->clock;

	set_note(st->notes + HOST, "host", s->attr[NVS_ATTR_HOST]);
	set_note(st->notes + RANK, "rank", s->attr[NVS_ATTR_RANK]);
	set_number_note(st->notes + PID, "pid", s->header.pid, s->header.pid);
	set_number_note(st->notes + OFFSET, "offset_ns", clock->known, (uint64_t)clock->shift);
	set_number_note(st->notes + STARTED, "started_ns", clock->known, clock->began);
}

static int open_files(struct parquet_state *st, const struct nvs_event_stream *w)
{
	const struct nvs_session *s = nvs_trace_session(w->source->trace);
	char host[200], rank[64], name[400];

	print_partition(host, sizeof(host), s->attr[NVS_ATTR_HOST]);
	print_partition(rank, sizeof(rank), s->attr[NVS_ATTR_RANK]);
	set_notes(st, w);
	set_owner(st, w);
	for (int i = 0; i < NVS_TABLES; i++) {
		snprintf(name, sizeof(name), "%s/host=%s/rank=%s/%u.parquet", nvs_tables[i].name,
			 host, rank, w->process);
		st->file[i] = nvs_output_dir_file(w->run, name);
		if (!st->file[i])
			return -EIO;
		st->parquet[i] = nvs_parquet_new(st->file[i], &st->wider[i].table);
		if (!st->parquet[i])
			return -ENOMEM;
	}
	return 0;
}

/* GOOD: write the footers; otherwise the files will be removed. */
static int close_files(struct parquet_state *st, const struct nvs_run *run, bool good)
{
	int r = 0, closed;

	for (int i = 0; i < NVS_TABLES; i++) {
		if (good && !r && st->parquet[i])
			r = nvs_parquet_end(st->parquet[i], st->notes, NOTES);
		nvs_parquet_free(st->parquet[i]);
		closed = nvs_output_dir_close(run, st->file[i]);
		r = r ? r : closed;
		st->parquet[i] = NULL;
		st->file[i] = NULL;
	}
	return r;
}

static int on_begin(void *arg, const struct nvs_event_stream *w)
{
	struct parquet_state *st = arg;
	int r = close_files(st, w->run, true);

	return r ? r : open_files(st, w);
}

static int on_row(void *arg, enum nvs_table_id table, const struct nvs_table_cell *cells)
{
	const uint32_t n = nvs_tables[table].ncolumns;
	struct nvs_table_cell wide[NVS_CELLS_MOST + WHOSE];
	struct parquet_state *st = arg;
	int r;

	memcpy(wide, cells, n * sizeof(*wide));
	for (uint32_t i = n; i < st->wider[table].table.ncolumns; i++)
		wide[i] = st->whose[st->wider[table].from[i - n]];
	r = nvs_parquet_row(st->parquet[table], wide);
	return r ? r : ferror_unlocked(st->file[table]) ? -EIO : 0;
}

static int write_all(struct nvs_run *run)
{
	struct parquet_state *st = calloc(1, sizeof(*st));
	int r, closed;

	if (!st)
		return -ENOMEM;
	for (int i = 0; i < NVS_TABLES; i++)
		add_owner_columns(st->wider + i, nvs_tables + i);
	r = nvs_tables_deliver(run, on_begin, on_row, st);
	closed = close_files(st, run, !r);
	free(st);
	return r ? r : closed;
}

static int print(struct nvs_run *run)
{
	return nvs_output_dir_run(run, write_all);
}

NVS_REPORT(
	export_parquet, .name = "export=parquet", .group = NVS_EXPORTS, .place = 335,
	.help = "the same tables as Parquet files, one directory each, by host and rank; -o DIR",
	.man = "The same tables as Parquet files, in the directory of\n.BR \\-o :\none directory "
	       "per table, partitioned by host and rank, for DuckDB, Spark, Trino, ClickHouse and "
	       "others.",
	.needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT | NVS_PRINTS_FOLDER,
	.print = print);
