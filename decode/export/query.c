/* SPDX-License-Identifier: MIT */
/* --query: runs one SELECT on the tables of --export=sqlite. They are in a temporary file without a
 * name, and only those that the query reads are filled. */
#include <errno.h>
#include <stdlib.h>
#include "decode/base/grow.h"
#include "decode/cli/output.h"
#include "decode/cli/table.h"
#include "decode/export/database.h"
#include "decode/report/core/report.h"

#define MOST_COLUMNS 64 /* of a table that is printed */

struct query {
	struct nvs_database db;
	bool used[NVS_TABLES], nsight; /* tables that it reads */
	sqlite3_stmt *select;
	struct nvs_column columns[MOST_COLUMNS];
	char names[MOST_COLUMNS][128];
	uint32_t ncolumns;
	const void **rows; /* arrays of NCOLUMNS values, each followed by its texts */
	size_t nrows, room;
	uint64_t more;
};

static const char list_tables[] =
	"SELECT m.name AS \"table\", group_concat(c.name, ' ') AS columns FROM sqlite_master m"
	" JOIN pragma_table_info(m.name) c WHERE m.type = 'table' GROUP BY m.name";

/* ---- what a query may do ---- */

static int authorize(void *arg, int action, const char *a, const char *b, const char *schema,
		     const char *trigger)
{
	(void)arg;
	(void)a;
	(void)schema;
	(void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
	case SQLITE_READ:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return strcmp(b, "load_extension") ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int print_query_error(const char *what)
{
	char safe[512];

	fprintf(stderr, "nvsnoop-report: --query: %s\n",
		nvs_escape(safe, sizeof(safe), what, strlen(what)));
	return -EINVAL;
}

/* Nothing but blanks, semicolons and comments may follow the statement. */
static bool is_empty(struct query *q, const char *sql)
{
	sqlite3_stmt *next = NULL;
	bool empty = true;

	while (empty && sql && *sql)
		empty = sqlite3_prepare_v2(q->db.db, sql, -1, &next, &sql) == SQLITE_OK && !next;
	sqlite3_finalize(next);
	return empty;
}

static int print_sql_error(struct query *q)
{
	const char *what = sqlite3_errmsg(q->db.db), *hint = "";
	char text[512];

	if (!strncmp(what, "no such ", 8))
		hint = "; --query=.tables lists tables and columns";
	else if (!strncmp(what, "near \".\"", 8))
		hint = "; the only command is .tables";
	snprintf(text, sizeof(text), "%s%s", what, hint);
	return print_query_error(text);
}

static int prepare_select(struct query *q, const char *sql)
{
	const char *end;

	if (!strcmp(sql, ".tables"))
		sql = list_tables;
	else
		sqlite3_set_authorizer(q->db.db, authorize, NULL);
	if (sqlite3_prepare_v2(q->db.db, sql, -1, &q->select, &end) != SQLITE_OK)
		return print_sql_error(q);
	if (!q->select || !sqlite3_column_count(q->select) || !is_empty(q, end))
		return print_query_error("takes one SELECT, or .tables");
	return 0;
}

static void use_table(struct query *q, const char *name)
{
	enum nvs_table_id table = nvs_database_table(name);

	if (table < NVS_TABLES)
		q->used[table] = true;
	else
		q->nsight = true;
}

/* Those whose names are in its text: the authorizer does not see columns that only USING names. */
static int find_tables(struct query *q, const char *sql)
{
	static const char named[] = "SELECT name FROM sqlite_master WHERE type = 'table'"
				    " AND instr(upper(?), upper(name))";
	sqlite3_stmt *s = NULL;
	int step = sqlite3_prepare_v2(q->db.db, named, -1, &s, NULL);

	sqlite3_bind_text(s, 1, sql, -1, SQLITE_STATIC);
	while (!step && (step = sqlite3_step(s)) == SQLITE_ROW) {
		use_table(q, (const char *)sqlite3_column_text(s, 0));
		step = 0;
	}
	sqlite3_finalize(s);
	return step == SQLITE_DONE ? 0 : nvs_database_error(&q->db);
}

/* Finds errors in the query before the traces are read. */
static int check_select(struct query *q, const char *sql)
{
	int r = prepare_select(q, sql);

	sqlite3_finalize(q->select);
	q->select = NULL;
	sqlite3_set_authorizer(q->db.db, NULL, NULL);
	if (!r)
		r = find_tables(q, sql);
	for (int i = 0; i < NVS_TABLES; i++)
		q->db.unused[i] = !q->used[i] && !q->nsight;
	q->db.ours = !q->nsight;
	return r;
}

static bool reads_any(const struct query *q)
{
	bool any = q->nsight;

	for (int i = 0; i < NVS_TABLES; i++)
		any |= q->used[i];
	return any;
}

/* ---- its rows ---- */

static const char *text_at(const struct query *q, uint32_t i)
{
	int type = sqlite3_column_type(q->select, (int)i);

	return type == SQLITE_TEXT || type == SQLITE_BLOB
		       ? (const char *)sqlite3_column_text(q->select, (int)i)
		       : NULL;
}

/* Copies a text to *PLACE, and moves that on. */
static void get_cell(const struct query *q, uint32_t i, struct nvs_value *v, char **place)
{
	const char *text = text_at(q, i);

	switch (sqlite3_column_type(q->select, (int)i)) {
	case SQLITE_INTEGER:
		v->kind = NVS_VALUE_INTEGER;
		v->ns = sqlite3_column_int64(q->select, (int)i);
		break;
	case SQLITE_FLOAT:
		v->kind = NVS_VALUE_DOUBLE;
		v->real = sqlite3_column_double(q->select, (int)i);
		break;
	case SQLITE_NULL:
		break;
	default:
		nvs_value_text(v, strcpy(*place, text ? text : ""));
		*place += strlen(v->text) + 1;
	}
}

static int keep_row(struct query *q)
{
	size_t n = q->ncolumns * sizeof(struct nvs_value);
	struct nvs_value *row;
	const void **entry;
	char *place;

	for (uint32_t i = 0; i < q->ncolumns; i++) {
		const char *text = text_at(q, i);

		n += text ? strlen(text) + 1 : 1;
	}
	if (!nvs_budget_allows(n))
		return -ENOMEM;
	entry = NVS_APPEND_OPTIONAL(q->rows, q->nrows, q->room, 64, UINT32_MAX);
	row = entry ? calloc(1, n) : NULL;
	if (!row)
		return -ENOMEM;
	*entry = row;
	place = (char *)(row + q->ncolumns);
	for (uint32_t i = 0; i < q->ncolumns; i++) {
		get_cell(q, i, row + i, &place);
		if (row[i].kind == NVS_VALUE_TEXT)
			q->columns[i].flags = NVS_COLUMN_NAME;
	}
	return 0;
}

/* The first column stays on a narrow terminal; the others go from the right. */
static int name_columns(struct query *q, enum nvs_format format)
{
	q->ncolumns = (uint32_t)sqlite3_column_count(q->select);
	for (uint32_t i = 0; i < q->ncolumns; i++) {
		const char *name = sqlite3_column_name(q->select, (int)i);

		if (!name)
			return -ENOMEM;
		nvs_escape(q->names[i], sizeof(q->names[i]), name, strlen(name));
		q->columns[i] = (struct nvs_column){.name = q->names[i],
						    .title = q->names[i],
						    .rank = (uint8_t)i,
						    .decimals = 3};
		for (uint32_t k = 0; k < i && format == NVS_FORMAT_JSON; k++)
			if (!strcmp(q->names[k], q->names[i]))
				return print_query_error(
					"two columns have the same name; use AS, or --format=csv");
	}
	return 0;
}

/* All rows are kept if they are sorted; else those that are printed. */
static int read_rows(struct query *q, const struct nvs_print_options *o)
{
	int r = 0, step;

	while (!r && (step = sqlite3_step(q->select)) == SQLITE_ROW) {
		if (!o->sort && o->rows && q->nrows >= o->rows)
			q->more++;
		else
			r = keep_row(q);
	}
	/* The budget's message is printed at the end. */
	if (r)
		return r == -ENOMEM && nvs_budget_exceeded() ? 0 : r;
	return step == SQLITE_DONE ? 0 : print_query_error(sqlite3_errmsg(q->db.db));
}

static int print_rows(struct nvs_run *run, struct query *q)
{
	struct nvs_table table = {.report = run->report->name,
				  .columns = q->columns,
				  .ncolumns = q->ncolumns,
				  .rows = q->rows,
				  .nrows = q->nrows,
				  .more = q->more,
				  .as_given = true};

	return nvs_table_print(run->out, &table, &run->options->print);
}

static int answer(struct nvs_run *run, struct query *q)
{
	const struct nvs_print_options *o = &run->options->print;
	const char *sql = run->options->argument;
	int r = nvs_database_open(&q->db, "", "--query");

	if (!r) {
		sqlite3_limit(q->db.db, SQLITE_LIMIT_COLUMN, MOST_COLUMNS);
		r = check_select(q, sql);
	}
	if (!r && reads_any(q))
		r = nvs_database_fill(&q->db, run);
	if (!r)
		r = prepare_select(q, sql);
	if (!r)
		r = name_columns(q, o->format);
	if (!r)
		r = read_rows(q, o);
	return r ? r : print_rows(run, q);
}

static int print(struct nvs_run *run)
{
	struct query q = {.ncolumns = 0};
	int r = answer(run, &q);

	sqlite3_finalize(q.select);
	nvs_database_close(&q.db);
	for (size_t i = 0; i < q.nrows; i++)
		free((void *)q.rows[i]);
	free(q.rows);
	return r;
}

NVS_REPORT(query, .name = "query", .argument = "SQL", .group = NVS_WHAT_HAPPENED, .place = 126,
	   .help = "rows of a SELECT on the tables of --export=sqlite; .tables lists them",
	   .man = "The rows of one SELECT on the tables of\n.BR \\-\\-export=sqlite ,\nwithout an "
		  "export.\n.B \\-\\-query=.tables\nlists the tables and their columns. Selections "
		  "apply as for the export. The tables are in a temporary file in\n.BR TMPDIR ,\n"
		  "which is deleted when the program ends. Other statements are refused. Exits 2 "
		  "for an error of SQL. Cannot be combined with other reports.",
	   .needs = NVS_NEED_TRACE | NVS_NEED_NAMES | NVS_NEED_ALONE, .prints = NVS_PRINTS_TABLE,
	   .print = print);
